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

apt_install() {
    command -v apt-get >/dev/null || return 1
    local as_root=()
    [[ "$(id -u)" == 0 ]] || as_root=(sudo -n)
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null
}
