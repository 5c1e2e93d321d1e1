//! Questions to people, and effects that must not happen twice.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use llamon_core::Part;
use llamon_core::a2a::TaskState;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::{Turn, Unanswered};
use crate::agent_error::AgentError;
use crate::hitl::{self, AskedQuestion, Conversation, NO_HITL, Question, Reply};

/// What a turn needs when its agent may ask.
pub(super) struct Asking {
    /// The turn that began with the message that the agent works on.
    run: usize,
    pub(super) answers: HashMap<String, String>,
    problem: Option<hitl::Problem>,
    state: Mutex<State>,
    /// Counts the agent's questions, in the order in which it asks.
    next: AtomicUsize,
    wake: Notify,
}

#[derive(Default)]
struct State {
    /// Questions whose answers the agent has had.
    answered: Vec<String>,
    /// Questions that wait for an answer.
    open: Vec<AskedQuestion>,
}

impl Asking {
    pub(super) fn new(conversation: Conversation) -> Self {
        Self {
            run: conversation.run,
            answers: conversation.answers.into_iter().collect(),
            problem: conversation.problem,
            state: Mutex::default(),
            next: AtomicUsize::new(0),
            wake: Notify::new(),
        }
    }

    pub(super) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Asks a person. The task ends INPUT_REQUIRED with the question; when the answer comes, in
    /// whatever process, the agent runs again from its beginning with the same message, and this
    /// call returns the answer at once.
    ///
    /// So what stands before the question runs again: it must do the same as before and ask the
    /// same questions in the same order. Effects that must not happen twice belong into
    /// [`Turn::once`]. Output from before the question is not sent again. Questions that are asked
    /// at the same time, with `join!` for instance, are open at the same time.
    ///
    /// Needs [`crate::ServerBuilder::hitl`]; without it the task fails and says so.
    ///
    /// Cancel-safe in the sense that a question that is not awaited to its end is still asked.
    ///
    /// # Errors
    /// When the server is not configured for it.
    pub async fn ask(&self, question: impl Into<Question>) -> Result<Reply, AgentError> {
        let Some(asking) = &self.0.asking else {
            self.0.output.lock().await.refused = Some(NO_HITL);
            return Err(AgentError::public(NO_HITL));
        };
        let index = asking.next.fetch_add(1, Ordering::Relaxed);
        let id = hitl::question_id(self.task_id(), asking.run, index);
        if let Some(answer) = asking.answers.get(&id) {
            let all_had = {
                let mut state = asking.state();
                state.answered.push(id);
                state.answered.len() == asking.answers.len()
            };
            if all_had {
                self.unmute().await;
            }
            return Ok(Reply::new(answer.as_str()));
        }
        asking
            .state()
            .open
            .push(AskedQuestion::new(id, question.into()));
        asking.wake.notify_one();
        pending().await
    }

    /// Does something that must not be done twice, such as a payment: the first time it runs
    /// `effect` and keeps the result with the task, and after that it returns what was kept, also
    /// in another attempt or after a question. `key` names the effect among those of the message.
    ///
    /// A process that dies between the effect and the keeping of its result does it again: make
    /// the effect idempotent by itself where that matters, with [`Turn::task_id`] and `key`.
    ///
    /// # Errors
    /// When the effect fails (nothing is kept then), when its result cannot be JSON or read back,
    /// and when it cannot be kept.
    pub async fn once<T, F>(&self, key: &str, effect: F) -> Result<T, AgentError>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T, AgentError>>,
    {
        let key = format!("{}/{key}", self.run());
        if let Some(value) = self.recall(&key).await? {
            return Ok(serde_json::from_str(&value)?);
        }
        let value = effect.await?;
        let json = Part::data(&value)?.content_json().to_owned();
        self.keep(&key, json).await?;
        Ok(value)
    }

    /// Whether the agent may ask.
    pub fn is_hitl(&self) -> bool {
        self.0.asking.is_some()
    }

    // === for the engine and for agents of the server's own ===

    /// The turn that began with the message that the agent works on.
    pub(crate) fn run(&self) -> usize {
        let asking = self.0.asking.as_ref();
        asking.map_or(self.0.begin.number, |asking| asking.run)
    }

    /// Resolves when the agent has asked something that has no answer yet.
    pub(crate) async fn asked(&self) {
        match &self.0.asking {
            Some(asking) => asking.wake.notified().await,
            None => pending().await,
        }
    }

    /// What the agent has asked; the turn ends with it.
    pub(crate) async fn end_with_questions(&self) -> Result<(), Unanswered> {
        let open = match &self.0.asking {
            Some(asking) => std::mem::take(&mut asking.state().open),
            None => Vec::new(),
        };
        self.end_asking(&open, None).await
    }

    /// Ends the turn with the same questions as before, if the message was no answer to them.
    pub(crate) async fn ask_again(&self) -> Option<Result<(), Unanswered>> {
        let problem = self.0.asking.as_ref()?.problem.as_ref()?;
        Some(self.end_asking(&problem.open, Some(&problem.reason)).await)
    }

    async fn end_asking(
        &self,
        open: &[AskedQuestion],
        reason: Option<&str>,
    ) -> Result<(), Unanswered> {
        let payload = hitl::payload(open, reason)
            .map_err(|_| Unanswered::Message("the agent asked what cannot be JSON"))?;
        let mut output = self.0.output.lock().await;
        let event = self.status_event(TaskState::InputRequired, Some(payload));
        Ok(self.end(&mut output, vec![event]).await?)
    }

    /// From here on, output is new: what came before had been sent before the question.
    pub(crate) async fn unmute(&self) {
        self.0.output.lock().await.muted = false;
    }
}
