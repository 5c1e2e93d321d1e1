//! Finds receivers that are behind and has each of them served by one delivery.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use llamon_client::egress::Egress;
use llamon_core::a2a::PushConfig;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::attempt::Sender;
use super::delivery::{Delivery, IDLE};
use super::options::PushNotifications;
use super::places::Places;
use crate::backend::{Backend, Durability, PushTarget, ReadFrom, Worker};
use crate::clock::Clock;
use crate::config_error::ConfigError;
use crate::scope::Scope;

/// How often the store is looked at when no hint comes: hints can be lost, and receivers can be
/// left behind by processes that are gone.
const INTERVAL: Duration = Duration::from_secs(2);
/// Receivers that are taken at a time.
const MAX_CLAIMS: usize = 256;
/// How many times as long as a look itself the pause after it is: looking must not become what
/// the server is busy with.
const PAUSE_FACTOR: u32 = 4;

/// Sends push notifications for one server. Dropping it stops everything at once.
pub(crate) struct PushEngine {
    inner: Arc<Inner>,
    worker: Arc<Worker>,
    started: AtomicBool,
}

pub(super) struct Inner {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) sender: Sender,
    pub(super) options: PushNotifications,
    pub(super) places: Arc<Places>,
    pub(super) phase: watch::Sender<Phase>,
    served: Mutex<Served>,
    count: AtomicU64,
    /// Has the store looked at.
    hint: Notify,
    tasks: TaskTracker,
    /// Drops what is under way.
    abort: CancellationToken,
}

/// What the server is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// To go on.
    Serving,
    /// To stop when everything that can be sent now has been sent: nothing else will send it.
    Draining,
    /// To stop after the event that is being sent.
    Leaving,
}

/// A receiver: its task, and its id there.
type Key = (Arc<str>, Arc<str>);

/// The receivers that are served.
#[derive(Default)]
struct Served {
    held: HashMap<Key, Held>,
    /// Those that were left since the store began to be looked at: what the look says of them can
    /// be older than what they were left with.
    left: HashSet<Key>,
}

/// A receiver that is served.
struct Held {
    number: u64,
    config: Arc<PushConfig>,
    stop: CancellationToken,
    /// Fires when it is not served any more.
    ended: CancellationToken,
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// The receiver is served.
    Served,
    /// It may be out of date; the next look will tell.
    TooOld,
}

/// Keeps a receiver among those that are served.
struct Serving {
    inner: Arc<Inner>,
    key: Key,
    number: u64,
    ended: CancellationToken,
}

impl PushEngine {
    pub(crate) fn new(
        options: PushNotifications,
        backend: Arc<dyn Backend>,
        worker: Arc<Worker>,
        clock: Clock,
    ) -> Result<Self, ConfigError> {
        let sender = Sender {
            egress: options.egress()?,
            secret: options.secret.clone(),
            clock,
        };
        Ok(Self {
            inner: Arc::new(Inner {
                places: Places::new(options.max_requests, options.max_requests_per_host),
                backend,
                sender,
                options,
                phase: watch::Sender::new(Phase::Serving),
                served: Mutex::default(),
                count: AtomicU64::new(0),
                hint: Notify::new(),
                tasks: TaskTracker::new(),
                abort: CancellationToken::new(),
            }),
            worker,
            started: AtomicBool::new(false),
        })
    }

    /// Begins to serve receivers, also those that an earlier process has left behind; needs a
    /// runtime. Once begun, it does nothing.
    pub(crate) fn start(&self) {
        if !self.started.swap(true, Ordering::Relaxed) {
            let inner = Arc::clone(&self.inner);
            let worker = Arc::clone(&self.worker);
            self.inner.tasks.spawn(inner.keep_looking(worker));
        }
    }

    pub(super) fn egress(&self) -> &Egress {
        &self.inner.sender.egress
    }

    /// Says that a receiver may be behind. It would be found without that, a little later.
    pub(crate) fn hint(&self) {
        self.start();
        self.inner.hint.notify_one();
    }

    /// Gives a hint when a task has its next event after `from`.
    pub(crate) fn watch(&self, scope: Scope, task_id: Arc<str>, from: ReadFrom) {
        self.start();
        let inner = Arc::clone(&self.inner);
        self.inner.tasks.spawn(async move {
            let mut phase = inner.phase.subscribe();
            let followed = inner.backend.follow(&scope, &task_id, from).await;
            let Ok((_, mut cursor)) = followed else {
                return;
            };
            if from == ReadFrom::Now {
                // An event can have come before it was followed.
                inner.hint.notify_one();
            }
            tokio::select! {
                _ = cursor.next() => inner.hint.notify_one(),
                _ = phase.wait_for(|phase| *phase != Phase::Serving) => {}
                () = sleep(IDLE) => {}
            }
        });
    }

    /// Stops serving a receiver. When it returns, nothing is being sent to it.
    pub(super) async fn forget(&self, task_id: &str, config_id: &str) {
        let key: Key = (task_id.into(), config_id.into());
        let ended = self.inner.served().held.get(&key).map(|held| {
            held.stop.cancel();
            held.ended.clone()
        });
        if let Some(ended) = ended {
            ended.cancelled().await;
        }
    }

