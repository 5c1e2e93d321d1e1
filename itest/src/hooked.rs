//! A backend around another one that asks a hook before and after each call, so that a test can
//! watch, fail, stop or kill at any of them.

use std::pin::Pin;
use std::sync::Arc;

use llamon_agent::a2a::{ListTasksRequest, PushConfig, Task};
use llamon_agent::core::Timestamp;
use llamon_agent::server::Scope;
use llamon_agent::server::backend::{
    Backend, Claimed, Commit, Committed, Created, Durability, Fence, Followed, Generation, Held,
    Lease, MessageKey, NewTask, Page, PageSecret, PushProgress, PushTarget, ReadFrom, Seen,
    Settled, StoreError, Swept, Waiting, Worker,
};

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A call of a backend that a hook is asked about, with what it brings where that matters.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "named after the methods")]
pub enum Call<'a> {
    Create(&'a NewTask),
    Commit(&'a Commit),
    Seen,
    Get,
    List,
    Follow,
    Settled,
    RequestCancel,
    Remember,
    Remembered,
    PutPush,
    PushConfigs,
    DeletePush,
    Enlist,
    Claim,
    Held,
    Release,
    ClaimPush,
    NotePush,
    Lease,
    EndLease,
    Waiting,
    Sweep,
    Health,
}

/// When a hook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the call: an error keeps it from happening.
    Before,
    /// After the call succeeded: an error is what the caller gets although it has happened.
    After,
}

/// What a test does at each call.
pub trait Hook: Send + Sync + 'static {
    /// Is asked before and after each call. Before it, an error keeps the call from happening;
    /// after it, the caller gets the error although it has happened.
    ///
    /// # Errors
    /// What the caller is to get.
    fn at(&self, when: When, call: Call<'_>) -> Result<(), StoreError>;
}

