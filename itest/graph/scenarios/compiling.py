"""Graphs that are wrong before they run."""

from describe import branch, graph, run
from scenarios.flow import LOG, START, logs, scenario

SCENARIOS = [
    scenario("compile_no_entry", "no edge from START", graph(logs("a"), [("a", "END")], state=LOG), run(START)),
    scenario(
        "compile_unknown_target",
        "an edge to a node that does not exist",
        graph(logs("a"), [("START", "a"), ("a", "nowhere"), ("a", "END")], state=LOG),
        run(START),
    ),
    scenario(
        "compile_unknown_source",
        "an edge from a node that does not exist",
        graph(logs("a"), [("START", "a"), ("nowhere", "a"), ("a", "END")], state=LOG),
        run(START),
    ),
    scenario(
        "compile_unknown_in_join",
        "a join that waits for a node that does not exist",
        graph(logs("a", "b"), [("START", "a"), (["a", "nowhere"], "b"), ("b", "END")], state=LOG),
        run(START),
    ),
    scenario(
        "compile_unknown_in_branch",
        "a conditional edge whose list holds a node that does not exist",
        graph(logs("a"), [("START", "a")], branches=[branch("a", "nowhere", ["nowhere"])], state=LOG),
        run(START),
    ),
    scenario(
        "compile_unreachable",
        "a node that no edge leads to",
        graph(logs("a", "island"), [("START", "a"), ("a", "END"), ("island", "END")], state=LOG),
        run(START),
    ),
    scenario(
        "compile_same_name",
        "two nodes of one name",
        graph(logs("a", "a"), [("START", "a"), ("a", "END")], state=LOG),
        run(START),
    ),
    scenario(
        "compile_reserved_name",
        "a node named like the start",
        graph(logs("a", "__start__"), [("START", "a"), ("a", "END")], state=LOG),
        run(START),
    ),
    scenario(
        "compile_edge_from_end",
        "an edge that starts at the end",
        graph(logs("a"), [("START", "a"), ("END", "a"), ("a", "END")], state=LOG),
        run(START),
    ),
    scenario(
        "compile_unknown_stop",
        "a stop before a node that does not exist",
        graph(logs("a"), [("START", "a"), ("a", "END")], interrupt_before=["nowhere"], state=LOG),
        run(START),
    ),
]
