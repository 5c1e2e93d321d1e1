use std::sync::Arc;

use bytestring::ByteString;

use super::message::{missing, push_string_array, read_id, read_tenant};
use super::{
    Message, PushConfig, Role, Secrets, TaskState, push_field, push_string_field, read_raw_object,
    read_strings,
};
use crate::json::{ReadError, Reader, Seen, push_number};
use crate::{Limits, Timestamp};

/// How a message is to be handled (section 3.2.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendConfiguration {
    /// Media types that the client accepts; empty is all.
    pub accepted_output_modes: Vec<String>,
    /// How much history the response has; see [`super::TaskView`].
    pub history_length: Option<u32>,
    /// Whether to answer with the task at once instead of when it has settled.
    pub return_immediately: bool,
    /// Where the client wants the task's events sent to.
    pub push: Option<PushConfig>,
}

/// SendMessage and SendStreamingMessage (section 3.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendMessageRequest {
    /// What is said.
    pub message: Message,
    /// How it is to be handled.
    pub configuration: SendConfiguration,
    /// JSON text of the request's metadata, an object.
    pub metadata: Option<String>,
    /// The tenant that the request names; see [`super::AgentInterface::tenant`].
    pub tenant: Option<String>,
}

impl SendMessageRequest {
    /// A request with the default configuration.
    pub fn new(message: Message) -> Self {
        Self {
            message,
            configuration: SendConfiguration::default(),
            metadata: None,
            tenant: None,
        }
    }

    /// Reads the request at the cursor; its parts share the memory of `source`.
    ///
    /// # Errors
    /// When `message` is missing or a field is wrong; naming it.
    pub fn read(
        reader: &mut Reader<'_>,
        source: &ByteString,
        limits: &Limits,
    ) -> Result<Self, ReadError> {
        let mut message = None;
        let mut configuration = SendConfiguration::default();
        let mut metadata = None;
        let mut tenant = None;
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "message" => {
                    seen.mark(0, "message")?;
                    if !reader.null()? {
                        message = Some(
                            Message::read(reader, source, limits)
                                .map_err(|e| e.within("message"))?,
                        );
                    }
                }
                "configuration" => {
                    seen.mark(1, "configuration")?;
                    if !reader.null()? {
                        configuration = SendConfiguration::read(reader)
                            .map_err(|e| e.within("configuration"))?;
                    }
                }
                "metadata" => {
                    seen.mark(2, "metadata")?;
                    metadata = read_raw_object(reader).map_err(|e| e.within("metadata"))?;
                }
                "tenant" => {
                    seen.mark(3, "tenant")?;
                    tenant = read_tenant(reader)?;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        let message = message.ok_or_else(|| missing("message"))?;
        if message.parts.is_empty() {
            return Err(missing("parts").within("message"));
        }
        if message.role == Role::Agent {
            let wrong = ReadError::invalid("is ROLE_AGENT; a client speaks as ROLE_USER");
            return Err(wrong.within("role").within("message"));
        }
        Ok(Self {
            message: message.detached_from(source.len()),
            configuration,
            metadata,
            tenant,
        })
    }

    /// Appends the request's JSON.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        push_field(out, "message");
        self.message.write(out);
        let configuration = &self.configuration;
        if *configuration != SendConfiguration::default() {
            push_field(out, "configuration");
            configuration.write(out);
        }
        if let Some(metadata) = &self.metadata {
            push_field(out, "metadata");
            out.push_str(metadata);
        }
        push_tenant(out, self.tenant.as_deref());
        out.push('}');
    }
}

impl SendConfiguration {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut configuration = Self::default();
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "acceptedOutputModes" | "accepted_output_modes" => {
                    seen.mark(0, "acceptedOutputModes")?;
                    configuration.accepted_output_modes =
                        read_strings(reader).map_err(|e| e.within("acceptedOutputModes"))?;
                }
                "historyLength" | "history_length" => {
                    seen.mark(1, "historyLength")?;
                    configuration.history_length = reader
                        .optional_u32()
                        .map_err(|e| e.within("historyLength"))?;
                }
                "returnImmediately" | "return_immediately" => {
                    seen.mark(2, "returnImmediately")?;
                    configuration.return_immediately = reader
                        .optional_bool()
                        .map_err(|e| e.within("returnImmediately"))?
                        .unwrap_or_default();
                }
                "taskPushNotificationConfig" | "task_push_notification_config" => {
                    seen.mark(3, "taskPushNotificationConfig")?;
                    if !reader.null()? {
                        let (push, _) = PushConfig::read(reader)
                            .map_err(|e| e.within("taskPushNotificationConfig"))?;
                        configuration.push = Some(push);
                    }
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        Ok(configuration)
    }

