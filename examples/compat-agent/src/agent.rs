use std::time::Duration;

use llamon_agent::prelude::{AgentError, Answer, Json, Part, Turn};
use serde_json::json;

/// How long the task of a message with the id `test-resubscribe-message-id` works.
const LONG: Duration = Duration::from_secs(4);

/// What a message asks for.
#[derive(Clone, Copy)]
enum Wanted {
    CompleteWith(&'static str),
    Text(&'static str),
    File,
    FileUrl,
    Data,
    Message(&'static str),
    Question,
    Rejection,
    Chunks,
    Wait,
    Nothing,
}

/// Prefixes of message ids, those that begin with another one before it.
const WANTED: [(&str, Wanted); 17] = [
    ("tck-complete-task", Wanted::CompleteWith("Hello from TCK")),
    ("tck-artifact-text", Wanted::Text("Generated text content")),
    ("tck-artifact-file-url", Wanted::FileUrl),
    ("tck-artifact-file", Wanted::File),
    ("tck-artifact-data", Wanted::Data),
    (
        "tck-message-response",
        Wanted::Message("Direct message response"),
    ),
    ("tck-input-required", Wanted::Question),
    ("tck-reject-task", Wanted::Rejection),
    ("tck-stream-001", Wanted::Text("Stream hello from TCK")),
    ("tck-stream-002", Wanted::Nothing),
    ("tck-stream-003", Wanted::Text("Stream task lifecycle")),
    ("tck-stream-ordering-001", Wanted::Text("Ordered output")),
    (
        "tck-stream-artifact-text",
        Wanted::Text("Streamed text content"),
    ),
    ("tck-stream-artifact-file", Wanted::File),
    ("tck-stream-artifact-chunked", Wanted::Chunks),
    ("test-resubscribe-message-id", Wanted::Wait),
    ("", Wanted::Nothing),
];

/// Does what the message's id says.
pub(crate) async fn run(turn: Turn) -> Result<Answer, AgentError> {
    let id = &turn.message().message_id;
    let wanted = WANTED.iter().find(|(prefix, _)| id.starts_with(prefix));
    let wanted = wanted.map_or(Wanted::Nothing, |(_, wanted)| *wanted);
    Ok(match wanted {
        Wanted::CompleteWith(text) => {
            turn.closing_status(text).await?;
            Answer::completed(())?
        }
        Wanted::Text(text) => {
            turn.emit(text).await?;
            Answer::completed(())?
        }
        Wanted::File => Answer::completed(named(Part::file_bytes("tck")))?,
        Wanted::FileUrl => {
            Answer::completed(named(Part::file_url("https://example.com/output.txt")))?
        }
        Wanted::Data => Answer::completed(Json(json!({"key": "value", "count": 42})))?,
        Wanted::Message(text) => Answer::message(text)?,
        Wanted::Question => Answer::input_required(())?,
        Wanted::Rejection => Answer::rejected("rejected")?,
        Wanted::Chunks => {
            turn.emit("chunk-1 ").await?;
            turn.emit("chunk-2").await?;
            Answer::completed(())?
        }
        Wanted::Wait => {
            tokio::select! {
                () = tokio::time::sleep(LONG) => {}
                () = turn.cancelled() => {}
            }
            Answer::completed(())?
        }
        Wanted::Nothing => Answer::completed(())?,
    })
}

fn named(file: Part) -> Part {
    file.with_filename("output.txt")
        .with_media_type("text/plain")
}
