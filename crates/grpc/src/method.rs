//! The methods of `lf.a2a.v1.A2AService` (section 10).

/// The service, as the first segment of a method's path has it.
pub const SERVICE: &str = "lf.a2a.v1.A2AService";

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Unary.
    SendMessage,
    /// Streams its answer.
    SendStreamingMessage,
    /// Unary.
    GetTask,
    /// Unary.
    ListTasks,
    /// Unary.
    CancelTask,
    /// Streams its answer.
    SubscribeToTask,
    /// Unary.
    CreateTaskPushNotificationConfig,
    /// Unary.
    GetTaskPushNotificationConfig,
    /// Unary.
    ListTaskPushNotificationConfigs,
    /// Unary.
    GetExtendedAgentCard,
    /// Unary.
    DeleteTaskPushNotificationConfig,
}

impl Method {
    /// All of them, in the order of the service.
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
        Self::GetExtendedAgentCard,
        Self::DeleteTaskPushNotificationConfig,
    ];

    /// The path of its calls.
    pub fn path(self) -> &'static str {
        match self {
            Self::SendMessage => "/lf.a2a.v1.A2AService/SendMessage",
            Self::SendStreamingMessage => "/lf.a2a.v1.A2AService/SendStreamingMessage",
            Self::GetTask => "/lf.a2a.v1.A2AService/GetTask",
            Self::ListTasks => "/lf.a2a.v1.A2AService/ListTasks",
            Self::CancelTask => "/lf.a2a.v1.A2AService/CancelTask",
            Self::SubscribeToTask => "/lf.a2a.v1.A2AService/SubscribeToTask",
            Self::CreateTaskPushNotificationConfig => {
                "/lf.a2a.v1.A2AService/CreateTaskPushNotificationConfig"
            }
            Self::GetTaskPushNotificationConfig => {
                "/lf.a2a.v1.A2AService/GetTaskPushNotificationConfig"
            }
            Self::ListTaskPushNotificationConfigs => {
                "/lf.a2a.v1.A2AService/ListTaskPushNotificationConfigs"
            }
            Self::GetExtendedAgentCard => "/lf.a2a.v1.A2AService/GetExtendedAgentCard",
            Self::DeleteTaskPushNotificationConfig => {
                "/lf.a2a.v1.A2AService/DeleteTaskPushNotificationConfig"
            }
        }
    }

    /// The method of this name (`GetTask`).
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|method| method.path().strip_prefix(PREFIX) == Some(name))
    }
}

const PREFIX: &str = "/lf.a2a.v1.A2AService/";

#[cfg(test)]
mod tests {
    use super::{Method, SERVICE};

    #[test]
    fn a_path_is_the_service_and_the_name() {
        for method in Method::ALL {
            assert_eq!(method.path(), format!("/{SERVICE}/{method:?}"));
            assert_eq!(Method::of_name(&format!("{method:?}")), Some(method));
        }
        assert_eq!(Method::of_name("getTask"), None);
        assert_eq!(Method::of_name(""), None);
    }
}
