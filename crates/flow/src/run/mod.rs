//! Runs plans: what is decided, sent and answered is stored as it happens, so that any process can
//! go on with a run after any stop.
//!
//! What a step receives is decided in [`data`](crate::data); what is decided here is only *when*.

mod agents;
mod call;
mod drive;
mod error;
mod progress;
mod recover;
mod settings;
mod state;

use std::sync::Arc;

use llamon_client::trace::{TraceContext, within};
use llamon_core::delegation::Delegation;
use llamon_core::{Part, Payload};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use error::RunError;
pub use progress::{Progress, Watch};
pub use settings::{Open, RunnerSettings};

use crate::data::Answers;
use crate::plan::Plan;
use crate::store::{CallId, RunState, RunStore, StoredRun};
use agents::Agents;
use drive::Drive;

/// Runs plans, with their runs in a [`RunStore`]. Cloning it is cheap, and clones share the
/// connections to agents.
#[derive(Clone, Debug)]
pub struct Runner {
    store: RunStore,
    /// What agents are told of how far the run's input was handed on.
    delegation: Option<Delegation>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: RunnerSettings,
    agents: Agents,
    /// One permit for each call that is being made.
    places: Arc<Semaphore>,
}

/// How far a run came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Stand {
    /// It is at rest, and this is what its outputs answered.
    Ended {
        /// Completed, failed or canceled.
        state: RunState,
        /// Why it failed.
        reason: Option<String>,
        /// The answer of the plan's outputs, as far as they have one.
        answer: Payload,
    },
    /// Nothing is left to do before somebody answers these calls' questions.
    Waiting(Vec<CallId>),
    /// It was told to stop; tasks of agents run on, and the next [`Runner::drive`] finds them.
    Parked,
}

impl Runner {
    /// A runner with the default settings.
    pub fn new(store: RunStore) -> Self {
        Self::with_settings(store, RunnerSettings::default())
    }

    /// A runner.
    pub fn with_settings(store: RunStore, settings: RunnerSettings) -> Self {
        let shared = Shared {
            agents: Agents::new(settings.client.clone()),
            places: Arc::new(Semaphore::new(settings.max_calls)),
            settings,
        };
        Self {
            store,
            delegation: None,
            shared: Arc::new(shared),
        }
    }

    /// The same runner for a run whose input was handed on: agents are told this with each message.
    #[must_use]
    pub fn handing_on(&self, delegation: Delegation) -> Self {
        Self {
            delegation: Some(delegation),
            ..self.clone()
        }
    }

    /// The store.
    pub fn store(&self) -> &RunStore {
        &self.store
    }

    /// An id that no run has: 12 hexadecimal digits.
    pub fn new_id() -> String {
        let mut id = uuid::Uuid::new_v4().simple().to_string();
        id.truncate(12);
        id
    }

    /// Stores a new run, and returns its id. Nothing is sent before [`Runner::drive`].
    ///
    /// # Errors
    /// When it cannot be stored.
    pub async fn begin(&self, plan: &Plan, input: Payload) -> Result<String, RunError> {
        let id = Self::new_id();
        self.begin_as(&id, plan, input).await?;
        Ok(id)
    }

    /// As [`Runner::begin`], with an id of the caller's choice: it is the beginning of the
    /// contextId of every call.
    ///
    /// # Errors
    /// When the id is empty or longer than 128 bytes, when there is a run of that id, and when it
    /// cannot be stored.
    pub async fn begin_as(&self, id: &str, plan: &Plan, input: Payload) -> Result<(), RunError> {
        if id.is_empty() || id.len() > MAX_RUN_ID_BYTES {
            return Err(RunError::usage(format!(
                "the run's id has {} bytes; it has at least 1 and at most {MAX_RUN_ID_BYTES}",
                id.len()
            )));
        }
        let input: Vec<Part> = input.into_parts();
        let begun = self.store.begin(id, plan.name(), plan.to_json(), input);
        Ok(begun.await?)
    }

    /// Runs a run until it is at rest, until only people can help it on, or until `stop` fires.
    /// One that has run before goes on where it was, whoever ran it.
    ///
    /// When the future is dropped, it is as if its process had died: nothing is lost, and the next
    /// one goes on.
    ///
    /// # Errors
    /// When there is no such run, when somebody else runs it, and when the store fails.
    pub async fn drive(
        &self,
        run: &str,
        watch: &dyn Watch,
        stop: &CancellationToken,
    ) -> Result<Stand, RunError> {
        let hold = self.store.hold(run)?;
        let Some(_hold) = hold else {
            return Err(RunError::held(run));
        };
        let stored = self.store.load(run).await?;
        let plan = read_plan(&stored)?;
        if stored.summary.state.is_at_rest() {
            return Ok(ended(&plan, &stored));
        }
        // The same trace, whichever process goes on with the run, unless it is part of another one.
        let trace = TraceContext::current().unwrap_or_else(|| trace_of(run));
        let span = tracing::info_span!("run", run, plan = plan.name());
        let drive = Drive::new(self, plan, stored, watch);
        within(Some(trace), span, drive.run(stop)).await
    }

    /// [`Runner::begin`] and [`Runner::drive`] in one, without anybody watching.
    ///
    /// # Errors
    /// As both.
    pub async fn run(&self, plan: &Plan, input: Payload) -> Result<(String, Stand), RunError> {
        let id = self.begin(plan, input).await?;
        let stand = self.drive(&id, &(), &CancellationToken::new()).await?;
        Ok((id, stand))
    }
}

/// The trace of a run that nobody's trace belongs to: `traceparent` of all calls names it.
///
/// ```
/// use llamon_flow::run::trace_of;
///
/// assert_eq!(trace_of("0c4f9e37a2b1").trace_id().len(), 32);
/// ```
pub fn trace_of(run: &str) -> TraceContext {
    TraceContext::of_name(run)
}

/// Bytes that a run's id may have: a contextId has the names of a step and an item behind it.
const MAX_RUN_ID_BYTES: usize = 128;

fn read_plan(stored: &StoredRun) -> Result<Plan, RunError> {
    Plan::from_yaml(&stored.plan).map_err(|error| {
        RunError::damaged(format!(
            "the plan of run {:?} is stored in a form that this program does not read: {error}",
            stored.summary.id
        ))
    })
}

/// The end of a run that ended before.
fn ended(plan: &Plan, stored: &StoredRun) -> Stand {
    let answers = state::answers(plan, stored);
    Stand::Ended {
        state: stored.summary.state,
        reason: stored.summary.reason.clone(),
        answer: plan.answer(&answers),
    }
}

/// What the steps of a run have answered so far, for pictures and reports.
///
/// # Errors
/// When the stored plan cannot be read.
pub fn answers(stored: &StoredRun) -> Result<(Plan, Answers), RunError> {
    let plan = read_plan(stored)?;
    let answers = state::answers(&plan, stored);
    Ok((plan, answers))
}
