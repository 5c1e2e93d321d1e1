//! The operations on push notification configurations (sections 3.1.7 to 3.1.10).

use std::sync::Arc;

use super::message::{missing, read_id, read_tenant};
use super::request::push_tenant;
use super::task::read_list;
use super::{PushConfig, Secrets, push_field, push_string_field};
use crate::json::{ReadError, Reader, Seen, push_number};

/// A push notification configuration and the task that it is of: what is created, and what is
/// answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskPushConfig {
    /// The task.
    pub task_id: Arc<str>,
    /// The configuration.
    pub config: PushConfig,
    /// The tenant that the request names; see [`super::AgentInterface::tenant`].
    pub tenant: Option<String>,
}

impl TaskPushConfig {
    /// A configuration of a task.
    pub fn new(task_id: impl Into<Arc<str>>, config: PushConfig) -> Self {
        Self {
            task_id: task_id.into(),
            config,
            tenant: None,
        }
    }

    /// Reads the configuration at the cursor.
    ///
    /// # Errors
    /// When `taskId` or `url` is missing or a field is wrong; naming it.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let (config, place) = PushConfig::read(reader)?;
        Ok(Self {
            task_id: place.task_id.ok_or_else(|| missing("taskId"))?,
            config,
            tenant: place.tenant,
        })
    }

    /// Appends the configuration's JSON.
    pub fn write(&self, out: &mut String, secrets: Secrets) {
        self.config.write(out, Some(&self.task_id), secrets);
    }
}

/// GetTaskPushNotificationConfig and DeleteTaskPushNotificationConfig: which configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PushConfigRequest {
    /// The task.
    pub task_id: Arc<str>,
    /// The configuration's id.
    pub id: Arc<str>,
    /// The tenant that the request names; see [`super::AgentInterface::tenant`].
    pub tenant: Option<String>,
}

impl PushConfigRequest {
    /// A request for configuration `id` of a task.
    pub fn new(task_id: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Self {
        Self {
            task_id: task_id.into(),
            id: id.into(),
            tenant: None,
        }
    }

    /// Reads the request at the cursor.
    ///
    /// # Errors
    /// When `taskId` or `id` is missing or a field is wrong; naming it.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut task_id = None;
        let mut id = None;
        let mut tenant = None;
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "taskId" | "task_id" => {
                    seen.mark(0, "taskId")?;
                    task_id = read_id(reader).map_err(|e| e.within("taskId"))?;
                }
                "id" => {
                    seen.mark(1, "id")?;
                    id = read_id(reader).map_err(|e| e.within("id"))?;
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
            task_id: task_id.ok_or_else(|| missing("taskId"))?,
            id: id.ok_or_else(|| missing("id"))?,
            tenant,
        })
    }

    /// Appends the request's JSON.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        push_string_field(out, "taskId", &self.task_id);
        push_string_field(out, "id", &self.id);
        push_tenant(out, self.tenant.as_deref());
        out.push('}');
    }
}

/// ListTaskPushNotificationConfigs (section 3.1.9).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListPushConfigsRequest {
    /// The task.
    pub task_id: Arc<str>,
    /// Configurations of a page; all of them when absent or 0.
    pub page_size: Option<u32>,
    /// Where the page begins: the `nextPageToken` of the page before.
    pub page_token: Option<String>,
    /// The tenant that the request names; see [`super::AgentInterface::tenant`].
    pub tenant: Option<String>,
}

impl ListPushConfigsRequest {
    /// A request for all configurations of a task.
    pub fn new(task_id: impl Into<Arc<str>>) -> Self {
        Self {
            task_id: task_id.into(),
            page_size: None,
            page_token: None,
            tenant: None,
        }
    }

    /// Takes the field `name` with `value`, as a REST query has it. Unknown names are ignored.
    ///
    /// # Errors
    /// When the value is wrong, naming the field.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ReadError> {
        match name {
            "pageSize" | "page_size" => {
                self.page_size = Some(super::request::number("pageSize", value)?);
            }
            "pageToken" | "page_token" => {
                self.page_token = (!value.is_empty()).then(|| value.to_owned());
            }
            "tenant" => self.tenant = (!value.is_empty()).then(|| value.to_owned()),
            _ => {}
        }
        Ok(())
    }

    /// Reads the request at the cursor.
    ///
    /// # Errors
    /// When `taskId` is missing or a field is wrong; naming it.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut request = Self::new("");
        let mut task_id = None;
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "taskId" | "task_id" => {
                    seen.mark(0, "taskId")?;
                    task_id = read_id(reader).map_err(|e| e.within("taskId"))?;
                }
                "pageSize" | "page_size" => {
                    seen.mark(1, "pageSize")?;
                    request.page_size = reader.optional_u32().map_err(|e| e.within("pageSize"))?;
                }
                "pageToken" | "page_token" => {
                    seen.mark(2, "pageToken")?;
                    let token = reader.optional_string();
                    let token = token.map_err(|e| e.within("pageToken"))?;
                    request.page_token = token.filter(|token| !token.is_empty()).map(Into::into);
                }
                "tenant" => {
                    seen.mark(3, "tenant")?;
                    request.tenant = read_tenant(reader)?;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        request.task_id = task_id.ok_or_else(|| missing("taskId"))?;
        Ok(request)
    }

    /// The request's fields beside the task as names and values of a REST query.
    pub fn query(&self) -> Vec<(&'static str, String)> {
        let size = self.page_size.map(|size| ("pageSize", size.to_string()));
        let token = self.page_token.clone().map(|token| ("pageToken", token));
        let tenant = self.tenant.clone().map(|tenant| ("tenant", tenant));
        size.into_iter().chain(token).chain(tenant).collect()
    }

    /// Appends the request's JSON.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        push_string_field(out, "taskId", &self.task_id);
        if let Some(page_size) = self.page_size {
            push_field(out, "pageSize");
            push_number(out, page_size.into());
        }
        if let Some(page_token) = &self.page_token {
            push_string_field(out, "pageToken", page_token);
        }
        push_tenant(out, self.tenant.as_deref());
        out.push('}');
    }

    /// The page of `configs` that the request asks for. They have ids.
    pub fn page(&self, mut configs: Vec<Arc<PushConfig>>) -> ListPushConfigsResponse {
        configs.sort_by(|a, b| a.id.cmp(&b.id));
        if let Some(after) = self.page_token.as_deref() {
            configs.retain(|config| config.id.as_deref() > Some(after));
        }
        let size = self.page_size.filter(|size| *size > 0);
        let size = size.map_or(usize::MAX, |size| size as usize);
        let more = configs.len() > size;
        configs.truncate(size);
        let last = configs.last().filter(|_| more);
        let next_page_token = last.and_then(|config| config.id.as_deref());
        ListPushConfigsResponse {
            next_page_token: next_page_token.unwrap_or_default().to_owned(),
            configs: configs
                .into_iter()
                .map(|config| TaskPushConfig::new(Arc::clone(&self.task_id), (*config).clone()))
                .collect(),
        }
    }
}

