#!/usr/bin/env bash
# The official Python SDK both ways: its client against `interop-agent` (check.py), and our client against its server
# (server.py).
#
# Needs Python 3.11 or newer with venv (asks apt-get for it where it may) and PyPI; see checks.sh for what happens
# without them.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
HERE="$ROOT/itest/python"
TARGET="${CARGO_TARGET_DIR:-$ROOT/target}"
VENV="$TARGET/itest-python"
LOGS="$VENV"
cd "$ROOT"

WHAT="python interop"
MINOR=11
PREFER="python3"
. "$ROOT/itest/python_env.sh"
. "$ROOT/itest/interop.sh"

python_env
interop_build
their_client "$VENV/bin/python" "$HERE/check.py"
BINDINGS+=(GRPC)
our_client "$HERE/differs.txt" "$VENV/bin/python" "$HERE/server.py"
