#!/usr/bin/env bash
# Attacks a real server from a process of its own, one attack after the other, and checks that 200 ordinary requests
# succeed during each, that memory is bounded, and that every connection is closed afterwards. Needs cargo and Linux.
#
#   itest/abuse.sh [CONNECTIONS] [SECONDS]     (1,000 connections, 2 seconds an attack; the full form is 10000 65)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
WHAT="abuse"
# shellcheck source=itest/checks.sh
source itest/checks.sh

[[ -d /proc/self/fd ]] || skip "the figures come from /proc, which this system does not have"
CONNECTIONS="${1:-1000}"
# Each end of a connection is a file, and the server keeps a quarter of its files for other things.
ulimit -n "$(ulimit -Hn)"
FILES="$(ulimit -n)"
if [[ "$FILES" != unlimited && "$FILES" -lt $((CONNECTIONS * 2)) ]]; then
    CONNECTIONS=$((FILES / 2))
    say "only $FILES files may be open, so it is $CONNECTIONS connections"
fi
BUILT="${CARGO_TARGET_DIR:-target}/debug"
cargo build --locked -p llamon-itest --bin abuse
"$BUILT/abuse" "$CONNECTIONS" "${2:-2}"
