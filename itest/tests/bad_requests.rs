//! Requests that are well-formed and cannot be served: tasks, versions, media types, methods,
//! paths and queries, with the errors of the table in a2a-facts.md.

use llamon_itest::http::{Request, send};
use llamon_itest::refused::{asking_server, refused, send_request};
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, Wire, envelope, peers};

#[tokio::test]
async fn a_task_that_is_not_there() {
    let server = asking_server().await;
    for peer in peers(server.url()) {
        let mut bodies = Vec::new();
        for id in [
            "no-such-task",
            "another",
            "00000000-0000-4000-8000-000000000000",
        ] {
            let more = Say::text("a").in_task(id);
            let ops = [
                Op::Get(id),
                Op::Cancel(id),
                Op::Subscribe(id),
                Op::Send(&more),
                Op::Stream(&more),
            ];
            let mut of_id = Vec::new();
            for op in ops {
                let request = peer.wire.request(op);
                let refusal = refused(&peer, &request, "TASK_NOT_FOUND", id).await;
                assert!(!refusal.body.contains(id), "{refusal:?}");
                of_id.push(refusal.body);
            }
            of_id.dedup();
            assert_eq!(of_id.len(), 1, "one answer, whatever was asked");
            bodies.extend(of_id);
        }
        bodies.dedup();
        assert_eq!(bodies.len(), 1, "the same bytes for each id");
        // No new task has come of it.
        let listed = peer.call(Op::List(&[])).await.unwrap();
        assert_eq!(listed.at("totalSize").text(), "0");
    }
}

#[tokio::test]
async fn a_path_that_is_no_text() {
    let server = asking_server().await;
    let peer = Peer::new(server.url(), Wire::Rest);
    for (method, path) in [
        ("GET", "/tasks/%ff"),
        ("GET", "/tasks/%ff:subscribe"),
        ("POST", "/tasks/a%c3:cancel"),
    ] {
        let response = send(&peer.url, &Request::new(method, path)).await;
        let refusal = peer.read(response).unwrap_err();
        let reasons = ["INVALID_PARAMS", "TASK_NOT_FOUND"];
        assert!(reasons.contains(&&*refusal.reason), "{path}: {refusal:?}");
    }
}

#[tokio::test]
async fn a_task_that_has_ended() {
    let server = asking_server().await;
    for peer in peers(server.url()) {
        let id = peer.send(&Say::text("go")).await.string("id");
        peer.send(&Say::text("this").in_task(&id)).await;
        let before = peer.get(&id).await;
        let more = Say::text("more").in_task(&id);
        for (op, reason) in [
            (Op::Send(&more), "UNSUPPORTED_OPERATION"),
            (Op::Stream(&more), "UNSUPPORTED_OPERATION"),
            (Op::Subscribe(&id), "UNSUPPORTED_OPERATION"),
            (Op::Cancel(&id), "TASK_NOT_CANCELABLE"),
        ] {
            refused(&peer, &peer.wire.request(op), reason, "ended").await;
        }
        assert_eq!(peer.get(&id).await, before);
    }
}

#[tokio::test]
async fn a_context_that_is_not_the_tasks() {
    let server = asking_server().await;
    for peer in peers(server.url()) {
        let task = peer.send(&Say::text("go").in_context("one")).await;
        let id = task.string("id");
        let more = Say::text("more").in_task(&id);
        for op in [
            Op::Send(&more.clone().in_context("two")),
            Op::Stream(&more.clone().in_context("two")),
        ] {
            let request = peer.wire.request(op);
            let refusal = refused(&peer, &request, "INVALID_PARAMS", "context").await;
            assert!(refusal.message.contains("contextId"), "{refusal:?}");
        }
        assert_eq!(peer.get(&id).await, task);
        // Its own context, or none, is right.
        let done = peer.send(&more.in_context("one")).await;
        assert_eq!(done.string("status.state"), "TASK_STATE_COMPLETED");
    }
}

// === versions, media types, methods ===

#[tokio::test]
async fn a_version_that_is_not_spoken() {
    let server = asking_server().await;
    let say = Say::text("a");
    for peer in peers(server.url()) {
        let ops = [
            Op::Send(&say),
            Op::Stream(&say),
            Op::Get("x"),
            Op::List(&[]),
            Op::Cancel("x"),
            Op::Subscribe("x"),
        ];
        for op in ops {
            let request = peer.wire.request(op);
            let reason = "VERSION_NOT_SUPPORTED";
            refused(
                &peer,
                &request.clone().without("A2A-Version"),
                reason,
                "none",
            )
            .await;
            for version in ["", "0.3", "0.3.0", "1", "1.1", "2.0", "one"] {
                let request = request.clone().header("A2A-Version", version);
                refused(&peer, &request, reason, version).await;
            }
        }
        let patch = peer
            .wire
            .request(Op::Send(&say))
            .header("A2A-Version", "1.0.1");
        assert!(peer.read(send(&peer.url, &patch).await).is_ok());
    }
}

#[tokio::test]
async fn a_content_type_that_is_not_json() {
    let server = asking_server().await;
    for peer in peers(server.url()) {
        let request = send_request(peer.wire, &Say::text("a").json());
        let reason = "CONTENT_TYPE_NOT_SUPPORTED";
        refused(
            &peer,
            &request.clone().without("Content-Type"),
            reason,
            "none",
        )
        .await;
        for media_type in [
            "",
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "text/json",
        ] {
            let request = request.clone().header("Content-Type", media_type);
            refused(&peer, &request, reason, media_type).await;
        }
        for media_type in [
            "application/json",
            "application/a2a+json",
            "application/json; charset=utf-8",
            "Application/JSON",
        ] {
            let request = request.clone().header("Content-Type", media_type);
            assert!(
                peer.read(send(&peer.url, &request).await).is_ok(),
                "{media_type}"
            );
        }
    }
}

