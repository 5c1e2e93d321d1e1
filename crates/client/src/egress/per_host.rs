//! How many requests to one host run at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Keeps count. Only hosts with requests that run or wait are in it.
pub(super) struct PerHost {
    max: usize,
    hosts: Arc<Hosts>,
}

type Hosts = Mutex<HashMap<String, Arc<Semaphore>>>;

/// A request's place among those to its host; dropping it makes room.
pub(super) struct Place {
    // Dropped first: the visit then sees whether it was the last one. An error only if the count
    // were closed, which nobody does.
    _permit: Result<OwnedSemaphorePermit, AcquireError>,
    _visit: Visit,
}

/// A request that runs or waits.
struct Visit {
    host: String,
    places: Arc<Semaphore>,
    hosts: Arc<Hosts>,
}

impl PerHost {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max: max.min(Semaphore::MAX_PERMITS),
            hosts: Arc::default(),
        }
    }

    /// Waits for a place, in the order of asking.
    pub(super) async fn enter(&self, host: &str) -> Place {
        let places = Arc::clone(
            lock(&self.hosts)
                .entry(host.to_owned())
                .or_insert_with(|| Arc::new(Semaphore::new(self.max))),
        );
        let visit = Visit {
            host: host.to_owned(),
            places,
            hosts: Arc::clone(&self.hosts),
        };
        Place {
            _permit: Arc::clone(&visit.places).acquire_owned().await,
            _visit: visit,
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut hosts = lock(&self.hosts);
        // The map's and this one. Others are made under the lock only.
        if Arc::strong_count(&self.places) == 2 {
            hosts.remove(&self.host);
        }
    }
}

fn lock(hosts: &Hosts) -> MutexGuard<'_, HashMap<String, Arc<Semaphore>>> {
    hosts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::{PerHost, lock};

    #[tokio::test]
    async fn a_host_has_so_many_places_and_is_forgotten_when_all_are_free() {
        let per_host = PerHost::new(2);
        let first = per_host.enter("a").await;
        let second = per_host.enter("a").await;
        let mut third = pin!(per_host.enter("a"));
        assert!(third.as_mut().now_or_never().is_none());
        let other = per_host.enter("b").now_or_never();
        assert!(other.is_some(), "another host has places of its own");
        drop(other);
        {
            let mut dropped = Box::pin(per_host.enter("a"));
            assert!(dropped.as_mut().now_or_never().is_none());
        }
        drop(first);
        let third = third.now_or_never();
        assert!(third.is_some());
        assert_eq!(lock(&per_host.hosts).len(), 1);
        drop((second, third));
        assert!(lock(&per_host.hosts).is_empty());
    }
}
