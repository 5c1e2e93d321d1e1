"""Templates of the descriptions, and what LangGraph returns made into comparable JSON."""

import json
import re

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.types import Interrupt, Overwrite

WHOLE = re.compile(r"^\{([a-z_.]+)\}$")
PART = re.compile(r"\{([a-z_.]+)\}")
ROLES = {"human": HumanMessage, "ai": AIMessage}


def look_up(path, scope):
    found = scope
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def text(value):
    """A value inside a text: as it is if it is one, else its JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def render(template, scope):
    """Fills `{name}` from the scope. Also gives the objects that JSON cannot say: Overwrite and messages."""
    if isinstance(template, str):
        whole = WHOLE.match(template)
        if whole:
            return look_up(whole[1], scope)
        return PART.sub(lambda part: text(look_up(part[1], scope)), template)
    if isinstance(template, list):
        return [render(item, scope) for item in template]
    if isinstance(template, dict):
        if "$add" in template:
            return sum(render(item, scope) or 0 for item in template["$add"])
        if "$overwrite" in template:
            return Overwrite(render(template["$overwrite"], scope))
        if template.get("role") == "remove":
            return RemoveMessage(id=template["id"])
        if "role" in template:
            return ROLES[template["role"]](id=template["id"], content=render(template["content"], scope))
        return {key: render(item, scope) for key, item in template.items()}
    return template


class Names:
    """Stable names for ids that differ from run to run: the first one seen is `interrupt-1`, and so on."""

    def __init__(self, questions_unordered):
        self._names = {}
        self._ids = {}
        self.questions_unordered = questions_unordered

    def of(self, kind, known_id):
        if known_id is None:
            return None
        if known_id not in self._names:
            number = 1 + sum(name.startswith(kind) for name in self._names.values())
            self._names[known_id] = f"{kind}-{number}"
            self._ids[f"{kind}-{number}"] = known_id
        return self._names[known_id]

    def id_of(self, name):
        """The id behind a name; a name that nobody gave stands for itself."""
        return self._ids.get(name, name)


def plain(value, names):
    """JSON of whatever LangGraph shows."""
    if isinstance(value, BaseMessage):
        role = "ai" if value.type == "AIMessageChunk" else value.type
        return {"role": role, "id": value.id, "content": value.content}
    if isinstance(value, Overwrite):
        return {"$overwrite": plain(value.value, names)}
    if isinstance(value, Interrupt):
        return interrupt(value, names)
    if isinstance(value, dict):
        return {key: plain(item, names) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, names) for item in value]
    return value


def interrupts(found, names):
    """Questions that are open at once. Those of nodes inside a subgraph come in the order of a set: by what they ask, then."""
    if names.questions_unordered:
        found = sorted(found, key=lambda one: json.dumps(asked(one), sort_keys=True))
    return [interrupt(one, names) for one in found]


def asked(question):
    return question["value"] if isinstance(question, dict) else question.value


def interrupt(value, names):
    if isinstance(value, dict):
        return {"id": names.of("interrupt", value["id"]), "value": plain(value["value"], names)}
    return {"id": names.of("interrupt", value.id), "value": plain(value.value, names)}


def error(raised):
    """Class and facts of an error. Its text is left out: it is LangGraph's to reword."""
    facts = {"class": type(raised).__name__}
    for fact, pattern in (
        ("code", r"/errors/([A-Z_]+)"),
        ("field", r"At key '([^']+)'"),
        ("limit", r"Recursion limit of (\d+)"),
    ):
        found = re.search(pattern, str(raised))
        if found:
            facts[fact] = found[1]
    return facts
