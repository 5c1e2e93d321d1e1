//! Sections 3.4 and 3.2.4: conversations and history.

use std::collections::BTreeSet;

use llamon_itest::call::Caller;
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;

use super::support::*;

#[tokio::test]
async fn core_multi_001_a_context_is_made_where_none_is_given() {
    let served = serve().await;
    let mut contexts = BTreeSet::new();
    for caller in served.callers() {
        for _ in 0..2 {
            contexts.insert(task(&caller, &say("text")).await.string("contextId"));
        }
    }
    assert_eq!(contexts.len(), 6, "each its own: {contexts:?}");
}

#[tokio::test]
async fn core_multi_001a_a_context_that_was_made_is_in_the_answer() {
    let served = serve().await;
    for caller in served.callers() {
        let made = task(&caller, &say("text")).await;
        assert!(!made.string("contextId").is_empty(), "{:?}", caller.binding);
        let got = caller.call("GetTask", &of(&made.string("id"))).await;
        assert_eq!(
            got.expect("the task").string("contextId"),
            made.string("contextId")
        );
    }
}

#[tokio::test]
async fn core_multi_002_a_client_may_choose_the_context() {
    let served = serve().await;
    for caller in served.callers() {
        let params = Say::text("text").in_context("mine").json();
        let made = task(&caller, &params).await;
        assert_eq!(made.string("contextId"), "mine", "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn core_multi_002a_a_context_that_cannot_be_kept_is_refused() {
    let served = serve().await;
    for caller in served.callers() {
        let params = Say::text("text").in_context(&"c".repeat(513)).json();
        let sent = caller.call("SendMessage", &params).await;
        let error = refused(&caller, sent, "INVALID_PARAMS");
        assert!(error.message.contains("contextId"), "{error:?}");
    }
}

#[tokio::test]
async fn core_multi_003_each_new_task_has_an_id_of_its_own() {
    let served = serve().await;
    let mut ids = BTreeSet::new();
    for caller in served.callers() {
        for _ in 0..3 {
            // The same message, with the same id, in the same context.
            let params = Say::text("text").in_context("one").json();
            ids.insert(task(&caller, &params).await.string("id"));
        }
    }
    assert_eq!(ids.len(), 9);
}

#[tokio::test]
async fn core_multi_004_a_message_to_a_task_that_does_not_exist_makes_none() {
    let served = serve().await;
    for caller in served.callers() {
        let sent = caller
            .call("SendMessage", &say_in("no-such-task", "x"))
            .await;
        refused(&caller, sent, "TASK_NOT_FOUND");
    }
    let page = served.callers()[0]
        .call("ListTasks", "{}")
        .await
        .expect("a page");
    assert_eq!(page.list("tasks"), []);
}

#[tokio::test]
async fn core_multi_005_a_message_to_a_task_is_in_the_tasks_context() {
    let served = serve().await;
    for caller in served.callers() {
        let asked = task(&caller, &say("ask")).await;
        let answered = task(&caller, &say_in(&asked.string("id"), "text")).await;
        assert_eq!(answered.string("id"), asked.string("id"));
        assert_eq!(answered.string("contextId"), asked.string("contextId"));
        assert_eq!(state(&answered), "COMPLETED", "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn core_multi_006_a_context_that_is_not_the_tasks_is_refused() {
    let served = serve().await;
    for caller in served.callers() {
        let id = task_id(&caller, "ask").await;
        let params = Say::text("x").in_task(&id).in_context("another").json();
        let sent = caller.call("SendMessage", &params).await;
        refused(&caller, sent, "INVALID_PARAMS");
        let got = caller.call("GetTask", &of(&id)).await.expect("the task");
        assert_eq!(state(&got), "INPUT_REQUIRED", "nothing has happened");
    }
}

/// A task to which three messages were sent.
async fn talked_to(caller: &Caller) -> String {
    let id = task_id(caller, "ask").await;
    for text in ["ask", "text"] {
        task(caller, &say_in(&id, text)).await;
    }
    id
}

async fn history(caller: &Caller, id: &str, length: &str) -> Vec<Raw> {
    let params = format!(r#"{{"id":"{id}"{length}}}"#);
    caller
        .call("GetTask", &params)
        .await
        .expect("the task")
        .list("history")
}

fn said_by_the_user(history: &[Raw]) -> Vec<String> {
    let of_user = history
        .iter()
        .filter(|said| said.string("role") == "ROLE_USER");
    of_user.map(|said| said.string("parts.0.text")).collect()
}

#[tokio::test]
async fn core_hist_001_history_length_zero_is_no_history() {
    let served = serve().await;
    for caller in served.callers() {
        let id = talked_to(&caller).await;
        assert_eq!(history(&caller, &id, r#","historyLength":0"#).await, []);
        let listed = caller
            .call("ListTasks", r#"{"historyLength":0}"#)
            .await
            .expect("a page");
        assert!(
            listed
                .list("tasks")
                .iter()
                .all(|task| task.list("history").is_empty())
        );
    }
}

#[tokio::test]
async fn core_hist_002_no_more_history_than_was_asked_for_and_the_newest_of_it() {
    let served = serve().await;
    for caller in served.callers() {
        let id = talked_to(&caller).await;
        let all = history(&caller, &id, "").await;
        for length in 1..=all.len() + 1 {
            let found = history(&caller, &id, &format!(r#","historyLength":{length}"#)).await;
            let from = all.len().saturating_sub(length);
            assert_eq!(found, all[from..], "{:?} {length}", caller.binding);
        }
    }
}

#[tokio::test]
async fn core_hist_003_a_send_with_history_length_zero_brings_none() {
    let served = serve().await;
    for caller in served.callers() {
        for (configuration, expected) in [(r#"{"historyLength":0}"#, 0), ("{}", 1)] {
            let params = Say::text("text").configured(configuration).json();
            let answered = task(&caller, &params).await;
            assert_eq!(
                answered.list("history").len(),
                expected,
                "{:?}",
                caller.binding
            );
        }
    }
}

#[tokio::test]
async fn core_hist_004_messages_are_kept_in_the_history() {
    let served = serve().await;
    for caller in served.callers() {
        let id = talked_to(&caller).await;
        assert!(
            history(&caller, &id, "").await.len() >= 3,
            "{:?}",
            caller.binding
        );
    }
}

#[tokio::test]
async fn core_hist_005_history_is_in_the_order_of_the_conversation() {
    let served = serve().await;
    for caller in served.callers() {
        let id = talked_to(&caller).await;
        let history = history(&caller, &id, "").await;
        assert_eq!(
            said_by_the_user(&history),
            ["ask", "ask", "text"],
            "{:?}",
            caller.binding
        );
        let roles: Vec<String> = history.iter().map(|said| said.string("role")).collect();
        assert_eq!(
            roles,
            [
                "ROLE_USER",
                "ROLE_AGENT",
                "ROLE_USER",
                "ROLE_AGENT",
                "ROLE_USER"
            ],
            "a question comes before its answer"
        );
    }
}

#[tokio::test]
async fn core_hist_006_history_has_what_was_said() {
    let served = serve().await;
    for caller in served.callers() {
        let params = Say::text("text").with(&[r#"{"data":{"n":3}}"#]).json();
        let made = task(&caller, &params).await;
        let history = history(&caller, &made.string("id"), "").await;
        assert_eq!(history[0].string("messageId"), "m");
        assert_eq!(history[0].string("parts.0.text"), "text");
        assert_eq!(
            history[0].at("parts.1.data").text(),
            r#"{"n":3}"#,
            "{:?}",
            caller.binding
        );
    }
}
