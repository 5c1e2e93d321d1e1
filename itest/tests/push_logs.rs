//! Nothing that a receiver is given in confidence is logged, whatever happens and however much is
//! logged. On its own, because the log is the process's.

use std::time::Duration;

use llamon_agent::server::{AgentError, PushNotifications, Turn, create_server};
use llamon_itest::agents::{card, start};
use llamon_itest::hooks::Hook;
use llamon_itest::log::Log;
use llamon_itest::receiver::{Answer, Receiver};
use llamon_itest::say::Say;
use llamon_itest::wire::peers;

async fn agent(turn: Turn) -> Result<String, AgentError> {
    Ok(turn.query().to_owned())
}

#[tokio::test]
async fn no_secret_is_logged() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let answering = |answer: Answer| Receiver::answering(move |_, _| answer.clone());
    let receivers = [
        answering(Answer::Status(200)).await,
        answering(Answer::Status(500)).await,
        answering(Answer::Status(404)).await,
        answering(Answer::Close).await,
        answering(Answer::Never).await,
    ];
    let mut urls: Vec<String> = receivers.iter().map(|r| r.url.clone()).collect();
    // Nobody listens there, and what resolves to nothing.
    urls.push("http://127.0.0.1:9999".to_owned());
    urls.push("http://no-such-host.invalid:8080".to_owned());
    urls.push("http://metadata.google.internal".to_owned());
    let options = PushNotifications::new()
        .allow_loopback()
        .allow_plain_http()
        // With the whole URL in the texts of errors.
        .trust_origin(&*receivers[3].url)
        .timeout(Duration::from_millis(200))
        .max_attempts(2)
        .backoff(Duration::from_millis(1), Duration::from_millis(2));
    let server = start(create_server(card("agent"), agent).push_notifications(options)).await;
    for peer in peers(server.url()) {
        for url in &urls {
            let config = format!(
                r#"{{"taskPushNotificationConfig":{{"url":"{url}/s3cret-path?key=s3cret-query","token":"s3cret-token","authentication":{{"scheme":"Bearer","credentials":"s3cret-credentials"}}}}}}"#
            );
            let say = Say::text("hello").configured(&config);
            let sent = peer.call(llamon_itest::wire::Op::Send(&say)).await;
            if let Ok(sent) = sent {
                let task = sent.string("task.id");
                let listed = Hook::List(&task).send(&peer).await.body;
                assert!(!listed.contains("s3cret-token") && !listed.contains("s3cret-cred"));
                assert!(!peer.get(&task).await.text().contains("s3cret"));
            }
        }
        for fields in [
            r#""url":"http://127.0.0.1:9999/s3cret-path","token":"s3cret-token\r\n""#,
            r#""url":"http://s3cret-user:s3cret-pass@127.0.0.1:9999/s3cret-path""#,
        ] {
            let refused = Hook::Create("missing", fields).send(&peer).await;
            assert!(!refused.body.contains("s3cret"), "{refused:?}");
        }
    }
    // Five that cannot be reached, or answer wrongly, in two bindings.
    llamon_itest::agents::until(|| async {
        (log.text().matches("is given up").count() >= 12).then_some(())
    })
    .await;
    server.stop().await.unwrap();
    let text = log.text();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("s3cret"))
        .collect();
    // What the HTTP library says of a path at its most talkative is the operator's own choice.
    let of_ours: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("llamon"))
        .collect();
    assert!(of_ours.is_empty(), "{of_ours:#?}");
    for secret in ["s3cret-token", "s3cret-credentials", "s3cret-pass"] {
        assert!(!text.contains(secret), "{secret}: {lines:#?}");
    }
}
