# What the checks that need Node.js share; sourced by their run.sh, which sets
#
#   WHAT     what is checked, for messages
#   HERE     the folder with package.json, its lock file and the scripts
#   PLACE    where the packages are kept, and the scripts are copied to
#
# and ROOT, the repository, as everything that sources checks.sh.

. "$ROOT/itest/checks.sh"

has_node() {
    command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null
}

# npm installs beside the scripts, so they are copied to where it may. Kept until Node.js or the lock file changes.
node_env() {
    if ! has_node; then
        say "apt-get install nodejs npm"
        apt_install nodejs npm >/dev/null || say "apt-get could not install them"
    fi
    has_node || skip "no Node.js 20 or newer with npm"
    mkdir -p "$PLACE"
    cp "$HERE"/*.mjs "$HERE"/package.json "$HERE"/package-lock.json "$PLACE/"
    local wanted
    wanted="$(node --version) $(cksum <"$HERE/package-lock.json")"
    [[ "$(cat "$PLACE/installed" 2>/dev/null)" != "$wanted" ]] || return 0
    say "npm ci (Node.js $(node --version))"
    (cd "$PLACE" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null) ||
        skip "npm could not install the pinned packages"
    printf '%s\n' "$wanted" >"$PLACE/installed"
}
