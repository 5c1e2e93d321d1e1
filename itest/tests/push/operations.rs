//! The four operations.

use llamon_agent::a2a::PushConfig;
use llamon_agent::a2a::{Message, Role, Task, TaskState, TaskStatus};
use llamon_agent::client::Binding;
use llamon_agent::core::Part;
use llamon_agent::core::{Limits, Timestamp};
use llamon_agent::server::backend::{Backend, MemoryBackend, NewTask, NewWork, Visibility};
use llamon_agent::server::{Scope, create_server};
use llamon_itest::agents::{card, start};
use llamon_itest::hooks::Hook;
use llamon_itest::http::{Request, send};
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::peers;
use std::sync::Arc;

use crate::support::{agent, create, options, serve, url, waiting_task};

const HOOK: &str = r#""url":"http://127.0.0.1:9999/hook""#;
const SECRETS: &str = r#","token":"t0ken-secret","authentication":{"scheme":"Bearer","credentials":"cr3dentials-secret"}"#;

#[tokio::test]
async fn the_card_says_what_the_server_does() {
    let path = "/.well-known/agent-card.json";
    let server = serve().await;
    let body = send(server.url(), &Request::get(path)).await.body;
    let said = Raw::parse(&body).at("capabilities.pushNotifications");
    assert_eq!(said.text(), "true");
    // What the author wrote on the card does not count.
    let mut claims = card("agent");
    claims.capabilities.push_notifications = true;
    let server = start(create_server(claims, agent)).await;
    let body = send(server.url(), &Request::get(path)).await.body;
    let said = Raw::parse(&body).find("capabilities.pushNotifications");
    assert!(said.is_none_or(|said| said.text() == "false"));
}

#[tokio::test]
async fn a_configuration_is_created_read_listed_and_deleted() {
    let server = serve().await;
    for peer in peers(server.url()) {
        let task = waiting_task(&peer).await;
        let fields = format!(r#""id":"mine",{HOOK}{SECRETS}"#);
        let expected = format!(
            r#"{{"id":"mine","taskId":"{task}",{HOOK},"authentication":{{"scheme":"Bearer"}}}}"#
        );
        let created = Hook::Create(&task, &fields).call(&peer).await.unwrap();
        assert_eq!(created.text(), expected);
        let found = Hook::Get(&task, "mine").call(&peer).await.unwrap();
        assert_eq!(found.text(), expected);
        let other = create(&peer, &task, &url("http://127.0.0.1:9999/other")).await;
        let listed = Hook::List(&task).call(&peer).await.unwrap();
        let ids: Vec<_> = listed
            .list("configs")
            .iter()
            .map(|c| c.string("id"))
            .collect();
        let mut both = vec!["mine".to_owned(), other];
        both.sort();
        assert_eq!(ids, both);
        assert_eq!(listed.string("nextPageToken"), "");
        assert!(!listed.text().contains("secret"));
        for _ in 0..2 {
            let deleted = Hook::Delete(&task, "mine").call(&peer).await.unwrap();
            assert_eq!(deleted.text(), "{}");
        }
        let listed = Hook::List(&task).call(&peer).await.unwrap();
        assert_eq!(listed.list("configs").len(), 1);
        let refusal = Hook::Get(&task, "mine").call(&peer).await.unwrap_err();
        assert_eq!(refusal.reason, "TASK_NOT_FOUND");
    }
}

#[tokio::test]
async fn an_id_is_chosen_for_who_gives_none_and_the_same_id_replaces() {
    let server = serve().await;
    for peer in peers(server.url()) {
        let task = waiting_task(&peer).await;
        let first = create(&peer, &task, HOOK).await;
        // Sent again because its answer was lost, it is still one.
        assert_eq!(create(&peer, &task, HOOK).await, first);
        assert_ne!(
            create(&peer, &task, &url("http://127.0.0.1:9999/b")).await,
            first
        );
        let moved = format!(r#""id":"{first}",{}"#, url("http://127.0.0.1:9999/moved"));
        create(&peer, &task, &moved).await;
        let found = Hook::Get(&task, &first).call(&peer).await.unwrap();
        assert_eq!(found.string("url"), "http://127.0.0.1:9999/moved");
        let listed = Hook::List(&task).call(&peer).await.unwrap();
        assert_eq!(listed.list("configs").len(), 2);
    }
}

#[tokio::test]
async fn a_task_that_has_ended_still_has_configurations() {
    let server = serve().await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("emit 1")).await.string("id");
        let id = create(&peer, &task, HOOK).await;
        assert!(Hook::Get(&task, &id).call(&peer).await.is_ok());
    }
}

