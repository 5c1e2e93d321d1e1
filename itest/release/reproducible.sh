#!/usr/bin/env bash
# Builds the released command twice, from copies of the committed sources in two folders that have nothing in common, and
# compares: the same bytes, and no path of this machine in them. Takes two release builds of time.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
OUT="$(realpath -m "${CARGO_TARGET_DIR:-$ROOT/target}")/itest-release"
cd "$ROOT"

WHAT="reproducible build"
. "$ROOT/itest/checks.sh"

[[ -z "$(git status --porcelain --untracked-files=no)" ]] || say "changes that are not committed are not in it"
rm -rf "$OUT"
# Two paths of different lengths and depths.
COPIES=("$OUT/a" "$OUT/another/place/for/the/same/sources")
SUMS=()
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)"
for copy in "${COPIES[@]}"; do
    say "build in $copy"
    mkdir -p "$copy"
    git archive HEAD | tar -x -C "$copy"
    line="$("$copy/itest/release/build.sh" "$copy/target")"
    SUMS+=("${line%% *}")
    say "$line"
done
[[ "${SUMS[0]}" == "${SUMS[1]}" ]] || fail "two builds of $(git rev-parse HEAD) differ; diffoscope shows where"
for path in "$OUT" "$(realpath -m "${CARGO_HOME:-$HOME/.cargo}")" "$(rustc --print sysroot)"; do
    ! grep -qaF "$path" "${COPIES[0]}/target/release/llamon" || fail "the binary has a path of this machine in it: $path"
done
say "$(git rev-parse --short HEAD) with $(rustc --version) and $(cc --version | sed -n 1p): ${SUMS[0]}"
rm -rf "$OUT"
