"""All scenarios. One is a graph, the calls made one after the other, and a sentence that says what it shows."""

from scenarios import commands, compiling, events, failures, flow, interrupts, reducers, subgraphs, threads

MODULES = (flow, commands, reducers, subgraphs, interrupts, failures, threads, events, compiling)
SCENARIOS = [scenario for module in MODULES for scenario in module.SCENARIOS]

assert len({scenario["name"] for scenario in SCENARIOS}) == len(SCENARIOS), "two scenarios have one name"
