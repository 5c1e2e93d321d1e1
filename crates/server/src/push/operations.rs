//! The operations on push notification configurations (sections 3.1.7 to 3.1.10).

use std::sync::Arc;

use llamon_core::a2a::{
    A2aError, ErrorCode, ListPushConfigsRequest, ListPushConfigsResponse, PushConfig,
    PushConfigRequest, TaskPushConfig,
};
use llamon_core::json::ReadError;

use super::PushEngine;
use crate::backend::{ReadFrom, StoreError};
use crate::card::fnv1a;
use crate::handler::{Handler, to_a2a};
use crate::page_token::List;
use crate::scope::Scope;

/// Where a message has its push configuration.
const INLINE: &str = "configuration.taskPushNotificationConfig";

impl Handler {
    /// CreateTaskPushNotificationConfig.
    pub(crate) async fn create_push(
        &self,
        scope: &Scope,
        request: TaskPushConfig,
    ) -> Result<TaskPushConfig, A2aError> {
        let push = self.push()?;
        let config = prepare(push, request.config).map_err(|e| A2aError::of_params(&e))?;
        let task_id = request.task_id;
        let put = self
            .backend()
            .put_push(scope, &task_id, Arc::clone(&config))
            .await;
        put.map_err(too_many)?;
        // What served an older one of the same id must not go on.
        push.forget(&task_id, config.id.as_deref().unwrap_or_default())
            .await;
        push.watch(scope.clone(), Arc::clone(&task_id), ReadFrom::Now);
        Ok(TaskPushConfig::new(task_id, (*config).clone()))
    }

    /// GetTaskPushNotificationConfig.
    pub(crate) async fn get_push(
        &self,
        scope: &Scope,
        request: PushConfigRequest,
    ) -> Result<TaskPushConfig, A2aError> {
        self.push()?;
        let PushConfigRequest { task_id, id, .. } = request;
        let configs = self.backend().push_configs(scope, &task_id).await;
        let mut configs = configs.map_err(to_a2a)?.into_iter();
        let found = configs.find(|config| config.id.as_deref() == Some(&*id));
        let found = found.ok_or_else(|| {
            A2aError::new(
                ErrorCode::TaskNotFound,
                "the task has no push notification configuration of this id; list those that it has",
            )
        })?;
        Ok(TaskPushConfig::new(task_id, (*found).clone()))
    }

    /// ListTaskPushNotificationConfigs.
    pub(crate) async fn list_push(
        &self,
        scope: &Scope,
        request: &ListPushConfigsRequest,
    ) -> Result<ListPushConfigsResponse, A2aError> {
        self.push()?;
        let configs = self.backend().push_configs(scope, &request.task_id).await;
        let configs = configs.map_err(to_a2a)?;
        let list = List::PushConfigs(&request.task_id);
        let mut opened = request.clone();
        if let Some(token) = &request.page_token {
            opened.page_token = Some(self.page_tokens().open(scope, list, token)?);
        }
        let mut page = opened.page(configs);
        page.next_page_token = self
            .page_tokens()
            .seal(scope, list, &page.next_page_token)?;
        Ok(page)
    }

    /// DeleteTaskPushNotificationConfig. When it returns, nothing is being sent any more.
    pub(crate) async fn delete_push(
        &self,
        scope: &Scope,
        request: &PushConfigRequest,
    ) -> Result<(), A2aError> {
        let push = self.push()?;
        let PushConfigRequest { task_id, id, .. } = request;
        let deleted = self.backend().delete_push(scope, task_id, id).await;
        deleted.map_err(to_a2a)?;
        push.forget(task_id, id).await;
        Ok(())
    }

    /// Checks the push configuration of a message and gives it an id, to be stored with the
    /// message.
    pub(crate) fn prepare_push(&self, config: PushConfig) -> Result<Arc<PushConfig>, A2aError> {
        let prepared = prepare(self.push()?, config);
        prepared.map_err(|error| A2aError::of_params(&error.within(INLINE)))
    }

    /// What sends notifications, if anything does.
    fn push(&self) -> Result<&PushEngine, A2aError> {
        self.push_engine().ok_or_else(push_not_supported)
    }
}

/// Push notifications, which this server has not.
pub(crate) fn push_not_supported() -> A2aError {
    A2aError::new(
        ErrorCode::PushNotificationNotSupported,
        "this agent sends no push notifications; stream, subscribe or ask with GetTask",
    )
}

/// A store's error when a receiver was to be added.
pub(crate) fn too_many(error: StoreError) -> A2aError {
    match error {
        StoreError::Full {
            limit: limit @ "max_push_configs_per_task",
            allowed,
        } => A2aError::new(
            ErrorCode::InvalidParams,
            format!(
                "the task has as many push notification configurations as {limit} allows, which \
                 is {allowed}; delete one, or replace one by giving its id"
            ),
        ),
        other => to_a2a(other),
    }
}

fn prepare(push: &PushEngine, mut config: PushConfig) -> Result<Arc<PushConfig>, ReadError> {
    config.check()?;
    // The names in URLs are looked up when something is sent, and not while a client waits: a name
    // server of its own would decide how long, and the answer would tell what names there are here.
    push.egress().check_url(&config.url).map_err(|error| {
        tracing::debug!(%error, "a receiver of notifications is refused");
        ReadError::invalid(error.public()).within("url")
    })?;
    // The same receiver once more without an id is still one receiver.
    let id = config.id.take();
    config.id = id.or_else(|| Some(format!("{:016x}", fnv1a(config.url.as_bytes())).into()));
    Ok(Arc::new(config))
}
