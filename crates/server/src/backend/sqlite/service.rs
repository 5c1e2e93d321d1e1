//! The backend of one agent.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use llamon_core::Timestamp;
use llamon_core::a2a::{ListTasksRequest, PushConfig, Task};
use rusqlite::Connection;

use super::change::{self, Change, Place};
use super::create::NewRow;
use super::cursor::SqliteCursor;
use super::fault::Fault;
use super::hub::{Live, Outcome};
use super::rows::{self, TaskRow};
use super::tx::Tx;
use super::{Inner, kept, list, page_secret, push, sweep, work};
use crate::backend::{
    Backend, Claimed, Commit, Committed, Created, Durability, Fence, Followed, Generation, Held,
    Lease, LogCursor, MessageKey, NewTask, Page, PageSecret, PushProgress, PushTarget, ReadFrom,
    Seen, Settled, StoreError, Swept, Waiting, Worker,
};
use crate::scope::Scope;

/// Bytes of parts from which on they are hashed on a thread that may block.
const LARGE_BYTES: usize = 256 * 1024;

pub(super) struct SqliteBackend {
    store: Arc<Inner>,
    agent: Arc<str>,
}

impl SqliteBackend {
    pub(super) fn new(store: Arc<Inner>, agent: Arc<str>) -> Self {
        Self { store, agent }
    }

    fn place(&self, scope: &Scope, task_id: &str) -> Place {
        Place {
            agent: Arc::clone(&self.agent),
            who: rows::who(scope),
            id: task_id.into(),
        }
    }

    /// Reads something of one task, which need not be visible.
    async fn read_task<T: Send + 'static>(
        &self,
        place: &Place,
        read: impl FnOnce(&Connection, &TaskRow) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = place.clone();
        let find = move |connection: &Connection| {
            let agent = rows::agent(connection, &place.agent)?.ok_or(StoreError::NotFound)?;
            let row = TaskRow::find(connection, agent, &place.who, &place.id)?
                .filter(|row| !row.is_answered())
                .ok_or(StoreError::NotFound)?;
            read(connection, &row)
        };
        self.store.readers.read(find).await
    }

    /// Those of the owners who are gone, and whether there is anything to claim.
    fn claimable(
        &self,
        worker: &Worker,
        owners: fn(&Connection, i64) -> rusqlite::Result<Vec<Option<String>>>,
    ) -> impl Future<Output = Result<Claimable, StoreError>> + Send + 'static {
        let (store, agent) = (Arc::clone(&self.store), Arc::clone(&self.agent));
        let me = worker.id().clone();
        let find = {
            let store = Arc::clone(&store);
            move |connection: &Connection| {
                let owners = match rows::agent(connection, &agent)? {
                    Some(agent) => owners(connection, agent)?,
                    None => Vec::new(),
                };
                let mut claimable = Claimable::default();
                for owner in owners {
                    match owner {
                        None => claimable.is_free = true,
                        Some(owner) if *owner == *me.0 => claimable.is_mine = true,
                        Some(owner) if store.workers.is_gone(&owner) => claimable.gone.push(owner),
                        Some(_) => {}
                    }
                }
                Ok(claimable)
            }
        };
        async move { store.readers.read(find).await }
    }

    /// Those that held no turn are found by nobody else.
    async fn remove_files_of_the_dead(&self) -> Result<(), StoreError> {
        let workers = self.store.workers.clone();
        let removed = tokio::task::spawn_blocking(move || workers.count()).await;
        removed
            .map(drop)
            .map_err(|error| StoreError::Failed(error.to_string()))
    }

    async fn settle(&self, scope: &Scope, task_id: &str) -> Result<Settled, StoreError> {
        let place = self.place(scope, task_id);
        // From here on nothing that happens to the task is missed.
        let watch = self.store.hub.watch(&self.agent, task_id);
        let live = &watch.live;
        if matches!(live.lock().outcome, Outcome::Settled(Settled::Message(_))) {
            // It was answered before; only others still hold on to it.
            return Err(StoreError::NotFound);
        }
        if live.lock().known.is_none() {
            let read = self.read_task(&place, |connection, row| {
                let is_settled = row.task_state().is_some_and(|state| state.is_settled());
                let task = is_settled.then(|| rows::load_task(connection, row));
                Ok((row.clone(), task.transpose()?.map(Arc::new)))
            });
            match read.await {
                Ok((row, task)) => live.learn(Some(&place.who), Some(&row), task.as_ref()),
                // It may have been made, or answered directly, meanwhile.
                Err(StoreError::NotFound) if live.lock().known.is_some() => {}
                Err(error) => return Err(error),
            }
        }
        let is_mine = |live: &Live| {
            let state = live.lock();
            state
                .known
                .as_ref()
                .is_some_and(|(who, _)| *who == place.who)
        };
        if !is_mine(live) {
            return Err(StoreError::NotFound);
        }
        loop {
            let mut wake = std::pin::pin!(live.settled.notified());
            // Listen before looking, so that no change falls between the two.
            wake.as_mut().enable();
            let (outcome, known) = {
                let state = live.lock();
                (state.outcome.clone(), state.known.clone())
            };
            match (outcome, known) {
                (Outcome::Settled(settled), _) => return Ok(settled),
                (Outcome::Running, _) => wake.await,
                (Outcome::Stored, Some((_, key))) => {
                    if let Some(settled) = self.read_settled(live, key).await? {
                        return Ok(settled);
                    }
                }
                (Outcome::Gone | Outcome::Stored, _) => return Err(StoreError::NotFound),
            }
        }
    }

    /// What a task has settled to, from the file; none if it has gone on.
    async fn read_settled(&self, live: &Live, key: i64) -> Result<Option<Settled>, StoreError> {
        let read = move |connection: &Connection| {
            let row = TaskRow::of_key(connection, key)?.ok_or(StoreError::NotFound)?;
            if row.is_answered() {
                let answer = rows::load_answer(connection, key)?;
                return Ok((row, Some(Settled::Message(Arc::new(answer)))));
            }
            let is_settled = row.task_state().is_some_and(|state| state.is_settled());
            let task = is_settled.then(|| rows::load_task(connection, &row));
            Ok((
                row,
                task.transpose()?.map(|task| Settled::Task(Arc::new(task))),
            ))
        };
        let (row, settled) = self.store.readers.read(read).await?;
        if settled.is_none() {
            live.learn(None, Some(&row), None);
        }
        Ok(settled)
    }
}

