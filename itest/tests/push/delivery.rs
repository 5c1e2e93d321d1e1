//! What a receiver gets.

use std::time::SystemTime;

use llamon_agent::a2a::{PushConfig, StreamEvent, TaskState};
use llamon_agent::client::Outgoing;
use llamon_agent::client::push::{PushReceiver, SigningSecret};
use llamon_agent::server::create_server;
use llamon_itest::agents::{card, start};
use llamon_itest::hooks::Hook;
use llamon_itest::outcome::{Content, Outcome};
use llamon_itest::receiver::{Got, Receiver};
use llamon_itest::say::Say;
use llamon_itest::wire::peers;

use crate::support::{
    COMPLETED, agent, create, notifying, options, serve, url, waiting_task, without_working,
};

const INPUT_REQUIRED: &str = "TASK_STATE_INPUT_REQUIRED";

#[tokio::test]
async fn every_event_comes_in_its_order_as_the_stream_has_it() {
    let server = serve().await;
    for peer in peers(server.url()) {
        let receiver = Receiver::start().await;
        let say = notifying(Say::text("emit 20"), &url(&receiver.url));
        let (task, events) = peer.begin(&say).await;
        let streamed = events.rest().await;
        let got = receiver.wait_for(|got| got.is_state(COMPLETED)).await;
        let pushed: Vec<_> = got.iter().map(Got::event).collect();
        assert_eq!(pushed, streamed);
        let task = peer.get(&task).await;
        let text: String = (0..20).map(|n| format!("{n} ")).collect();
        assert!(
            Outcome::of_task(&task)
                .content()
                .is_same(&Content::expect(&text, &[], &[]))
        );
    }
}

#[tokio::test]
async fn a_notification_has_its_headers() {
    let server = serve().await;
    for peer in peers(server.url()) {
        for (scheme, name, value) in [
            ("bEARER", "authorization", "Bearer cr3d"),
            ("Basic", "authorization", "Basic cr3d"),
            ("Custom", "authorization", "Custom cr3d"),
            ("ApiKey", "x-api-key", "cr3d"),
            ("x-api-key", "x-api-key", "cr3d"),
        ] {
            let receiver = Receiver::start().await;
            let fields = format!(
                r#"{},"id":"an id.1","token":"t0k","authentication":{{"scheme":"{scheme}","credentials":"cr3d"}}"#,
                url(&format!("{}?q=1", receiver.url))
            );
            let task = peer
                .send(&notifying(Say::text("emit 1"), &fields))
                .await
                .string("id");
            let got = receiver.wait_for(|got| got.is_state(COMPLETED)).await;
            for (index, got) in got.iter().enumerate() {
                assert_eq!(got.path, "/hook?q=1");
                assert_eq!(got.header(name), Some(value));
                assert_eq!(got.header("x-a2a-notification-token"), Some("t0k"));
                assert_eq!(got.header("a2a-notification-token"), Some("t0k"));
                assert_eq!(got.header("content-type"), Some("application/a2a+json"));
                assert_eq!(got.header("a2a-version"), Some("1.0"));
                let id = format!("{task}-an%20id%2E1-{}", index + 1);
                assert_eq!(got.header("webhook-id"), Some(&*id));
                assert_eq!(got.header("webhook-signature"), None);
            }
        }
        let receiver = Receiver::start().await;
        peer.send(&notifying(Say::text("emit 1"), &url(&receiver.url)))
            .await;
        let got = receiver.wait(1).await;
        for name in [
            "authorization",
            "x-api-key",
            "x-a2a-notification-token",
            "cookie",
        ] {
            assert_eq!(got[0].header(name), None);
        }
    }
}

#[tokio::test]
async fn a_configuration_comes_with_a_send_a_stream_or_a_follow_up() {
    let server = serve().await;
    for peer in peers(server.url()) {
        let (first, second) = (Receiver::start().await, Receiver::start().await);
        let task = peer
            .send(&notifying(Say::text("ask"), &url(&first.url)))
            .await
            .string("id");
        first.wait_for(|got| got.is_state(INPUT_REQUIRED)).await;
        let say = Say::text("emit 2").in_task(&task);
        let events = peer
            .stream(&notifying(say, &url(&second.url)))
            .await
            .rest()
            .await;
        let all = first.wait_for(|got| got.is_state(COMPLETED)).await;
        let later = second.wait_for(|got| got.is_state(COMPLETED)).await;
        // The second one gets what its message brings: the stream without the task.
        let later: Vec<_> = later.iter().map(Got::event).collect();
        assert_eq!(without_working(&later), &events[1..]);
        let all: Vec<_> = all.iter().map(Got::event).collect();
        assert!(all.ends_with(&later) && all.len() > later.len());
        let listed = Hook::List(&task).call(&peer).await.unwrap();
        assert_eq!(listed.list("configs").len(), 2);
    }
}

