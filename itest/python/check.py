"""The official Python SDK's client against our `interop-agent`, over both of its HTTP bindings.

    check.py http://127.0.0.1:PORT/

Prints one line per check and ends with "N passed, N failed"; the exit code is 1 if anything failed.

About numbers. This SDK keeps a data part as a protobuf `Value`, which knows only doubles: it sends 3 as `3.0`, and what it
hands to us after parsing could not tell 3 from 3.0. So the claim that a number stays as it was written is checked on the
bytes: `Wire` sits under the SDK's HTTP client, keeps what went over the socket, and on the way out turns the text
"@number:3@" into the number 3, as a client without protobuf would have sent it.
"""

import asyncio
import contextlib
import importlib.metadata
import json
import os
import re
import sys
import time
import traceback
import uuid

import httpx

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory, create_client
from a2a.helpers.proto_helpers import (
    get_message_text,
    new_data_part,
    new_message,
    new_raw_part,
    new_text_part,
    new_url_part,
)
from a2a.types.a2a_pb2 import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf.json_format import MessageToDict

from receiver import Receiver

BINDINGS = ("JSONRPC", "HTTP+JSON")
ONE_CHECK_SECONDS = 60


# === what went over the wire ===


class Number(str):
    """A JSON number as it was written."""


class Members(list):
    """A JSON object's members in the order in which they were written, duplicates included."""

    def get(self, key):
        return next((value for name, value in self if name == key), None)


EXACT = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=Members)


class Exchange:
    """One request and its response."""

    def __init__(self, request, sent):
        self.method, self.path, self.sent = request.method, request.url.path, sent
        self.status, self.content_type, self.received, self.complete = 0, "", bytearray(), False

    def request(self):
        return EXACT.decode(self.sent.decode())

    def responses(self):
        """The response's JSON values: one, or one per event of a stream."""
        text = self.received.decode()
        if not self.content_type.startswith("text/event-stream"):
            return [EXACT.decode(text)]
        events = re.split(r"\r?\n\r?\n", text)
        lines = ([line for line in event.splitlines() if line.startswith("data:")] for event in events)
        return [EXACT.decode("\n".join(line[5:] for line in data)) for data in lines if data]

    def sent_parts(self):
        """The data and file parts of the message that was sent."""
        body = self.request()
        message = (body.get("params") or body).get("message")
        return [part for part in message.get("parts") if part.get("text") is None]

    def answer_parts(self):
        """The parts of the task's artifacts, folded as a client folds them."""
        artifacts = {}
        for response in self.responses():
            payload = response.get("result") if response.get("jsonrpc") else response
            for artifact in (payload.get("task") or payload).get("artifacts") or []:
                artifacts[artifact.get("artifactId")] = list(artifact.get("parts"))
            if (update := payload.get("artifactUpdate")) is not None:
                name, parts = update.get("artifact").get("artifactId"), update.get("artifact").get("parts")
                assert parts, "an artifact update without parts"
                artifacts[name] = (artifacts[name] if update.get("append") is True else []) + list(parts)
        return [part for parts in artifacts.values() for part in parts]


class Wire(httpx.AsyncBaseTransport):
    """Keeps every exchange, and sends the numbers that the SDK's protobuf cannot (see the top of this file)."""

    def __init__(self):
        self.inner = httpx.AsyncHTTPTransport()
        self.exchanges = []

    async def handle_async_request(self, request):
        sent = re.sub(rb'"@number:([^"@]+)@"', rb"\1", await request.aread())
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
        if request.method == "POST":
            headers.append((b"Content-Length", str(len(sent)).encode()))
        exchange = Exchange(request, sent)
        self.exchanges.append(exchange)
        patched = httpx.Request(
            request.method, request.url, headers=headers, content=sent or None, extensions=request.extensions
        )
        response = await self.inner.handle_async_request(patched)
        exchange.status, exchange.content_type = response.status_code, response.headers.get("content-type", "")
        response.stream = Tee(response.stream, exchange)
        return response

    async def aclose(self):
        await self.inner.aclose()


