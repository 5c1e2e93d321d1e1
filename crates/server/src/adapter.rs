//! [`RuntimeAdapter`]: somebody else's runtime behind `create_server`.

use std::future::Future;
use std::sync::Arc;

use llamon_core::a2a::Message;
use llamon_core::contracts::SelectedInputs;
use llamon_core::{IntoPayload, Payload, PayloadError, Upstream};

use crate::agent::{AgentKind, ErasedAgent, IntoAgent};
use crate::agent_error::AgentError;
use crate::answer::Answer;
use crate::turn::Turn;

/// A runtime that is not written for this SDK: a process, a remote service, another framework.
///
/// The three steps run one after the other. `preprocess` makes the runtime's input of the request,
/// `run` runs it and may emit drafts, and `postprocess` owns the response: what it returns is what
/// is sent. The upstream parts policy has no effect; an adapter that wants to keep upstream gets it
/// raw and merges for itself, with [`llamon_core::compose`].
///
/// ```
/// use llamon_core::{Payload, Upstream, UpstreamPartsPolicy, compose};
/// use llamon_server::{AgentError, AdapterRequest, Response, RuntimeAdapter, Turn};
///
/// struct Shout;
///
/// impl RuntimeAdapter for Shout {
///     type In = String;
///     type Out = String;
///
///     async fn preprocess(&self, request: &AdapterRequest<'_>) -> Result<String, AgentError> {
///         Ok(request.query().to_owned())
///     }
///
///     async fn run(&self, input: String, _turn: &Turn) -> Result<String, AgentError> {
///         Ok(input.to_uppercase())
///     }
///
///     async fn postprocess(&self, out: String, upstream: &Upstream) -> Result<Response, AgentError> {
///         let own = Payload::new().with_text(out);
///         Ok(Response::from(compose(own, upstream, UpstreamPartsPolicy::Append)))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no runtime adapter",
    note = "implement `RuntimeAdapter` for it: the types `In` and `Out`, and `preprocess`, `run` and `postprocess`"
)]
pub trait RuntimeAdapter: Send + Sync + 'static {
    /// What the runtime takes.
    type In: Send;
    /// What the runtime gives.
    type Out: Send;

    /// Makes the runtime's input. Input contracts have selected before; the raw upstream is there,
    /// too.
    ///
    /// # Errors
    /// Whatever keeps it from that; the task ends FAILED.
    fn preprocess(
        &self,
        request: &AdapterRequest<'_>,
    ) -> impl Future<Output = Result<Self::In, AgentError>> + Send;

    /// Runs the runtime. What it emits on the turn is a draft.
    ///
    /// When the task is canceled, [`Turn::cancelled`] resolves; after the server's grace the
    /// future is dropped wherever it waits.
    ///
    /// # Errors
    /// Whatever goes wrong; the task ends FAILED.
    fn run(
        &self,
        input: Self::In,
        turn: &Turn,
    ) -> impl Future<Output = Result<Self::Out, AgentError>> + Send;

    /// Makes the response. `upstream` is raw, whatever contracts selected.
    ///
    /// # Errors
    /// Whatever keeps it from that; the task ends FAILED.
    fn postprocess(
        &self,
        out: Self::Out,
        upstream: &Upstream,
    ) -> impl Future<Output = Result<Response, AgentError>> + Send;
}

/// What an adapter responds with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Response {
    /// This, in place of every draft.
    Answer(Answer),
    /// The drafts, as they were emitted.
    Keep,
}

impl Response {
    /// A completed task with this payload, in place of every draft.
    ///
    /// # Errors
    /// When a value cannot be JSON.
    pub fn completed(payload: impl IntoPayload) -> Result<Self, PayloadError> {
        Ok(Self::Answer(Answer::completed(payload)?))
    }
}

impl From<Payload> for Response {
    fn from(payload: Payload) -> Self {
        Self::Answer(Answer::Completed(payload))
    }
}

impl From<Answer> for Response {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

/// The request as an adapter's `preprocess` sees it; nothing can be emitted yet.
#[derive(Clone, Copy, Debug)]
pub struct AdapterRequest<'a>(&'a Turn);

impl<'a> AdapterRequest<'a> {
    /// As [`Turn::query`].
    pub fn query(&self) -> &'a str {
        self.0.query()
    }

    /// As [`Turn::upstream`].
    pub fn upstream(&self) -> &'a Upstream {
        self.0.upstream()
    }

    /// As [`Turn::inputs`].
    pub fn inputs(&self) -> &'a SelectedInputs {
        self.0.inputs()
    }

    /// As [`Turn::message`].
    pub fn message(&self) -> &'a Message {
        self.0.message()
    }

    /// As [`Turn::request_metadata`].
    pub fn request_metadata(&self) -> Option<&'a str> {
        self.0.request_metadata()
    }

    /// As [`Turn::history`].
    pub fn history(&self) -> &'a [Message] {
        self.0.history()
    }

    /// As [`Turn::task_id`].
    pub fn task_id(&self) -> &'a str {
        self.0.task_id()
    }

    /// As [`Turn::context_id`].
    pub fn context_id(&self) -> &'a str {
        self.0.context_id()
    }

    /// As [`Turn::number`].
    pub fn number(&self) -> usize {
        self.0.number()
    }

    /// As [`Turn::attempt`].
    pub fn attempt(&self) -> u32 {
        self.0.attempt()
    }
}

/// The kind of runtime adapters.
#[derive(Debug)]
pub struct AdapterKind;

impl<A: RuntimeAdapter> IntoAgent<AdapterKind> for A {
    fn into_agent(self) -> ErasedAgent {
        let adapter = Arc::new(self);
        let agent = ErasedAgent::new(move |turn| {
            let adapter = Arc::clone(&adapter);
            Box::pin(async move {
                let input = adapter.preprocess(&AdapterRequest(&turn)).await?;
                let out = adapter.run(input, &turn).await?;
                match adapter.postprocess(out, turn.upstream()).await? {
                    Response::Answer(answer) => {
                        turn.discard_drafts().await;
                        Ok(answer)
                    }
                    Response::Keep => Ok(Answer::Completed(Payload::new())),
                }
            })
        });
        agent.of_kind(AgentKind::Adapter)
    }
}
