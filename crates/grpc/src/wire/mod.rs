//! The messages of `lf.a2a.v1`, and the few of `google.protobuf` and `google.rpc` that it uses.
//!
//! What a field means is said where core has it ([`llamon_core::a2a`]); here is how it is encoded.
//! Two things are not as generated code has them: enums are their numbers, and
//! `google.protobuf.Value` and `Struct` are their encoded bytes (see [`crate::value`]). A message in
//! which such a field stands twice is read with the last one; protobuf would merge the two, which no
//! encoder makes use of.

mod card;
mod google;
mod message;
mod request;
mod task;

pub use card::{
    AgentCapabilities, AgentCard, AgentCardSignature, AgentExtension, AgentInterface,
    AgentProvider, AgentSkill, ApiKeySecurityScheme, AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow, HttpAuthSecurityScheme, ImplicitOAuthFlow,
    MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlow, OAuthFlows,
    OpenIdConnectSecurityScheme, PasswordOAuthFlow, SecurityRequirement, SecurityScheme,
    SecuritySchemeKind, StringList,
};
pub use google::{Any, ErrorInfo, RpcStatus, Timestamp};
pub use message::{Artifact, Message, Part, PartContent};
pub use request::{
    AuthenticationInfo, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, SendMessageConfiguration, SendMessageRequest,
    SubscribeToTaskRequest, TaskPushNotificationConfig,
};
pub use task::{
    SendMessagePayload, SendMessageResponse, StreamPayload, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent,
};
