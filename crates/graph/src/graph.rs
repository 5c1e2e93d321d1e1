//! A graph that can run.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use tokio::sync::mpsc;

use crate::builder::StateGraph;
use crate::context::RunEnv;
use crate::event::{Emitter, Event};
use crate::interrupt::{Answers, Outcome, Resume};
use crate::plan::Plan;
use crate::route::START;
use crate::run::{self, End, Point, Run};
use crate::said::{SAID, Said};
use crate::saver::{Saved, Saver, Source};
use crate::snapshot::{self, Snapshot};
use crate::{GraphError, GraphState, NodeContext, NodeError, RunConfig};

/// A graph that can run, made by [`StateGraph::compile`]. Clones are cheap and share it.
pub struct Graph<S: GraphState, O = S> {
    pub(crate) plan: Arc<Plan<S>>,
    saver: Option<Arc<dyn Saver>>,
    output: PhantomData<fn() -> O>,
}

/// How many events may wait for the reader of a stream; then who tells waits, too.
const EVENTS: usize = 64;

impl<S: GraphState, O> Graph<S, O>
where
    O: From<S> + Send + 'static,
{
    pub(crate) fn new(graph: StateGraph<S, O>) -> Self {
        Self {
            plan: Arc::new(Plan::new(graph)),
            saver: None,
            output: PhantomData,
        }
    }

    /// The same with a saver: it keeps threads, can ask and be resumed.
    #[must_use]
    pub fn with_saver(mut self, saver: impl Saver) -> Self {
        self.saver = Some(Arc::new(saver));
        self
    }

    /// The graph's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// Whether it has a saver.
    #[must_use]
    pub fn has_saver(&self) -> bool {
        self.saver.is_some()
    }

    /// Whether it stops before or after nodes, by `interrupt_before` or `interrupt_after`.
    #[must_use]
    pub fn has_static_interrupts(&self) -> bool {
        !self.plan.interrupt_before.is_empty() || !self.plan.interrupt_after.is_empty()
    }

    /// Runs with an input, which is merged into what the thread has.
    ///
    /// When the future is dropped, the run stops where it is: what was kept is kept, and
    /// `Resume::proceed()` goes on.
    ///
    /// # Errors
    /// When the run does not come to an end or to a question, and while the thread has open questions
    /// (unless the config names a checkpoint to begin at).
    pub async fn invoke(
        &self,
        input: impl Into<S::Update>,
        config: RunConfig,
    ) -> Result<Outcome<O>, GraphError> {
        self.start(input.into(), config, Emitter::none()).await
    }

    /// Goes on where a run stopped. Dropped, it stops again.
    ///
    /// # Errors
    /// When the run does not come to an end or to a question, and when `resume` does not fit what the
    /// thread waits for; then nothing has happened.
    pub async fn resume(
        &self,
        resume: Resume,
        config: RunConfig,
    ) -> Result<Outcome<O>, GraphError> {
        self.go_on(resume, config, Emitter::none()).await
    }

    /// [`invoke`](Self::invoke), told as it goes on. The run only goes on while the stream is read.
    pub fn stream(&self, input: impl Into<S::Update>, config: RunConfig) -> GraphStream<O> {
        let (graph, input) = (self.clone(), input.into());
        GraphStream::new(&config.clone(), move |events| {
            async move { graph.start(input, config, events).await }.boxed()
        })
    }

    /// [`resume`](Self::resume), told as it goes on. The run only goes on while the stream is read.
    pub fn stream_resume(&self, resume: Resume, config: RunConfig) -> GraphStream<O> {
        let graph = self.clone();
        GraphStream::new(&config.clone(), move |events| {
            async move { graph.go_on(resume, config, events).await }.boxed()
        })
    }

    /// What a thread has now, or had at the config's checkpoint; `None` for a thread that never ran.
    ///
    /// # Errors
    /// Without a saver or a thread, and when the saver fails.
    pub async fn state(&self, config: &RunConfig) -> Result<Option<Snapshot<S>>, GraphError> {
        let env = self.env(config, Emitter::none())?;
        let id = config.checkpoint.as_deref();
        self.saver_or("look at what a thread has")?;
        let saved = run::load(&env, &config.namespace, id).await?;
        let snapshot = |saved| snapshot::of(&self.plan, saved, id.is_none());
        saved.map(snapshot).transpose()
    }

    /// All that a thread had, newest first.
    ///
    /// # Errors
    /// Without a saver or a thread, and when the saver fails.
    pub async fn history(&self, config: &RunConfig) -> Result<Vec<Snapshot<S>>, GraphError> {
        let env = self.env(config, Emitter::none())?;
        let saver = self.saver_or("look at what a thread had")?;
        let saved = saver.list(&env.thread, &config.namespace).await?;
        let snapshots = saved.into_iter();
        let snapshots = snapshots.map(|saved| snapshot::of(&self.plan, saved, false));
        snapshots.collect()
    }

    /// What nodes have said in the thread's runs that have the config's metadata, oldest super-step
    /// first. A node's text is kept when it ends or asks, together with that; so after a crash this is
    /// all that will not be said again.
    ///
    /// # Errors
    /// Without a saver or a thread, and when the saver fails.
    pub async fn said(&self, config: &RunConfig) -> Result<Vec<Said>, GraphError> {
        let env = self.env(config, Emitter::none())?;
        let saver = self.saver_or("know what was said in a thread")?;
        let saved = saver.list(&env.thread, &config.namespace).await?;
        let mut said = Vec::new();
        for write in saved.iter().rev().flat_map(|saved| &saved.writes) {
            if &*write.slot == SAID {
                let text = write.value.get::<Said>().map_err(run::unfit_state)?;
                if text.metadata == config.metadata {
                    said.push(Arc::unwrap_or_clone(text));
                }
            }
        }
        Ok(said)
    }

    /// Writes to a thread by hand, in the name of a node: what comes after that node comes next, and
    /// open questions are gone. Without a name it is the node that ran last. Gives back the id of the
    /// new checkpoint.
    ///
    /// With the config's checkpoint, the new one is a fork of that one.
    ///
    /// # Errors
    /// Without a saver or a thread, for a name that is unknown, and when several nodes ran last and
    /// none is named.
    pub async fn update_state(
        &self,
        config: &RunConfig,
        update: impl Into<S::Update>,
        as_node: Option<&str>,
    ) -> Result<String, GraphError> {
        let env = self.env(config, Emitter::none())?;
        self.saver_or("keep what is written to a thread")?;
        let saved = run::load(&env, &config.namespace, config.checkpoint.as_deref()).await?;
        let (at, writes) = match saved {
            Some(saved) => (Point::of(saved.checkpoint)?, saved.writes),
            None => (Point::fresh().with_step(-1), Vec::new()),
        };
        let node = match (as_node, &at.from[..]) {
            (Some(node), _) => node.to_owned(),
            (None, [node]) => node.clone(),
            (None, []) => START.to_owned(),
            (None, nodes) => {
                return Err(GraphError::Thread(format!(
                    "the nodes {} ran last; name one of them, or another one, for the update",
                    crate::error::quoted(nodes)
                )));
            }
        };
        let update = update.into();
        let record = run::by_hand(&self.plan, &at, &config.namespace, &writes, &node, &update)?;
        let mut at = at.after(&self.plan, &node, update, Source::Update)?;
        run::put_in_place(&env, &config.namespace, &mut at, &writes, record).await?;
        Ok(at.id.to_string())
    }

    /// Gives up what a thread has open: questions, stops, nodes that failed or did not run. The state
    /// stays, and the thread takes new input.
    ///
    /// # Errors
    /// Without a saver or a thread, and for a thread that never ran.
    pub async fn abandon(&self, config: &RunConfig) -> Result<(), GraphError> {
        let env = self.env(config, Emitter::none())?;
        self.saver_or("give up what a thread has open")?;
        let saved = run::load(&env, &config.namespace, config.checkpoint.as_deref()).await?;
        let Some(saved) = saved else {
            return Err(never_ran(&env.thread));
        };
        let mut at = Point::<S>::of(saved.checkpoint)?;
        at.next.clear();
        at.joins.clear();
        at.step += 1;
        at.source = Source::Update;
        run::put(&env, &config.namespace, &mut at, Vec::new()).await
    }

    async fn start(
        &self,
        input: S::Update,
        config: RunConfig,
        events: Emitter,
    ) -> Result<Outcome<O>, GraphError> {
        let env = self.env(&config, events)?;
        let saved = run::load(&env, &config.namespace, config.checkpoint.as_deref()).await?;
        if let (Some(saved), None) = (&saved, &config.checkpoint) {
            refuse_input::<S>(&env.thread, saved)?;
        }
        let run = Run::begin(&self.plan, Arc::new(env), config.namespace, saved, input).await?;
        Ok(outcome(run.run().await?))
    }

    async fn go_on(
        &self,
        resume: Resume,
        config: RunConfig,
        events: Emitter,
    ) -> Result<Outcome<O>, GraphError> {
        let mut env = self.env(&config, events)?;
        self.saver_or("resume what is not kept")?;
        let namespace = config.namespace;
        let saved = run::load(&env, &namespace, config.checkpoint.as_deref()).await?;
        let Some(saved) = saved else {
            return Err(never_ran(&env.thread));
        };
        let mut is_fork = false;
        if config.checkpoint.is_some() && resume.0 == Answers::None {
            let newest = run::load(&env, &namespace, None).await?;
            is_fork = newest.is_none_or(|newest| newest.checkpoint.key != saved.checkpoint.key);
        }
        let answers = match is_fork && !saved.checkpoint.body.next.is_empty() {
            true => Vec::new(),
            false => run::resume::<S::Update>(&env.thread, &saved, resume)?,
        };
        let mut at = Point::of(saved.checkpoint)?;
        let mut writes = saved.writes;
        if is_fork {
            // All that comes after the old point runs again.
            at.step += 1;
            at.source = Source::Fork;
            writes = run::put_in_place(&env, &namespace, &mut at, &writes, Vec::new()).await?;
        }
        let key = at.key(&env, &namespace);
        run::keep(&env, &key, run::answer_writes(&answers)).await?;
        env.answers = run::answers(&writes)?;
        env.answers.extend(answers);
        let run = Run::new(&self.plan, Arc::new(env), namespace, at, writes);
        Ok(outcome(run.run().await?))
    }

    fn env(&self, config: &RunConfig, events: Emitter) -> Result<RunEnv, GraphError> {
        let thread = match (&config.thread, &self.saver) {
            (Some(thread), _) => thread.clone(),
            (None, None) => "".into(),
            (None, Some(_)) => {
                return Err(GraphError::Thread(format!(
                    "graph {:?} has a saver, and the run says no thread to keep it under; give one with \
                     `RunConfig::thread(\"id\")`",
                    self.plan.name
                )));
            }
        };
        Ok(RunEnv {
            thread,
            saver: self.saver.clone(),
            events,
            answers: HashMap::new(),
            metadata: config.metadata.clone(),
            recursion_limit: config.recursion_limit,
            max_concurrency: config.max_concurrency,
        })
    }

    fn saver_or(&self, why: &str) -> Result<&Arc<dyn Saver>, GraphError> {
        self.saver.as_ref().ok_or_else(|| {
            GraphError::Thread(format!(
                "graph {:?} has no saver, and cannot {why}; give it one with `.with_saver(...)`",
                self.plan.name
            ))
        })
    }
}

