# What the checks that need Python share; sourced by their run.sh, which sets
#
#   WHAT     what is checked, for messages
#   HERE     its folder, with requirements.txt
#   VENV     where its virtual environment is kept
#   MINOR    the oldest Python 3 that will do
#   PREFER   names to look for first
#
# Without Python or a package index a check says SKIP and ends well, but under CI it fails: there a check that did not
# run is not a check that passed.

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

# Prints the first Python that can make a virtual environment.
find_python() {
    local candidate
    for candidate in $PREFER python3.14 python3.13 python3.12 python3.11 python3.10 "$(command -p -v python3)"; do
        if "$candidate" -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, $MINOR))" 2>/dev/null; then
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

# Makes the environment with the pinned packages. It is kept between runs, until the Python or a pin changes.
python_env() {
    PYTHON="$(find_python || true)"
    if [[ -z "$PYTHON" ]]; then
        say "apt-get install python3 python3-venv"
        apt_install python3 python3-venv >/dev/null || say "apt-get could not install them"
        PYTHON="$(find_python || true)"
    fi
    [[ -n "$PYTHON" ]] || skip "no Python 3.$MINOR or newer with venv"

    local wanted
    wanted="$("$PYTHON" --version) $(cksum <"$HERE/requirements.txt")"
    [[ "$(cat "$VENV/installed" 2>/dev/null)" != "$wanted" ]] || return 0
    say "pip install ($("$PYTHON" --version))"
    rm -rf "$VENV"
    "$PYTHON" -m venv "$VENV"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
        -r "$HERE/requirements.txt" || skip "pip could not install the pinned packages"
    printf '%s\n' "$wanted" >"$VENV/installed"
}
