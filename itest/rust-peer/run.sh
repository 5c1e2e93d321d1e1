#!/usr/bin/env bash
# The official Rust SDK both ways: its client against `interop-agent` (src/bin/client.rs), and our client against its server
# (src/bin/server.rs). Built with its own lock file.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
HERE="$ROOT/itest/rust-peer"
TARGET="${CARGO_TARGET_DIR:-$ROOT/target}"
PLACE="$TARGET/itest-rust-peer"
LOGS="$PLACE"
cd "$ROOT"

WHAT="rust interop"
. "$ROOT/itest/checks.sh"
. "$ROOT/itest/interop.sh"

say "cargo build of the official Rust SDK"
cargo fetch -q --locked --manifest-path "$HERE/Cargo.toml" || skip "cargo could not fetch the pinned crates"
cargo build -q --locked --manifest-path "$HERE/Cargo.toml" --target-dir "$PLACE" --bins

interop_build
their_client "$PLACE/debug/client"
our_client "$HERE/differs.txt" "$PLACE/debug/server"
