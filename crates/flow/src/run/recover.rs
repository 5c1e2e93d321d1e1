//! What became of a message when nobody can say whether it arrived.

use llamon_client::{Client, ClientError};
use llamon_core::a2a::{ErrorCode, ListTasksRequest, Task};

/// What the agent knows of a context.
pub(super) enum Found {
    /// The message arrived, and this is its task.
    Task(Box<Task>),
    /// No task is in the context: the message did not arrive.
    Nothing,
    /// The agent does not list its tasks, so nobody can say.
    Unlisted,
}

/// Looks for the task that a message of this context began.
pub(super) async fn find(client: &Client, context_id: &str) -> Result<Found, ClientError> {
    let mut request = ListTasksRequest::default();
    request.context_id = Some(context_id.into());
    request.page_size = Some(1);
    request.history_length = Some(0);
    match client.list(request).await {
        Ok(page) => {
            let task = page
                .tasks
                .first()
                .filter(|task| *task.context_id == *context_id);
            Ok(match task {
                Some(task) => Found::Task(Box::new(Task::clone(task))),
                None => Found::Nothing,
            })
        }
        Err(error) if has_no_list(&error) => Ok(Found::Unlisted),
        Err(error) => Err(error),
    }
}

/// An agent that is there and refuses the call, for whatever reason, will not list its tasks.
fn has_no_list(error: &ClientError) -> bool {
    let refused = error.protocol().is_some_and(|error| !error.is_temporary());
    refused || error.is_usage() || matches!(error.http_status(), Some(404 | 405 | 501))
}

/// Whether the agent does not know the task.
pub(super) fn is_unknown(error: &ClientError) -> bool {
    error
        .protocol()
        .is_some_and(|error| error.code() == ErrorCode::TaskNotFound)
}

/// Whether the same call can succeed later.
pub(super) fn can_pass(error: &ClientError) -> bool {
    error.is_temporary()
        || error.is_connect()
        || error.is_timeout()
        || error.is_disconnected()
        || error.is_interrupted_stream()
        || matches!(error.http_status(), Some(429 | 502 | 503 | 504))
}
