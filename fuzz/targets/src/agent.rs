//! One agent for all inputs, asked without a socket.

use std::cell::RefCell;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use llamon_core::Limits;
use llamon_core::a2a::{AgentCard, Skill};
use llamon_server::push::PushNotifications;
use llamon_server::{AgentError, Answer, Turn, create_server};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

/// More than the agent ever answers with: a body that has no end would be a finding.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Inputs after which the agent begins anew, so that tasks which wait for an answer that no
/// input gives do not fill it.
const INPUTS: u32 = 2_000;

/// An answer, whole.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) media_type: String,
    pub(crate) text: String,
}

struct Agent {
    router: Router,
    left: u32,
}

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    static AGENT: RefCell<Option<Agent>> = const { RefCell::new(None) };
}

/// Waits for a future that no other thread helps.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// Asks the agent; what is no HTTP request at all is not asked.
pub(crate) fn ask(method: &str, uri: &str, body: &[u8]) -> Option<Answered> {
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header("host", "localhost")
        .header("a2a-version", "1.0")
        .header("content-type", "application/json")
        .body(Body::from(body.to_vec()))
        .ok()?;
    Some(wait(answer(request)))
}

async fn answer(request: Request<Body>) -> Answered {
    let kept = AGENT.take().filter(|agent| agent.left > 0);
    let agent = match kept {
        Some(agent) => agent,
        None => Agent {
            router: router().await,
            left: INPUTS,
        },
    };
    let router = agent.router.clone();
    AGENT.set(Some(Agent {
        left: agent.left - 1,
        ..agent
    }));
    let response = router.oneshot(request).await.expect("an answer");
    let media_type = response.headers().get("content-type");
    let media_type = media_type.map_or("", |value| value.to_str().expect("ASCII"));
    let media_type = media_type.to_owned();
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), MAX_ANSWER_BYTES).await;
    let body = body.expect("a body with an end").to_vec();
    Answered {
        status,
        media_type,
        text: String::from_utf8(body).expect("UTF-8"),
    }
}

async fn router() -> Router {
    let card = AgentCard::new("fuzzed", "Answers with its text", "1.0.0").skill(Skill::new(
        "echo",
        "Echo",
        "Says what it was told",
    ));
    let limits = Limits::default()
        .with_max_body_bytes(64 << 10)
        .with_max_open_tasks(1_000)
        .with_max_finished_tasks(100);
    create_server(card, echo)
        .upstream_parts_policy("append")
        .public_url("http://127.0.0.1:1/")
        .limits(limits)
        .push_notifications(PushNotifications::new())
        .await
        .expect("a server")
        .into_router()
        .expect("a router")
}

async fn echo(turn: Turn) -> Result<Answer, AgentError> {
    match turn.query() {
        "ask" => Ok(Answer::input_required("what?")?),
        "reject" => Ok(Answer::rejected("no")?),
        "fail" => Err(AgentError::public("broken")),
        "stream" => {
            turn.emit("one ").await?;
            turn.emit("two").await?;
            Ok(Answer::completed(())?)
        }
        text => Ok(Answer::completed(text)?),
    }
}
