"""How the writes of one step become one state."""

from describe import ai, graph, human, invoke, node, remove, run, update
from scenarios.flow import LOG, START, logs, scenario

BOTH = [("START", "zeta"), ("START", "alpha"), ("zeta", "END"), ("alpha", "END")]


def messages(name, shows, given, *steps):
    nodes = [node(f"step_{number}", update(messages=step)) for number, step in enumerate(steps)]
    names = [described["name"] for described in nodes]
    edges = list(zip(["START", *names], [*names, "END"]))
    return scenario(name, shows, graph(nodes, edges, state={"messages": "messages"}), run({"messages": given}))


SCENARIOS = [
    scenario(
        "replace_conflict",
        "two writers of a field without a reducer in one step are an error",
        graph([node("zeta", update(n=1)), node("alpha", update(n=2))], BOTH, state={"n": "replace"}),
        run({"n": 0}),
    ),
    scenario(
        "replace_conflict_same_value",
        "also when both write the same value",
        graph([node("zeta", update(n=1)), node("alpha", update(n=1))], BOTH, state={"n": "replace"}),
        run({"n": 0}),
    ),
    scenario(
        "replace_two_steps",
        "two writers in two steps are no conflict: the later one stays",
        graph(
            [node("first", update(n=1)), node("second", update(n=2))],
            [("START", "first"), ("first", "second"), ("second", "END")],
            state={"n": "replace"},
        ),
        run({"n": 0}),
    ),
    scenario(
        "append_order",
        "writes of one step are appended in the order of the nodes' names, not of their registration",
        graph(
            logs("zeta", "mid", "alpha"),
            [
                ("START", "zeta"),
                ("START", "mid"),
                ("START", "alpha"),
                ("zeta", "END"),
                ("mid", "END"),
                ("alpha", "END"),
            ],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "append_order_chain",
        "the same in a later step",
        graph(
            logs("first", "zeta", "mid", "alpha", "last"),
            [
                ("START", "first"),
                ("first", "zeta"),
                ("first", "mid"),
                ("first", "alpha"),
                (["zeta", "mid", "alpha"], "last"),
                ("last", "END"),
            ],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "sum_reducer",
        "parallel writes are added to what was there",
        graph([node("zeta", update(n=10)), node("alpha", update(n=5))], BOTH, state={"n": "sum"}),
        run({"n": 1}),
        run({}),
    ),
    scenario(
        "custom_reducer",
        "a function of one's own: the longest text stays",
        graph(
            [node("zeta", update(text="pear")), node("alpha", update(text="plum"))],
            BOTH,
            state={"text": "longest"},
        ),
        run({"text": "fig"}),
        run({"text": "pineapple"}),
    ),
    scenario(
        "overwrite",
        "an overwrite puts a new value past the reducer; appending goes on from there",
        graph(
            [
                node("add", update(log=["add"])),
                node("reset", update(log={"$overwrite": ["reset"]})),
                node("more", update(log=["more"])),
            ],
            [("START", "add"), ("add", "reset"), ("reset", "more"), ("more", "END")],
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "overwrite_and_append",
        "an overwrite next to a plain write of one step",
        graph(
            [node("zeta", update(log=["zeta"])), node("alpha", update(log={"$overwrite": ["alpha"]}))],
            BOTH,
            state=LOG,
        ),
        run(START),
    ),
    scenario(
        "two_overwrites",
        "two overwrites of one field in one step are an error",
        graph(
            [node("zeta", update(log={"$overwrite": ["zeta"]})), node("alpha", update(log={"$overwrite": ["alpha"]}))],
            BOTH,
            state=LOG,
        ),
        run(START),
    ),
    messages(
        "messages_append",
        "messages with new ids are appended",
        [human("m1", "hello")],
        [ai("m2", "hi")],
        [human("m3", "how are you"), ai("m4", "fine")],
    ),
    messages(
        "messages_replace",
        "a message with a known id takes the place of the old one, where it was",
        [human("m1", "hello"), ai("m2", "hi")],
        [human("m1", "good day"), ai("m3", "new")],
    ),
    messages(
        "messages_remove",
        "a removal takes the message with its id away",
        [human("m1", "hello"), ai("m2", "hi"), human("m3", "bye")],
        [remove("m2")],
    ),
    messages(
        "messages_remove_unknown",
        "a removal of an id that is not there",
        [human("m1", "hello")],
        [remove("m9")],
    ),
    messages(
        "messages_remove_all",
        "the removal of all keeps only what comes after it",
        [human("m1", "hello"), ai("m2", "hi")],
        [ai("m3", "before"), remove("__remove_all__"), ai("m4", "after")],
    ),
    messages(
        "messages_twice_in_one_update",
        "one id twice in one update: the later one stays",
        [human("m1", "hello")],
        [ai("m2", "first"), ai("m2", "second")],
    ),
    scenario(
        "messages_parallel",
        "messages of two nodes of one step, one id in both",
        graph(
            [
                node("zeta", update(messages=[ai("m2", "zeta"), ai("m3", "zeta only")])),
                node("alpha", update(messages=[ai("m2", "alpha")])),
            ],
            BOTH,
            state={"messages": "messages"},
        ),
        run({"messages": [human("m1", "hello")]}),
    ),
    scenario(
        "narrow_schemas",
        "input and output narrower than the state: what is not in them goes neither in nor out",
        graph(
            [node("work", update(scratch="made of {question}")), node("reply", update(reply="{scratch}!"))],
            [("START", "work"), ("work", "reply"), ("reply", "END")],
            state={"question": "replace", "scratch": "replace", "reply": "replace"},
            input=["question"],
            output=["reply"],
        ),
        run({"question": "why", "scratch": "from outside"}),
        invoke({"question": "why", "scratch": "from outside"}),
    ),
]
