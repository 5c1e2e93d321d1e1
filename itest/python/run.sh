#!/usr/bin/env bash
# The official Python SDK's client against `interop-agent`, over JSON-RPC and HTTP+JSON (see check.py).
#
# Needs Python 3.10 or newer with venv (asks apt-get for it where it may) and PyPI. Without them it says SKIP and ends
# well, but under CI it fails: there a check that did not run is not a check that passed.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
HERE="$ROOT/itest/python"
TARGET="${CARGO_TARGET_DIR:-$ROOT/target}"
VENV="$TARGET/itest-python"
LOG="$VENV/interop-agent.log"
AGENT=""
cd "$ROOT"

WHAT="python interop"
MINOR=10
PREFER="python3"
. "$ROOT/itest/python_env.sh"

cleanup() {
    [[ -n "$AGENT" ]] || return 0
    kill "$AGENT" 2>/dev/null || true
    for _ in $(seq 100); do
        kill -0 "$AGENT" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$AGENT" 2>/dev/null || true
    wait "$AGENT" 2>/dev/null || true
    AGENT=""
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

python_env

say "cargo build interop-agent"
cargo build -q --locked -p llamon-itest --bin interop-agent

: >"$LOG"
"$TARGET/debug/interop-agent" </dev/null >"$LOG" 2>&1 &
AGENT=$!
URL=""
for _ in $(seq 200); do
    URL="$(sed -n 's/^READY \(http:[^[:space:]]*\).*/\1/p' "$LOG" | sed -n 1p)"
    [[ -z "$URL" ]] || break
    kill -0 "$AGENT" 2>/dev/null || fail "interop-agent ended at once: $(cat "$LOG")"
    sleep 0.1
done
[[ -n "$URL" ]] || fail "interop-agent printed no READY line within 20 s: $(cat "$LOG")"

say "check.py"
status=0
# No proxy between us and loopback; no byte code beside the source.
NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 PYTHONDONTWRITEBYTECODE=1 \
    timeout 600 "$VENV/bin/python" "$HERE/check.py" "$URL" </dev/null || status=$?
kill -0 "$AGENT" 2>/dev/null || { printf 'interop-agent did not survive the checks\n'; status=1; }
if [[ $status -ne 0 ]]; then
    say "interop-agent said"
    tail -n 60 "$LOG"
    fail "failed ($status)"
fi
