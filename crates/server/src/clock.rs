use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use llamon_core::Timestamp;

/// Where the server reads the time of day. Only shown times come from it: no deadline does.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        Self(Arc::new(SystemTime::now))
    }

    /// A clock that tells what `now` returns, for tests.
    pub fn of(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from(self.time())
    }

    pub(crate) fn time(&self) -> SystemTime {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
