//! What time it is; a test can say so.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where a run's clock asks the system"
    )]
    pub(crate) fn system() -> Self {
        Self(Arc::new(Timestamp::now))
    }

    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        (self.0)().as_millisecond()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
