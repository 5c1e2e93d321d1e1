//! What a backend promises, kept by the one in a file, also when the file is opened again.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise, also in its helpers"
)]

use llamon_core::Limits;
use llamon_server::backend::conformance::Subject;
use llamon_server::backend::sqlite::{SqliteOptions, SqliteStore};

fn options(limits: &Limits) -> SqliteOptions {
    SqliteStore::options()
        .max_open_tasks(limits.max_open_tasks)
        .max_finished_tasks(limits.max_finished_tasks)
        .max_push_configs_per_task(limits.max_push_configs_per_task)
        .max_subscribers_per_task(limits.max_subscribers_per_task)
}

async fn make(limits: Limits) -> Subject {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data/tasks.db");
    let store = options(&limits).open(&path).unwrap();
    Subject::new(store.backend("agent"))
        .keeping(directory)
        .reopening(move || {
            let store = options(&limits).open(&path).unwrap();
            async move { store.backend("agent") }
        })
}

llamon_server::backend_conformance!(durable: make);
