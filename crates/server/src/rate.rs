//! How many requests somebody may make.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::config_error::ConfigError;

/// How many callers are counted one by one; more share counters.
const COUNTED: usize = 65_536;
/// Counters that are shared by callers beyond that.
const SHARED: usize = 256;

/// How many requests a caller may make: so many in a time, and so many at once.
///
/// A caller is an identity ([`crate::auth`]), or an address where nobody is known, or one IPv6
/// network of 64 bits. Attempts to authenticate that fail count for the address.
///
/// ```
/// use llamon_server::RateLimit;
///
/// let limit = RateLimit::per_second(20).burst(100);
/// # drop(limit);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The time that pays for one request.
    each: Duration,
    burst: u32,
}

impl RateLimit {
    /// So many requests a second in the long run, and as many at once.
    pub fn per_second(requests: u32) -> Self {
        Self::every(Duration::from_secs(1), requests)
    }

    /// So many requests a minute in the long run, and as many at once.
    pub fn per_minute(requests: u32) -> Self {
        Self::every(Duration::from_secs(60), requests)
    }

    fn every(time: Duration, requests: u32) -> Self {
        Self {
            each: time.checked_div(requests).unwrap_or(Duration::ZERO),
            burst: requests,
        }
    }

    /// The same with so many requests at once, after a time without any.
    #[must_use]
    pub fn burst(mut self, requests: u32) -> Self {
        self.burst = requests;
        self
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |what: &str| {
            Err(ConfigError::limit(format!(
                "the rate limit has {what}; it takes 1 to 1000000 requests, and a burst of 1 to \
                 1000000"
            )))
        };
        if self.each < Duration::from_micros(1) {
            return wrong("no requests, or too many");
        }
        if !(1..=1_000_000).contains(&self.burst) {
            return wrong("a burst of that size");
        }
        Ok(())
    }
}

/// Counts the requests of callers. Its memory is bounded, however many there are.
#[derive(Debug)]
pub(crate) struct Rates {
    limit: RateLimit,
    begun: Instant,
    hasher: RandomState,
    callers: Mutex<Callers>,
}

/// For each caller the time at which all of its requests are paid for, since the beginning. A
/// caller whose time is past is as good as one that never came.
#[derive(Debug)]
struct Callers {
    counted: HashMap<u64, Duration>,
    shared: Vec<Duration>,
    /// When those that are paid for were last forgotten because there was no room.
    swept: Duration,
}

impl Rates {
    pub(crate) fn new(limit: RateLimit) -> Self {
        Self {
            limit,
            begun: Instant::now(),
            hasher: RandomState::new(),
            callers: Mutex::new(Callers {
                counted: HashMap::new(),
                shared: vec![Duration::ZERO; SHARED],
                swept: Duration::ZERO,
            }),
        }
    }

    /// Counts a request of the caller with this key.
    ///
    /// # Errors
    /// With the time after which the next one is let in; this one is not counted.
    pub(crate) fn take(&self, key: impl std::hash::Hash) -> Result<(), Duration> {
        let key = self.hasher.hash_one(key);
        let now = self.begun.elapsed();
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        let paid = callers.paid(key, now);
        // What a whole burst costs may be owed, this request included.
        let owed = paid.saturating_sub(now) + self.limit.each;
        let most = self.limit.each.saturating_mul(self.limit.burst);
        if owed > most {
            return Err(owed - most);
        }
        *paid = now + owed;
        Ok(())
    }
}

impl Callers {
    fn paid(&mut self, key: u64, now: Duration) -> &mut Duration {
        if !self.counted.contains_key(&key) && self.counted.len() >= COUNTED {
            if now.saturating_sub(self.swept) >= Duration::from_secs(1) {
                self.counted.retain(|_, paid| *paid > now);
                self.swept = now;
            }
            if self.counted.len() >= COUNTED {
                let index = usize::try_from(key % SHARED as u64).unwrap_or_default();
                return &mut self.shared[index];
            }
        }
        self.counted.entry(key).or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{COUNTED, RateLimit, Rates, SHARED};

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_let_in_and_then_one_in_its_time() {
        let rates = Rates::new(RateLimit::per_second(2).burst(3));
        for _ in 0..3 {
            assert_eq!(rates.take("a"), Ok(()));
        }
        assert_eq!(rates.take("a"), Err(Duration::from_millis(500)));
        assert_eq!(rates.take("b"), Ok(()), "another caller");
        tokio::time::advance(Duration::from_millis(499)).await;
        assert_eq!(rates.take("a"), Err(Duration::from_millis(1)));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(rates.take("a"), Ok(()));
        assert!(rates.take("a").is_err());
        tokio::time::advance(Duration::from_secs(60)).await;
        for _ in 0..3 {
            assert_eq!(rates.take("a"), Ok(()), "no more than a burst is saved up");
        }
        assert!(rates.take("a").is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded_and_nobody_is_let_off() {
        let rates = Rates::new(RateLimit::per_minute(1));
        for caller in 0..COUNTED + 10 * SHARED {
            let _ = rates.take(caller);
        }
        let counted = || rates.callers.lock().unwrap().counted.len();
        assert_eq!(counted(), COUNTED);
        // Those who are counted still are, and the others share what they have used up.
        assert!(rates.take(7_usize).is_err());
        let late = (0..SHARED).filter(|at| rates.take(("late", at)).is_err());
        assert!(late.count() > SHARED / 2);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(rates.take("new"), Ok(()));
        assert!(counted() <= 2);
    }

    #[test]
    fn a_rate_is_of_at_least_one() {
        for (limit, is_fine) in [
            (RateLimit::per_second(1), true),
            (RateLimit::per_minute(6).burst(1), true),
            (RateLimit::per_second(1_000_000), true),
            (RateLimit::per_second(0), false),
            (RateLimit::per_second(2_000_000), false),
            (RateLimit::per_second(1).burst(0), false),
        ] {
            assert_eq!(limit.check().is_ok(), is_fine, "{limit:?}");
        }
    }
}
