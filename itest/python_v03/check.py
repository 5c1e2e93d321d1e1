"""The official Python SDK of A2A 0.3 as a client of a server that also speaks 0.3, over JSON-RPC and REST."""

import asyncio
import base64
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    DataPart,
    FilePart,
    FileWithBytes,
    FileWithUri,
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TextPart,
    TransportProtocol,
)

DATA = {"b": 1.5, "a": [1, None, {"x": "\u00e9"}]}
FILE = base64.b64encode(b"a file").decode()


def say(text, *parts, task_id=None):
    return Message(
        role=Role.user,
        message_id=str(uuid.uuid4()),
        task_id=task_id,
        parts=[Part(root=TextPart(text=text)), *[Part(root=part) for part in parts]],
    )


async def last_task(client, message):
    task = None
    async for item in client.send_message(message):
        assert isinstance(item, tuple), f"a task was expected, there is {item}"
        task = item[0]
    return task


async def check(card, http, transport):
    def client(streaming):
        config = ClientConfig(
            httpx_client=http, streaming=streaming, supported_transports=[transport]
        )
        return ClientFactory(config).create(card)

    for streaming in (False, True):
        speaker = client(streaming)
        task = await last_task(
            speaker,
            say(
                "echo",
                DataPart(data=DATA, metadata={"m": 1}),
                FilePart(file=FileWithBytes(bytes=FILE, mime_type="text/plain", name="a.txt")),
                FilePart(file=FileWithUri(uri="https://example.com/a", mime_type="image/png")),
            ),
        )
        assert task.status.state == TaskState.completed, task
        parts = [part.root for part in task.artifacts[0].parts]
        assert parts[0].text == "echo: 1 data, 2 files", parts
        assert parts[1].data == {"own": True, "count": 3}, parts
        assert parts[2].data == DATA and parts[2].metadata == {"m": 1}, parts
        assert parts[3].file.bytes == FILE and parts[3].file.name == "a.txt", parts
        assert parts[3].file.mime_type == "text/plain", parts
        assert parts[4].file.uri == "https://example.com/a", parts

        asked = await last_task(speaker, say("ask"))
        assert asked.status.state == TaskState.input_required, asked
        assert asked.status.message.parts[0].root.text == "which?", asked
        done = await last_task(speaker, say("this", task_id=asked.id))
        assert done.id == asked.id and done.status.state == TaskState.completed, done
        got = await speaker.get_task(TaskQueryParams(id=asked.id))
        assert got.artifacts[0].parts[0].root.text == "got: this", got
        assert got.history[0].parts[0].root.text == "ask", got

    speaker = client(True)
    kinds = []
    async for task, update in speaker.send_message(say("stream")):
        kinds.append("task" if update is None else update.kind)
    assert kinds[0] == "task" and kinds[-1] == "status-update", kinds
    text = "".join(p.root.text for p in task.artifacts[0].parts if p.root.kind == "text")
    assert text == "one two three", task

    slow = speaker.send_message(say("slow"))
    task, _ = await anext(slow)
    followed = speaker.resubscribe(TaskIdParams(id=task.id))
    first, _ = await anext(followed)
    assert first.id == task.id, first
    canceled = await speaker.cancel_task(TaskIdParams(id=task.id))
    assert canceled.status.state == TaskState.canceled, canceled
    async for _, update in followed:
        last = update
    assert last.final and last.status.state == TaskState.canceled, last
    await slow.aclose()

    asked = await last_task(speaker, say("ask"))
    set_config = await speaker.set_task_callback(
        TaskPushNotificationConfig(
            task_id=asked.id,
            push_notification_config=PushNotificationConfig(
                id="p",
                url="http://127.0.0.1:8099/hook",
                authentication=PushNotificationAuthenticationInfo(
                    schemes=["Bearer"], credentials="c"
                ),
            ),
        )
    )
    assert set_config.push_notification_config.url == "http://127.0.0.1:8099/hook", set_config
    found = await speaker.get_task_callback(
        GetTaskPushNotificationConfigParams(id=asked.id, push_notification_config_id="p")
    )
    assert found.task_id == asked.id and found.push_notification_config.id == "p", found
    print(f"ok {transport.value}")


async def main(url):
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        assert card.protocol_version == "0.3.0", card
        for transport in (TransportProtocol.jsonrpc, TransportProtocol.http_json):
            await check(card, http, transport)


asyncio.run(main(sys.argv[1].rstrip("/")))
