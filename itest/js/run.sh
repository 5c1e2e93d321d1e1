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
. "$ROOT/itest/checks.sh"
. "$ROOT/itest/interop.sh"

has_node() {
    command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null
}

# npm installs beside the scripts, so they are copied to where it may. Kept until Node.js or the lock file changes.
node_env() {
    if ! has_node; then
        say "apt-get install nodejs npm"
        apt_install nodejs npm >/dev/null || say "apt-get could not install them"
    fi
    has_node || skip "no Node.js 20 or newer with npm"
    mkdir -p "$PLACE"
    cp "$HERE"/*.mjs "$HERE"/package.json "$HERE"/package-lock.json "$PLACE/"
    local wanted
    wanted="$(node --version) $(cksum <"$HERE/package-lock.json")"
    [[ "$(cat "$PLACE/installed" 2>/dev/null)" != "$wanted" ]] || return 0
    say "npm ci (Node.js $(node --version))"
    (cd "$PLACE" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null) ||
        skip "npm could not install the pinned packages"
    printf '%s\n' "$wanted" >"$PLACE/installed"
}

node_env
interop_build
their_client node "$PLACE/check.mjs"
BINDINGS+=(GRPC)
our_client "$HERE/differs.txt" node "$PLACE/server.mjs"
