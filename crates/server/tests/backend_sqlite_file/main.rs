//! What the store in a file does beside what every backend promises.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise, also in its helpers"
)]

mod care;
mod files;
mod parts;
mod processes;
mod retention;
mod space;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use futures_util::future::{join_all, poll_immediate};
use llamon_core::a2a::{
    Artifact, ArtifactUpdate, ListTasksRequest, Message, PushConfig, Role, StatusUpdate,
    StreamEvent, Task, TaskState, TaskStatus,
};
use llamon_core::{Part, Timestamp};
use llamon_server::backend::sqlite::{OpenError, SqliteOptions, SqliteStore, StoreFile};
use llamon_server::backend::{
    Backend, Commit, Committed, Created, Fence, Generation, NewTask, NewWork, Position,
    PushProgress, ReadFrom, Settled, StoreError, Swept, Visibility, Worker,
};
use llamon_server::{Clock, Scope};

static SCOPE: Scope = Scope::anonymous();

struct Folder {
    directory: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("tasks.db")
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(self.path()).unwrap()
    }
}

fn new_task(id: &str, worker: Option<&Worker>) -> NewTask {
    let status = TaskStatus::new(TaskState::Submitted, Timestamp::from_micros(1_000_000));
    let mut task = Task::new(id.into(), format!("context of {id}").into(), status);
    task.history = vec![Message::new("m", Role::User, vec![Part::text("do it")])];
    NewTask {
        task,
        visibility: Visibility::Visible,
        work: NewWork {
            record: "record".to_owned(),
            claimed_by: worker.map(|worker| worker.id().clone()),
        },
        push: None,
        once: None,
    }
}

fn status(id: &str, state: TaskState) -> StreamEvent {
    let status = TaskStatus::new(state, Timestamp::from_micros(2_000_000));
    StreamEvent::Status(StatusUpdate::new(id.into(), "c".into(), status))
}

fn chunk(id: &str, parts: Vec<Part>, append: bool) -> StreamEvent {
    let artifact = Artifact::new("response", parts);
    let mut update = ArtifactUpdate::new(id.into(), "c".into(), artifact);
    update.append = append;
    StreamEvent::Artifact(update)
}

fn text(id: &str, text: &str, append: bool) -> StreamEvent {
    chunk(id, vec![Part::text(text)], append)
}

async fn create(backend: &Arc<dyn Backend>, new: NewTask) -> (Generation, Fence) {
    match backend.create(&SCOPE, new).await {
        Ok(Created::New { generation, fence }) => (generation, fence),
        other => panic!("created: {other:?}"),
    }
}

async fn commit(
    backend: &Arc<dyn Backend>,
    id: &str,
    (generation, fence): (Generation, Fence),
    events: Vec<StreamEvent>,
) -> Result<(Generation, Fence), StoreError> {
    let commit = Commit::events(generation, Some(fence), events);
    match backend.commit(&SCOPE, id, commit).await? {
        Committed::New { generation, fence } => Ok((generation, fence)),
        Committed::Repeated => panic!("no message came before"),
    }
}

/// A task that ended, with what it produced.
async fn finish(backend: &Arc<dyn Backend>, worker: &Worker, id: &str, parts: Vec<Part>) {
    let mut new = new_task(id, Some(worker));
    new.task.history[0].parts = parts.clone().into();
    let pen = create(backend, new).await;
    let pen = commit(backend, id, pen, vec![status(id, TaskState::Working)])
        .await
        .unwrap();
    let events = vec![chunk(id, parts, false), status(id, TaskState::Completed)];
    commit(backend, id, pen, events).await.unwrap();
}

async fn total(backend: &Arc<dyn Backend>) -> usize {
    let page = backend.list(&SCOPE, &ListTasksRequest::default(), 1).await;
    page.unwrap().total
}

/// A clock that stands where it is put.
fn clock() -> (Clock, Arc<AtomicI64>) {
    let seconds = Arc::new(AtomicI64::new(1_000_000));
    let now = Arc::clone(&seconds);
    let clock = Clock::of(move || {
        let seconds = now.load(Ordering::Relaxed).unsigned_abs();
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    });
    (clock, seconds)
}

const HOUR: i64 = 3_600;

#[track_caller]
fn assert_sound(path: &Path) {
    let report = StoreFile::open(path).unwrap().check().unwrap();
    assert_eq!(report.problems, [""; 0]);
}

fn raw(path: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
}

fn file_part(letter: &str, bytes: usize) -> Part {
    let json = format!(
        "{{\"raw\":\"{}\",\"filename\":\"a.bin\"}}",
        letter.repeat(bytes)
    );
    Part::from_json(json).unwrap()
}

/// The file's size when nothing is left in the log beside it.
fn settled_size(path: &Path) -> u64 {
    raw(path, "PRAGMA wal_checkpoint(TRUNCATE)");
    std::fs::metadata(path).unwrap().len()
}

fn keeping(tasks: usize) -> SqliteOptions {
    SqliteStore::options().max_finished_tasks(tasks)
}

/// What another process does is seen within moments; a test that waits in vain says so.
async fn soon<F: Future>(future: F) -> F::Output {
    let patience = Duration::from_secs(60);
    tokio::time::timeout(patience, future).await.unwrap()
}
