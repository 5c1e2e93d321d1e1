// The official JavaScript SDK's client against our `interop-agent`, over its bindings.
//
//     node check.mjs http://127.0.0.1:PORT/
//
// Prints one line per check and ends with "N passed, N failed"; the exit code is 1 if anything failed.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import * as a2a from "@a2a-js/sdk";
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors";

const ONE_CHECK_MS = 60_000;
const TRANSPORTS = [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()];

// What this SDK's client cannot do, as "BINDING CHECK" or "* CHECK" and a piece of what the check says then. Strict: a
// check that is listed and passes fails the run. See README.md.
const DIFFERS = new Map([
  ["JSONRPC null_data", "strictly deep-equal"],
  ["HTTP+JSON null_data", "strictly deep-equal"],
  ["GRPC large", "Received message larger than max"],
]);

// === what the SDK's user sees ===

class Answer {
  artifacts = new Map();

  add(payload) {
    if (payload?.$case === "task") this.task(payload.value);
    if (payload?.$case !== "artifactUpdate") return;
    const { artifact, append } = payload.value;
    assert.ok(artifact.parts.length > 0, "an artifact update without parts");
    assert.ok(!append || this.artifacts.has(artifact.artifactId), "the first update has append");
    const known = append ? this.artifacts.get(artifact.artifactId) : [];
    this.artifacts.set(artifact.artifactId, [...known, ...artifact.parts]);
  }

  task(task) {
    for (const { artifactId, parts } of task.artifacts) this.artifacts.set(artifactId, parts);
    return this;
  }

  of(...kinds) {
    return [...this.artifacts.values()].flat().filter((part) => kinds.includes(part.content?.$case));
  }

  text() {
    return this.of("text").map((part) => part.content.value).join("");
  }

  data() {
    return this.of("data").map((part) => part.content.value);
  }

  files() {
    return this.of("raw", "url").map((part) => {
      const { $case, value } = part.content;
      return [$case === "raw" ? Buffer.from(value).toString("base64") : value, part.filename, part.mediaType];
    });
  }
}

class Peer {
  constructor(client) {
    this.client = client;
  }

  async send(text, options) {
    const result = await this.client.sendMessage(message(text, options));
    assert.ok("status" in result, "the answer is a task");
    return result;
  }

  // All events until the server closes, with the rules that hold for every stream of ours.
  async stream(text, options) {
    const events = [];
    for await (const event of this.client.sendMessageStream(message(text, options))) events.push(event.payload);
    assert.equal(events[0]?.$case, "task", "the first event");
    assert.equal(events.at(-1).$case, "statusUpdate", "the last event");
    const answer = new Answer();
    for (const event of events) answer.add(event);
    return { task: events[0].value, state: name(events.at(-1).value.status), answer, events };
  }

  get(task, options) {
    return this.client.getTask({ tenant: "", id: task.id, ...options });
  }

  cancel(task) {
    return this.client.cancelTask({ tenant: "", id: task.id, metadata: undefined });
  }

  subscribe(task) {
    return this.client.resubscribeTask({ tenant: "", id: task.id });
  }

  async slow() {
    const task = await this.send("slow", { configuration: { returnImmediately: true } });
    assert.ok(["SUBMITTED", "WORKING"].includes(name(task.status)), "it did not wait");
    return task;
  }
}

function message(text, { parts = [], task, context, configuration } = {}) {
  const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
  if (task) message.taskId = task.id;
  if (context) message.contextId = context;
  const request = a2a.SendMessageRequest.fromJSON({ message, configuration: configuration ?? {} });
  request.message.parts.push(...parts);
  return request;
}

function part($case, value, { filename = "", mediaType = "", metadata } = {}) {
  return { content: { $case, value }, filename, mediaType, metadata };
}

function name(status) {
  return a2a.TaskState[status.state].replace("TASK_STATE_", "");
}

function words(message) {
  return message?.parts.map((part) => part.content.value).join("\n");
}

const DATA = { z: 1, a: [3, -1.5, 1e21], text: 'a "quote", \\, 한국어, 🦀', none: null, deep: { of: [{}, []] } };
const RAW = Buffer.from(Array.from({ length: 65_536 }, (_, n) => n % 256));
const URL_TEXT = "https://files.invalid/p%C3%A1gina?q=a%20b&n=1";

