//! What data is on the way: through gRPC, from JSON into it and out of it.

use llamon_agent::client::{Binding, Client, Outgoing};
use llamon_agent::core::{Part, Payload};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Script, parts};

use crate::support::{client, grpc, reason, serve_scripts};

/// Spelled as protobuf's data comes out, so that it can go back in.
const PLAIN: [&str; 6] = [
    r#"{"data":{"z":1,"a":{"b":[1,2.5,-0.0,5e-324,1.7976931348623157e308]},"é\u2028":null}}"#,
    r#"{"data":9007199254740991}"#,
    r#"{"data":[[[[[[[[[["deep"]]]]]]]]]]}"#,
    r#"{"data":"\u0000\u001f\"\\\n"}"#,
    r#"{"raw":"//79","filename":"b.bin"}"#,
    r#"{"url":"https://example.com/","mediaType":"a/b","metadata":{"m":[0]}}"#,
];

/// An agent that adds its name.
async fn named(name: &str) -> TestServer {
    let own = format!(r#"{{"data":"{name}"}}"#);
    serve_scripts("append", vec![Script::returns(&[&own])]).await
}

async fn ask(client: &Client, message: impl Into<Outgoing>) -> Payload {
    client.send(message).await.expect("an answer").payload()
}

fn texts(payload: &Payload) -> Vec<&str> {
    payload.parts().iter().map(Part::json).collect()
}

fn message(texts: &[&str]) -> Outgoing {
    let parts = parts(texts).into_iter();
    parts.fold(Outgoing::text("go"), Outgoing::with_part)
}

#[tokio::test]
async fn a_chain_over_every_binding_keeps_every_token_that_all_can_carry() {
    use Binding::{Grpc, JsonRpc, Rest};
    for chain in [
        [JsonRpc, Grpc, Rest],
        [Grpc, JsonRpc, Grpc],
        [Rest, Grpc, Grpc],
        [Grpc, Grpc, Grpc],
    ] {
        let mut next = message(&PLAIN);
        let mut last = Payload::new();
        for (binding, name) in chain.iter().zip(["A", "B", "C"]) {
            let server = named(name).await;
            last = ask(&client(&server, *binding).await, next).await;
            next = Outgoing::text("go").with_payload(last.clone());
        }
        let own = [r#"{"data":"C"}"#, r#"{"data":"B"}"#, r#"{"data":"A"}"#];
        assert_eq!(texts(&last), [&own[..], &PLAIN[..]].concat(), "{chain:?}");
    }
}

#[tokio::test]
async fn over_json_alone_every_token_stays_also_where_grpc_is_on() {
    let odd = [
        r#"{"data":{"n":1e400,"n":1.0},"x-unknown":true}"#,
        r#"{"data":3.0}"#,
    ];
    let server = named("A").await;
    let answer = ask(&client(&server, Binding::Rest).await, message(&odd)).await;
    assert_eq!(texts(&answer)[1..], odd);
}

#[tokio::test]
async fn of_json_grpc_keeps_the_values_and_not_their_spelling() {
    let server = named("A").await;
    let cases = [
        (r#"{"data":3.0}"#, r#"{"data":3}"#),
        (
            r#"{"data":9007199254740993}"#,
            r#"{"data":9007199254740992.0}"#,
        ),
        (r#"{"data":"\u0041"}"#, r#"{"data":"A"}"#),
        (r#"{"data":1,"x-unknown":true}"#, r#"{"data":1}"#),
        (r#"{"raw":"__79"}"#, r#"{"raw":"//79"}"#),
    ];
    for (sent, expected) in cases {
        let answer = ask(&grpc(&server).await, message(&[sent])).await;
        assert_eq!(texts(&answer)[1], expected, "{sent}");
    }
}

#[tokio::test]
async fn what_grpc_cannot_carry_is_not_sent_and_the_part_is_named() {
    let server = named("A").await;
    let grpc = grpc(&server).await;
    let nested = format!(r#"{{"data":{}{}}}"#, "[".repeat(46), "]".repeat(46));
    let cases = [
        (
            r#"{"data":{"a":[1e400]}}"#,
            "message.parts[1].data.a[0]: 1e400",
        ),
        (
            r#"{"data":["\ud800"]}"#,
            "message.parts[1].data[0]: has a lone surrogate",
        ),
        (&nested, "nests deeper than gRPC can carry"),
    ];
    for (part, expected) in cases {
        let error = grpc.send(message(&[part])).await.unwrap_err();
        assert!(error.is_usage(), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn an_answer_that_grpc_cannot_carry_is_an_error_and_the_task_is_readable_over_json() {
    let odd = r#"{"data":{"total":1e400}}"#;
    let server = serve_scripts("replace", vec![Script::returns(&[odd])]).await;
    let rest = client(&server, Binding::Rest).await;
    let done = rest.send("go").await.unwrap();
    assert_eq!(done.data(), [r#"{"total":1e400}"#]);
    let id = done.task().unwrap().id.to_string();
    let grpc = grpc(&server).await;
    let error = grpc.get(&id).await.unwrap_err().to_string();
    let place = "artifacts[0].parts[0].data.total: 1e400 has no form in gRPC";
    assert!(error.contains(place) && error.contains(&id), "{error}");
    // A send names the task, which its client does not know otherwise.
    let error = grpc.send("go").await.unwrap_err();
    let said = error.to_string();
    assert_eq!(reason::<()>(Err(error)), "UNSUPPORTED_OPERATION");
    let id = said
        .split("task ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    let stored = rest.get(id).await.unwrap();
    assert_eq!(stored.payload().parts()[0].json(), odd);
    // A stream ends with the error, and what came before it stays.
    let stream = grpc.stream("go").await.unwrap();
    let error = stream.finish().await.unwrap_err();
    assert_eq!(reason::<()>(Err(error)), "UNSUPPORTED_OPERATION");
}

#[tokio::test]
async fn hostile_bytes_are_refused_with_the_part_named() {
    use llamon_itest::grpc::{Call, call};
    let server = named("A").await;
    let part = |data: &[u8]| {
        let part = [&[0x22, data.len() as u8][..], data].concat();
        let message = [&b"\x0a\x01m\x20\x01\x2a"[..], &[part.len() as u8], &part].concat();
        [&[0x12, message.len() as u8][..], &message].concat()
    };
    let nan = b"\x11\x00\x00\x00\x00\x00\x00\xf8\x7f";
    let cases: [(Vec<u8>, &str); 5] = [
        (part(nan), "message.parts[0].data: is NaN"),
        (
            part(b""),
            "message.parts[0].data: is a protobuf Value without a kind",
        ),
        (
            part(b"\x1a\x02\xff\xff"),
            "message.parts[0].data: is no protobuf Value",
        ),
        (
            part(b"\x32\x7f"),
            "message.parts[0].data: is no protobuf Value",
        ),
        (b"\xff\xff\xff".to_vec(), "the message is not A2A protobuf"),
    ];
    for (message, expected) in cases {
        let answer = call(server.url(), &Call::new("SendMessage", &message)).await;
        assert_eq!(answer.status, Some(3), "{answer:?}");
        assert!(answer.message.starts_with(expected), "{answer:?}");
        assert!(answer.details.contains("INVALID_PARAMS"), "{answer:?}");
    }
}
