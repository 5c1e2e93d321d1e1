//! What became of a message when nobody can say whether it arrived: ADR 22.

use llamon_client::{Client, ClientError};
use llamon_core::a2a::{ErrorCode, ListTasksRequest, Task};

/// What the agent knows of a context.
pub(super) enum Found {
    /// The message arrived, and this is its task.
    Task(Box<Task>),
    /// No task is in the context, and the agent lists others: the message did not arrive.
    Nothing,
    /// The agent lists no tasks, perhaps because it answers without any, so nobody can say.
    Unlisted,
}

/// Looks for the task that a message of this context began.
pub(super) async fn find(client: &Client, context_id: &str) -> Result<Found, ClientError> {
    match first(client, Some(context_id)).await {
        Ok(Some(task)) if *task.context_id == *context_id => Ok(Found::Task(Box::new(task))),
        Ok(_) => match first(client, None).await? {
            Some(_) => Ok(Found::Nothing),
            None => Ok(Found::Unlisted),
        },
        Err(error) if has_no_list(&error) => Ok(Found::Unlisted),
        Err(error) => Err(error),
    }
}

/// The newest task of a context, or of all.
async fn first(client: &Client, context_id: Option<&str>) -> Result<Option<Task>, ClientError> {
    let mut request = ListTasksRequest::default();
    request.context_id = context_id.map(Into::into);
    request.page_size = Some(1);
    request.history_length = Some(0);
    let page = client.list(request).await?;
    Ok(page.tasks.first().map(|task| Task::clone(task)))
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
