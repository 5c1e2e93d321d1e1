# What the check scripts share; sourced by them. They set
#
#   WHAT     what is checked, for messages
#
# Without what it needs from outside, an interpreter or a package index, a check says SKIP and ends well, but under CI it
# fails: there a check that did not run is not a check that passed.

say() { printf -- '-- %s\n' "$*"; }
skip() {
    printf 'SKIP %s: %s\n' "$WHAT" "$*"
    [[ -z "${CI:-}" ]] || exit 1
    exit 0
}
fail() {
    printf '%s: %s\n' "$WHAT" "$*" >&2
    exit 1
}

# Waits for the line READY URL in a server's log and sets URL: NAME PID LOG SECONDS
await_ready() {
    local name="$1" pid="$2" log="$3" seconds="$4"
    URL=""
    for _ in $(seq $((seconds * 10))); do
        URL="$(sed -n 's/^READY \(http:[^[:space:]]*\).*/\1/p' "$log" | sed -n 1p)"
        [[ -z "$URL" ]] || return 0
        kill -0 "$pid" 2>/dev/null || fail "$name ended at once: $(cat "$log")"
        sleep 0.1
    done
    fail "$name printed no READY line within $seconds s: $(cat "$log")"
}

apt_install() {
    command -v apt-get >/dev/null || return 1
    local as_root=()
    [[ "$(id -u)" == 0 ]] || as_root=(sudo -n)
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null
}
