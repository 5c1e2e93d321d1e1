"""Which node runs when."""

from describe import (
    below,
    branch,
    each,
    graph,
    node,
    nothing,
    run,
    send,
    update,
)

LOG = {"log": "append"}
START = {"log": ["start"]}


def scenario(name, shows, described, *calls):
    return {"name": name, "shows": shows, "graph": described, "saver": False, "calls": list(calls)}


def logs(*names):
    """Nodes that only say that they ran."""
    return [node(name, update(log=[name])) for name in names]


LOOP = graph(
    [node("again", update(log=["{n}"], n={"$add": ["{n}", 1]}))],
    [("START", "again")],
    branches=[branch("again", below("n", 4, "again", "END"), ["again", "END"])],
    state={"log": "append", "n": "replace"},
)

SCENARIOS = [
    scenario(
        "linear",
        "one node after the other; values come once for the input and once per step",
        graph(
            [
                node("a", update(log=["a"], n=1)),
                node("b", update(log=["b sees {n}"], n={"$add": ["{n}", 1]})),
                node("c", update(log=["c sees {n}"])),
            ],
            [("START", "a"), ("a", "b"), ("b", "c"), ("c", "END")],
            state={"log": "append", "n": "replace"},
        ),
        run(START),
    ),
    scenario(
        "fan_out_join",
        "two nodes of one step, then a join that waits for both",
        graph(
            logs("split", "zeta", "alpha", "join"),
            [("START", "split"), ("split", "zeta"), ("split", "alpha"), (["zeta", "alpha"], "join"), ("join", "END")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "diamond",
        "two edges into one node in the same step start it once",
        graph(
            logs("split", "left", "right", "meet"),
            [
                ("START", "split"),
                ("split", "left"),
                ("split", "right"),
                ("left", "meet"),
                ("right", "meet"),
                ("meet", "END"),
            ],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "unequal_paths",
        "edges into one node from paths of different length start it twice",
        graph(
            logs("split", "short", "long_one", "long_two", "meet"),
            [
                ("START", "split"),
                ("split", "short"),
                ("split", "long_one"),
                ("long_one", "long_two"),
                ("short", "meet"),
                ("long_two", "meet"),
                ("meet", "END"),
            ],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "unequal_paths_join",
        "a join over paths of different length waits for the longer one and starts once",
        graph(
            logs("split", "short", "long_one", "long_two", "meet"),
            [
                ("START", "split"),
                ("split", "short"),
                ("split", "long_one"),
                ("long_one", "long_two"),
                (["short", "long_two"], "meet"),
                ("meet", "END"),
            ],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "two_starts",
        "several edges from START: all of their nodes are the first step",
        graph(
            logs("one", "two", "after"),
            [("START", "two"), ("START", "one"), ("one", "after"), ("two", "END"), ("after", "END")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "conditional",
        "a conditional edge names the next node; the other one does not run",
        graph(
            [node("decide", update(route="right")), *logs("left", "right")],
            [("START", "decide"), ("left", "END"), ("right", "END")],
            branches=[branch("decide", "{route}", ["left", "right"])],
            state={"log": "append", "route": "replace"},
        ),
        run(START),
    ),
    scenario(
        "conditional_map",
        "a conditional edge gives a key that a map turns into a node or the end",
        graph(
            [node("decide", update(log=["decide"])), node("more", update(log=["more"], n=1))],
            [("START", "decide"), ("more", "decide")],
            branches=[branch("decide", below("n", 1, "go", "stop"), {"go": "more", "stop": "END"})],
            state={"log": "append", "n": "sum"},
        ),
        run({"log": ["start"], "n": 0}),
        run({"log": ["start"], "n": 1}),
    ),
    scenario(
        "conditional_list",
        "a conditional edge that names two nodes starts both",
        graph(
            [node("decide", update(routes=["zeta", "alpha"])), *logs("zeta", "alpha", "unused")],
            [("START", "decide"), ("zeta", "END"), ("alpha", "END"), ("unused", "END")],
            branches=[branch("decide", "{routes}", ["zeta", "alpha", "unused"])],
            state={"log": "append", "routes": "replace"},
        ),
        run(START),
    ),
    scenario(
        "conditional_start",
        "a conditional edge from START looks at the input",
        graph(
            logs("small", "big"),
            [("small", "END"), ("big", "END")],
            branches=[branch("START", below("n", 10, "small", "big"), ["small", "big"])],
            state={"log": "append", "n": "replace"},
        ),
        run({"log": [], "n": 3}),
        run({"log": [], "n": 30}),
    ),
    scenario(
        "conditional_and_edge",
        "an edge and a conditional edge of one node both count",
        graph(
            [node("decide", update(route="chosen")), *logs("always", "chosen")],
            [("START", "decide"), ("decide", "always"), ("always", "END"), ("chosen", "END")],
            branches=[branch("decide", "{route}", ["chosen"])],
            state={"log": "append", "route": "replace"},
        ),
        run(START),
    ),
    scenario(
        "two_branches",
        "two conditional edges of one node both count",
        graph(
            [node("decide", update(route="first", other="second")), *logs("first", "second")],
            [("START", "decide"), ("first", "END"), ("second", "END")],
            branches=[
                branch("decide", "{route}", ["first", "second"]),
                branch("decide", "{other}", ["first", "second"]),
            ],
            state={"log": "append", "route": "replace", "other": "replace"},
        ),
        run(START),
    ),
    scenario(
        "conditional_unknown",
        "a conditional edge that names a node which does not exist",
        graph(
            [node("decide", update(log=["decide"]))],
            [("START", "decide")],
            branches=[branch("decide", "nowhere")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "conditional_unmapped",
        "a conditional edge that gives a key which its map does not know",
        graph(
            [node("decide", update(log=["decide"])), *logs("known")],
            [("START", "decide"), ("known", "END")],
            branches=[branch("decide", "nowhere", {"known": "known"})],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "map_reduce",
        "one Send per item, each with its own argument, to one node; what follows runs once",
        graph(
            [
                node("plan", update(items=["pear", "apple", "fig"])),
                node("work", update(log=["work on {arg.item}"])),
                node("sum_up", update(log=["sum up"])),
            ],
            [("START", "plan"), ("work", "sum_up"), ("sum_up", "END")],
            branches=[branch("plan", each("items", "work", {"item": "{it}"}), ["work"])],
            state={"log": "append", "items": "replace"},
        ),
        run(START),
    ),
    scenario(
        "map_nothing",
        "no item, no Send: the run ends there",
        graph(
            [
                node("plan", update(items=[])),
                node("work", update(log=["work on {arg.item}"])),
                node("sum_up", update(log=["sum up"])),
            ],
            [("START", "plan"), ("work", "sum_up"), ("sum_up", "END")],
            branches=[branch("plan", each("items", "work", {"item": "{it}"}), ["work"])],
            state={"log": "append", "items": "replace"},
        ),
        run(START),
    ),
    scenario(
        "sends_to_two_nodes",
        "Sends to two nodes next to a plain edge: writes come in which order",
        graph(
            [
                node("plan", update(log=["plan"])),
                node("zeta", update(log=["zeta {arg.item}"])),
                node("alpha", update(log=["alpha {arg.item}"])),
                node("edge", update(log=["edge"])),
            ],
            [("START", "plan"), ("plan", "edge"), ("edge", "END"), ("zeta", "END"), ("alpha", "END")],
            branches=[
                branch(
                    "plan",
                    [send("zeta", {"item": 1}), send("alpha", {"item": 2}), send("zeta", {"item": 3})],
                    ["zeta", "alpha"],
                )
            ],
            state=LOG,
        ),
        run(START),
    ),
    scenario("loop_under_limit", "a loop of four steps with five allowed", LOOP, run({"log": [], "n": 0}, limit=5)),
    scenario(
        "loop_at_limit",
        "the same loop with four steps allowed: all four are run, then the limit is hit although nothing is left to do",
        LOOP,
        run({"log": [], "n": 0}, limit=4),
    ),
    scenario("loop_over_limit", "the same loop with three steps allowed", LOOP, run({"log": [], "n": 0}, limit=3)),
    scenario(
        "join_in_loop",
        "a join that is reached again waits for both again",
        graph(
            [*logs("split", "left", "right"), node("meet", update(log=["meet"], n=1))],
            [("START", "split"), ("split", "left"), ("split", "right"), (["left", "right"], "meet")],
            branches=[branch("meet", below("n", 2, "split", "END"), ["split", "END"])],
            state={"log": "append", "n": "sum"},
        ),
        run({"log": []}),
    ),
    scenario(
        "empty_update",
        "a node that gives nothing still counts as a step and leads on",
        graph(
            [node("silent", nothing()), node("empty", update()), *logs("after")],
            [("START", "silent"), ("silent", "empty"), ("empty", "after"), ("after", "END")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "unknown_key",
        "a node that writes a field which the state does not have",
        graph(
            [node("wrong", update(log=["wrong"], nonsense=1)), *logs("after")],
            [("START", "wrong"), ("wrong", "after"), ("after", "END")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "unknown_key_only",
        "a node that writes nothing but such a field",
        graph([node("wrong", update(nonsense=1))], [("START", "wrong"), ("wrong", "END")], state=LOG),
        run(START),
    ),
    scenario(
        "dead_end",
        "a node without an edge ends its path; the other path goes on",
        graph(
            logs("split", "stops", "goes_on", "last"),
            [("START", "split"), ("split", "stops"), ("split", "goes_on"), ("goes_on", "last"), ("last", "END")],
            state=LOG,
        ),
        run(START),
    ),
]
