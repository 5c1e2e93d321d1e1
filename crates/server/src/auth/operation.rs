use std::fmt;

/// An operation of the protocol (section 3.1), whatever binding it comes by.
///
/// ```
/// use llamon_server::auth::Operation;
///
/// assert_eq!(Operation::GetTask.name(), "GetTask");
/// assert_eq!(Operation::ALL.len(), 11);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Operation {
    /// Section 3.1.1.
    SendMessage,
    /// Section 3.1.2.
    SendStreamingMessage,
    /// Section 3.1.3.
    GetTask,
    /// Section 3.1.4.
    ListTasks,
    /// Section 3.1.5.
    CancelTask,
    /// Section 3.1.6.
    SubscribeToTask,
    /// Section 3.1.7.
    CreateTaskPushNotificationConfig,
    /// Section 3.1.8.
    GetTaskPushNotificationConfig,
    /// Section 3.1.9.
    ListTaskPushNotificationConfigs,
    /// Section 3.1.10.
    DeleteTaskPushNotificationConfig,
    /// Section 3.1.11.
    GetExtendedAgentCard,
}

impl Operation {
    /// All of them, in the specification's order.
    pub const ALL: [Self; 11] = [
        Self::SendMessage,
        Self::SendStreamingMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::SubscribeToTask,
        Self::CreateTaskPushNotificationConfig,
        Self::GetTaskPushNotificationConfig,
        Self::ListTaskPushNotificationConfigs,
        Self::DeleteTaskPushNotificationConfig,
        Self::GetExtendedAgentCard,
    ];

    /// Its name in JSON-RPC and gRPC.
    pub fn name(self) -> &'static str {
        match self {
            Self::SendMessage => "SendMessage",
            Self::SendStreamingMessage => "SendStreamingMessage",
            Self::GetTask => "GetTask",
            Self::ListTasks => "ListTasks",
            Self::CancelTask => "CancelTask",
            Self::SubscribeToTask => "SubscribeToTask",
            Self::CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfig",
            Self::GetTaskPushNotificationConfig => "GetTaskPushNotificationConfig",
            Self::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigs",
            Self::DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfig",
            Self::GetExtendedAgentCard => "GetExtendedAgentCard",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
