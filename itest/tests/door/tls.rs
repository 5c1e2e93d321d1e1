//! TLS of a server, and a certificate that changes while it serves.

use std::path::Path;
use std::time::Duration;

use llamon_agent::server::tls::{Tls, TlsFiles};
use llamon_agent::server::{ConnectionLimits, GrpcAt};
use llamon_itest::agents::until;
use llamon_itest::certificates::Authority;
use llamon_itest::http;
use llamon_itest::tls::{Caller, shown};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{CARD, Secure, done, status};

fn files(authority: &Authority, folder: &Path) -> TlsFiles {
    let (certificate, key) = authority.server().write(folder);
    TlsFiles::new(certificate, key)
}

fn loaded(authority: &Authority, folder: &Path) -> Tls {
    files(authority, folder).load().expect("files")
}

const GO: &str = r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"go"}]}}"#;

#[tokio::test]
async fn requests_are_answered_and_the_card_says_https() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let server = Secure::start(done().tls(loaded(&authority, folder.path()))).await;
    let caller = Caller::of(&authority);
    let card = caller.ask(&server.url, "GET", CARD, "").await.unwrap();
    assert_eq!(status(&card), 200, "{card}");
    assert!(
        card.contains(&format!("\"url\":\"{}\"", server.url)),
        "{card}"
    );
    let sent = caller.ask(&server.url, "POST", "/message:send", GO).await;
    let sent = sent.unwrap();
    assert!(status(&sent) == 200 && sent.contains("done"), "{sent}");
    // In the clear there is nothing.
    let plain = server.url.replace("https", "http");
    let answer =
        crate::support::exchange(&plain, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(!answer.contains("HTTP/1.1 2"), "{answer}");
}

#[tokio::test]
async fn grpc_is_spoken_where_the_client_chooses_http_2() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let tls = loaded(&authority, folder.path());
    for (grpc, expected) in [(true, Some(&b"h2"[..])), (false, Some(&b"http/1.1"[..]))] {
        let builder = done().tls(tls.clone());
        let server = match grpc {
            true => Secure::start(builder.grpc(GrpcAt::SamePort)).await,
            false => Secure::start(builder).await,
        };
        let caller = Caller::of(&authority).speaking(&[b"h2", b"http/1.1"]);
        let stream = caller.connect(&server.url).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), expected);
        if grpc {
            let (sender, connection) = h2::client::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            let mut sender = sender.ready().await.unwrap();
            let uri = format!("{}/lf.a2a.v1.A2AService/GetTask", server.url);
            let request = axum::http::Request::post(uri)
                .header("content-type", "application/grpc")
                .header("a2a-version", "1.0")
                .body(())
                .unwrap();
            let (answer, mut body) = sender.send_request(request, false).unwrap();
            body.send_data(bytes::Bytes::from_static(b"\0\0\0\0\x03\x12\x01t"), true)
                .unwrap();
            let answer = answer.await.unwrap();
            assert_eq!(answer.headers()["grpc-status"], "5", "{answer:?}");
        }
        // Who chooses nothing speaks HTTP/1.1.
        let caller = Caller::of(&authority);
        let card = caller.ask(&server.url, "GET", CARD, "").await.unwrap();
        assert_eq!(status(&card), 200, "{card}");
    }
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_ended() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let limits = ConnectionLimits::default().with_head_timeout(Duration::from_millis(100));
    let builder = done().connection_limits(limits);
    let server = Secure::start(builder.tls(loaded(&authority, folder.path()))).await;
    // Nothing, and the beginning of a record.
    for beginning in [&b""[..], &[22, 3, 1, 2, 0, 1]] {
        let address = server.url.strip_prefix("https://").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(beginning).await.unwrap();
        let mut rest = Vec::new();
        let end = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut rest));
        let _ = end.await.expect("an end of the connection");
        assert!(rest.is_empty(), "{rest:?}");
    }
    // And a handshake after which nothing comes.
    let mut stream = Caller::of(&authority).connect(&server.url).await.unwrap();
    let mut rest = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut rest));
    let _ = end.await.expect("an end of the connection");
}

#[tokio::test]
async fn a_new_certificate_is_used_for_new_connections_and_old_ones_go_on() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let old = authority.server();
    let (certificate, key) = old.write(folder.path());
    let tls = TlsFiles::new(certificate, key).load().unwrap();
    let server = Secure::start(done().tls(tls.clone())).await;
    let caller = Caller::of(&authority);
    let mut kept = caller.connect(&server.url).await.unwrap();
    assert_eq!(shown(&kept), Some(old.der()));
    assert!(!tls.reload().unwrap(), "nothing has changed");

    // One of the two files alone does not fit, and nothing changes.
    let new = authority.server();
    let key = std::fs::read(folder.path().join("server.key")).unwrap();
    new.write(folder.path());
    std::fs::write(folder.path().join("server.key"), key).unwrap();
    let error = tls.reload().unwrap_err().to_string();
    assert!(error.contains("server.pem"), "{error}");
    assert_eq!(
        shown(&caller.connect(&server.url).await.unwrap()),
        Some(old.der())
    );

    new.write(folder.path());
    assert!(tls.reload().unwrap(), "it has changed");
    assert_eq!(
        shown(&caller.connect(&server.url).await.unwrap()),
        Some(new.der())
    );
    let request = format!("GET {CARD} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    kept.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    kept.read_to_string(&mut answer).await.unwrap();
    assert_eq!(status(&answer), 200, "{answer}");
}

#[tokio::test]
async fn a_server_sees_by_itself_that_its_certificate_has_changed() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let files = files(&authority, folder.path()).look_again(Duration::from_millis(100));
    let server = Secure::start(done().tls(files.load().unwrap())).await;
    let caller = Caller::of(&authority);
    std::fs::write(folder.path().join("server.pem"), "half of a certifi").unwrap();
    let card = caller.ask(&server.url, "GET", CARD, "").await.unwrap();
    assert_eq!(status(&card), 200, "{card}");
    let new = authority.server();
    new.write(folder.path());
    until(async || {
        let stream = caller.connect(&server.url).await.unwrap();
        (shown(&stream) == Some(new.der())).then_some(())
    })
    .await;
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named_and_keys_are_not_told() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let (certificate, key) = authority.server().write(folder.path());
    let other = tempfile::tempdir().unwrap();
    let (_, other_key) = authority.server().write(other.path());
    let missing = folder.path().join("missing.pem");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "no PEM").unwrap();
    for (certificate, key, named) in [
        (&missing, &key, "missing.pem"),
        (&certificate, &missing, "missing.pem"),
        (&empty, &key, "empty.pem"),
        (&certificate, &empty, "empty.pem"),
        (&key, &key, "server.key"),
        (&certificate, &other_key, "server.pem"),
    ] {
        let error = TlsFiles::new(certificate, key).load().unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }
    let secret = std::fs::read_to_string(&key).unwrap();
    let secret = secret.lines().nth(1).unwrap();
    let tls = TlsFiles::new(&certificate, &key).load().unwrap();
    let error = TlsFiles::new(&key, &certificate).load().unwrap_err();
    assert!(!format!("{tls:?} {error:?}").contains(secret));
}

#[tokio::test]
async fn a_server_with_tls_has_no_plain_clients() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let server = Secure::start(done().tls(loaded(&authority, folder.path()))).await;
    let plain = server.url.replace("https", "http");
    let sent = tokio::spawn(async move {
        http::send(&plain, &http::Request::get(CARD)).await;
    });
    assert!(sent.await.is_err(), "an answer in the clear");
}