class Tee(httpx.AsyncByteStream):
    def __init__(self, inner, exchange):
        self.inner, self.exchange = inner, exchange

    async def __aiter__(self):
        async for chunk in self.inner:
            self.exchange.received.extend(chunk)
            yield chunk
        self.exchange.complete = True

    async def aclose(self):
        await self.inner.aclose()


# === what the SDK's user sees ===


class Answer:
    """Text, data and files of a task's artifacts, folded from a task or from a stream's events."""

    def __init__(self, task=None, events=()):
        self.artifacts = {}
        if task is not None:
            self._task(task)
        for event in events:
            if event.HasField("task"):
                self._task(event.task)
            elif event.HasField("artifact_update"):
                update = event.artifact_update
                name = update.artifact.artifact_id
                assert len(update.artifact.parts) > 0, "an artifact update without parts"
                assert name in self.artifacts or not update.append, f"the first update of {name!r} has append"
                known = self.artifacts[name] if update.append else []
                self.artifacts[name] = known + list(update.artifact.parts)

    def _task(self, task):
        for artifact in task.artifacts:
            self.artifacts[artifact.artifact_id] = list(artifact.parts)

    def parts(self):
        return [part for parts in self.artifacts.values() for part in parts]

    def text(self):
        return "".join(part.text for part in self.parts() if part.HasField("text"))

    def data(self):
        return [MessageToDict(part.data) for part in self.parts() if part.HasField("data")]

    def files(self):
        return [
            (part.raw if part.HasField("raw") else part.url, part.filename, part.media_type)
            for part in self.parts()
            if part.HasField("raw") or part.HasField("url")
        ]

    def seen(self):
        return (self.text(), self.data(), self.files())


def same(got, wanted, what):
    if isinstance(got, (list, tuple)) and isinstance(wanted, (list, tuple)) and len(got) == len(wanted):
        for index, pair in enumerate(zip(got, wanted)):
            same(*pair, f"{what}[{index}]" if len(got) > 1 else what)
    assert got == wanted, f"{what}: got {shorten(got)}, wanted {shorten(wanted)}"


def shorten(value):
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}... ({len(text)} characters)"


def is_state(task, wanted):
    same(TaskState.Name(task.status.state), f"TASK_STATE_{wanted}", "state")


@contextlib.contextmanager
def raises(error):
    try:
        yield
    except error:
        return
    except Exception as other:
        raise AssertionError(f"got {other!r}, wanted {error.__name__}") from other
    raise AssertionError(f"no error, wanted {error.__name__}")


def request(text, *parts, task=None, context=None):
    message = new_message([new_text_part(text), *parts], role=Role.ROLE_USER)
    if task is not None:
        message.task_id = task.id
    if context is not None:
        message.context_id = context
    return SendMessageRequest(message=message)


RAW = (bytes(range(256)) * 256, "all-bytes.bin", "application/octet-stream")
URL = ("http://files.invalid/p%C3%A1gina?q=a%20b&n=1", "page.html", "text/html")


def upstream():
    """Data and files in mixed order; the numbers are literal on the wire (see the top of this file)."""
    numbers = ["3", "-0", "1.0", "1E2", "9007199254740993", "123456789012345678901234567890"]
    marked = [f"@number:{number}@" for number in numbers]
    first = new_data_part({"n": "@number:3@", "list": marked, "text": 'a "quote", \\, 한국어, 🦀', "none": None})
    first.metadata.update({"origin": "check.py"})
    return [
        first,
        new_raw_part(RAW[0], filename=RAW[1], media_type=RAW[2]),
        new_data_part(["a list", {}, [], True]),
        new_url_part(URL[0], filename=URL[1], media_type=URL[2]),
        new_data_part("a scalar", media_type="application/json"),
    ]


UPSTREAM_DATA = [
    {
        "n": 3.0,
        "list": [3.0, -0.0, 1.0, 100.0, 9007199254740992.0, 1.2345678901234568e29],
        "text": 'a "quote", \\, 한국어, 🦀',
        "none": None,
    },
    ["a list", {}, [], True],
    "a scalar",
]
ECHO = ("echo: 3 data, 2 files", [{"own": True, "count": 5.0}, *UPSTREAM_DATA], [RAW, URL])


