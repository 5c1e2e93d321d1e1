# Both directions of an interop check; sourced by its run.sh after checks.sh, with ROOT, TARGET and
#
#   LOGS     the folder for what agents print
#
# A peer's client is a command that takes the URL of `interop-agent` and ends with 0 if all went well. A peer's server is
# a command that prints `READY URL` and does what `interop-agent` does; `interop-client` starts it.

AGENT=""
AGENT_ARGUMENTS=()
BINDINGS=(JSONRPC HTTP+JSON)

interop_build() {
    say "cargo build interop-agent, interop-client"
    cargo build -q --locked -p llamon-itest --bin interop-agent --bin interop-client
    mkdir -p "$LOGS"
    trap stop_agent EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

stop_agent() {
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

# Starts our agent, with the arguments in AGENT_ARGUMENTS, and sets URL.
start_agent() {
    local log="$LOGS/interop-agent.log"
    : >"$log"
    "$TARGET/debug/interop-agent" "${AGENT_ARGUMENTS[@]}" </dev/null >"$log" 2>&1 &
    AGENT=$!
    await_ready interop-agent "$AGENT" "$log" 20
}

# No proxy between us and loopback; no byte code beside the source.
on_loopback() {
    env NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 PYTHONDONTWRITEBYTECODE=1 timeout 600 "$@" </dev/null
}

# The peer's client against our server.
their_client() {
    say "their client: ${*##*/}"
    start_agent
    local status=0
    on_loopback "$@" "$URL" || status=$?
    kill -0 "$AGENT" 2>/dev/null || { printf 'interop-agent did not survive the checks\n'; status=1; }
    stop_agent
    [[ $status -ne 0 ]] || return 0
    say "interop-agent said"
    tail -n 60 "$LOGS/interop-agent.log"
    fail "their client failed ($status)"
}

# Our client against the peer's server over BINDINGS: FILE COMMAND..., where the file has what the peer is known to do otherwise.
our_client() {
    local differs="$1" status=0 binding over=()
    shift
    for binding in "${BINDINGS[@]}"; do over+=(--binding "$binding"); done
    say "their server: ${*##*/}"
    on_loopback "$TARGET/debug/interop-client" --expect "$differs" "${over[@]}" "$@" 2>"$LOGS/their-server.log" || status=$?
    [[ $status -ne 0 ]] || return 0
    say "their server said"
    tail -n 60 "$LOGS/their-server.log"
    fail "our client failed ($status)"
}
