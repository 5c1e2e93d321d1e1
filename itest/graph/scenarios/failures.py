"""A node that fails."""

from describe import fail, go_on, graph, history, node, nothing, run, state, update, wait_saved
from scenarios.flow import LOG, START, logs, scenario
from scenarios.subgraphs import saved

TWICE = {"max_attempts": 3, "on": ["ConnectionError"]}


def alone(*steps, **settings):
    return graph(
        [*logs("before"), node("breaks", *steps, **settings), *logs("after")],
        [("START", "before"), ("before", "breaks"), ("breaks", "after"), ("after", "END")],
        state=LOG,
    )


SCENARIOS = [
    scenario("node_fails", "an error of a node ends the run", alone(fail()), run(START)),
    saved(
        "node_fails_with_saver",
        "with a saver the state shows which node failed; going on runs it again",
        alone(fail(runs=1), update(log=["held"])),
        run(START),
        state(),
        go_on(),
        history(),
    ),
    saved(
        "sibling_kept",
        "what a sibling finished before the failure is kept: the next run does not run it again",
        graph(
            [
                node("works", update(log=["works"])),
                node("breaks", wait_saved(1), fail(runs=1), update(log=["held"])),
                *logs("join"),
            ],
            [("START", "works"), ("START", "breaks"), (["works", "breaks"], "join"), ("join", "END")],
            state=LOG,
        ),
        run(START),
        state(),
        go_on(),
        history(),
    ),
    saved(
        "failed_then_new_input",
        "new input after a failure starts from the beginning, with the state as it was",
        alone(fail(runs=1), update(log=["held"])),
        run(START),
        run({"log": ["second"]}),
    ),
    scenario(
        "retry_holds",
        "a node with a retry policy that fails twice and then holds",
        alone(fail("ConnectionError", runs=2), update(log=["held"]), retry=TWICE),
        run(START),
    ),
    scenario(
        "retry_exhausted",
        "a node that fails in each attempt that the policy allows",
        alone(fail("ConnectionError"), update(log=["held"]), retry=TWICE),
        run(START),
    ),
    scenario(
        "retry_other_error",
        "an error that the policy is not for is not retried",
        alone(fail("ValueError", runs=1), update(log=["held"]), retry=TWICE),
        run(START),
    ),
    scenario(
        "retry_beside_sibling",
        "a retry of one node does not run its sibling again",
        graph(
            [node("retried", fail("ConnectionError", runs=1), update(log=["held"]), retry=TWICE), *logs("works")],
            [("START", "retried"), ("START", "works"), ("retried", "END"), ("works", "END")],
            state=LOG,
        ),
        run(START),
    ),
    saved(
        "limit_then_continue",
        "a run that hit the limit goes on from where it stopped",
        graph(
            [node("again", update(n=1))],
            [("START", "again")],
            branches=[
                {"from": "again", "pick": {"below": ["n", 4], "then": "again", "else": "END"}, "to": ["again", "END"]}
            ],
            state={"n": "sum"},
        ),
        run({"n": 0}, limit=2),
        state(),
        go_on(limit=10),
    ),
    scenario(
        "empty_input",
        "an input without any field",
        graph([node("a", nothing())], [("START", "a"), ("a", "END")], state=LOG),
        run({}),
    ),
    scenario(
        "unknown_input",
        "an input in which no field is known",
        graph([node("a", nothing())], [("START", "a"), ("a", "END")], state=LOG),
        run({"nonsense": 1}),
    ),
]