# === the checks ===


class Peer:
    """The server as this binding's clients see it: one that blocks, one that streams, one that polls."""

    def __init__(self, binding, card, wire, http):
        def client(**config):
            config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding], **config)
            return ClientFactory(config).create(card)

        self.binding, self.wire = binding, wire
        self.blocking = client(streaming=False)
        self.streaming = client(streaming=True)
        self.polling = client(streaming=False, polling=True)

    async def send(self, message, client=None):
        events = [event async for event in (client or self.blocking).send_message(message)]
        same([event.WhichOneof("payload") for event in events], ["task"], "the blocking result")
        return events[0].task

    async def stream(self, message):
        """All events until the server closes, with the rules that hold for every stream of ours."""
        events = [event async for event in self.streaming.send_message(message)]
        kinds = [event.WhichOneof("payload") for event in events]
        same(kinds[0], "task", "the first event")
        assert "task" not in kinds[1:], f"a second task in {kinds}"
        same(kinds[-1], "status_update", "the last event")
        task = events[0].task
        for event in events[1:]:
            update = getattr(event, event.WhichOneof("payload"))
            same((update.task_id, update.context_id), (task.id, task.context_id), "ids of an event")
        return events

    def last(self):
        return self.wire.exchanges[-1]

    async def get(self, task, **options):
        return await self.blocking.get_task(GetTaskRequest(id=task.id, **options))

    async def cancel(self, task):
        return await self.blocking.cancel_task(CancelTaskRequest(id=task.id))

    def subscribe(self, task):
        return self.streaming.subscribe(SubscribeToTaskRequest(id=task.id))


def tokens_survive(exchange, asked):
    """Own parts first, then every data and file part of the request with every token as it was sent."""
    sent, got = asked.sent_parts(), exchange.answer_parts()
    same(got[len(got) - len(sent) :], sent, "upstream's parts, token for token")
    same(sent[0].get("data").get("n"), Number("3"), "the number in the request")
    own = got[: len(got) - len(sent)]
    counts = [part.get("data").get("count") for part in own if part.get("data") is not None]
    same(counts, [Number(str(len(sent)))], "the agent's own number")


async def send(peer):
    task = await peer.send(request("echo", *upstream()))
    asked = peer.last()
    is_state(task, "COMPLETED")
    same(list(Answer(task).artifacts), ["response"], "artifact ids")
    same(Answer(task).seen(), ECHO, "answer")
    tokens_survive(asked, asked)
    got = await peer.get(task)
    same(Answer(got).seen(), ECHO, "GetTask")
    tokens_survive(peer.last(), asked)


async def doubles_stay_doubles(peer):
    task = await peer.send(request("echo", new_data_part({"n": 3})))
    asked = peer.last()
    same(asked.sent_parts()[0].get("data").get("n"), Number("3.0"), "what this SDK sends for 3")
    same(asked.answer_parts()[-1].get("data").get("n"), Number("3.0"), "what comes back")
    same(Answer(task).data(), [{"own": True, "count": 1.0}, {"n": 3.0}], "answer")


async def text_only(peer):
    task = await peer.send(request("echo"))
    same(Answer(task).seen(), ("echo: 0 data, 0 files", [{"own": True, "count": 0.0}], []), "answer")


async def big_file(peer):
    content = os.urandom(3 * 1024 * 1024)
    task = await peer.send(request("echo", new_raw_part(content, filename="big.bin")))
    same(Answer(task).files(), [(content, "big.bin", "")], "the file")


async def stream(peer):
    events = await peer.stream(request("echo", *upstream()))
    asked = peer.last()
    is_state(events[-1].status_update, "COMPLETED")
    answer = Answer(events=events)
    same(list(answer.artifacts), ["response"], "artifact ids")
    same(answer.seen(), ECHO, "answer")
    tokens_survive(asked, asked)
    same(Answer(await peer.get(events[0].task)).seen(), ECHO, "GetTask")
    tokens_survive(peer.last(), asked)


