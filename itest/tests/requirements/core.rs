//! Section 3.1 and 3.3: the operations.

use std::collections::BTreeSet;

use llamon_agent::server::InputModes;
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;

use super::support::*;

#[tokio::test]
async fn core_send_001_a_message_is_answered_with_a_task_or_a_message() {
    let served = serve().await;
    for caller in served.callers() {
        for (text, expected) in [("text", "task"), ("message", "message")] {
            let sent = caller.call("SendMessage", &say(text)).await;
            let kinds: Vec<String> = sent.expect("an answer").fields().into_keys().collect();
            assert_eq!(kinds, [expected], "{:?}", caller.binding);
        }
    }
}

#[tokio::test]
async fn core_send_002_a_message_to_a_task_that_has_ended_is_refused() {
    let served = serve().await;
    for caller in served.callers() {
        for text in ["text", "reject"] {
            let id = task_id(&caller, text).await;
            let again = caller.call("SendMessage", &say_in(&id, "more")).await;
            refused(&caller, again, "UNSUPPORTED_OPERATION");
        }
    }
}

#[tokio::test]
async fn core_send_003_a_media_type_that_the_agent_does_not_take_is_refused() {
    let served = serve_as(|server| server.input_modes(InputModes::Enforced)).await;
    for caller in served.callers() {
        let part = r#"{"raw":"dGNr","mediaType":"application/x-unsupported"}"#;
        let params = Say::parts([part]).json();
        let answer = caller.call("SendMessage", &params).await;
        let error = refused(&caller, answer, "CONTENT_TYPE_NOT_SUPPORTED");
        assert!(error.message.contains("text/plain"), "{error:?}");
        task_id(&caller, "text").await;
    }
}