impl NodeContext {
    /// Runs another graph as part of this node, as a subgraph: with this graph's saver and events,
    /// under a namespace of its own. Its questions are this node's: when they are answered, this node
    /// runs again from its top, and the other graph goes on inside.
    ///
    /// Runs of graphs are told apart by the order of the calls, so that must be the same each time.
    ///
    /// # Errors
    /// When the graph fails, and while it waits; return the error.
    pub async fn run<C, P>(
        &self,
        graph: &Graph<C, P>,
        input: impl Into<C::Update>,
    ) -> Result<P, NodeError>
    where
        C: GraphState,
        P: From<C>,
    {
        let namespace = self.inner_namespace();
        let run = Run::nested(&graph.plan, self.0.run.clone(), namespace, input.into());
        match run.await? {
            End::Finished(state) => Ok(Arc::unwrap_or_clone(state).into()),
            End::Interrupted { interrupts, .. } => {
                let mut progress = self.progress();
                progress.stopped = true;
                progress.open.extend(interrupts);
                Err(NodeError::interrupted())
            }
        }
    }
}

fn outcome<S: GraphState, O: From<S>>(end: End<S>) -> Outcome<O> {
    match end {
        End::Finished(state) => Outcome::Finished(Arc::unwrap_or_clone(state).into()),
        End::Interrupted {
            state,
            interrupts,
            next,
        } => Outcome::Interrupted {
            state: Arc::unwrap_or_clone(state).into(),
            interrupts,
            next,
        },
    }
}

