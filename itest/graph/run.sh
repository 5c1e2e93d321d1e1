#!/usr/bin/env bash
# Does the real LangGraph still do what the golden files say? Records all scenarios again and compares.
#
#     run.sh            compare with golden/
#     run.sh --update   write golden/ anew (for a newer LangGraph, a new scenario)
#
# Needs Python 3.11 or newer with venv and PyPI. Without them it says SKIP and ends well, but under CI it fails: there a
# check that did not run is not a check that passed.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
HERE="$ROOT/itest/graph"
TARGET="${CARGO_TARGET_DIR:-$ROOT/target}"
VENV="$TARGET/itest-graph"
FRESH="$VENV/recorded"
cd "$ROOT"

say() { printf -- '-- %s\n' "$*"; }
skip() {
    printf 'SKIP golden traces of LangGraph: %s\n' "$*"
    [[ -z "${CI:-}" ]] || exit 1
    exit 0
}
fail() {
    printf 'golden traces of LangGraph: %s\n' "$*" >&2
    exit 1
}

case "${1:-}" in
    "" | --update) ;;
    *) fail "\"$1\" is not known; without a word it compares, with --update it writes itest/graph/golden anew" ;;
esac

# Prints the first Python that can make a virtual environment. 3.11 comes first: the pins were made with it. Older ones do
# not carry the context of a node into its tasks, on which questions and custom events rest.
find_python() {
    local candidate
    for candidate in python3.11 python3 python3.14 python3.13 python3.12 "$(command -p -v python3)"; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

apt_install() {
    command -v apt-get >/dev/null || return 1
    local as_root=()
    [[ "$(id -u)" == 0 ]] || as_root=(sudo -n)
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null
}

PYTHON="$(find_python || true)"
if [[ -z "$PYTHON" ]]; then
    say "apt-get install python3 python3-venv"
    apt_install python3 python3-venv >/dev/null || say "apt-get could not install them"
    PYTHON="$(find_python || true)"
fi
[[ -n "$PYTHON" ]] || skip "no Python 3.11 or newer with venv"

# The environment is kept between runs, until the Python or a pin changes.
WANTED="$("$PYTHON" --version) $(cksum <"$HERE/requirements.txt")"
if [[ "$(cat "$VENV/installed" 2>/dev/null)" != "$WANTED" ]]; then
    say "pip install ($("$PYTHON" --version))"
    rm -rf "$VENV"
    "$PYTHON" -m venv "$VENV"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
        -r "$HERE/requirements.txt" || skip "pip could not install the pinned packages"
    printf '%s\n' "$WANTED" >"$VENV/installed"
fi

rm -rf "$FRESH"
say "record.py with $("$VENV/bin/python" -m pip freeze --disable-pip-version-check | grep '^langgraph==')"
PYTHONDONTWRITEBYTECODE=1 timeout 600 "$VENV/bin/python" "$HERE/record.py" "$FRESH" </dev/null || fail "recording failed ($?)"

if [[ "${1:-}" == --update ]]; then
    rm -rf "$HERE/golden"
    cp -R "$FRESH" "$HERE/golden"
    say "itest/graph/golden is written anew: look at its diff before it is committed"
elif ! diff -ru "$HERE/golden" "$FRESH" >"$VENV/difference"; then
    sed -n 1,200p "$VENV/difference"
    say "- is itest/graph/golden, + is what LangGraph does now ($(wc -l <"$VENV/difference") lines, 200 at most are shown)"
    fail "LangGraph does not do what the golden files say. If it changed: itest/graph/run.sh --update, then make the crate equal"
else
    say "all as in itest/graph/golden"
fi
