//! The extended card, and what the cards say of authentication.

use futures_util::future::BoxFuture;
use llamon_agent::a2a::{AgentCard, AgentExtension, SecurityRequirement, SecurityScheme, Skill};
use llamon_agent::server::auth::{Authenticate, Identity, Refusal, RequestHead, Security};
use llamon_agent::server::{AgentError, ExtendedCardReaders, ServerBuilder, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::http::{Request, Response, send};
use llamon_itest::raw::Raw;
use llamon_itest::refused::code;
use llamon_itest::wire::{Peer, WIRES, Wire};

use crate::support::{Names, by, operations};

async fn done(_: Turn) -> Result<String, AgentError> {
    Ok("done".to_owned())
}

fn with_more() -> AgentCard {
    card("agent").skill(Skill::new(
        "secret",
        "Secret",
        "What only known callers can ask for",
    ))
}

fn asking(wire: Wire) -> Request {
    let operations = operations(wire, "t", None);
    let found = operations
        .into_iter()
        .find(|(name, _)| *name == "GetExtendedAgentCard");
    found.expect("the operation").1
}

async fn ask(server: &TestServer, wire: Wire, name: Option<&str>) -> Response {
    let request = asking(wire);
    let request = match name {
        Some(name) => by(name, request),
        None => request,
    };
    send(server.url(), &request).await
}

async fn public_card(server: &TestServer) -> Raw {
    let path = "/.well-known/agent-card.json";
    Raw::parse(&send(server.url(), &Request::get(path)).await.body)
}

#[tokio::test]
async fn the_extended_card_is_for_callers_that_are_known() {
    let builder = create_server(card("agent"), done)
        .extension(AgentExtension::new("urn:example:x", "For tests."))
        .extended_card(with_more())
        .authenticate(Names);
    let server = start(builder).await;
    let public = public_card(&server).await;
    assert_eq!(public.at("capabilities.extendedAgentCard").text(), "true");
    assert_eq!(public.list("skills").len(), 1);
    for wire in WIRES {
        let peer = Peer::new(server.url(), wire);
        let refused = peer.read(ask(&server, wire, None).await);
        assert_eq!(
            refused.expect_err("nobody").reason,
            "UNAUTHENTICATED",
            "{wire:?}"
        );
        let response = ask(&server, wire, Some("alice")).await;
        if wire == Wire::Rest {
            let cache = response.header("cache-control");
            assert_eq!(cache, Some("private, max-age=300"));
        }
        let extended = peer.read(response).expect("the card");
        assert_eq!(extended.list("skills").len(), 2, "{wire:?}");
        // What the server knows better is on both cards.
        for path in ["supportedInterfaces", "capabilities", "securitySchemes"] {
            assert_eq!(extended.at(path), public.at(path), "{wire:?} {path}");
        }
    }
}

#[tokio::test]
async fn an_extended_card_that_is_not_there_is_not_supported_or_not_configured() {
    for (builder, declared, reason) in [
        (
            create_server(card("agent"), done),
            "false",
            "UNSUPPORTED_OPERATION",
        ),
        (
            create_server(card("agent"), done).declare_extended_card(),
            "true",
            "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        ),
    ] {
        let server = start(builder.authenticate(Names)).await;
        let public = public_card(&server).await;
        assert_eq!(public.at("capabilities.extendedAgentCard").text(), declared);
        for wire in WIRES {
            let response = ask(&server, wire, Some("alice")).await;
            let refusal = Peer::new(server.url(), wire)
                .read(response)
                .expect_err(reason);
            assert_eq!(
                (&*refusal.reason, refusal.code),
                (reason, code(wire, reason))
            );
        }
    }
}

#[tokio::test]
async fn everybody_reads_the_extended_card_only_where_that_is_said() {
    let builder = || create_server(card("agent"), done).extended_card(with_more());
    let error = builder().await.expect_err("nobody is known");
    assert!(error.is_authentication(), "{error}");
    assert!(
        error.to_string().contains("ExtendedCardReaders::Anybody"),
        "{error}"
    );
    let server = start(builder().extended_card_readers(ExtendedCardReaders::Anybody)).await;
    for wire in WIRES {
        let response = ask(&server, wire, None).await;
        let extended = Peer::new(server.url(), wire)
            .read(response)
            .expect("the card");
        assert_eq!(extended.list("skills").len(), 2, "{wire:?}");
    }
}

#[tokio::test]
async fn the_card_says_of_authentication_what_the_authenticator_does() {
    let server = start(create_server(card("agent"), done).authenticate(Names)).await;
    let public = public_card(&server).await;
    let schemes = r#"{"name":{"httpAuthSecurityScheme":{"scheme":"Name"}}}"#;
    assert_eq!(public.at("securitySchemes").text(), schemes);
    let requirements = r#"[{"schemes":{"name":{}}}]"#;
    assert_eq!(public.at("securityRequirements").text(), requirements);
}

/// Requires a scheme that it does not declare.
struct Confused;

impl Authenticate for Confused {
    fn authenticate<'a>(
        &'a self,
        _: &'a RequestHead<'a>,
    ) -> BoxFuture<'a, Result<Identity, Refusal>> {
        Box::pin(async { Err(Refusal::forbidden("nobody may do anything")) })
    }

    fn security(&self) -> Security {
        let none: [String; 0] = [];
        Security::default().requirement(SecurityRequirement::new("key", none))
    }
}

#[tokio::test]
async fn a_card_that_would_say_something_else_ends_the_configuration() {
    let key = || SecurityScheme::api_key("header", "X-Key");
    let server = |card: AgentCard| create_server(card, done);
    let cases: [(ServerBuilder<_>, &str); 3] = [
        (
            server(card("agent").security_scheme("key", key())).authenticate(Names),
            "take them off",
        ),
        (
            server(card("agent"))
                .extended_card(with_more().security_scheme("key", key()))
                .authenticate(Names),
            "take them off",
        ),
        (server(card("agent")).authenticate(Confused), "\"key\""),
    ];
    for (builder, word) in cases {
        let error = builder.await.expect_err(word);
        assert!(error.is_authentication(), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    // Where something in front of the server checks, the card's author says what.
    let server = start(server(card("agent").security_scheme("key", key()))).await;
    let public = public_card(&server).await;
    assert!(public.find("securitySchemes.key").is_some());
}
