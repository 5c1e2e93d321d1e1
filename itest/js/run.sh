#!/usr/bin/env bash
# The official JavaScript SDK both ways: its client against `interop-agent` (check.mjs), and our client against its server
# (server.mjs).
#
# Needs Node.js 20 or newer with npm (asks apt-get for them where it may) and the npm registry; see checks.sh for what
# happens without them.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
HERE="$ROOT/itest/js"
TARGET="${CARGO_TARGET_DIR:-$ROOT/target}"
PLACE="$TARGET/itest-js"
LOGS="$PLACE"
cd "$ROOT"

WHAT="javascript interop"
. "$ROOT/itest/js_env.sh"
. "$ROOT/itest/interop.sh"

node_env
interop_build
their_client node "$PLACE/check.mjs"
BINDINGS+=(GRPC)
our_client "$HERE/differs.txt" node "$PLACE/server.mjs"
