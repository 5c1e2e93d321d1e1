"""What a run shows while it runs."""

from describe import ask, emit, graph, node, run, speak, sub, update
from scenarios.flow import LOG, START, logs, scenario
from scenarios.subgraphs import INNER, saved

TWO = graph(
    [
        node("one", emit({"progress": 1}), update(log=["one"])),
        node("two", emit({"progress": 2}), emit("almost"), update(log=["two"])),
    ],
    [("START", "one"), ("one", "two"), ("two", "END")],
    state=LOG,
)
TALK = graph(
    [
        node("quiet", update(log=["quiet"])),
        node("talks", speak("said-1", "Hel", "lo ", "you"), update(messages=["{said}"])),
    ],
    [("START", "quiet"), ("quiet", "talks"), ("talks", "END")],
    state={"log": "append", "messages": "messages"},
)
PARALLEL = graph(
    [
        *logs("split"),
        node("zeta", emit("from zeta"), update(log=["zeta"])),
        node("alpha", emit("from alpha"), update(log=["alpha"])),
    ],
    [("START", "split"), ("split", "zeta"), ("split", "alpha"), ("zeta", "END"), ("alpha", "END")],
    state=LOG,
)

SCENARIOS = [
    scenario("events_values", "values only", TWO, run(START, ["values"])),
    scenario("events_updates", "updates only", TWO, run(START, ["updates"])),
    scenario("events_custom", "what nodes send themselves, as they send it", TWO, run(START, ["custom"])),
    scenario(
        "events_several",
        "several modes at once, in one order",
        TWO,
        run(START, ["values", "updates", "custom", "tasks"]),
    ),
    scenario(
        "events_parallel",
        "events of two nodes of one step",
        PARALLEL,
        run(START, ["values", "updates", "custom", "tasks"]),
    ),
    scenario(
        "events_messages",
        "pieces of a message as a model gives them, then the state",
        TALK,
        run(START, ["messages", "updates"]),
    ),
    scenario("events_tasks", "start and finish of each node", TWO, run(START, ["tasks"])),
    saved("events_debug", "debug: tasks and checkpoints with their steps", TWO, run(START, ["debug"])),
    saved("events_checkpoints", "checkpoints as they are made", TWO, run(START, ["checkpoints", "values"])),
    saved(
        "events_interrupt",
        "a question in every mode",
        graph(
            [node("asks", emit("asking"), ask("go?", "said"), update(log=["got {said}"]))],
            [("START", "asks"), ("asks", "END")],
            state=LOG,
        ),
        run(START, ["values", "updates", "custom", "tasks"]),
    ),
    scenario(
        "events_subgraph",
        "events of a graph as a node carry its namespace",
        graph(
            [sub("inner", INNER), *logs("last")],
            [("START", "inner"), ("inner", "last"), ("last", "END")],
            state=LOG,
        ),
        run(START, ["updates", "values", "tasks"], subgraphs=True),
        run(START, ["updates", "values", "tasks"]),
    ),
]
