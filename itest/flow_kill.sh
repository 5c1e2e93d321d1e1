#!/usr/bin/env bash
# Kills the runner of a plan and the agents of its steps with kill -9 at moments by chance, and checks that every run
# ends as if nothing had happened: no effect missing, none repeated but where the promise allows. Needs nothing but cargo.
#
#   itest/flow_kill.sh [ROUNDS] [SEED]     (10 rounds, seed 1)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

BUILT="${CARGO_TARGET_DIR:-target}/debug"
cargo build --locked -p llamon --bin llamon
cargo build --locked -p llamon-itest --bin flow-kill
"$BUILT/flow-kill" "$BUILT/llamon" "${1:-10}" "${2:-1}"
