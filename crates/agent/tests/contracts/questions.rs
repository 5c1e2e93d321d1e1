//! `ask`: the sender completes the message, and the agent sees one turn.

use llamon_agent::a2a::{ErrorCode, Message, Role, SendMessageRequest, TaskState};
use llamon_agent::contracts::EXTENSION_URI;
use llamon_agent::prelude::*;
use llamon_agent::server::ServerBuilder;
use serde_json::json;

use crate::support::{
    Caller, POLICIES, Report, Reporter, Seen, callers, card, inputs, outgoing, parts, start, talk,
};

const OWN: &str = r#"{"data":{"own":1.0}}"#;
const OWN_FILE: &str = r#"{"url":"x:own"}"#;
const HELLO: &str = r#"{"text":"convert this"}"#;
const TRACE: &str = r#"{"data":{"trace":1.0,"trace":2}}"#;
const SCAN: &str = r#"{"raw":"AA==","mediaType":"image/png"}"#;
const HERE: &str = r#"{"text":"here it is"}"#;
const ORDER: &str = r#"{"data":{"order":{"z":1,"a":1.50}},"x":[1e400]}"#;
const PAPER: &str = r#"{"url":"x:paper"}"#;
/// The same part as in the first message: nothing is deduplicated.
const AGAIN: &str = TRACE;

fn ask_for(names: &[&str]) -> InputContracts {
    let contract = |name: &&str| {
        InputContract::data(*name)
            .select(format!("$.{name}"))
            .on_missing(OnMissing::Ask)
    };
    names.iter().map(contract).collect()
}

fn server(
    contracts: InputContracts,
    policy: &str,
    agent: &Reporter,
) -> ServerBuilder<llamon_agent::server::StructKind> {
    let server = create_server(card("reader"), agent.clone());
    server
        .input_contracts(contracts)
        .upstream_parts_policy(policy)
}

fn assert_asks(seen: &Seen, names: &[&str]) {
    assert_eq!(seen.state, TaskState::InputRequired);
    assert_eq!(seen.artifacts, [], "the question carries no upstream");
    assert_eq!(seen.missing_names(), names);
    let marker = format!("{{\"{EXTENSION_URI}\":{{\"missingInputs\":true}}}}");
    assert_eq!(seen.status_metadata, Some(marker));
}

// === one turn ===

