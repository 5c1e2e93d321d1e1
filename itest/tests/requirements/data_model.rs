//! Sections 4.1 and 5.5 to 5.7: what is on the wire.

use llamon_itest::call::{Binding, Caller};
use llamon_itest::raw::Raw;

use super::support::*;

const STATES: [&str; 8] = [
    "SUBMITTED",
    "WORKING",
    "COMPLETED",
    "FAILED",
    "CANCELED",
    "INPUT_REQUIRED",
    "REJECTED",
    "AUTH_REQUIRED",
];

#[tokio::test]
async fn dm_task_001_a_task_has_its_id_and_its_status() {
    let served = serve().await;
    for caller in served.callers() {
        let made = task(&caller, &say("text")).await;
        assert!(!made.string("id").is_empty());
        assert!(!made.string("contextId").is_empty());
        assert!(made.find("status.state").is_some(), "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn dm_task_002_states_are_those_of_the_specification() {
    let served = serve().await;
    for caller in served.callers() {
        for text in ["text", "ask", "authorize", "reject"] {
            let state = state(&task(&caller, &say(text)).await);
            assert!(STATES.contains(&&*state), "{:?}: {state}", caller.binding);
        }
    }
}

async fn message(caller: &Caller) -> Raw {
    let sent = caller.call("SendMessage", &say("message")).await;
    sent.expect("an answer").at("message")
}

#[tokio::test]
async fn dm_msg_001_a_message_has_id_role_and_parts() {
    let served = serve().await;
    for caller in served.callers() {
        let message = message(&caller).await;
        assert!(!message.string("messageId").is_empty());
        assert!(message.find("role").is_some());
        assert_eq!(message.list("parts").len(), 1, "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn dm_msg_002_an_agent_speaks_as_the_agent() {
    let served = serve().await;
    for caller in served.callers() {
        assert_eq!(message(&caller).await.string("role"), "ROLE_AGENT");
        let answered = task(&caller, &say("ask")).await;
        assert_eq!(answered.string("status.message.role"), "ROLE_AGENT");
        assert_eq!(answered.string("history.0.role"), "ROLE_USER");
    }
}

#[tokio::test]
async fn dm_part_001_a_part_has_one_content() {
    let served = serve().await;
    for caller in served.callers() {
        for (text, content) in [
            ("text", "text"),
            ("data", "data"),
            ("file", "raw"),
            ("url", "url"),
        ] {
            let made = task(&caller, &say(text)).await;
            let part = made.at("artifacts.0.parts.0").fields();
            let contents = ["text", "raw", "url", "data"];
            let found: Vec<_> = contents
                .into_iter()
                .filter(|name| part.contains_key(*name))
                .collect();
            assert_eq!(found, [content], "{:?}", caller.binding);
        }
    }
    // gRPC cannot say it: a later content takes the place of an earlier one.
    for caller in [Binding::JsonRpc, Binding::Rest].map(|binding| served.caller(binding)) {
        let both =
            r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a","data":1}]}}"#;
        let sent = caller.call("SendMessage", both).await;
        refused(&caller, sent, "INVALID_PARAMS");
    }
}

#[tokio::test]
async fn dm_art_001_an_artifact_has_its_id_and_parts() {
    let served = serve().await;
    for caller in served.callers() {
        for text in ["text", "data", "file", "url", "chunks"] {
            let made = task(&caller, &say(text)).await;
            let artifacts = made.list("artifacts");
            assert_eq!(artifacts.len(), 1, "{:?} {text}", caller.binding);
            assert!(!artifacts[0].string("artifactId").is_empty());
            assert!(!artifacts[0].list("parts").is_empty());
        }
    }
}

#[tokio::test]
async fn dm_status_001_every_status_has_its_state() {
    let served = serve().await;
    for caller in served.callers() {
        let events = caller.open("SendStreamingMessage", &say("chunks")).await;
        for event in events.expect("a stream").rest().await {
            if let Some(status) = event.find("statusUpdate.status") {
                assert!(
                    status.string("state").starts_with("TASK_STATE_"),
                    "{status:?}"
                );
            }
        }
    }
}

/// The whole text of what a binding that speaks JSON answers with.
async fn body(caller: &Caller, method: &str, params: &str) -> String {
    let request = caller.request(method, params);
    llamon_itest::http::send(&caller.url, &request).await.body
}

#[tokio::test]
async fn dm_serial_001_names_are_in_camel_case() {
    let served = serve().await;
    for caller in [Binding::JsonRpc, Binding::Rest].map(|binding| served.caller(binding)) {
        let body = body(&caller, "SendMessage", &say("file")).await;
        for name in ["contextId", "artifactId", "mediaType", "messageId"] {
            assert!(body.contains(&format!("\"{name}\":")), "{name}: {body}");
        }
        for name in ["context_id", "artifact_id", "media_type", "message_id"] {
            assert!(!body.contains(name), "{name}: {body}");
        }
    }
}

#[tokio::test]
async fn dm_serial_002_enums_are_the_names_of_the_proto() {
    let served = serve().await;
    for caller in [Binding::JsonRpc, Binding::Rest].map(|binding| served.caller(binding)) {
        let body = body(&caller, "SendMessage", &say("text")).await;
        assert!(body.contains(r#""state":"TASK_STATE_COMPLETED""#), "{body}");
        assert!(body.contains(r#""role":"ROLE_USER""#), "{body}");
    }
}

#[tokio::test]
async fn dm_serial_003_times_are_utc_and_end_with_z() {
    let served = serve().await;
    for caller in served.callers() {
        let time = task(&caller, &say("text")).await.string("status.timestamp");
        let shape: String = time
            .chars()
            .map(|char| if char.is_ascii_digit() { '0' } else { char })
            .collect();
        assert_eq!(
            shape, "0000-00-00T00:00:00.000Z",
            "{:?}: {time}",
            caller.binding
        );
    }
}

#[tokio::test]
async fn dm_serial_004_fields_that_must_be_there_are_demanded() {
    let served = serve().await;
    for caller in served.callers() {
        for (params, field) in [
            ("{}", "message"),
            (
                r#"{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}"#,
                "messageId",
            ),
            (
                r#"{"message":{"messageId":"m","role":"ROLE_USER"}}"#,
                "parts",
            ),
        ] {
            let sent = caller.call("SendMessage", params).await;
            let error = refused(&caller, sent, "INVALID_PARAMS");
            assert!(error.message.contains(field), "{field}: {error:?}");
        }
    }
}

#[tokio::test]
async fn dm_serial_005_fields_that_are_not_known_are_ignored() {
    let served = serve().await;
    // In protobuf this is so by itself; see the golden files of the gRPC crate.
    for caller in [Binding::JsonRpc, Binding::Rest].map(|binding| served.caller(binding)) {
        let params = r#"{"new":1,"message":{"messageId":"m","role":"ROLE_USER","new":{"a":[]},
            "parts":[{"text":"text","new":null}]},"configuration":{"new":true}}"#;
        assert_eq!(state(&task(&caller, params).await), "COMPLETED");
    }
}
