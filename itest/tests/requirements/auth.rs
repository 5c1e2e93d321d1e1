//! Section 7: authentication and authorization.

use futures_util::future::BoxFuture;
use llamon_agent::a2a::{AgentExtension, SecurityScheme};
use llamon_agent::client::Client;
use llamon_agent::client::egress::Egress;
use llamon_agent::server::auth::{Authenticate, Identity, Refusal, RequestHead, Security};
use llamon_agent::server::tls::TlsFiles;
use llamon_agent::server::{AgentError, Turn, create_server};
use llamon_itest::agents::card;
use llamon_itest::call::{Binding, Caller};
use llamon_itest::certificates::Authority;
use llamon_itest::tls::{Caller as Secret, Secure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::support::*;

#[test]
fn auth_tls_001_what_strangers_name_is_called_encrypted_only() {
    let egress = Egress::builder().build().expect("the way out");
    egress
        .check_url("https://example.com/hook")
        .expect("encrypted");
    egress
        .check_url("http://example.com/hook")
        .expect_err("in the clear");
}

/// A server with a certificate of an authority that nobody else knows.
async fn serve_secretly() -> (Secure, Authority) {
    let (authority, folder) = (
        Authority::new("ours"),
        tempfile::tempdir().expect("a folder"),
    );
    let (certificate, key) = authority.server().write(folder.path());
    let tls = TlsFiles::new(certificate, key).load().expect("files");
    let agent = async |_: Turn| Ok::<_, AgentError>("done");
    (
        Secure::start(create_server(card("agent"), agent).tls(tls)).await,
        authority,
    )
}

#[tokio::test]
async fn auth_tls_002_tls_1_3_is_spoken_and_nothing_older_than_1_2() {
    use rustls::version::{TLS12, TLS13};
    let (server, authority) = serve_secretly().await;
    for (offered, expected) in [
        (&[&TLS12, &TLS13][..], rustls::ProtocolVersion::TLSv1_3),
        (&[&TLS12], rustls::ProtocolVersion::TLSv1_2),
    ] {
        let caller = Secret::with(authority.roots(), None, offered);
        let stream = caller.connect(&server.url).await.expect("a handshake");
        assert_eq!(stream.get_ref().1.protocol_version(), Some(expected));
    }
    // A whole ClientHello of TLS 1.1 that offers AES with SHA-1.
    let mut hello = vec![22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 2];
    hello.extend_from_slice(&[7; 32]);
    hello.extend_from_slice(&[0, 0, 2, 0, 0x2f, 1, 0]);
    let address = server.url.strip_prefix("https://").expect("an https URL");
    let mut stream = TcpStream::connect(address).await.expect("a server");
    stream.write_all(&hello).await.expect("a reader");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    // An alert, and that is all.
    assert!(
        answer.first() == Some(&21) && answer.len() == 7,
        "{answer:?}"
    );
}

#[tokio::test]
async fn auth_server_001_a_certificate_of_nobody_who_is_trusted_is_not_called() {
    let (server, authority) = serve_secretly().await;
    let known = Secret::of(&authority).connect(&server.url).await;
    known.expect("a server that can be called");
    let refused = Client::discover(&server.url).await.expect_err("a stranger");
    let why = format!("{refused:?} {refused}").to_lowercase();
    assert!(why.contains("certificate"), "{why}");
}

#[tokio::test]
async fn auth_intask_001_what_needs_authorization_is_a_task() {
    let served = serve().await;
    for caller in served.callers() {
        let made = task(&caller, &say("authorize")).await;
        let got = caller.call("GetTask", &of(&made.string("id"))).await;
        assert_eq!(got.expect("the task").string("id"), made.string("id"));
    }
}

#[tokio::test]
async fn auth_intask_002_a_task_that_needs_authorization_says_so() {
    let served = serve().await;
    for caller in served.callers() {
        let made = task(&caller, &say("authorize")).await;
        assert_eq!(state(&made), "AUTH_REQUIRED", "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn auth_intask_003_the_status_says_how_to_authorize() {
    let served = serve().await;
    for caller in served.callers() {
        let made = task(&caller, &say("authorize")).await;
        let text = made.string("status.message.parts.0.text");
        assert_eq!(
            text, "log in at https://example.com/login",
            "{:?}",
            caller.binding
        );
    }
}

#[tokio::test]
async fn auth_intask_004_credentials_need_not_come_in_the_message() {
    // What came out of band is seen by the agent in the turn of whatever message follows.
    let served = serve().await;
    for caller in served.callers() {
        let id = task_id(&caller, "authorize").await;
        let answered = task(&caller, &say_in(&id, "text")).await;
        assert_eq!(state(&answered), "COMPLETED", "{:?}", caller.binding);
        assert!(answered.find("artifacts.0").is_some());
    }
}

#[tokio::test]
async fn auth_intask_005_subscriptions_stay_open_while_authorization_is_awaited() {
    let served = serve().await;
    for caller in served.callers() {
        let id = task_id(&caller, "authorize").await;
        let mut events = caller
            .open("SubscribeToTask", &of(&id))
            .await
            .expect("a stream");
        assert_eq!(state(&snapshot(events.next().await)), "AUTH_REQUIRED");
        task(&caller, &say_in(&id, "text")).await;
        let events = events.rest().await;
        let last = events
            .last()
            .expect("events")
            .string("statusUpdate.status.state");
        assert_eq!(last, "TASK_STATE_COMPLETED", "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn auth_intask_006_messages_are_taken_while_authorization_is_awaited() {
    let served = serve().await;
    for caller in served.callers() {
        let id = task_id(&caller, "authorize").await;
        let again = task(&caller, &say_in(&id, "authorize")).await;
        assert_eq!(state(&again), "AUTH_REQUIRED", "{:?}", caller.binding);
    }
}

/// Knows everybody who says a name.
struct Names;

impl Authenticate for Names {
    fn authenticate<'a>(
        &'a self,
        request: &'a RequestHead<'a>,
    ) -> BoxFuture<'a, Result<Identity, Refusal>> {
        Box::pin(async move {
            let name = request.header("x-name");
            name.map(Identity::new)
                .ok_or_else(|| Refusal::unauthenticated("Name", "send x-name"))
        })
    }

    fn security(&self) -> Security {
        Security::one("name", SecurityScheme::api_key("header", "X-Name"))
    }
}

async fn serve_known() -> Served {
    serve_as(|server| server.authenticate(Names)).await
}

/// All operations on a task, but those that begin one.
fn operations(id: &str) -> Vec<(&'static str, String)> {
    vec![
        ("GetTask", of(id)),
        ("CancelTask", of(id)),
        ("SubscribeToTask", of(id)),
        ("SendMessage", say_in(id, "text")),
        ("SendStreamingMessage", say_in(id, "text")),
    ]
}

async fn any(
    caller: &Caller,
    method: &str,
    params: &str,
) -> Result<(), llamon_itest::call::Refused> {
    match method {
        "SubscribeToTask" | "SendStreamingMessage" => caller.open(method, params).await.map(drop),
        _ => caller.call(method, params).await.map(drop),
    }
}

#[tokio::test]
async fn auth_server_002_every_request_is_authenticated() {
    let served = serve_known().await;
    for caller in served.callers() {
        let mut all = operations("t");
        all.push(("ListTasks", "{}".to_owned()));
        all.push(("SendMessage", say("text")));
        all.push(("GetExtendedAgentCard", "{}".to_owned()));
        for (method, params) in all {
            let error = any(&caller, method, &params).await.expect_err(method);
            assert_eq!(
                error.reason, "UNAUTHENTICATED",
                "{:?} {method}",
                caller.binding
            );
            match caller.binding {
                Binding::JsonRpc => {}
                Binding::Rest => assert_eq!(error.code, "401"),
                Binding::Grpc => assert_eq!(error.code, "UNAUTHENTICATED"),
            }
        }
        task_id(&caller.with("x-name", "alice"), "text").await;
    }
}

#[tokio::test]
async fn auth_scope_001_every_operation_asks_whose_the_task_is() {
    let served = serve_known().await;
    for caller in served.callers() {
        let (alice, bob) = (
            caller.clone().with("x-name", "alice"),
            caller.with("x-name", "bob"),
        );
        let id = task_id(&alice, "ask").await;
        for (method, params) in operations(&id) {
            let foreign = any(&bob, method, &params).await;
            refused(&bob, foreign, "TASK_NOT_FOUND");
        }
        let got = alice.call("GetTask", &of(&id)).await.expect("the task");
        assert_eq!(state(&got), "INPUT_REQUIRED", "nobody has changed it");
    }
}

#[tokio::test]
async fn auth_scope_002_nobody_is_shown_what_is_not_theirs() {
    let served = serve_known().await;
    for caller in served.callers() {
        let name = |who: &str| {
            caller
                .clone()
                .with("x-name", &format!("{who}-{:?}", caller.binding))
        };
        let (alice, bob) = (name("alice"), name("bob"));
        for _ in 0..3 {
            task_id(&alice, "text").await;
        }
        task_id(&bob, "text").await;
        for (caller, expected) in [(&alice, 3), (&bob, 1)] {
            let page = caller.call("ListTasks", "{}").await.expect("a page");
            assert_eq!(page.list("tasks").len(), expected);
            assert_eq!(page.at("totalSize").text(), expected.to_string());
        }
    }
}

#[tokio::test]
async fn core_list_001_only_the_callers_own_tasks_are_listed() {
    let served = serve_known().await;
    for caller in served.callers() {
        let name = |who: &str| {
            caller
                .clone()
                .with("x-name", &format!("{who}-{:?}", caller.binding))
        };
        let (alice, bob) = (name("alice"), name("bob"));
        let id = task_id(&alice, "text").await;
        let of_alice = alice.call("ListTasks", "{}").await.expect("a page");
        assert_eq!(of_alice.string("tasks.0.id"), id);
        let context = of_alice.string("tasks.0.contextId");
        let params = format!(r#"{{"contextId":"{context}"}}"#);
        let of_bob = bob.call("ListTasks", &params).await.expect("a page");
        assert_eq!(of_bob.list("tasks"), [], "{:?}", caller.binding);
    }
}

#[tokio::test]
async fn auth_scope_003_a_foreign_task_and_a_missing_one_are_refused_alike() {
    let served = serve_known().await;
    for caller in served.callers() {
        let (alice, bob) = (
            caller.clone().with("x-name", "alice"),
            caller.with("x-name", "bob"),
        );
        let id = task_id(&alice, "ask").await;
        for ((method, foreign), (_, missing)) in operations(&id).into_iter().zip(operations("none"))
        {
            let foreign = any(&bob, method, &foreign).await.expect_err(method);
            let missing = any(&bob, method, &missing).await.expect_err(method);
            assert_eq!(foreign, missing, "{:?} {method}", bob.binding);
            assert!(!foreign.message.contains(&id));
        }
    }
}

#[tokio::test]
async fn bind_equiv_004_a_caller_is_the_same_in_every_binding() {
    let served = serve_known().await;
    for maker in served.callers() {
        let id = task_id(&maker.with("x-name", "alice"), "ask").await;
        for caller in served.callers() {
            let got = caller
                .clone()
                .with("x-name", "alice")
                .call("GetTask", &of(&id))
                .await;
            assert_eq!(
                got.expect("the task").string("id"),
                id,
                "{:?}",
                caller.binding
            );
            let bob = caller.with("x-name", "bob");
            refused(&bob, bob.call("GetTask", &of(&id)).await, "TASK_NOT_FOUND");
        }
    }
}

#[tokio::test]
async fn core_cap_004_who_does_not_know_a_required_extension_is_refused() {
    let mut extension = AgentExtension::new("urn:required", "must be known");
    extension.required = true;
    let served = serve_as(|server| server.extension(extension)).await;
    for caller in served.callers() {
        for (method, params) in [
            ("SendMessage", say("text")),
            ("SendStreamingMessage", say("text")),
        ] {
            let answer = any(&caller, method, &params).await;
            let error = refused(&caller, answer, "EXTENSION_SUPPORT_REQUIRED");
            assert!(error.message.contains("urn:required"), "{error:?}");
        }
        let knowing = caller.with("a2a-extensions", "urn:other, urn:required");
        task_id(&knowing, "text").await;
    }
}

#[tokio::test]
async fn card_ext_001_the_extended_card_is_for_callers_who_are_known() {
    let mut extended = llamon_itest::agents::card("agent");
    extended.description = "more for those who are known".to_owned();
    let served = serve_as(|server| server.authenticate(Names).extended_card(extended)).await;
    for caller in served.callers() {
        let unknown = caller.call("GetExtendedAgentCard", "{}").await;
        assert_eq!(unknown.expect_err("nobody").reason, "UNAUTHENTICATED");
        let known = caller.clone().with("x-name", "alice");
        let card = known.call("GetExtendedAgentCard", "{}").await;
        let description = card.expect("a card").string("description");
        assert_eq!(
            description, "more for those who are known",
            "{:?}",
            caller.binding
        );
    }
}

#[tokio::test]
async fn card_ext_002_an_extended_card_that_is_declared_and_not_set_is_an_error_of_its_own() {
    let served = serve_as(|server| server.authenticate(Names).declare_extended_card()).await;
    for caller in served.callers() {
        let caller = caller.with("x-name", "alice");
        let card = caller.call("GetExtendedAgentCard", "{}").await;
        refused(&caller, card, "EXTENDED_AGENT_CARD_NOT_CONFIGURED");
    }
}
