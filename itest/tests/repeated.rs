//! Messages that come again, with the extension by which a client asks that they are accepted
//! only once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use llamon_agent::core::Limits;
use llamon_agent::server::{
    AgentError, Answer, IDEMPOTENT_MESSAGES_URI, RepeatedMessages, ServerBuilder, Turn,
    create_server,
};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Gate, Running, card, patient, start};
use llamon_itest::http::{Connection, Request, Response, send};
use llamon_itest::outcome::Outcome;
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, Refusal, WIRES, Wire};

const HEADER: &str = "A2A-Extensions";

/// An agent that counts its turns.
struct Counted {
    server: TestServer,
    turns: Arc<AtomicUsize>,
    gate: Gate,
}

impl Counted {
    async fn new(repeats: RepeatedMessages, limits: Limits) -> Self {
        let turns = Arc::new(AtomicUsize::new(0));
        let gate = Gate::new();
        let (counter, of_agent) = (Arc::clone(&turns), gate.clone());
        let agent = move |turn: Turn| -> Running {
            let (turns, gate) = (Arc::clone(&counter), of_agent.clone());
            Box::pin(async move {
                let count = turns.fetch_add(1, Ordering::SeqCst) + 1;
                match turn.query() {
                    "ask" => return Ok(Answer::input_required("which?")?),
                    "direct" => return Ok(Answer::message(format!("message {count}"))?),
                    "wait" => {
                        turn.emit("begun, ").await?;
                        gate.pass().await;
                    }
                    _ => {}
                }
                Ok::<_, AgentError>(Answer::completed(format!("turn {count}"))?)
            })
        };
        let builder: ServerBuilder<_> = create_server(card("agent"), agent)
            .repeated_messages(repeats)
            .limits(limits);
        Self {
            server: start(builder).await,
            turns,
            gate,
        }
    }

    async fn recognising() -> Self {
        Self::new(RepeatedMessages::Recognised, Limits::default()).await
    }

    fn peer(&self, wire: Wire) -> Peer {
        Peer::new(self.server.url(), wire)
    }

    fn turns(&self) -> usize {
        self.turns.load(Ordering::SeqCst)
    }
}

