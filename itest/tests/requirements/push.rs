//! Sections 3.1.7 to 3.1.10 and 4.3.3: push notifications.

use llamon_itest::call::Caller;
use llamon_itest::raw::Raw;
use llamon_itest::receiver::Receiver;

use super::support::*;

async fn create(caller: &Caller, task: &str, fields: &str) -> Raw {
    let params = format!(r#"{{"taskId":"{task}",{fields}}}"#);
    let created = caller
        .call("CreateTaskPushNotificationConfig", &params)
        .await;
    created.expect("a configuration")
}

async fn list(caller: &Caller, task: &str) -> Vec<Raw> {
    let params = format!(r#"{{"taskId":"{task}"}}"#);
    let listed = caller
        .call("ListTaskPushNotificationConfigs", &params)
        .await;
    listed.expect("a page").list("configs")
}

fn one(task: &str, id: &str) -> String {
    format!(r#"{{"taskId":"{task}","id":"{id}"}}"#)
}

const URL: &str = r#""url":"http://127.0.0.1:59999/hook""#;

#[tokio::test]
async fn push_create_001_a_receiver_is_created() {
    let served = serve().await;
    for caller in served.callers() {
        let task = task_id(&caller, "ask").await;
        let created = create(&caller, &task, &format!(r#"{URL},"id":"mine""#)).await;
        assert_eq!(created.string("id"), "mine");
        assert_eq!(created.string("taskId"), task);
        assert_eq!(
            created.string("url"),
            "http://127.0.0.1:59999/hook",
            "{:?}",
            caller.binding
        );
        let named_by_us = create(&caller, &task, URL).await;
        assert!(!named_by_us.string("id").is_empty());
    }
}

#[tokio::test]
async fn push_create_002_a_receiver_stays_until_it_is_deleted() {
    let served = serve().await;
    for caller in served.callers() {
        let task = task_id(&caller, "ask").await;
        let id = create(&caller, &task, URL).await.string("id");
        caller
            .call("SendMessage", &say_in(&task, "ask"))
            .await
            .expect("another question");
        assert_eq!(list(&caller, &task).await.len(), 1, "{:?}", caller.binding);
        let deleted = caller
            .call("DeleteTaskPushNotificationConfig", &one(&task, &id))
            .await;
        deleted.expect("deleted");
        assert_eq!(list(&caller, &task).await, []);
    }
}

#[tokio::test]
async fn push_get_001_a_receiver_is_read_without_its_secrets() {
    let served = serve().await;
    for caller in served.callers() {
        let task = task_id(&caller, "ask").await;
        let fields = format!(
            r#"{URL},"token":"secret","authentication":{{"scheme":"Bearer","credentials":"secret"}}"#
        );
        let created = create(&caller, &task, &fields).await;
        let id = created.string("id");
        let got = caller
            .call("GetTaskPushNotificationConfig", &one(&task, &id))
            .await;
        let got = got.expect("a configuration");
        assert_eq!(got, created, "{:?}", caller.binding);
        assert_eq!(got.string("authentication.scheme"), "Bearer");
        assert!(!got.text().contains("secret"), "{got:?}");
    }
}

#[tokio::test]
async fn push_get_002_a_receiver_that_does_not_exist_is_not_found() {
    let served = serve().await;
    for caller in served.callers() {
        let task = task_id(&caller, "ask").await;
        for (task, id) in [(&*task, "none"), ("no-such-task", "none")] {
            let got = caller
                .call("GetTaskPushNotificationConfig", &one(task, id))
                .await;
            refused(&caller, got, "TASK_NOT_FOUND");
        }
    }
}

#[tokio::test]
async fn push_list_001_all_receivers_of_a_task_are_listed() {
    let served = serve().await;
    for caller in served.callers() {
        let (task, other) = (task_id(&caller, "ask").await, task_id(&caller, "ask").await);
        assert_eq!(list(&caller, &task).await, []);
        for id in ["a", "b", "c"] {
            create(&caller, &task, &format!(r#"{URL},"id":"{id}""#)).await;
        }
        create(&caller, &other, URL).await;
        let ids: Vec<String> = list(&caller, &task)
            .await
            .iter()
            .map(|config| config.string("id"))
            .collect();
        assert_eq!(ids, ["a", "b", "c"], "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn push_del_001_a_receiver_that_was_deleted_is_gone() {
    let served = serve().await;
    for caller in served.callers() {
        let task = task_id(&caller, "ask").await;
        let id = create(&caller, &task, URL).await.string("id");
        let deleted = caller
            .call("DeleteTaskPushNotificationConfig", &one(&task, &id))
            .await;
        deleted.expect("deleted");
        let got = caller
            .call("GetTaskPushNotificationConfig", &one(&task, &id))
            .await;
        refused(&caller, got, "TASK_NOT_FOUND");
    }
}

#[tokio::test]
async fn push_del_002_a_receiver_may_be_deleted_twice() {
    let served = serve().await;
    for caller in served.callers() {
        let task = task_id(&caller, "ask").await;
        let id = create(&caller, &task, URL).await.string("id");
        for _ in 0..2 {
            let deleted = caller
                .call("DeleteTaskPushNotificationConfig", &one(&task, &id))
                .await;
            deleted.expect("deleted, or not there");
        }
    }
}

/// What a receiver gets of the rest of a task that ended `text`.
async fn delivered(caller: &Caller, fields: &str) -> Vec<llamon_itest::receiver::Got> {
    let receiver = Receiver::start().await;
    let task = task_id(caller, "ask").await;
    let fields = format!(r#""url":"{}"{fields}"#, receiver.url);
    create(caller, &task, &fields).await;
    caller
        .call("SendMessage", &say_in(&task, "text"))
        .await
        .expect("an answer");
    // WORKING, the artifact and COMPLETED.
    receiver.wait(3).await
}

#[tokio::test]
async fn push_deliver_001_notifications_have_the_receivers_credentials() {
    let served = serve().await;
    for caller in served.callers() {
        let fields =
            r#","token":"t0ken","authentication":{"scheme":"Bearer","credentials":"cr3d"}"#;
        for got in delivered(&caller, fields).await {
            let has = |name: &str, value: &str| {
                got.headers
                    .iter()
                    .any(|(known, found)| known == name && found == value)
            };
            assert!(
                has("authorization", "Bearer cr3d"),
                "{:?}: {got:?}",
                caller.binding
            );
            assert!(has("x-a2a-notification-token", "t0ken"), "{got:?}");
        }
    }
}

#[tokio::test]
async fn push_deliver_002_every_event_is_delivered_to_every_receiver() {
    let served = serve().await;
    for caller in served.callers() {
        let states: Vec<String> = delivered(&caller, "")
            .await
            .iter()
            .filter_map(|got| Raw::parse(&got.body).find("statusUpdate"))
            .map(|update| state(&update))
            .collect();
        assert_eq!(states, ["WORKING", "COMPLETED"], "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn push_deliver_003_a_notification_is_an_event_of_a_stream() {
    let served = serve().await;
    for caller in served.callers() {
        let bodies = delivered(&caller, "").await;
        let kinds: Vec<String> = bodies
            .iter()
            .flat_map(|got| Raw::parse(&got.body).fields().into_keys())
            .collect();
        let expected = ["statusUpdate", "artifactUpdate", "statusUpdate"];
        assert_eq!(kinds, expected, "{:?}", caller.binding);
    }
}
