#!/usr/bin/env bash
# What may enter the dependency graphs, as ../../deny.toml says, for each of the five lock files. Takes the checks of
# cargo-deny to make; without, all that need nothing but the lock files and the crates: bans, licenses and sources.
# `advisories` clones the RustSec database.
#
# Needs Python 3.10 or newer with venv (asks apt-get for it where it may) and PyPI; see ../checks.sh for what happens
# without them.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
HERE="$ROOT/itest/deny"
VENV="$(realpath -m "${CARGO_TARGET_DIR:-$ROOT/target}")/itest-deny"
cd "$ROOT"

WHAT="cargo-deny"
MINOR=10
PREFER="python3"
. "$ROOT/itest/python_env.sh"

CHECKS=("$@")
[[ ${#CHECKS[@]} -gt 0 ]] || CHECKS=(bans licenses sources)

# deny MANIFEST CHECK...: an error of cargo-deny names the crate, the rule and the place in deny.toml.
deny() {
    local manifest="$1"
    shift
    say "$manifest: $*"
    # A smaller graph does not meet every exception of deny.toml; that is a warning and not shown.
    "$VENV/bin/cargo-deny" --log-level error --locked --manifest-path "$manifest" --config deny.toml check "$@" ||
        fail "$manifest does not keep deny.toml"
}

python_env
for manifest in Cargo.toml benches/graph/Cargo.toml examples/Cargo.toml fuzz/Cargo.toml; do
    deny "$manifest" "${CHECKS[@]}"
done
# The peer is another SDK with what it chose to need. It is built to talk to and reaches nobody's build, so only where it
# comes from matters, and what is known against it.
PEER=()
for check in "${CHECKS[@]}"; do
    case "$check" in sources | advisories | all) PEER+=("${check/all/sources}") ;; esac
done
[[ ${#PEER[@]} -eq 0 ]] || deny itest/rust-peer/Cargo.toml "${PEER[@]}"
