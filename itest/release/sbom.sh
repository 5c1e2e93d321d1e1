#!/usr/bin/env bash
# What is in the command `llamon` and in the SDK `llamon-agent` with all its features, as CycloneDX 1.5 documents under
# target/sbom: every crate of the lock file that is in what a user runs, with version, licence and checksum. What only builds,
# tests or other platforms need is not in them.
#
# Installs cargo-cyclonedx under target/ the first time, which takes some minutes.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
TARGET="$(realpath -m "${CARGO_TARGET_DIR:-$ROOT/target}")"
OUT="$TARGET/sbom"
VERSION=0.5.9
TOOLS="$TARGET/tools/cargo-cyclonedx-$VERSION"
cd "$ROOT"

WHAT="SBOM"
. "$ROOT/itest/checks.sh"

[[ -x "$TOOLS/bin/cargo-cyclonedx" ]] || cargo install --quiet --locked --root "$TOOLS" "cargo-cyclonedx@$VERSION"

# The tool writes beside the manifests, so it works on a copy; the copy's place is in no document.
copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT
git archive HEAD | tar -x -C "$copy"
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)"
platform="$(rustc -vV | sed -n 's/^host: //p')"
mkdir -p "$OUT"

# sbom CRATE FOLDER FLAG...
sbom() {
    local crate="$1" folder="$2"
    shift 2
    (cd "$copy/$folder" && "$TOOLS/bin/cargo-cyclonedx" cyclonedx --quiet --format json --spec-version 1.5 \
        --target "$platform" --no-build-deps --override-filename "$crate.cdx" "$@")
    sed "s#$copy#/llamon#g" "$copy/$folder/$crate.cdx.json" >"$OUT/$crate.cdx.json"
    say "$OUT/$crate.cdx.json"
}

sbom llamon crates/cli
sbom llamon-agent crates/agent --all-features
