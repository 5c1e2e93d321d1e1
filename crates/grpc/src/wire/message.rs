use bytes::Bytes;

/// A part (section 4.1.6).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Part {
    /// What it holds.
    #[prost(oneof = "PartContent", tags = "1, 2, 3, 4")]
    pub content: Option<PartContent>,
    /// A `google.protobuf.Struct`.
    #[prost(bytes = "bytes", optional, tag = "5")]
    pub metadata: Option<Bytes>,
    /// The file name; empty is none.
    #[prost(string, tag = "6")]
    pub filename: String,
    /// The media type; empty is none.
    #[prost(string, tag = "7")]
    pub media_type: String,
}

/// What a part holds.
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum PartContent {
    /// Text.
    #[prost(string, tag = "1")]
    Text(String),
    /// A file's bytes.
    #[prost(bytes = "bytes", tag = "2")]
    Raw(Bytes),
    /// A file's address.
    #[prost(string, tag = "3")]
    Url(String),
    /// A `google.protobuf.Value`.
    #[prost(bytes = "bytes", tag = "4")]
    Data(Bytes),
}

/// A message (section 4.1.4).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Message {
    /// The sender's id of it.
    #[prost(string, tag = "1")]
    pub message_id: String,
    /// The conversation; empty is none.
    #[prost(string, tag = "2")]
    pub context_id: String,
    /// The task; empty is none.
    #[prost(string, tag = "3")]
    pub task_id: String,
    /// 1 is the user, 2 the agent.
    #[prost(int32, tag = "4")]
    pub role: i32,
    /// What is said.
    #[prost(message, repeated, tag = "5")]
    pub parts: Vec<Part>,
    /// A `google.protobuf.Struct`.
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub metadata: Option<Bytes>,
    /// URIs of extensions.
    #[prost(string, repeated, tag = "7")]
    pub extensions: Vec<String>,
    /// Tasks that it refers to.
    #[prost(string, repeated, tag = "8")]
    pub reference_task_ids: Vec<String>,
}

/// An artifact (section 4.1.7).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Artifact {
    /// Unique within its task.
    #[prost(string, tag = "1")]
    pub artifact_id: String,
    /// A name for people.
    #[prost(string, tag = "2")]
    pub name: String,
    /// A description for people.
    #[prost(string, tag = "3")]
    pub description: String,
    /// What was produced.
    #[prost(message, repeated, tag = "4")]
    pub parts: Vec<Part>,
    /// A `google.protobuf.Struct`.
    #[prost(bytes = "bytes", optional, tag = "5")]
    pub metadata: Option<Bytes>,
    /// URIs of extensions.
    #[prost(string, repeated, tag = "6")]
    pub extensions: Vec<String>,
}