async def stream_chunks(peer):
    events = await peer.stream(request("stream", new_data_part({"from": "upstream"})))
    is_state(events[-1].status_update, "COMPLETED")
    wanted = ("one two three", [{"done": True}, {"from": "upstream"}], [])
    same(Answer(events=events).seen(), wanted, "answer")
    updates = [event for event in events if event.HasField("artifact_update")]
    assert len(updates) > 1, "the chunks came as one"
    same(updates[0].artifact_update.artifact.parts[0].text.startswith("one "), True, "the first chunk is first")
    same(Answer(await peer.get(events[0].task)).seen(), wanted, "GetTask")
    blocking = await peer.send(request("stream", new_data_part({"from": "upstream"})))
    same(Answer(blocking).seen(), wanted, "the blocking result")


async def get_errors(peer):
    with raises(TaskNotFoundError):
        await peer.blocking.get_task(GetTaskRequest(id=str(uuid.uuid4())))
    with raises(TaskNotFoundError):
        await peer.blocking.cancel_task(CancelTaskRequest(id=str(uuid.uuid4())))
    task = await peer.send(request("echo"))
    with raises(UnsupportedOperationError):
        await peer.send(request("echo", task=task))


async def list_tasks(peer):
    context = f"list-{uuid.uuid4()}"
    first = await peer.send(request("echo", new_data_part({"n": "@number:3@"}), context=context))
    await asyncio.sleep(0.01)  # so that two timestamps in milliseconds differ
    second = await peer.send(request("fail", context=context))
    same((first.context_id, second.context_id), (context, context), "the client's contextId")

    async def listed(**options):
        return await peer.blocking.list_tasks(ListTasksRequest(context_id=context, **options))

    everything = await listed()
    same([task.id for task in everything.tasks], [second.id, first.id], "newest first")
    same([len(task.artifacts) for task in everything.tasks], [0, 0], "artifacts that nobody asked for")
    same((everything.total_size, everything.next_page_token), (2, ""), "totalSize and nextPageToken")
    full = await listed(include_artifacts=True)
    same(Answer(full.tasks[1]).data(), [{"own": True, "count": 1.0}, {"n": 3.0}], "includeArtifacts")
    done = await listed(status=TaskState.TASK_STATE_COMPLETED)
    same([task.id for task in done.tasks], [first.id], "status filter")
    page = await listed(page_size=1)
    same(([task.id for task in page.tasks], page.page_size), ([second.id], 1), "first page")
    assert page.next_page_token, "a first page of two has a nextPageToken"
    page = await listed(page_size=1, page_token=page.next_page_token)
    same(([task.id for task in page.tasks], page.next_page_token), ([first.id], ""), "second page")


async def cancel(peer):
    task = await peer.send(request("slow", new_data_part({"from": "upstream"})), peer.polling)
    assert task.status.state in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING), "it did not wait"
    started = time.monotonic()
    is_state(await peer.cancel(task), "CANCELED")
    assert time.monotonic() - started < 10, "cancel took longer than the agent's grace"
    got = await peer.get(task)
    is_state(got, "CANCELED")
    same(Answer(got).data(), [], "a canceled turn gains no upstream")
    with raises(TaskNotCancelableError):
        await peer.cancel(task)


async def subscribe(peer):
    task = await peer.send(request("slow"), peer.polling)
    watching = peer.subscribe(task)
    events = [await anext(watching)]
    same((events[0].WhichOneof("payload"), events[0].task.id), ("task", task.id), "the first event")
    is_state(await peer.cancel(task), "CANCELED")
    events += [event async for event in watching]
    same(events[-1].WhichOneof("payload"), "status_update", "the last event")
    is_state(events[-1].status_update, "CANCELED")
    same(Answer(events=events).seen(), Answer(await peer.get(task)).seen(), "what the subscriber saw")
    with raises(UnsupportedOperationError):
        await anext(peer.subscribe(task))


