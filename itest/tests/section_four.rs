//! Where the policy does not apply (data-flow.md, section 4): kinds of agents, each under both
//! policies, with upstream and without, on both bindings, blocking and streaming.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use llamon_agent::contracts::{InputContract, InputContracts};
use llamon_agent::prelude::*;
use llamon_agent::server::{Provenance, ServerBuilder};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, parts, start};
use llamon_itest::log::Log;
use llamon_itest::matrix::{everywhere, fold, streaming};
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::peers;

const OWN: &str = r#"{"data":{"own":1.0}}"#;
const OWN_FILE: &str = r#"{"raw":"b3du","filename":"own.txt"}"#;
const UP: &str = r#"{"data":{"up":1e400}}"#;
const UP_FILE: &str = r#"{"url":"https://example.com/up"}"#;
const LATER: &str = r#"{"data":"later"}"#;

fn own() -> Payload {
    Payload::from(parts(&[r#"{"text":"own"}"#, OWN, OWN_FILE]))
}

// === the kinds ===

/// What is served. A kind more is a variant, its place in [`Kind::ALL`], its server in [`serve`]
/// and what it keeps in [`Kind::keeps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Function,
    Struct,
    /// What `postprocess` returns is sent.
    Adapter,
    /// It takes the place of drafts.
    AdapterWithDrafts,
    /// The drafts are kept.
    AdapterThatKeeps,
    /// It merges for itself.
    AdapterThatComposes,
    /// People in the loop, but nothing is asked.
    QuietHitl,
    /// A question, and the answer after it.
    AskingHitl,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Function,
        Self::Struct,
        Self::Adapter,
        Self::AdapterWithDrafts,
        Self::AdapterThatKeeps,
        Self::AdapterThatComposes,
        Self::QuietHitl,
        Self::AskingHitl,
    ];

    /// Whether the answer has upstream's parts.
    fn keeps(self, policy: &str) -> bool {
        match self {
            Self::Function | Self::Struct => policy == "append",
            Self::AdapterThatComposes => true,
            Self::Adapter
            | Self::AdapterWithDrafts
            | Self::AdapterThatKeeps
            | Self::QuietHitl
            | Self::AskingHitl => false,
        }
    }

    /// The messages of a conversation; the first one brings upstream.
    fn says(self, upstream: &[&str]) -> Vec<Say> {
        let first = Say::text("go").with(upstream);
        match self {
            Self::AskingHitl => vec![first, Say::text("yes").with(&upstream_of_answers(upstream))],
            _ => vec![first],
        }
    }
}

/// An answer to a question has parts of its own, where there is upstream at all.
fn upstream_of_answers<'a>(upstream: &[&'a str]) -> Vec<&'a str> {
    if upstream.is_empty() {
        Vec::new()
    } else {
        vec![LATER]
    }
}

