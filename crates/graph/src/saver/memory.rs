//! Checkpoints in memory.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Checkpoint, CheckpointKey, PendingWrite, Saved, Saver, SaverError, SaverFuture};

/// Keeps checkpoints as long as the process lives, and all of them: for tests, and for graphs whose
/// threads are short.
///
/// It keeps the state itself, not its JSON. Clones share what they keep.
#[derive(Clone, Debug, Default)]
pub struct MemorySaver {
    threads: Arc<Mutex<Threads>>,
}

/// The checkpoints of each thread, by namespace, oldest first.
type Threads = HashMap<Arc<str>, HashMap<Arc<str>, Vec<Saved>>>;

impl MemorySaver {
    /// With nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        // Nothing in here is half done when it panics.
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T: Default>(
        &self,
        thread: &str,
        namespace: &str,
        read: impl FnOnce(&[Saved]) -> T,
    ) -> T {
        let threads = self.threads();
        let saved = threads.get(thread).and_then(|thread| thread.get(namespace));
        saved.map_or_else(T::default, |saved| read(saved))
    }
}

impl Saver for MemorySaver {
    fn put(&self, checkpoint: Checkpoint, last: Vec<PendingWrite>) -> SaverFuture<'_, ()> {
        let key = checkpoint.key.clone();
        let mut threads = self.threads();
        let thread = threads.entry(key.thread).or_default();
        let namespace = thread.entry(key.namespace).or_default();
        if let (Some(parent), false) = (&checkpoint.parent, last.is_empty())
            && let Some(parent) = find(namespace, parent)
        {
            parent.add(last);
        }
        namespace.push(Saved {
            checkpoint,
            writes: Vec::new(),
        });
        Box::pin(ready(Ok(())))
    }

    fn put_writes<'a>(
        &'a self,
        of: &'a CheckpointKey,
        writes: Vec<PendingWrite>,
    ) -> SaverFuture<'a, ()> {
        let mut threads = self.threads();
        let saved = (threads.get_mut(&of.thread))
            .and_then(|thread| thread.get_mut(&of.namespace))
            .and_then(|saved| find(saved, &of.id));
        let result = match saved {
            Some(saved) => {
                saved.add(writes);
                Ok(())
            }
            None => Err(SaverError::new(format!(
                "there is no checkpoint {} of thread {:?} to add writes to",
                of.id, of.thread
            ))),
        };
        Box::pin(ready(result))
    }

    fn get<'a>(
        &'a self,
        thread: &'a str,
        namespace: &'a str,
        id: Option<&'a str>,
    ) -> SaverFuture<'a, Option<Saved>> {
        let saved = self.read(thread, namespace, |saved| match id {
            Some(id) => (saved.iter().find(|saved| *saved.checkpoint.key.id == *id)).cloned(),
            None => saved.last().cloned(),
        });
        Box::pin(ready(Ok(saved)))
    }

    fn list<'a>(&'a self, thread: &'a str, namespace: &'a str) -> SaverFuture<'a, Vec<Saved>> {
        let saved = self.read(thread, namespace, |saved| {
            saved.iter().rev().cloned().collect()
        });
        Box::pin(ready(Ok(saved)))
    }

    fn delete_thread<'a>(&'a self, thread: &'a str) -> SaverFuture<'a, ()> {
        self.threads().remove(thread);
        Box::pin(ready(Ok(())))
    }
}

/// Mostly the newest is meant.
fn find<'a>(saved: &'a mut [Saved], id: &str) -> Option<&'a mut Saved> {
    let mut newest_first = saved.iter_mut().rev();
    newest_first.find(|saved| *saved.checkpoint.key.id == *id)
}
