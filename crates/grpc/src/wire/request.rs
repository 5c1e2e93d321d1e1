use bytes::Bytes;

use super::{Message, Task, Timestamp};

/// SendMessage and SendStreamingMessage (section 3.1.1).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SendMessageRequest {
    /// The tenant; empty is none.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// What is said.
    #[prost(message, optional, tag = "2")]
    pub message: Option<Message>,
    /// How it is to be handled.
    #[prost(message, optional, tag = "3")]
    pub configuration: Option<SendMessageConfiguration>,
    /// A `google.protobuf.Struct`.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub metadata: Option<Bytes>,
}

/// How a message is to be handled (section 3.2.2).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SendMessageConfiguration {
    /// Media types that the client accepts.
    #[prost(string, repeated, tag = "1")]
    pub accepted_output_modes: Vec<String>,
    /// Where the task's events are sent to.
    #[prost(message, optional, tag = "2")]
    pub task_push_notification_config: Option<TaskPushNotificationConfig>,
    /// How much history the answer has.
    #[prost(int32, optional, tag = "3")]
    pub history_length: Option<i32>,
    /// Whether to answer at once.
    #[prost(bool, tag = "4")]
    pub return_immediately: bool,
}

/// A push notification configuration (section 4.3.1), with the task that it is of.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct TaskPushNotificationConfig {
    /// The tenant; empty is none.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// Names it among its task's.
    #[prost(string, tag = "2")]
    pub id: String,
    /// The task.
    #[prost(string, tag = "3")]
    pub task_id: String,
    /// Where events are sent to.
    #[prost(string, tag = "4")]
    pub url: String,
    /// Sent along; empty is none.
    #[prost(string, tag = "5")]
    pub token: String,
    /// How the server authenticates itself.
    #[prost(message, optional, tag = "6")]
    pub authentication: Option<AuthenticationInfo>,
}

/// How a server authenticates itself to a receiver (section 4.3.2).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct AuthenticationInfo {
    /// The scheme (`Bearer`).
    #[prost(string, tag = "1")]
    pub scheme: String,
    /// What goes with it; empty is none.
    #[prost(string, tag = "2")]
    pub credentials: String,
}

/// GetTask (section 3.1.3).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GetTaskRequest {
    /// The tenant; empty is none.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The task.
    #[prost(string, tag = "2")]
    pub id: String,
    /// How much history the answer has.
    #[prost(int32, optional, tag = "3")]
    pub history_length: Option<i32>,
}

/// ListTasks (section 3.1.4).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListTasksRequest {
    /// The tenant; empty is none.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// Only those of this conversation; empty is all.
    #[prost(string, tag = "2")]
    pub context_id: String,
    /// Only those in this state; 0 is all.
    #[prost(int32, tag = "3")]
    pub status: i32,
    /// Tasks of a page.
    #[prost(int32, optional, tag = "4")]
    pub page_size: Option<i32>,
    /// Where the page begins.
    #[prost(string, tag = "5")]
    pub page_token: String,
    /// How much history each task has.
    #[prost(int32, optional, tag = "6")]
    pub history_length: Option<i32>,
    /// Only those whose status is of then or later.
    #[prost(message, optional, tag = "7")]
    pub status_timestamp_after: Option<Timestamp>,
    /// Whether the tasks come with their artifacts.
    #[prost(bool, optional, tag = "8")]
    pub include_artifacts: Option<bool>,
}

/// What ListTasks answers with.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListTasksResponse {
    /// The page.
    #[prost(message, repeated, tag = "1")]
    pub tasks: Vec<Task>,
    /// Where the next page begins; empty at the end.
    #[prost(string, tag = "2")]
    pub next_page_token: String,
    /// Tasks that a page has at most.
    #[prost(int32, tag = "3")]
    pub page_size: i32,
    /// Tasks on all pages.
    #[prost(int32, tag = "4")]
    pub total_size: i32,
}

/// CancelTask (section 3.1.5).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CancelTaskRequest {
    /// The tenant; empty is none.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The task.
    #[prost(string, tag = "2")]
    pub id: String,
    /// A `google.protobuf.Struct`.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub metadata: Option<Bytes>,
}

/// SubscribeToTask (section 3.1.6).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SubscribeToTaskRequest {
    /// The tenant; empty is none.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The task.
    #[prost(string, tag = "2")]
    pub id: String,
}

/// GetTaskPushNotificationConfig (section 3.1.8).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GetTaskPushNotificationConfigRequest {
    /// The tenant; empty is none.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The task.
    #[prost(string, tag = "2")]
    pub task_id: String,
    /// The configuration.
    #[prost(string, tag = "3")]
    pub id: String,
}

/// DeleteTaskPushNotificationConfig (section 3.1.10).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DeleteTaskPushNotificationConfigRequest {
    /// The tenant; empty is none.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The task.
    #[prost(string, tag = "2")]
    pub task_id: String,
    /// The configuration.
    #[prost(string, tag = "3")]
    pub id: String,
}

/// ListTaskPushNotificationConfigs (section 3.1.9).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListTaskPushNotificationConfigsRequest {
    /// The task.
    #[prost(string, tag = "1")]
    pub task_id: String,
    /// Configurations of a page; 0 is all.
    #[prost(int32, tag = "2")]
    pub page_size: i32,
    /// Where the page begins.
    #[prost(string, tag = "3")]
    pub page_token: String,
    /// The tenant; empty is none.
    #[prost(string, tag = "4")]
    pub tenant: String,
}

/// What ListTaskPushNotificationConfigs answers with.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListTaskPushNotificationConfigsResponse {
    /// The configurations.
    #[prost(message, repeated, tag = "1")]
    pub configs: Vec<TaskPushNotificationConfig>,
    /// Where the next page begins; empty at the end.
    #[prost(string, tag = "2")]
    pub next_page_token: String,
}

/// GetExtendedAgentCard (section 3.1.11).
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GetExtendedAgentCardRequest {
    /// The tenant; empty is none.
    #[prost(string, tag = "1")]
    pub tenant: String,
}
