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

# three agents on a real file, both policies side by side
demo *args:
    cargo run --locked -p llamon -- demo {{ args }}

# generate a project with `llamon new`, build it, turn the policy
scaffold:
    itest/scaffold.sh

# the official Python SDK against our server, both bindings
interop:
    itest/python/run.sh

# our server against a bare axum handler, as ratios
bench *args:
    cargo run --locked --release -p llamon-benches {{ args }}

# licences, duplicate versions, banned crates and sources (cargo-deny; add `advisories` when online)
deny *checks="bans licenses sources":
    cargo deny --locked check {{ checks }}

# API docs of the workspace, warnings are errors
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps

# everything that CI runs
ci:
    .ci/run

# remove what the checks generated (scaffolded builds, Python environment, CI output)
clean-generated:
    rm -rf target/scaffold target/itest-python target/ci
