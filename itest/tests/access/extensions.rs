//! Extensions: declared on the card, activated by the client, known to the agent.

use llamon_agent::a2a::AgentExtension;
use llamon_agent::server::{AgentError, PushNotifications, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::http::{Request, send};
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, WIRES};

use crate::support::operations;

const OPTIONAL: &str = "urn:example:optional";
const REQUIRED: &str = "urn:example:required";

async fn active(turn: Turn) -> Result<String, AgentError> {
    let active: Vec<&str> = turn.extensions().collect();
    assert_eq!(turn.has_extension(OPTIONAL), active.contains(&OPTIONAL));
    Ok(format!("active: {}", active.join(" ")))
}

async fn server(extensions: &[(&str, bool)]) -> TestServer {
    let mut builder =
        create_server(card("agent"), active).push_notifications(PushNotifications::new());
    for (uri, required) in extensions {
        let mut extension = AgentExtension::new(*uri, "For tests.");
        extension.required = *required;
        builder = builder.extension(extension);
    }
    start(builder).await
}

#[tokio::test]
async fn what_is_asked_for_and_known_is_activated_echoed_and_told_to_the_agent() {
    let server = server(&[(OPTIONAL, false), ("urn:example:b", false)]).await;
    for wire in WIRES {
        let peer = Peer::new(server.url(), wire);
        for (asked, expected) in [
            (None, None),
            (Some("urn:unknown"), None),
            (Some(OPTIONAL), Some(OPTIONAL)),
            (
                Some("urn:unknown,urn:example:b , urn:example:optional"),
                Some("urn:example:optional, urn:example:b"),
            ),
        ] {
            let mut request = wire.request(Op::Send(&Say::text("go")));
            if let Some(asked) = asked {
                request = request.header("A2A-Extensions", asked);
            }
            let response = send(server.url(), &request).await;
            let echo = response.header("a2a-extensions").map(str::to_owned);
            assert_eq!(echo.as_deref(), expected, "{wire:?} {asked:?}");
            let task = peer.read(response).expect("a task");
            let said = task.string("task.artifacts.0.parts.0.text");
            let told = expected.unwrap_or_default().replace(", ", " ");
            assert_eq!(said, format!("active: {told}"), "{wire:?} {asked:?}");
        }
    }
}

#[tokio::test]
async fn a_required_extension_that_is_not_asked_for_ends_every_operation() {
    let server = server(&[(OPTIONAL, false), (REQUIRED, true)]).await;
    for wire in WIRES {
        let peer = Peer::new(server.url(), wire);
        for (name, request) in operations(wire, "t", None) {
            let response = send(server.url(), &request.clone()).await;
            let refusal = peer.read(response).expect_err(name);
            assert_eq!(
                refusal.reason, "EXTENSION_SUPPORT_REQUIRED",
                "{wire:?} {name}"
            );
            assert!(refusal.message.contains(REQUIRED), "{refusal:?}");
            assert!(!refusal.message.contains(OPTIONAL), "{refusal:?}");

            let named = request.header("A2A-Extensions", REQUIRED);
            let response = send(server.url(), &named).await;
            assert_eq!(response.header("a2a-extensions"), Some(REQUIRED));
            if let Err(refusal) = peer.read(response) {
                assert_ne!(refusal.reason, "EXTENSION_SUPPORT_REQUIRED", "{name}");
            }
        }
    }
    let card = send(server.url(), &Request::get("/.well-known/agent-card.json")).await;
    assert_eq!(card.status, 200, "the card says what is required");
}

#[tokio::test]
async fn an_extension_that_no_header_can_name_ends_the_configuration() {
    for (uris, word) in [
        (&["urn:a b"][..], "urn:a b"),
        (&["urn:a,urn:b"], "commas"),
        (&[""], "extensions[0].uri"),
        (&["urn:a", "urn:a"], "no other extension"),
    ] {
        let mut builder = create_server(card("agent"), active);
        for uri in uris {
            builder = builder.extension(AgentExtension::new(*uri, "For tests."));
        }
        let error = builder.await.expect_err(word);
        assert!(error.is_card(), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

async fn marking(turn: Turn) -> Result<&'static str, AgentError> {
    let unknown = turn.use_extension("urn:example:unknown");
    assert!(
        unknown
            .expect_err("an unknown one")
            .to_string()
            .contains("ServerBuilder::extension")
    );
    turn.status("before").await?;
    turn.use_extension(OPTIONAL)?;
    turn.use_extension(OPTIONAL)?;
    turn.status("after").await?;
    turn.artifact("report").emit("a report").await?;
    Ok("the answer")
}

#[tokio::test]
async fn what_the_agent_sends_names_the_extensions_that_it_says_it_uses() {
    let builder = create_server(card("agent"), marking)
        .extension(AgentExtension::new(OPTIONAL, "For tests."));
    let server = start(builder).await;
    for peer in WIRES.map(|wire| Peer::new(server.url(), wire)) {
        let (id, events) = peer.begin(&Say::text("go")).await;
        let marks: Vec<usize> = (events.rest().await.iter())
            .filter_map(|event| {
                let said = event.find("statusUpdate.status.message");
                said.or_else(|| event.find("artifactUpdate.artifact"))
            })
            .map(|said| said.list("extensions").len())
            .collect();
        assert_eq!(marks, [0, 1, 1, 1]);
        let task = peer.get(&id).await;
        for artifact in task.list("artifacts") {
            let extensions = artifact.at("extensions");
            assert_eq!(extensions.text(), format!("[\"{OPTIONAL}\"]"));
        }
    }
}