function upstream() {
  return [
    part("data", DATA, { metadata: { origin: "check.mjs" } }),
    part("raw", RAW, { filename: "all-bytes.bin", mediaType: "application/octet-stream" }),
    part("data", ["a list", {}, [], true]),
    part("url", URL_TEXT, { filename: "page.html", mediaType: "text/html" }),
  ];
}

function isEcho(answer) {
  assert.equal(answer.text(), "echo: 2 data, 2 files");
  assert.deepEqual(answer.data(), [{ own: true, count: 4 }, DATA, ["a list", {}, [], true]]);
  assert.deepEqual(answer.files(), [
    [RAW.toString("base64"), "all-bytes.bin", "application/octet-stream"],
    [URL_TEXT, "page.html", "text/html"],
  ]);
  assert.deepEqual(answer.of("data")[1].metadata, { origin: "check.mjs" }, "a part's metadata");
}

// === the checks ===

const CHECKS = {
  async send(peer) {
    const task = await peer.send("echo", { parts: upstream() });
    assert.equal(name(task.status), "COMPLETED");
    assert.deepEqual(task.artifacts.map((artifact) => artifact.artifactId), ["response"]);
    isEcho(new Answer().task(task));
    isEcho(new Answer().task(await peer.get(task)));
  },

  async stream(peer) {
    const { task, state, answer } = await peer.stream("echo", { parts: upstream() });
    assert.equal(state, "COMPLETED");
    isEcho(answer);
    isEcho(new Answer().task(await peer.get(task)));
  },

  async stream_chunks(peer) {
    const { task, answer, events } = await peer.stream("stream", { parts: [part("data", { from: "upstream" })] });
    assert.ok(events.filter((event) => event.$case === "artifactUpdate").length > 1, "the chunks came as one");
    for (const seen of [answer, new Answer().task(await peer.get(task))]) {
      assert.equal(seen.text(), "one two three");
      assert.deepEqual(seen.data(), [{ done: true }, { from: "upstream" }]);
    }
  },

  async burst(peer) {
    const { answer } = await peer.stream("burst");
    assert.equal(answer.text(), Array.from({ length: 1_000 }, (_, n) => `${n} `).join(""));
  },

  async data_of_every_kind(peer) {
    for (const value of [{}, [], [[null]], "a string", "", true, false, -1.5, 0]) {
      const task = await peer.send("echo", { parts: [part("data", value)] });
      assert.deepEqual(new Answer().task(task).data(), [{ own: true, count: 1 }, value]);
    }
  },

  async null_data(peer) {
    const task = await peer.send("echo", { parts: [part("data", null)] });
    assert.deepEqual(new Answer().task(task).data(), [{ own: true, count: 1 }, null]);
  },

  async order_of_keys(peer) {
    const task = await peer.send("echo", { parts: [part("data", { z: 1, a: 2, m: 3 })] });
    assert.equal(JSON.stringify(new Answer().task(task).data()[1]), '{"z":1,"a":2,"m":3}');
  },

  async large(peer) {
    const bytes = Buffer.alloc(3 << 20, "0123456789");
    const numbers = Array.from({ length: 80_000 }, (_, n) => n);
    const task = await peer.send("echo", { parts: [part("raw", bytes), part("data", numbers)] });
    const answer = new Answer().task(task);
    assert.ok(Buffer.from(answer.files()[0][0], "base64").equals(bytes), "the file");
    assert.deepEqual(answer.data()[1], numbers);
  },

  async direct_message(peer) {
    const result = await peer.client.sendMessage(message("message"));
    assert.ok(!("status" in result), "no task");
    assert.equal(words(result), "a direct message");
  },

  async fail(peer) {
    const task = await peer.send("fail", { parts: [part("data", { from: "upstream" })] });
    assert.equal(name(task.status), "FAILED");
    assert.equal(words(task.status.message), "the agent was asked to fail");
    assert.deepEqual(new Answer().task(task).data(), [], "a failed turn gains no upstream");
    assert.equal((await peer.stream("fail")).state, "FAILED");
  },

  async ask(peer) {
    const task = await peer.send("ask");
    assert.equal(name(task.status), "INPUT_REQUIRED");
    assert.equal(words(task.status.message), "which?");
    const done = await peer.send("this one", { task });
    assert.deepEqual([done.id, done.contextId, name(done.status)], [task.id, task.contextId, "COMPLETED"]);
    assert.equal(new Answer().task(done).text(), "got: this one");
    const { history } = await peer.get(task, { historyLength: 100 });
    const ours = history.filter((message) => message.role === a2a.Role.ROLE_USER);
    assert.deepEqual(ours.map(words), ["ask", "this one"]);
    assert.equal((await peer.get(task, { historyLength: 1 })).history.length, 1);
  },

  async no_history(peer) {
    const task = await peer.send("echo");
    assert.equal((await peer.get(task, { historyLength: 0 })).history.length, 0);
  },

  async ask_streaming(peer) {
    const asked = await peer.stream("ask");
    assert.equal(asked.state, "INPUT_REQUIRED");
    const { task, state, answer } = await peer.stream("this one", { task: asked.task });
    assert.deepEqual([task.id, state, answer.text()], [asked.task.id, "COMPLETED", "got: this one"]);
  },

  async list(peer) {
    const context = `list-${randomUUID()}`;
    const first = await peer.send("echo", { context });
    const second = await peer.send("fail", { context });
    const listed = (options) =>
      peer.client.listTasks(a2a.ListTasksRequest.fromJSON({ contextId: context, ...options }));
    const everything = await listed({});
    assert.deepEqual(new Set(everything.tasks.map((task) => task.id)), new Set([first.id, second.id]));
    assert.deepEqual([everything.totalSize, everything.nextPageToken], [2, ""]);
    assert.deepEqual(everything.tasks.map((task) => task.artifacts.length), [0, 0]);
    const done = await listed({ status: "TASK_STATE_COMPLETED", includeArtifacts: true });
    assert.deepEqual(done.tasks.map((task) => [task.id, task.artifacts.length]), [[first.id, 1]]);
    const page = await listed({ pageSize: 1 });
    const rest = await listed({ pageSize: 1, pageToken: page.nextPageToken });
    const ids = [...page.tasks, ...rest.tasks].map((task) => task.id);
    assert.deepEqual(ids, everything.tasks.map((task) => task.id), "two pages of one");
  },

  async cancel(peer) {
    const task = await peer.slow();
    assert.equal(name((await peer.cancel(task)).status), "CANCELED");
    assert.equal(name((await peer.get(task)).status), "CANCELED");
    await assert.rejects(peer.cancel(task), TaskNotCancelableError);
  },

  async subscribe(peer) {
    const task = await peer.slow();
    const watching = peer.subscribe(task);
    const first = await watching.next();
    assert.deepEqual([first.value.payload.$case, first.value.payload.value.id], ["task", task.id]);
    await peer.cancel(task);
    let last;
    for await (const event of watching) last = event.payload;
    assert.equal(name(last.value.status), "CANCELED");
    await assert.rejects(peer.subscribe(task).next(), UnsupportedOperationError);
  },

  async leaving_cancels_nothing(peer) {
    let task;
    for await (const { payload } of peer.client.sendMessageStream(message("slow"))) {
      if (payload.$case === "task") task = payload.value;
      if (payload.$case === "artifactUpdate") break;
    }
    const got = await peer.get(task);
    assert.deepEqual([name(got.status), new Answer().task(got).text()], ["WORKING", "started"]);
    assert.equal(name((await peer.cancel(task)).status), "CANCELED");
  },

  async errors(peer) {
    const nobodys = { id: randomUUID() };
    await assert.rejects(peer.get(nobodys), TaskNotFoundError);
    await assert.rejects(peer.cancel(nobodys), TaskNotFoundError);
    await assert.rejects(peer.subscribe(nobodys).next(), TaskNotFoundError);
    await assert.rejects(peer.send("echo", { task: nobodys }), TaskNotFoundError);
    const task = await peer.send("echo");
    await assert.rejects(peer.send("echo", { task }), UnsupportedOperationError);
    await assert.rejects(peer.stream("echo", { task }), UnsupportedOperationError);
  },

  async push_configs(peer) {
    const task = await peer.send("ask");
    const names = { tenant: "", taskId: task.id, id: "c-1" };
    const authentication = { scheme: "Bearer", credentials: "secret" };
    const config = { ...names, url: "http://127.0.0.1:8009/hook", token: "a token", authentication };
    const seen = [
      await peer.client.createTaskPushNotificationConfig(config),
      await peer.client.getTaskPushNotificationConfig(names),
    ];
    for (const { taskId, id, url, token, authentication } of seen) {
      assert.deepEqual([taskId, id, url], [task.id, "c-1", config.url]);
      assert.deepEqual([token, authentication?.credentials ?? ""], ["", ""], "secrets that are given back");
    }
    const listed = async () => {
      const listing = { tenant: "", taskId: task.id, pageSize: 0, pageToken: "" };
      return (await peer.client.listTaskPushNotificationConfig(listing)).configs.map((found) => found.id);
    };
    assert.deepEqual(await listed(), ["c-1"]);
    await peer.client.deleteTaskPushNotificationConfig(names);
    assert.deepEqual(await listed(), []);
  },

  // One receiver comes with the message, one is added while the task waits; both hear of the end.
  async push(peer) {
    const [inline, added] = [await Receiver.start(), await Receiver.start()];
    try {
      const authentication = { scheme: "Bearer", credentials: "secret" };
      const configuration = { taskPushNotificationConfig: { url: inline.url, authentication } };
      const task = await peer.send("ask", { configuration });
      const config = { taskId: task.id, url: added.url, token: "a token" };
      await peer.client.createTaskPushNotificationConfig(a2a.TaskPushNotificationConfig.fromJSON(config));
      await peer.send("this one", { task });
      await inline.untilTheEndOf(task, "authorization", "Bearer secret");
      await added.untilTheEndOf(task, "x-a2a-notification-token", "a token");
    } finally {
      inline.server.close();
      added.server.close();
    }
  },
};

