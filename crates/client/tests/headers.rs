//! What a call carries beside its parameters: credentials, extensions and the tenant.

use std::sync::atomic::{AtomicUsize, Ordering};

use llamon_client::credentials::{Credentials, Headers};
use llamon_client::{Binding, Client, Outgoing};
use support::{Action, Server, both, card, events, json, response, result, task, task_event};

#[expect(dead_code, reason = "each test file uses a part of the support")]
mod support;

const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

fn value(binding: Binding, value: &str) -> String {
    match binding {
        Binding::JsonRpc => result(value),
        _ => value.to_owned(),
    }
}

/// A server that answers everything but its card, which has both bindings, with `value`.
async fn answering(binding: Binding, answer: &str) -> Server {
    let body = value(binding, answer);
    Server::start(move |_, request, address| {
        if request.line.contains("agent-card.json") {
            json(both(address))
        } else {
            json(&body)
        }
    })
    .await
}

#[tokio::test]
async fn credentials_go_to_the_agent_with_every_call() {
    for binding in BINDINGS {
        let server = answering(binding, "7").await;
        let client = Client::builder()
            .binding(binding)
            .bearer("s3cret")
            .api_key("X-Key", "k3y")
            .discover(&server.url(""))
            .await
            .unwrap();
        assert!(client.send("hi").await.is_err());
        assert!(client.stream("hi").await.is_err());
        assert!(client.get("t1").await.is_err());
        assert!(client.push_configs("t1").await.is_err());
        assert!(client.extended_card().await.is_err());
        let requests = server.requests();
        assert_eq!(requests.len(), 6, "the card is the first");
        for request in requests {
            assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
            assert_eq!(request.header("x-key"), Some("k3y"));
        }
    }
}

#[tokio::test]
async fn credentials_go_to_no_origin_that_was_not_named_for_them() {
    let agent = answering(Binding::JsonRpc, "7").await;
    let elsewhere = agent.url("/rpc");
    let text = card(&[("JSONRPC", "1.0", &elsewhere)]);
    let cards = Server::start(move |_, _, _| json(&text)).await;
    // The origin is trusted, which says that it may be called and not that it may know the token.
    let builder = || {
        Client::builder()
            .bearer("s3cret")
            .trust_origin(agent.url(""))
    };
    let error = builder().discover(&cards.url("")).await.unwrap_err();
    assert!(error.is_usage(), "{error:?}");
    let advice = format!("credentials_origin({:?})", agent.url(""));
    assert!(error.to_string().contains(&advice), "{error}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
    assert_eq!(agent.connections(), 0);

    let client = builder()
        .credentials_origin(agent.url("/anything"))
        .discover(&cards.url(""))
        .await
        .unwrap();
    assert!(client.get("t1").await.is_err());
    let sent = agent.requests().remove(0);
    assert_eq!(sent.header("authorization"), Some("Bearer s3cret"));
}

#[tokio::test]
async fn a_card_from_outside_gets_no_credentials() {
    let server = answering(Binding::JsonRpc, "7").await;
    let builder = || {
        Client::builder()
            .bearer("s3cret")
            .trust_origin(server.url(""))
    };
    let error = builder().discover_guarded(&server.url("")).await;
    assert!(error.unwrap_err().is_usage());
    let card = server.requests().remove(0);
    assert_eq!(card.header("authorization"), None);
    let named = builder().credentials_origin(server.url(""));
    assert!(named.discover_guarded(&server.url("")).await.is_ok());
    let card = server.requests().remove(1);
    assert_eq!(card.header("authorization"), Some("Bearer s3cret"));
}

/// A token that is another one each time.
struct Counting(AtomicUsize);

impl Credentials for Counting {
    fn headers(&self) -> Headers<'_> {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if number == 2 {
                return Err("the token cannot be renewed".into());
            }
            Ok(vec![("authorization".into(), format!("Bearer {number}"))])
        })
    }
}