#[derive(Default)]
struct Claimable {
    is_free: bool,
    is_mine: bool,
    gone: Vec<String>,
}

/// Does work on the bytes of parts where that may take its time.
async fn prepare<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    if bytes < LARGE_BYTES {
        return Ok(work());
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StoreError::Failed(error.to_string()))
}

impl Backend for SqliteBackend {
    fn durability(&self) -> Durability {
        Durability::Durable
    }

    fn create<'a>(
        &'a self,
        scope: &'a Scope,
        new: NewTask,
    ) -> BoxFuture<'a, Result<Created, StoreError>> {
        async move {
            let (agent, who) = (Arc::clone(&self.agent), rows::who(scope));
            let bytes = new.task.bytes();
            let row = prepare(bytes, move || NewRow::new(agent, who, new)).await?;
            let writer = &self.store.writer;
            writer.write_bytes(bytes, move |tx| row.create(tx)).await
        }
        .boxed()
    }

    fn commit<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        commit: Commit,
    ) -> BoxFuture<'a, Result<Committed, StoreError>> {
        async move {
            let place = self.place(scope, task_id);
            let said = commit
                .message
                .iter()
                .flat_map(|message| message.parts.iter());
            let bytes = said.map(|part| part.json().len()).sum::<usize>()
                + commit.events.iter().map(super::hub::size).sum::<usize>();
            let change = prepare(bytes, move || Change::new(place, commit)).await?;
            let writer = &self.store.writer;
            writer.write_bytes(bytes, move |tx| change.commit(tx)).await
        }
        .boxed()
    }

    fn seen<'a>(
        &'a self,
        scope: &'a Scope,
        key: &'a MessageKey,
    ) -> BoxFuture<'a, Result<Option<Seen>, StoreError>> {
        async move {
            let (agent, who, key) = (Arc::clone(&self.agent), rows::who(scope), key.clone());
            let read = move |connection: &Connection| {
                let space = list::space(connection, &agent, &who)?;
                match space {
                    Some(space) => change::seen(connection, space, &key),
                    None => Ok(None),
                }
            };
            self.store.readers.read(read).await
        }
        .boxed()
    }

    fn get<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<(Arc<Task>, Generation), StoreError>> {
        async move {
            let read = |connection: &Connection, row: &TaskRow| {
                if !row.is_visible() {
                    return Err(StoreError::NotFound.into());
                }
                let task = Arc::new(rows::load_task(connection, row)?);
                Ok((task, Generation(row.generation.cast_unsigned())))
            };
            self.read_task(&self.place(scope, task_id), read).await
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        scope: &'a Scope,
        request: &'a ListTasksRequest,
        page_size: usize,
    ) -> BoxFuture<'a, Result<Page, StoreError>> {
        async move {
            let (agent, who) = (Arc::clone(&self.agent), rows::who(scope));
            let request = request.clone();
            let read = move |connection: &Connection| {
                list::page(connection, &agent, &who, &request, page_size)
            };
            self.store.readers.read(read).await
        }
        .boxed()
    }

    fn follow<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        from: ReadFrom,
    ) -> BoxFuture<'a, Result<Followed, StoreError>> {
        async move {
            let place = self.place(scope, task_id);
            // From here on the task's events are kept in memory.
            let watch = self.store.hub.watch(&self.agent, task_id);
            let mut follower = watch.follow();
            let read = |connection: &Connection, row: &TaskRow| {
                Ok((row.clone(), Arc::new(rows::load_task(connection, row)?)))
            };
            let (row, task) = self.read_task(&place, read).await?;
            watch.live.learn(Some(&place.who), Some(&row), Some(&task));
            let (max, next) = match from {
                ReadFrom::Now => {
                    let max = self.store.settings.max_subscribers_per_task;
                    (Some(max), row.position)
                }
                ReadFrom::After(position) => {
                    let position = i64::try_from(position.0).unwrap_or(i64::MAX);
                    (None, position.min(row.position))
                }
            };
            follower.admit(max)?;
            let readers = Arc::clone(&self.store.readers);
            let cursor = SqliteCursor::new(readers, next, follower, watch);
            Ok((task, Box::new(cursor) as Box<dyn LogCursor>))
        }
        .boxed()
    }

    fn settled<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Settled, StoreError>> {
        self.settle(scope, task_id).boxed()
    }

    fn request_cancel<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<(Arc<Task>, Generation), StoreError>> {
        async move {
            let place = self.place(scope, task_id);
            let cancel = move |tx: &mut Tx<'_>| change::request_cancel(tx, &place);
            self.store.writer.write(cancel).await
        }
        .boxed()
    }

    fn remember<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        fence: Fence,
        key: &'a str,
        value: String,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let (place, key) = (self.place(scope, task_id), key.to_owned());
            let remember = move |tx: &mut Tx<'_>| kept::remember(tx, &place, fence, &key, &value);
            self.store.writer.write(remember).await
        }
        .boxed()
    }

    fn remembered<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, StoreError>> {
        async move {
            let place = self.place(scope, task_id);
            let read =
                |connection: &Connection, row: &TaskRow| Ok(kept::remembered(connection, row)?);
            self.read_task(&place, read).await
        }
        .boxed()
    }

    fn put_push<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        config: Arc<PushConfig>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let place = self.place(scope, task_id);
            let put = move |tx: &mut Tx<'_>| change::put_push(tx, &place, &config);
            self.store.writer.write(put).await
        }
        .boxed()
    }

    fn push_configs<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Arc<PushConfig>>, StoreError>> {
        async move {
            let read = |connection: &Connection, row: &TaskRow| {
                if !row.is_visible() {
                    return Err(StoreError::NotFound.into());
                }
                push::configs(connection, row.key)
            };
            self.read_task(&self.place(scope, task_id), read).await
        }
        .boxed()
    }

    fn delete_push<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        config_id: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let (place, id) = (self.place(scope, task_id), config_id.to_owned());
            let delete = move |tx: &mut Tx<'_>| push::delete(tx, &place, &id);
            self.store.writer.write(delete).await
        }
        .boxed()
    }

    fn enlist(&self) -> BoxFuture<'_, Result<Arc<Worker>, StoreError>> {
        async move {
            let workers = self.store.workers.clone();
            let enlisted = tokio::task::spawn_blocking(move || workers.enlist()).await;
            let failed = |error: &dyn std::fmt::Display| {
                StoreError::Failed(format!("a worker's file cannot be made: {error}"))
            };
            let (id, alive) = enlisted
                .map_err(|error| failed(&error))?
                .map_err(|error| failed(&error))?;
            Ok(Arc::new(Worker::new(id, alive)))
        }
        .boxed()
    }

    fn claim<'a>(
        &'a self,
        worker: &'a Worker,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Claimed>, StoreError>> {
        async move {
            let found = self.claimable(worker, work::owners).await?;
            if limit == 0 || (!found.is_free && found.gone.is_empty()) {
                return Ok(Vec::new());
            }
            let (agent, me) = (Arc::clone(&self.agent), Arc::clone(&worker.id().0));
            let claim = move |tx: &mut Tx<'_>| work::claim(tx, &agent, &me, &found.gone, limit);
            self.store.writer.write(claim).await
        }
        .boxed()
    }

    fn held<'a>(&'a self, worker: &'a Worker) -> BoxFuture<'a, Result<Vec<Held>, StoreError>> {
        async move {
            let (agent, me) = (Arc::clone(&self.agent), Arc::clone(&worker.id().0));
            let read = move |connection: &Connection| match rows::agent(connection, &agent)? {
                Some(agent) => Ok(work::held(connection, agent, &me)?),
                None => Ok(Vec::new()),
            };
            self.store.readers.read(read).await
        }
        .boxed()
    }

    fn release<'a>(
        &'a self,
        worker: &'a Worker,
        task_id: &'a str,
        fence: Fence,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let (agent, me) = (Arc::clone(&self.agent), Arc::clone(&worker.id().0));
            let id = task_id.to_owned();
            let release = move |tx: &mut Tx<'_>| work::release(tx, &agent, &me, &id, fence);
            self.store.writer.write(release).await
        }
        .boxed()
    }

    fn claim_push<'a>(
        &'a self,
        worker: &'a Worker,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PushTarget>, StoreError>> {
        async move {
            let found = self.claimable(worker, push::owners).await?;
            if limit == 0 || (!found.is_free && !found.is_mine && found.gone.is_empty()) {
                return Ok(Vec::new());
            }
            let (agent, me) = (Arc::clone(&self.agent), Arc::clone(&worker.id().0));
            let claim = move |tx: &mut Tx<'_>| push::claim(tx, &agent, &me, &found.gone, limit);
            self.store.writer.write(claim).await
        }
        .boxed()
    }

    fn note_push<'a>(
        &'a self,
        _worker: &'a Worker,
        task_id: &'a str,
        config_id: &'a str,
        progress: PushProgress,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let agent = Arc::clone(&self.agent);
            let (task_id, config_id) = (task_id.to_owned(), config_id.to_owned());
            let note =
                move |tx: &mut Tx<'_>| push::note(tx, &agent, &task_id, &config_id, progress);
            self.store.writer.write(note).await
        }
        .boxed()
    }

    fn lease<'a>(
        &'a self,
        worker: &'a Worker,
        name: &'a str,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        async move {
            let (agent, me) = (Arc::clone(&self.agent), Arc::clone(&worker.id().0));
            let (name, task_id) = (name.to_owned(), task_id.to_owned());
            let workers = self.store.workers.clone();
            let lease = move |tx: &mut Tx<'_>| {
                let is_gone = |owner: &str| *owner != *me && workers.is_gone(owner);
                kept::lease(tx, &agent, &me, &name, &task_id, is_gone)
            };
            self.store.writer.write(lease).await
        }
        .boxed()
    }

    fn end_lease<'a>(
        &'a self,
        worker: &'a Worker,
        name: &'a str,
        task_id: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let (agent, me) = (Arc::clone(&self.agent), Arc::clone(&worker.id().0));
            let (name, task_id) = (name.to_owned(), task_id.to_owned());
            let end = move |tx: &mut Tx<'_>| kept::end_lease(tx, &agent, &me, &name, &task_id);
            self.store.writer.write(end).await
        }
        .boxed()
    }

    fn waiting<'a>(
        &'a self,
        _worker: &'a Worker,
        since: Timestamp,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Waiting>, StoreError>> {
        async move {
            let agent = Arc::clone(&self.agent);
            let read =
                move |connection: &Connection| kept::waiting(connection, &agent, since, limit);
            self.store.readers.read(read).await
        }
        .boxed()
    }

    fn page_secret<'a>(
        &'a self,
        _worker: &'a Worker,
    ) -> BoxFuture<'a, Result<PageSecret, StoreError>> {
        async move {
            let agent = Arc::clone(&self.agent);
            let secret = move |tx: &mut Tx<'_>| page_secret::of_agent(tx, &agent);
            self.store.writer.write(secret).await
        }
        .boxed()
    }

    fn sweep<'a>(&'a self, _worker: &'a Worker) -> BoxFuture<'a, Result<Swept, StoreError>> {
        async move {
            let sweep = |tx: &mut Tx<'_>| Ok(sweep::sweep(tx)?);
            let swept = self.store.writer.write(sweep).await?;
            if swept == Swept::Clean {
                self.remove_files_of_the_dead().await?;
            }
            Ok(swept)
        }
        .boxed()
    }

    fn health(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            if !self.store.writer.has_failed() {
                return Ok(());
            }
            let probe = |tx: &mut Tx<'_>| Ok(super::admin::probe(tx.connection)?);
            self.store.writer.write(probe).await
        }
        .boxed()
    }
}
