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

WHAT="golden traces of LangGraph"
# 3.11 comes first: the pins were made with it. Older ones do not carry the context of a node into its tasks, on which
# questions and custom events rest.
MINOR=11
PREFER="python3.11 python3"
. "$ROOT/itest/python_env.sh"

case "${1:-}" in
    "" | --update) ;;
    *) fail "\"$1\" is not known; without a word it compares, with --update it writes itest/graph/golden anew" ;;
esac

python_env

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
