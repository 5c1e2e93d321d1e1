//! How a stream that broke is continued: by subscribing to its task again, or, where that has
//! ended, by getting it. No message is ever sent again.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use llamon_core::a2a::{Task, TaskRequest};

use crate::client::Client;
use crate::error::ClientError;
use crate::incoming::Incoming;
use crate::retry;

/// A connection that held this long was no failed attempt when it is lost.
const HELD: Duration = Duration::from_secs(30);

/// What is needed to continue a stream.
pub(crate) struct Resume {
    pub(crate) client: Client,
    /// Those that were asked for with the message.
    pub(crate) extensions: Vec<String>,
    /// Attempts in a row, after which it is given up.
    pub(crate) max_attempts: u32,
    made: u32,
    since: Instant,
}

/// Where a stream goes on.
pub(crate) enum Resumed {
    /// With a stream that begins with the task.
    Stream(Incoming),
    /// Nowhere: the task as it stands, which cannot be followed, and why it cannot.
    Task(Arc<Task>, ClientError),
}

/// The attempts that were made, and what came of them.
pub(crate) type Resuming =
    Pin<Box<dyn Future<Output = (u32, Result<Resumed, ClientError>)> + Send>>;

impl Resume {
    pub(crate) fn new(client: Client, extensions: Vec<String>, max_attempts: u32) -> Self {
        Self {
            client,
            extensions,
            max_attempts,
            made: 0,
            since: Instant::now(),
        }
    }

    /// Whether there is an attempt left. `was_lost` says that the connection was there to its end.
    pub(crate) fn may_attempt(&mut self, was_lost: bool) -> bool {
        if was_lost && self.since.elapsed() >= HELD {
            self.made = 0;
        }
        self.made < self.max_attempts
    }

    /// There was something new: what is attempted from now on is attempted anew.
    pub(crate) fn has_news(&mut self) {
        self.made = 0;
    }

    /// Attempts in a row that brought nothing new.
    pub(crate) fn made(&self) -> u32 {
        self.made
    }

    /// Notes the attempts that were made to continue the stream, which has begun again.
    pub(crate) fn note(&mut self, made: u32) {
        self.made = made;
        self.since = Instant::now();
    }

    /// Continues the stream of a task.
    pub(crate) fn attempt(&self, task_id: Arc<str>) -> Resuming {
        let (client, extensions) = (self.client.clone(), self.extensions.clone());
        let (made, max) = (self.made, self.max_attempts);
        Box::pin(async move { attempts(&client, task_id, &extensions, made, max).await })
    }

    /// Gets the task of a stream that began again, but not with the task.
    pub(crate) fn get(&self, task_id: Arc<str>) -> Resuming {
        let (client, made) = (self.client.clone(), self.made);
        Box::pin(async move {
            let without = ClientError::invalid_response(
                "the agent's stream does not begin with the task, so what was missed is not known",
            );
            let task = client.get_with(TaskRequest::new(task_id)).await;
            (
                made,
                task.map(|task| Resumed::Task(Arc::new(task), without)),
            )
        })
    }
}

async fn attempts(
    client: &Client,
    task_id: Arc<str>,
    extensions: &[String],
    mut made: u32,
    max: u32,
) -> (u32, Result<Resumed, ClientError>) {
    loop {
        made += 1;
        let pause = retry::pause_by_chance(made);
        tracing::debug!(task = %task_id, attempt = made, ?pause, "a stream is continued");
        tokio::time::sleep(pause).await;
        match attempt(client, &task_id, extensions).await {
            Err(error) if made < max && may_pass(&error) => {
                tracing::debug!(task = %task_id, attempt = made, %error, "it could not be continued");
            }
            result => return (made, result),
        }
    }
}

async fn attempt(
    client: &Client,
    task_id: &Arc<str>,
    extensions: &[String],
) -> Result<Resumed, ClientError> {
    let refusal = match client.follow(task_id, extensions, 1).await {
        Ok(opened) => return Ok(Resumed::Stream(opened.incoming)),
        Err(error) if may_pass(&error) => return Err(error),
        Err(error) => error,
    };
    // A task that has ended cannot be followed; whatever else the refusal means, the task says
    // more than it.
    match client.get_with(TaskRequest::new(Arc::clone(task_id))).await {
        Ok(task) => Ok(Resumed::Task(Arc::new(task), refusal)),
        Err(error) if may_pass(&error) => Err(error),
        Err(_) => Err(refusal),
    }
}

fn may_pass(error: &ClientError) -> bool {
    error.is_temporary() || error.is_timeout()
}
