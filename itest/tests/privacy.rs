//! The policy is published nowhere: only the parts of an answer can tell.

use std::collections::BTreeSet;
use std::path::Path;

use llamon_agent::a2a::AgentCard;
use llamon_agent::core::{Json, Limits};
use llamon_agent::server::{AgentError, Answer, Turn, create_server};
use llamon_itest::agents::{Bound, Running, card};
use llamon_itest::http::{Connection, Request, Response, send};
use llamon_itest::mask::{without_ids, without_times};
use llamon_itest::process::Process;
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, WIRES, Wire, envelope};

const CARD: &str = "/.well-known/agent-card.json";
const PUBLIC_URL: &str = "https://agents.example.com/agent";
const OPEN_TASKS: usize = 9;

/// Does what the query says.
fn agent(turn: Turn) -> Running {
    Box::pin(async move {
        if turn.query().starts_with("emit and ") {
            turn.emit(("so far", Json(1))).await?;
        }
        match turn.query().trim_start_matches("emit and ") {
            "panic" => panic!("a panic of the test"),
            "error" => Err("an error of the test".into()),
            "public error" => Err(AgentError::public("broken")),
            "ask" => Ok(Answer::input_required("which?")?),
            "ask who" => Ok(Answer::auth_required("who?")?),
            "reject" => Ok(Answer::rejected("no")?),
            "message" => Ok(Answer::message(("hello", Json(2)))?),
            "text" => Ok(Answer::completed("text")?),
            "nothing" => Ok(Answer::completed(())?),
            other => Ok(Answer::completed((other, Json("own")))?),
        }
    })
}

async fn server(policy: &str, card: AgentCard) -> Bound {
    let limits = Limits::default()
        .with_max_open_tasks(OPEN_TASKS)
        .with_max_body_bytes(10_000);
    let builder = create_server(card, agent)
        .upstream_parts_policy(policy)
        .public_url(PUBLIC_URL)
        .limits(limits);
    Bound::server(builder).await
}

/// The response with what differs between two equal ones masked.
fn masked(response: Response) -> Response {
    let mask = |text: &str| without_times(&without_ids(text));
    let header = |(name, value): (String, String)| {
        let value = if name == "date" {
            "<date>".to_owned()
        } else {
            mask(&value)
        };
        (name, value)
    };
    Response {
        status: response.status,
        headers: response.headers.into_iter().map(header).collect(),
        body: mask(&response.body),
    }
}

// === cards ===

#[tokio::test]
async fn cards_of_the_two_policies_are_byte_identical() {
    let mut responses = Vec::new();
    for policy in ["replace", "append"] {
        let server = server(policy, card("agent")).await;
        responses.push(masked(send(&server.url, &Request::get(CARD)).await));
    }
    let [replace, append] = &responses[..] else {
        panic!("two responses");
    };
    assert_eq!(replace, append);
    for name in ["etag", "last-modified", "cache-control"] {
        assert!(replace.header(name).is_some(), "{name}");
    }
    assert!(
        replace
            .header("cache-control")
            .unwrap()
            .contains("max-age=")
    );
    assert_eq!(replace.header("content-type"), Some("application/json"));
    let text = replace.body.to_lowercase();
    for word in ["upstream", "policy", "append", "replace"] {
        assert!(!text.contains(word), "{word} is in the card");
    }
    let interfaces = Raw::parse(&replace.body).list("supportedInterfaces");
    let bindings: Vec<String> = interfaces
        .iter()
        .map(|interface| {
            assert_eq!(interface.string("url"), PUBLIC_URL);
            assert_eq!(interface.string("protocolVersion"), "1.0");
            interface.string("protocolBinding")
        })
        .collect();
    assert_eq!(bindings, ["JSONRPC", "HTTP+JSON"]);
}

#[tokio::test]
async fn last_modified_is_of_the_build_and_not_of_the_start() {
    // A program that was built long ago, by what its file says.
    let built = httpdate::parse_http_date("Sat, 03 Feb 2001 04:05:06 GMT").unwrap();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("last-modified");
    std::fs::create_dir_all(&directory).unwrap();
    let program = directory.join("agent");
    std::fs::copy(env!("CARGO_BIN_EXE_interop-agent"), &program).unwrap();
    let file = std::fs::File::options().write(true).open(&program).unwrap();
    file.set_modified(built).unwrap();
    drop(file);
    let mut answers = Vec::new();
    for _ in 0..2 {
        let process = Process::start(&program);
        let response = send(process.url(), &Request::get(CARD)).await;
        answers.push(response.header("last-modified").map(str::to_owned));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0].as_deref(), Some("Sat, 03 Feb 2001 04:05:06 GMT"));
}