/// New input would drop questions that somebody is about to answer.
fn refuse_input<S: GraphState>(thread: &str, saved: &Saved) -> Result<(), GraphError> {
    let open = run::open_questions::<S::Update>(&saved.writes)?;
    let waits = if !open.is_empty() {
        let ids = crate::error::quoted(open.iter().map(|open| &open.id));
        format!("waits for answers to {ids}; answer them with `resume`")
    } else if run::is_stopped(&saved.writes) {
        let next = crate::error::quoted(run::names(&saved.checkpoint.body.next));
        format!("has stopped, with {next} next; go on with `Resume::proceed()`")
    } else {
        return Ok(());
    };
    Err(GraphError::Thread(format!(
        "thread {thread:?} takes no new input now, because it {waits}, or drop what is open with \
         `graph.abandon(..)`"
    )))
}

fn never_ran(thread: &str) -> GraphError {
    GraphError::Thread(format!(
        "thread {thread:?} has never run, and there is nothing to go on with; begin with `invoke` or \
         `stream`"
    ))
}

impl<S: GraphState, O> Clone for Graph<S, O> {
    fn clone(&self) -> Self {
        Self {
            plan: self.plan.clone(),
            saver: self.saver.clone(),
            output: PhantomData,
        }
    }
}

impl<S: GraphState, O> fmt::Debug for Graph<S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("name", &self.plan.name)
            .finish_non_exhaustive()
    }
}

