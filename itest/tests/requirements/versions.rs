//! Section 3.6: versions.

use llamon_itest::receiver::{Answer, Receiver};

use super::support::*;

#[tokio::test]
async fn ver_client_001_our_client_says_its_version_with_every_request() {
    let refusing = Receiver::answering(|_, _| Answer::Status(500)).await;
    let card = format!(
        r#"{{"name":"a","description":"b","version":"1","supportedInterfaces":[{{"url":"{}",
        "protocolBinding":"JSONRPC","protocolVersion":"1.0"}}],"capabilities":{{}},
        "defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}}"#,
        refusing.url
    );
    let client = llamon_agent::client::Client::builder().with_card(&card, &refusing.url);
    let client = client.expect("a client");
    client.send("hello").await.expect_err("500");
    client.get("t").await.expect_err("500");
    for got in refusing.wait(2).await {
        assert_eq!(got.header("a2a-version"), Some("1.0"), "{got:?}");
    }
}

#[tokio::test]
async fn ver_client_002_patch_numbers_do_not_count() {
    let served = serve().await;
    for caller in served.callers() {
        for version in ["1.0", "1.0.0", "1.0.1", "1.0.17"] {
            let caller = caller.clone().with("a2a-version", version);
            task_id(&caller, "text").await;
        }
    }
}

#[tokio::test]
async fn ver_server_001_a_request_of_1_0_is_answered_as_1_0() {
    let served = serve().await;
    for caller in served.callers() {
        let made = task(&caller, &say("text")).await;
        assert_eq!(made.string("status.state"), "TASK_STATE_COMPLETED");
        assert_eq!(
            made.find("kind"),
            None,
            "that is 0.3's: {:?}",
            caller.binding
        );
    }
}

#[tokio::test]
async fn ver_server_002_versions_that_are_not_spoken_are_refused() {
    let served = serve().await;
    for caller in served.callers() {
        for version in ["99.0", "2.0", "1.1", "0.2", "latest"] {
            let caller = caller.clone().with("a2a-version", version);
            let sent = caller.call("SendMessage", &say("text")).await;
            let error = refused(&caller, sent, "VERSION_NOT_SUPPORTED");
            assert!(
                error.message.contains("1.0"),
                "says what is spoken: {error:?}"
            );
            let got = caller.call("GetTask", &of("t")).await;
            refused(&caller, got, "VERSION_NOT_SUPPORTED");
            let streamed = caller.open("SendStreamingMessage", &say("text")).await;
            refused(&caller, streamed, "VERSION_NOT_SUPPORTED");
        }
    }
}

#[tokio::test]
async fn ver_server_003_no_version_means_0_3_which_is_not_spoken_here() {
    let served = serve().await;
    for caller in served.callers() {
        for caller in [
            caller.clone().without("a2a-version"),
            caller.with("a2a-version", ""),
        ] {
            let sent = caller.call("SendMessage", &say("text")).await;
            let error = refused(&caller, sent, "VERSION_NOT_SUPPORTED");
            assert!(error.message.contains("0.3"), "{error:?}");
        }
    }
}
