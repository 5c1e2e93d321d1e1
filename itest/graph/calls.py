"""Makes the calls of a scenario one after the other and writes down what each one shows."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from build import Runs, build, place
from values import Names, error, interrupts, plain, render


async def play(scenario):
    runs = Runs()
    saver = InMemorySaver() if scenario["saver"] else None
    try:
        graph = build(scenario["graph"], runs, saver)
    except Exception as raised:
        return {**scenario, "compile_error": error(raised), "calls": []}
    names = Names(questions_unordered=any("graph" in node for node in scenario["graph"]["nodes"]))
    calls = [await make(call, graph, scenario["graph"], runs, names) for call in scenario["calls"]]
    return {**scenario, "calls": calls, "runs": runs.counts}


async def make(call, graph, description, runs, names):
    config = {"configurable": {"thread_id": call.get("thread", "thread-1")}}
    if "at" in call:
        config["configurable"].update(checkpoint_id=names.id_of(call["at"]), checkpoint_ns="")
    if "limit" in call:
        config["recursion_limit"] = call["limit"]
    shown = dict(call)
    try:
        match call["call"]:
            case "state":
                shown["snapshot"] = await one_snapshot(graph, config, names)
            case "history":
                found = [one async for one in graph.aget_state_history(config)]
                # Named from the oldest on, so that a later checkpoint never renames an earlier one.
                shown["snapshots"] = [snapshot(one, names) for one in reversed(found)]
            case "update_state":
                as_node = call["as_node"] and place(call["as_node"])
                after = await graph.aupdate_state(config, render(call["values"], {}), as_node=as_node)
                shown["snapshot"] = await one_snapshot(graph, after, names)
            case "invoke":
                shown["values"] = plain(await graph.ainvoke(render(call["input"], {}), config), names)
                shown["started"] = runs.take_started()
            case _:
                await stream(call, graph, config, runs, names, shown)
                narrow(shown, description)
    except Exception as raised:
        shown["error"] = error(raised)
    return shown


def narrow(shown, description):
    """A stream ends without an output: it is what of the last state the output has."""
    output = description.get("output")
    if output and shown["values"]:
        shown["values"] = {field: value for field, value in shown["values"].items() if field in output}


def given(call, names):
    match call["call"]:
        case "continue":
            return None
        case "resume" if "by_id" in call:
            answers = {names.id_of(name): value for name, value in call["by_id"].items()}
            return Command(resume=answers, update=call.get("update"))
        case "resume":
            return Command(resume=call["value"], update=call.get("update"))
        case _:
            return render(call["input"], {})


async def stream(call, graph, config, runs, names, shown):
    wanted = call["modes"]
    events, values, open_now = [], None, []
    shown.update(started=[], events=events)
    try:
        async for namespace, mode, data in graph.astream(
            given(call, names), config, stream_mode=sorted({*wanted, "values", "updates"}), subgraphs=True
        ):
            path = [part.split(":")[0] for part in namespace]
            if not path and mode == "values":
                values = {key: value for key, value in data.items() if key != "__interrupt__"}
            if not path and mode == "updates" and "__interrupt__" in data:
                open_now.extend(interrupts(data["__interrupt__"], names))
            if mode in wanted and (not path or call.get("subgraphs")):
                events.extend({"mode": mode, "ns": path, **one} for one in event(mode, data, names))
    finally:
        shown["started"] = runs.take_started()
    shown.update(values=plain(values, names), interrupts=open_now)


def event(mode, data, names):
    match mode:
        case "values":
            shown = {"values": plain({k: v for k, v in data.items() if k != "__interrupt__"}, names)}
            if "__interrupt__" in data:
                shown["interrupts"] = interrupts(data["__interrupt__"], names)
            yield shown
        case "updates":
            # What an earlier run of this step had finished is shown again, marked so.
            again = {"again": True} if data.get("__metadata__", {}).get("cached") else {}
            for name, given_update in data.items():
                if name == "__interrupt__":
                    yield {"interrupts": interrupts(given_update, names)}
                elif name != "__metadata__":
                    yield {"node": name, "update": plain(given_update, names), **again}
        case "custom":
            yield {"data": data}
        case "messages":
            piece, about = data
            # langchain-core closes a stream of pieces with an empty one of its own.
            if piece.content:
                yield {
                    "node": about["langgraph_node"],
                    "step": about["langgraph_step"],
                    "id": piece.id,
                    "text": piece.content,
                    "whole": not piece.type.endswith("Chunk"),
                }
        case "tasks":
            yield task(data, names)
        case "checkpoints":
            yield checkpoint(data, names)
        case "debug":
            shape = checkpoint if data["type"] == "checkpoint" else task
            yield {"type": data["type"], "step": data["step"], **shape(data["payload"], names)}


def task(payload, names):
    if "triggers" in payload:
        return {"event": "start", "node": payload["name"], "input": plain(payload["input"], names)}
    return {
        "event": "finish",
        "node": payload["name"],
        "result": plain(payload["result"], names),
        "failed": payload["error"] is not None,
        "interrupts": interrupts(payload["interrupts"], names),
    }


def checkpoint(payload, names):
    return {
        "event": "checkpoint",
        "step": payload["metadata"]["step"],
        "source": payload["metadata"]["source"],
        "next": [place_name(name) for name in payload["next"]],
        "values": plain(payload["values"], names),
    }


def place_name(name):
    return {"__start__": "START", "__end__": "END"}.get(name, name)


async def one_snapshot(graph, config, names):
    """The snapshot and, if it follows on the checkpoint before an input, what that one came from."""
    found = await graph.aget_state(config)
    shown = snapshot(found, names)
    if found.parent_config:
        before = snapshot(await graph.aget_state(found.parent_config), names)
        if before["next"] == ["START"]:
            shown["after_start"] = {"parent": before["parent"], "source": before["source"]}
    return shown


def snapshot(found, names):
    about = found.metadata or {}
    return {
        "checkpoint": names.of("checkpoint", checkpoint_id(found.config)) if about else None,
        "parent": names.of("checkpoint", checkpoint_id(found.parent_config)),
        "step": about.get("step"),
        "source": about.get("source"),
        "next": [place_name(name) for name in found.next],
        "values": plain(found.values, names),
        "interrupts": interrupts(found.interrupts, names),
        "tasks": [
            {
                "node": place_name(one.name),
                "failed": one.error is not None,
                "interrupts": interrupts(one.interrupts, names),
                "result": plain(one.result, names),
            }
            for one in found.tasks
        ],
    }


def checkpoint_id(config):
    return config and config["configurable"].get("checkpoint_id")