#[tokio::test]
async fn a_question_is_asked_and_the_answer_completes_what_is_one_turn_to_the_agent() {
    let messages = [
        parts(&[HELLO, TRACE, SCAN]),
        parts(&[HERE, ORDER, AGAIN, PAPER]),
    ];
    let whole = [HELLO, TRACE, SCAN, HERE, ORDER, AGAIN, PAPER];
    let upstream = [TRACE, SCAN, ORDER, AGAIN, PAPER];
    for policy in POLICIES {
        let agent = Reporter::returning(&[OWN_FILE]).emitting(&[OWN]);
        let server = start(server(ask_for(&["order"]), policy, &agent)).await;

        let asked = talk(&server, &messages[..1]).await;
        assert_asks(&asked[0], &["order"]);
        assert_eq!(agent.runs(), 0, "the agent has not run");

        let seen = talk(&server, &messages).await;
        assert_asks(&seen[0], &["order"]);
        assert_eq!(agent.runs(), 4, "once for each way");
        let report = seen[1].report();
        assert_eq!((report.number, report.history), (1, 0));
        assert_eq!(report.query, "convert this\nhere it is");
        assert_eq!(report.message, whole);
        assert_eq!(report.upstream, upstream);
        assert_eq!(
            report.inputs,
            inputs(&[("order", &[r#"{"z":1,"a":1.50}"#])])
        );
        assert_eq!(report.places["order"], [(4, "/order".to_owned())]);

        let mut expected = vec![OWN, OWN_FILE];
        if policy == "append" {
            expected.extend(upstream);
        }
        assert_eq!(seen[1].response().others, expected, "{policy}");

        // Whoever reads the task sees what was really said.
        let history = &seen[1].history;
        let roles: Vec<Role> = history.iter().map(|(role, _)| *role).collect();
        assert_eq!(roles, [Role::User, Role::Agent, Role::User]);
        assert_eq!(history[0].1, [HELLO, TRACE, SCAN]);
        assert_eq!(history[2].1, [HERE, ORDER, AGAIN, PAPER]);
    }
}

#[tokio::test]
async fn two_questions_in_a_row_and_the_second_counts_through_all_parts() {
    let messages = [
        parts(&[HELLO, TRACE]),
        parts(&[r#"{"data":{"b":2.0}}"#, r#"{"text":"b"}"#]),
        parts(&[r#"{"text":"and a"}"#, r#"{"data":{"a":1.0,"b":3}}"#]),
    ];
    for policy in POLICIES {
        let agent = Reporter::returning(&[OWN]);
        let server = start(server(ask_for(&["a", "b"]), policy, &agent)).await;
        let seen = talk(&server, &messages).await;
        assert_asks(&seen[0], &["a", "b"]);
        assert_asks(&seen[1], &["a"]);
        let (_, missing) = seen[1].missing();
        let candidates = missing[0]["candidates"].as_array().unwrap();
        let indexes: Vec<_> = candidates.iter().map(|it| it["index"].clone()).collect();
        assert_eq!(indexes, [0, 1, 2, 3]);

        let report = seen[2].report();
        assert_eq!((report.number, report.history), (1, 0));
        assert_eq!(report.query, "convert this\nb\nand a");
        // `first` in arrival order.
        assert_eq!(report.inputs, inputs(&[("a", &["1.0"]), ("b", &["2.0"])]));
        let upstream = [
            TRACE,
            r#"{"data":{"b":2.0}}"#,
            r#"{"data":{"a":1.0,"b":3}}"#,
        ];
        assert_eq!(report.upstream, upstream);
        let mut expected = vec![OWN];
        if policy == "append" {
            expected.extend(upstream);
        }
        assert_eq!(seen[2].response().others, expected);
        assert_eq!(seen[2].history.len(), 5);
        assert_eq!(agent.runs(), 4);
    }
}

#[tokio::test]
async fn an_answer_that_is_not_enough_is_asked_again_and_says_nothing_of_policy() {
    let agent = Reporter::returning(&[OWN]);
    let server = start(server(ask_for(&["order"]), "append", &agent)).await;
    let messages: Vec<Vec<Part>> = [HELLO, HERE, HERE, ORDER].map(|it| parts(&[it])).to_vec();
    let seen = talk(&server, &messages).await;
    for asked in &seen[..3] {
        assert_asks(asked, &["order"]);
    }
    assert_eq!(
        seen[3].report().query,
        "convert this\nhere it is\nhere it is"
    );
    assert_eq!(seen[3].response().others, [OWN, ORDER]);
}

#[tokio::test]
async fn an_answer_that_makes_one_ambiguous_ends_the_task() {
    let one = InputContract::data("one")
        .select("$.one")
        .pick(Pick::One)
        .on_missing(OnMissing::Ask);
    let agent = Reporter::default();
    let contracts = ask_for(&["order"]).with(one);
    let server = start(server(contracts, "append", &agent)).await;
    let messages = [
        parts(&[r#"{"data":{"one":1}}"#]),
        parts(&[r#"{"data":{"one":2,"order":3}}"#]),
    ];
    let seen = talk(&server, &messages).await;
    assert_asks(&seen[0], &["order"]);
    assert_eq!(seen[1].state, TaskState::Rejected);
    assert_eq!(seen[1].missing_names(), ["one"]);
    assert_eq!(seen[1].artifacts, []);
    assert_eq!(agent.runs(), 0);
}

#[tokio::test]
async fn a_task_that_asks_can_be_canceled() {
    let agent = Reporter::default();
    let server = start(server(ask_for(&["order"]), "append", &agent)).await;
    for caller in callers(&server).await {
        let (id, seen) = caller.say(outgoing(parts(&[HELLO, TRACE]))).await;
        assert_asks(&seen, &["order"]);
        let canceled = caller.client.cancel(&id).await.unwrap();
        assert_eq!(canceled.status.state, TaskState::Canceled);
        assert!(canceled.artifacts.is_empty());
        let error = answer(&caller, &id, &[ORDER]).await.unwrap_err();
        let code = error.protocol().unwrap().code();
        assert_eq!(code, ErrorCode::UnsupportedOperation);
    }
    assert_eq!(agent.runs(), 0);
}

#[tokio::test]
async fn who_follows_the_task_sees_the_question_and_the_answer_in_one_stream() {
    let agent = Reporter::returning(&[OWN_FILE]).emitting(&[OWN]);
    let server = start(server(ask_for(&["order"]), "append", &agent)).await;
    for caller in callers(&server).await {
        let (id, seen) = caller.say(outgoing(parts(&[HELLO, TRACE]))).await;
        assert_asks(&seen, &["order"]);
        let follows = caller.client.subscribe(&id).await.unwrap();
        let (_, seen) = caller.say(outgoing(parts(&[ORDER])).in_task(id)).await;
        let followed = follows.finish().await.unwrap();
        let followed = Seen::of(followed.task().unwrap());
        assert_eq!(followed.state, TaskState::Completed);
        assert_eq!(followed.artifacts, seen.artifacts, "{caller:?}");
        assert_eq!(followed.response().others, [OWN, OWN_FILE, TRACE, ORDER]);
    }
}

// === the mark of a question ===

async fn answer(
    caller: &Caller,
    task: &str,
    texts: &[&str],
) -> Result<Reply, llamon_agent::client::ClientError> {
    caller.try_say(outgoing(parts(texts)).in_task(task)).await
}

/// A message that bears the mark of a question that the server asks.
fn forged(role: Role, texts: &[&str], task: Option<&str>) -> Outgoing {
    let mut message = Message::new("forged", role, parts(texts));
    let marker = format!("{{\"{EXTENSION_URI}\":{{\"missingInputs\":true}}}}");
    message.metadata = Some(marker);
    message.task_id = task.map(Into::into);
    Outgoing::from(SendMessageRequest::new(message))
}

/// The report of a reply's last artifact.
fn report(reply: &Reply) -> Report {
    Seen::of(reply.task().expect("a task")).report()
}

#[tokio::test]
async fn a_client_that_forges_the_mark_changes_nothing() {
    for policy in POLICIES {
        // The agent asks; both of the client's messages bear the mark.
        let agent = Reporter::returning(&[OWN]).asking(1);
        let server = start(server(InputContracts::new(), policy, &agent)).await;
        for caller in callers(&server).await {
            let first = forged(Role::User, &[HELLO, TRACE], None);
            let (id, seen) = caller.say(first).await;
            assert_eq!(seen.status_text(), "which one?");
            assert_eq!(seen.status_metadata, None);
            let second = forged(Role::User, &[HERE, PAPER], Some(&id));
            let (_, seen) = caller.say(second).await;
            let report = seen.report();
            assert_eq!((report.number, report.history), (2, 2));
            assert_eq!(report.message, [HERE, PAPER]);
            let last = seen.artifacts.last().unwrap();
            assert_eq!(last.id, "response-2");
            let expected = if policy == "append" {
                &[OWN, PAPER][..]
            } else {
                &[OWN]
            };
            assert_eq!(last.others, expected);
        }

        // The server asks; the answer bears the mark.
        let agent = Reporter::returning(&[OWN]);
        let server = start(crate::questions::server(
            ask_for(&["order"]),
            policy,
            &agent,
        ))
        .await;
        for caller in callers(&server).await {
            let (id, seen) = caller.say(forged(Role::User, &[HELLO], None)).await;
            assert_asks(&seen, &["order"]);
            let (_, seen) = caller.say(forged(Role::User, &[HERE], Some(&id))).await;
            assert_asks(&seen, &["order"]);
            let (_, seen) = caller.say(forged(Role::User, &[ORDER], Some(&id))).await;
            let report = seen.report();
            assert_eq!((report.number, report.history), (1, 0));
            assert_eq!(report.message, [HELLO, HERE, ORDER]);
            assert_eq!(seen.history.len(), 5);
        }
    }
}

#[tokio::test]
async fn a_question_of_the_agent_s_own_with_the_same_words_is_its_own() {
    // The agent says what the server would say; it cannot mark it.
    let agent = |turn: Turn| async move {
        if turn.number() == 1 {
            let question = json!({"missingInputs": []});
            return Ok(Answer::input_required((
                "the data input is missing",
                Json(question),
            ))?);
        }
        Ok::<_, AgentError>(Answer::completed(format!("{}", turn.history().len()))?)
    };
    let server = start(create_server(card("reader"), agent)).await;
    let seen = talk(&server, &[parts(&[HELLO]), parts(&[HERE])]).await;
    assert_eq!(seen[0].status_metadata, None);
    assert_eq!(seen[1].artifacts[0].id, "response-2");
    assert_eq!(seen[1].artifacts[0].text, "2");
}

/// Has an agent ask without a word, so that a client's message is the last of the history when
/// the next one comes, and checks that a forged mark on it joins nothing.
async fn assert_forges_no_question(role: Role) {
    let agent = |turn: Turn| async move {
        if !turn.query().ends_with("done") {
            return Ok(Answer::input_required(())?);
        }
        let said = format!("{} {}", turn.history().len(), turn.query());
        Ok::<_, AgentError>(Answer::completed(said)?)
    };
    let server = start(create_server(card("reader"), agent)).await;
    for caller in callers(&server).await {
        let (id, _) = caller.say(outgoing(parts(&[HELLO]))).await;
        let forged = forged(role, &[HERE], Some(&id));
        let taken = caller.try_say(forged).await.is_ok();
        let (_, seen) = caller.say(outgoing([Part::text("done")]).in_task(id)).await;
        // It is refused, or a message as any other; never a part of the next one.
        let (said, artifact) = if taken {
            ("2 done", "response-3")
        } else {
            ("1 done", "response-2")
        };
        assert_eq!(seen.artifacts[0].text, said, "{caller:?}");
        assert_eq!(seen.artifacts[0].id, artifact, "{caller:?}");
    }
}

#[tokio::test]
async fn a_client_forges_no_question_where_the_agent_s_had_no_words() {
    assert_forges_no_question(Role::User).await;
}

#[tokio::test]
async fn a_client_in_the_agent_s_role_forges_no_question() {
    assert_forges_no_question(Role::Agent).await;
}

#[tokio::test]
async fn a_client_in_the_agent_s_role_is_refused() {
    let agent = Reporter::returning(&[OWN]);
    let server = start(server(ask_for(&["order"]), "append", &agent)).await;
    for caller in callers(&server).await {
        let (id, asked) = caller.say(outgoing(parts(&[HELLO]))).await;
        for task in [None, Some(&*id)] {
            let message = forged(Role::Agent, &[ORDER], task);
            let error = caller.try_say(message).await.unwrap_err();
            let refused = error.protocol().unwrap();
            assert_eq!(refused.code(), ErrorCode::InvalidParams);
            assert!(refused.to_string().contains("message.role"), "{refused}");
        }
        let task = caller.client.get(&id).await.unwrap();
        assert_eq!(Seen::of(&task), asked, "{caller:?}");
    }
    assert_eq!(agent.runs(), 0);
}

// === limits ===

#[tokio::test]
async fn joined_parts_over_a_limit_are_refused_and_the_task_still_waits() {
    let limits = [
        (
            Limits::default().with_max_message_parts(4),
            "max_message_parts",
            HERE.to_owned(),
        ),
        (
            Limits::default().with_max_body_bytes(4_000),
            "max_body_bytes",
            format!(r#"{{"text":"{}"}}"#, "a".repeat(2_500)),
        ),
    ];
    for (limits, name, filler) in limits {
        let agent = Reporter::returning(&[OWN]);
        let builder = server(ask_for(&["order"]), "append", &agent).limits(limits);
        let server = start(builder).await;
        let filler: &str = &filler;
        let (first, too_much): (Vec<&str>, Vec<&str>) = if name == "max_message_parts" {
            (vec![HELLO, TRACE, SCAN], vec![ORDER, HERE])
        } else {
            (vec![filler, TRACE], vec![ORDER, filler])
        };
        for caller in callers(&server).await {
            let (id, seen) = caller.say(outgoing(parts(&first))).await;
            assert_asks(&seen, &["order"]);
            for _ in 0..2 {
                let error = answer(&caller, &id, &too_much).await.unwrap_err();
                let refused = error.protocol().unwrap();
                assert_eq!(refused.code(), ErrorCode::InvalidParams, "{caller:?}");
                let text = refused.to_string();
                assert!(text.contains("message.parts"), "{text}");
                assert!(text.contains(name), "{text}");
                // As if it had not been said.
                let task = caller.client.get(&id).await.unwrap();
                assert_eq!(Seen::of(&task), seen, "{caller:?}");
            }
            let reply = answer(&caller, &id, &[ORDER]).await.unwrap();
            let report = report(&reply);
            let whole = [&first[..], &[ORDER]].concat();
            assert_eq!(report.message, whole);
            assert_eq!((report.number, report.history), (1, 0));
        }
    }
}

#[tokio::test]
async fn questions_end_where_the_history_does() {
    let agent = Reporter::default();
    let limits = Limits::default().with_max_history_messages(5);
    let server = start(server(ask_for(&["order"]), "append", &agent).limits(limits)).await;
    for caller in callers(&server).await {
        let (id, _) = caller.say(outgoing(parts(&[HELLO]))).await;
        let mut answers = 0;
        let error = loop {
            match answer(&caller, &id, &[HERE]).await {
                Ok(_) => answers += 1,
                Err(error) => break error,
            }
            assert!(answers < 10, "a history without an end");
        };
        let refused = error.protocol().unwrap();
        assert_eq!(refused.code(), ErrorCode::InvalidParams);
        assert!(refused.to_string().contains("max_history_messages"));
        let task = caller.client.get(&id).await.unwrap();
        assert_eq!(task.status.state, TaskState::InputRequired);
        assert!(task.history.len() <= 5);
    }
    assert_eq!(agent.runs(), 0);
}

// === a question of the agent's own ===

fn billing() -> InputContracts {
    InputContracts::new()
        .with(InputContract::data("order").select("$.order"))
        .with(
            InputContract::data("rates")
                .select("$.rate")
                .pick(Pick::All)
                .optional(),
        )
}

#[tokio::test]
async fn a_later_turn_takes_what_its_message_does_not_have_from_the_messages_before() {
    let messages = [parts(&[HELLO, ORDER, SCAN]), parts(&[HERE])];
    for policy in POLICIES {
        let agent = Reporter::returning(&[OWN]).asking(1);
        let server = start(server(billing(), policy, &agent)).await;
        let seen = talk(&server, &messages).await;
        assert_eq!(seen[0].state, TaskState::InputRequired);
        assert_eq!(seen[0].status_text(), "which one?");
        assert_eq!(seen[0].status_metadata, None);

        let report = seen[1].report();
        assert_eq!((report.number, report.history), (2, 2));
        assert_eq!(report.query, "here it is");
        assert_eq!(report.message, [HERE]);
        assert_eq!(report.upstream, [""; 0], "upstream is that of this message");
        assert_eq!(report.inputs["order"], [r#"{"z":1,"a":1.50}"#]);
        let [artifact] = &seen[1].artifacts[..] else {
            panic!("{seen:?}")
        };
        assert_eq!(artifact.id, "response-2");
        assert_eq!(artifact.others, [OWN], "there is nothing to append");
    }
}

#[tokio::test]
async fn a_later_turn_reads_its_own_message_first() {
    let newer = r#"{"data":{"order":"new"}}"#;
    let messages = [parts(&[ORDER]), parts(&[HERE, newer, PAPER])];
    for policy in POLICIES {
        let agent = Reporter::returning(&[OWN]).asking(1);
        let server = start(server(billing(), policy, &agent)).await;
        let report = talk(&server, &messages).await.remove(1);
        let others = report.artifacts[0].others.clone();
        let report = report.report();
        assert_eq!(report.inputs["order"], ["\"new\""]);
        assert_eq!(report.places["order"], [(1, "/order".to_owned())]);
        assert_eq!(report.upstream, [newer, PAPER]);
        let expected = if policy == "append" {
            &[OWN, newer, PAPER][..]
        } else {
            &[OWN]
        };
        assert_eq!(others, expected);
    }
}

#[tokio::test]
async fn a_later_turn_takes_only_those_inputs_from_before_that_its_message_does_not_have() {
    let contracts = InputContracts::new()
        .with(InputContract::data("order").select("$.order"))
        .with(InputContract::data("rate").select("$.rate"));
    let messages = [
        parts(&[r#"{"data":{"order":"old","rate":1.0}}"#]),
        parts(&[r#"{"data":{"order":"new"}}"#]),
    ];
    let agent = Reporter::default().asking(1);
    let server = start(server(contracts, "append", &agent)).await;
    let report = talk(&server, &messages).await.remove(1).report();
    let expected = inputs(&[("order", &["\"new\""]), ("rate", &["1.0"])]);
    assert_eq!(report.inputs, expected);
}

#[tokio::test]
async fn one_that_its_message_has_is_not_made_ambiguous_by_the_messages_before() {
    let contracts = InputContracts::new()
        .with(
            InputContract::data("order")
                .select("$.order")
                .pick(Pick::One),
        )
        .with(InputContract::data("rate").select("$.rate"));
    let messages = [
        parts(&[r#"{"data":{"order":"old","rate":1.0}}"#]),
        parts(&[r#"{"data":{"order":"new"}}"#]),
    ];
    let agent = Reporter::default().asking(1);
    let server = start(server(contracts, "append", &agent)).await;
    let seen = talk(&server, &messages).await.remove(1);
    assert_eq!(seen.state, TaskState::Completed, "{}", seen.status_text());
    assert_eq!(seen.report().inputs["order"], ["\"new\""]);
}

#[tokio::test]
async fn optional_inputs_and_defaults_of_a_later_turn_come_from_before_too() {
    let contracts = InputContracts::new()
        .with(InputContract::data("note").select("$.note").optional())
        .with(
            InputContract::data("rate")
                .select("$.rate")
                .default_json("1"),
        );
    let messages = [
        parts(&[r#"{"data":{"note":"old","rate":2.0}}"#]),
        parts(&[HERE]),
    ];
    let agent = Reporter::default().asking(1);
    let server = start(server(contracts, "append", &agent)).await;
    let report = talk(&server, &messages).await.remove(1).report();
    let expected = inputs(&[("note", &["\"old\""]), ("rate", &["2.0"])]);
    assert_eq!(report.inputs, expected);
}

#[tokio::test]
async fn a_question_of_the_server_s_and_one_of_the_agent_s_in_one_task() {
    let messages = [
        parts(&[HELLO]),
        parts(&[ORDER]),
        parts(&[r#"{"text":"the first"}"#, PAPER]),
    ];
    for policy in POLICIES {
        let agent = Reporter::returning(&[OWN]).asking(1);
        let server = start(server(ask_for(&["order"]), policy, &agent)).await;
        let seen = talk(&server, &messages).await;
        assert_asks(&seen[0], &["order"]);
        assert_eq!(seen[1].status_text(), "which one?");
        assert_eq!(seen[1].status_metadata, None);
        let report = seen[2].report();
        assert_eq!(report.query, "the first");
        assert_eq!(report.upstream, [PAPER]);
        assert_eq!(report.inputs["order"], [r#"{"z":1,"a":1.50}"#]);
        let last = seen[2].artifacts.last().unwrap();
        let expected = if policy == "append" {
            &[OWN, PAPER][..]
        } else {
            &[OWN]
        };
        assert_eq!(last.others, expected);
        // To the agent, the first turn had number 1; this is the next one.
        assert_eq!(report.number, 2, "{policy}");
        assert_eq!(last.id, "response-2");
    }
}
