"""A node that says itself where to go."""

from describe import command, graph, node, run, send, update
from scenarios.flow import LOG, START, logs, scenario

SCENARIOS = [
    scenario(
        "goto",
        "a command names the next node",
        graph(
            [node("decide", command("right")), *logs("left", "right")],
            [("START", "decide"), ("left", "END"), ("right", "END")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "goto_with_update",
        "a command gives an update and names the next node, which sees the update",
        graph(
            [node("decide", command("next", log=["decide"], n=7)), node("next", update(log=["next sees {n}"]))],
            [("START", "decide"), ("next", "END")],
            state={"log": "append", "n": "replace"},
        ),
        run(START),
    ),
    scenario(
        "goto_several",
        "a command names two nodes, which run in one step",
        graph(
            [node("decide", command(["zeta", "alpha"], log=["decide"])), *logs("zeta", "alpha")],
            [("START", "decide"), ("zeta", "END"), ("alpha", "END")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "goto_and_edge",
        "the edge of a node that gives a command still counts",
        graph(
            [node("decide", command("chosen", log=["decide"])), *logs("chosen", "always")],
            [("START", "decide"), ("decide", "always"), ("chosen", "END"), ("always", "END")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "goto_same_as_edge",
        "a command to the node that the edge leads to as well: it runs once",
        graph(
            [node("decide", command("next", log=["decide"])), *logs("next")],
            [("START", "decide"), ("decide", "next"), ("next", "END")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "goto_sends",
        "a command may hold Sends, also next to a plain name",
        graph(
            [
                node("decide", command([send("work", {"item": 1}), "plain", send("work", {"item": 2})])),
                node("work", update(log=["work {arg.item}"])),
                *logs("plain"),
            ],
            [("START", "decide"), ("work", "END"), ("plain", "END")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "goto_end",
        "a command to the end; the other node of the step goes on",
        graph(
            [node("stops", command("END", log=["stops"])), *logs("goes_on", "last")],
            [("START", "stops"), ("START", "goes_on"), ("goes_on", "last"), ("last", "END")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "goto_back",
        "a command that leads back makes a loop",
        graph(
            [
                node("count", update(n=1, log=["count"])),
                node("check", command("{way}", log=["check"], way="done")),
                node("done", update(log=["done"])),
            ],
            [("START", "count"), ("count", "check"), ("done", "END")],
            state={"log": "append", "n": "sum", "way": "replace"},
        ),
        run({"log": [], "way": "count"}),
    ),
    scenario(
        "goto_unknown",
        "a command to a node that does not exist",
        graph(
            [node("decide", command("nowhere", log=["decide"])), *logs("other")],
            [("START", "decide"), ("other", "END")],
            state=LOG,
        ),
        run(START),
    ),
]
