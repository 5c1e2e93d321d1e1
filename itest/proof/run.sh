#!/usr/bin/env bash
# The black-box tool a2a-proof against `interop-agent`, over JSON-RPC and HTTP+JSON: everything in contract.yaml.
#
# Needs Python 3.11 or newer with venv (asks apt-get for it where it may) and PyPI; see checks.sh for what happens
# without them.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
HERE="$ROOT/itest/proof"
TARGET="${CARGO_TARGET_DIR:-$ROOT/target}"
VENV="$TARGET/itest-proof"
LOGS="$VENV"
cd "$ROOT"

WHAT="a2a-proof"
MINOR=11
PREFER="python3"
. "$ROOT/itest/python_env.sh"
. "$ROOT/itest/interop.sh"

# The tool takes the URL from the environment.
proof() { PROOF_AGENT_URL="$URL" on_loopback "$VENV/bin/a2a-proof" run "$HERE/contract.yaml" --transport "$1" --verbose; }

python_env
interop_build
# It takes no card with an interface that is no http URL, as that of gRPC is.
AGENT_ARGUMENTS=(--without-grpc)
start_agent
for transport in JSONRPC HTTP+JSON; do
    say "$transport"
    proof "$transport" || fail "the contract does not hold over $transport: $(tail -n 20 "$LOGS/interop-agent.log")"
done
