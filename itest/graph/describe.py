"""Short ways to write a graph description. All of them give plain JSON values; README.md says what they mean."""


def node(name, *steps, **settings):
    return {"name": name, "steps": list(steps), **settings}


def sub(name, graph, **settings):
    """A node that is a graph of its own and shares the fields of the outer state."""
    return {"name": name, "graph": graph, **settings}


def graph(nodes, edges=(), **parts):
    return {"nodes": list(nodes), "edges": [list(edge) for edge in edges], **parts}


# === steps of a node ===


def update(**fields):
    return {"do": "return", "update": fields}


def nothing():
    return {"do": "return", "update": None}


def command(goto, **fields):
    return {"do": "command", "goto": goto, "update": fields or None}


def ask(value, into):
    return {"do": "ask", "value": value, "into": into}


def emit(value):
    return {"do": "emit", "value": value}


def speak(message_id, *pieces):
    return {"do": "speak", "id": message_id, "pieces": list(pieces)}


def fail(error="ValueError", runs=None):
    """Fails in the first `runs` runs of the node, in each one without it."""
    return {"do": "fail", "error": error, "runs": runs}


def wait_saved(tasks):
    """Waits until the saver holds what `tasks` other nodes of this step gave."""
    return {"do": "wait_saved", "tasks": tasks}


def call_graph(inner, given, take):
    """Runs a graph with a state of its own: `given` is its input, `take` the update made of its output."""
    return {"do": "call_graph", "graph": inner, "input": given, "update": take}


def send(to, arg):
    return {"send": to, "arg": arg}


# === branches ===


def branch(source, pick, to=None):
    return {"from": source, "pick": pick, "to": to}


def each(field, to, arg):
    """One Send per item of a list field; `{it}` in `arg` is the item."""
    return {"each": field, "to": to, "arg": arg}


def below(field, limit, then, other):
    return {"below": [field, limit], "then": then, "else": other}


# === messages ===


def human(message_id, content):
    return {"role": "human", "id": message_id, "content": content}


def ai(message_id, content):
    return {"role": "ai", "id": message_id, "content": content}


def remove(message_id):
    return {"role": "remove", "id": message_id, "content": ""}


# === calls ===


def run(given, modes=("updates", "values"), **settings):
    return {"call": "run", "input": given, "modes": list(modes), **settings}


def invoke(given, **settings):
    """Runs to the end and shows only what comes out, in the fields of the output."""
    return {"call": "invoke", "input": given, **settings}


def go_on(modes=("updates", "values"), **settings):
    """Runs with no input: goes on from the checkpoint."""
    return {"call": "continue", "modes": list(modes), **settings}


def resume(value, modes=("updates", "values"), **settings):
    return {"call": "resume", "value": value, "modes": list(modes), **settings}


def answer(by_id, modes=("updates", "values"), **settings):
    return {"call": "resume", "by_id": by_id, "modes": list(modes), **settings}


def state(**settings):
    return {"call": "state", **settings}


def history(**settings):
    return {"call": "history", **settings}


def change(values, as_node=None, **settings):
    return {"call": "update_state", "values": values, "as_node": as_node, **settings}
