"""Makes a LangGraph graph of a description. README.md says what each part of a description means."""

import asyncio
import operator
from typing import Annotated, Any, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langgraph.config import get_config, get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, RetryPolicy, Send, interrupt

from values import render

ERRORS = {"ValueError": ValueError, "ConnectionError": ConnectionError}


def longest(old, new):
    """The custom reducer: the longer text stays, the older of two equally long ones."""
    return new if len(new) > len(old) else old


REDUCERS = {
    "replace": Any,
    "append": Annotated[list, operator.add],
    "sum": Annotated[int, operator.add],
    "longest": Annotated[str, longest],
    "messages": Annotated[list, add_messages],
}


class Speaker(GenericFakeChatModel):
    """A chat model that streams the pieces it was given."""

    pieces: list[str]
    message_id: str
    messages: Any = iter(())

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for piece in self.pieces:
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=piece, id=self.message_id))
            if run_manager:
                run_manager.on_llm_new_token(piece, chunk=chunk)
            yield chunk


class Runs:
    """How often each node ran, and in which step it started."""

    def __init__(self):
        self.counts = {}
        self.started = []

    def enter(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1
        self.started.append([get_config()["metadata"]["langgraph_step"], name])
        return self.counts[name]

    def take_started(self):
        started, self.started = self.started, []
        return started


def place(name):
    return {"START": START, "END": END}.get(name, name)


def fields(description, only=None):
    wanted = description if only is None else {name: description[name] for name in only}
    return {name: REDUCERS[reducer] for name, reducer in wanted.items()}


def build(description, runs, saver=None):
    state = description["state"]
    builder = StateGraph(
        TypedDict("State", fields(state)),
        input_schema=TypedDict("Input", fields(state, description.get("input"))),
        output_schema=TypedDict("Output", fields(state, description.get("output"))),
    )
    for node in description["nodes"]:
        add_node(builder, node, runs, saver)
    for start, end in description["edges"]:
        builder.add_edge([place(name) for name in start] if isinstance(start, list) else place(start), place(end))
    for number, branch in enumerate(description.get("branches", ())):
        add_branch(builder, branch, number)
    return builder.compile(
        checkpointer=saver,
        interrupt_before=description.get("interrupt_before"),
        interrupt_after=description.get("interrupt_after"),
    )


def add_node(builder, node, runs, saver):
    if "graph" in node:
        builder.add_node(node["name"], build(node["graph"], runs))
        return
    retry = None
    if "retry" in node:
        policy = node["retry"]
        retry = RetryPolicy(
            max_attempts=policy["max_attempts"],
            retry_on=tuple(ERRORS[name] for name in policy["on"]),
            initial_interval=0.001,
            jitter=False,
        )
    inner = {id(step): build(step["graph"], runs) for step in node["steps"] if step["do"] == "call_graph"}

    async def body(state):
        return await take_steps(node, state, runs, saver, inner)

    builder.add_node(node["name"], body, retry_policy=retry)


async def take_steps(node, state, runs, saver, inner):
    run = runs.enter(node["name"])
    scope = {**(state if isinstance(state, dict) else {}), "arg": state}
    for step in node["steps"]:
        match step["do"]:
            case "return":
                return render(step["update"], scope)
            case "command":
                return Command(goto=targets(step["goto"], scope), update=render(step["update"], scope))
            case "ask":
                scope[step["into"]] = interrupt(render(step["value"], scope))
            case "emit":
                get_stream_writer()(render(step["value"], scope))
            case "speak":
                scope["said"] = await Speaker(pieces=step["pieces"], message_id=step["id"]).ainvoke("speak")
            case "fail":
                if step["runs"] is None or run <= step["runs"]:
                    raise ERRORS[step["error"]]("as described")
            case "wait_saved":
                await until_saved(saver, step["tasks"])
            case "call_graph":
                scope["inner"] = await inner[id(step)].ainvoke(render(step["input"], scope))
                return render(step["update"], scope)
            case other:
                raise AssertionError(f"no such step: {other}")
    raise AssertionError(f"node {node['name']} returns nothing")


async def until_saved(saver, tasks):
    thread = get_config()["configurable"]["thread_id"]
    while True:
        saved = await saver.aget_tuple({"configurable": {"thread_id": thread}})
        if saved and len({write[0] for write in saved.pending_writes or ()}) >= tasks:
            return
        await asyncio.sleep(0)


def targets(goto, scope):
    listed = goto if isinstance(goto, list) else [goto]
    return [target(one, scope) for one in listed]


def target(one, scope):
    if isinstance(one, dict):
        return Send(place(one["send"]), render(one["arg"], scope))
    return place(render(one, scope))


def add_branch(builder, branch, number):
    async def pick(state):
        return picked(branch["pick"], state)

    pick.__name__ = f"pick_{number}"
    ways = branch["to"]
    if isinstance(ways, dict):
        ways = {key: place(name) for key, name in ways.items()}
    elif ways is not None:
        ways = [place(name) for name in ways]
    builder.add_conditional_edges(place(branch["from"]), pick, ways)


def picked(pick, state):
    if isinstance(pick, list):
        return targets(pick, state)
    if isinstance(pick, str):
        chosen = render(pick, state)
        return [place(name) for name in chosen] if isinstance(chosen, list) else place(chosen)
    if "each" in pick:
        return [Send(pick["to"], render(pick["arg"], {**state, "it": item})) for item in state[pick["each"]]]
    if "below" in pick:
        field, limit = pick["below"]
        return place(pick["then"] if (state.get(field) or 0) < limit else pick["else"])
    return target(pick, state)
