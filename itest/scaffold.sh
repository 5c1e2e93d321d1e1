#!/usr/bin/env bash
# The project that `llamon new` writes builds, passes its own test, clippy and rustfmt as it is, and keeps nothing of
# upstream; then the comment marker of one line is removed, nothing else, and upstream passes through. One that takes
# its inputs as a struct passes the same checks, and the example in its README explains its own message. One that is a
# graph does what the first one does. One with people in the loop asks and is answered; one with a Python script answers
# what the script says.
#
# Needs what a user needs: cargo, python3, and the network for the crates of the new project.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"

MARKED='// .upstream_parts_policy("append")'
# Numbers beyond a double, a duplicate key and an escape: what passes through must have the very same text.
UPSTREAM='{"from":"upstream","n":1.0,"big":12345678901234567890123,"esc":"\u00e9","n":1.00}'

# The generated project lives outside this repository, so it is told which toolchain we pin (no-op without rustup).
RUSTUP_TOOLCHAIN="$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)"
export RUSTUP_TOOLCHAIN
# Lines of its log are read here.
export NO_COLOR=1

TARGET="${CARGO_TARGET_DIR:-target}"
[[ "$TARGET" == /* ]] || TARGET="$ROOT/$TARGET"
LLAMON="$TARGET/debug/llamon"
WORK="$(mktemp -d)"
SERVER=""

say() { printf -- '-- %s\n' "$*"; }
fail() {
    printf 'scaffold: %s\n' "$*" >&2
    if [[ -s "$WORK/server.log" ]]; then
        printf '%s\n' '-- the server said:' >&2
        tail -n 40 "$WORK/server.log" >&2
    fi
    exit 1
}

stop_server() {
    [[ -n "$SERVER" ]] || return 0
    kill "$SERVER" 2>/dev/null || true
    for _ in $(seq 100); do
        kill -0 "$SERVER" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$SERVER" 2>/dev/null || true
    wait "$SERVER" 2>/dev/null || true
    SERVER=""
    rm -f "$WORK/server.log"
}
cleanup() {
    stop_server
    rm -rf "$WORK"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Starts the project's server on a free port and sets URL to the first one that it prints.
start_server() {
    : >"$WORK/server.log"
    LLAMON_ADDR=127.0.0.1:0 "$CARGO_TARGET_DIR/debug/$NAME" </dev/null >"$WORK/server.log" 2>&1 &
    SERVER=$!
    URL=""
    for _ in $(seq 200); do
        URL="$(grep -o 'http://127\.0\.0\.1:[1-9][0-9]*[A-Za-z0-9/_.-]*' "$WORK/server.log" | sed -n 1p || true)"
        [[ -z "$URL" ]] || return 0
        kill -0 "$SERVER" 2>/dev/null || fail "the server ended before it printed a URL"
        sleep 0.1
    done
    fail "the server printed no http://127.0.0.1:PORT within 20 s"
}

# Reads one JSON object and prints the elements of its member "data", one a line, as they are written.
data_texts() {
    awk '
        { json = json $0 "\n" }
        # Ends the element or the key that is being collected.
        function flush_text() {
            gsub(/^[ \t\r\n]+|[ \t\r\n]+$/, "", text)
            if (depth == 2 && wanted && text != "") print text
            text = ""
        }
        END {
            n = length(json); depth = 0; quoted = 0; wanted = 0; text = ""; key = ""
            for (i = 1; i <= n; i++) {
                c = substr(json, i, 1)
                if (quoted) {
                    text = text c
                    if (c == "\\") { i++; text = text substr(json, i, 1) }
                    else if (c == "\"") { quoted = 0; if (depth == 1) { key = text; text = "" } }
                } else if (c == "\"") { quoted = 1; if (depth == 1) text = c; else text = text c }
                else if (c == "{" || c == "[") {
                    depth++
                    if (depth > 2) text = text c
                    else { text = ""; wanted = (depth == 2 && key == "\"data\"" && c == "[") }
                } else if (c == "}" || c == "]") {
                    if (depth == 2) { flush_text(); wanted = 0 }
                    else text = text c
                    depth--
                } else if (c == "," && depth == 2) flush_text()
                else text = text c
            }
        }'
}

# Calls the server with one upstream object; DATA is then what the answer has as data, one text a line.
call() {
    local status=0
    timeout 60 "$LLAMON" send "$URL" hi --data "$UPSTREAM" --json </dev/null >"$WORK/answer.json" || status=$?
    [[ $status -eq 0 ]] || fail "llamon send ended with $status: $(cat "$WORK/answer.json")"
    DATA="$(data_texts <"$WORK/answer.json")"
}

# What the project has to pass under both policies.
checks() {
    cargo fmt --check
    cargo build -q
    cargo test -q >"$WORK/test.log" 2>&1 || fail "the project's own test: $(cat "$WORK/test.log")"
    grep -q '^test result: ok\. [1-9]' "$WORK/test.log" || fail "no test ran: $(cat "$WORK/test.log")"
    cargo clippy -q --all-targets -- -D warnings
}
# The files of the project with their sums.
files() { find . -type f -exec cksum {} + | sort; }

# Writes a project ($1 its name, $2 its template) and goes there.
generate() {
    NAME="$1"
    PROJECT="$WORK/$1"
    "$LLAMON" new "$1" --template "$2" --dir "$PROJECT" --yes </dev/null
    cd "$PROJECT"
    local file
    for file in Cargo.toml src/main.rs src/agent.rs src/card.rs tests/agent.rs README.md .env.example; do
        [[ -s "$file" ]] || fail "no $file in the generated project: $(find . -type f)"
    done
}

# Removes the comment marker of the policy's line, and shows that nothing else changed.
turn_policy() {
    local found changed removed added
    found="$(grep -cF "$MARKED" src/main.rs || true)"
    [[ "$found" == 1 ]] || fail "src/main.rs has $found lines with $MARKED, not 1"
    cp src/main.rs "$WORK/before.rs"
    sed 's|^\([[:space:]]*\)// \(\.upstream_parts_policy("append")\)|\1\2|' "$WORK/before.rs" >src/main.rs
    changed="$(diff "$WORK/before.rs" src/main.rs | grep '^[<>]' || true)"
    removed="$(sed -n 's/^< [[:space:]]*//p' <<<"$changed")"
    added="$(sed -n 's/^> [[:space:]]*//p' <<<"$changed")"
    [[ "$(wc -l <<<"$changed")" == 2 && "$removed" == "// $added" ]] || fail "more than the marker changed: $changed"
    printf '%s\n' "$changed"
}

# The agent's own data, then with the marker removed the same data and upstream after it.
both_policies() {
    say "replace: the answer keeps nothing of upstream"
    start_server
    call
    stop_server
    OWN="$DATA"
    [[ -n "$OWN" ]] || fail "the agent gave no data of its own: $(cat "$WORK/answer.json")"
    if grep -qF '"from":"upstream"' <<<"$OWN"; then
        fail "upstream is in the answer's data: $OWN"
    fi

    say "removing the comment marker, nothing else"
    turn_policy

    say "cargo fmt, build, test, clippy"
    checks

    say "append: upstream comes after the agent's own data, token for token"
    start_server
    call
    stop_server
    [[ "$(tail -n 1 <<<"$DATA")" == "$UPSTREAM" ]] || fail "the last data is not upstream's text: $DATA"
    [[ "$(sed '$d' <<<"$DATA")" == "$OWN" ]] ||
        fail "before upstream stands not the agent's own data: $DATA, wanted $OWN"
}

say "llamon new hello-agent"
cargo build -q --locked -p llamon
generate hello-agent function

say "a second time: refused, and nothing is touched"
BEFORE="$(files)"
REFUSED=0
"$LLAMON" new hello-agent --dir "$PROJECT" --yes </dev/null 2>"$WORK/refused.log" || REFUSED=$?
[[ "$REFUSED" == 2 ]] || fail "it ended with $REFUSED, not 2: $(cat "$WORK/refused.log")"
[[ "$(files)" == "$BEFORE" ]] || fail "a refused llamon new changed files"

# All builds of the projects share one folder inside the target folder.
export CARGO_TARGET_DIR="$TARGET/scaffold"

say "cargo fmt, build, test, clippy"
checks

both_policies

say "llamon new order-agent --template structured"
generate order-agent structured

say "cargo fmt, build, test, clippy"
checks

say "the example of its README"
read -ra EXAMPLE <<<"$(sed -n 's/^llamon \(explain .*\)/\1/p' README.md)"
[[ ${#EXAMPLE[@]} -gt 1 ]] || fail "its README has no llamon explain: $(cat README.md)"
"$LLAMON" "${EXAMPLE[@]}" </dev/null >"$WORK/explained.txt" || fail "llamon ${EXAMPLE[*]} ended with $?"
grep -qF '=> the agent runs' "$WORK/explained.txt" || fail "the agent would not run: $(cat "$WORK/explained.txt")"
cat "$WORK/explained.txt"

say "removing the comment marker, nothing else; cargo fmt, build, test, clippy"
turn_policy
checks

say "llamon new graph-agent --template graph"
generate graph-agent graph

say "cargo fmt, build, test, clippy"
checks
both_policies
[[ -s data/threads.db ]] || fail "no data/threads.db: $(find data)"

# Neither has a line for the policy, but one comment that says why.
no_policy() {
    if grep -qF "$MARKED" src/main.rs; then fail "src/main.rs has a line for the policy"; fi
    [[ "$(grep -c 'upstream_parts_policy has no effect' src/main.rs)" == 1 ]] || fail "src/main.rs does not say so"
}

say "llamon new asking-agent --template hitl"
generate asking-agent hitl
no_policy
say "cargo fmt, build, test, clippy"
checks

say "it asks, and is answered with the commands that llamon prints"
start_server
STATUS=0
timeout 60 "$LLAMON" send "$URL" pencils </dev/null >"$WORK/asked.txt" 2>"$WORK/next.txt" || STATUS=$?
[[ $STATUS -eq 5 ]] || fail "llamon send ended with $STATUS: $(cat "$WORK/asked.txt" "$WORK/next.txt")"
grep -qF 'How many of "pencils"?' "$WORK/asked.txt" || fail "no question: $(cat "$WORK/asked.txt")"
TASK="$(sed -n 's/^answer with: .* --task \([^ ]*\) .*/\1/p' "$WORK/next.txt")"
[[ -n "$TASK" ]] || fail "no command that answers: $(cat "$WORK/next.txt")"
STATUS=0
timeout 60 "$LLAMON" send "$URL" --task "$TASK" 12 </dev/null >"$WORK/asked.txt" 2>&1 || STATUS=$?
[[ $STATUS -eq 5 ]] || fail "llamon send ended with $STATUS: $(cat "$WORK/asked.txt")"
timeout 60 "$LLAMON" send "$URL" --task "$TASK" --data '{"resume":true}' </dev/null >"$WORK/asked.txt" 2>&1 ||
    fail "llamon send ended with $?: $(cat "$WORK/asked.txt")"
stop_server
grep -qF 'ordered 12 of "pencils"' "$WORK/asked.txt" || fail "nothing was ordered: $(cat "$WORK/asked.txt")"

say "llamon new python-agent --template adapter"
generate python-agent adapter
no_policy
[[ "$(wc -l <agent.py)" -le 45 ]] || fail "agent.py has $(wc -l <agent.py) lines"
say "cargo fmt, build, test, clippy"
checks

say "its answer is what agent.py says, with the server and without"
start_server
call
stop_server
[[ "$DATA" == '{"query": "hi", "data": 1, "files": 0}' ]] || fail "not the script's own data: $DATA"
LINE="$(sed -n "s/^echo '\(.*\)' | python3 agent.py$/\1/p" README.md)"
python3 agent.py <<<"$LINE" | tail -n 1 | grep -qF '"done"' || fail "the README's line is not answered"

say "the scaffolded projects work: three under both policies, two where the policy has no effect"
