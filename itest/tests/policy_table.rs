//! The rows of the policy table (data-flow.md, section 3) and the rows without a selection of
//! section 2: each under both policies, on both bindings, blocking and streaming.

use llamon_agent::core::UpstreamPartsPolicy;
use llamon_agent::server::{AgentError, Answer, Turn, create_server};
use llamon_itest::agents::{End, Script, card, scripted, serve_scripts, start};
use llamon_itest::matrix::{blocking, everywhere, streaming};
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::say::Say;
use llamon_itest::wire::peers;

const TEXT: &str = r#"{"text":"own text"}"#;
const OWN: &str = r#"{"data":{"own":1}}"#;
const OWN_2: &str = r#"{"data":[2]}"#;
const OWN_RAW: &str = r#"{"raw":"b3du","filename":"own.txt","mediaType":"text/plain"}"#;
const OWN_URL: &str = r#"{"url":"https://example.com/own","filename":"own"}"#;

const ASK: &str = r#"{"text":"what do you make of this?"}"#;
const UP: &str = r#"{"data":{"up":1}}"#;
const UP_2: &str = r#"{"data":"up two"}"#;
const UP_RAW: &str = r#"{"raw":"dXA=","filename":"up.txt","mediaType":"text/plain"}"#;
const UP_URL: &str = r#"{"url":"https://example.com/up"}"#;

