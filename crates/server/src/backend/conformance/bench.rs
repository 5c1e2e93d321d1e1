//! What the checks need again and again.

use std::sync::Arc;

use llamon_core::a2a::{
    Artifact, ArtifactUpdate, ListTasksRequest, Message, PushConfig, Role, StatusUpdate,
    StreamEvent, Task, TaskFold, TaskState, TaskStatus,
};
use llamon_core::{Part, Timestamp};

use super::Subject;
use crate::backend::{
    Backend, Commit, Committed, Created, Fence, Generation, LogCursor, MessageKey, NewTask,
    NewWork, ReadFrom, StoreError, Visibility, Worker,
};
use crate::scope::Scope;

/// A backend with a worker.
pub(super) struct Bench {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) worker: Arc<Worker>,
    pub(super) scope: Scope,
    subject: Subject,
}

impl std::ops::Deref for Bench {
    type Target = dyn Backend;

    fn deref(&self) -> &Self::Target {
        &*self.backend
    }
}

/// Where a turn writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pen {
    pub(super) generation: Generation,
    pub(super) fence: Fence,
}

impl Bench {
    pub(super) async fn new(subject: Subject) -> Self {
        let backend = Arc::clone(&subject.backend);
        Self {
            worker: backend.enlist().await.expect("a worker is enlisted"),
            scope: Scope::new("tenant", "somebody"),
            backend,
            subject,
        }
    }

    /// Lets go of everything, as a process that ends, and opens what was stored.
    pub(super) async fn reopen(self) -> Self {
        let reopen = self.subject.reopen.clone();
        let reopen = reopen.expect("a durable backend says how it is opened again");
        let (scope, keep) = (self.scope, self.subject.keep);
        drop((self.worker, self.backend, self.subject.backend));
        let mut subject = Subject::new(reopen().await);
        (subject.keep, subject.reopen) = (keep, Some(reopen));
        Self {
            scope,
            ..Self::new(subject).await
        }
    }

    /// A new task whose turn this bench's worker runs.
    pub(super) fn new_task(&self, id: &str) -> NewTask {
        NewTask {
            task: task(id),
            visibility: Visibility::Visible,
            work: NewWork {
                record: format!("record of {id}"),
                claimed_by: Some(self.worker.id().clone()),
            },
            push: None,
            once: None,
        }
    }

    pub(super) async fn begin(&self, id: &str) -> Pen {
        self.create_new(self.new_task(id)).await
    }

    pub(super) async fn create_new(&self, new: NewTask) -> Pen {
        match self.backend.create(&self.scope, new).await {
            Ok(Created::New { generation, fence }) => Pen { generation, fence },
            other => panic!("the task was not created: {other:?}"),
        }
    }

    /// A task that ended as completed.
    pub(super) async fn finished(&self, id: &str, millis: i64) {
        let mut pen = self.begin(id).await;
        pen.status(self, id, TaskState::Completed, millis).await;
    }

    pub(super) async fn try_commit(
        &self,
        id: &str,
        pen: Pen,
        events: Vec<StreamEvent>,
    ) -> Result<Committed, StoreError> {
        let commit = Commit::events(pen.generation, Some(pen.fence), events);
        self.backend.commit(&self.scope, id, commit).await
    }

    pub(super) async fn read(&self, id: &str) -> Task {
        let (task, _) = self.get(&self.scope, id).await.expect("the task is found");
        Task::clone(&task)
    }

    pub(super) async fn generation(&self, id: &str) -> Generation {
        self.get(&self.scope, id)
            .await
            .expect("the task is found")
            .1
    }

    pub(super) async fn follow_from(&self, id: &str, from: ReadFrom) -> (Task, Box<dyn LogCursor>) {
        let followed = self.follow(&self.scope, id, from).await;
        let (task, cursor) = followed.expect("the task can be followed");
        (Task::clone(&task), cursor)
    }

    pub(super) async fn list_all(&self, request: &ListTasksRequest) -> Vec<Arc<str>> {
        let page = self.list(&self.scope, request, 100).await;
        ids(&page.expect("a page").tasks)
    }

    /// Sweeps until there is nothing to do.
    pub(super) async fn sweep_all(&self) {
        while self.sweep(&self.worker).await.expect("a sweep") == crate::backend::Swept::More {}
    }
}

impl Pen {
    /// Commits, and goes on with what is there then.
    pub(super) async fn write(&mut self, bench: &Bench, id: &str, events: Vec<StreamEvent>) {
        match bench.try_commit(id, *self, events).await {
            Ok(Committed::New { generation, fence }) => *self = Self { generation, fence },
            other => panic!("the commit was not accepted: {other:?}"),
        }
    }

