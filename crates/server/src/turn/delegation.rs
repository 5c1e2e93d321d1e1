//! Asking other agents, and how far that goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use llamon_client::{Client, ClientError, Outgoing, Reply};
use llamon_core::a2a::SendResult;
use llamon_core::delegation::Delegation;
use llamon_core::{LimitExceeded, Limits};

use super::Turn;
use crate::agent_error::AgentError;

/// The first pause before a task is asked for again, where the agent has no streams; it doubles.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How far the message was handed on, and how often this turn has handed something on.
#[derive(Debug)]
pub(super) struct HandingOn {
    arrived: Delegation,
    calls: AtomicU32,
}

/// What a request's metadata says of how far it was handed on, within the limits here.
///
/// # Errors
/// When it says something that cannot be read.
pub(crate) fn arrived(
    metadata: Option<&str>,
    limits: &Limits,
) -> Result<Delegation, llamon_core::json::ReadError> {
    let (max_depth, max_calls) = (limits.max_delegation_depth, limits.max_calls_per_turn);
    let said = Delegation::of(metadata)?;
    Ok(said.map_or(Delegation::none(max_depth, max_calls), |said| {
        said.within(max_depth, max_calls)
    }))
}

/// What is wrong with a message that was handed on too often.
pub(crate) fn too_deep(depth: u32, max_depth: u32) -> LimitExceeded {
    LimitExceeded {
        what: "handing the message on from agent to agent, maybe in a circle,".to_owned(),
        limit: "max_delegation_depth",
        allowed: max_depth as usize,
        found: depth as usize,
    }
}

impl HandingOn {
    pub(super) fn new(arrived: Delegation) -> Self {
        Self {
            arrived,
            calls: AtomicU32::new(0),
        }
    }

    fn next(&self) -> Result<Delegation, LimitExceeded> {
        let next = self.arrived.next().ok_or_else(|| {
            let depth = self.arrived.depth.saturating_add(1);
            too_deep(depth, self.arrived.max_depth)
        })?;
        let max_calls = self.arrived.max_calls;
        let count = |calls: u32| (calls < max_calls).then_some(calls + 1);
        let counted = self
            .calls
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
        counted.map_err(|calls| LimitExceeded {
            what: "calling other agents in one turn".to_owned(),
            limit: "max_calls_per_turn",
            allowed: max_calls as usize,
            found: calls as usize + 1,
        })?;
        Ok(next)
    }
}

impl Turn {
    /// Sends a message to another agent and waits until its task has come to rest; the same as
    /// [`Client::send`], with two things more:
    ///
    /// * A cancel of this task, or a stop of this server, cancels the other agent's task.
    /// * The other agent learns how far the message was handed on ([`Turn::hand_on`]), so that
    ///   agents that call each other in a circle stop at `max_delegation_depth`.
    ///
    /// A task that failed or asks something is an answer: see [`Reply::state`].
    ///
    /// ```no_run
    /// use llamon_client::Client;
    /// use llamon_server::{AgentError, Turn};
    ///
    /// async fn translate_and_count(turn: Turn, translator: &Client) -> Result<String, AgentError> {
    ///     let reply = turn.call(translator, turn.query()).await?;
    ///     Ok(format!("{} letters", reply.text().chars().count()))
    /// }
    /// ```
    ///
    /// It is attempted once. When the future is dropped, the other agent's task runs on.
    ///
    /// # Errors
    /// When a limit is exceeded (the task ends FAILED naming it, unless the agent goes on), and
    /// when there is no answer: the text says which of the reasons it is, without addresses.
    pub async fn call(
        &self,
        agent: &Client,
        message: impl Into<Outgoing>,
    ) -> Result<Reply, AgentError> {
        let message = self.hand_on(message)?;
        let called = if agent.card().capabilities.streaming {
            self.call_and_follow(agent, message).await
        } else {
            self.call_and_poll(agent, message).await
        };
        called.map_err(remote_failed)
    }

    /// The message with what the next agent has to know: how many agents have handed it on, and
    /// how much further it may go ([`llamon_core::delegation`]). For calls that are not made with
    /// [`Turn::call`], such as streams. Each counts as a call of this turn.
    ///
    /// # Errors
    /// When it would go deeper than `max_delegation_depth`, or when the turn has made as many calls
    /// as `max_calls_per_turn`, here or at an agent before this one. The error's text is for the
    /// caller.
    pub fn hand_on(&self, message: impl Into<Outgoing>) -> Result<Outgoing, AgentError> {
        Ok(message.into().handed_on(self.next_delegation()?))
    }

    /// How far the message was handed on before it came here, within the limits of this server.
    pub fn delegation(&self) -> Delegation {
        self.0.handing_on.arrived
    }

    /// What the next agent is told.
    pub(crate) fn next_delegation(&self) -> Result<Delegation, AgentError> {
        self.0.handing_on.next().map_err(AgentError::limit)
    }

    async fn call_and_follow(
        &self,
        agent: &Client,
        message: Outgoing,
    ) -> Result<Reply, ClientError> {
        let mut stream = agent.stream(message).await?;
        let mut canceling = false;
        loop {
            let task_id = stream.task_id().map(str::to_owned);
            tokio::select! {
                biased;
                event = stream.next() => match event {
                    Some(event) => event.map(drop)?,
                    None => return stream.finish().await,
                },
                () = self.cancelled(), if !canceling && task_id.is_some() => {
                    canceling = true;
                    cancel(agent, task_id.as_deref().unwrap_or_default()).await;
                }
            }
        }
    }

    async fn call_and_poll(&self, agent: &Client, message: Outgoing) -> Result<Reply, ClientError> {
        // With the task's id in hand a cancel can be passed on.
        let mut reply = agent.send(message.return_immediately()).await?;
        let mut pause = PAUSE;
        let mut canceling = false;
        loop {
            let task_id = match reply.task() {
                Some(task) if !task.status.state.is_settled() => Arc::clone(&task.id),
                _ => return Ok(reply),
            };
            tokio::select! {
                biased;
                () = self.cancelled(), if !canceling => {
                    canceling = true;
                    cancel(agent, &task_id).await;
                }
                () = tokio::time::sleep(pause) => {
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
            let task = agent.get(&task_id).await?;
            reply = SendResult::Task(Arc::new(task)).into();
        }
    }
}

async fn cancel(agent: &Client, task_id: &str) {
    if let Err(error) = agent.cancel(task_id).await {
        // It may have ended just now, which is to be read then.
        tracing::warn!(remote = task_id, %error, "the remote task could not be canceled");
    }
}

/// The error of a call of another agent, for the caller: what went wrong, without addresses.
pub(crate) fn remote_failed(error: ClientError) -> AgentError {
    tracing::warn!(%error, "the remote agent could not be called");
    let text = if let Some(error) = error.protocol() {
        format!("the remote agent refused: {error}")
    } else if error.is_connect() {
        "the remote agent cannot be reached; send the message again later".to_owned()
    } else if error.is_timeout() {
        "the remote agent did not answer in time; its task may run on".to_owned()
    } else if error.is_disconnected() || error.is_interrupted_stream() {
        "the connection to the remote agent was lost; its task may run on".to_owned()
    } else {
        return error.into();
    };
    AgentError::public(text)
}
