use bytes::Bytes;

use super::{Artifact, Message, Timestamp};

/// A task (section 4.1.1).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Task {
    /// The server's id of it.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The conversation.
    #[prost(string, tag = "2")]
    pub context_id: String,
    /// Where it stands.
    #[prost(message, optional, tag = "3")]
    pub status: Option<TaskStatus>,
    /// What it produced.
    #[prost(message, repeated, tag = "4")]
    pub artifacts: Vec<Artifact>,
    /// What was said.
    #[prost(message, repeated, tag = "5")]
    pub history: Vec<Message>,
    /// A `google.protobuf.Struct`.
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub metadata: Option<Bytes>,
}

/// Where a task stands (section 4.1.2).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TaskStatus {
    /// 1 is submitted, then working, completed, failed, canceled, input required, rejected, and
    /// 8 is authentication required.
    #[prost(int32, tag = "1")]
    pub state: i32,
    /// What the agent says about it.
    #[prost(message, optional, tag = "2")]
    pub message: Option<Message>,
    /// When it was reached.
    #[prost(message, optional, tag = "3")]
    pub timestamp: Option<Timestamp>,
}

/// A change of a task's status (section 4.2.1).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TaskStatusUpdateEvent {
    /// The task.
    #[prost(string, tag = "1")]
    pub task_id: String,
    /// The conversation.
    #[prost(string, tag = "2")]
    pub context_id: String,
    /// Where it stands now.
    #[prost(message, optional, tag = "3")]
    pub status: Option<TaskStatus>,
    /// A `google.protobuf.Struct`.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub metadata: Option<Bytes>,
}

/// A chunk of an artifact (section 4.2.2).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TaskArtifactUpdateEvent {
    /// The task.
    #[prost(string, tag = "1")]
    pub task_id: String,
    /// The conversation.
    #[prost(string, tag = "2")]
    pub context_id: String,
    /// The artifact's id and the parts of this chunk.
    #[prost(message, optional, tag = "3")]
    pub artifact: Option<Artifact>,
    /// Whether the parts are added.
    #[prost(bool, tag = "4")]
    pub append: bool,
    /// Whether it is known to be the last.
    #[prost(bool, tag = "5")]
    pub last_chunk: bool,
    /// A `google.protobuf.Struct`.
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub metadata: Option<Bytes>,
}

/// What SendMessage answers with.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SendMessageResponse {
    /// One of two.
    #[prost(oneof = "SendMessagePayload", tags = "1, 2")]
    pub payload: Option<SendMessagePayload>,
}

/// What is in a [`SendMessageResponse`].
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum SendMessagePayload {
    /// The task.
    #[prost(message, tag = "1")]
    Task(Task),
    /// A direct answer.
    #[prost(message, tag = "2")]
    Message(Message),
}

/// One event of a stream (section 4.2.3).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct StreamResponse {
    /// One of four.
    #[prost(oneof = "StreamPayload", tags = "1, 2, 3, 4")]
    pub payload: Option<StreamPayload>,
}

/// What is in a [`StreamResponse`].
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum StreamPayload {
    /// The task as it stands.
    #[prost(message, tag = "1")]
    Task(Task),
    /// A direct answer.
    #[prost(message, tag = "2")]
    Message(Message),
    /// The status changed.
    #[prost(message, tag = "3")]
    StatusUpdate(TaskStatusUpdateEvent),
    /// An artifact grew.
    #[prost(message, tag = "4")]
    ArtifactUpdate(TaskArtifactUpdateEvent),
}
