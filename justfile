# What one can do here. `just` alone lists it; `.ci/run` needs no just.

# list the recipes
default:
    @just --list --unsorted

# format the workspace
fmt:
    cargo fmt --all

# clippy, warnings are errors
lint:
    cargo clippy --locked --workspace --all-targets -- -D warnings

# all Rust tests (arguments go to cargo test)
test *args:
    cargo test --workspace {{ args }}

# the examples, a workspace of its own: clippy and tests
examples:
    cargo clippy --locked --manifest-path examples/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" --workspace --all-targets -- -D warnings
    cargo test --locked --manifest-path examples/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" --workspace

# the agent that the A2A compatibility kit drives (--profile full|nothing|required-extension, --compat-1-0-0)
compat-agent *args:
    cargo run --locked --manifest-path examples/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" -p compat-agent -- {{ args }}

# three agents on a real file, both policies side by side
demo *args:
    cargo run --locked -p llamon -- demo {{ args }}

# generate a project with `llamon new`, build it, turn the policy
scaffold:
    itest/scaffold.sh

# other SDKs against our server and our client against theirs; one of: python js rust-peer proof
interop peer="python":
    itest/{{ peer }}/run.sh

# the real LangGraph, pinned, against the golden traces (--update writes them anew)
golden-graph *args:
    itest/graph/run.sh {{ args }}

# kill a server 50 times while tasks run through it, and send a million tasks through one that keeps 50,000
durable rounds="50" seed="1" tasks="1000000" retention="50000":
    itest/durable.sh {{ rounds }} {{ seed }} {{ tasks }} {{ retention }}

# kill the runner of a plan and its agents in 100 runs, each of 55 calls
flow-kill rounds="100" seed="1":
    itest/flow_kill.sh {{ rounds }} {{ seed }}

# attack a server, one attack after the other, while ordinary requests must succeed
abuse connections="10000" seconds="65":
    itest/abuse.sh {{ connections }} {{ seconds }}

# our server against a bare axum handler, as ratios; `durable`: with tasks in a file
bench *args:
    cargo run --locked --release -p llamon-benches {{ args }}

# a runner against a plain client with the same agents, as a ratio, and how busy a fan-out keeps its cap
bench-flow rounds="5":
    cargo run --locked --release -p llamon-benches flow {{ rounds }}

# our graphs against adk-graph, as ratios; a workspace of its own
bench-graph:
    cargo run --locked --release --manifest-path benches/graph/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}/bench-graph"

# libfuzzer on a target of fuzz/README.md for so many seconds; needs cargo-fuzz and a C++ compiler
fuzz target seconds="60":
    #!/usr/bin/env bash
    set -euo pipefail
    out="$(realpath -m "${CARGO_TARGET_DIR:-target}")/fuzz"
    mkdir -p "$out/corpus/{{ target }}" "$out/artifacts/{{ target }}"
    # Coverage needs flags that only a nightly compiler takes without this.
    RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$out" cargo fuzz run --fuzz-dir fuzz --sanitizer none {{ target }} \
        "$out/corpus/{{ target }}" fuzz/corpus/{{ target }} -- -artifact_prefix="$out/artifacts/{{ target }}/" \
        -max_total_time={{ seconds }} -timeout=10 -rss_limit_mb=2048 -max_len=16384

# licences, duplicate versions, banned crates and sources of all lock files (`advisories`: what RustSec knows against them)
deny *checks="bans licenses sources":
    itest/deny/run.sh {{ checks }}

# what is in the command and in the SDK, as CycloneDX under target/sbom
sbom:
    itest/release/sbom.sh

# the released command, built twice in two folders: the same bytes
reproducible:
    itest/release/reproducible.sh

# break the egress, the gate, who calls and the state machine, and expect a test to fail for each change (hours)
mutants *parts="state egress gate":
    itest/mutants.sh {{ parts }}

# API docs of the workspace, warnings are errors
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps

# everything that CI runs
ci:
    .ci/run

# remove what the checks generated (scaffolded builds, Python environment, CI output)
clean-generated:
    rm -rf target/scaffold target/itest-python target/itest-js target/itest-rust-peer target/itest-proof target/itest-graph target/itest-deny target/itest-release target/sbom target/mutants target/ci
