//! One conversation on both bindings, blocking and streaming: three folds, one answer.

use llamon_agent::client::{Binding, Client, Reply};
use llamon_agent::core::Payload;
use llamon_agent::testing::TestServer;

use crate::outcome::{Content, Outcome};
use crate::raw::Raw;
use crate::say::Say;
use crate::wire::{Events, Peer, WIRES, Wire};

/// Has the conversation `says`, all in one task, in every way, and returns what came out of the
/// last message. What is checked on the way:
///
/// * the blocking result, the fold of the stream and GetTask have the same parts;
/// * so do both bindings, and the product's own client;
/// * every stream obeys the rules of [`check_stream`].
///
/// # Panics
/// When something of this does not hold.
pub async fn everywhere(server: &TestServer, says: &[Say]) -> Outcome {
    let mut all: Vec<(String, Outcome)> = Vec::new();
    for wire in WIRES {
        let peer = Peer::new(server.url(), wire);
        let blocking = blocking(&peer, says).await;
        all.push((format!("{wire:?} blocking"), blocking));
        let (streaming, _) = streaming(&peer, says).await;
        all.push((format!("{wire:?} streaming"), streaming));
    }
    let (_, first) = all.swap_remove(0);
    for (name, other) in &all {
        assert_same(name, other, &first);
    }
    by_client(server, says, &first).await;
    first
}

/// Says it all, each time waiting for the answer, and checks that GetTask says the same.
///
/// # Panics
/// When it does not.
pub async fn blocking(peer: &Peer, says: &[Say]) -> Outcome {
    let mut outcome = Outcome::default();
    for say in says {
        let say = continuing(say, &outcome);
        outcome = Outcome::of_result(&peer.send(&say).await);
        assert_is_stored(peer, &outcome).await;
    }
    outcome
}

/// Says it all and folds each answer's stream; returns the last fold and its events.
///
/// # Panics
/// When GetTask says something else, or a stream is not as it must be.
pub async fn streaming(peer: &Peer, says: &[Say]) -> (Outcome, Vec<Raw>) {
    let mut last = (Outcome::default(), Vec::new());
    for say in says {
        let events = peer.stream(&continuing(say, &last.0)).await;
        last = fold(events).await;
        assert_is_stored(peer, &last.0).await;
    }
    last
}

/// Folds a stream to its end and checks that it is as it must be.
///
/// # Panics
/// When it is not.
pub async fn fold(events: Events) -> (Outcome, Vec<Raw>) {
    let events = events.rest().await;
    check_stream(&events);
    let mut outcome = Outcome::default();
    for event in &events {
        outcome.apply(event);
    }
    (outcome, events)
}

/// Checks the rules that every stream of an answer obeys: the first event is the task, or the
/// only one is a message; no update is without parts; after a `lastChunk` its artifact stays as
/// it is; the last event, and only that, brings the task to rest.
///
/// # Panics
/// When one does not hold.
pub fn check_stream(events: &[Raw]) {
    let first = events.first().expect("an event");
    if first.find("message").is_some() {
        assert_eq!(events.len(), 1, "a message is the only event: {events:?}");
        return;
    }
    let id = first.string("task.id");
    let mut sealed = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let is_last = at + 1 == events.len();
        if let Some(update) = event.find("artifactUpdate") {
            assert_eq!(update.string("taskId"), id);
            assert!(!update.list("artifact.parts").is_empty(), "{event:?}");
            let artifact = update.string("artifact.artifactId");
            assert!(!sealed.contains(&artifact), "after its last: {event:?}");
            if update.find("lastChunk").is_some() {
                sealed.push(artifact);
            }
        }
        if let Some(state) = event.find("statusUpdate.status.state") {
            assert_eq!(is_settled(state.text()), is_last, "{events:?}");
        }
        assert_eq!(event.find("task").is_some(), at == 0, "{event:?}");
    }
    let last = events.last().expect("an event");
    assert!(last.find("statusUpdate").is_some(), "{last:?}");
}

/// Whether a state, as the wire has it with or without quotes, is terminal or interrupted.
pub fn is_settled(state: &str) -> bool {
    let running = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"];
    !running.contains(&state.trim_matches('"'))
}

fn continuing(say: &Say, before: &Outcome) -> Say {
    match &before.task_id {
        Some(id) => say.clone().in_task(id),
        None => say.clone(),
    }
}

async fn assert_is_stored(peer: &Peer, outcome: &Outcome) {
    if let Some(id) = &outcome.task_id {
        let stored = Outcome::of_task(&peer.get(id).await);
        assert_same("GetTask", &stored, outcome);
    }
}

fn assert_same(name: &str, found: &Outcome, expected: &Outcome) {
    let seen = |outcome: &Outcome| {
        let artifacts = outcome.by_artifact().into_iter();
        let artifacts: Vec<(String, Content)> = artifacts
            .map(|(id, content)| (id.to_owned(), content))
            .collect();
        let message = Content::of(&outcome.message);
        (
            outcome.state.clone(),
            outcome.said.clone(),
            artifacts,
            message,
        )
    };
    assert_eq!(seen(found), seen(expected), "{name}");
}

async fn by_client(server: &TestServer, says: &[Say], expected: &Outcome) {
    for wire in WIRES {
        let binding = match wire {
            Wire::JsonRpc => Binding::JsonRpc,
            Wire::Rest => Binding::Rest,
        };
        let client = server.client_with(binding).await.expect("a client");
        for stream in [false, true] {
            let name = format!("the client, {wire:?}, stream: {stream}");
            let reply = talk(&client, says, stream).await;
            assert_same_payload(&name, &reply.payload(), expected);
            let state = reply.state().map(|state| state.as_str().to_owned());
            assert_eq!(state.unwrap_or_default(), expected.state, "{name}");
            if let Some(task) = reply.task() {
                let stored = client.get(&task.id).await.expect("the task");
                assert_same_payload(&name, &stored.payload(), expected);
            }
        }
    }
}

async fn talk(client: &Client, says: &[Say], stream: bool) -> Reply {
    let mut last: Option<Reply> = None;
    for say in says {
        let task = last
            .as_ref()
            .and_then(Reply::task)
            .map(|task| task.id.to_string());
        let say = match task {
            Some(id) => say.clone().in_task(&id),
            None => say.clone(),
        };
        let reply = if stream {
            let events = client.stream(say.outgoing()).await.expect("a stream");
            events.finish().await
        } else {
            client.send(say.outgoing()).await
        };
        last = Some(reply.expect("an answer"));
    }
    last.expect("an answer")
}

fn assert_same_payload(name: &str, payload: &Payload, expected: &Outcome) {
    // Between the texts of two artifacts the client puts a newline.
    let texts = expected
        .by_artifact()
        .into_iter()
        .map(|(_, content)| content.text);
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    let content = expected.content();
    let text = if texts.is_empty() {
        content.text
    } else {
        texts.join("\n")
    };
    assert_eq!(payload.text(), text, "{name}");
    let data: Vec<&str> = payload.data().collect();
    assert_eq!(data, content.data, "{name}");
    let files: Vec<&str> = payload.files().map(|part| part.json()).collect();
    assert_eq!(files, content.files, "{name}");
}