#[tokio::test]
async fn lists_have_pages() {
    let server = serve().await;
    let [rpc, rest] = peers(server.url());
    let task = waiting_task(&rest).await;
    for id in ["b", "c/d e", "a"] {
        create(&rest, &task, &format!(r#""id":"{id}",{HOOK}"#)).await;
    }
    let path = format!("/tasks/{task}/pushNotificationConfigs");
    let page = |query: &str| Request::get(&format!("{path}?{query}"));
    let first = rest
        .read(send(&rest.url, &page("pageSize=2")).await)
        .unwrap();
    assert_eq!(first.list("configs").len(), 2);
    let token = first.string("nextPageToken");
    let next = page(&format!("pageSize=2&pageToken={token}"));
    let last = rest.read(send(&rest.url, &next).await).unwrap();
    assert_eq!(last.list("configs")[0].string("id"), "c/d e");
    assert_eq!(last.string("nextPageToken"), "");
    let wrong = send(&rest.url, &page("pageSize=x")).await;
    assert!(rest.read(wrong).unwrap_err().message.contains("pageSize"));
    // An id that a path has to escape.
    let found = Hook::Get(&task, "c%2Fd%20e").call(&rest).await.unwrap();
    assert_eq!(found, Hook::Get(&task, "c/d e").call(&rpc).await.unwrap());
}

#[tokio::test]
async fn a_foreign_task_and_a_missing_one_are_answered_with_the_same_bytes() {
    let backend = Arc::new(MemoryBackend::new(Limits::default()));
    let message = Message::new("m".to_owned(), Role::User, [Part::text("a")]);
    let status = TaskStatus::new(
        TaskState::Working,
        Timestamp::parse("2026-01-01T00:00:00Z").unwrap(),
    );
    let mut task = Task::new("foreign".into(), "c".into(), status);
    task.history.push(message);
    let new = NewTask {
        task,
        visibility: Visibility::Visible,
        work: NewWork {
            record: String::new(),
            claimed_by: None,
        },
        push: Some(Arc::new(
            PushConfig::new("http://127.0.0.1:9999/").with_id("c"),
        )),
        once: None,
    };
    backend
        .create(&Scope::new("t", "somebody"), new)
        .await
        .unwrap();
    let builder = create_server(card("agent"), agent)
        .push_notifications(options())
        .backend(backend);
    let server = start(builder).await;
    for peer in peers(server.url()) {
        for hook in [
            Hook::Create as fn(&'static str, &'static str) -> Hook<'static>,
            Hook::Get,
            |task, _| Hook::List(task),
            Hook::Delete,
        ] {
            let what = match hook("x", "c") {
                Hook::Create(..) => HOOK,
                _ => "c",
            };
            let foreign = hook("foreign", what).send(&peer).await;
            let missing = hook("missing", what).send(&peer).await;
            let without_date = |mut response: llamon_itest::http::Response| {
                response.headers.retain(|(name, _)| name != "date");
                response
            };
            let refusal = peer.read(foreign.clone()).unwrap_err();
            assert_eq!(refusal.reason, "TASK_NOT_FOUND");
            assert_eq!(without_date(foreign), without_date(missing));
        }
    }
}

#[tokio::test]
async fn a_task_has_so_many_configurations() {
    let limits = Limits::default().with_max_push_configs_per_task(2);
    let builder = create_server(card("agent"), agent)
        .limits(limits)
        .push_notifications(options());
    let server = start(builder).await;
    for peer in peers(server.url()) {
        let task = waiting_task(&peer).await;
        for id in ["a", "b", "a"] {
            create(&peer, &task, &format!(r#""id":"{id}",{HOOK}"#)).await;
        }
        let third = Hook::Create(&task, HOOK).call(&peer).await.unwrap_err();
        assert_eq!(third.reason, "INVALID_PARAMS");
        assert!(
            third
                .message
                .contains("max_push_configs_per_task allows, which is 2")
        );
        let say = Say::text("emit 1").in_task(&task);
        let say = crate::support::notifying(say, HOOK);
        let inline = peer
            .call(llamon_itest::wire::Op::Send(&say))
            .await
            .unwrap_err();
        assert_eq!(inline.message, third.message);
        // Nothing of the message was taken.
        assert_eq!(
            peer.get(&task).await.string("status.state"),
            "TASK_STATE_INPUT_REQUIRED"
        );
    }
}

#[tokio::test]
async fn methods_that_a_path_does_not_take() {
    let server = serve().await;
    let [_, rest] = peers(server.url());
    for (method, path, allow) in [
        (
            "DELETE",
            "/tasks/x/pushNotificationConfigs",
            "GET,HEAD,POST",
        ),
        ("PUT", "/tasks/x/pushNotificationConfigs", "GET,HEAD,POST"),
        (
            "POST",
            "/tasks/x/pushNotificationConfigs/y",
            "GET,HEAD,DELETE",
        ),
    ] {
        let response = send(&rest.url, &Request::new(method, path)).await;
        assert_eq!(response.header("allow"), Some(allow));
        assert_eq!(
            rest.read(response).unwrap_err().reason,
            "METHOD_NOT_ALLOWED"
        );
    }
}

#[tokio::test]
async fn the_products_client_has_the_operations() {
    let server = serve().await;
    for binding in [Binding::JsonRpc, Binding::Rest] {
        let client = server.client_with(binding).await.unwrap();
        let reply = client.send("ask").await.unwrap();
        let task = &*reply.task().unwrap().id;
        let config = PushConfig::new("http://127.0.0.1:9999/hook")
            .with_id("a/b c")
            .with_token("t")
            .with_authentication("Bearer", "c");
        let created = client.create_push_config(task, config).await.unwrap();
        assert_eq!(created.id.as_deref(), Some("a/b c"));
        assert_eq!(created.token, None);
        assert_eq!(
            client.get_push_config(task, "a/b c").await.unwrap(),
            created
        );
        assert_eq!(client.push_configs(task).await.unwrap(), [created]);
        client.delete_push_config(task, "a/b c").await.unwrap();
        client.delete_push_config(task, "a/b c").await.unwrap();
        assert!(client.push_configs(task).await.unwrap().is_empty());
        let error = client.get_push_config(task, "a/b c").await.unwrap_err();
        assert_eq!(error.protocol().unwrap().code().reason(), "TASK_NOT_FOUND");
        let error = client.delete_push_config("missing", "x").await.unwrap_err();
        assert_eq!(error.protocol().unwrap().code().reason(), "TASK_NOT_FOUND");
    }
    let off = start(create_server(card("agent"), agent)).await;
    let error = off.client().push_configs("x").await.unwrap_err();
    let code = error.protocol().unwrap().code();
    assert_eq!(code.reason(), "PUSH_NOTIFICATION_NOT_SUPPORTED");
}