    /// Stops. What a durable store has will be sent by the next process; otherwise what can be
    /// sent now is. Takes no longer than `grace`.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        let phase = match self.inner.backend.durability() {
            Durability::Volatile => Phase::Draining,
            Durability::Durable => Phase::Leaving,
        };
        self.inner.phase.send_replace(phase);
        self.inner.tasks.close();
        if timeout(grace, self.inner.tasks.wait()).await.is_err() {
            tracing::warn!("notifications were cut off by the stop of the server");
            self.inner.phase.send_replace(Phase::Leaving);
            self.inner.abort.cancel();
            self.inner.tasks.wait().await;
        }
    }
}

impl Drop for PushEngine {
    fn drop(&mut self) {
        self.inner.phase.send_replace(Phase::Leaving);
        self.inner.abort.cancel();
    }
}

impl Inner {
    async fn keep_looking(self: Arc<Self>, worker: Arc<Worker>) {
        let mut phase = self.phase.subscribe();
        loop {
            let begun = Instant::now();
            let more = self.look(&worker).await;
            tokio::select! {
                biased;
                _ = phase.wait_for(|phase| *phase != Phase::Serving) => break,
                () = sleep(begun.elapsed() * PAUSE_FACTOR) => {}
            }
            if more {
                continue;
            }
            tokio::select! {
                biased;
                _ = phase.wait_for(|phase| *phase != Phase::Serving) => break,
                () = self.hint.notified() => {}
                () = sleep(INTERVAL) => {}
            }
        }
        while *self.phase.borrow() == Phase::Draining && self.look(&worker).await {}
    }

    /// Claims receivers that are behind and has them served. Whether there may be more.
    async fn look(self: &Arc<Self>, worker: &Arc<Worker>) -> bool {
        let limit = {
            let mut served = self.served();
            served.left.clear();
            // Those that are served already come again.
            served.held.len() + MAX_CLAIMS
        };
        match self.backend.claim_push(worker, limit).await {
            Ok(targets) => {
                let mut more = targets.len() >= limit;
                for target in targets {
                    more |= self.serve(worker, target) == Claim::TooOld;
                }
                more
            }
            Err(error) => {
                tracing::warn!(%error, "receivers of notifications cannot be claimed");
                false
            }
        }
    }

    fn serve(self: &Arc<Self>, worker: &Arc<Worker>, target: PushTarget) -> Claim {
        let Some(id) = target.config.id.clone() else {
            return Claim::Served;
        };
        let key: Key = (Arc::clone(&target.task_id), id);
        let mut all = self.served();
        if all.left.contains(&key) {
            return Claim::TooOld;
        }
        // Its configuration may have been replaced in another process.
        let before = match all.held.get(&key) {
            Some(held) if held.config == target.config => return Claim::Served,
            Some(held) => {
                held.stop.cancel();
                Some(held.ended.clone())
            }
            None => None,
        };
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let (stop, ended) = (self.abort.child_token(), CancellationToken::new());
        let held = Held {
            number,
            config: Arc::clone(&target.config),
            stop: stop.clone(),
            ended: ended.clone(),
        };
        all.held.insert(key.clone(), held);
        drop(all);
        let serving = Serving {
            inner: Arc::clone(self),
            key,
            number,
            ended,
        };
        let delivery = Delivery::new(Arc::clone(self), Arc::clone(worker), target);
        self.tasks.spawn(async move {
            let _serving = serving;
            if let Some(before) = before {
                before.cancelled().await;
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = delivery.run() => {}
            }
        });
        Claim::Served
    }

    /// The pause after an attempt that failed, as the `failed`-th one of its event.
    pub(super) fn pause(&self, failed: u32, wish: Option<Duration>) -> Duration {
        let chance = uuid::Uuid::new_v4().as_u128();
        let (first, longest) = (self.options.first_pause, self.options.longest_pause);
        backoff(first, longest, failed, chance).max(wish.unwrap_or_default().min(longest))
    }

    fn served(&self) -> MutexGuard<'_, Served> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let mut all = self.inner.served();
        // Its successor can have been entered already.
        let is_last = |held: &Held| held.number == self.number;
        if all.held.get(&self.key).is_some_and(is_last) {
            all.held.remove(&self.key);
            all.left.insert(self.key.clone());
        }
        drop(all);
        self.ended.cancel();
    }
}

/// A pause that doubles with each failure, half of it chance, so that receivers which failed
/// together are not tried again together.
fn backoff(first: Duration, longest: Duration, failed: u32, chance: u128) -> Duration {
    let doubled = 2_u32.saturating_pow(failed.saturating_sub(1));
    let half = first.saturating_mul(doubled).min(longest) / 2;
    let share = u32::try_from(chance % 1_000).unwrap_or_default();
    half + half * share / 1_000
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::backoff;

    #[test]
    fn a_pause_doubles_up_to_the_longest_and_half_of_it_is_chance() {
        let (first, longest) = (Duration::from_secs(1), Duration::from_secs(60));
        let pause = |failed, chance| backoff(first, longest, failed, chance);
        assert_eq!(pause(1, 0), Duration::from_millis(500));
        assert_eq!(pause(1, 500), Duration::from_millis(750));
        assert_eq!(pause(4, 0), Duration::from_secs(4));
        assert_eq!(pause(7, 0), Duration::from_secs(30));
        assert_eq!(pause(u32::MAX, 0), Duration::from_secs(30));
        assert!(pause(u32::MAX, 999) < longest);
    }
}