#[tokio::test]
async fn a_method_that_is_not_there() {
    let server = asking_server().await;
    let peer = Peer::new(server.url(), Wire::JsonRpc);
    for method in [
        "NoSuchMethod",
        "",
        "sendmessage",
        "message/send",
        "tasks/get",
        "SendMessage ",
    ] {
        let request = Request::post("/", envelope(method, "{}"));
        refused(&peer, &request, "METHOD_NOT_FOUND", method).await;
    }
    let push = [
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
    ];
    for method in push {
        let request = Request::post("/", envelope(method, "{}"));
        refused(&peer, &request, "PUSH_NOTIFICATION_NOT_SUPPORTED", method).await;
    }
    let request = Request::post("/", envelope("GetExtendedAgentCard", "{}"));
    refused(&peer, &request, "UNSUPPORTED_OPERATION", "extended").await;

    let peer = Peer::new(server.url(), Wire::Rest);
    for path in [
        "/no/such/path",
        "/message",
        "/message:sent",
        "/v1/tasks",
        "/tasks/a/b",
    ] {
        refused(&peer, &Request::get(path), "METHOD_NOT_FOUND", path).await;
    }
    let config = "/tasks/a/pushNotificationConfigs";
    for request in [
        Request::get(config),
        Request::post(config, "{}"),
        Request::get(&format!("{config}/b")),
        Request::new("DELETE", &format!("{config}/b")),
    ] {
        refused(&peer, &request, "PUSH_NOTIFICATION_NOT_SUPPORTED", config).await;
    }
    let extended = Request::get("/extendedAgentCard");
    refused(&peer, &extended, "UNSUPPORTED_OPERATION", "extended").await;
}

/// A method, a path that does not take it, and one that it takes.
const WRONG_METHODS: [(&str, &str, &str); 11] = [
    ("GET", "/", "POST"),
    ("DELETE", "/", "POST"),
    ("GET", "/message:send", "POST"),
    ("PUT", "/message:stream", "POST"),
    ("POST", "/tasks", "GET"),
    ("DELETE", "/tasks/x", "GET"),
    ("POST", "/tasks/x", "GET"),
    ("GET", "/tasks/x:cancel", "POST"),
    ("DELETE", "/tasks/x:subscribe", "POST"),
    ("POST", "/extendedAgentCard", "GET"),
    ("POST", "/.well-known/agent-card.json", "GET"),
];

#[tokio::test]
async fn an_http_method_that_a_path_does_not_take() {
    let server = asking_server().await;
    let peer = Peer::new(server.url(), Wire::Rest);
    for (method, path, _) in WRONG_METHODS {
        let what = format!("{method} {path}");
        let request = Request::new(method, path);
        refused(&peer, &request, "METHOD_NOT_ALLOWED", &what).await;
    }
}

#[tokio::test]
async fn what_a_path_takes_is_said_as_rfc_9110_section_15_5_6_demands() {
    let server = asking_server().await;
    let mut without = Vec::new();
    for (method, path, allowed) in WRONG_METHODS {
        let response = send(server.url(), &Request::new(method, path)).await;
        let allow = response.header("allow").unwrap_or_default();
        let names: Vec<&str> = allow.split(',').map(str::trim).collect();
        if !names.contains(&allowed) || names.contains(&method) {
            without.push((method, path, allow.to_owned()));
        }
    }
    assert_eq!(without, []);
}

#[tokio::test]
async fn query_values_that_are_wrong() {
    let server = asking_server().await;
    let peer = Peer::new(server.url(), Wire::Rest);
    let id = peer.send(&Say::text("go")).await.string("id");
    let paths = [
        format!("/tasks/{id}?historyLength=x"),
        format!("/tasks/{id}?historyLength=-1"),
        format!("/tasks/{id}?history_length=1.5"),
        format!("/tasks/{id}?historyLength=%ff"),
        format!("/tasks/{id}?historyLength="),
        "/tasks?pageSize=1e9".to_owned(),
        "/tasks?pageSize=".to_owned(),
        "/tasks?status=%ff".to_owned(),
        "/tasks?status=".to_owned(),
        "/tasks?includeArtifacts=".to_owned(),
        "/tasks?statusTimestampAfter=".to_owned(),
    ];
    for path in paths {
        refused(&peer, &Request::get(&path), "INVALID_PARAMS", &path).await;
    }
    let task = peer
        .get(&format!("{id}?history%4cength=0&unknown=%ea%b0%90"))
        .await;
    assert_eq!(task.find("history"), None);
}

#[tokio::test]
async fn a_body_where_none_is_needed_must_be_an_object() {
    let server = asking_server().await;
    let peer = Peer::new(server.url(), Wire::Rest);
    for path in ["/tasks/x:cancel", "/tasks/x:subscribe"] {
        for (body, reason) in [
            ("", "TASK_NOT_FOUND"),
            ("{}", "TASK_NOT_FOUND"),
            (r#" {"id":"x"} "#, "TASK_NOT_FOUND"),
            ("[]", "INVALID_PARAMS"),
            ("\"x\"", "INVALID_PARAMS"),
            ("{", "PARSE_ERROR"),
        ] {
            refused(&peer, &Request::post(path, body), reason, body).await;
        }
    }
}
