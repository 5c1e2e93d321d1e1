//! The client's calls on push notification configurations.

use std::sync::Arc;

use llamon_core::a2a::{
    ListPushConfigsRequest, ListPushConfigsResponse, PushConfig, PushConfigRequest, TaskPushConfig,
};

use crate::answer;
use crate::binding::Operation;
use crate::client::Client;
use crate::error::ClientError;

/// A server that always has a next page would never let the client go.
const MAX_PAGES: usize = 1_000;

impl Client {
    /// Has the agent send a task's events to `config`'s URL from now on (A2A section 3.1.7), and
    /// returns the configuration with the id that it got. One of the same id is replaced.
    ///
    /// Repeated where that can help if the configuration has an id; attempted once otherwise.
    ///
    /// # Errors
    /// When the agent has no push notifications, does not take the configuration, or has no such
    /// task, and when there is no answer in time.
    pub async fn create_push_config(
        &self,
        task_id: &str,
        config: PushConfig,
    ) -> Result<PushConfig, ClientError> {
        let operation = Operation::CreatePush(TaskPushConfig::new(task_id, config));
        let created = self
            .call(&operation, |r, _, _| TaskPushConfig::read(r))
            .await?;
        Ok(created.config)
    }

    /// A task's push notification configuration (A2A section 3.1.8), without its secrets.
    /// Repeated where that can help; cancel-safe.
    ///
    /// # Errors
    /// When there is no such task or configuration, and when there is no answer in time.
    pub async fn get_push_config(
        &self,
        task_id: &str,
        id: &str,
    ) -> Result<PushConfig, ClientError> {
        let operation = Operation::GetPush(PushConfigRequest::new(task_id, id));
        let found = self
            .call(&operation, |r, _, _| TaskPushConfig::read(r))
            .await?;
        Ok(found.config)
    }

    /// All push notification configurations of a task (A2A section 3.1.9), without their secrets.
    /// Repeated where that can help; cancel-safe.
    ///
    /// # Errors
    /// When there is no such task, and when there is no answer in time.
    pub async fn push_configs(&self, task_id: &str) -> Result<Vec<PushConfig>, ClientError> {
        let mut request = ListPushConfigsRequest::new(task_id);
        let mut configs = Vec::new();
        for _ in 0..MAX_PAGES {
            let operation = Operation::ListPush(request.clone());
            let page = self
                .call(&operation, |r, _, _| ListPushConfigsResponse::read(r))
                .await?;
            configs.extend(page.configs.into_iter().map(|found| found.config));
            if page.next_page_token.is_empty() {
                return Ok(configs);
            }
            request.page_token = Some(page.next_page_token);
        }
        Err(ClientError::invalid_response(format!(
            "the list of push notification configurations has no end after {MAX_PAGES} pages"
        )))
    }

    /// Removes a task's push notification configuration (A2A section 3.1.10). Removing one that is
    /// not there does nothing. Repeated where that can help.
    ///
    /// # Errors
    /// When there is no such task, and when there is no answer in time.
    pub async fn delete_push_config(&self, task_id: &str, id: &str) -> Result<(), ClientError> {
        let id: Arc<str> = id.into();
        let operation = Operation::DeletePush(PushConfigRequest::new(task_id, id));
        self.ask(&operation, answer::acknowledged).await
    }
}
