//! [`A2aAdapter`]: a remote A2A agent behind this server.

mod relay;

use std::time::Duration;

use llamon_client::{Client, ClientError, EventStream};
use llamon_core::Upstream;
use llamon_core::a2a::{ErrorCode, Message, Role, SendMessageRequest, StreamEvent};
use serde::{Deserialize, Serialize};

use crate::adapter::{AdapterRequest, Response, RuntimeAdapter};
use crate::agent_error::AgentError;
use crate::turn::{Turn, remote_failed};
use relay::{Relay, Settled};

/// The first pause before a remote task is asked for again; it doubles.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How often a lost remote task is looked for, and how often it may be lost.
const MAX_RESUMES: u32 = 8;

/// A remote A2A agent behind this server: messages go to it as they came, and its answer is the
/// response.
///
/// * The parts of both directions are carried token for token, and the conversation keeps its
///   `contextId`.
/// * The request's metadata says how far the message was handed on, so that adapters that lead to each
///   other in a circle stop; see [`Turn::hand_on`].
/// * What the remote agent streams is streamed on, as drafts. At the end they are kept if they add
///   up to its answer, or else replaced by it.
/// * Its questions (INPUT_REQUIRED, AUTH_REQUIRED) become this server's, with all their parts; the
///   answer goes to the same remote task. Do not call `.hitl()` for that: it is the remote agent
///   that asks.
/// * A cancel is passed on. After a crash on a durable backend, the remote task that had begun is
///   followed again; one that was lost is begun again.
///
/// The upstream parts policy has no effect here; the remote server's policy decides what its answer
/// keeps.
///
/// ```no_run
/// use llamon_client::Client;
/// use llamon_core::a2a::{AgentCard, Skill};
/// use llamon_server::adapters::A2aAdapter;
/// use llamon_server::create_server;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let remote = Client::discover("http://10.0.0.7:8080").await?;
/// let card = AgentCard::new("front", "Passes messages on", "1.0.0")
///     .skill(Skill::new("pass", "Pass on", "Passes messages to another agent"));
/// create_server(card, A2aAdapter::new(remote)).await?.serve("127.0.0.1:8080").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct A2aAdapter {
    client: Client,
}

/// How the remote agent ended a turn.
#[derive(Debug)]
#[doc(hidden)]
pub struct A2aOutput(Response);

impl A2aAdapter {
    /// An adapter of the agent that the client calls.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }
}

impl RuntimeAdapter for A2aAdapter {
    type In = SendMessageRequest;
    type Out = A2aOutput;

    async fn preprocess(
        &self,
        request: &AdapterRequest<'_>,
    ) -> Result<SendMessageRequest, AgentError> {
        let said = request.message();
        let id = uuid::Uuid::new_v4().to_string();
        let mut message = Message::new(id, Role::User, said.parts.clone());
        message.context_id = Some(request.context_id().into());
        message.metadata.clone_from(&said.metadata);
        let mut outgoing = SendMessageRequest::new(message);
        outgoing.metadata = request.request_metadata().map(str::to_owned);
        Ok(outgoing)
    }

    async fn run(&self, input: SendMessageRequest, turn: &Turn) -> Result<A2aOutput, AgentError> {
        if turn.is_hitl() {
            return Err(AgentError::public(
                "this agent passes on the questions of a remote one, so it is served without \
                 .hitl(); remove that from the server's builder",
            ));
        }
        let call = Call {
            client: &self.client,
            turn,
        };
        call.run(input).await.map(A2aOutput)
    }

    async fn postprocess(&self, out: A2aOutput, _: &Upstream) -> Result<Response, AgentError> {
        Ok(out.0)
    }
}

/// One turn of the remote agent.
struct Call<'a> {
    client: &'a Client,
    turn: &'a Turn,
}

/// Where the events of the remote task come from.
enum Source {
    Stream(Box<EventStream>),
    /// The task is asked for, after this pause.
    Poll(Duration),
}

