#!/usr/bin/env bash
# Kills a real server again and again while 200 tasks a round run through it, and checks that nothing that was
# acknowledged is lost; then sends many small tasks through a server that keeps a few, and checks that neither its
# memory nor its file grows for ever. Needs nothing but cargo.
#
#   itest/durable.sh [ROUNDS] [SEED] [TASKS] [RETENTION]     (5 rounds, seed 1, 20,000 tasks of which 2,000 are kept)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

BUILT="${CARGO_TARGET_DIR:-target}/debug"
cargo build --locked -p llamon-itest --bins
"$BUILT/kill-loop" "$BUILT/durable-agent" "${1:-5}" "${2:-1}"
"$BUILT/size-loop" "$BUILT/durable-agent" "${3:-20000}" "${4:-2000}"
