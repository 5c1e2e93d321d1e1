use bytes::Bytes;

/// `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Timestamp {
    /// Seconds after 1970-01-01T00:00:00Z.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds from there, 0 to 999,999,999.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Any {
    /// Which message is in it.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The message.
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

/// `google.rpc.Status`, what `grpc-status-details-bin` holds.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RpcStatus {
    /// The code of gRPC.
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// The text.
    #[prost(string, tag = "2")]
    pub message: String,
    /// What else there is to say.
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

/// `google.rpc.ErrorInfo`, without its metadata.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ErrorInfo {
    /// Which error (`TASK_NOT_FOUND`).
    #[prost(string, tag = "1")]
    pub reason: String,
    /// Whose reasons these are (`a2a-protocol.org`).
    #[prost(string, tag = "2")]
    pub domain: String,
}