/// The request of a message with an id of its own.
fn request(wire: Wire, id: &str, op: Op<'_>) -> Request {
    let (Op::Send(say) | Op::Stream(say)) = op else {
        panic!("no message");
    };
    let json = say.json();
    let own = json.replacen(r#""messageId":"m""#, &format!(r#""messageId":"{id}""#), 1);
    assert_ne!(json, own);
    let (method, path) = match op {
        Op::Send(_) => ("SendMessage", "/message:send"),
        _ => ("SendStreamingMessage", "/message:stream"),
    };
    match wire {
        Wire::JsonRpc => Request::post("/", llamon_itest::wire::envelope(method, &own)),
        Wire::Rest => Request::post(path, own),
    }
}

fn active(request: Request) -> Request {
    request.header(HEADER, &format!("urn:other, {IDEMPOTENT_MESSAGES_URI}"))
}

async fn answer(peer: &Peer, request: Request) -> Result<(Raw, Response), Refusal> {
    let response = send(&peer.url, &request).await;
    let mut result = peer.read(response.clone())?.fields();
    let (_, value) = result.pop_first().expect("a task or a message");
    Ok((value, response))
}

async fn send_active(peer: &Peer, id: &str, say: &Say) -> Raw {
    let request = active(request(peer.wire, id, Op::Send(say)));
    let (value, response) = answer(peer, request).await.expect("an answer");
    assert_eq!(
        response.header("a2a-extensions"),
        Some(IDEMPOTENT_MESSAGES_URI)
    );
    value
}

/// The events of a message's stream.
async fn stream_active(peer: &Peer, id: &str, say: &Say) -> Vec<Raw> {
    let request = active(request(peer.wire, id, Op::Stream(say)));
    let mut streaming = Connection::open(&peer.url).await.stream(&request).await;
    assert_eq!(
        streaming.header("a2a-extensions"),
        Some(IDEMPOTENT_MESSAGES_URI)
    );
    let mut events = Vec::new();
    while let Some(event) = streaming.event().await {
        let event = Raw::parse(&event);
        events.push(event.find("result").unwrap_or(event));
    }
    events
}

fn folded(events: &[Raw]) -> Outcome {
    let mut outcome = Outcome::default();
    for event in events {
        outcome.apply(event);
    }
    outcome
}

#[tokio::test]
async fn an_id_alone_is_no_idempotency_key() {
    for (repeats, is_active) in [
        (RepeatedMessages::Accepted, true),
        (RepeatedMessages::Accepted, false),
        (RepeatedMessages::Recognised, false),
    ] {
        let counted = Counted::new(repeats, Limits::default()).await;
        for wire in WIRES {
            let peer = counted.peer(wire);
            let mut ids = Vec::new();
            for _ in 0..2 {
                let plain = request(wire, "m1", Op::Send(&Say::text("go")));
                let request = if is_active { active(plain) } else { plain };
                let (task, response) = answer(&peer, request).await.unwrap();
                assert_eq!(response.header("a2a-extensions"), None);
                ids.push(task.string("id"));
            }
            assert_ne!(ids[0], ids[1]);
        }
        assert_eq!(counted.turns(), 4);
    }
}

#[tokio::test]
async fn the_card_has_the_extension_only_where_it_is_enabled() {
    for (repeats, count) in [
        (RepeatedMessages::Accepted, 0),
        (RepeatedMessages::Recognised, 1),
    ] {
        let counted = Counted::new(repeats, Limits::default()).await;
        let card = Request::get("/.well-known/agent-card.json");
        let card = send(counted.server.url(), &card).await.body;
        assert_eq!(
            card.matches(IDEMPOTENT_MESSAGES_URI).count(),
            count,
            "{card}"
        );
        let extensions = Raw::parse(&card).list("capabilities.extensions");
        assert_eq!(extensions.len(), count);
        for extension in extensions {
            // A client that does not know it is served as before.
            assert!(
                extension
                    .find("required")
                    .is_none_or(|required| required.text() == "false")
            );
        }
    }
}

#[tokio::test]
async fn a_message_that_comes_again_is_answered_with_what_became_of_it() {
    let counted = Counted::recognising().await;
    // The key is the message's, not the binding's.
    for (number, (first, second)) in [(WIRES[0], WIRES[1]), (WIRES[1], WIRES[0])]
        .into_iter()
        .enumerate()
    {
        let (id, say) = (
            format!("m{number}"),
            Say::text("go").with(&[r#"{"data":1e400}"#]),
        );
        let task = send_active(&counted.peer(first), &id, &say).await;
        for peer in [counted.peer(first), counted.peer(second)] {
            assert_eq!(send_active(&peer, &id, &say).await, task);
            let streamed = stream_active(&peer, &id, &say).await;
            assert_eq!(
                streamed,
                [Raw::parse(&format!(r#"{{"task":{}}}"#, task.text()))]
            );
            let at_once = send_active(&peer, &id, &say.clone().at_once()).await;
            assert_eq!(at_once, task);
        }
        assert_eq!(counted.turns(), number + 1);
    }
}

#[tokio::test]
async fn a_stream_that_was_lost_is_taken_up_by_sending_again() {
    for wire in WIRES {
        let counted = Counted::recognising().await;
        let peer = counted.peer(wire);
        let say = Say::text("wait");
        let first = active(request(wire, "m1", Op::Stream(&say)));
        let mut lost = Connection::open(&peer.url).await.stream(&first).await;
        let mut seen = String::new();
        while !seen.contains("begun") {
            seen = lost.event().await.expect("one more event");
        }
        lost.hang_up().await;
        let again = tokio::spawn({
            let (peer, say) = (peer.clone(), say.clone());
            async move { stream_active(&peer, "m1", &say).await }
        });
        let blocking = tokio::spawn({
            let (peer, say) = (peer.clone(), say.clone());
            async move { send_active(&peer, "m1", &say).await }
        });
        let at_once = send_active(&peer, "m1", &say.clone().at_once()).await;
        assert_eq!(at_once.string("status.state"), "TASK_STATE_WORKING");
        counted.gate.open();
        let outcome = folded(&patient(again).await.unwrap());
        let task = Outcome::of_task(&patient(blocking).await.unwrap());
        assert_eq!(outcome.task_id, Some(at_once.string("id")));
        assert_eq!(outcome.content(), task.content());
        assert_eq!(
            (outcome.state, task.state),
            ("TASK_STATE_COMPLETED".into(), "TASK_STATE_COMPLETED".into())
        );
        assert_eq!(counted.turns(), 1);
    }
}

#[tokio::test]
async fn an_answer_in_a_task_is_accepted_once() {
    let counted = Counted::recognising().await;
    for (number, wire) in WIRES.into_iter().enumerate() {
        let peer = counted.peer(wire);
        let asked = send_active(&peer, &format!("ask{number}"), &Say::text("ask")).await;
        let say = Say::text("this").in_task(&asked.string("id"));
        let id = format!("this{number}");
        let done = send_active(&peer, &id, &say).await;
        assert_eq!(done.string("status.state"), "TASK_STATE_COMPLETED");
        // The task takes no more messages, but this one is none.
        assert_eq!(send_active(&peer, &id, &say).await, done);
        assert_eq!(
            folded(&stream_active(&peer, &id, &say).await).content(),
            Outcome::of_task(&done).content()
        );
        // The first one again: what became of it is the task as it stands now.
        let first = send_active(&peer, &format!("ask{number}"), &Say::text("ask")).await;
        assert_eq!(first, done);
        assert_eq!(counted.turns(), 2 * (number + 1));
    }
}

#[tokio::test]
async fn a_direct_message_is_answered_with_the_same_one() {
    let counted = Counted::recognising().await;
    for (number, wire) in WIRES.into_iter().enumerate() {
        let peer = counted.peer(wire);
        let (id, say) = (format!("m{number}"), Say::text("direct"));
        let message = send_active(&peer, &id, &say).await;
        assert_eq!(
            message.string("parts.0.text"),
            format!("message {}", number + 1)
        );
        for again in [say.clone(), say.clone().at_once()] {
            assert_eq!(send_active(&peer, &id, &again).await, message);
        }
        let streamed = stream_active(&peer, &id, &say).await;
        assert_eq!(
            streamed,
            [Raw::parse(&format!(r#"{{"message":{}}}"#, message.text()))]
        );
        assert_eq!(counted.turns(), number + 1);
    }
}

#[tokio::test]
async fn another_message_with_the_id_is_an_error() {
    let counted = Counted::recognising().await;
    for (number, wire) in WIRES.into_iter().enumerate() {
        let peer = counted.peer(wire);
        let id = format!("m{number}");
        let asked = send_active(&peer, &id, &Say::text("ask").in_context("c")).await;
        let others = [
            Say::text("something else").in_context("c"),
            Say::text("ask").with(&[r#"{"data":1}"#]).in_context("c"),
            Say::text("ask").in_context("d"),
            Say::text("ask"),
            Say::text("ask").in_task(&asked.string("id")),
        ];
        for say in &others {
            for op in [Op::Send(say), Op::Stream(say)] {
                let refused = answer(&peer, active(request(wire, &id, op)))
                    .await
                    .unwrap_err();
                let code = if wire == Wire::JsonRpc { -32602 } else { 400 };
                assert_eq!(
                    (refused.code, &*refused.reason),
                    (code, "INVALID_PARAMS"),
                    "{say:?}"
                );
                assert!(refused.message.contains("messageId"), "{}", refused.message);
            }
        }
        assert_eq!(counted.turns(), number + 1);
        // White space is not part of a message.
        let spaced = Say::parts([r#"{ "text" : "ask" }"#]).in_context("c");
        let _ = answer(&peer, active(request(wire, &id, Op::Send(&spaced)))).await;
        assert_eq!(
            counted.turns(),
            number + 1,
            "in no case it is a message more"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_at_the_same_time_are_one_task() {
    let counted = Counted::recognising().await;
    counted.gate.open();
    let mut sending = Vec::new();
    for number in 0..50 {
        let peer = counted.peer(WIRES[number % 2]);
        sending.push(tokio::spawn(async move {
            let say = Say::text("wait");
            match number % 3 {
                0 => send_active(&peer, "m1", &say).await.string("id"),
                1 => send_active(&peer, "m1", &say.at_once()).await.string("id"),
                _ => folded(&stream_active(&peer, "m1", &say).await)
                    .task_id
                    .unwrap(),
            }
        }));
    }
    let mut ids = Vec::new();
    for sent in sending {
        ids.push(patient(sent).await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(counted.turns(), 1);
}

#[tokio::test]
async fn an_id_is_known_as_long_as_its_task() {
    let limits = Limits::default().with_max_finished_tasks(1);
    let counted = Counted::new(RepeatedMessages::Recognised, limits).await;
    let peer = counted.peer(Wire::Rest);
    let say = Say::text("go");
    let first = send_active(&peer, "m1", &say).await;
    assert_eq!(send_active(&peer, "m1", &say).await, first);
    send_active(&peer, "m2", &say).await;
    let again = send_active(&peer, "m1", &say).await;
    assert_ne!(again.string("id"), first.string("id"));
    // Another message may have it as well then.
    send_active(&peer, "m3", &say).await;
    send_active(&peer, "m1", &Say::text("something else")).await;
    assert_eq!(counted.turns(), 5);
}

#[tokio::test]
async fn a_message_that_comes_again_needs_no_room() {
    let limits = Limits::default().with_max_concurrent_turns(1);
    let counted = Counted::new(RepeatedMessages::Recognised, limits).await;
    let peer = counted.peer(Wire::Rest);
    let at_once = Say::text("wait").at_once();
    let task = send_active(&peer, "m1", &at_once).await;
    let again = active(request(peer.wire, "m1", Op::Send(&at_once)));
    let again = answer(&peer, again).await;
    counted.gate.open();
    let (again, _) = again.expect("what became of the message");
    assert_eq!(again.string("id"), task.string("id"));
}
