# What the checks that need Python share; sourced by their run.sh, which sets
#
#   WHAT     what is checked, for messages
#   HERE     its folder, with requirements.txt
#   VENV     where its virtual environment is kept
#   MINOR    the oldest Python 3 that will do
#   PREFER   names to look for first
#
# and ROOT, the repository, as everything that sources checks.sh.

. "$ROOT/itest/checks.sh"

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