impl<F: Fn(When, Call<'_>) -> Result<(), StoreError> + Send + Sync + 'static> Hook for F {
    fn at(&self, when: When, call: Call<'_>) -> Result<(), StoreError> {
        self(when, call)
    }
}

/// The backend `inner`, with a hook.
pub struct Hooked<H> {
    inner: Arc<dyn Backend>,
    hook: H,
}

impl<H: Hook> Hooked<H> {
    /// `inner` with `hook`.
    pub fn new(inner: Arc<dyn Backend>, hook: H) -> Arc<Self> {
        Arc::new(Self { inner, hook })
    }

    /// The hook.
    pub fn hook(&self) -> &H {
        &self.hook
    }

    async fn around<T>(
        &self,
        call: Call<'_>,
        run: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.hook.at(When::Before, call)?;
        let done = run.await?;
        self.hook.at(When::After, call)?;
        Ok(done)
    }
}

impl<H: Hook> Backend for Hooked<H> {
    fn durability(&self) -> Durability {
        self.inner.durability()
    }

    fn create<'a>(&'a self, scope: &'a Scope, new: NewTask) -> Answer<'a, Created> {
        Box::pin(async move {
            let call = new.clone();
            let run = self.inner.create(scope, new);
            self.around(Call::Create(&call), run).await
        })
    }

    fn commit<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        commit: Commit,
    ) -> Answer<'a, Committed> {
        Box::pin(async move {
            let call = commit.clone();
            let run = self.inner.commit(scope, task_id, commit);
            self.around(Call::Commit(&call), run).await
        })
    }

    fn seen<'a>(&'a self, scope: &'a Scope, key: &'a MessageKey) -> Answer<'a, Option<Seen>> {
        Box::pin(self.around(Call::Seen, self.inner.seen(scope, key)))
    }

    fn get<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> Answer<'a, (Arc<Task>, Generation)> {
        Box::pin(self.around(Call::Get, self.inner.get(scope, task_id)))
    }

    fn list<'a>(
        &'a self,
        scope: &'a Scope,
        request: &'a ListTasksRequest,
        page_size: usize,
    ) -> Answer<'a, Page> {
        let run = self.inner.list(scope, request, page_size);
        Box::pin(self.around(Call::List, run))
    }

    fn follow<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        from: ReadFrom,
    ) -> Answer<'a, Followed> {
        Box::pin(self.around(Call::Follow, self.inner.follow(scope, task_id, from)))
    }

    fn settled<'a>(&'a self, scope: &'a Scope, task_id: &'a str) -> Answer<'a, Settled> {
        Box::pin(self.around(Call::Settled, self.inner.settled(scope, task_id)))
    }

    fn request_cancel<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> Answer<'a, (Arc<Task>, Generation)> {
        let run = self.inner.request_cancel(scope, task_id);
        Box::pin(self.around(Call::RequestCancel, run))
    }

    fn remember<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        fence: Fence,
        key: &'a str,
        value: String,
    ) -> Answer<'a, ()> {
        let run = self.inner.remember(scope, task_id, fence, key, value);
        Box::pin(self.around(Call::Remember, run))
    }

    fn remembered<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> Answer<'a, Vec<(String, String)>> {
        let run = self.inner.remembered(scope, task_id);
        Box::pin(self.around(Call::Remembered, run))
    }

    fn put_push<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        config: Arc<PushConfig>,
    ) -> Answer<'a, ()> {
        let run = self.inner.put_push(scope, task_id, config);
        Box::pin(self.around(Call::PutPush, run))
    }

    fn push_configs<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
    ) -> Answer<'a, Vec<Arc<PushConfig>>> {
        let run = self.inner.push_configs(scope, task_id);
        Box::pin(self.around(Call::PushConfigs, run))
    }

    fn delete_push<'a>(
        &'a self,
        scope: &'a Scope,
        task_id: &'a str,
        config_id: &'a str,
    ) -> Answer<'a, ()> {
        let run = self.inner.delete_push(scope, task_id, config_id);
        Box::pin(self.around(Call::DeletePush, run))
    }

    fn enlist(&self) -> Answer<'_, Arc<Worker>> {
        Box::pin(self.around(Call::Enlist, self.inner.enlist()))
    }

    fn claim<'a>(&'a self, worker: &'a Worker, limit: usize) -> Answer<'a, Vec<Claimed>> {
        Box::pin(self.around(Call::Claim, self.inner.claim(worker, limit)))
    }

    fn held<'a>(&'a self, worker: &'a Worker) -> Answer<'a, Vec<Held>> {
        Box::pin(self.around(Call::Held, self.inner.held(worker)))
    }

    fn release<'a>(&'a self, worker: &'a Worker, task_id: &'a str, fence: Fence) -> Answer<'a, ()> {
        let run = self.inner.release(worker, task_id, fence);
        Box::pin(self.around(Call::Release, run))
    }

    fn claim_push<'a>(&'a self, worker: &'a Worker, limit: usize) -> Answer<'a, Vec<PushTarget>> {
        Box::pin(self.around(Call::ClaimPush, self.inner.claim_push(worker, limit)))
    }

    fn note_push<'a>(
        &'a self,
        worker: &'a Worker,
        task_id: &'a str,
        config_id: &'a str,
        progress: PushProgress,
    ) -> Answer<'a, ()> {
        let run = self.inner.note_push(worker, task_id, config_id, progress);
        Box::pin(self.around(Call::NotePush, run))
    }

    fn lease<'a>(
        &'a self,
        worker: &'a Worker,
        name: &'a str,
        task_id: &'a str,
    ) -> Answer<'a, Lease> {
        let run = self.inner.lease(worker, name, task_id);
        Box::pin(self.around(Call::Lease, run))
    }

    fn end_lease<'a>(
        &'a self,
        worker: &'a Worker,
        name: &'a str,
        task_id: &'a str,
    ) -> Answer<'a, ()> {
        let run = self.inner.end_lease(worker, name, task_id);
        Box::pin(self.around(Call::EndLease, run))
    }

    fn waiting<'a>(
        &'a self,
        worker: &'a Worker,
        since: Timestamp,
        limit: usize,
    ) -> Answer<'a, Vec<Waiting>> {
        let run = self.inner.waiting(worker, since, limit);
        Box::pin(self.around(Call::Waiting, run))
    }

    fn page_secret<'a>(&'a self, worker: &'a Worker) -> Answer<'a, PageSecret> {
        // At the start only, where nothing can fail yet that a request would see.
        self.inner.page_secret(worker)
    }

    fn sweep<'a>(&'a self, worker: &'a Worker) -> Answer<'a, Swept> {
        Box::pin(self.around(Call::Sweep, self.inner.sweep(worker)))
    }

    fn health(&self) -> Answer<'_, ()> {
        Box::pin(self.around(Call::Health, self.inner.health()))
    }
}
