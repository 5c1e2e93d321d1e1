//! How a turn writes: one writer at a time, and on a durable backend in gathered commits.

use std::time::Duration;

use llamon_core::a2a::{EventGather, StreamEvent, TaskState};
use llamon_core::{LimitExceeded, Limits, Payload};
use tokio::sync::MutexGuard;
use tokio::time::Instant;

use super::Turn;
use super::begin::{Begin, Working};
use crate::agent_error::AgentError;
use crate::backend::{Commit, Committed, Durability, Generation, StoreError};
use crate::composer::Current;

/// How long chunks are gathered before they are stored.
const GATHER_TIME: Duration = Duration::from_millis(50);
/// How many bytes are gathered before they are stored.
const GATHER_BYTES: usize = 16 * 1024;
/// How many events are gathered before they are stored.
const GATHER_EVENTS: usize = 1_000;
/// How long to wait before the store is tried again, after it has failed.
const RETRIES: [Duration; 7] = [
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// What has been written of the turn.
pub(super) struct Output {
    pub(super) generation: Generation,
    pub(super) working: Working,
    pub(super) current: Current,
    pub(super) artifacts: usize,
    pub(super) named: usize,
    /// A limit that was exceeded: the answer has lost something and cannot complete.
    pub(super) exceeded: Option<LimitExceeded>,
    /// Why the answer cannot be given, whatever the agent makes of the error.
    pub(super) refused: Option<&'static str>,
    /// Whether what is shown now was shown before the question that the turn continues from.
    pub(super) muted: bool,
    pub(super) ended: bool,
    /// What the status that completes the task says.
    pub(super) closing: Option<Payload>,
    waiting: EventGather,
    waiting_events: usize,
    stored_at: Option<Instant>,
    /// Whether somebody will store what waits.
    timer: bool,
    /// What was to be shown could not be stored.
    lost: Option<StoreError>,
    pub(super) store_failed: bool,
}

impl Output {
    pub(super) fn new(begin: &Begin) -> Self {
        Self {
            generation: begin.generation,
            working: begin.working,
            current: Current::default(),
            artifacts: begin.artifacts,
            named: 0,
            exceeded: None,
            refused: None,
            muted: false,
            ended: false,
            closing: None,
            waiting: EventGather::default(),
            waiting_events: 0,
            stored_at: None,
            timer: false,
            lost: None,
            store_failed: false,
        }
    }

    pub(super) fn check_open(&mut self) -> Result<(), AgentError> {
        if self.ended {
            return Err(AgentError::ended());
        }
        if let Some(exceeded) = &self.exceeded {
            return Err(AgentError::limit(exceeded.clone()));
        }
        self.lost.take().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Remembers an exceeded limit: an agent that ignores the error must not complete.
    pub(super) fn note<T>(&mut self, result: Result<T, LimitExceeded>) -> Result<T, AgentError> {
        result.map_err(|exceeded| {
            self.exceeded = Some(exceeded.clone());
            AgentError::limit(exceeded)
        })
    }

    pub(super) fn check_artifact_count(&mut self, limits: &Limits) -> Result<(), AgentError> {
        if self.current.has_emitted() {
            return Ok(());
        }
        let room = self.check_artifact_room(limits);
        self.note(room)
    }

    pub(super) fn check_artifact_room(&mut self, limits: &Limits) -> Result<(), LimitExceeded> {
        if self.artifacts >= limits.max_artifacts {
            return Err(LimitExceeded {
                what: "the task".to_owned(),
                limit: "max_artifacts",
                allowed: limits.max_artifacts,
                found: self.artifacts + 1,
            });
        }
        self.artifacts += 1;
        Ok(())
    }
}

impl Turn {
    /// Writes what the agent shows; on a durable backend together with what comes right after it.
    ///
    /// Cancel-safe: once it is polled, the event is in the output whatever happens to the future.
    pub(super) async fn write(
        &self,
        mut output: MutexGuard<'_, Output>,
        event: StreamEvent,
    ) -> Result<(), AgentError> {
        if self.0.shared.durability == Durability::Volatile {
            let written = self.commit(&mut output, vec![event]).await;
            return noted(&mut output, written);
        }
        output.waiting.push(event);
        output.waiting_events += 1;
        let due = output.waiting.bytes() >= GATHER_BYTES
            || output.waiting_events >= GATHER_EVENTS
            || output
                .stored_at
                .is_none_or(|at| at.elapsed() >= GATHER_TIME);
        if due {
            drop(output);
            // As a task of its own: an agent that drops its `emit` half way loses nothing.
            let stored = tokio::spawn(self.clone().store_now()).await;
            return stored.unwrap_or_else(|error| Err(error.into()));
        }
        if !std::mem::replace(&mut output.timer, true) {
            let turn = self.clone();
            let at = output
                .stored_at
                .map_or_else(Instant::now, |at| at + GATHER_TIME);
            tokio::spawn(async move {
                tokio::time::sleep_until(at).await;
                turn.store_late().await;
            });
        }
        Ok(())
    }

    /// Stores what waits.
    async fn store_now(self) -> Result<(), AgentError> {
        let mut output = self.0.output.lock().await;
        if output.waiting.is_empty() {
            return Ok(());
        }
        let stored = self.commit(&mut output, Vec::new()).await;
        noted(&mut output, stored)
    }

    /// Stores what waits, when its time has come.
    async fn store_late(&self) {
        let mut output = self.0.output.lock().await;
        output.timer = false;
        if output.ended || output.waiting.is_empty() {
            return;
        }
        let stored = self.commit(&mut output, Vec::new()).await;
        if noted(&mut output, stored.clone()).is_err() && !output.ended {
            // The agent learns of it when it says something more.
            output.lost = stored.err();
        }
    }

    /// Ends the turn.
    pub(super) async fn end(
        &self,
        output: &mut Output,
        events: Vec<StreamEvent>,
    ) -> Result<(), StoreError> {
        self.commit(output, events).await?;
        output.ended = true;
        Ok(())
    }

    /// Stores what waits, and the events after it, in one commit.
    ///
    /// A durable store that fails is tried again for some seconds, so that a disk that is full or
    /// slow for a moment fails no turn.
    pub(super) async fn commit(
        &self,
        output: &mut Output,
        events: Vec<StreamEvent>,
    ) -> Result<(), StoreError> {
        let mut events = if output.waiting.is_empty() {
            events
        } else {
            let mut all = output.waiting.take();
            output.waiting_events = 0;
            all.extend(events);
            all
        };
        let is_output = events.iter().all(|event| event.state().is_none());
        let is_message = matches!(events.first(), Some(StreamEvent::Message(_)));
        if output.working != Working::Said && is_output && !is_message {
            output.working = Working::Said;
            events.insert(0, self.status_event(TaskState::Working, None));
        }
        let begin = &self.0.begin;
        let commit = Commit::events(output.generation, Some(begin.fence), events);
        let backend = &self.0.shared.backend;
        let committed = match self.0.shared.durability {
            Durability::Volatile => backend.commit(&begin.scope, &begin.task_id, commit).await?,
            Durability::Durable => match self.commit_patiently(&commit).await {
                Ok(committed) => {
                    output.stored_at = Some(Instant::now());
                    committed
                }
                Err(error) => {
                    output.store_failed |= error.is_temporary();
                    // The task is being canceled: what was to be shown before still is.
                    let shown = commit
                        .events
                        .into_iter()
                        .filter(|event| event.state().is_none());
                    shown.for_each(|event| output.waiting.push(event));
                    return Err(error);
                }
            },
        };
        if let Committed::New { generation, .. } = committed {
            output.generation = generation;
        }
        Ok(())
    }

    async fn commit_patiently(&self, commit: &Commit) -> Result<Committed, StoreError> {
        let begin = &self.0.begin;
        let backend = &self.0.shared.backend;
        let mut retries = RETRIES.iter();
        let mut uncertain = false;
        loop {
            let tried = backend
                .commit(&begin.scope, &begin.task_id, commit.clone())
                .await;
            match (tried, retries.next()) {
                (Err(error @ (StoreError::Failed(_) | StoreError::NoSpace(_))), Some(wait)) => {
                    tracing::warn!(task = %begin.task_id, %error, "the store is tried again");
                    uncertain |= matches!(error, StoreError::Failed(_));
                    tokio::time::sleep(*wait).await;
                }
                // Only this attempt can have written: its fence is the present one. So what made
                // the generation grow is the commit whose success got lost.
                (Err(StoreError::Conflict), _) if uncertain => {
                    let (_, generation) = backend.get(&begin.scope, &begin.task_id).await?;
                    if generation.0 == commit.expect.0 + 1 {
                        return Ok(Committed::New {
                            generation,
                            fence: begin.fence,
                        });
                    }
                    return Err(StoreError::Conflict);
                }
                // The same for a commit that has ended the turn.
                (Err(StoreError::Terminal | StoreError::Fenced | StoreError::NotFound), _)
                    if uncertain && ends(commit) =>
                {
                    return Ok(Committed::Repeated);
                }
                (tried, _) => return tried,
            }
        }
    }
}

/// Whether the commit ends the turn.
fn ends(commit: &Commit) -> bool {
    commit.events.iter().any(|event| {
        matches!(event, StreamEvent::Message(_)) || event.state().is_some_and(TaskState::is_settled)
    })
}

/// What became of a write, for the agent: a turn that has ended under its hands is ended.
fn noted(output: &mut Output, written: Result<(), StoreError>) -> Result<(), AgentError> {
    match written {
        Ok(()) => Ok(()),
        Err(StoreError::Terminal | StoreError::NotFound | StoreError::Fenced) => {
            output.ended = true;
            Err(AgentError::ended())
        }
        Err(error) => Err(error.into()),
    }
}
