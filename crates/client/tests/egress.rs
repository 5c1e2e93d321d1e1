//! Requests through the egress: what goes out, what comes back, and how much of it.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use llamon_client::egress::{Egress, EgressBuilder, EgressError, Method};
use support::{Action, Names, Server, json, open_stream, response, stream};

#[expect(dead_code, reason = "each test file uses a part of the support")]
mod support;

const HELD: Duration = Duration::from_secs(20);

/// An egress for strangers' URLs that may lead to this machine, and where `hook.example.com` does.
fn to_this_machine() -> EgressBuilder {
    Egress::builder()
        .allow_plain_http()
        .allow_loopback()
        .resolver(Names::new(|_, _| Ok(vec![loopback()])))
}

fn loopback() -> IpAddr {
    Ipv4Addr::LOCALHOST.into()
}

fn hook(server: &Server) -> String {
    format!(
        "http://hook.example.com:{}/T0/secret?key=secret",
        server.address().port()
    )
}

async fn get(egress: &Egress, url: &str) -> Result<u16, EgressError> {
    let answer = egress.request(Method::Get, url, &[], "").await?;
    Ok(answer.status())
}

async fn answering(bytes: Vec<u8>) -> Server {
    Server::start(move |_, _, _| Action::Send(bytes.clone())).await
}

