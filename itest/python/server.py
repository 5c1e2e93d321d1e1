"""An agent on the official Python SDK's server, over JSON-RPC, HTTP+JSON and gRPC, for our client.

It does what `interop-agent` does: what is asked for is in the message's text. Prints `READY URL` once it listens on
free ports of loopback, and runs until it is stopped.
"""

import asyncio
import socket

import grpc
import httpx
import uvicorn
from starlette.applications import Starlette

from a2a.helpers.proto_helpers import (
    get_message_text,
    new_data_part,
    new_message,
    new_task_from_user_message,
    new_text_part,
)
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Role
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server

BURST = 1_000
GRPC_MESSAGES = [(f"grpc.max_{way}_message_length", 32 << 20) for way in ("send", "receive")]


class Interop(AgentExecutor):
    async def execute(self, context, event_queue):
        query = get_message_text(context.message)
        if query == "message" and context.current_task is None:
            await event_queue.enqueue_event(say("a direct message"))
            return
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.start_work()
        if context.current_task is not None:
            await task.add_artifact([new_text_part(f"got: {query}")], "response")
            await task.complete()
        elif query == "echo":
            await self.echo(context.message.parts, task)
        elif query == "stream":
            for index, chunk in enumerate(["one ", "two ", "three"]):
                await task.add_artifact([new_text_part(chunk)], "response", append=index > 0)
            await task.add_artifact([new_data_part({"done": True})], "response", append=True, last_chunk=True)
            await task.complete()
        elif query == "burst":
            for n in range(BURST):
                await task.add_artifact([new_text_part(f"{n} ")], "response", append=n > 0)
            await task.complete()
        elif query == "slow":
            await task.add_artifact([new_text_part("started")], "response")
            await asyncio.Event().wait()
        elif query == "fail":
            await task.failed(say("the agent was asked to fail"))
        elif query == "ask":
            await task.requires_input(say("which?"))
        else:
            await task.add_artifact([new_text_part(f"you said: {query}")], "response")
            await task.complete()

    async def echo(self, parts, task):
        data = [part for part in parts if part.HasField("data")]
        files = [part for part in parts if part.HasField("raw") or part.HasField("url")]
        upstream = [part for part in parts if not part.HasField("text")]
        text = f"echo: {len(data)} data, {len(files)} files"
        own = new_data_part({"own": True, "count": len(upstream)})
        await task.add_artifact([new_text_part(text), own, *upstream], "response", last_chunk=True)
        await task.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def say(text):
    return new_message([new_text_part(text)], role=Role.ROLE_AGENT)


def card(url, grpc_target):
    def interface(binding, at):
        return AgentInterface(url=at, protocol_binding=binding, protocol_version="1.0")

    return AgentCard(
        name="interop",
        description="Does what the query says",
        version="1.0.0",
        supported_interfaces=[
            interface("JSONRPC", f"{url}/rpc"),
            interface("HTTP+JSON", f"{url}/rest"),
            interface("GRPC", grpc_target),
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="interop", name="Interop", description="Does what the query says", tags=["test"])],
    )


async def main():
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    rpc = grpc.aio.server(options=GRPC_MESSAGES)
    served = card(url, f"127.0.0.1:{rpc.add_insecure_port('127.0.0.1:0')}")
    receivers = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient(trust_env=False) as http:
        handler = DefaultRequestHandler(
            agent_executor=Interop(),
            task_store=InMemoryTaskStore(),
            agent_card=served,
            push_config_store=receivers,
            push_sender=BasePushNotificationSender(http, receivers),
        )
        routes = [
            *create_agent_card_routes(served),
            *create_jsonrpc_routes(handler, rpc_url="/rpc"),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
        server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="warning"))
        add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
        await rpc.start()
        print(f"READY {url}/", flush=True)
        await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
