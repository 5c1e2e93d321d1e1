//! The envelope of JSON-RPC: what is no request, ids, and the order of its fields.

use std::sync::Arc;

use futures_util::future::join_all;
use llamon_agent::core::Limits;
use llamon_agent::server::{Answer, Turn};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{patient, serve};
use llamon_itest::http::{Connection, Request, send};
use llamon_itest::refused::{asking_server, refused, with_part};
use llamon_itest::say::Say;
use llamon_itest::wire::{Peer, Wire, envelope};

async fn rpc(server: &TestServer, body: &str) -> String {
    let response = send(server.url(), &Request::post("/", body)).await;
    assert_eq!(response.status, 200);
    response.body
}

#[tokio::test]
async fn envelopes_that_are_no_request() {
    let server = asking_server().await;
    let peer = Peer::new(server.url(), Wire::JsonRpc);
    // The body, and the id that is answered to.
    let cases = [
        ("[]", "null"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ListTasks"}]"#, "null"),
        ("\"x\"", "null"),
        ("7", "null"),
        ("null", "null"),
        ("{}", "null"),
        (
            r#"{"jsonrpc":"2.0","method":"ListTasks","params":{}}"#,
            "null",
        ),
        (r#"{"id":1,"method":"ListTasks"}"#, "1"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ListTasks"}"#, "1"),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ListTasks"}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, "1"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ListTasks"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ListTasks"}"#, "null"),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"ListTasks"}"#,
            "null",
        ),
        (
            r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ListTasks"}"#,
            "1",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","method":"GetTask"}"#,
            "1",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{},"params":{}}"#,
            "1",
        ),
        (r#"{"method":7,"jsonrpc":"2.0","id":"later"}"#, r#""later""#),
    ];
    for (body, id) in cases {
        let request = Request::post("/", body);
        let refusal = refused(&peer, &request, "INVALID_REQUEST", body).await;
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"error""#);
        assert!(refusal.body.starts_with(&head), "{body}: {refusal:?}");
    }
    // With two ids there is no telling which.
    let body = r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ListTasks"}"#;
    refused(&peer, &Request::post("/", body), "INVALID_REQUEST", body).await;
}

/// Clients count their ids from the same number, so ids say nothing of who asks.
#[tokio::test]
async fn callers_that_use_the_same_id_each_get_their_own_answer() {
    const CALLERS: usize = 16;
    // Nobody is answered before everybody has asked.
    let all = Arc::new(tokio::sync::Barrier::new(CALLERS));
    let server = serve("append", Limits::default(), move |turn: Turn| {
        let all = Arc::clone(&all);
        async move {
            patient(all.wait()).await;
            Ok(Answer::completed(turn.query())?)
        }
    })
    .await;
    let ask = async |caller: usize| {
        let own = format!("for caller {caller} alone");
        let body = envelope("SendMessage", &Say::text(&own).json());
        (own, rpc(&server, &body).await)
    };
    for (own, answer) in join_all((0..CALLERS).map(ask)).await {
        // The question in the history and the answer.
        assert_eq!(answer.matches(&own).count(), 2, "{own}: {answer}");
        assert_eq!(answer.matches("for caller ").count(), 2, "{own}: {answer}");
    }
}

const IDS: [&str; 13] = [
    "1",
    "0",
    "-1",
    "1.50",
    "1e400",
    "123456789012345678901234567890",
    "null",
    "\"x\"",
    "\"\"",
    r#""\u0041\n\"""#,
    "\"é世🌍\"",
    r#""\ud83c\udf0d""#,
    "\"\u{2028}\"",
];

#[tokio::test]
async fn an_id_is_echoed_as_it_was_written() {
    let server = asking_server().await;
    let say = Say::text("go").json();
    for id in IDS {
        let calls = [
            (
                format!(r#""method":"SendMessage","params":{say}"#),
                "result",
            ),
            (r#""method":"ListTasks""#.to_owned(), "result"),
            (
                r#""method":"GetTask","params":{"id":"no-such-task"}"#.to_owned(),
                "error",
            ),
            (
                r#""method":"SendMessage","params":{"message":7}"#.to_owned(),
                "error",
            ),
            (r#""method":"NoSuchMethod""#.to_owned(), "error"),
        ];
        for (call, outcome) in calls {
            let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"{outcome}""#);
            // Wherever it stands.
            for body in [
                format!(r#"{{"jsonrpc":"2.0","id":{id},{call}}}"#),
                format!(r#"{{"id":{id},"jsonrpc":"2.0",{call}}}"#),
                format!(r#"{{"jsonrpc":"2.0",{call},"id" : {id} }}"#),
            ] {
                let answer = rpc(&server, &body).await;
                assert!(answer.starts_with(&head), "{body}: {answer}");
            }
        }
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"SendStreamingMessage","params":{say}}}"#
        );
        let connection = Connection::open(server.url()).await;
        let mut stream = connection.stream(&Request::post("/", body)).await;
        let mut events = 0;
        while let Some(event) = stream.event().await {
            let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result""#);
            assert!(event.starts_with(&head), "{event}");
            events += 1;
        }
        assert!(events > 1);
    }
}

#[tokio::test]
async fn parameters_may_come_before_their_method() {
    let server = asking_server().await;
    let say = Say::text("go").with(&[r#"{"data":1.0}"#]).json();
    let body = format!(r#"{{"params":{say},"id":1,"method":"SendMessage","jsonrpc":"2.0"}}"#);
    let answer = rpc(&server, &body).await;
    assert!(answer.contains(r#"{"data":1.0}"#), "{answer}");
    // The same errors, too.
    let cases = [
        r#"{"message":7}"#.to_owned(),
        "{}".to_owned(),
        with_part("{}"),
        with_part(r#"{"text":"\ud800"}"#),
    ];
    for params in &cases {
        let messages = in_both_orders(&server, params).await;
        assert_eq!(messages[0], messages[1]);
    }
}

#[tokio::test]
async fn parameters_that_nest_too_deep_may_come_before_their_method() {
    let server = asking_server().await;
    let nested = format!("{}{}", "[".repeat(96), "]".repeat(96));
    let params = with_part(&format!(r#"{{"data":{nested}}}"#));
    for message in in_both_orders(&server, &params).await {
        assert!(message.contains("max_json_depth"), "{message}");
    }
}

/// What is said of wrong parameters after their method and before it.
async fn in_both_orders(server: &TestServer, params: &str) -> Vec<String> {
    let peer = Peer::new(server.url(), Wire::JsonRpc);
    let method = r#""jsonrpc":"2.0","id":1,"method":"SendMessage""#;
    let mut messages = Vec::new();
    for body in [
        format!(r#"{{{method},"params":{params}}}"#),
        format!(r#"{{"params":{params},{method}}}"#),
    ] {
        let request = Request::post("/", body);
        let refusal = refused(&peer, &request, "INVALID_PARAMS", params).await;
        assert!(refusal.body.contains(r#""id":1"#), "{refusal:?}");
        // They may count the bytes from another beginning.
        let message = refusal.message.split(" (at byte").next();
        messages.push(message.unwrap_or_default().to_owned());
    }
    messages
}

#[tokio::test]
async fn parameters_that_an_operation_needs() {
    let server = asking_server().await;
    let peer = Peer::new(server.url(), Wire::JsonRpc);
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        for params in [
            "{}",
            r#"{"id":null}"#,
            r#"{"id":""}"#,
            r#"{"id":7}"#,
            r#"{"id":"a","id":"a"}"#,
            "[]",
            "null",
        ] {
            let request = Request::post("/", envelope(method, params));
            refused(&peer, &request, "INVALID_PARAMS", params).await;
        }
        let none = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        refused(&peer, &Request::post("/", none), "INVALID_PARAMS", "none").await;
    }
    let none = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage"}"#;
    refused(&peer, &Request::post("/", none), "INVALID_PARAMS", "none").await;
}