#[tokio::test]
async fn a_request_has_the_callers_headers_and_none_of_the_agents_protocol() {
    let server = Server::start(|_, _, _| {
        Action::Send(b"HTTP/1.1 202 X\r\ncontent-type: text/plain\r\netag: \"e\"\r\nset-cookie: a=b\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok".to_vec())
    })
    .await;
    let egress = to_this_machine().build().unwrap();
    let url = hook(&server);
    egress.check(&url).await.unwrap();
    let headers = [
        ("content-type", "application/json"),
        ("x-token", "t"),
        ("x-token", "u"),
    ];
    let answer = egress
        .request(Method::Post, &url, &headers, r#"{"a":1}"#)
        .await
        .unwrap();
    assert_eq!(answer.status(), 202);
    assert!(answer.is_success());
    assert_eq!(answer.header("content-type"), Some("text/plain"));
    assert_eq!(answer.header("etag"), Some("\"e\""));
    assert_eq!(answer.header("set-cookie"), None);
    assert_eq!(answer.body(), "ok");
    assert_eq!(
        format!("{answer:?}"),
        "BoundedResponse { status: 202, bytes: 2, .. }"
    );

    let request = server.requests().remove(0);
    assert_eq!(request.line, "POST /T0/secret?key=secret HTTP/1.1");
    let host = format!("hook.example.com:{}", server.address().port());
    assert_eq!(request.header("host"), Some(host.as_str()));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("x-token"), Some("t"));
    assert_eq!(request.header("accept-encoding"), Some("identity"));
    assert_eq!(request.header("a2a-version"), None);
    assert_eq!(request.body, r#"{"a":1}"#);
}

#[tokio::test]
async fn headers_that_break_or_steer_the_connection_are_usage_errors() {
    let server = Server::start(|_, _, _| json("{}")).await;
    let egress = to_this_machine().build().unwrap();
    let wrong = [
        ("x-token", "secret\r\nx-injected: 1"),
        ("x-token", "secret\nx"),
        ("x-token", "secret\0"),
        ("x token", "v"),
        ("x:token", "v"),
        ("", "v"),
        ("Host", "localhost"),
        ("content-length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("connection", "upgrade"),
        ("accept-encoding", "gzip"),
    ];
    for header in wrong {
        let sent = egress
            .request(Method::Post, &hook(&server), &[header], "x")
            .await;
        let error = sent.unwrap_err();
        assert!(error.is_usage(), "{header:?}: {error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn redirects_are_answers() {
    for status in [301, 302, 303, 307, 308] {
        let target = Server::start(|_, _, _| json("{}")).await;
        let to = target.url("/inside");
        let server = answering(
            format!("HTTP/1.1 {status} X\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .into_bytes(),
        )
        .await;
        let named = Egress::builder()
            .trust_origin(server.url(""))
            .trust_origin(target.url(""));
        for (egress, url) in [(to_this_machine(), hook(&server)), (named, server.url("/"))] {
            let egress = egress.build().unwrap();
            let answer = egress.request(Method::Post, &url, &[], "x").await.unwrap();
            assert_eq!(answer.status(), status);
            assert!(!answer.is_success());
            assert_eq!(answer.header("location"), Some(to.as_str()));
        }
        assert_eq!(server.connections(), 2);
        assert_eq!(target.connections(), 0);
    }
}

#[tokio::test]
async fn a_packed_answer_is_refused_before_it_is_read() {
    for encoding in [
        "gzip",
        "br",
        "zstd",
        "deflate",
        "identity, gzip",
        "GZIP",
        "x-unknown",
    ] {
        // The body never comes: it is not waited for.
        let bytes = format!(
            "HTTP/1.1 200 X\r\ncontent-encoding: {encoding}\r\ncontent-length: 1000\r\n\r\n"
        );
        let server = Server::start(move |_, _, _| Action::SendAndHold(bytes.clone().into())).await;
        let egress = to_this_machine().timeout(HELD).build().unwrap();
        let error = get(&egress, &hook(&server)).await.unwrap_err();
        assert!(error.is_encoded(), "{encoding}: {error:?}");
        assert!(!error.is_temporary());
    }
    let plain = b"HTTP/1.1 200 X\r\ncontent-encoding: Identity\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let server = answering(plain.to_vec()).await;
    let egress = to_this_machine().build().unwrap();
    assert_eq!(get(&egress, &hook(&server)).await.unwrap(), 200);
}

#[tokio::test]
async fn packed_bytes_under_another_name_stay_packed() {
    // What gzip makes of 1,000 zero bytes.
    let packed: &[u8] = &[
        0x1f, 0x8b, 0x8, 0x0, 0x0, 0x0, 0x0, 0x0, 0x2, 0x3, 0x63, 0x60, 0x18, 0x5, 0xa3, 0x60,
        0x14, 0xc, 0x77, 0x0, 0x0, 0x80, 0x17, 0xb, 0x6, 0xe8, 0x3, 0x0, 0x0,
    ];
    let server = answering(response(200, "application/json", packed)).await;
    let egress = to_this_machine().build().unwrap();
    let answer = egress
        .request(Method::Get, &hook(&server), &[], "")
        .await
        .unwrap();
    assert_eq!(answer.into_body(), packed);
}

#[tokio::test]
async fn an_answer_has_its_largest_size_and_not_a_byte_more() {
    let chunked = |bytes: usize| stream(&[&vec![b'x'; bytes - 1], b"x"]);
    let claimed = |bytes: usize| response(200, "text/plain", vec![b'x'; bytes]);
    let egress = to_this_machine().max_response_bytes(1_000).build().unwrap();
    for (bytes, fits) in [
        (claimed(1_000), true),
        (claimed(1_001), false),
        (chunked(1_000), true),
        (chunked(1_001), false),
    ] {
        let server = answering(bytes).await;
        let answer = egress.request(Method::Get, &hook(&server), &[], "").await;
        match answer {
            Ok(answer) => assert!(fits && answer.body().len() == 1_000),
            Err(error) => {
                assert!(!fits && error.is_too_large(), "{error:?}");
                assert!(error.to_string().contains("1000 bytes"), "{error}");
            }
        }
    }
    // What is claimed is not waited for.
    let claim = b"HTTP/1.1 200 X\r\ncontent-length: 99999999999\r\n\r\n".to_vec();
    let server = Server::start(move |_, _, _| Action::SendAndHold(claim.clone())).await;
    assert!(
        get(&egress, &hook(&server))
            .await
            .unwrap_err()
            .is_too_large()
    );
    // What never ends is left at the limit.
    let endless = open_stream(&[&[b'x'; 2_000]]);
    let server = Server::start(move |_, _, _| Action::SendAndHold(endless.clone())).await;
    assert!(
        get(&egress, &hook(&server))
            .await
            .unwrap_err()
            .is_too_large()
    );
}

#[tokio::test]
async fn silence_anywhere_ends_with_the_whole_time() {
    let held: [&[u8]; 4] = [
        b"",
        b"HTTP/1.1 200 X\r\n",
        b"HTTP/1.1 200 X\r\ncontent-length: 10\r\n\r\n",
        b"HTTP/1.1 200 X\r\ncontent-length: 10\r\n\r\n12345",
    ];
    for bytes in held {
        let server = Server::start(move |_, _, _| Action::SendAndHold(bytes.to_vec())).await;
        let egress = to_this_machine()
            .timeout(Duration::from_millis(100))
            .build()
            .unwrap();
        let error = get(&egress, &hook(&server)).await.unwrap_err();
        assert!(error.is_timeout() && error.is_temporary(), "{error:?}");
        assert!(error.to_string().contains("100ms"), "{error}");
    }
}

#[tokio::test]
async fn what_breaks_is_told_apart() {
    let egress = to_this_machine().build().unwrap();
    let server = Server::start(|_, _, _| Action::Reset).await;
    let error = get(&egress, &hook(&server)).await.unwrap_err();
    assert!(error.is_disconnected() && error.is_temporary(), "{error:?}");
    let cut = b"HTTP/1.1 200 X\r\ncontent-length: 10\r\nconnection: close\r\n\r\n123".to_vec();
    let server = answering(cut).await;
    let error = get(&egress, &hook(&server)).await.unwrap_err();
    assert!(error.is_disconnected(), "{error:?}");

    let url = hook(&server);
    drop(server);
    // Its listener closes with its task, a moment later.
    let error = tokio::time::timeout(HELD, async {
        loop {
            match get(&egress, &url).await {
                Err(error) if error.is_connect() => break error,
                _ => tokio::task::yield_now().await,
            }
        }
    })
    .await
    .unwrap();
    assert!(error.is_temporary(), "{error:?}");
    // With what the system says.
    assert!(error.to_string().contains("os error"), "{error}");

    for names in [
        Names::new(|_, _| Err(io::Error::other("no such name"))),
        Names::new(|_, _| Ok(Vec::new())),
    ] {
        let egress = Egress::builder().resolver(names).build().unwrap();
        let url = "https://hook.example.com/";
        for error in [
            egress.check(url).await.unwrap_err(),
            get(&egress, url).await.unwrap_err(),
        ] {
            assert!(error.is_unresolved() && error.is_temporary(), "{error:?}");
            // Not to be told from a name that leads inside.
            let inside = to_this_machine().build().unwrap();
            let inside = inside.check("http://10.0.0.1/").await.unwrap_err();
            assert_eq!(error.public(), inside.public());
        }
    }
}

#[tokio::test]
async fn a_name_server_that_says_nothing_is_waited_for_as_long_as_for_a_connection() {
    struct Silent;
    impl llamon_client::egress::Resolve for Silent {
        fn resolve<'a>(&'a self, _host: &'a str) -> llamon_client::egress::Resolving<'a> {
            Box::pin(std::future::pending())
        }
    }
    let egress = Egress::builder()
        .resolver(Silent)
        .connect_timeout(Duration::from_millis(50))
        .timeout(HELD)
        .build()
        .unwrap();
    let url = "https://hook.example.com/";
    assert!(egress.check(url).await.unwrap_err().is_unresolved());
    assert!(get(&egress, url).await.unwrap_err().is_connect());
}

#[tokio::test]
async fn errors_have_no_secrets() {
    let egress = to_this_machine()
        .timeout(Duration::from_millis(50))
        .build()
        .unwrap();
    let reset = Server::start(|_, _, _| Action::Reset).await;
    let silent = Server::start(|_, _, _| Action::SendAndHold(Vec::new())).await;
    let packed = answering(b"HTTP/1.1 200 X\r\ncontent-encoding: gzip\r\n\r\n".to_vec()).await;
    let urls = [
        hook(&reset),
        hook(&silent),
        hook(&packed),
        "https://user:secret@hook.example.com/secret?secret#secret".to_owned(),
        "https://10.0.0.1/secret?secret".to_owned(),
        "https://hook.example.com:22/secret?secret#secret".to_owned(),
        "https://hook.example.com/secret\u{0}?secret".to_owned(),
        "https://hook.example.com:secret/".to_owned(),
        "ftp://secret/".to_owned(),
        format!("https://hook.example.com/{}", "secret".repeat(2_000)),
    ];
    for url in urls {
        let headers = [("authorization", "Bearer secret")];
        let error = egress
            .request(Method::Post, &url, &headers, "secret")
            .await
            .unwrap_err();
        for text in [
            error.to_string(),
            format!("{error:?}"),
            error.public().to_owned(),
        ] {
            assert!(!text.contains("secret"), "{text}");
        }
    }
}

/// Every kind of failure: its error is of that kind and no other, and says whom it is about.
#[tokio::test]
async fn an_error_is_of_one_kind_and_names_the_origin() {
    const HOST: &str = "hook.example.com";
    let kinds = |error: &EgressError| {
        let all = [
            ("usage", error.is_usage()),
            ("refused", error.is_refused()),
            ("unresolved", error.is_unresolved()),
            ("connect", error.is_connect()),
            ("timeout", error.is_timeout()),
            ("disconnected", error.is_disconnected()),
            ("too large", error.is_too_large()),
            ("encoded", error.is_encoded()),
        ];
        let held = all.into_iter().filter(|(_, holds)| *holds);
        held.map(|(name, _)| name).collect::<Vec<_>>()
    };
    let egress = to_this_machine().max_response_bytes(8).build().unwrap();
    let hasty = to_this_machine().timeout(Duration::from_millis(50));
    let hasty = hasty.build().unwrap();
    let nowhere = Names::new(|_, _| Ok(Vec::new()));
    let nowhere = Egress::builder().resolver(nowhere).build().unwrap();
    let reset = Server::start(|_, _, _| Action::Reset).await;
    let silent = Server::start(|_, _, _| Action::SendAndHold(Vec::new())).await;
    let large = answering(b"HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\n123456789".to_vec()).await;
    let packed = answering(b"HTTP/1.1 200 X\r\ncontent-encoding: gzip\r\n\r\n".to_vec()).await;
    // TLS to somebody who does not speak it is no connection.
    let plain = answering(b"HTTP/1.1 200 X\r\n\r\n".to_vec()).await;
    let tls = hook(&plain).replace("http:", "https:");
    let cases = [
        (&egress, hook(&reset), "disconnected", true),
        (&hasty, hook(&silent), "timeout", true),
        (&egress, hook(&large), "too large", false),
        (&egress, hook(&packed), "encoded", false),
        (&egress, tls, "connect", true),
        (&egress, format!("https://{HOST}:22/"), "refused", false),
        (&nowhere, format!("https://{HOST}/"), "unresolved", true),
    ];
    for (egress, url, kind, is_temporary) in cases {
        let error = get(egress, &url).await.unwrap_err();
        assert_eq!(kinds(&error), [kind], "{error:?}");
        let public = match kind {
            "refused" => "the URL's port is not allowed",
            "unresolved" => "the URL's host is not one that this server calls",
            "too large" | "encoded" => "the answer of the URL's host cannot be used",
            _ => "the URL's host gave no answer",
        };
        assert_eq!(error.public(), public, "{error:?}");
        assert_eq!(error.is_temporary(), is_temporary, "{error:?}");
        assert!(error.to_string().contains(HOST), "{error}");
        assert!(format!("{error:?}").contains(HOST), "{error:?}");
    }
    let header = [("host", "x")];
    let url = hook(&reset);
    let sent = egress.request(Method::Get, &url, &header, "").await;
    assert_eq!(kinds(&sent.unwrap_err()), ["usage"]);

    // Of a named origin the operator sees the path as well, but no query.
    let named = Egress::builder()
        .trust_origin(reset.url(""))
        .build()
        .unwrap();
    let error = get(&named, &reset.url("/path?secret")).await.unwrap_err();
    let shown = reset.url("/path");
    assert!(error.to_string().contains(&shown), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

/// What can be allowed is named, and for what cannot be allowed nothing is.
#[test]
fn a_refusal_says_what_would_allow_it() {
    let egress = Egress::builder().build().unwrap();
    for (url, option) in [
        ("https://10.0.0.1/", Some("allow_private_networks()")),
        ("https://db.internal/", Some("allow_private_networks()")),
        ("https://127.0.0.1/", Some("allow_loopback()")),
        ("https://localhost/", Some("allow_loopback()")),
        ("https://169.254.169.254/", None),
        ("https://metadata.google.internal/", None),
    ] {
        let text = egress.check_url(url).unwrap_err().to_string();
        match option {
            Some(option) => assert!(text.contains(option), "{text}"),
            None => assert!(
                text.contains("service; if") || text.contains("address; if"),
                "{text}"
            ),
        }
        assert!(text.contains("trust_origin"), "{text}");
    }
}

#[test]
fn debug_shows_the_rules() {
    let builder = to_this_machine()
        .timeout(Duration::from_millis(1_234))
        .max_response_bytes(56_789);
    let egress = builder.clone().build().unwrap();
    for text in [format!("{builder:?}"), format!("{egress:?}")] {
        for shown in [
            "plain_http: true",
            "private_networks: false",
            "1.234s",
            "56789",
        ] {
            assert!(text.contains(shown), "{text}");
        }
    }
}

#[tokio::test]
async fn requests_to_one_host_wait_for_each_other() {
    let server = Server::start(|number, _, _| match number {
        0 | 1 => Action::SendAndHold(Vec::new()),
        _ => json("{}"),
    })
    .await;
    let egress = to_this_machine()
        .max_requests_per_host(2)
        .timeout(HELD)
        .build()
        .unwrap();
    let spawn = |url: String| {
        let egress = egress.clone();
        tokio::spawn(async move { get(&egress, &url).await })
    };
    let held = [spawn(hook(&server)), spawn(hook(&server))];
    let both_came = async {
        while server.requests().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(HELD, both_came).await.unwrap();
    let waiting = spawn(hook(&server));
    // Another host is not kept waiting, and by the time that it has its answer the third request
    // would have come as well.
    let other = hook(&server).replace("hook.", "other.");
    assert_eq!(get(&egress, &other).await.unwrap(), 200);
    assert_eq!(server.requests().len(), 3);
    assert!(!waiting.is_finished());
    held[0].abort();
    assert_eq!(waiting.await.unwrap().unwrap(), 200);
    held[1].abort();
}

#[tokio::test]
async fn a_named_origin_needs_nothing_else() {
    let server = Server::start(|_, _, _| json("{}")).await;
    let egress = Egress::builder()
        .trust_origin(server.url("/any"))
        .build()
        .unwrap();
    assert_eq!(get(&egress, &server.url("/path")).await.unwrap(), 200);
    let other = format!("http://localhost:{}/", server.address().port());
    assert!(get(&egress, &other).await.unwrap_err().is_refused());
    assert_eq!(server.connections(), 1);

    // A connection of a named origin does not carry a request for its neighbour of the same name.
    let names = Names::new(|_, _| Ok(vec![loopback()]));
    let [named, neighbour] = [&server, &Server::start(|_, _, _| json("{}")).await].map(hook);
    let egress = Egress::builder()
        .allow_plain_http()
        .resolver(names)
        .trust_origin(&named)
        .build()
        .unwrap();
    assert_eq!(get(&egress, &named).await.unwrap(), 200);
    assert!(get(&egress, &neighbour).await.unwrap_err().is_refused());
}

#[tokio::test]
async fn a_url_has_its_largest_size_and_not_a_byte_more() {
    let names = Names::new(|_, _| Ok(vec!["8.8.8.8".parse().unwrap()]));
    let egress = Egress::builder().resolver(names).build().unwrap();
    let of_size = |bytes: usize| {
        let origin = "https://hook.example.com/";
        format!("{origin}{}", "x".repeat(bytes - origin.len()))
    };
    egress.check(&of_size(8_191)).await.unwrap();
    egress.check(&of_size(8_192)).await.unwrap();
    let error = egress.check(&of_size(8_193)).await.unwrap_err();
    assert!(error.is_refused(), "{error:?}");
    assert!(
        error.to_string().contains("8193 bytes; it may have 8192"),
        "{error}"
    );
}

#[test]
fn wrong_settings_are_usage_errors() {
    let wrong = [
        Egress::builder().timeout(Duration::ZERO),
        Egress::builder().connect_timeout(Duration::ZERO),
        Egress::builder().max_requests_per_host(0),
        Egress::builder().trust_origin("localhost:8080"),
        Egress::builder().trust_origin("ftp://localhost"),
        Egress::builder().trust_origin("http://me:secret@localhost"),
    ];
    for builder in wrong {
        let error = builder.build().unwrap_err();
        assert!(error.is_usage(), "{error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    let largest = Egress::builder()
        .timeout(Duration::MAX)
        .connect_timeout(Duration::MAX)
        .max_requests_per_host(usize::MAX)
        .max_response_bytes(usize::MAX);
    assert!(largest.build().is_ok());
}