#[tokio::test]
async fn a_provider_is_asked_for_each_call_and_may_have_none() {
    let server = answering(Binding::Rest, &task("WORKING", "")).await;
    let client = Client::builder()
        .binding(Binding::Rest)
        .credentials(Counting(AtomicUsize::new(0)))
        .with_card(&both(server.address()), &server.url(""))
        .unwrap();
    for number in 0..2 {
        client.get("t1").await.unwrap();
        let sent = server.requests().remove(number);
        assert_eq!(
            sent.header("authorization"),
            Some(&*format!("Bearer {number}"))
        );
    }
    let error = client.get("t1").await.unwrap_err();
    assert!(error.is_usage(), "{error:?}");
    assert!(error.to_string().contains("cannot be renewed"), "{error}");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn credentials_that_cannot_be_sent_are_not_sent_and_nothing_shows_them() {
    let server = answering(Binding::Rest, "7").await;
    let wrong = [
        Client::builder().bearer("s3cret\r\nx: y"),
        Client::builder().api_key("no name", "s3cret"),
        Client::builder().api_key("host", "s3cret"),
        Client::builder().api_key("A2A-Version", "s3cret"),
        Client::builder().api_key("content-type", "s3cret"),
    ];
    for builder in wrong {
        assert!(!format!("{builder:?}").contains("s3cret"));
        let client = server.client(builder);
        assert!(!format!("{client:?}").contains("s3cret"));
        let error = client.get("t1").await.unwrap_err();
        assert!(error.is_usage(), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
    }
    assert_eq!(server.connections(), 0);
    let error = Client::builder()
        .credentials_origin("nowhere")
        .with_card(&both(server.address()), &server.url(""));
    assert!(error.unwrap_err().is_usage());
}

// === extensions ===

/// A card at `address` that requires `urn:r` and has `urn:o`.
fn requiring(address: std::net::SocketAddr) -> String {
    let extensions =
        r#""capabilities":{"extensions":[{"uri":"urn:o"},{"uri":"urn:r","required":true}],"#;
    both(address).replace(r#""capabilities":{"#, extensions)
}

#[tokio::test]
async fn a_required_extension_that_is_not_supported_fails_before_anything_is_sent() {
    let server = answering(Binding::Rest, &task("WORKING", "")).await;
    let client = |builder: llamon_client::ClientBuilder| {
        builder
            .binding(Binding::Rest)
            .with_card(&requiring(server.address()), &server.url(""))
            .unwrap()
    };
    let without = client(Client::builder().extension("urn:o"));
    for error in [
        without.send("hi").await.unwrap_err(),
        without.stream("hi").await.unwrap_err(),
        without.get("t1").await.unwrap_err(),
        without.subscribe("t1").await.unwrap_err(),
    ] {
        assert!(error.is_usage(), "{error:?}");
        assert!(
            error.to_string().contains(r#"extension("urn:r")"#),
            "{error}"
        );
    }
    assert_eq!(server.connections(), 0);

    let with = client(Client::builder().extension("urn:r"));
    with.get("t1").await.unwrap();
    let sent = server.requests().remove(0);
    assert_eq!(sent.header("a2a-extensions"), Some("urn:r"));
    // Or for one message only.
    let message = Outgoing::text("hi").extension("urn:r");
    assert!(
        without
            .send(message)
            .await
            .unwrap_err()
            .http_status()
            .is_some()
    );
    let sent = server.requests().remove(1);
    assert_eq!(sent.header("a2a-extensions"), Some("urn:o,urn:r"));
}

#[tokio::test]
async fn a_reply_says_which_extensions_were_active() {
    for binding in BINDINGS {
        let answer = value(binding, &format!(r#"{{"task":{}}}"#, task("COMPLETED", "")));
        let event = value(binding, &task_event("COMPLETED"));
        let server = Server::start(move |number, _, _| {
            let Action::Send(bytes) = (match number {
                0 => json(&answer),
                _ => events(std::slice::from_ref(&event)),
            }) else {
                unreachable!("both send");
            };
            let text = String::from_utf8(bytes).unwrap();
            let head = "A2A-Extensions: urn:a, urn:b\r\na2a-extensions: urn:c\r\nconnection";
            Action::Send(text.replacen("connection", head, 1).into())
        })
        .await;
        let client = server.client(Client::builder().binding(binding).extension("urn:a"));
        let reply = client.send("hi").await.unwrap();
        assert_eq!(reply.extensions(), ["urn:a", "urn:b", "urn:c"]);
        let events = client.stream("hi").await.unwrap();
        assert_eq!(events.extensions(), ["urn:a", "urn:b", "urn:c"]);
        let reply = events.finish().await.unwrap();
        assert_eq!(reply.extensions(), ["urn:a", "urn:b", "urn:c"]);
    }
}

// === tenant, extended card ===

#[tokio::test]
async fn the_interfaces_tenant_is_in_every_call() {
    let server = answering(Binding::Rest, "7").await;
    let with_tenant = both(server.address()).replace(
        r#""protocolVersion""#,
        r#""tenant":"acme","protocolVersion""#,
    );
    for binding in BINDINGS {
        let before = server.requests().len();
        let client = Client::builder()
            .binding(binding)
            .with_card(&with_tenant, &server.url(""))
            .unwrap();
        assert!(client.send("hi").await.is_err());
        assert!(client.stream("hi").await.is_err());
        assert!(client.get("t1").await.is_err());
        assert!(client.list(Default::default()).await.is_err());
        assert!(client.cancel("t1").await.is_err());
        assert!(client.subscribe("t1").await.is_err());
        assert!(client.push_configs("t1").await.is_err());
        assert!(client.extended_card().await.is_err());
        let requests = server.requests().split_off(before);
        assert_eq!(requests.len(), 8);
        for request in requests {
            match binding {
                Binding::JsonRpc => {
                    let tenant = r#""params":{"tenant":"acme""#;
                    assert!(request.body.contains(tenant), "{}", request.body);
                }
                _ => assert!(request.line.contains(" /rest/acme/"), "{}", request.line),
            }
        }
    }
}

#[tokio::test]
async fn the_extended_card_is_fetched_and_kept_as_it_was_served() {
    for binding in BINDINGS {
        let address = ([127, 0, 0, 1], 1).into();
        let server = answering(binding, &both(address)).await;
        let client = server.client(Client::builder().binding(binding));
        assert_eq!(client.extended_card().await.unwrap().name, "test");
        let text = client.extended_card_json().await.unwrap();
        assert_eq!(text, both(address));
        let request = server.requests().remove(0);
        match binding {
            Binding::JsonRpc => assert!(
                request
                    .body
                    .contains(r#""method":"GetExtendedAgentCard","params":{}"#),
                "{}",
                request.body
            ),
            _ => assert_eq!(request.line, "GET /rest/extendedAgentCard HTTP/1.1"),
        }
        for wrong in ["[]", "{}", r#""card""#] {
            let server = answering(binding, wrong).await;
            let client = server.client(Client::builder().binding(binding));
            let error = client.extended_card().await.unwrap_err();
            assert!(error.is_invalid_response(), "{error:?}");
        }
    }
    let body = r#"{"error":{"code":-32007,"message":"none"}}"#;
    let server = Server::start(move |_, _, _| json(body)).await;
    let error = server.client(Client::builder()).extended_card().await;
    assert!(error.unwrap_err().protocol().is_some());
    let server =
        Server::start(|_, _, _| Action::Send(response(401, "text/plain", "who are you?"))).await;
    let error = server.client(Client::builder()).extended_card().await;
    assert_eq!(error.unwrap_err().http_status(), Some(401));
}