#[tokio::test]
async fn who_has_the_card_already_gets_304_from_either_server() {
    let servers = [
        server("replace", card("agent")).await,
        server("append", card("agent")).await,
    ];
    let etag = send(&servers[0].url, &Request::get(CARD)).await;
    let etag = etag.header("etag").unwrap().to_owned();
    let known = [
        etag.clone(),
        format!("W/{etag}"),
        format!("\"other\", {etag}"),
        "*".to_owned(),
    ];
    for server in &servers {
        let whole = send(&server.url, &Request::get(CARD)).await;
        for known in &known {
            let request = Request::get(CARD).header("If-None-Match", known);
            let response = send(&server.url, &request).await;
            assert_eq!((response.status, &*response.body), (304, ""), "{known}");
            for name in ["etag", "last-modified", "cache-control"] {
                assert_eq!(response.header(name), whole.header(name), "{known}");
            }
        }
        let request = Request::get(CARD).header("If-None-Match", "\"other\"");
        let response = send(&server.url, &request).await;
        assert_eq!((response.status, response.body), (200, whole.body));
    }
}

#[tokio::test]
async fn another_card_has_another_etag() {
    let mut changed = card("agent");
    changed.version = "1.0.1".to_owned();
    let mut etags = BTreeSet::new();
    for card in [card("agent"), card("another agent"), changed] {
        let server = server("append", card).await;
        let response = send(&server.url, &Request::get(CARD)).await;
        etags.insert(response.header("etag").unwrap().to_owned());
    }
    assert_eq!(etags.len(), 3);
}

// === responses ===

