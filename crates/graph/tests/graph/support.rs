//! What the tests share.

use std::fmt::Debug;
use std::future::{Future, Ready, ready};
use std::time::Duration;

use llamon_graph::{GraphError, GraphState, NodeContext, NodeError, Outcome};
use serde::{Deserialize, Serialize};

/// A state for tests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, GraphState)]
pub(crate) struct Log {
    #[state(append)]
    pub(crate) log: Vec<String>,
    #[state(reducer = add)]
    pub(crate) total: i64,
    pub(crate) answer: Option<String>,
}

fn add(a: i64, b: i64) -> i64 {
    a.checked_add(b).expect("the sum is too large")
}

/// An update with one word.
pub(crate) fn logged(word: impl Into<String>) -> LogUpdate {
    Log::update().push_log(word.into())
}

/// A node that writes its name.
pub(crate) fn log(
    name: &'static str,
) -> impl Fn(Log, NodeContext) -> Ready<Result<LogUpdate, NodeError>> + Send + Sync + 'static {
    move |_, _| ready(Ok(logged(name)))
}

/// The state of a run that has come to its end.
#[track_caller]
pub(crate) fn finished<O: Debug>(outcome: Result<Outcome<O>, GraphError>) -> O {
    match outcome {
        Ok(Outcome::Finished(state)) => state,
        other => panic!("not finished: {other:?}"),
    }
}

/// The text of the error that a run ended with.
#[track_caller]
pub(crate) fn refused<O: Debug>(outcome: Result<Outcome<O>, GraphError>) -> String {
    outcome.expect_err("it should be refused").to_string()
}

/// What does not happen in time is a failure, not a test that hangs.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    let future = tokio::time::timeout(Duration::from_secs(20), future);
    future.await.expect("it hangs")
}
