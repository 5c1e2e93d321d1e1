//! Finding an agent: card URLs, the choice of an interface, and which origins are followed.

use std::net::SocketAddr;

use llamon_client::egress::Egress;
use llamon_client::{Binding, Client};
use support::{Action, Names, Server, both, card, json, response, result, task};

#[expect(dead_code, reason = "each test file uses a part of the support")]
mod support;

const CARD_PATH: &str = "/.well-known/agent-card.json";

async fn serve(card: impl Fn(SocketAddr) -> String + Send + Sync + 'static) -> Server {
    Server::start(move |_, _, address| json(card(address))).await
}

#[tokio::test]
async fn the_card_is_found_from_a_base_url_and_from_its_own() {
    let server = serve(both).await;
    let cases = [
        ("", CARD_PATH.to_owned()),
        ("/", CARD_PATH.to_owned()),
        ("/agents/audit", format!("/agents/audit{CARD_PATH}")),
        ("/agents/audit/", format!("/agents/audit{CARD_PATH}")),
        ("/my/card.json", "/my/card.json".to_owned()),
        (CARD_PATH, CARD_PATH.to_owned()),
    ];
    for (index, (path, expected)) in cases.into_iter().enumerate() {
        let client = Client::discover(&server.url(path)).await.unwrap();
        assert_eq!(client.card().name, "test");
        let request = server.requests().remove(index);
        assert_eq!(request.line, format!("GET {expected} HTTP/1.1"));
        assert_eq!(request.header("a2a-version"), Some("1.0"));
        assert_eq!(request.header("accept"), Some("application/json"));
    }
}