/// Messages to which the two policies answer alike.
fn messages() -> Vec<Say> {
    // No upstream.
    let mut says: Vec<Say> = [
        "own",
        "text",
        "nothing",
        "message",
        "emit and text",
        "emit and own",
    ]
    .map(Say::text)
    .into();
    // Upstream, and a turn that does not complete.
    let ends = ["panic", "error", "public error", "reject", "ask", "ask who"];
    for end in ends {
        for before in ["", "emit and "] {
            let upstream = [r#"{"data":"up"}"#, r#"{"url":"https://example.com/up"}"#];
            says.push(Say::text(&format!("{before}{end}")).with(&upstream));
        }
    }
    says
}

/// Requests that are refused, of each class of errors that this server has.
fn refused(wire: Wire, finished: &str, waiting: &str) -> Vec<Request> {
    let missing = "no-such-task";
    let to = |task: &str| Say::text("own").in_task(task);
    let to_other_context = to(waiting).in_context("another");
    let push = Say::text("own").configured(r#"{"taskPushNotificationConfig":{"url":"http://x"}}"#);
    let ops = [
        Op::Get(missing),
        Op::Cancel(missing),
        Op::Subscribe(missing),
        Op::Send(&to(missing)),
        Op::Send(&to(finished)),
        Op::Stream(&to(finished)),
        Op::Send(&to_other_context),
        Op::Cancel(finished),
        Op::Subscribe(finished),
        Op::Send(&push),
        Op::Send(&Say::default()),
        Op::Send(&Say::parts([r#"{"text":"a","data":1}"#])),
        Op::List(&[("pageSize", "0")]),
        Op::List(&[("pageToken", "nonsense")]),
    ]
    .map(|op| wire.request(op));
    let send = wire.request(Op::Send(&Say::text("own")));
    let mut requests = Vec::from(ops);
    requests.push(send.clone().without("A2A-Version"));
    requests.push(send.clone().header("A2A-Version", "0.3"));
    requests.push(send.header("Content-Type", "text/plain"));
    let large = Say::text(&"x".repeat(11_000));
    requests.push(wire.request(Op::Send(&large)));
    requests.extend(match wire {
        Wire::JsonRpc => vec![
            Request::post("/", "{"),
            Request::post("/", "[]"),
            Request::post("/", r#"{"jsonrpc":"2.0","id":1}"#),
            Request::post("/", envelope("NoSuchMethod", "{}")),
            Request::post("/", envelope("GetExtendedAgentCard", "{}")),
            Request::post("/", envelope("ListTaskPushNotificationConfigs", "{}")),
        ],
        Wire::Rest => vec![
            Request::post("/message:send", "{"),
            Request::new("PUT", "/message:send"),
            Request::get("/no/such/path"),
            Request::get("/extendedAgentCard"),
            Request::get(&format!("/tasks/{finished}/pushNotificationConfigs")),
        ],
    });
    requests
}

/// Everything that a server answers, masked, and the reasons of its errors.
async fn record(url: &str, wire: Wire) -> (Vec<(String, Response)>, BTreeSet<String>) {
    let peer = Peer::new(url, wire);
    let mut recorded = Vec::new();
    let mut reasons = BTreeSet::new();
    for say in messages() {
        for op in [Op::Send(&say), Op::Stream(&say)] {
            // The stream's response is read to its end.
            let streaming = Connection::open(url).await.stream(&wire.request(op)).await;
            let response = streaming.whole().await;
            assert_eq!(response.status, 200, "{op:?} {response:?}");
            recorded.push((format!("{op:?}"), masked(without_keep_alives(response))));
        }
    }
    let page = peer
        .call(Op::List(&[("status", "TASK_STATE_FAILED")]))
        .await
        .expect("a page");
    let finished = page.string("tasks.0.id");
    let page = peer
        .call(Op::List(&[("status", "TASK_STATE_INPUT_REQUIRED")]))
        .await
        .expect("a page");
    let waiting = page.string("tasks.0.id");
    for request in refused(wire, &finished, &waiting) {
        let response = send(url, &request).await;
        let refusal = peer.read(response.clone()).expect_err("a refusal");
        reasons.insert(refusal.reason);
        recorded.push((format!("{request:?}"), masked(response)));
    }
    // The tasks that wait fill the room.
    loop {
        let say = Say::text("ask");
        let response = send(url, &wire.request(Op::Send(&say))).await;
        let read = peer.read(response.clone());
        recorded.push(("one more".to_owned(), masked(response)));
        if let Err(refusal) = read {
            reasons.insert(refusal.reason);
            return (recorded, reasons);
        }
    }
}

/// A stream that was silent for long says that it is alive; that is no part of the answer.
fn without_keep_alives(mut response: Response) -> Response {
    response.body = response.body.replace(": keep-alive\n\n", "");
    response
}

#[tokio::test]
async fn the_two_policies_answer_alike_where_nothing_of_upstream_is_kept() {
    for wire in WIRES {
        let replace = server("replace", card("agent")).await;
        let append = server("append", card("agent")).await;
        let (of_replace, reasons) = record(&replace.url, wire).await;
        let (of_append, _) = record(&append.url, wire).await;
        assert_eq!(of_replace.len(), of_append.len());
        assert!(of_replace.len() >= 12 + messages().len() * 2);
        for ((request, of_replace), (_, of_append)) in of_replace.iter().zip(&of_append) {
            // Ids of tasks and of log lines are in the requests and the answers.
            let request = without_ids(request);
            assert_eq!(of_replace, of_append, "{wire:?} {request}");
        }
        let mut expected = BTreeSet::from([
            "TASK_NOT_FOUND",
            "TASK_NOT_CANCELABLE",
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
            "UNSUPPORTED_OPERATION",
            "CONTENT_TYPE_NOT_SUPPORTED",
            "VERSION_NOT_SUPPORTED",
            "PARSE_ERROR",
            "INVALID_PARAMS",
            "METHOD_NOT_FOUND",
            "PAYLOAD_TOO_LARGE",
            "UNAVAILABLE",
        ]);
        expected.insert(match wire {
            Wire::JsonRpc => "INVALID_REQUEST",
            Wire::Rest => "METHOD_NOT_ALLOWED",
        });
        let reasons: BTreeSet<&str> = reasons.iter().map(String::as_str).collect();
        assert_eq!(reasons, expected);
    }
}

#[tokio::test]
async fn with_upstream_only_the_parts_of_the_answer_tell() {
    let say = Say::text("own").with(&[r#"{"data":"up"}"#]);
    for wire in WIRES {
        let mut bodies = Vec::new();
        for policy in ["replace", "append"] {
            let server = server(policy, card("agent")).await;
            let response = masked(send(&server.url, &wire.request(Op::Send(&say))).await);
            let kept = r#",{"data":"up"}"#;
            let artifacts = response.body.find("\"artifacts\"").unwrap();
            let history = response.body.find("\"history\"").unwrap();
            let answer = &response.body[artifacts..history];
            assert_eq!(answer.contains(kept), policy == "append");
            let rest = answer.replace(kept, "");
            bodies.push(format!("{rest}{}", &response.body[history..]));
        }
        assert_eq!(bodies[0], bodies[1]);
    }
}
