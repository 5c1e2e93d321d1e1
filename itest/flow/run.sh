#!/usr/bin/env bash
# A plan whose agents are the official Python SDK's and the official JavaScript SDK's: checked, run with `llamon flow`,
# asked and answered, and shown.
#
# Needs what itest/python/run.sh and itest/js/run.sh need.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
TARGET="${CARGO_TARGET_DIR:-$ROOT/target}"
VENV="$TARGET/itest-python"
PLACE="$TARGET/itest-js"
PLAN="$ROOT/itest/flow/plan.yaml"
OUT="$TARGET/itest-flow"
cd "$ROOT"

WHAT="plan of other SDKs' agents"
MINOR=11
PREFER="python3"
. "$ROOT/itest/python_env.sh"
. "$ROOT/itest/js_env.sh"
HERE="$ROOT/itest/python" python_env
HERE="$ROOT/itest/js" node_env

say "cargo build llamon"
cargo build -q --locked -p llamon
LLAMON="$TARGET/debug/llamon"
rm -rf "$OUT"
mkdir -p "$OUT"

PEERS=()
stop_peers() {
    [[ ${#PEERS[@]} -eq 0 ]] || kill "${PEERS[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
}
trap stop_peers EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Starts a peer's server and sets URL: NAME COMMAND...
peer() {
    local name="$1" log="$OUT/$1.log"
    shift
    : >"$log"
    env NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 PYTHONDONTWRITEBYTECODE=1 "$@" </dev/null >"$log" 2>&1 &
    PEERS+=($!)
    await_ready "the $name agent" "${PEERS[-1]}" "$log" 30
}

# Runs llamon with a store and expects an exit code: CODE FILE ARGUMENT...
llamon() {
    local expected="$1" file="$2" code=0
    shift 2
    timeout 120 "$LLAMON" flow "$@" </dev/null >"$OUT/$file" 2>"$OUT/$file.err" || code=$?
    [[ $code -eq $expected ]] && return 0
    cat "$OUT/$file" "$OUT/$file.err"
    fail "llamon flow $1 ended with $code, expected was $expected"
}

peer python "$VENV/bin/python" "$ROOT/itest/python/server.py"
PYTHON_URL="$URL"
peer javascript node "$PLACE/server.mjs"
AGENTS=(--agent "python=$PYTHON_URL" --agent "javascript=$URL")
STORE=(--store "$OUT/flows.db")

say "check"
llamon 0 check.txt check "$PLAN" "${AGENTS[@]}"
say "run"
llamon 5 run.txt run "$PLAN" "${AGENTS[@]}" "${STORE[@]}" --id interop \
    --data '{"words":["one","two","three"]}'
say "answer both questions"
llamon 5 answer-1.txt answer interop ask_python red "${STORE[@]}"
llamon 0 answer-2.json answer interop ask_javascript blue "${STORE[@]}" --json
say "show and draw"
llamon 0 show.txt show interop "${STORE[@]}"
llamon 0 graph.mmd graph interop "${STORE[@]}"

# The answer, its parts in the order of `outputs`, each token for token but for what the SDKs write anew.
"$VENV/bin/python" - "$OUT/answer-2.json" <<'PY'
import json
import sys

answer = json.loads(open(sys.argv[1], encoding="utf-8").read().splitlines()[-1])
words = [part for word in ("one", "two", "three") for part in ({"own": True, "count": 1}, word)]
expected = {
    "text": "".join(
        ["echo: 2 data, 0 files", *["echo: 1 data, 0 files"] * 3, "got: red", "got: blue"]
    ),
    "data": [{"own": True, "count": 2}, {"own": True, "count": 1}, {"words": ["one", "two", "three"]}, *words],
}
found = {"text": answer["text"], "data": answer["data"]}
if found != expected:
    sys.exit(f"found    {found}\nexpected {expected}")
PY
grep -q 'back<br/>javascript<br/>completed' "$OUT/graph.mmd" || fail "the picture: $(cat "$OUT/graph.mmd")"
say "a plan of a Python and a JavaScript agent ran, asked, was answered and completed"
