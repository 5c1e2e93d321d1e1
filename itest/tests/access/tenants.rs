//! Tenants in paths and parameters.

use llamon_agent::server::{AgentError, AgentHost, PushNotifications, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::http::{Request, send};
use llamon_itest::raw::Raw;
use llamon_itest::refused::code;
use llamon_itest::wire::{Peer, WIRES, Wire, envelope};

use crate::support::{Names, by, operations};

async fn tenant_of(turn: Turn) -> Result<String, AgentError> {
    Ok(format!("{:?}", turn.tenant()))
}

async fn server() -> TestServer {
    let builder = create_server(card("agent"), tenant_of)
        .push_notifications(PushNotifications::new())
        .tenants(["acme", "globex"]);
    start(builder).await
}

const MESSAGE: &str = r#""message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}"#;

/// The request that sends a message, with the tenant where the binding has it.
fn sending(wire: Wire, tenant: &str) -> Request {
    match wire {
        Wire::JsonRpc => {
            let params = format!(r#"{{{MESSAGE},"tenant":"{tenant}"}}"#);
            Request::post("/", envelope("SendMessage", &params))
        }
        Wire::Rest => Request::post(&format!("/{tenant}/message:send"), format!("{{{MESSAGE}}}")),
    }
}

#[tokio::test]
async fn a_tenant_sees_its_own_tasks_only_and_the_agent_reads_it() {
    let server = server().await;
    for wire in WIRES {
        let peer = Peer::new(server.url(), wire);
        let sent = send(server.url(), &sending(wire, "acme")).await;
        let sent = peer.read(sent).expect("a task");
        let said = sent.string("task.artifacts.0.parts.0.text");
        assert_eq!(said, "Some(\"acme\")");
        let id = sent.string("task.id");
        for (tenant, found) in [("acme", true), ("globex", false)] {
            let get = &operations(wire, &id, Some(tenant))[2].1;
            let got = peer.read(send(server.url(), get).await);
            assert_eq!(got.is_ok(), found, "{wire:?} {tenant}: {got:?}");
        }
    }
}

#[tokio::test]
async fn a_tenant_that_is_unknown_or_not_named_is_refused_in_every_operation() {
    let server = server().await;
    for wire in WIRES {
        let peer = Peer::new(server.url(), wire);
        for tenant in [None, Some("initech"), Some("ACME")] {
            for (name, request) in operations(wire, "t", tenant) {
                let response = send(server.url(), &request).await;
                let refusal = peer.read(response).expect_err(name);
                assert_eq!(
                    refusal.reason, "INVALID_PARAMS",
                    "{wire:?} {name} {tenant:?}"
                );
                assert_eq!(refusal.code, code(wire, "INVALID_PARAMS"), "{name}");
                assert!(refusal.message.starts_with("tenant: "), "{refusal:?}");
            }
        }
    }
}

#[tokio::test]
async fn path_and_parameters_must_name_the_same_tenant() {
    let server = server().await;
    let send_with = |tenant: &str| format!(r#"{{{MESSAGE},"tenant":"{tenant}"}}"#);
    for (request, taken) in [
        (Request::post("/acme/message:send", send_with("acme")), true),
        (Request::post("/acme/message:send", send_with("")), true),
        (Request::post("/message:send", send_with("acme")), true),
        (
            Request::post("/acme/message:send", send_with("globex")),
            false,
        ),
        (Request::get("/tasks?tenant=acme"), true),
        (Request::get("/acme/tasks?tenant=acme"), true),
        (Request::get("/acme/tasks?tenant=globex"), false),
        (
            Request::post("/acme/tasks/t:cancel", r#"{"tenant":"globex"}"#),
            false,
        ),
    ] {
        let response = send(server.url(), &request).await;
        let read = Peer::new(server.url(), Wire::Rest).read(response);
        assert_eq!(read.is_ok(), taken, "{request:?}: {read:?}");
        if let Err(refusal) = read {
            assert!(
                refusal.message.contains("the tenant in the path"),
                "{refusal:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_known_caller_has_one_tenant_and_the_wire_cannot_change_it() {
    // Tenants that are declared do not matter then.
    let builder = create_server(card("agent"), tenant_of)
        .push_notifications(PushNotifications::new())
        .tenants(["globex"])
        .authenticate(Names);
    let server = start(builder).await;
    for wire in WIRES {
        let peer = Peer::new(server.url(), wire);
        for name in ["bob@acme", "alice"] {
            let mut bodies = Vec::new();
            for tenant in ["globex", "initech"] {
                for (operation, request) in operations(wire, "t", Some(tenant)) {
                    let response = send(server.url(), &by(name, request)).await;
                    let refusal = peer.read(response).expect_err(operation);
                    assert_eq!(refusal.reason, "PERMISSION_DENIED", "{wire:?} {operation}");
                    bodies.push(refusal.body);
                }
            }
            // A tenant that exists cannot be told from one that does not.
            bodies.dedup();
            assert_eq!(bodies.len(), 1, "{wire:?}");
        }
        let own = by("bob@acme", sending(wire, "acme"));
        let sent = peer.read(send(server.url(), &own).await).expect("theirs");
        let said = sent.string("task.artifacts.0.parts.0.text");
        assert_eq!(said, "Some(\"acme\")");
    }
    let card = card_of(server.url()).await;
    assert_eq!(tenants_on(&card), ["", ""]);
}

async fn card_of(url: &str) -> Raw {
    let response = send(url, &Request::get("/.well-known/agent-card.json")).await;
    Raw::parse(&response.body)
}

fn tenants_on(card: &Raw) -> Vec<String> {
    let interfaces = card.list("supportedInterfaces").into_iter();
    let tenant = |interface: Raw| {
        let tenant = interface.find("tenant");
        tenant.map_or_else(String::new, |_| interface.string("tenant"))
    };
    interfaces.map(tenant).collect()
}

#[tokio::test]
async fn the_card_has_an_interface_for_each_tenant_and_the_client_follows_it() {
    let server = server().await;
    let card = card_of(server.url()).await;
    assert_eq!(tenants_on(&card), ["acme", "acme", "globex", "globex"]);
    let reply = server.send("hello").await.expect("an answer");
    assert_eq!(reply.text(), "Some(\"acme\")");
}

#[tokio::test]
async fn names_that_no_tenant_can_have_end_the_configuration() {
    for (tenants, word) in [
        (&["tasks"][..], "operations"),
        (&["message:send"], "operations"),
        (&["a/b"], "slash"),
        (&[".."], "\"..\""),
        (&[""], "1 to 512"),
        (&["acme", "acme"], "twice"),
    ] {
        let builder = create_server(card("agent"), tenant_of).tenants(tenants.iter().copied());
        let error = builder.await.expect_err(word);
        assert!(error.is_tenants(), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    let tenants = create_server(card("agent"), tenant_of).tenants(["audit"]);
    let other = create_server(card("other"), tenant_of);
    let host = AgentHost::new()
        .agent("/", tenants.await.unwrap())
        .agent("/audit", other.await.unwrap());
    let error = host
        .bind("127.0.0.1:0")
        .await
        .expect_err("one path for two");
    assert!(error.to_string().contains("tenant"), "{error}");
}