class Receiver {
  arrived = [];
  wake = () => {};

  static async start() {
    const receiver = new Receiver();
    receiver.server = createServer(async (request, response) => {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      response.end();
      receiver.arrived.push([request.headers, JSON.parse(Buffer.concat(chunks))]);
      receiver.wake();
    });
    await new Promise((listening) => receiver.server.listen(0, "127.0.0.1", listening));
    receiver.url = `http://127.0.0.1:${receiver.server.address().port}/hook`;
    return receiver;
  }

  async untilTheEndOf(task, header, value) {
    for (let next = 0; ; ) {
      if (next === this.arrived.length) {
        await new Promise((wake) => (this.wake = wake));
        continue;
      }
      const [headers, body] = this.arrived[next++];
      assert.equal(headers[header], value, header);
      const { payload } = a2a.StreamResponse.fromJSON(body);
      assert.equal(payload.value.taskId ?? payload.value.id, task.id);
      if (payload.$case === "statusUpdate" && name(payload.value.status) === "COMPLETED") return;
    }
  }
}

// === running them ===

async function main(url) {
  let [passed, failed] = [0, 0];
  const unused = new Set(DIFFERS.keys());
  for (const transport of TRANSPORTS) {
    const factory = new ClientFactory({ transports: [transport] });
    const peer = new Peer(await factory.createFromUrl(url));
    for (const [check, run] of Object.entries(CHECKS)) {
      const began = performance.now();
      const label = `${transport.protocolName} ${check}`;
      const key = [label, `* ${check}`].find((key) => DIFFERS.has(key));
      unused.delete(key);
      let error = await outcome(run(peer));
      const known = key !== undefined && error !== undefined && error.includes(DIFFERS.get(key));
      if (key !== undefined && error === undefined) error = "passes, but it is listed as known; take it off the list";
      const good = known || error === undefined;
      const line = good ? `${known ? "known" : "ok   "} ${label}` : `FAIL ${label}`;
      const why = error === undefined ? "" : `: ${error.split("\n").slice(0, 12).join(" ").slice(0, 600)}`;
      console.log(`${line}${why} (${Math.round(performance.now() - began)} ms)`);
      good ? passed++ : failed++;
    }
  }
  for (const key of unused) console.log(`FAIL no check is called ${key}`, failed++);
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

async function outcome(check) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${ONE_CHECK_MS} ms`)), ONE_CHECK_MS);
  });
  try {
    await Promise.race([check, late]);
  } catch (error) {
    return `${error.name}: ${error.message}`;
  } finally {
    clearTimeout(timer);
  }
}

await main(process.argv[2]);
