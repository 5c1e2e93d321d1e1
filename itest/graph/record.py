"""Records what the real LangGraph does with each scenario.

    record.py OUT [NAME...]

Writes OUT/<scenario>.json, for all scenarios or for the named ones. The same input gives the same bytes: ids are
replaced by `interrupt-1`, `checkpoint-1`, ... by order of appearance, times are left out.
"""

import asyncio
import json
import logging
import os
import pathlib
import sys

# Nothing of a test is to be reported to anybody.
os.environ["LANGSMITH_TRACING"] = "false"
os.environ["LANGCHAIN_TRACING_V2"] = "false"

# It warns of writes to nowhere, which are scenarios here.
logging.getLogger("langgraph").setLevel(logging.ERROR)

from calls import play  # noqa: E402
from scenarios import SCENARIOS  # noqa: E402

ONE_SCENARIO_SECONDS = 30
WIDTH = 110


def laid_out(value, indent=""):
    """JSON with one line for what fits on it, so that a change shows as the event that changed."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(indent) + len(line) <= WIDTH or not isinstance(value, (dict, list)):
        return line
    deeper = indent + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {laid_out(value[key], deeper)}" for key in sorted(value)]
        opened, closed = "{}"
    else:
        parts = [laid_out(item, deeper) for item in value]
        opened, closed = "[]"
    inside = ",\n".join(deeper + part for part in parts)
    return f"{opened}\n{inside}\n{indent}{closed}"


async def main(out, wanted):
    out.mkdir(parents=True, exist_ok=True)
    unknown = set(wanted) - {scenario["name"] for scenario in SCENARIOS}
    if unknown:
        sys.exit(f"no such scenario: {', '.join(sorted(unknown))}")
    written = 0
    for scenario in SCENARIOS:
        if wanted and scenario["name"] not in wanted:
            continue
        async with asyncio.timeout(ONE_SCENARIO_SECONDS):
            trace = await play(scenario)
        (out / f"{scenario['name']}.json").write_text(laid_out(trace) + "\n", encoding="utf-8")
        written += 1
    print(f"{written} scenarios recorded")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    asyncio.run(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