#[tokio::test]
async fn core_stream_001_an_answer_can_be_streamed() {
    let served = serve().await;
    for caller in served.callers() {
        let events = caller.open("SendStreamingMessage", &say("chunks")).await;
        let events = events.expect("a stream").rest().await;
        let texts: String = events
            .iter()
            .filter_map(|event| event.find("artifactUpdate.artifact.parts.0"))
            .map(|part| part.string("text"))
            .collect();
        assert_eq!(texts, "one two", "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn core_stream_002_a_stream_of_a_message_is_that_message_and_the_end() {
    let served = serve_as(|server| {
        server.task_visibility(llamon_agent::prelude::TaskVisibility::WithFirstOutput)
    });
    let served = served.await;
    for caller in served.callers() {
        let events = caller.open("SendStreamingMessage", &say("message")).await;
        let events = events.expect("a stream").rest().await;
        assert_eq!(events.len(), 1, "{:?}: {events:?}", caller.binding);
        assert_eq!(events[0].string("message.parts.0.text"), "a message");
    }
}

#[tokio::test]
async fn core_stream_003_a_stream_begins_with_the_task_and_ends_with_its_last_state() {
    let served = serve().await;
    for caller in served.callers() {
        let events = caller.open("SendStreamingMessage", &say("chunks")).await;
        let events = events.expect("a stream").rest().await;
        assert!(events[0].find("task.id").is_some(), "{events:?}");
        let last = events.last().expect("events");
        let last = last.string("statusUpdate.status.state");
        assert_eq!(last, "TASK_STATE_COMPLETED", "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn core_get_001_a_task_is_read_as_it_stands() {
    let served = serve().await;
    for caller in served.callers() {
        let working = task(&caller, &say_at_once("wait")).await.string("id");
        let got = caller
            .call("GetTask", &of(&working))
            .await
            .expect("the task");
        assert_eq!(
            (got.string("id"), state(&got)),
            (working.clone(), "WORKING".to_owned())
        );
        let canceled = caller.call("CancelTask", &of(&working)).await;
        assert_eq!(state(&canceled.expect("the task")), "CANCELED");
        let got = caller
            .call("GetTask", &of(&working))
            .await
            .expect("the task");
        assert_eq!(state(&got), "CANCELED", "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn core_get_002_a_task_that_does_not_exist_is_not_found() {
    let served = serve().await;
    for caller in served.callers() {
        let got = caller.call("GetTask", &of("no-such-task")).await;
        refused(&caller, got, "TASK_NOT_FOUND");
    }
}

#[tokio::test]
async fn core_list_002_lists_are_read_page_by_page_with_a_cursor() {
    let served = serve().await;
    for caller in served.callers() {
        let context = format!("pages-{:?}", caller.binding);
        let mut made = BTreeSet::new();
        for _ in 0..5 {
            let say = llamon_itest::say::Say::text("text").in_context(&context);
            made.insert(task(&caller, &say.json()).await.string("id"));
        }
        let (mut found, mut token, mut pages) = (BTreeSet::new(), String::new(), 0);
        loop {
            let params = if token.is_empty() {
                format!(r#"{{"contextId":"{context}","pageSize":2}}"#)
            } else {
                format!(r#"{{"contextId":"{context}","pageSize":2,"pageToken":"{token}"}}"#)
            };
            let page = caller.call("ListTasks", &params).await.expect("a page");
            let ids: Vec<String> = page.list("tasks").iter().map(|t| t.string("id")).collect();
            assert!(ids.len() <= 2);
            found.extend(ids);
            pages += 1;
            token = page.string("nextPageToken");
            if token.is_empty() {
                break;
            }
        }
        assert_eq!((found, pages), (made, 3), "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn core_list_003_the_newest_status_comes_first() {
    let served = serve().await;
    for caller in served.callers() {
        for _ in 0..4 {
            task_id(&caller, "text").await;
        }
        let page = caller.call("ListTasks", "{}").await.expect("a page");
        let times: Vec<String> = page
            .list("tasks")
            .iter()
            .map(|task| task.string("status.timestamp"))
            .collect();
        assert!(times.len() >= 4);
        assert!(
            times.is_sorted_by(|a, b| a >= b),
            "{:?}: {times:?}",
            caller.binding
        );
    }
}

#[tokio::test]
async fn core_list_004_the_last_page_has_an_empty_token() {
    let served = serve().await;
    for caller in served.callers() {
        task_id(&caller, "text").await;
        let page = caller
            .call("ListTasks", r#"{"pageSize":100}"#)
            .await
            .expect("a page");
        assert_eq!(page.string("nextPageToken"), "", "{:?}", caller.binding);
        let of_nobody = caller.call("ListTasks", r#"{"contextId":"nobody"}"#).await;
        let of_nobody = of_nobody.expect("a page");
        assert_eq!(of_nobody.string("nextPageToken"), "");
        assert_eq!(of_nobody.list("tasks"), []);
    }
}

#[tokio::test]
async fn core_list_005_artifacts_are_listed_only_where_they_are_asked_for() {
    let served = serve().await;
    for caller in served.callers() {
        task_id(&caller, "text").await;
        for (params, expected) in [
            ("{}", false),
            (r#"{"includeArtifacts":false}"#, false),
            (r#"{"includeArtifacts":true}"#, true),
        ] {
            let page = caller.call("ListTasks", params).await.expect("a page");
            let has = |task: &Raw| !task.list("artifacts").is_empty();
            let found = page.list("tasks").iter().any(has);
            assert_eq!(found, expected, "{:?} {params}", caller.binding);
        }
    }
}

#[tokio::test]
async fn core_cancel_001_a_canceled_task_is_returned_as_such() {
    let served = serve().await;
    for caller in served.callers() {
        for params in [say("ask"), say_at_once("wait")] {
            let id = task(&caller, &params).await.string("id");
            let canceled = caller.call("CancelTask", &of(&id)).await.expect("the task");
            assert_eq!(canceled.string("id"), id);
            assert_eq!(state(&canceled), "CANCELED", "{:?}", caller.binding);
        }
    }
}

#[tokio::test]
async fn core_cancel_002_a_task_that_has_ended_cannot_be_canceled() {
    let served = serve().await;
    for caller in served.callers() {
        let id = task_id(&caller, "text").await;
        let canceled = caller.call("CancelTask", &of(&id)).await;
        refused(&caller, canceled, "TASK_NOT_CANCELABLE");
    }
}

#[tokio::test]
async fn core_cancel_003_a_task_that_does_not_exist_cannot_be_canceled() {
    let served = serve().await;
    for caller in served.callers() {
        let canceled = caller.call("CancelTask", &of("no-such-task")).await;
        refused(&caller, canceled, "TASK_NOT_FOUND");
    }
}

#[tokio::test]
async fn core_execution_mode_001_a_blocking_send_waits_until_the_task_has_settled() {
    let served = serve().await;
    for caller in served.callers() {
        for (text, expected) in [
            ("chunks", "COMPLETED"),
            ("reject", "REJECTED"),
            ("ask", "INPUT_REQUIRED"),
            ("authorize", "AUTH_REQUIRED"),
        ] {
            let answered = task(&caller, &say(text)).await;
            assert_eq!(state(&answered), expected, "{:?}", caller.binding);
        }
    }
}

#[tokio::test]
async fn core_execution_mode_002_a_send_that_does_not_block_returns_a_task_that_works() {
    let served = serve().await;
    for caller in served.callers() {
        let answered = task(&caller, &say_at_once("wait")).await;
        let state = state(&answered);
        assert!(
            matches!(&*state, "SUBMITTED" | "WORKING"),
            "{:?}: {state}",
            caller.binding
        );
    }
}

#[tokio::test]
async fn core_err_001_errors_say_what_was_wrong_and_what_to_do() {
    let served = serve().await;
    for caller in served.callers() {
        let got = caller.call("GetTask", &of("no-such-task")).await;
        refused(&caller, got, "TASK_NOT_FOUND");
        let listed = caller.call("ListTasks", r#"{"pageSize":1000}"#).await;
        let error = refused(&caller, listed, "INVALID_PARAMS");
        assert!(error.message.contains("pageSize"), "the field: {error:?}");
        assert!(error.message.contains("1000"), "the value: {error:?}");
        assert!(error.message.contains("100"), "the limit: {error:?}");
    }
}

#[tokio::test]
async fn core_err_002_parameters_are_checked_before_anything_happens() {
    let served = serve().await;
    for caller in served.callers() {
        for params in [
            "{}",
            r#"{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}"#,
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}"#,
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{}]}}"#,
        ] {
            let sent = caller.call("SendMessage", params).await;
            refused(&caller, sent, "INVALID_PARAMS");
            let streamed = caller.open("SendStreamingMessage", params).await;
            refused(&caller, streamed, "INVALID_PARAMS");
        }
        let listed = caller.call("ListTasks", r#"{"pageSize":0}"#).await;
        refused(&caller, listed, "INVALID_PARAMS");
    }
    let page = served.callers()[0]
        .call("ListTasks", "{}")
        .await
        .expect("a page");
    assert_eq!(page.list("tasks"), [], "nothing was made");
}

#[tokio::test]
async fn core_cap_001_a_server_without_push_notifications_refuses_all_four_operations() {
    let served = serve_bare().await;
    for caller in served.callers() {
        let id = task_id(&caller, "ask").await;
        for (method, params) in [
            (
                "CreateTaskPushNotificationConfig",
                format!(r#"{{"taskId":"{id}","url":"https://example.com/hook"}}"#),
            ),
            (
                "GetTaskPushNotificationConfig",
                format!(r#"{{"taskId":"{id}","id":"c"}}"#),
            ),
            (
                "ListTaskPushNotificationConfigs",
                format!(r#"{{"taskId":"{id}"}}"#),
            ),
            (
                "DeleteTaskPushNotificationConfig",
                format!(r#"{{"taskId":"{id}","id":"c"}}"#),
            ),
        ] {
            let called = caller.call(method, &params).await;
            refused(&caller, called, "PUSH_NOTIFICATION_NOT_SUPPORTED");
        }
    }
}

#[tokio::test]
async fn core_cap_002_a_server_that_does_not_stream_refuses_to() {
    let served = serve_bare().await;
    for caller in served.callers() {
        let streamed = caller.open("SendStreamingMessage", &say("text")).await;
        refused(&caller, streamed, "UNSUPPORTED_OPERATION");
        let id = task_id(&caller, "ask").await;
        let subscribed = caller.open("SubscribeToTask", &of(&id)).await;
        refused(&caller, subscribed, "UNSUPPORTED_OPERATION");
    }
    let page = served.callers()[0]
        .call("ListTasks", "{}")
        .await
        .expect("a page");
    assert_eq!(
        page.list("tasks").len(),
        3,
        "no task of a stream that was refused"
    );
}

#[tokio::test]
async fn core_cap_003_a_server_without_an_extended_card_refuses_to_give_it() {
    let served = serve_bare().await;
    for caller in served.callers() {
        let card = caller.call("GetExtendedAgentCard", "{}").await;
        refused(&caller, card, "UNSUPPORTED_OPERATION");
    }
}