async fn serve(kind: Kind, policy: &str) -> TestServer {
    match kind {
        Kind::Function => {
            let function = async |_: Turn| Ok::<_, AgentError>(own());
            configured(create_server(card("agent"), function), policy).await
        }
        Kind::Struct => configured(create_server(card("agent"), Plain), policy).await,
        Kind::Adapter => adapter(policy, &[], End::Returns).await,
        Kind::AdapterWithDrafts => {
            adapter(
                policy,
                &[r#"{"text":"draft"}"#, UP, r#"{"data":0}"#],
                End::Returns,
            )
            .await
        }
        Kind::AdapterThatKeeps => {
            adapter(policy, &[r#"{"text":"own"}"#, OWN, OWN_FILE], End::Keeps).await
        }
        Kind::AdapterThatComposes => adapter(policy, &[], End::Composes).await,
        Kind::QuietHitl => {
            let function = async |_: Turn| Ok::<_, AgentError>(own());
            configured(create_server(card("agent"), function).hitl(), policy).await
        }
        Kind::AskingHitl => {
            let function = async |turn: Turn| {
                turn.ask("Sure?").await?;
                Ok::<_, AgentError>(own())
            };
            configured(create_server(card("agent"), function).hitl(), policy).await
        }
    }
}

async fn configured<M>(builder: ServerBuilder<M>, policy: &str) -> TestServer {
    start(builder.upstream_parts_policy(policy)).await
}

struct Plain;

impl Agent for Plain {
    async fn run(&self, _: Turn) -> Result<Answer, AgentError> {
        Ok(Answer::Completed(own()))
    }
}

/// An adapter that emits drafts and ends in one way.
struct Drafting {
    drafts: Vec<String>,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Returns,
    Keeps,
    Composes,
    /// Nothing at all.
    Empties,
    PanicsIn(&'static str),
}

impl RuntimeAdapter for Drafting {
    type In = ();
    type Out = ();

    async fn preprocess(&self, _: &AdapterRequest<'_>) -> Result<(), AgentError> {
        assert_ne!(self.end, End::PanicsIn("preprocess"), "a panic of the test");
        Ok(())
    }

    async fn run(&self, (): (), turn: &Turn) -> Result<(), AgentError> {
        for draft in &self.drafts {
            turn.emit(parts(&[draft])).await?;
        }
        assert_ne!(self.end, End::PanicsIn("run"), "a panic of the test");
        Ok(())
    }

    async fn postprocess(&self, (): (), upstream: &Upstream) -> Result<Response, AgentError> {
        Ok(match self.end {
            End::Returns => Response::from(own()),
            End::Keeps => Response::Keep,
            End::Composes => compose(own(), upstream, UpstreamPartsPolicy::Append).into(),
            End::Empties => Response::completed(())?,
            End::PanicsIn(_) => panic!("a panic of the test"),
        })
    }
}

async fn adapter(policy: &str, drafts: &[&str], end: End) -> TestServer {
    let drafts = drafts.iter().map(ToString::to_string).collect();
    configured(
        create_server(card("agent"), Drafting { drafts, end }),
        policy,
    )
    .await
}

// === the table ===

#[tokio::test]
async fn every_kind_under_both_policies_with_upstream_and_without() {
    for kind in Kind::ALL {
        for policy in ["replace", "append"] {
            let server = serve(kind, policy).await;
            for upstream in [&[][..], &[UP, UP_FILE]] {
                let what = format!("{kind:?}, {policy}, {upstream:?}");
                let outcome = everywhere(&server, &kind.says(upstream)).await;
                assert_eq!(outcome.state, "TASK_STATE_COMPLETED", "{what}: {outcome:?}");
                let mut expected = Content::expect("own", &[r#"{"own":1.0}"#], &[OWN_FILE]);
                if kind.keeps(policy) && !upstream.is_empty() {
                    expected.data.push(r#"{"up":1e400}"#.to_owned());
                    expected.files.push(UP_FILE.to_owned());
                }
                assert!(outcome.content().is_same(&expected), "{what}: {outcome:?}");
            }
        }
    }
}

#[tokio::test]
async fn the_question_of_an_hitl_task_carries_no_upstream() {
    for policy in ["replace", "append"] {
        let server = serve(Kind::AskingHitl, policy).await;
        for peer in peers(server.url()) {
            let (outcome, events) = streaming(&peer, &[Say::text("go").with(&[UP])]).await;
            assert_eq!(outcome.state, "TASK_STATE_INPUT_REQUIRED");
            assert!(outcome.artifacts.is_empty());
            let all: String = events.iter().skip(1).map(Raw::text).collect();
            assert!(!all.contains("1e400"), "{all}");
        }
    }
}

#[tokio::test]
async fn an_adapter_with_people_in_the_loop_is_as_much_its_own_master() {
    let builder = create_server(
        card("agent"),
        Drafting {
            drafts: Vec::new(),
            end: End::Returns,
        },
    );
    let server = configured(builder.hitl(), "append").await;
    let outcome = everywhere(&server, &[Say::text("go").with(&[UP])]).await;
    assert!(
        outcome
            .content()
            .is_same(&Content::expect("own", &[r#"{"own":1.0}"#], &[OWN_FILE]))
    );
}

// === drafts ===

#[tokio::test]
async fn drafts_are_seen_in_the_stream_and_replaced_in_one_update() {
    for (end, texts) in [(End::Returns, "own"), (End::Empties, "")] {
        let server = adapter("append", &[r#"{"text":"draft"}"#, r#"{"data":0}"#], end).await;
        for peer in peers(server.url()) {
            let events = peer.stream(&Say::text("go").with(&[UP])).await;
            let (outcome, events) = fold(events).await;
            let updates: Vec<Raw> = events
                .iter()
                .filter_map(|event| event.find("artifactUpdate"))
                .collect();
            let appended: Vec<bool> = updates.iter().map(is_appended).collect();
            assert_eq!(appended, [false, true, false], "{updates:?}");
            assert_eq!(updates[2].at("lastChunk").text(), "true");
            assert_eq!(outcome.content().text, texts);
            let own = usize::from(end == End::Returns);
            assert_eq!(outcome.content().data.len(), own, "{outcome:?}");
        }
    }
}

fn is_appended(update: &Raw) -> bool {
    update
        .find("append")
        .is_some_and(|append| append.text() == "true")
}

#[tokio::test]
async fn an_adapter_without_drafts_that_returns_nothing_has_no_artifact() {
    for end in [End::Empties, End::Keeps] {
        let server = adapter("append", &[], end).await;
        let outcome = everywhere(&server, &[Say::text("go").with(&[UP])]).await;
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert!(outcome.artifacts.is_empty(), "{end:?}: {outcome:?}");
    }
}

// === steps ===

#[tokio::test]
async fn a_panic_in_any_step_fails_the_task_and_not_the_server() {
    for step in ["preprocess", "run", "postprocess"] {
        let server = adapter("append", &[r#"{"text":"draft"}"#], End::PanicsIn(step)).await;
        let outcome = everywhere(&server, &[Say::text("go").with(&[UP])]).await;
        assert_eq!(outcome.state, "TASK_STATE_FAILED", "{step}");
        assert!(
            outcome.said.starts_with("the agent failed"),
            "{}",
            outcome.said
        );
        let drafts = if step == "preprocess" { "" } else { "draft" };
        assert!(
            outcome
                .content()
                .is_same(&Content::expect(drafts, &[], &[])),
            "{step}"
        );
    }
}

/// Says what each step sees.
struct Seeing {
    begun: Arc<AtomicUsize>,
}

impl RuntimeAdapter for Seeing {
    type In = String;
    type Out = String;

    async fn preprocess(&self, request: &AdapterRequest<'_>) -> Result<String, AgentError> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let selected = request.inputs().get("order").json().unwrap_or("none");
        Ok(format!("{selected} {}", request.upstream().len()))
    }

    async fn run(&self, input: String, _: &Turn) -> Result<String, AgentError> {
        Ok(input)
    }

    async fn postprocess(&self, out: String, upstream: &Upstream) -> Result<Response, AgentError> {
        let raw: Vec<&str> = upstream.parts().iter().map(Part::json).collect();
        Ok(Response::completed(format!("{out} {}", raw.join(" ")))?)
    }
}

#[tokio::test]
async fn contracts_select_before_preprocess_and_postprocess_gets_upstream_raw() {
    let begun = Arc::new(AtomicUsize::new(0));
    let contracts = InputContracts::new().with(InputContract::data("order").select("/order"));
    let seeing = Seeing {
        begun: Arc::clone(&begun),
    };
    let builder = create_server(card("agent"), seeing).input_contracts(contracts);
    let server = configured(builder, "append").await;
    let order = r#"{"data":{"order":1.50,"more":"\u00e9"}}"#;
    let outcome = everywhere(&server, &[Say::text("go").with(&[UP_FILE, order])]).await;
    assert_eq!(outcome.content().text, format!("1.50 2 {UP_FILE} {order}"));
    let before = begun.load(Ordering::Relaxed);
    let missed = everywhere(&server, &[Say::text("go").with(&[UP_FILE])]).await;
    assert_eq!(missed.state, "TASK_STATE_REJECTED");
    assert_eq!(begun.load(Ordering::Relaxed), before, "no step runs");
}

#[tokio::test]
async fn adapters_and_people_in_the_loop_are_never_stamped() {
    for kind in Kind::ALL {
        let is_stamped = matches!(kind, Kind::Function | Kind::Struct);
        let server = match kind {
            Kind::Function => stamped(create_server(card("a"), async |_: Turn| {
                Ok::<_, AgentError>(own())
            })),
            Kind::Struct => stamped(create_server(card("a"), Plain)),
            Kind::Adapter | Kind::AdapterWithDrafts => {
                stamped_adapter(&["{\"data\":0}"], End::Returns)
            }
            Kind::AdapterThatKeeps => stamped_adapter(&[OWN, OWN_FILE], End::Keeps),
            Kind::AdapterThatComposes => stamped_adapter(&[], End::Composes),
            Kind::QuietHitl | Kind::AskingHitl => {
                let asks = kind == Kind::AskingHitl;
                let function = move |turn: Turn| async move {
                    if asks {
                        turn.ask("Sure?").await?;
                    }
                    Ok::<_, AgentError>(own())
                };
                stamped(create_server(card("a"), function).hitl())
            }
        };
        let server = server.await;
        for peer in peers(server.url()) {
            let says = kind.says(&[]);
            let (outcome, _) = streaming(&peer, &says).await;
            let stamps = outcome
                .content()
                .order
                .iter()
                .filter(|part| part.contains("metadata"))
                .count();
            assert_eq!(
                stamps,
                if is_stamped { 2 } else { 0 },
                "{kind:?}: {outcome:?}"
            );
        }
    }
}

type Starting = std::pin::Pin<Box<dyn Future<Output = TestServer>>>;

fn stamped<M: 'static>(builder: ServerBuilder<M>) -> Starting {
    Box::pin(start(
        builder
            .provenance(Provenance::Stamped)
            .upstream_parts_policy("append"),
    ))
}

fn stamped_adapter(drafts: &[&str], end: End) -> Starting {
    let drafts = drafts.iter().map(ToString::to_string).collect();
    stamped(create_server(card("a"), Drafting { drafts, end }))
}

// === warnings ===

/// What is logged while a server of the kind starts and answers.
async fn logged(kind: Kind, policy: &str) -> String {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // The servers of these tests run on the test's own thread.
    let _logging = tracing::subscriber::set_default(subscriber);
    let server = serve(kind, policy).await;
    for peer in peers(server.url()) {
        let (outcome, _) = streaming(&peer, &kind.says(&[UP])).await;
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
    }
    log.text()
}

#[tokio::test]
async fn append_warns_once_at_the_start_where_it_has_no_effect() {
    for kind in Kind::ALL {
        assert_eq!(logged(kind, "replace").await, "", "{kind:?}");
        let log = logged(kind, "append").await;
        let expected: &[&str] = match kind {
            Kind::Function | Kind::Struct => &[],
            Kind::QuietHitl | Kind::AskingHitl => {
                &["WARN", "has no effect with .hitl()", "compose()"]
            }
            _ => &[
                "WARN",
                "has no effect on a runtime adapter",
                "postprocess",
                "function, struct or graph",
            ],
        };
        assert_eq!(
            log.lines().count(),
            usize::from(!expected.is_empty()),
            "{kind:?}: {log}"
        );
        for word in expected {
            assert!(log.contains(word), "{kind:?}: {log}");
        }
    }
}

#[tokio::test]
async fn an_adapter_may_answer_otherwise_than_by_completing() {
    struct Declines;
    impl RuntimeAdapter for Declines {
        type In = ();
        type Out = ();
        async fn preprocess(&self, _: &AdapterRequest<'_>) -> Result<(), AgentError> {
            Ok(())
        }
        async fn run(&self, (): (), turn: &Turn) -> Result<(), AgentError> {
            turn.emit("so far").await
        }
        async fn postprocess(&self, (): (), _: &Upstream) -> Result<Response, AgentError> {
            Ok(Answer::rejected("no")?.into())
        }
    }
    let server = configured(create_server(card("agent"), Declines), "append").await;
    let outcome: Outcome = everywhere(&server, &[Say::text("go").with(&[UP])]).await;
    assert_eq!(
        (&*outcome.state, &*outcome.said),
        ("TASK_STATE_REJECTED", "no")
    );
    assert!(
        outcome
            .content()
            .is_same(&Content::expect("so far", &[], &[]))
    );
}