async def leaving_cancels_nothing(peer):
    events = peer.streaming.send_message(request("slow"))
    task = (await anext(events)).task
    async for event in events:
        if event.HasField("artifact_update"):
            break
    await events.aclose()
    await asyncio.sleep(0.3)
    got = await peer.get(task)
    is_state(got, "WORKING")
    same(Answer(got).text(), "started", "what it had emitted")
    is_state(await peer.cancel(task), "CANCELED")


async def fail(peer):
    task = await peer.send(request("fail", new_data_part({"from": "upstream"})))
    is_state(task, "FAILED")
    assert get_message_text(task.status.message), "a failed task says so in words"
    same(Answer(task).seen(), ("", [], []), "a failed turn gains no upstream")
    events = await peer.stream(request("fail"))
    is_state(events[-1].status_update, "FAILED")


async def ask(peer):
    task = await peer.send(request("ask", new_data_part({"from": "upstream"})))
    is_state(task, "INPUT_REQUIRED")
    same(get_message_text(task.status.message), "which?", "the question")
    same(Answer(task).data(), [], "a question carries no upstream")
    done = await peer.send(request("this one", task=task, context=task.context_id))
    is_state(done, "COMPLETED")
    same((done.id, Answer(done).text()), (task.id, "got: this one"), "the answer")
    history = (await peer.get(task, history_length=100)).history
    asked = [get_message_text(message) for message in history if message.role == Role.ROLE_USER]
    same(asked, ["ask", "this one"], "the user's messages")
    same(len((await peer.get(task, history_length=1)).history), 1, "historyLength 1")
    same(len((await peer.get(task, history_length=0)).history), 0, "historyLength 0")


async def ask_streaming(peer):
    events = await peer.stream(request("ask"))
    is_state(events[-1].status_update, "INPUT_REQUIRED")
    task = events[0].task
    events = await peer.stream(request("this one", task=task))
    is_state(events[-1].status_update, "COMPLETED")
    same(events[0].task.id, task.id, "the same task")
    same(Answer(await peer.get(task)).text(), "got: this one", "the answer")


async def direct_message(peer):
    events = [event async for event in peer.blocking.send_message(request("message"))]
    same([event.WhichOneof("payload") for event in events], ["message"], "the result")
    same(get_message_text(events[0].message), "a direct message", "its text")
    # In a stream our tasks are visible at once, so that the message becomes the task's answer.
    same(Answer(events=await peer.stream(request("message"))).text(), "a direct message", "in a stream")


async def data_of_every_kind(peer):
    for value in ({}, [], [[None]], "a string", "", True, False, -1.5, None):
        task = await peer.send(request("echo", new_data_part(value)))
        same(Answer(task).data(), [{"own": True, "count": 1.0}, value], "answer")


async def burst(peer):
    events = await peer.stream(request("burst"))
    same(Answer(events=events).text(), "".join(f"{n} " for n in range(1_000)), "answer")


async def push_configs(peer):
    task = await peer.send(request("ask"))
    config = TaskPushNotificationConfig(
        task_id=task.id,
        id="c-1",
        url="http://127.0.0.1:8009/hook",
        token="a token",
        authentication=AuthenticationInfo(scheme="Bearer", credentials="secret"),
    )
    names = {"task_id": task.id, "id": "c-1"}
    created = await peer.blocking.create_task_push_notification_config(config)
    got = await peer.blocking.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**names))
    for seen in (created, got):
        same((seen.task_id, seen.id, seen.url), (task.id, "c-1", config.url), "the configuration")
        same((seen.token, seen.authentication.credentials), ("", ""), "secrets that are given back")

    async def listed():
        listing = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        return [found.id for found in (await peer.blocking.list_task_push_notification_configs(listing)).configs]

    same(await listed(), ["c-1"], "list")
    await peer.blocking.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(**names))
    same(await listed(), [], "list after deletion")