/// What ListTaskPushNotificationConfigs answers with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListPushConfigsResponse {
    /// The configurations, by id.
    pub configs: Vec<TaskPushConfig>,
    /// Where the next page begins; empty at the end.
    pub next_page_token: String,
}

impl ListPushConfigsResponse {
    /// Reads the response at the cursor.
    ///
    /// # Errors
    /// When a field is wrong; naming it.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut response = Self::default();
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "configs" => {
                    seen.mark(0, "configs")?;
                    let configs = read_list(reader, TaskPushConfig::read);
                    response.configs = configs.map_err(|e| e.within("configs"))?;
                }
                "nextPageToken" | "next_page_token" => {
                    seen.mark(1, "nextPageToken")?;
                    let token = reader.optional_string();
                    let token = token.map_err(|e| e.within("nextPageToken"))?;
                    response.next_page_token = token.unwrap_or_default().into_owned();
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        Ok(response)
    }

    /// Appends the response's JSON.
    pub fn write(&self, out: &mut String, secrets: Secrets) {
        out.push('{');
        push_field(out, "configs");
        out.push('[');
        for (index, config) in self.configs.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            config.write(out, secrets);
        }
        out.push(']');
        push_string_field(out, "nextPageToken", &self.next_page_token);
        out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ListPushConfigsRequest, ListPushConfigsResponse, TaskPushConfig};
    use crate::a2a::{PushConfig, Secrets};
    use crate::json::Reader;

    fn config(id: &str) -> Arc<PushConfig> {
        Arc::new(
            PushConfig::new("https://a/")
                .with_id(id)
                .with_token("t0ken")
                .with_authentication("Bearer", "cr3dentials"),
        )
    }

    #[test]
    fn secrets_are_written_only_where_they_are_wanted() {
        let config = TaskPushConfig::new("t1", (*config("c")).clone());
        let mut hidden = String::new();
        config.write(&mut hidden, Secrets::Hidden);
        let expected =
            r#"{"id":"c","taskId":"t1","url":"https://a/","authentication":{"scheme":"Bearer"}}"#;
        assert_eq!(hidden, expected);
        let mut shown = String::new();
        config.write(&mut shown, Secrets::Shown);
        assert_eq!(
            TaskPushConfig::read(&mut Reader::of_str(&shown, 9)).unwrap(),
            config
        );
        assert!(!format!("{config:?}").contains("t0ken"));
    }

    #[test]
    fn pages_join_to_all_configurations_by_id() {
        let all: Vec<_> = ["c", "a", "d", "b"].into_iter().map(config).collect();
        for size in 0..6 {
            let mut request = ListPushConfigsRequest::new("t1");
            request.page_size = Some(size);
            let mut ids = Vec::new();
            loop {
                let page = request.page(all.clone());
                assert!(size == 0 || page.configs.len() <= size as usize);
                ids.extend(
                    page.configs
                        .into_iter()
                        .filter_map(|config| config.config.id),
                );
                if page.next_page_token.is_empty() {
                    break;
                }
                request.page_token = Some(page.next_page_token);
            }
            assert_eq!(
                ids.iter().map(|id| &**id).collect::<Vec<_>>(),
                ["a", "b", "c", "d"]
            );
        }
    }

    #[test]
    fn a_list_is_read_as_it_is_written() {
        let all = vec![config("a"), config("b")];
        let mut request = ListPushConfigsRequest::new("t1");
        request.page_size = Some(1);
        let page = request.page(all);
        let mut json = String::new();
        page.write(&mut json, Secrets::Shown);
        assert!(json.ends_with(r#","nextPageToken":"a"}"#), "{json}");
        assert_eq!(
            ListPushConfigsResponse::read(&mut Reader::of_str(&json, 9)).unwrap(),
            page
        );
    }
}
