//! What a backend promises, kept by the one in memory.

use std::sync::Arc;

use llamon_core::Limits;
use llamon_server::backend::MemoryBackend;
use llamon_server::backend::conformance::Subject;

async fn make(limits: Limits) -> Subject {
    Subject::new(Arc::new(MemoryBackend::new(limits)))
}

llamon_server::backend_conformance!(make);