    pub(super) async fn status(&mut self, bench: &Bench, id: &str, state: TaskState, millis: i64) {
        self.write(bench, id, vec![status(id, state, millis)]).await;
    }
}

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_micros(millis * 1_000)
}

pub(super) fn task(id: &str) -> Task {
    let status = TaskStatus::new(TaskState::Submitted, at(1_000));
    let mut task = Task::new(id.into(), format!("context of {id}").into(), status);
    task.history
        .push(message(&format!("message of {id}"), "do it"));
    task
}

pub(super) fn message(id: &str, text: &str) -> Message {
    Message::new(id, Role::User, vec![Part::text(text)])
}

pub(super) fn status(id: &str, state: TaskState, millis: i64) -> StreamEvent {
    let status = TaskStatus::new(state, at(millis));
    StreamEvent::Status(StatusUpdate::new(
        id.into(),
        format!("context of {id}").into(),
        status,
    ))
}

pub(super) fn asks(id: &str, question: &str, millis: i64) -> StreamEvent {
    let mut status = TaskStatus::new(TaskState::InputRequired, at(millis));
    status.message = Some(Message::new(
        format!("question to {id}"),
        Role::Agent,
        vec![Part::text(question)],
    ));
    StreamEvent::Status(StatusUpdate::new(
        id.into(),
        format!("context of {id}").into(),
        status,
    ))
}

pub(super) fn artifact(id: &str, name: &str, parts: Vec<Part>, append: bool) -> StreamEvent {
    let artifact = Artifact::new(name, parts);
    let context = format!("context of {id}");
    let mut update = ArtifactUpdate::new(id.into(), context.into(), artifact);
    update.append = append;
    StreamEvent::Artifact(update)
}

/// A chunk of text of the artifact `response`.
pub(super) fn chunk(id: &str, text: &str, append: bool) -> StreamEvent {
    artifact(id, "response", vec![Part::text(text)], append)
}

pub(super) fn answer(text: &str) -> StreamEvent {
    let answer = Message::new("answer", Role::Agent, vec![Part::text(text)]);
    StreamEvent::Message(Arc::new(answer))
}

pub(super) fn key(id: &str, content: u8) -> MessageKey {
    MessageKey {
        message_id: id.into(),
        hash: [content; 32],
    }
}

/// A request for a list, with what `set` sets.
pub(super) fn asking_for(set: impl FnOnce(&mut ListTasksRequest)) -> ListTasksRequest {
    let mut request = ListTasksRequest::default();
    set(&mut request);
    request
}

pub(super) fn receiver(id: &str) -> Arc<PushConfig> {
    let url = format!("https://example.com/{id}");
    Arc::new(
        PushConfig::new(url)
            .with_id(id)
            .with_token("token")
            .with_authentication("Bearer", "secret"),
    )
}

pub(super) fn ids(tasks: &[Arc<Task>]) -> Vec<Arc<str>> {
    tasks.iter().map(|task| Arc::clone(&task.id)).collect()
}

/// The next events of a log, which are there or come soon.
pub(super) async fn next(cursor: &mut Box<dyn LogCursor>) -> Option<Vec<Arc<StreamEvent>>> {
    cursor.next().await.expect("the log can be read")
}

/// All events up to the end of the task.
pub(super) async fn to_end(cursor: &mut Box<dyn LogCursor>) -> Vec<Arc<StreamEvent>> {
    let mut events = Vec::new();
    while let Some(more) = next(cursor).await {
        assert!(!more.is_empty(), "a reading brings at least one event");
        events.extend(more);
    }
    events
}

/// Exactly so many events, or the task as it stands instead of some of them.
pub(super) async fn take(cursor: &mut Box<dyn LogCursor>, position: u64) -> Vec<Arc<StreamEvent>> {
    let mut events = Vec::new();
    while cursor.position().0 < position {
        events.extend(next(cursor).await.expect("the log goes on"));
    }
    assert_eq!(cursor.position().0, position, "the reader's place");
    events
}

/// A task and what followed.
pub(super) fn fold(task: Task, events: &[Arc<StreamEvent>]) -> Task {
    let mut fold = TaskFold::new(task);
    events.iter().for_each(|event| fold.apply(event));
    fold.into_task()
}

pub(super) fn state_of(events: &[Arc<StreamEvent>]) -> Vec<TaskState> {
    events.iter().filter_map(|event| event.state()).collect()
}