    fn write(&self, out: &mut String) {
        out.push('{');
        push_string_array(out, "acceptedOutputModes", &self.accepted_output_modes);
        if let Some(history_length) = self.history_length {
            push_field(out, "historyLength");
            push_number(out, history_length.into());
        }
        if self.return_immediately {
            push_field(out, "returnImmediately");
            out.push_str("true");
        }
        if let Some(push) = &self.push {
            push_field(out, "taskPushNotificationConfig");
            push.write(out, None, Secrets::Shown);
        }
        out.push('}');
    }
}

/// GetTask, CancelTask and SubscribeToTask: which task, and how much history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskRequest {
    /// The task.
    pub id: Arc<str>,
    /// How much history the response has; see [`super::TaskView`].
    pub history_length: Option<u32>,
    /// The tenant that the request names; see [`super::AgentInterface::tenant`].
    pub tenant: Option<String>,
}

impl TaskRequest {
    /// A request for task `id`.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            history_length: None,
            tenant: None,
        }
    }

    /// Reads the request at the cursor.
    ///
    /// # Errors
    /// When `id` is missing or a field is wrong; naming it.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut id = None;
        let mut history_length = None;
        let mut tenant = None;
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "id" => {
                    seen.mark(0, "id")?;
                    id = read_id(reader).map_err(|e| e.within("id"))?;
                }
                "historyLength" | "history_length" => {
                    seen.mark(1, "historyLength")?;
                    history_length = reader
                        .optional_u32()
                        .map_err(|e| e.within("historyLength"))?;
                }
                "tenant" => {
                    seen.mark(2, "tenant")?;
                    tenant = read_tenant(reader)?;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        Ok(Self {
            id: id.ok_or_else(|| missing("id"))?,
            history_length,
            tenant,
        })
    }

    /// Appends the request's JSON.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        push_string_field(out, "id", &self.id);
        if let Some(history_length) = self.history_length {
            push_field(out, "historyLength");
            push_number(out, history_length.into());
        }
        push_tenant(out, self.tenant.as_deref());
        out.push('}');
    }
}

/// ListTasks (section 3.1.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListTasksRequest {
    /// Only tasks of this conversation.
    pub context_id: Option<Arc<str>>,
    /// Only tasks in this state.
    pub status: Option<TaskState>,
    /// Only tasks whose status is of this moment or later.
    pub status_timestamp_after: Option<Timestamp>,
    /// Tasks of a page, 1 to 100; 50 when absent.
    pub page_size: Option<u32>,
    /// Where the page begins: the `nextPageToken` of the page before.
    pub page_token: Option<String>,
    /// How much history each task has; none when absent.
    pub history_length: Option<u32>,
    /// Whether the tasks come with their artifacts.
    pub include_artifacts: bool,
    /// The tenant that the request names; see [`super::AgentInterface::tenant`].
    pub tenant: Option<String>,
}

