"""A graph as a node of another one."""

from describe import (
    answer,
    ask,
    branch,
    call_graph,
    fail,
    go_on,
    graph,
    history,
    node,
    resume,
    run,
    send,
    state,
    sub,
    update,
)
from scenarios.flow import LOG, START, logs, scenario

INNER = graph(
    logs("in_one", "in_two"),
    [("START", "in_one"), ("in_one", "in_two"), ("in_two", "END")],
    state=LOG,
)
ASKS = graph(
    [node("before", update(log=["before"])), node("asks", ask("sure?", "said"), update(log=["said {said}"]))],
    [("START", "before"), ("before", "asks"), ("asks", "END")],
    state=LOG,
)
AROUND = [("START", "first"), ("first", "inner"), ("inner", "last"), ("last", "END")]


def saved(*args):
    return scenario(*args) | {"saver": True}


SCENARIOS = [
    scenario(
        "subgraph_shared",
        "a graph as a node shares the state: a list that it hands back whole is appended again",
        graph([*logs("first"), sub("inner", INNER), *logs("last")], AROUND, state=LOG),
        run(START, subgraphs=True),
        run(START),
    ),
    scenario(
        "subgraph_shared_replace",
        "what a graph as a node changes in the shared state is seen by what follows; its own fields stay inside",
        graph(
            [
                node("first", update(n=1)),
                sub(
                    "inner",
                    graph(
                        [node("in_one", update(own="own {n}", n=2)), node("in_two", update(n=3, text="{own}"))],
                        [("START", "in_one"), ("in_one", "in_two"), ("in_two", "END")],
                        state={"n": "replace", "own": "replace", "text": "replace"},
                    ),
                ),
                node("last", update(seen="last sees {n}")),
            ],
            AROUND,
            state={"n": "replace", "text": "replace", "seen": "replace"},
        ),
        run({"n": 0}, subgraphs=True),
    ),
    scenario(
        "subgraph_mapped",
        "a node calls a graph with a state of its own and maps input and output",
        graph(
            [
                *logs("first"),
                node(
                    "inner",
                    call_graph(
                        graph(
                            [node("shout", update(text="{text}!"))],
                            [("START", "shout"), ("shout", "END")],
                            state={"text": "replace"},
                        ),
                        {"text": "hey"},
                        {"log": ["inner said {inner.text}"]},
                    ),
                ),
                *logs("last"),
            ],
            AROUND,
            state=LOG,
        ),
        run(START, subgraphs=True),
    ),
    saved(
        "subgraph_interrupt",
        "a question inside a graph as a node; the answer goes on inside, what was done before it is not done again",
        graph([*logs("first"), sub("inner", ASKS), *logs("last")], AROUND, state=LOG),
        run(START, subgraphs=True),
        state(),
        resume("yes", subgraphs=True),
        state(),
    ),
    saved(
        "subgraph_interrupt_mapped",
        "a question inside a graph that a node calls: the calling node runs again, the inner finished node does not",
        graph(
            [
                *logs("first"),
                node("inner", call_graph(ASKS, {"log": ["in"]}, {"log": ["got {inner.log}"]})),
                *logs("last"),
            ],
            AROUND,
            state=LOG,
        ),
        run(START, subgraphs=True),
        resume("yes", subgraphs=True),
    ),
    scenario(
        "subgraph_nested",
        "a graph in a graph in a graph: the namespace has a part for each",
        graph(
            [
                sub(
                    "outer",
                    graph(
                        [
                            sub(
                                "middle",
                                graph(logs("leaf"), [("START", "leaf"), ("leaf", "END")], state={"log": "replace"}),
                            )
                        ],
                        [("START", "middle"), ("middle", "END")],
                        state={"log": "replace"},
                    ),
                )
            ],
            [("START", "outer"), ("outer", "END")],
            state={"log": "replace"},
        ),
        run({"log": ["start"]}, subgraphs=True),
    ),
    scenario(
        "subgraph_fails",
        "an error inside a graph as a node is the error of the whole run",
        graph(
            [
                *logs("first"),
                sub("inner", graph([node("breaks", fail())], [("START", "breaks"), ("breaks", "END")], state=LOG)),
                *logs("last"),
            ],
            AROUND,
            state=LOG,
        ),
        run(START, subgraphs=True),
    ),
    scenario(
        "subgraph_by_send",
        "Sends to a graph as a node: each runs it with its own argument",
        graph(
            [
                node("plan", update(log=["plan"])),
                sub(
                    "inner",
                    graph(
                        [node("leaf", update(done=["leaf {item}"]))],
                        [("START", "leaf"), ("leaf", "END")],
                        state={"item": "replace", "done": "append"},
                    ),
                ),
            ],
            [("START", "plan"), ("inner", "END")],
            branches=[branch("plan", [send("inner", {"item": 1}), send("inner", {"item": 2})], ["inner"])],
            state={"log": "append", "done": "append"},
        ),
        run(START, subgraphs=True),
    ),
    saved(
        "subgraph_beside_node",
        "a question inside a graph as a node while the node beside it has finished",
        graph(
            [sub("inner", ASKS), *logs("beside")],
            [("START", "inner"), ("START", "beside"), ("inner", "END"), ("beside", "END")],
            state=LOG,
        ),
        run(START, subgraphs=True),
        state(),
        resume("yes", subgraphs=True),
        history(),
    ),
    saved(
        "subgraph_retry_of_run",
        "a run that failed inside a graph as a node goes on inside it",
        graph(
            [
                *logs("first"),
                sub(
                    "inner",
                    graph(
                        [*logs("before"), node("breaks", fail(runs=1), update(log=["held"]))],
                        [("START", "before"), ("before", "breaks"), ("breaks", "END")],
                        state=LOG,
                    ),
                ),
                *logs("last"),
            ],
            AROUND,
            state=LOG,
        ),
        run(START, subgraphs=True),
        go_on(subgraphs=True),
    ),
    saved(
        "subgraph_two_questions",
        "two questions at once inside a graph as a node, answered one after the other",
        graph(
            [
                sub(
                    "inner",
                    graph(
                        [
                            node("zeta", ask("zeta?", "said"), update(log=["zeta got {said}"])),
                            node("alpha", ask("alpha?", "said"), update(log=["alpha got {said}"])),
                        ],
                        [("START", "zeta"), ("START", "alpha"), ("zeta", "END"), ("alpha", "END")],
                        state=LOG,
                    ),
                )
            ],
            [("START", "inner"), ("inner", "END")],
            state=LOG,
        ),
        run(START),
        state(),
        answer({"interrupt-2": "two"}),
        answer({"interrupt-1": "one"}),
    ),
    saved(
        "subgraph_stop",
        "a stop inside a graph as a node",
        graph(
            [*logs("first"), sub("inner", {**INNER, "interrupt_before": ["in_two"]}), *logs("last")],
            AROUND,
            state=LOG,
        ),
        run(START, subgraphs=True),
        state(),
        go_on(subgraphs=True),
    ),
]