/// The values of the data parts above.
const DATA: [(&str, &str); 4] = [
    (OWN, r#"{"own":1}"#),
    (OWN_2, "[2]"),
    (UP, r#"{"up":1}"#),
    (UP_2, r#""up two""#),
];

/// What an answer is expected to have: a text, data parts and file parts.
type Expected<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

fn content((text, data, files): Expected<'_>) -> Content {
    let value = |part: &&str| {
        let found = DATA.iter().find(|(known, _)| known == part);
        found.expect("a data part").1
    };
    let data: Vec<&str> = data.iter().map(value).collect();
    Content::expect(text, &data, files)
}

fn assert_content(outcome: &Outcome, expected: Expected<'_>, what: &str) {
    let found = outcome.content();
    let expected = content(expected);
    assert!(found.is_same(&expected), "{what}: {found:#?} {expected:#?}");
}

/// A row: what the agent does and what it is sent, and what its answer is under each policy.
/// The agent returns `current` in one run and emits it part by part in another.
async fn row(current: &[&str], upstream: &[&str], replace: Expected<'_>, append: Expected<'_>) {
    let returning = Script::returns(current);
    let emitting = current.iter().fold(Script::returns(&[]), |script, part| {
        script.emitting(&[part])
    });
    let say = Say::parts([ASK]).with(upstream);
    for (policy, expected) in [("replace", replace), ("append", append)] {
        for script in [&returning, &emitting] {
            let what = format!("{policy}, {script:?}");
            let server = serve_scripts(policy, vec![script.clone()]).await;
            let outcome = everywhere(&server, std::slice::from_ref(&say)).await;
            assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
            assert_content(&outcome, expected, &what);
            let ids: Vec<&str> = outcome.by_artifact().iter().map(|(id, _)| *id).collect();
            let is_empty = content(expected).is_same(&Content::default());
            let one: &[&str] = if is_empty { &[] } else { &["response"] };
            assert_eq!(ids, one, "{what}");
        }
    }
}

// === section 3, the table ===

#[tokio::test]
async fn current_has_data_or_files() {
    let upstream = [UP_RAW, UP, UP_URL, UP_2];
    row(
        &[TEXT, OWN, OWN_2],
        &upstream,
        ("own text", &[OWN, OWN_2], &[]),
        ("own text", &[OWN, OWN_2, UP, UP_2], &[UP_RAW, UP_URL]),
    )
    .await;
    row(
        &[TEXT, OWN, OWN_RAW, OWN_URL],
        &upstream,
        ("own text", &[OWN], &[OWN_RAW, OWN_URL]),
        (
            "own text",
            &[OWN, UP, UP_2],
            &[OWN_RAW, OWN_URL, UP_RAW, UP_URL],
        ),
    )
    .await;
    row(
        &[OWN, OWN_RAW],
        &[UP],
        ("", &[OWN], &[OWN_RAW]),
        ("", &[OWN, UP], &[OWN_RAW]),
    )
    .await;
}

#[tokio::test]
async fn current_has_text_only_and_upstream_has_parts() {
    // `replace` has no fallback that echoes upstream; `append` lets it through.
    row(
        &[TEXT],
        &[UP, UP_RAW, UP_2, UP_URL],
        ("own text", &[], &[]),
        ("own text", &[UP, UP_2], &[UP_RAW, UP_URL]),
    )
    .await;
    row(
        &[TEXT],
        &[UP_URL],
        ("own text", &[], &[]),
        ("own text", &[], &[UP_URL]),
    )
    .await;
}

#[tokio::test]
async fn upstream_empty() {
    let own: Expected<'_> = ("own text", &[OWN, OWN_2], &[OWN_RAW, OWN_URL]);
    row(&[TEXT, OWN, OWN_2, OWN_RAW, OWN_URL], &[], own, own).await;
}

#[tokio::test]
async fn current_and_upstream_both_empty() {
    let text_only: Expected<'_> = ("own text", &[], &[]);
    row(&[TEXT], &[], text_only, text_only).await;
    // Without a text either there is no artifact at all.
    row(&[], &[], ("", &[], &[]), ("", &[], &[])).await;
}

#[tokio::test]
async fn current_has_data_but_no_files_upstream_has_both() {
    row(
        &[OWN],
        &[UP_RAW, UP, UP_URL],
        ("", &[OWN], &[]),
        ("", &[OWN, UP], &[UP_RAW, UP_URL]),
    )
    .await;
}

#[tokio::test]
async fn current_has_files_but_no_data_upstream_has_both() {
    row(
        &[OWN_RAW, OWN_URL],
        &[UP, UP_RAW, UP_2],
        ("", &[], &[OWN_RAW, OWN_URL]),
        ("", &[UP, UP_2], &[OWN_RAW, OWN_URL, UP_RAW]),
    )
    .await;
}

#[tokio::test]
async fn nothing_produced_and_upstream_has_parts() {
    row(&[], &[UP, UP_URL], ("", &[], &[]), ("", &[UP], &[UP_URL])).await;
}

// === section 2, the rows without a selection ===

/// Says what it read and answers with one data part.
async fn reader(turn: Turn) -> Result<Answer, AgentError> {
    let upstream = turn.upstream();
    let read: Vec<&str> = upstream.parts().iter().map(|part| part.json()).collect();
    let report = format!("{} / {}", turn.query(), read.join(" "));
    let own = llamon_itest::agents::parts(&[OWN]);
    Ok(Answer::completed((report, own))?)
}

async fn assert_selection_none(policy: &str, data: &[&str], files: &[&str]) {
    let server = start(create_server(card("reader"), reader).upstream_parts_policy(policy)).await;
    let sent = [ASK, UP_RAW, UP, r#"{"text":"and this?"}"#, UP_2];
    let outcome = everywhere(&server, &[Say::parts(sent)]).await;
    let read = "what do you make of this?\nand this?";
    let text = format!("{read} / {UP_RAW} {UP} {UP_2}");
    assert_content(&outcome, (&text, data, files), policy);
}

#[tokio::test]
async fn selection_none_policy_replace_reads_all_of_upstream_and_keeps_own() {
    assert_selection_none("replace", &[OWN], &[]).await;
}

#[tokio::test]
async fn selection_none_policy_append_reads_all_of_upstream_and_keeps_both() {
    assert_selection_none("append", &[OWN, UP, UP_2], &[UP_RAW]).await;
}

// === the rules around the table ===

#[tokio::test]
async fn the_default_is_replace_and_the_enum_says_the_same_as_the_string() {
    let say = [Say::parts([ASK, UP, UP_RAW])];
    let script = || scripted(vec![Script::returns(&[TEXT, OWN])]);
    let server = |policy| {
        let builder = create_server(card("agent"), script());
        match policy {
            Some(policy) => builder.upstream_parts_policy(policy),
            None => builder,
        }
    };
    let replace: Expected<'_> = ("own text", &[OWN], &[]);
    let append: Expected<'_> = ("own text", &[OWN, UP], &[UP_RAW]);
    for (policy, expected) in [
        (None, replace),
        (Some(UpstreamPartsPolicy::Replace), replace),
        (Some(UpstreamPartsPolicy::Append), append),
    ] {
        let outcome = everywhere(&start(server(policy)).await, &say).await;
        assert_content(&outcome, expected, &format!("{policy:?}"));
    }
}

#[tokio::test]
async fn data_0_is_the_agents_own_first_result_whenever_it_produced_data() {
    let scripts = [
        Script::returns(&[OWN, OWN_2]),
        Script::returns(&[OWN_RAW, TEXT, OWN, OWN_2]),
        Script::returns(&[OWN_2]).emitting(&[OWN]),
        Script::returns(&[TEXT, OWN_2])
            .emitting(&[TEXT])
            .emitting(&[OWN]),
        Script::returns(&[r#"{"text":"another"}"#, OWN_2])
            .emitting(&[TEXT])
            .emitting(&[OWN]),
        Script::returns(&[]).emitting(&[OWN_RAW, OWN, OWN_2]),
    ];
    let say = [Say::parts([UP, ASK, UP_RAW, UP_2])];
    for script in scripts {
        for (policy, count) in [("replace", 2), ("append", 4)] {
            let server = serve_scripts(policy, vec![script.clone()]).await;
            let data = everywhere(&server, &say).await.content().data;
            assert_eq!(data.len(), count, "{policy} {script:?}: {data:?}");
            assert_eq!(data[0], r#"{"own":1}"#, "{policy} {script:?}");
            assert_eq!(data[1], "[2]", "{policy} {script:?}");
        }
    }
    // With none of its own, `append` leaves upstream's order as it came.
    let server = serve_scripts("append", vec![Script::returns(&[TEXT])]).await;
    let data = everywhere(&server, &say).await.content().data;
    assert_eq!(data, [r#"{"up":1}"#, r#""up two""#]);
}

#[tokio::test]
async fn nothing_is_deduplicated() {
    // The same object and the same file twice in upstream.
    row(
        &[TEXT],
        &[UP, UP_RAW, UP, UP_RAW, UP_URL, UP_URL],
        ("own text", &[], &[]),
        ("own text", &[UP, UP], &[UP_RAW, UP_RAW, UP_URL, UP_URL]),
    )
    .await;
    // Current parts that are equal to upstream parts, and to each other.
    row(
        &[UP, UP, UP_URL],
        &[UP, UP_URL],
        ("", &[UP, UP], &[UP_URL]),
        ("", &[UP, UP, UP], &[UP_URL, UP_URL]),
    )
    .await;
    // What is emitted and returned is there twice.
    let script = Script::returns(&[OWN, OWN_RAW]).emitting(&[OWN, OWN_RAW]);
    let server = serve_scripts("append", vec![script]).await;
    let outcome = everywhere(&server, &[Say::parts([OWN])]).await;
    let expected: Expected<'_> = ("", &[OWN, OWN, OWN], &[OWN_RAW, OWN_RAW]);
    assert_content(&outcome, expected, "emitted and returned");
}

#[tokio::test]
async fn order_is_own_as_produced_then_upstream_in_arrival_order() {
    let upstream = [UP_URL, UP_2, UP_RAW, UP, UP_2, UP_URL];
    let say = [Say::parts([ASK]).with(&upstream)];
    // Emitted parts stay as they were produced, a returned payload counts as data, then files.
    let script = Script::returns(&[OWN_RAW, OWN])
        .emitting(&[OWN_URL])
        .emitting(&[OWN_2]);
    let server = serve_scripts("append", vec![script]).await;
    let order = everywhere(&server, &say).await.content().order;
    let own = [OWN_URL, OWN_2, OWN, OWN_RAW];
    assert_eq!(order, [&own[..], &upstream[..]].concat());
}

#[tokio::test]
async fn text_of_upstream_is_never_carried() {
    let sent = [ASK, UP, r#"{"text":"more","metadata":{"x":1}}"#, UP_RAW];
    let server = serve_scripts("append", vec![Script::returns(&[OWN])]).await;
    let outcome = everywhere(&server, &[Say::parts(sent)]).await;
    assert_content(&outcome, ("", &[OWN, UP], &[UP_RAW]), "append");
    // A message of texts only has no upstream at all.
    let outcome = everywhere(&server, &[Say::parts([ASK, ASK])]).await;
    assert_content(&outcome, ("", &[OWN], &[]), "append");
}

#[tokio::test]
async fn a_second_turn_has_an_artifact_of_its_own_and_its_own_upstream() {
    let says = [
        Say::parts([ASK, UP, UP_RAW]),
        Say::parts([UP_2, UP_URL, ASK]),
    ];
    let turn_2: [(&str, Expected<'_>); 2] = [
        ("replace", ("own text", &[OWN_2], &[])),
        ("append", ("own text", &[OWN_2, UP_2], &[UP_URL])),
    ];
    for (policy, expected) in turn_2 {
        let scripts = vec![
            Script::new(End::InputRequired("which?")).emitting(&[OWN, OWN_RAW]),
            Script::returns(&[TEXT, OWN_2]),
        ];
        let server = serve_scripts(policy, scripts).await;
        let first = everywhere(&server, &says[..1]).await;
        assert_eq!(
            (&*first.state, &*first.said),
            ("TASK_STATE_INPUT_REQUIRED", "which?")
        );
        assert_content(&first, ("", &[OWN], &[OWN_RAW]), policy);

        let second = everywhere(&server, &says).await;
        assert_eq!(second.state, "TASK_STATE_COMPLETED");
        let artifacts = second.by_artifact();
        let ids: Vec<&str> = artifacts.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, ["response", "response-2"]);
        assert!(artifacts[0].1.is_same(&content(("", &[OWN], &[OWN_RAW]))));
        assert!(artifacts[1].1.is_same(&content(expected)), "{artifacts:?}");
    }
}

#[tokio::test]
async fn a_third_turn_counts_on_also_when_a_turn_had_no_artifact() {
    let scripts = vec![
        Script::new(End::AuthRequired("who are you?")),
        Script::new(End::InputRequired("which?")).emitting(&[OWN]),
        Script::returns(&[OWN_2]),
    ];
    let server = serve_scripts("append", scripts).await;
    let says = [
        Say::parts([ASK, UP]),
        Say::parts([UP_2]),
        Say::parts([ASK, UP_URL]),
    ];
    let outcome = everywhere(&server, &says).await;
    let artifacts = outcome.by_artifact();
    let ids: Vec<&str> = artifacts.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, ["response-2", "response-3"]);
    assert!(artifacts[0].1.is_same(&content(("", &[OWN], &[]))));
    assert!(artifacts[1].1.is_same(&content(("", &[OWN_2], &[UP_URL]))));
}

#[tokio::test]
async fn a_turn_that_does_not_complete_keeps_what_it_had_and_gains_nothing() {
    let ends = [
        (
            End::InputRequired("which?"),
            "TASK_STATE_INPUT_REQUIRED",
            "which?",
        ),
        (
            End::AuthRequired("who?"),
            "TASK_STATE_AUTH_REQUIRED",
            "who?",
        ),
        (End::Rejected("no"), "TASK_STATE_REJECTED", "no"),
        (End::Failed("broken"), "TASK_STATE_FAILED", "broken"),
    ];
    let say = [Say::parts([ASK, UP, UP_RAW, UP_URL])];
    for policy in ["replace", "append"] {
        for (end, state, said) in &ends {
            let silent = Script::new(end.clone());
            let server = serve_scripts(policy, vec![silent.clone()]).await;
            let outcome = everywhere(&server, &say).await;
            assert_eq!((&*outcome.state, &*outcome.said), (*state, *said));
            assert_eq!(outcome.artifacts, []);

            let script = silent.emitting(&[TEXT]).emitting(&[OWN_RAW, OWN]);
            let server = serve_scripts(policy, vec![script]).await;
            let outcome = everywhere(&server, &say).await;
            assert_eq!((&*outcome.state, &*outcome.said), (*state, *said));
            let kept: Expected<'_> = ("own text", &[OWN], &[OWN_RAW]);
            assert_content(&outcome, kept, policy);
        }
    }
}

#[tokio::test]
async fn a_turn_that_is_canceled_keeps_what_it_had_and_gains_nothing() {
    for policy in ["replace", "append"] {
        let end = End::AwaitCancel(vec![OWN_2.to_owned()]);
        let script = Script::new(end).emitting(&[TEXT, OWN]);
        let server = serve_scripts(policy, vec![script]).await;
        for peer in peers(server.url()) {
            let (id, mut events) = peer.begin(&Say::parts([ASK, UP, UP_RAW])).await;
            events.until("artifactUpdate").await;
            let canceled = peer
                .call(llamon_itest::wire::Op::Cancel(&id))
                .await
                .unwrap();
            let rest = events.rest().await;
            let kept: Expected<'_> = ("own text", &[OWN], &[]);
            for task in [canceled, peer.get(&id).await] {
                let outcome = Outcome::of_task(&task);
                assert_eq!(outcome.state, "TASK_STATE_CANCELED");
                assert_content(&outcome, kept, policy);
            }
            assert_eq!(rest.len(), 1, "the status and nothing else: {rest:?}");
        }
    }
}

#[tokio::test]
async fn a_direct_message_follows_the_same_table() {
    let cases: [(&str, Expected<'_>); 2] = [
        ("replace", ("own text", &[OWN], &[])),
        ("append", ("own text", &[OWN, UP], &[UP_RAW])),
    ];
    let say = [Say::parts([ASK, UP, UP_RAW])];
    for (policy, expected) in cases {
        let message = End::Message(vec![OWN.to_owned(), TEXT.to_owned()]);
        let server = serve_scripts(policy, vec![Script::new(message)]).await;
        for peer in peers(server.url()) {
            let direct = blocking(&peer, &say).await;
            assert_eq!(direct.task_id, None);
            assert_content(&direct, expected, policy);
            // Who streams has seen the task, so the same parts complete it.
            let (streamed, _) = streaming(&peer, &say).await;
            assert_eq!(streamed.state, "TASK_STATE_COMPLETED");
            assert_content(&streamed, expected, policy);
        }
    }
}
