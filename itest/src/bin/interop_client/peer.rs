//! What the checks share: a message, an answer, and how they are compared.

use llamon_agent::a2a::{A2aError, ErrorCode, StreamEvent, Task, TaskState};
use llamon_agent::client::{Client, ClientError, EventStream, Outgoing, Reply};
use llamon_agent::core::Part;
use serde_json::Value;

/// `Err` says what was wrong.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// The other SDK's agent over one binding.
pub(crate) struct Peer {
    pub(crate) client: Client,
}

impl Peer {
    pub(crate) async fn send(&self, message: impl Into<Outgoing>) -> Outcome<Reply> {
        self.client.send(message).await.map_err(said)
    }

    /// All events, the rules that hold for every stream, and what they say together.
    pub(crate) async fn stream(&self, message: impl Into<Outgoing>) -> Outcome<(Events, Reply)> {
        let mut stream = self.client.stream(message).await.map_err(said)?;
        let mut events = Events(Vec::new());
        while let Some(event) = stream.next().await {
            events.0.push(event.map_err(said)?);
        }
        events.are_sound()?;
        Ok((events, stream.finish().await.map_err(said)?))
    }

    /// The id of a task that runs until it is canceled.
    pub(crate) async fn slow(&self) -> Outcome<String> {
        let reply = self
            .send(Outgoing::text("slow").return_immediately())
            .await?;
        same(
            "settled",
            reply.state().is_some_and(TaskState::is_settled),
            false,
        )?;
        task_id(&reply)
    }

    pub(crate) async fn get(&self, id: &str) -> Outcome<Task> {
        self.client.get(id).await.map_err(said)
    }

    pub(crate) async fn cancel(&self, id: &str) -> Outcome<Task> {
        let task = self.client.cancel(id).await.map_err(said)?;
        same("state after cancel", task.status.state, TaskState::Canceled)?;
        Ok(task)
    }
}

/// The events of a stream.
pub(crate) struct Events(pub(crate) Vec<StreamEvent>);

impl Events {
    pub(crate) fn artifact_updates(&self) -> usize {
        let updates = self.0.iter();
        updates
            .filter(|event| matches!(event, StreamEvent::Artifact(_)))
            .count()
    }

    /// A2A section 3.1.2.
    pub(crate) fn begin_with_the_task(&self) -> Outcome {
        match self.0.first() {
            Some(StreamEvent::Task(_)) => Ok(()),
            other => Err(format!("the first event is no task: {other:?}")),
        }
    }

    /// Of one task.
    fn are_sound(&self) -> Outcome {
        let ids = self.0.iter().filter_map(|event| match event {
            StreamEvent::Task(task) => Some((&task.id, &task.context_id)),
            StreamEvent::Status(update) => Some((&update.task_id, &update.context_id)),
            StreamEvent::Artifact(update) => Some((&update.task_id, &update.context_id)),
            _ => None,
        });
        let ids: Vec<_> = ids.collect();
        let Some(first) = ids.first() else {
            return Err("no event of a task".to_owned());
        };
        ids.iter()
            .try_for_each(|of_event| same("ids of an event", of_event, first))
    }
}

/// The next event.
pub(crate) async fn next(stream: &mut EventStream) -> Outcome<StreamEvent> {
    let event = stream.next().await.ok_or("the stream ended")?;
    event.map_err(said)
}

pub(crate) fn said(error: ClientError) -> String {
    let code = error.protocol().map(A2aError::code);
    match code {
        Some(code) => format!("{code:?}: {error}"),
        None => error.to_string(),
    }
}

pub(crate) fn task_id(reply: &Reply) -> Outcome<String> {
    let task = reply.task().ok_or("no task")?;
    Ok(task.id.to_string())
}

pub(crate) fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, wanted: T) -> Outcome {
    if got == wanted {
        return Ok(());
    }
    let shown = |value: T| {
        let text = format!("{value:?}");
        let short: String = text.chars().take(300).collect();
        if short.len() == text.len() {
            text
        } else {
            format!("{short}... ({} bytes)", text.len())
        }
    };
    Err(format!(
        "{what}: got {}, wanted {}",
        shown(got),
        shown(wanted)
    ))
}

pub(crate) fn is_error<T: std::fmt::Debug>(
    what: &str,
    got: Result<T, ClientError>,
    wanted: ErrorCode,
) -> Outcome {
    match got {
        Ok(value) => Err(format!("{what}: no error, but {value:?}")),
        Err(error) => match error.protocol() {
            Some(protocol) => same(what, protocol.code(), wanted),
            None => Err(format!("{what}: {error}")),
        },
    }
}

/// Data as values, numbers as doubles: an SDK that goes through protobuf knows no others.
pub(crate) fn same_data(got: &[String], wanted: &[String]) -> Outcome {
    let values = |texts: &[String]| -> Outcome<Vec<Value>> {
        let values = texts.iter().map(|text| {
            let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            Ok(doubles(value))
        });
        values.collect()
    };
    same("data", values(got)?, values(wanted)?)
}

/// Files by what they hold, their name and their type.
pub(crate) fn same_files(got: &[Part], wanted: &[Part]) -> Outcome {
    type Held = (Result<Vec<u8>, String>, Option<String>, Option<String>);
    let held = |part: &Part| -> Held {
        let content = match part.url() {
            Some(url) => Ok(url.into_owned().into_bytes()),
            None => match part.file_content() {
                Ok(bytes) => Ok(bytes.to_vec()),
                Err(error) => Err(error.to_string()),
            },
        };
        let text = |field: Option<std::borrow::Cow<'_, str>>| {
            field
                .map(std::borrow::Cow::into_owned)
                .filter(|field| !field.is_empty())
        };
        (content, text(part.filename()), text(part.media_type()))
    };
    let all = |parts: &[Part]| -> Vec<Held> { parts.iter().map(held).collect() };
    same("files", all(got), all(wanted))
}

fn doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.into_iter().map(doubles).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, value)| (key, doubles(value)))
            .collect(),
        other => other,
    }
}