/// The events of a run, in order; then [`outcome`](Self::outcome) says how it ended.
///
/// It is the run: while it is not read the run waits, and dropping it stops the run. Reading is
/// cancel-safe.
#[must_use = "the run only goes on while its stream is read"]
pub struct GraphStream<O> {
    /// Until it has ended.
    run: Option<BoxFuture<'static, Result<Outcome<O>, GraphError>>>,
    events: mpsc::Receiver<Event>,
    outcome: Option<Result<Outcome<O>, GraphError>>,
}

impl<O> GraphStream<O> {
    fn new(
        config: &RunConfig,
        run: impl FnOnce(Emitter) -> BoxFuture<'static, Result<Outcome<O>, GraphError>>,
    ) -> Self {
        let (sender, events) = mpsc::channel(EVENTS);
        Self {
            run: Some(run(Emitter::new(sender, config.modes.clone()))),
            events,
            outcome: None,
        }
    }

    /// How the run ended, after reading what is left of its events.
    ///
    /// Not cancel-safe: the run stops with it.
    ///
    /// # Errors
    /// As `invoke` and `resume`.
    pub async fn outcome(mut self) -> Result<Outcome<O>, GraphError>
    where
        O: Unpin,
    {
        while self.next().await.is_some() {}
        self.outcome.unwrap_or_else(|| {
            let message = "the run panicked while it was read".to_owned();
            Err(GraphError::Panic(message))
        })
    }
}

impl<O: Unpin> Stream for GraphStream<O> {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        let Some(run) = &mut this.run else {
            return Poll::Ready(this.events.try_recv().ok());
        };
        if let Poll::Ready(Some(event)) = this.events.poll_recv(cx) {
            return Poll::Ready(Some(event));
        }
        match run.as_mut().poll(cx) {
            Poll::Ready(outcome) => {
                this.outcome = Some(outcome);
                this.run = None;
                // Who still holds a context speaks to nobody. Nothing is waited for any more, and so
                // not by `poll_recv`, which may say that it is not ready although events are there.
                this.events.close();
                Poll::Ready(this.events.try_recv().ok())
            }
            Poll::Pending => match this.events.poll_recv(cx) {
                Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
                // The run has dropped its sender and is about to end; it wakes this task.
                Poll::Ready(None) | Poll::Pending => Poll::Pending,
            },
        }
    }
}

impl<O> fmt::Debug for GraphStream<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphStream").finish_non_exhaustive()
    }
}