async def push(peer):
    """One receiver comes with the message, one is added while the task waits; both hear of the end."""

    def is_end(body):
        return body.get("statusUpdate", {}).get("status", {}).get("state") == "TASK_STATE_COMPLETED"

    with Receiver() as inline, Receiver() as added:
        message = request("ask")
        message.configuration.task_push_notification_config.CopyFrom(
            TaskPushNotificationConfig(
                url=inline.url, authentication=AuthenticationInfo(scheme="Bearer", credentials="secret")
            )
        )
        task = await peer.send(message)
        await peer.blocking.create_task_push_notification_config(
            TaskPushNotificationConfig(task_id=task.id, url=added.url, token="a token")
        )
        await peer.send(request("this one", task=task))
        for receiver, secret in (
            (inline, ("authorization", "Bearer secret")),
            (added, ("x-a2a-notification-token", "a token")),
        ):
            for headers, body in await receiver.until(is_end):
                same(headers.get(secret[0]), secret[1], secret[0])
                same(len(body), 1, f"one event in {body}")
                (event,) = body.values()
                same(event.get("taskId", event.get("id")), task.id, "task")


async def wire(peer):
    """Over everything that was said before: it went over this binding, and each answer names its request."""
    for exchange in peer.wire.exchanges:
        if exchange.path.startswith("/.well-known/"):
            continue
        over_rpc = bool(exchange.sent) and exchange.request().get("jsonrpc") == "2.0"
        same(over_rpc, peer.binding == "JSONRPC", f"{exchange.method} {exchange.path} is JSON-RPC")
        if not over_rpc:
            continue
        same(exchange.status, 200, "HTTP status of JSON-RPC")
        for response in exchange.responses() if exchange.complete else []:
            same(response.get("id"), exchange.request().get("id"), "id")
            both = {"result", "error"} & {name for name, _ in response}
            same(len(both), 1, f"result or error, not {both}")


CHECKS = [
    send,
    doubles_stay_doubles,
    text_only,
    big_file,
    stream,
    stream_chunks,
    get_errors,
    list_tasks,
    cancel,
    subscribe,
    leaving_cancels_nothing,
    fail,
    ask,
    ask_streaming,
    direct_message,
    data_of_every_kind,
    burst,
    push_configs,
    push,
    wire,
]


async def out_of_the_box(url):
    """A client with nothing configured: JSON-RPC, streaming, and this SDK's time limits of 5 seconds."""
    async with await create_client(url) as client:
        events = [event async for event in client.send_message(request("echo", new_data_part({"a": "b"})))]
    same(Answer(events=events).data(), [{"own": True, "count": 1.0}, {"a": "b"}], "answer")


# === running them ===


class Tally:
    passed = failed = 0

    async def run(self, name, check):
        started = time.monotonic()
        try:
            await asyncio.wait_for(check, ONE_CHECK_SECONDS)
        except Exception as error:
            self.failed += 1
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
            lines = [f"line {frame.lineno} in {frame.name}" for frame in frames if frame.name not in ("run", "same")]
            print(f"FAIL {name}: {type(error).__name__}: {error}\n     at {', '.join(lines)}", flush=True)
        else:
            self.passed += 1
            print(f"ok   {name} ({(time.monotonic() - started) * 1000:.0f} ms)", flush=True)


async def main(url):
    print(f"a2a-sdk {importlib.metadata.version('a2a-sdk')}, Python {sys.version.split()[0]}, {url}")
    tally = Tally()
    for binding in BINDINGS:
        wire = Wire()
        # Loopback only: no proxy from the environment, and bytes that can be read as they are.
        options = {"transport": wire, "trust_env": False, "timeout": 30, "headers": {"Accept-Encoding": "identity"}}
        async with httpx.AsyncClient(**options) as http:
            card = await A2ACardResolver(http, url).get_agent_card()
            assert card.capabilities.streaming, "the card must say that we stream"
            peer = Peer(binding, card, wire, http)
            for check in CHECKS:
                await tally.run(f"{binding} {check.__name__}", check(peer))
    await tally.run("out_of_the_box", out_of_the_box(url))
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 0 if tally.failed == 0 else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(asyncio.run(main(sys.argv[1])))
