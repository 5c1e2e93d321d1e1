//! Sections 5, 9, 10 and 11: each binding, and that they are the same.

use llamon_itest::call::Binding;
use llamon_itest::http::{Connection, Request, send};
use llamon_itest::raw::Raw;
use llamon_itest::wire::envelope;

use super::support::*;

#[tokio::test]
async fn bind_equiv_001_every_operation_is_there_in_every_binding() {
    let served = serve().await;
    for caller in served.callers() {
        let id = task_id(&caller, "ask").await;
        let push = format!(r#"{{"taskId":"{id}","id":"c"}}"#);
        let create = format!(r#"{{"taskId":"{id}","id":"c","url":"http://127.0.0.1:59999/"}}"#);
        for (method, params) in [
            ("GetTask", of(&id)),
            ("ListTasks", "{}".to_owned()),
            ("CreateTaskPushNotificationConfig", create),
            ("GetTaskPushNotificationConfig", push.clone()),
            (
                "ListTaskPushNotificationConfigs",
                format!(r#"{{"taskId":"{id}"}}"#),
            ),
            ("DeleteTaskPushNotificationConfig", push),
            ("CancelTask", of(&id)),
        ] {
            let called = caller.call(method, &params).await;
            called.unwrap_or_else(|error| panic!("{:?} {method}: {error:?}", caller.binding));
        }
        let card = caller.call("GetExtendedAgentCard", "{}").await;
        card.expect_err("known, and refused");
        let stream = caller.open("SendStreamingMessage", &say("chunks")).await;
        assert!(stream.expect("a stream").rest().await.len() > 3);
        let id = task_id(&caller, "ask").await;
        caller
            .open("SubscribeToTask", &of(&id))
            .await
            .expect("a stream");
    }
}

#[tokio::test]
async fn bind_equiv_002_a_task_reads_the_same_in_every_binding() {
    let served = serve().await;
    for maker in served.callers() {
        for text in ["text", "data", "file", "url", "chunks", "ask", "reject"] {
            let id = task_id(&maker, text).await;
            let mut read = Vec::new();
            for caller in served.callers() {
                let got = caller.call("GetTask", &of(&id)).await.expect("the task");
                read.push(serde_json::from_str::<serde_json::Value>(got.text()).expect("JSON"));
            }
            assert_eq!(read[0], read[1], "{text} of {:?}", maker.binding);
            assert_eq!(read[0], read[2], "{text} of {:?}", maker.binding);
        }
    }
}

#[tokio::test]
async fn bind_equiv_003_an_error_is_the_same_in_every_binding() {
    let served = serve().await;
    let ended = task_id(&served.caller(Binding::JsonRpc), "text").await;
    for (method, params) in [
        ("GetTask", of("no-such-task")),
        ("CancelTask", of(&ended)),
        ("SendMessage", say_in(&ended, "x")),
        ("GetExtendedAgentCard", "{}".to_owned()),
        ("ListTasks", r#"{"pageSize":0}"#.to_owned()),
    ] {
        let mut errors = Vec::new();
        for caller in served.callers() {
            let error = caller.call(method, &params).await.expect_err(method);
            errors.push((error.reason, error.message));
        }
        assert_eq!(errors[0], errors[1], "{method}");
        assert_eq!(errors[0], errors[2], "{method}");
    }
}

// === JSON-RPC ===

#[tokio::test]
async fn jsonrpc_fmt_001_requests_and_answers_are_json_rpc_2_0() {
    let served = serve().await;
    let url = served.server.url();
    for (id, body) in [
        (
            r#""text""#,
            r#"{"jsonrpc":"2.0","id":"text","method":"ListTasks","params":{}}"#,
        ),
        (
            "12",
            r#"{"method":"ListTasks","params":{},"id":12,"jsonrpc":"2.0"}"#,
        ),
    ] {
        let response = send(url, &Request::post("/", body)).await;
        let body = Raw::parse(&response.body);
        assert_eq!(body.string("jsonrpc"), "2.0");
        assert_eq!(body.at("id").text(), id, "as it was written");
        assert!(body.find("result").is_some() && body.find("error").is_none());
    }
    for (body, code) in [
        (r#"{"id":1,"method":"ListTasks"}"#, "-32600"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ListTasks"}"#, "-32600"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "-32600"),
        ("[]", "-32600"),
        ("{", "-32700"),
    ] {
        let response = send(url, &Request::post("/", body)).await;
        let answer = Raw::parse(&response.body);
        assert_eq!(answer.at("error.code").text(), code, "{body}");
    }
}

#[tokio::test]
async fn jsonrpc_fmt_002_answers_are_application_json() {
    let served = serve().await;
    for body in [
        envelope("ListTasks", "{}"),
        envelope("GetTask", &of("none")),
        "{".to_owned(),
    ] {
        let response = send(served.server.url(), &Request::post("/", body)).await;
        assert_eq!(response.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn jsonrpc_svc_001_methods_have_the_names_of_the_service() {
    let served = serve().await;
    for (method, known) in [
        ("ListTasks", true),
        ("listTasks", false),
        ("list_tasks", false),
        ("tasks/list", false),
        ("message/send", false),
    ] {
        let request = Request::post("/", envelope(method, "{}"));
        let body = Raw::parse(&send(served.server.url(), &request).await.body);
        let code = body.find("error.code").map(|code| code.text().to_owned());
        let expected = (!known).then(|| "-32601".to_owned());
        assert_eq!(code, expected, "{method}");
    }
}

#[tokio::test]
async fn jsonrpc_svc_002_service_parameters_are_headers() {
    service_parameters(Binding::JsonRpc).await;
}

/// The version is read where the binding has it.
async fn service_parameters(binding: Binding) {
    let served = serve().await;
    let caller = served.caller(binding);
    task_id(&caller, "text").await;
    // One that the agent does not have is ignored.
    task_id(
        &caller
            .clone()
            .with("a2a-extensions", "urn:none, urn:of-these"),
        "text",
    )
    .await;
    let old = caller.with("a2a-version", "0.1");
    let sent = old.call("SendMessage", &say("text")).await;
    refused(&old, sent, "VERSION_NOT_SUPPORTED");
}

#[tokio::test]
async fn jsonrpc_err_001_an_error_has_code_message_and_data() {
    let served = serve().await;
    let request = Request::post("/", envelope("GetTask", &of("none")));
    let response = send(served.server.url(), &request).await;
    assert_eq!(response.status, 200);
    let body = Raw::parse(&response.body);
    assert!(body.find("result").is_none());
    let error = body.at("error").fields();
    let names: Vec<&str> = error.keys().map(String::as_str).collect();
    assert_eq!(names, ["code", "data", "message"]);
}

#[tokio::test]
async fn jsonrpc_err_002_errors_of_a2a_have_codes_of_their_range() {
    let served = serve().await;
    let caller = served.caller(Binding::JsonRpc);
    let ended = task_id(&caller, "text").await;
    for (method, params) in [
        ("GetTask", of("none")),
        ("CancelTask", of(&ended)),
        ("SendMessage", say_in(&ended, "x")),
        ("GetExtendedAgentCard", "{}".to_owned()),
    ] {
        let error = caller.call(method, &params).await.expect_err(method);
        let code: i32 = error.code.parse().expect("a number");
        assert!((-32099..=-32001).contains(&code), "{method}: {error:?}");
    }
}

#[tokio::test]
async fn jsonrpc_err_003_an_error_has_an_error_info_in_its_data() {
    let served = serve().await;
    let request = Request::post("/", envelope("GetTask", &of("none")));
    let body = Raw::parse(&send(served.server.url(), &request).await.body);
    let info = body.at("error.data.0");
    assert_eq!(
        info.string("@type"),
        "type.googleapis.com/google.rpc.ErrorInfo"
    );
    assert_eq!(info.string("reason"), "TASK_NOT_FOUND");
    assert_eq!(info.string("domain"), "a2a-protocol.org");
}

#[tokio::test]
async fn jsonrpc_sse_001_a_stream_is_server_sent_events_of_json_rpc() {
    let served = serve().await;
    let url = served.server.url();
    let request = Request::post("/", envelope("SendStreamingMessage", &say("chunks")));
    let mut stream = Connection::open(url).await.stream(&request).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    let mut count = 0;
    while let Some(event) = stream.event().await {
        let event = Raw::parse(&event);
        assert_eq!(event.string("jsonrpc"), "2.0");
        assert_eq!(event.at("id").text(), "7", "that of the request");
        assert_eq!(event.at("result").fields().len(), 1);
        count += 1;
    }
    assert!(count > 3);
}

#[test]
fn jsonrpc_sse_002_errors_have_the_codes_of_the_specification() {
    use llamon_agent::a2a::ErrorCode;
    for (reason, code, ..) in ERRORS {
        let known = ErrorCode::of_reason(reason).expect(reason);
        assert_eq!(known.jsonrpc().to_string(), code);
    }
}

// === gRPC ===

#[tokio::test]
async fn grpc_svc_001_the_service_is_lf_a2a_v1_with_all_its_methods() {
    let served = serve().await;
    let caller = served.caller(Binding::Grpc);
    for method in llamon_grpc::method::Method::ALL {
        let name = method.path().rsplit('/').next().expect("a name");
        assert_eq!(method.path(), format!("/lf.a2a.v1.A2AService/{name}"));
        // An empty message is wrong, or not; the method is known.
        match caller
            .call(
                name,
                r#"{"taskId":"none","id":"none","url":"https://example.com/"}"#,
            )
            .await
        {
            Ok(_) => {}
            Err(error) => assert_ne!(error.code, "UNIMPLEMENTED", "{name}: {error:?}"),
        }
    }
    let unknown = caller
        .call("NoSuchMethod", "{}")
        .await
        .expect_err("unknown");
    assert_eq!(unknown.code, "UNIMPLEMENTED");
}

#[tokio::test]
async fn grpc_svc_002_messages_are_protobuf() {
    let served = serve().await;
    let caller = served.caller(Binding::Grpc);
    let params = llamon_itest::say::Say::text("data").with(&[r#"{"data":{"a":[1,null,"x"]}}"#]);
    let made = task(&caller, &params.json()).await;
    assert_eq!(
        made.at("history.0.parts.1.data").text(),
        r#"{"a":[1,null,"x"]}"#
    );
    assert_eq!(made.at("artifacts.0.parts.0.data.count").text(), "42");
}

#[tokio::test]
async fn grpc_svc_003_grpc_is_http_2_behind_whoever_has_the_certificate() {
    // TLS is the business of a proxy in front; without it, what is no HTTP/2 gets no gRPC.
    let served = serve().await;
    task_id(&served.caller(Binding::Grpc), "text").await;
    let request = Request::post("/lf.a2a.v1.A2AService/ListTasks", "")
        .header("Content-Type", "application/grpc");
    let response = send(served.server.url(), &request).await;
    assert_eq!(response.status, 426);
}

#[tokio::test]
async fn grpc_meta_001_service_parameters_are_metadata() {
    service_parameters(Binding::Grpc).await;
}

#[tokio::test]
async fn grpc_err_001_an_error_has_an_error_info_in_its_details() {
    let served = serve().await;
    let caller = served.caller(Binding::Grpc);
    let error = caller.call("GetTask", &of("none")).await.expect_err("none");
    assert_eq!(error.reason, "TASK_NOT_FOUND");
    assert_eq!(error.domain, "a2a-protocol.org");
}

#[test]
fn grpc_err_002_errors_have_the_statuses_of_the_specification() {
    use llamon_agent::a2a::ErrorCode;
    for (reason, _, _, status) in ERRORS {
        let known = ErrorCode::of_reason(reason).expect(reason);
        assert_eq!(known.status(), status);
    }
}

#[tokio::test]
async fn grpc_err_003_a_stream_is_a_server_streaming_call() {
    let served = serve().await;
    let caller = served.caller(Binding::Grpc);
    let events = caller.open("SendStreamingMessage", &say("chunks")).await;
    assert_eq!(events.expect("a stream").rest().await.len(), 5);
    let error = caller.open("SubscribeToTask", &of("none")).await;
    refused(&caller, error, "TASK_NOT_FOUND");
}

// === REST ===

#[tokio::test]
async fn http_json_url_001_tasks_are_resources() {
    let served = serve().await;
    let url = served.server.url();
    let id = task_id(&served.caller(Binding::Rest), "ask").await;
    for path in [
        format!("/tasks/{id}"),
        "/tasks".to_owned(),
        format!("/tasks/{id}/pushNotificationConfigs"),
    ] {
        assert_eq!(send(url, &Request::get(&path)).await.status, 200, "{path}");
    }
    assert_eq!(send(url, &Request::get("/task")).await.status, 404);
}

#[tokio::test]
async fn http_json_url_002_each_operation_has_its_http_method() {
    let served = serve().await;
    let url = served.server.url();
    let id = task_id(&served.caller(Binding::Rest), "ask").await;
    for (method, path) in [
        ("GET", "/message:send".to_owned()),
        ("GET", "/message:stream".to_owned()),
        ("GET", format!("/tasks/{id}:cancel")),
        ("POST", "/tasks".to_owned()),
        ("DELETE", format!("/tasks/{id}")),
        ("POST", "/extendedAgentCard".to_owned()),
    ] {
        let response = send(url, &Request::new(method, &path)).await;
        assert_eq!(response.status, 405, "{method} {path}");
        assert!(response.header("allow").is_some(), "{method} {path}");
    }
    let subscribed = Request::get(&format!("/tasks/{id}:subscribe"));
    let stream = Connection::open(url).await.stream(&subscribed).await;
    assert_eq!(stream.status, 200);
}

#[tokio::test]
async fn http_json_svc_001_bodies_are_a2a_json_and_plain_json_is_read() {
    let served = serve().await;
    for media_type in ["application/json", "application/a2a+json"] {
        let request =
            Request::post("/message:send", say("text")).header("Content-Type", media_type);
        let response = send(served.server.url(), &request).await;
        assert_eq!(response.status, 200, "{media_type}");
        assert_eq!(
            response.header("content-type"),
            Some("application/a2a+json")
        );
    }
}

#[tokio::test]
async fn http_json_svc_002_service_parameters_are_headers() {
    service_parameters(Binding::Rest).await;
}

#[tokio::test]
async fn http_json_qp_001_query_parameters_are_in_camel_case() {
    let served = serve().await;
    let url = served.server.url();
    for _ in 0..3 {
        task_id(&served.caller(Binding::Rest), "text").await;
    }
    let query = "/tasks?pageSize=2&includeArtifacts=true&historyLength=0";
    let page = Raw::parse(&send(url, &Request::get(query)).await.body);
    let tasks = page.list("tasks");
    assert_eq!(tasks.len(), 2);
    assert!(tasks[0].find("artifacts").is_some());
    assert_eq!(tasks[0].list("history"), []);
}

#[tokio::test]
async fn http_json_err_001_an_error_is_as_aip_193_has_it() {
    let served = serve().await;
    let response = send(served.server.url(), &Request::get("/tasks/none")).await;
    assert_eq!(response.status, 404);
    let error = Raw::parse(&response.body).at("error");
    assert_eq!(error.at("code").text(), "404");
    assert_eq!(error.string("status"), "NOT_FOUND");
    assert!(!error.string("message").is_empty());
}

#[tokio::test]
async fn http_json_err_002_an_error_has_an_error_info_in_its_details() {
    let served = serve().await;
    let response = send(served.server.url(), &Request::get("/tasks/none")).await;
    let info = Raw::parse(&response.body).at("error.details.0");
    assert_eq!(
        info.string("@type"),
        "type.googleapis.com/google.rpc.ErrorInfo"
    );
    assert_eq!(info.string("reason"), "TASK_NOT_FOUND");
    assert_eq!(info.string("domain"), "a2a-protocol.org");
}

#[test]
fn http_json_status_001_errors_have_the_http_statuses_of_the_specification() {
    use llamon_agent::a2a::ErrorCode;
    for (reason, _, http, _) in ERRORS {
        let known = ErrorCode::of_reason(reason).expect(reason);
        assert_eq!(known.http().to_string(), http);
    }
}

#[tokio::test]
async fn http_json_sse_001_a_stream_is_server_sent_events() {
    let served = serve().await;
    let request = Request::post("/message:stream", say("chunks"));
    let mut stream = Connection::open(served.server.url())
        .await
        .stream(&request)
        .await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    let mut count = 0;
    while let Some(event) = stream.event().await {
        let kinds = Raw::parse(&event).fields();
        assert_eq!(kinds.len(), 1, "{kinds:?}");
        count += 1;
    }
    assert_eq!(count, 5);
}
