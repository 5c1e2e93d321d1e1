//! How many requests a caller may make.

use llamon_agent::a2a::SecurityScheme;
use llamon_agent::server::auth::{Authenticate, Checked, Identity, Refusal, RequestHead, Security};
use llamon_agent::server::{GrpcAt, RateLimit};
use llamon_itest::agents::start;
use llamon_itest::grpc::{Call, call};
use llamon_itest::http::{Request, send};

use crate::support::{CARD, done};

/// Everybody is who they say they are, but for nobody.
struct Named;

impl Authenticate for Named {
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
        let identity = match request.header("x-name") {
            Some(name) => Ok(Identity::new(name)),
            None => Err(Refusal::unauthenticated("Named", "say who you are")),
        };
        Box::pin(std::future::ready(identity))
    }

    fn security(&self) -> Security {
        Security::one("name", SecurityScheme::api_key("header", "X-Name"))
    }
}

/// A request a caller makes; over JSON-RPC it is answered in another form.
fn ask(path: &str, name: Option<&str>) -> Request {
    let request = match path {
        "/tasks" => Request::get(path),
        _ => Request::post(
            path,
            r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}"#,
        ),
    };
    match name {
        Some(name) => request.header("X-Name", name),
        None => request,
    }
}

#[tokio::test]
async fn each_caller_has_its_own_requests_and_is_told_when_to_come_again() {
    for path in ["/tasks", "/"] {
        let builder = done().rate_limit(RateLimit::per_minute(2).burst(3));
        let server = start(builder.authenticate(Named)).await;
        for name in ["alice", "bob"] {
            for _ in 0..3 {
                let answer = send(server.url(), &ask(path, Some(name))).await;
                assert_eq!(answer.status, 200, "{answer:?}");
            }
            let over = send(server.url(), &ask(path, Some(name))).await;
            assert_eq!(over.status, 429, "{over:?}");
            let after = over
                .header("retry-after")
                .and_then(|text| text.parse().ok());
            assert!(
                after.is_some_and(|after: u64| (1..=30).contains(&after)),
                "{over:?}"
            );
            assert!(over.body.contains("TOO_MANY_REQUESTS"), "{over:?}");
            assert!(over.body.contains("try again in"), "{over:?}");
        }
    }
}

#[tokio::test]
async fn who_cannot_prove_anything_is_counted_by_address() {
    let builder = done().rate_limit(RateLimit::per_minute(2));
    let server = start(builder.authenticate(Named)).await;
    for expected in [401, 401, 429, 429] {
        let answer = send(server.url(), &ask("/tasks", None)).await;
        assert_eq!(answer.status, expected, "{answer:?}");
    }
    // Those who can are not held up by it, and the card is everybody's.
    let answer = send(server.url(), &ask("/tasks", Some("alice"))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(send(server.url(), &Request::get(CARD)).await.status, 200);
    assert_eq!(
        send(server.url(), &Request::get("/readyz")).await.status,
        200
    );
}

#[tokio::test]
async fn where_nobody_is_known_callers_are_addresses_over_all_bindings() {
    let builder = done().rate_limit(RateLimit::per_minute(2));
    let server = start(builder.grpc(GrpcAt::SamePort)).await;
    assert_eq!(send(server.url(), &ask("/tasks", None)).await.status, 200);
    assert_eq!(send(server.url(), &ask("/", None)).await.status, 200);
    let over = call(server.url(), &Call::new("GetTask", b"\x12\x01t")).await;
    assert_eq!(over.status, Some(8), "{over:?}");
    assert!(over.details.contains("TOO_MANY_REQUESTS"), "{over:?}");
    assert!(over.metadata("retry-after").is_some(), "{over:?}");
}

#[tokio::test]
async fn a_limit_of_nothing_is_an_error_of_the_builder() {
    let error = done()
        .rate_limit(RateLimit::per_second(0))
        .await
        .unwrap_err();
    assert!(error.is_limit(), "{error}");
}
