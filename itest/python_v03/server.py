"""An agent on the official Python SDK's server of A2A 0.3, over JSON-RPC and HTTP+JSON, for our client.

It does what `interop-agent` does: what is asked for is in the message's text. Prints `READY URL` once it listens on a
free port of loopback, and runs until it is stopped.
"""

import asyncio
import socket

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    DataPart,
    Part,
    TextPart,
)
from a2a.utils import new_agent_text_message, new_task
from a2a.utils.message import get_message_text

BURST = 1_000


def text(value):
    return Part(root=TextPart(text=value))


def data(value):
    return Part(root=DataPart(data=value))


class Interop(AgentExecutor):
    async def execute(self, context, event_queue):
        query = get_message_text(context.message)
        if query == "message" and context.current_task is None:
            await event_queue.enqueue_event(new_agent_text_message("a direct message"))
            return
        if context.current_task is None:
            await event_queue.enqueue_event(new_task(context.message))
        task_id = context.current_task.id if context.current_task else context.task_id
        task = TaskUpdater(event_queue, task_id, context.context_id)
        await task.start_work()
        if context.current_task is not None:
            await task.add_artifact([text(f"got: {query}")], "response")
            await task.complete()
        elif query == "echo":
            await self.echo([part.root for part in context.message.parts], task)
        elif query == "stream":
            for index, chunk in enumerate(["one ", "two ", "three"]):
                await task.add_artifact([text(chunk)], "response", append=index > 0)
            await task.add_artifact([data({"done": True})], "response", append=True, last_chunk=True)
            await task.complete()
        elif query == "burst":
            for n in range(BURST):
                await task.add_artifact([text(f"{n} ")], "response", append=n > 0)
            await task.complete()
        elif query == "slow":
            await task.add_artifact([text("started")], "response")
            await asyncio.Event().wait()
        elif query == "fail":
            await task.failed(new_agent_text_message("the agent was asked to fail"))
        elif query == "ask":
            await task.requires_input(new_agent_text_message("which?"), final=True)
        else:
            await task.add_artifact([text(f"you said: {query}")], "response")
            await task.complete()

    async def echo(self, parts, task):
        upstream = [part for part in parts if part.kind != "text"]
        files = sum(part.kind == "file" for part in upstream)
        own = data({"own": True, "count": len(upstream)})
        said = text(f"echo: {len(upstream) - files} data, {files} files")
        parts = [said, own, *[Part(root=part) for part in upstream]]
        await task.add_artifact(parts, "response", last_chunk=True)
        await task.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(url):
    return AgentCard(
        name="interop",
        description="Does what the query says",
        version="1.0.0",
        url=f"{url}/rpc",
        preferred_transport="JSONRPC",
        additional_interfaces=[
            AgentInterface(url=f"{url}/rpc", transport="JSONRPC"),
            AgentInterface(url=f"{url}/rest", transport="HTTP+JSON"),
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="interop", name="Interop", description="Does what the query says", tags=["test"])],
    )


async def main():
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    receivers = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient(trust_env=False) as http:
        handler = DefaultRequestHandler(
            agent_executor=Interop(),
            task_store=InMemoryTaskStore(),
            push_config_store=receivers,
            push_sender=BasePushNotificationSender(http, receivers),
        )
        rpc = A2AStarletteApplication(agent_card=card(url), http_handler=handler).routes(rpc_url="/rpc")
        rest = A2ARESTFastAPIApplication(agent_card=card(url), http_handler=handler).build()
        app = Starlette(routes=[*rpc, Mount("/rest", rest)])
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        print(f"READY {url}/", flush=True)
        await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
