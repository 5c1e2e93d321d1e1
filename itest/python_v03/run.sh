#!/usr/bin/env bash
# The official Python SDK of A2A 0.3 both ways, over JSON-RPC and HTTP+JSON: its client against `interop-agent`
# (check.py), and our client against its server (server.py).
#
# Needs Python 3.10 or newer with venv (asks apt-get for it where it may) and PyPI. Without them it says SKIP and ends
# well, but under CI it fails: there a check that did not run is not a check that passed.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
HERE="$ROOT/itest/python_v03"
TARGET="${CARGO_TARGET_DIR:-$ROOT/target}"
VENV="$TARGET/itest-python-v03"
LOGS="$VENV"
cd "$ROOT"

WHAT="python 0.3 interop"
MINOR=10
PREFER="python3"
. "$ROOT/itest/python_env.sh"
. "$ROOT/itest/interop.sh"

AGENT_ARGUMENTS=(--also-0.3)

python_env
interop_build
their_client "$VENV/bin/python" "$HERE/check.py"
our_client "$HERE/differs.txt" --patience 10 "$VENV/bin/python" "$HERE/server.py"