#[tokio::test]
async fn a_configuration_that_is_created_gets_what_happens_from_then_on() {
    let server = serve().await;
    for peer in peers(server.url()) {
        let task = waiting_task(&peer).await;
        let receivers = [Receiver::start().await, Receiver::start().await];
        for receiver in &receivers {
            create(&peer, &task, &url(&receiver.url)).await;
        }
        let events = peer
            .stream(&Say::text("emit 3").in_task(&task))
            .await
            .rest()
            .await;
        for receiver in &receivers {
            let got = receiver.wait_for(|got| got.is_state(COMPLETED)).await;
            let got: Vec<_> = got.iter().map(Got::event).collect();
            assert_eq!(without_working(&got), &events[1..]);
        }
    }
}

#[tokio::test]
async fn a_direct_answer_is_no_notification() {
    let receiver = Receiver::start().await;
    let agent = |_: llamon_agent::server::Turn| async {
        Ok::<_, llamon_agent::server::AgentError>(llamon_agent::server::Answer::message("hi")?)
    };
    let server = start(create_server(card("agent"), agent).push_notifications(options())).await;
    for peer in peers(server.url()) {
        peer.send(&notifying(Say::text("a"), &url(&receiver.url)))
            .await;
    }
    server.stop().await.unwrap();
    let got = receiver.got();
    assert!(
        got.iter().all(|got| got.event().find("message").is_none()),
        "{got:?}"
    );
}

#[tokio::test]
async fn signatures_are_verified_by_the_helper() {
    let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let options = options().sign_with(secret.clone());
    let server = start(create_server(card("agent"), agent).push_notifications(options)).await;
    let receiver = Receiver::start().await;
    let config = PushConfig::new(&*receiver.url)
        .with_token("t0k")
        .with_authentication("Bearer", "cr3d");
    let message = Outgoing::text("emit 3").with_push(config.clone());
    let reply = server.send(message).await.unwrap();
    let verifier = PushReceiver::of(&config).signed_with(secret.clone());
    #[expect(
        clippy::disallowed_methods,
        reason = "the server's clock is the system's"
    )]
    let now = SystemTime::now();
    let got = receiver.wait_for(|got| got.is_state(COMPLETED)).await;
    let mut states = Vec::new();
    for got in &got {
        let received = verifier.receive(|name| got.header(name), got.body.clone(), now);
        let notification = received.unwrap();
        assert_eq!(notification.id.as_deref(), got.header("webhook-id"));
        assert_eq!(notification.task_id(), reply.task().map(|task| &*task.id));
        if let StreamEvent::Status(update) = notification.event {
            states.push(update.status.state);
        }
    }
    assert_eq!(states, [TaskState::Working, TaskState::Completed]);

    let last = got.last().unwrap();
    let receive = |verifier: &PushReceiver, name: &'static str, value: &'static str, body: &str| {
        let header = |asked: &str| {
            if asked == name {
                Some(value)
            } else {
                last.header(asked)
            }
        };
        verifier.receive(header, body.to_owned(), now)
    };
    let other = SigningSecret::from_bytes(&[1; 24]).unwrap();
    let tampered = last.body.replace("COMPLETED", "FAILED");
    for error in [
        receive(&verifier, "-", "", &tampered),
        receive(&verifier, "webhook-id", "another", &last.body),
        receive(&verifier, "webhook-timestamp", "1700000000", &last.body),
        receive(&verifier, "a2a-notification-token", "t0l", &last.body),
        receive(&verifier, "authorization", "Bearer x", &last.body),
        receive(&verifier.clone().signed_with(other), "-", "", &last.body),
    ] {
        assert!(error.unwrap_err().is_foreign());
    }
    assert!(receive(&verifier, "-", "", &last.body).is_ok());
}
