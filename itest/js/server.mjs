// An agent on the official JavaScript SDK's server, over JSON-RPC, HTTP+JSON and gRPC, for our client.
//
// It does what `interop-agent` does: what is asked for is in the message's text. Prints `READY URL` once it listens on free
// ports of loopback, and runs until it is stopped.

import { randomUUID } from "node:crypto";
import express from "express";
import grpc from "@grpc/grpc-js";
import { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import {
  AgentEvent,
  DefaultExecutionEventBusManager,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from "@a2a-js/sdk/server";
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from "@a2a-js/sdk/server/express";
import { A2AService, grpcService } from "@a2a-js/sdk/server/grpc";

const BURST = 1_000;

class Interop {
  slow = new Map();

  async execute(request, bus) {
    const { taskId, contextId, task, userMessage } = request;
    const turn = new Turn(bus, taskId, contextId);
    const query = userMessage.parts
      .filter((part) => part.content?.$case === "text")
      .map((part) => part.content.value)
      .join("\n");
    if (query === "message" && !task) {
      bus.publish(AgentEvent.message(say("a direct message", { contextId })));
      bus.finished();
      return;
    }
    bus.publish(AgentEvent.task(task ?? begun(taskId, contextId, userMessage)));
    turn.status("WORKING");
    if (task) {
      turn.artifact([{ text: `got: ${query}` }]);
      turn.end("COMPLETED");
      return;
    }
    switch (query) {
      case "echo": {
        const is = (...kinds) => userMessage.parts.filter((part) => kinds.includes(part.content?.$case));
        const [data, files, upstream] = [is("data"), is("raw", "url"), is("data", "raw", "url")];
        const text = `echo: ${data.length} data, ${files.length} files`;
        turn.artifact([{ text }, { data: { own: true, count: upstream.length } }], upstream);
        turn.end("COMPLETED");
        break;
      }
      case "stream":
        turn.artifact([{ text: "one " }]);
        turn.artifact([{ text: "two " }], [], true);
        turn.artifact([{ text: "three" }], [], true);
        turn.artifact([{ data: { done: true } }], [], true);
        turn.end("COMPLETED");
        break;
      case "burst":
        for (let n = 0; n < BURST; n++) turn.artifact([{ text: `${n} ` }], [], n > 0);
        turn.end("COMPLETED");
        break;
      case "slow":
        turn.artifact([{ text: "started" }]);
        await new Promise((canceled) => this.slow.set(taskId, canceled));
        turn.end("CANCELED");
        break;
      case "fail":
        turn.end("FAILED", "the agent was asked to fail");
        break;
      case "ask":
        turn.end("INPUT_REQUIRED", "which?");
        break;
      default:
        turn.artifact([{ text: `you said: ${query}` }]);
        turn.end("COMPLETED");
    }
  }

  async cancelTask(taskId) {
    this.slow.get(taskId)?.();
    this.slow.delete(taskId);
  }
}

class Turn {
  constructor(bus, taskId, contextId) {
    Object.assign(this, { bus, ids: { taskId, contextId } });
  }

  status(state, text) {
    const message = text === undefined ? undefined : Message.toJSON(say(text, this.ids));
    const status = { state: `TASK_STATE_${state}`, message, timestamp: new Date().toISOString() };
    this.bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ ...this.ids, status })));
  }

  artifact(parts, asTheyCame = [], append = false) {
    const artifact = { artifactId: "response", parts };
    const update = TaskArtifactUpdateEvent.fromJSON({ ...this.ids, artifact, append });
    update.artifact.parts.push(...asTheyCame);
    this.bus.publish(AgentEvent.artifactUpdate(update));
  }

  end(state, text) {
    this.status(state, text);
    this.bus.finished();
  }
}

function begun(id, contextId, message) {
  const status = { state: "TASK_STATE_SUBMITTED", timestamp: new Date().toISOString() };
  const task = Task.fromJSON({ id, contextId, status });
  task.history.push(message);
  return task;
}

function say(text, ids) {
  return Message.fromJSON({ messageId: randomUUID(), role: "ROLE_AGENT", parts: [{ text }], ...ids });
}

// Who started this reads one line of the output and closes it; the SDK logs there.
console.log = console.info = console.error;

const app = express();
// The SDK's routes would parse bodies with Express's limit of 100 kB; what is parsed already they leave alone.
app.use(express.json({ limit: "32mb", type: ["application/json", "application/a2a+json"] }));
const listening = app.listen(0, "127.0.0.1", async () => {
  const url = `http://127.0.0.1:${listening.address().port}`;
  const rpc = new grpc.Server({ "grpc.max_receive_message_length": 32 << 20, "grpc.max_send_message_length": 32 << 20 });
  const port = await new Promise((bound, failed) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    rpc.bindAsync("127.0.0.1:0", credentials, (error, port) => (error ? failed(error) : bound(port)));
  });
  const at = (protocolBinding, url) => ({ protocolBinding, url, protocolVersion: "1.0" });
  const card = AgentCard.fromJSON({
    name: "interop",
    description: "Does what the query says",
    version: "1.0.0",
    supportedInterfaces: [at("JSONRPC", `${url}/rpc`), at("HTTP+JSON", `${url}/rest`), at("GRPC", `127.0.0.1:${port}`)],
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "interop", name: "Interop", description: "Does what the query says", tags: ["test"] }],
  });
  const receivers = new InMemoryPushNotificationStore();
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    new Interop(),
    new DefaultExecutionEventBusManager(),
    receivers,
    new DefaultPushNotificationSender(receivers),
  );
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/rpc", jsonRpcHandler(options));
  app.use("/rest", restHandler(options));
  rpc.addService(A2AService, grpcService(options));
  process.stdout.write(`READY ${url}/\n`);
});
