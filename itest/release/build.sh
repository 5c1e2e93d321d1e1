#!/usr/bin/env bash
# Builds the command `llamon` as it is released, so that whoever builds the same commit with the same compilers gets the same
# bytes, wherever the sources and the registry lie:
#
#   build.sh [TARGET_DIR]     prints the SHA-256 and the path of what it built
#
# The bytes depend on the commit, rust-toolchain.toml, the lock file, the C compiler and the libc of the machine.
set -euo pipefail

SRC="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)"
TARGET="$(realpath -m "${1:-${CARGO_TARGET_DIR:-$SRC/target}/reproducible}")"
HOME_OF_CARGO="$(realpath -m "${CARGO_HOME:-$HOME/.cargo}")"
cd "$SRC"

# What a path says about the machine is replaced in panics, debug information and the C parts (ring, SQLite). Whatever else
# could change the bytes is fixed here and not taken from who builds.
unset RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC_WRAPPER CFLAGS CC AR "${!CARGO_PROFILE_RELEASE_@}"
export LLAMON_RELEASE=1 CARGO_INCREMENTAL=0 CARGO_TERM_COLOR=never LC_ALL=C TZ=UTC ZERO_AR_DATE=1
SYSROOT="$(rustc --print sysroot)"
CARGO_ENCODED_RUSTFLAGS="$(printf -- '--remap-path-prefix=%s=%s\x1f' \
    "$TARGET" /target "$SRC" /llamon "$HOME_OF_CARGO" /cargo "$SYSROOT" /rust)"
export CARGO_ENCODED_RUSTFLAGS="${CARGO_ENCODED_RUSTFLAGS%$'\x1f'}"
export CFLAGS="-ffile-prefix-map=$TARGET=/target -ffile-prefix-map=$HOME_OF_CARGO=/cargo"
# For whatever would write the time of the build: the time of the commit, or none where there is no git.
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git -C "$SRC" log -1 --format=%ct 2>/dev/null || printf 0)}"

cargo build --locked --release -p llamon --bin llamon --target-dir "$TARGET" >&2
sha256sum "$TARGET/release/llamon"