/// What is kept with this server's task of the remote one.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// This server's turn.
    turn: usize,
    remote: String,
    /// Artifacts that it had before the turn.
    before: Vec<String>,
    /// If it waits for another message: the artifacts that it has.
    waits_with: Option<Vec<String>>,
}

/// The key of what is kept.
const KEY: &str = "a2a-adapter";

impl Call<'_> {
    async fn run(&self, mut request: SendMessageRequest) -> Result<Response, AgentError> {
        let kept = self.turn.recall(KEY).await?;
        let kept: Option<Kept> = kept.map(|kept| serde_json::from_str(&kept)).transpose()?;
        let mut relay = Relay::new(Vec::new());
        match kept {
            // An attempt before this one has sent the message.
            Some(kept) if kept.turn == self.turn.number() => {
                if let Some(settled) = self.follow(&kept).await? {
                    return settled.into_response();
                }
                tracing::info!(task = %self.turn.task_id(), "the remote task is begun again");
            }
            Some(kept) => {
                if let Some(artifacts) = kept.waits_with {
                    relay = Relay::new(artifacts);
                    request.message.task_id = Some(kept.remote.into());
                }
            }
            None => {}
        }
        let source = self.send(request, &mut relay).await?;
        self.relay(relay, source).await?.into_response()
    }

    /// Sends the message.
    async fn send(
        &self,
        mut request: SendMessageRequest,
        relay: &mut Relay,
    ) -> Result<Source, AgentError> {
        let delegation = self.turn.next_delegation()?;
        request.metadata = Some(delegation.put_into(request.metadata.as_deref()));
        if self.client.card().capabilities.streaming {
            let stream = self.client.stream(request).await.map_err(remote_failed)?;
            return Ok(Source::Stream(Box::new(stream)));
        }
        // With the task's id in hand a cancel can be passed on.
        request.configuration.return_immediately = true;
        let reply = self.client.send(request).await.map_err(remote_failed)?;
        let task = reply
            .task()
            .map(|task| StreamEvent::Task(task.clone().into()));
        let message = reply
            .message()
            .map(|message| StreamEvent::Message(message.clone().into()));
        if let Some(event) = task.or(message) {
            self.take(relay, &event).await?;
        }
        Ok(Source::Poll(PAUSE))
    }

    /// Follows a remote task that an attempt before has begun. `None` where it is lost, or was
    /// canceled together with that attempt.
    async fn follow(&self, kept: &Kept) -> Result<Option<Settled>, AgentError> {
        let mut relay = Relay::new(kept.before.clone());
        let source = match self.subscribe(&kept.remote, &mut relay).await? {
            Ok(source) => source,
            Err(error) if is_unknown(&error) => return Ok(None),
            Err(error) => self.resume(&kept.remote, &mut relay, error).await?,
        };
        let settled = self.relay(relay, source).await?;
        let lost = matches!(settled, Settled::Canceled) && !self.turn.is_cancelled();
        Ok((!lost).then_some(settled))
    }

    /// Relays events until the task settles, and passes a cancel on.
    async fn relay(&self, mut relay: Relay, mut source: Source) -> Result<Settled, AgentError> {
        let mut is_canceling = false;
        let mut resumes = 0;
        loop {
            if let Some(settled) = relay.settled() {
                if settled.is_question() {
                    self.note(&relay, Some(relay.all())).await?;
                }
                return Ok(settled);
            }
            let id = relay.id();
            if let (Some(id), true) = (&id, self.turn.is_cancelled() && !is_canceling) {
                if self.turn.is_run_again() {
                    // The server stops, and whoever runs the turn again follows the remote task.
                    return Err(AgentError::ended());
                }
                is_canceling = true;
                self.cancel(id).await;
            }
            let next = next(self.client, &mut source, id.as_deref());
            let event = tokio::select! {
                biased;
                event = next => event,
                () = self.turn.cancelled(), if !is_canceling && id.is_some() => continue,
            };
            match (event, id) {
                (Some(Ok(event)), _) => self.take(&mut relay, &event).await?,
                (Some(Err(error)), Some(id)) if is_lost(&error) && resumes < MAX_RESUMES => {
                    resumes += 1;
                    source = self.resume(&id, &mut relay, error).await?;
                }
                (Some(Err(error)), _) => return Err(remote_failed(error)),
                (None, _) => {
                    return Err(AgentError::public(
                        "the remote agent ended its stream before it had answered",
                    ));
                }
            }
        }
    }

    /// Takes in an event: what it shows is shown as a draft.
    async fn take(&self, relay: &mut Relay, event: &StreamEvent) -> Result<(), AgentError> {
        let was_known = relay.id().is_some();
        let draft = relay.take(event);
        if !was_known && relay.id().is_some() {
            // Before anything is shown: another attempt must find the task.
            self.note(relay, None).await?;
        }
        if let Some(text) = draft.status {
            self.turn.status(text).await?;
        }
        self.turn.emit(draft.payload).await
    }

    /// Follows the task again after its stream was lost, for some seconds.
    async fn resume(
        &self,
        id: &str,
        relay: &mut Relay,
        mut error: ClientError,
    ) -> Result<Source, AgentError> {
        let mut pause = PAUSE;
        for _ in 0..MAX_RESUMES {
            if !is_lost(&error) {
                break;
            }
            tracing::warn!(remote = id, %error, "the remote agent is lost and called again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            match self.subscribe(id, relay).await? {
                Ok(source) => return Ok(source),
                Err(again) => error = again,
            }
        }
        Err(remote_failed(error))
    }

    /// Opens a stream of the task; one that has ended has none, and is asked for.
    async fn subscribe(
        &self,
        id: &str,
        relay: &mut Relay,
    ) -> Result<Result<Source, ClientError>, AgentError> {
        if self.client.card().capabilities.streaming
            && let Ok(stream) = self.client.subscribe(id).await
        {
            return Ok(Ok(Source::Stream(Box::new(stream))));
        }
        match self.client.get(id).await {
            Ok(task) => {
                self.take(relay, &StreamEvent::Task(task.into())).await?;
                Ok(Ok(Source::Poll(PAUSE)))
            }
            Err(error) => Ok(Err(error)),
        }
    }

    async fn cancel(&self, id: &str) {
        if let Err(error) = self.client.cancel(id).await {
            // It may have ended just now, which is among its events.
            tracing::warn!(remote = id, %error, "the remote task could not be canceled");
        }
    }

    /// Keeps which remote task works on this turn.
    async fn note(&self, relay: &Relay, waits_with: Option<Vec<String>>) -> Result<(), AgentError> {
        let Some(remote) = relay.id() else {
            return Ok(());
        };
        let kept = Kept {
            turn: self.turn.number(),
            remote: remote.to_string(),
            before: relay.before(),
            waits_with,
        };
        self.turn.keep(KEY, serde_json::to_string(&kept)?).await
    }
}

/// The next event.
async fn next(
    client: &Client,
    source: &mut Source,
    id: Option<&str>,
) -> Option<Result<StreamEvent, ClientError>> {
    match source {
        Source::Stream(stream) => stream.next().await,
        Source::Poll(pause) => {
            tokio::time::sleep(*pause).await;
            *pause = (*pause * 2).min(LONGEST_PAUSE);
            let task = client.get(id?).await;
            Some(task.map(|task| StreamEvent::Task(task.into())))
        }
    }
}

/// Whether the task may run on although its events have ended.
fn is_lost(error: &ClientError) -> bool {
    error.is_interrupted_stream() || error.is_timeout() || error.is_temporary()
}

fn is_unknown(error: &ClientError) -> bool {
    error
        .protocol()
        .is_some_and(|error| error.code() == ErrorCode::TaskNotFound)
}
