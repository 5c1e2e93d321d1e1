//! How many requests run at a time, in all and to one host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// How long a receiver may go on without asking for its place anew: those that answer at once
/// need not read their log again for each event, and those that do not make room for others.
const TURN: Duration = Duration::from_millis(250);

/// The places for requests. Those that are tried again have at most half of them, so that
/// receivers that work never stand behind receivers that do not.
pub(super) struct Places {
    all: Pair,
    per_host: usize,
    hosts: Mutex<HashMap<String, Weak<Pair>>>,
}

struct Pair {
    all: Arc<Semaphore>,
    again: Arc<Semaphore>,
}

/// A receiver's way to its places.
pub(super) struct Queue {
    places: Arc<Places>,
    host: Arc<Pair>,
}

/// Room for requests to one receiver, one after the other.
pub(super) struct Place {
    since: Instant,
    _room: [Option<OwnedSemaphorePermit>; 4],
}

/// Whether a request is a first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Try {
    First,
    Again,
}

impl Places {
    pub(super) fn new(all: usize, per_host: usize) -> Arc<Self> {
        Arc::new(Self {
            all: Pair::new(all),
            per_host,
            hosts: Mutex::default(),
        })
    }

    /// The way of a receiver at `host`.
    pub(super) fn queue(self: &Arc<Self>, host: &str) -> Queue {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = hosts.get(host).and_then(Weak::upgrade);
        let host = known.unwrap_or_else(|| {
            if hosts.len() == hosts.capacity() {
                hosts.retain(|_, host| host.strong_count() > 0);
            }
            let pair = Arc::new(Pair::new(self.per_host));
            hosts.insert(host.to_owned(), Arc::downgrade(&pair));
            pair
        });
        Queue {
            places: Arc::clone(self),
            host,
        }
    }
}

impl Pair {
    fn new(places: usize) -> Self {
        let places = places.min(Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(places)),
            again: Arc::new(Semaphore::new(places.div_ceil(2))),
        }
    }
}

impl Queue {
    /// Takes a place if one is free and nobody waits for it.
    pub(super) fn enter_now(&self, which: Try) -> Option<Place> {
        let mut room = [const { None }; 4];
        for (place, semaphore) in room.iter_mut().zip(self.needed(which)) {
            *place = Some(Arc::clone(semaphore).try_acquire_owned().ok()?);
        }
        Some(Place::new(room))
    }

    /// Waits for a place, in the order of asking.
    pub(super) async fn enter(&self, which: Try) -> Place {
        let mut room = [const { None }; 4];
        for (place, semaphore) in room.iter_mut().zip(self.needed(which)) {
            // An error only if it were closed, which nobody does.
            *place = Arc::clone(semaphore).acquire_owned().await.ok();
        }
        Place::new(room)
    }

    /// What is needed, in an order that is the same for all, so that no two wait for each other.
    fn needed(&self, which: Try) -> impl Iterator<Item = &Arc<Semaphore>> {
        let (host, all) = (&*self.host, &self.places.all);
        let again = [&host.again, &all.again].into_iter();
        let again = again.filter(move |_| which == Try::Again);
        again.chain([&host.all, &all.all])
    }
}

impl Place {
    fn new(room: [Option<OwnedSemaphorePermit>; 4]) -> Self {
        Self {
            since: Instant::now(),
            _room: room,
        }
    }

    /// Whether the place may be used for one more request.
    pub(super) fn is_fresh(&self) -> bool {
        self.since.elapsed() < TURN
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::{Places, Try};

    #[tokio::test]
    async fn a_host_and_all_hosts_have_their_places() {
        let places = Places::new(3, 2);
        let (a, b) = (places.queue("a"), places.queue("b"));
        let first = a.enter_now(Try::First).unwrap();
        let _second = places.queue("a").enter_now(Try::First).unwrap();
        assert!(a.enter_now(Try::First).is_none(), "the host has two");
        let _third = b.enter_now(Try::First).unwrap();
        assert!(b.enter_now(Try::First).is_none(), "there are three in all");
        let mut waiting = Box::pin(b.enter(Try::First));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(first);
        assert!(a.enter_now(Try::First).is_none(), "others were first");
        assert!(waiting.now_or_never().is_some());
    }

    #[tokio::test]
    async fn what_is_tried_again_leaves_half_of_the_places() {
        let places = Places::new(8, 4);
        let queue = places.queue("a");
        let _again = [0, 1].map(|_| queue.enter_now(Try::Again).unwrap());
        assert!(queue.enter_now(Try::Again).is_none());
        let _first = [0, 1].map(|_| queue.enter_now(Try::First).unwrap());
        let only = Places::new(1, 1);
        assert!(only.queue("a").enter_now(Try::Again).is_some());
    }

    #[test]
    fn hosts_that_nobody_uses_are_forgotten() {
        let places = Places::new(1, 1);
        for host in 0..1_000 {
            places.queue(&host.to_string());
        }
        assert!(places.hosts.lock().unwrap().len() < 50);
    }
}