#[tokio::test]
async fn the_card_is_kept_as_it_was_served() {
    let server = serve(both).await;
    let client = Client::discover(&server.url("")).await.unwrap();
    assert!(client.card_json().contains(r#""x-unknown":1e400"#));
}

#[tokio::test]
async fn the_first_interface_that_is_spoken_is_used_unless_one_is_asked_for() {
    let server = serve(|address| {
        let rest = format!("http://{address}/rest");
        let rpc = format!("http://{address}/rpc");
        card(&[
            ("GRPC", "1.0", "127.0.0.1:1"),
            ("JSONRPC", "0.3", "http://elsewhere.example/"),
            ("HTTP+JSON", "1.0", &rest),
            ("JSONRPC", "1.0.1", &rpc),
        ])
    })
    .await;
    let client = Client::discover(&server.url("")).await.unwrap();
    assert_eq!(client.binding(), Binding::Rest);
    assert_eq!(client.url(), server.url("/rest"));

    let builder = Client::builder().binding(Binding::JsonRpc);
    let client = builder.discover(&server.url("")).await.unwrap();
    assert_eq!(client.binding(), Binding::JsonRpc);
    assert_eq!(client.url(), server.url("/rpc"));

    // What is preferred and offered, in the caller's order; the card's where nothing is.
    let orders: [(&[Binding], Binding); 4] = [
        (&[], Binding::Rest),
        (&[Binding::JsonRpc], Binding::JsonRpc),
        (&[Binding::JsonRpc, Binding::Rest], Binding::JsonRpc),
        (&[Binding::Rest, Binding::JsonRpc], Binding::Rest),
    ];
    for (order, expected) in orders {
        let builder = Client::builder().bindings(order.iter().copied());
        let client = builder.discover(&server.url("")).await.unwrap();
        assert_eq!(client.binding(), expected, "{order:?}");
    }
}

#[test]
fn a_preferred_binding_that_is_not_offered_is_passed_over() {
    let card = card(&[("JSONRPC", "1.0", "http://127.0.0.1/")]);
    let with = |order: &[Binding]| {
        Client::builder()
            .bindings(order.iter().copied())
            .with_card(&card, "http://127.0.0.1/")
    };
    let client = with(&[Binding::Rest, Binding::JsonRpc]).unwrap();
    assert_eq!(client.binding(), Binding::JsonRpc);
    assert!(with(&[Binding::Rest]).unwrap_err().is_usage());
}

#[test]
fn a_card_without_a_usable_interface_says_what_it_has() {
    let of = |interfaces: &[(&str, &str, &str)]| {
        Client::builder().with_card(&card(interfaces), "http://127.0.0.1/")
    };
    let error = of(&[
        ("CARRIER-PIGEON", "1.0", "127.0.0.1:1"),
        ("JSONRPC", "0.2", "http://127.0.0.1/"),
        ("GRPC", "0.3", "127.0.0.1:1"),
        ("HTTP+JSON", "", "http://127.0.0.1/"),
    ])
    .unwrap_err();
    assert!(error.is_usage());
    let speaks = if cfg!(feature = "grpc") {
        "JSONRPC, HTTP+JSON and GRPC"
    } else {
        "JSONRPC and HTTP+JSON"
    };
    assert_eq!(
        error.to_string(),
        format!(
            r#"the agent card offers "CARRIER-PIGEON 1.0", "JSONRPC 0.2", "GRPC 0.3", "HTTP+JSON", but this client speaks {speaks} of version 1.0 and JSONRPC and HTTP+JSON of version 0.3"#
        )
    );

    let error = Client::builder()
        .binding(Binding::Rest)
        .with_card(
            &card(&[("JSONRPC", "1.0", "http://127.0.0.1/")]),
            "http://127.0.0.1/",
        )
        .unwrap_err();
    assert!(error.is_usage());
    assert!(
        error
            .to_string()
            .contains("HTTP+JSON of version 1.0 or 0.3 was asked for"),
        "{error}"
    );

    let error = of(&[]).unwrap_err();
    assert!(error.to_string().contains("no interface"), "{error}");
    for url in ["/relative", "ftp://127.0.0.1/", "http://u:p@127.0.0.1/"] {
        assert!(
            of(&[("JSONRPC", "1.0", url)]).unwrap_err().is_usage(),
            "{url}"
        );
    }
}

#[test]
fn another_origin_is_followed_only_when_it_is_named() {
    let card_url = "http://127.0.0.1:8080/.well-known/agent-card.json";
    let others = [
        "http://127.0.0.1:8081/",
        "http://localhost:8080/",
        "https://127.0.0.1:8080/",
        "http://127.0.0.1.example.com:8080/",
    ];
    for other in others {
        let card = card(&[("JSONRPC", "1.0", other)]);
        let error = Client::builder().with_card(&card, card_url).unwrap_err();
        assert!(error.is_usage());
        let origin = other.trim_end_matches('/');
        let advice = format!("trust it with trust_origin({origin:?})");
        assert!(error.to_string().contains(&advice), "{error}");

        let client = Client::builder()
            .trust_origin("http://unrelated.example")
            .trust_origin(format!("{origin}/some/path"))
            .with_card(&card, card_url)
            .unwrap();
        assert_eq!(client.url(), other);
    }
    // The port that a scheme has anyway is the same origin.
    let card = card(&[("JSONRPC", "1.0", "http://h.example:80/rpc")]);
    assert!(
        Client::builder()
            .with_card(&card, "http://h.example/")
            .is_ok()
    );
}

#[tokio::test]
async fn an_interface_that_nobody_named_is_used_within_the_rules() {
    let server = Server::start(|_, _, _| json(result(&task("COMPLETED", "")))).await;
    let url = format!("http://agents.example.com:{}/rpc", server.address().port());
    let text = card(&[("JSONRPC", "1.0", &url)]);
    let names = Names::new(|_, _| Ok(vec!["127.0.0.1".parse().unwrap()]));
    let rules = Egress::builder().resolver(names.clone());
    let make = |rules| {
        let builder = Client::builder().egress(rules);
        builder.with_card(&text, "https://cards.example.com/card.json")
    };

    // As it stands on the card, it is refused when the client is made.
    let error = make(rules.clone()).unwrap_err();
    assert!(error.is_usage(), "{error:?}");
    assert!(error.to_string().contains("is not https"), "{error}");
    // Where it leads to is seen when it is used.
    let rules = rules.allow_plain_http();
    let error = make(rules.clone()).unwrap().get("t1").await.unwrap_err();
    assert!(error.is_usage(), "{error:?}");
    assert!(error.to_string().contains("loopback"), "{error}");
    assert_eq!(server.connections(), 0);
    assert_eq!(names.asked().len(), 1, "a refusal is not repeated");

    let client = make(rules.allow_loopback()).unwrap();
    assert_eq!(client.get("t1").await.unwrap().id.as_ref(), "t1");
    assert_eq!(client.url(), url);
    assert!(
        Client::builder().with_card(&text, &url).is_ok(),
        "the card's own origin"
    );
}

#[tokio::test]
async fn a_card_at_an_address_from_outside_is_fetched_within_the_rules() {
    let server = serve(both).await;
    for url in [server.url(""), server.url("").replace("http", "https")] {
        let error = Client::builder().discover_guarded(&url).await.unwrap_err();
        assert!(error.is_usage(), "{error:?}");
        assert!(error.to_string().contains("is refused"), "{error}");
    }
    assert_eq!(server.connections(), 0);

    let rules = Egress::builder().allow_plain_http().allow_loopback();
    let builder = Client::builder().egress(rules);
    let client = builder.discover_guarded(&server.url("")).await.unwrap();
    assert_eq!(client.url(), server.url("/rpc"));
    // Named, it needs no rules.
    let builder = Client::builder().trust_origin(server.url(""));
    assert!(builder.discover_guarded(&server.url("")).await.is_ok());
}

#[tokio::test]
async fn what_is_no_card_is_an_error_that_says_so() {
    let cases: [(Vec<u8>, &str); 6] = [
        (response(404, "text/html", "<h1>not found</h1>"), "nothing is at"),
        (response(200, "text/html", "<html>"), "is no agent card"),
        (response(200, "application/json", "{}"), "missing field `name`"),
        (response(200, "application/json", b"{\"name\":\"\xff\"}"), "is not UTF-8"),
        (
            b"HTTP/1.1 302 X\r\nlocation: http://evil.example/card.json\r\ncontent-length: 0\r\n\r\n".to_vec(),
            "redirects to \"http://evil.example/card.json\"",
        ),
        (
            b"HTTP/1.1 200 X\r\ncontent-encoding: gzip\r\ncontent-length: 0\r\n\r\n".to_vec(),
            "is packed (\"gzip\")",
        ),
    ];
    for (bytes, expected) in cases {
        let server = Server::start(move |_, _, _| Action::Send(bytes.clone())).await;
        let error = Client::discover(&server.url("")).await.unwrap_err();
        assert!(error.is_invalid_response(), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn nobody_there_is_a_connect_error() {
    // A port that was free a moment ago, and nobody else knows of.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = Client::discover(&url).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    assert!(error.to_string().contains("cannot connect to"), "{error}");
    assert!(error.to_string().contains("(3 attempts)"), "{error}");
    let builder = Client::builder().max_attempts(1);
    let error = builder
        .discover(&url.replace("http", "https"))
        .await
        .unwrap_err();
    assert!(error.is_connect(), "{error:?}");
}

#[tokio::test]
async fn tls_with_somebody_who_speaks_plain_http_is_a_connect_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let answering = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let bytes = response(400, "text/plain", "plain HTTP was expected");
        tokio::io::AsyncWriteExt::write_all(&mut stream, &bytes)
            .await
            .unwrap();
        stream
    });
    let builder = Client::builder().max_attempts(1);
    let error = builder.discover(&url).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    answering.await.unwrap();
}

#[tokio::test]
async fn wrong_settings_are_usage_errors() {
    use std::time::Duration;
    let wrong = [
        Client::builder().timeout(Duration::ZERO),
        Client::builder().idle_timeout(Duration::ZERO),
        Client::builder().connect_timeout(Duration::ZERO),
        Client::builder().max_attempts(0),
        Client::builder().trust_origin("localhost"),
        Client::builder().limits(llamon_core::Limits::default().with_max_json_depth(1_000)),
    ];
    for builder in wrong {
        // Nobody is there: the settings are looked at first.
        let error = builder.discover("http://127.0.0.1:1").await.unwrap_err();
        assert!(error.is_usage(), "{error:?}");
    }
    for url in [
        "127.0.0.1:8080",
        "ftp://127.0.0.1",
        "http://me:secret@127.0.0.1",
    ] {
        assert!(Client::discover(url).await.unwrap_err().is_usage(), "{url}");
    }
    let longest = Client::builder()
        .timeout(Duration::MAX)
        .idle_timeout(Duration::MAX)
        .connect_timeout(Duration::MAX);
    let server = serve(both).await;
    assert!(longest.discover(&server.url("")).await.is_ok());
}
