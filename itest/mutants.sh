#!/usr/bin/env bash
# Breaks what must not break, change by change, with cargo-mutants, and expects a test to fail for each. Parts:
#
#   state    the states of a task, the fold of its events, and what a reader has missed
#   egress   what may be dialled, and how
#   gate     who is let in, in which scope
#
# Every change that no test notices is listed in docs/mutants.md with its reason, and nothing else may survive. Takes hours on
# a small machine; one part and one file at a time: mutants.sh egress crates/client/src/egress/rules.rs
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
TARGET="$(realpath -m "${CARGO_TARGET_DIR:-$ROOT/target}")"
VERSION=27.1.0
TOOLS="$TARGET/tools/cargo-mutants-$VERSION"
cd "$ROOT"

WHAT="mutants"
. "$ROOT/itest/checks.sh"

[[ -x "$TOOLS/bin/cargo-mutants" ]] || cargo install --quiet --locked --root "$TOOLS" "cargo-mutants@$VERSION"
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0

# mutants PART DEFAULT_FILES -- ARGUMENT...: the reasons name each change as the tool does, without line and column.
mutants() {
    local part="$1" files=() survived=0 line file change
    shift
    while [[ "$1" != -- ]]; do
        files+=(-f "$1")
        shift
    done
    shift
    [[ -z "$FILE" ]] || files=(-f "$FILE")
    say "$part"
    "$TOOLS/bin/cargo-mutants" mutants --output "$TARGET/mutants/$part" --timeout 300 "${files[@]}" "$@" || true
    while IFS= read -r line; do
        file="${line%%:*}"
        # As it stands in a table of Markdown.
        change="${line#*: }"
        grep -qF "\`${file##*/}: ${change//|/\\|}\`" docs/mutants.md && continue
        printf 'no test and no reason: %s\n' "$line"
        survived=1
    done <"$TARGET/mutants/$part/mutants.out/missed.txt"
    [[ $survived == 0 ]] || fail "$part: write a test, or the reason into docs/mutants.md"
}

PARTS=()
FILE=""
for word in "$@"; do
    case "$word" in *.rs) FILE="$word" ;; *) PARTS+=("$word") ;; esac
done
[[ ${#PARTS[@]} -gt 0 ]] || PARTS=(state egress gate)
for part in "${PARTS[@]}"; do
    mkdir -p "$TARGET/mutants/$part"
    case "$part" in
    state)
        mutants state crates/core/src/a2a/state.rs crates/core/src/a2a/fold.rs crates/core/src/a2a/catch_up.rs -- \
            --test-package llamon-core --cargo-test-arg=--lib --cargo-test-arg=--test=gather --cargo-test-arg=--test=composition
        ;;
    egress)
        mutants egress 'crates/client/src/egress/*.rs' -- --test-package llamon-client --cargo-test-arg=--lib \
            --cargo-test-arg=--test=egress --cargo-test-arg=--test=egress_corpus --cargo-test-arg=--test=discovery
        ;;
    gate)
        mutants gate crates/server/src/binding/gate.rs 'crates/server/src/auth.rs' 'crates/server/src/auth/**/*.rs' -- \
            --test-package llamon-server --test-package llamon-itest --cargo-test-arg=--lib --cargo-test-arg=--test=access
        ;;
    *) fail "there is no part $part; there are state, egress and gate" ;;
    esac
done
