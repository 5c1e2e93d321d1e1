//! Push notifications: configurations, and deliveries to a receiver of ours.

use std::time::UNIX_EPOCH;

use llamon_agent::a2a::{PushConfig, StreamEvent, TaskState};
use llamon_agent::client::Outgoing;
use llamon_agent::client::push::PushReceiver;
use llamon_itest::receiver::{Got, Receiver};

use crate::peer::{Outcome, Peer, said, same, task_id};

pub(crate) async fn push_configs(peer: &Peer) -> Outcome {
    let id = task_id(&peer.send("ask").await?)?;
    let config = PushConfig::new("http://127.0.0.1:9/hook")
        .with_id("c-1")
        .with_token("t");
    let client = &peer.client;
    let created = client.create_push_config(&id, config).await.map_err(said)?;
    same("id", created.id.as_deref(), Some("c-1"))?;
    let got = client.get_push_config(&id, "c-1").await.map_err(said)?;
    same("url", got.url.as_str(), "http://127.0.0.1:9/hook")?;
    let ids = |configs: Vec<PushConfig>| {
        configs
            .into_iter()
            .filter_map(|config| config.id)
            .collect::<Vec<_>>()
    };
    let listed = client.push_configs(&id).await.map_err(said)?;
    same("list", ids(listed), vec!["c-1".into()])?;
    client.delete_push_config(&id, "c-1").await.map_err(said)?;
    let listed = client.push_configs(&id).await.map_err(said)?;
    same("list after deletion", ids(listed), Vec::new())
}

/// A configuration for a task that waits for an answer; the answer's end is delivered.
pub(crate) async fn push_created(peer: &Peer) -> Outcome {
    let receiver = Receiver::start().await;
    let config = PushConfig::new(&receiver.url)
        .with_id("created")
        .with_token("a token");
    let id = task_id(&peer.send("ask").await?)?;
    let created = peer.client.create_push_config(&id, config.clone()).await;
    created.map_err(said)?;
    peer.send(Outgoing::text("this one").in_task(id.as_str()))
        .await?;
    delivered(&receiver, &config, &id).await
}

/// A configuration that comes with the message.
pub(crate) async fn push_inline(peer: &Peer) -> Outcome {
    let receiver = Receiver::start().await;
    let config = PushConfig::new(&receiver.url)
        .with_token("a token")
        .with_authentication("Bearer", "secret");
    let message = Outgoing::text("stream").with_push(config.clone());
    let id = task_id(&peer.send(message).await?)?;
    delivered(&receiver, &config, &id).await
}

/// Waits until the task's end has arrived; everything that did is of that task and has the secrets.
async fn delivered(receiver: &Receiver, config: &PushConfig, task: &str) -> Outcome {
    // Nothing is signed, so the time does not matter.
    let expected = PushReceiver::of(config);
    let read = |got: &Got| expected.receive(|name| got.header(name), got.body.clone(), UNIX_EPOCH);
    let is_end = |got: &Got| match read(got) {
        Ok(notification) => notification.event.state() == Some(TaskState::Completed),
        Err(_) => true,
    };
    for got in receiver.wait_for(is_end).await {
        let notification = read(&got).map_err(|error| format!("{error}: {}", got.body))?;
        same("task", notification.task_id(), Some(task))?;
        let message = matches!(notification.event, StreamEvent::Message(_));
        same("a message", message, false)?;
    }
    Ok(())
}