impl ListTasksRequest {
    /// Takes the filter `name` with `value`, as a REST query has it. Unknown names are ignored.
    ///
    /// # Errors
    /// When the value is wrong, naming the field.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ReadError> {
        match name {
            "contextId" | "context_id" => {
                self.context_id = (!value.is_empty()).then(|| value.into());
            }
            "tenant" => self.tenant = (!value.is_empty()).then(|| value.to_owned()),
            "status" => {
                self.status = Some(TaskState::parse(value).map_err(|e| e.within("status"))?);
            }
            "statusTimestampAfter" | "status_timestamp_after" => {
                let at = Timestamp::parse(value).map_err(|e| e.within("statusTimestampAfter"))?;
                self.status_timestamp_after = Some(at);
            }
            "pageSize" | "page_size" => self.page_size = Some(number("pageSize", value)?),
            "pageToken" | "page_token" => {
                self.page_token = (!value.is_empty()).then(|| value.to_owned());
            }
            "historyLength" | "history_length" => {
                self.history_length = Some(number("historyLength", value)?);
            }
            "includeArtifacts" | "include_artifacts" => {
                self.include_artifacts = match value {
                    "true" => true,
                    "false" => false,
                    other => {
                        return Err(ReadError::invalid(format!(
                            "expected true or false, found {other:?}"
                        ))
                        .within("includeArtifacts"));
                    }
                };
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the request at the cursor.
    ///
    /// # Errors
    /// When a field is wrong; naming it.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut request = Self::default();
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "contextId" | "context_id" => {
                    seen.mark(0, "contextId")?;
                    request.context_id = read_id(reader).map_err(|e| e.within("contextId"))?;
                }
                "status" => {
                    seen.mark(1, "status")?;
                    let name = reader.optional_string().map_err(|e| e.within("status"))?;
                    // Unspecified is the proto default: no filter.
                    request.status = name
                        .filter(|name| name != "TASK_STATE_UNSPECIFIED")
                        .map(|name| TaskState::parse(&name))
                        .transpose()
                        .map_err(|e| e.within("status"))?;
                }
                "statusTimestampAfter" | "status_timestamp_after" => {
                    seen.mark(2, "statusTimestampAfter")?;
                    request.status_timestamp_after = reader
                        .optional_string()
                        .and_then(|text| text.as_deref().map(Timestamp::parse).transpose())
                        .map_err(|e| e.within("statusTimestampAfter"))?;
                }
                "pageSize" | "page_size" => {
                    seen.mark(3, "pageSize")?;
                    request.page_size = reader.optional_u32().map_err(|e| e.within("pageSize"))?;
                }
                "pageToken" | "page_token" => {
                    seen.mark(4, "pageToken")?;
                    request.page_token = reader
                        .optional_string()
                        .map_err(|e| e.within("pageToken"))?
                        .filter(|token| !token.is_empty())
                        .map(Into::into);
                }
                "historyLength" | "history_length" => {
                    seen.mark(5, "historyLength")?;
                    request.history_length = reader
                        .optional_u32()
                        .map_err(|e| e.within("historyLength"))?;
                }
                "includeArtifacts" | "include_artifacts" => {
                    seen.mark(6, "includeArtifacts")?;
                    request.include_artifacts = reader
                        .optional_bool()
                        .map_err(|e| e.within("includeArtifacts"))?
                        .unwrap_or_default();
                }
                "tenant" => {
                    seen.mark(7, "tenant")?;
                    request.tenant = read_tenant(reader)?;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        Ok(request)
    }

    /// The request's fields as names and values of a REST query.
    pub fn query(&self) -> Vec<(&'static str, String)> {
        let mut query = Vec::new();
        if let Some(context_id) = &self.context_id {
            query.push(("contextId", context_id.to_string()));
        }
        if let Some(status) = self.status {
            query.push(("status", status.as_str().to_owned()));
        }
        if let Some(after) = self.status_timestamp_after {
            query.push(("statusTimestampAfter", after.to_string()));
        }
        if let Some(page_size) = self.page_size {
            query.push(("pageSize", page_size.to_string()));
        }
        if let Some(page_token) = &self.page_token {
            query.push(("pageToken", page_token.clone()));
        }
        if let Some(history_length) = self.history_length {
            query.push(("historyLength", history_length.to_string()));
        }
        if self.include_artifacts {
            query.push(("includeArtifacts", "true".to_owned()));
        }
        if let Some(tenant) = &self.tenant {
            query.push(("tenant", tenant.clone()));
        }
        query
    }

    /// Appends the request's JSON.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        for (name, value) in self.query() {
            match name {
                "pageSize" | "historyLength" | "includeArtifacts" => {
                    push_field(out, name);
                    out.push_str(&value);
                }
                _ => push_string_field(out, name, &value),
            }
        }
        out.push('}');
    }
}

/// GetExtendedAgentCard (section 3.1.11).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtendedCardRequest {
    /// The tenant that the request names; see [`super::AgentInterface::tenant`].
    pub tenant: Option<String>,
}

impl ExtendedCardRequest {
    /// Reads the request at the cursor.
    ///
    /// # Errors
    /// When a field is wrong; naming it.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut request = Self::default();
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            if key == "tenant" {
                seen.mark(0, "tenant")?;
                request.tenant = read_tenant(reader)?;
            } else {
                reader.skip().map_err(|e| e.within(key.into_owned()))?;
            }
        }
        Ok(request)
    }

    /// Appends the request's JSON.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        push_tenant(out, self.tenant.as_deref());
        out.push('}');
    }
}

pub(super) fn push_tenant(out: &mut String, tenant: Option<&str>) {
    if let Some(tenant) = tenant {
        push_string_field(out, "tenant", tenant);
    }
}

pub(super) fn number(field: &'static str, value: &str) -> Result<u32, ReadError> {
    value.parse().map_err(|_| {
        let shown: String = value.chars().take(40).collect();
        ReadError::invalid(format!("expected a whole number from 0, found {shown:?}")).within(field)
    })
}

/// The error of a page size that is out of range.
pub fn page_size_error(found: u32) -> ReadError {
    ReadError::invalid(format!("is {found}; a page has 1 to 100 tasks")).within("pageSize")
}
