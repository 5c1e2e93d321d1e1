//! Turns of one task: what they see of those before, what each leaves, and who gets to begin
//! one.

use std::time::Duration;

use llamon_agent::core::{Json, Limits, Payload};
use llamon_agent::server::{AgentError, Answer, TaskVisibility, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{End, Gate, Script, card, parts, scripted, serve, serve_scripts, start};
use llamon_itest::http::send;
use llamon_itest::matrix::{everywhere, is_settled};
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::refused::send_request;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, WIRES, peers};

/// Asks as often as the query says, and each time reports what it sees.
async fn reporting(turn: Turn) -> Result<Answer, AgentError> {
    let said: Vec<String> = turn
        .history()
        .iter()
        .map(|message| format!("{}: {}", message.role.as_str(), message.query()))
        .collect();
    let seen = format!(
        "turn {}, attempt {}, asked {:?} with {} parts after {said:?}",
        turn.number(),
        turn.attempt(),
        turn.query(),
        turn.upstream().len(),
    );
    if turn.query() == "enough" {
        return Ok(Answer::completed(seen)?);
    }
    Ok(Answer::input_required(seen)?)
}

#[tokio::test]
async fn a_turn_sees_the_messages_before_it_and_the_parts_of_its_own() {
    let server = serve("append", Limits::default(), reporting).await;
    let says = [
        Say::text("one").with(&[r#"{"data":1}"#]),
        Say::text("enough").with(&[r#"{"data":2}"#, r#"{"data":3}"#]),
    ];
    let first = everywhere(&server, &says[..1]).await.said;
    assert_eq!(
        first,
        "turn 1, attempt 1, asked \"one\" with 1 parts after []"
    );
    let second = everywhere(&server, &says).await.content();
    let history = ["ROLE_USER: one".to_owned(), format!("ROLE_AGENT: {first}")];
    let expected = format!("turn 2, attempt 1, asked \"enough\" with 2 parts after {history:?}");
    assert!(
        second.is_same(&Content::expect(&expected, &["2", "3"], &[])),
        "{second:?}"
    );
}

#[tokio::test]
async fn each_turn_has_an_artifact_of_its_own_whatever_role_its_message_has() {
    // The role is the client's to say; it must not lead one turn to overwrite another's answer.
    for wire in WIRES {
        let ask = |name: &str| Script::new(End::InputRequired("more?")).emitting(&[&text(name)]);
        let server = serve_scripts("append", vec![ask("1"), ask("2"), ask("3")]).await;
        let peer = Peer::new(server.url(), wire);
        let mut task: Option<String> = None;
        for _ in 0..3 {
            let say = match &task {
                Some(id) => Say::text("go").in_task(id),
                None => Say::text("go"),
            };
            let params = say.json().replace("ROLE_USER", "ROLE_AGENT");
            let response = send(&peer.url, &send_request(wire, &params)).await;
            match peer.read(response) {
                Ok(result) => task = Some(result.string("task.id")),
                // Refusing it is right as well: a client is the user.
                Err(refusal) => {
                    assert_eq!(refusal.reason, "INVALID_PARAMS");
                    assert!(refusal.message.contains("role"), "{refusal:?}");
                    break;
                }
            }
        }
        let Some(id) = task else { continue };
        let outcome = Outcome::of_task(&peer.get(&id).await);
        let found: Vec<(&str, String)> = outcome
            .by_artifact()
            .into_iter()
            .map(|(id, content)| (id, content.text))
            .collect();
        let expected = [("response", "1"), ("response-2", "2"), ("response-3", "3")]
            .map(|(id, text)| (id, text.to_owned()));
        assert_eq!(found, expected);
    }
}

fn text(text: &str) -> String {
    format!(r#"{{"text":"{text}"}}"#)
}

#[tokio::test]
async fn a_question_may_have_data_and_files() {
    let question = [text("which?"), r#"{"data":{"of":[1.0,2]}}"#.to_owned()];
    let server = serve("append", Limits::default(), move |_| {
        let question = Payload::from(parts(&question));
        async move { Ok(Answer::InputRequired(question)) }
    })
    .await;
    for peer in peers(server.url()) {
        let task = peer
            .send(&Say::text("go").with(&[r#"{"data":"up"}"#]))
            .await;
        let message = task.at("status.message");
        assert_eq!(message.string("role"), "ROLE_AGENT");
        assert_eq!(message.string("taskId"), task.string("id"));
        assert_eq!(message.at("parts.0").text(), text("which?"));
        assert_eq!(message.at("parts.1").text(), r#"{"data":{"of":[1.0,2]}}"#);
        assert_eq!(message.list("parts").len(), 2, "no upstream in it");
        assert_eq!(task.find("artifacts"), None);
    }
}

#[tokio::test]
async fn what_a_message_has_besides_its_parts_is_kept() {
    let server = serve("append", Limits::default(), async |turn: Turn| {
        Ok(Answer::completed(turn.request_metadata())?)
    })
    .await;
    let more = r#""metadata":{"n":1e400,"n":1.0},"extensions":["urn:x"],"referenceTaskIds":["t"]"#;
    let message =
        format!(r#"{{"messageId":"m-1","role":"ROLE_USER","parts":[{{"text":"a"}}],{more}}}"#);
    let params = format!(r#"{{"message":{message},"metadata":{{"request":1.0}}}}"#);
    for peer in peers(server.url()) {
        let response = send(&peer.url, &send_request(peer.wire, &params)).await;
        let task = peer.read(response).unwrap().at("task");
        let said = task.at("history.0");
        assert_eq!(said.string("messageId"), "m-1");
        assert_eq!(said.at("metadata").text(), r#"{"n":1e400,"n":1.0}"#);
        assert_eq!(said.at("extensions").text(), r#"["urn:x"]"#);
        assert_eq!(said.at("referenceTaskIds").text(), r#"["t"]"#);
        // That of the request is for the agent only.
        assert_eq!(task.find("metadata"), None);
        let told = Outcome::of_task(&task).content().text;
        assert_eq!(told, r#"{"request":1.0}"#);
        assert_eq!(peer.get(&task.string("id")).await, task);
    }
}

// === who begins a turn ===

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_answers_at_once_one_is_taken() {
    let scripts = || {
        vec![
            Script::new(End::InputRequired("which?")),
            Script::returns(&[&text("done")]),
        ]
    };
    let server = serve_scripts("append", scripts()).await;
    for _ in 0..50 {
        let [first, second] = peers(server.url());
        let id = first.send(&Say::text("go")).await.string("id");
        let (one, two) = (Say::text("one").in_task(&id), Say::text("two").in_task(&id));
        let (one, two) = tokio::join!(first.call(Op::Send(&one)), second.call(Op::Send(&two)));
        let taken = usize::from(one.is_ok()) + usize::from(two.is_ok());
        assert_eq!(taken, 1, "{one:?} {two:?}");
        for refused in [one.err(), two.err()].into_iter().flatten() {
            assert_eq!(refused.reason, "UNSUPPORTED_OPERATION");
        }
        let task = first.get(&id).await;
        assert_eq!(task.list("history").len(), 3, "{task:?}");
        assert_eq!(task.list("artifacts").len(), 1, "{task:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_races_a_cancel_leaves_one_terminal_state() {
    let scripts = vec![
        Script::new(End::InputRequired("which?")),
        Script::returns(&[&text("done")]),
    ];
    let server = serve_scripts("append", scripts).await;
    for _ in 0..50 {
        let [first, second] = peers(server.url());
        let id = first.send(&Say::text("go")).await.string("id");
        let follower = first.open(Op::Subscribe(&id)).await.unwrap();
        let answer = Say::text("this").in_task(&id);
        let (answered, canceled) =
            tokio::join!(first.call(Op::Send(&answer)), second.call(Op::Cancel(&id)));
        let task = first.get(&id).await;
        let state = task.string("status.state");
        match (&answered, &canceled) {
            (Err(refused), Ok(canceled)) => {
                assert_eq!(refused.reason, "UNSUPPORTED_OPERATION");
                assert_eq!((&*state, canceled), ("TASK_STATE_CANCELED", &task));
            }
            (Ok(answered), Ok(canceled)) => {
                assert_eq!((&answered.at("task"), canceled), (&task, &task));
                assert_eq!(state, "TASK_STATE_CANCELED");
            }
            (Ok(answered), Err(refused)) => {
                assert_eq!(refused.reason, "TASK_NOT_CANCELABLE");
                assert_eq!(answered.at("task"), task);
                assert_eq!(state, "TASK_STATE_COMPLETED");
            }
            (Err(_), Err(_)) => panic!("nobody won: {answered:?} {canceled:?}"),
        }
        let last = follower.rest().await.pop().unwrap();
        assert_eq!(last.string("statusUpdate.status.state"), state);
    }
}

#[tokio::test]
async fn return_immediately_answers_with_the_task_before_it_has_settled() {
    for wire in WIRES {
        let gate = Gate::new();
        let open = gate.clone();
        let server = serve("append", Limits::default(), move |turn: Turn| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok(Answer::completed(turn.query())?)
            }
        })
        .await;
        let peer = Peer::new(server.url(), wire);
        let task = peer.send(&Say::text("go").at_once()).await;
        assert!(!is_settled(&task.string("status.state")));
        let follower = peer.open(Op::Subscribe(&task.string("id"))).await.unwrap();
        open.open();
        let last = follower.rest().await.pop().unwrap();
        assert_eq!(
            last.string("statusUpdate.status.state"),
            "TASK_STATE_COMPLETED"
        );
    }
}

// === direct messages that come too late ===

#[tokio::test]
async fn a_direct_message_to_who_has_seen_the_task_completes_it() {
    let message = End::Message(vec![text("hello")]);
    let up = r#"{"data":"up"}"#;
    let expected = Content::expect("hello", &[r#""up""#], &[]);
    for wire in WIRES {
        // Answered at once.
        let server = serve_scripts("append", vec![Script::new(message.clone())]).await;
        let peer = Peer::new(server.url(), wire);
        let task = peer.send(&Say::text("go").with(&[up]).at_once()).await;
        let id = task.string("id");
        let outcome = settled(&peer, &id).await;
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert!(outcome.content().is_same(&expected), "{outcome:?}");
        // Continued.
        let scripts = vec![
            Script::new(End::InputRequired("which?")),
            Script::new(message.clone()),
        ];
        let server = serve_scripts("append", scripts).await;
        let outcome = everywhere(&server, &[Say::text("go"), Say::text("this").with(&[up])]).await;
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert!(outcome.content().is_same(&expected), "{outcome:?}");
    }
}

async fn settled(peer: &Peer, id: &str) -> Outcome {
    llamon_itest::agents::until(|| async {
        let outcome = Outcome::of_task(&peer.get(id).await);
        is_settled(&outcome.state).then_some(outcome)
    })
    .await
}

// === TaskVisibility::WithFirstOutput ===

async fn hidden(script: Script) -> TestServer {
    let builder = create_server(card("agent"), scripted(vec![script]))
        .upstream_parts_policy("append")
        .cancel_grace(Duration::from_millis(20))
        .task_visibility(TaskVisibility::WithFirstOutput);
    start(builder).await
}

#[tokio::test]
async fn with_first_output_every_end_of_a_turn_is_seen() {
    let ends = [
        (End::Completed(vec![text("a")]), "TASK_STATE_COMPLETED"),
        (End::Completed(Vec::new()), "TASK_STATE_COMPLETED"),
        (End::Failed("broken"), "TASK_STATE_FAILED"),
        (End::Rejected("no"), "TASK_STATE_REJECTED"),
        (End::InputRequired("which?"), "TASK_STATE_INPUT_REQUIRED"),
    ];
    for (end, state) in ends {
        let server = hidden(Script::new(end)).await;
        let outcome = everywhere(&server, &[Say::text("go")]).await;
        assert_eq!(outcome.state, state);
    }
    let builder = create_server(card("agent"), async |turn: Turn| {
        assert_eq!(turn.query(), "", "a panic of the test");
        Ok(Answer::completed(Json(1))?)
    });
    let server = start(builder.task_visibility(TaskVisibility::WithFirstOutput)).await;
    let outcome = everywhere(&server, &[Say::text("go")]).await;
    assert_eq!(outcome.state, "TASK_STATE_FAILED");
}

#[tokio::test]
async fn with_first_output_a_task_that_is_answered_at_once_is_seen_at_once() {
    let server = hidden(Script::new(End::AwaitCancel(Vec::new()))).await;
    for peer in peers(server.url()) {
        let id = peer.send(&Say::text("go").at_once()).await.string("id");
        assert!(!is_settled(&peer.get(&id).await.string("status.state")));
        let canceled = peer.call(Op::Cancel(&id)).await.unwrap();
        assert_eq!(canceled.string("status.state"), "TASK_STATE_CANCELED");
    }
}

#[tokio::test]
async fn the_last_status_says_what_the_agent_wants_it_to_say_if_the_task_completes() {
    let agent = async |turn: Turn| {
        turn.closing_status("first").await?;
        turn.closing_status("two rows were written").await?;
        match turn.query() {
            "fail" => Err(AgentError::public("broken")),
            "ask" => Ok(Answer::input_required("which?")?),
            _ => Ok(Answer::completed("done")?),
        }
    };
    let server = start(create_server(card("agent"), agent)).await;
    for (query, said, text) in [
        ("go", "two rows were written", "done"),
        ("fail", "broken", ""),
        ("ask", "which?", ""),
    ] {
        for peer in peers(server.url()) {
            let task = peer.send(&Say::text(query)).await;
            assert_eq!(task.string("status.message.parts.0.text"), said);
            let artifact = task
                .find("artifacts.0.parts.0")
                .map(|part| part.string("text"));
            assert_eq!(artifact.unwrap_or_default(), text, "{query}");
        }
    }
}
