//! The same over gRPC: who is let in, and as whom, with bytes of the test's own.

use llamon_agent::a2a::{AgentExtension, Skill};
use llamon_agent::server::{
    AgentError, GrpcAt, PushNotifications, ServerBuilder, Turn, create_server,
};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{End, Script, card, scripted, start};
use llamon_itest::grpc::{Answer, Call, METHODS, call, field};
use llamon_itest::http::send;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, Wire};

use crate::support::{CHALLENGE, Names, by};

const OK: Option<u16> = Some(0);
const INVALID_ARGUMENT: Option<u16> = Some(3);
const NOT_FOUND: Option<u16> = Some(5);
const PERMISSION_DENIED: Option<u16> = Some(7);
const FAILED_PRECONDITION: Option<u16> = Some(9);
const INTERNAL: Option<u16> = Some(13);
const UNAVAILABLE: Option<u16> = Some(14);
const UNAUTHENTICATED: Option<u16> = Some(16);

/// A call of a method on the task `id` (a message to no task where it is empty), for a tenant.
fn calling(method: &str, id: &str, tenant: &str) -> Call {
    let (id, tenant) = (id.as_bytes(), tenant.as_bytes());
    let message = match method {
        "SendMessage" | "SendStreamingMessage" => {
            let role_user = b"\x20\x01".to_vec();
            let part = field(5, &field(1, b"x"));
            let message = [field(1, b"m"), field(3, id), role_user, part].concat();
            [field(1, tenant), field(2, &message)].concat()
        }
        "GetTask" | "CancelTask" | "SubscribeToTask" => [field(1, tenant), field(2, id)].concat(),
        "ListTasks" | "GetExtendedAgentCard" => field(1, tenant),
        "CreateTaskPushNotificationConfig" => {
            let url = field(4, b"https://receiver.example/");
            [field(1, tenant), field(3, id), url].concat()
        }
        "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
            [field(1, tenant), field(2, id), field(3, b"c")].concat()
        }
        "ListTaskPushNotificationConfigs" => [field(4, tenant), field(1, id)].concat(),
        other => panic!("A2A has no {other}"),
    };
    Call::new(method, &message)
}

/// The call as somebody's.
fn called_by(name: &str, call: Call) -> Call {
    call.metadata("authorization", &format!("Name {name}"))
}

async fn serve<M>(builder: ServerBuilder<M>) -> TestServer {
    let builder = builder.push_notifications(PushNotifications::new());
    start(builder.grpc(GrpcAt::SamePort)).await
}

async fn said(turn: Turn) -> Result<String, AgentError> {
    Ok(format!("{:?} of {:?}", turn.principal(), turn.tenant()))
}

/// Whether a message of the answer has this text.
fn has(answer: &Answer, text: &str) -> bool {
    let found = |message: &Vec<u8>| String::from_utf8_lossy(message).contains(text);
    answer.messages.iter().any(found)
}

/// The id of the task that a message was answered with: the first text of 36 bytes in field 1.
fn task_id(answer: &Answer) -> String {
    let message = answer.messages.first().expect("an answer");
    let id = message
        .windows(38)
        .find(|bytes| bytes.starts_with(b"\n\x24"));
    let id = id.and_then(|bytes| bytes.get(2..)).expect("a task");
    String::from_utf8_lossy(id).into_owned()
}

/// Demands a refusal with this status and reason.
fn refused(answer: &Answer, status: Option<u16>, reason: &str, what: &str) {
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    assert!(answer.details.contains(reason), "{what}: {answer:?}");
    assert!(answer.messages.is_empty(), "{what}: {answer:?}");
}

#[tokio::test]
async fn a_caller_that_is_not_known_is_refused_in_every_method_with_the_challenge() {
    let server = serve(create_server(card("agent"), said).authenticate(Names)).await;
    let url = server.url();
    for method in METHODS {
        let nobody = call(url, &calling(method, "t", "")).await;
        refused(&nobody, UNAUTHENTICATED, "UNAUTHENTICATED", method);
        assert_eq!(nobody.metadata("www-authenticate"), Some(CHALLENGE));
        let mallory = call(url, &called_by("mallory", calling(method, "t", ""))).await;
        refused(&mallory, PERMISSION_DENIED, "PERMISSION_DENIED", method);
        assert_eq!(mallory.metadata("www-authenticate"), None);
    }
    let alice = call(url, &called_by("alice", calling("SendMessage", "", ""))).await;
    assert_eq!(alice.status, OK, "{alice:?}");
    assert!(has(&alice, "Some(\"alice\") of None"), "{alice:?}");
}

#[tokio::test]
async fn an_authenticator_that_fails_lets_nobody_in() {
    let server = serve(create_server(card("agent"), said).authenticate(Names)).await;
    for (name, status, reason) in [
        ("down", UNAVAILABLE, "UNAVAILABLE"),
        ("panic", INTERNAL, "INTERNAL_ERROR"),
    ] {
        let listing = called_by(name, calling("ListTasks", "", ""));
        refused(&call(server.url(), &listing).await, status, reason, name);
    }
}

#[tokio::test]
async fn an_identity_is_the_same_as_over_rest_and_a_foreign_task_is_a_missing_one() {
    let agent = scripted(vec![Script::new(End::InputRequired("which?"))]);
    let server = serve(create_server(card("agent"), agent).authenticate(Names)).await;
    let url = server.url();
    let rest = Peer::new(url, Wire::Rest);
    for (owner, others) in [
        ("alice", &["bob", "alice@acme"][..]),
        ("alice@acme", &["alice", "bob@acme", "alice@globex"]),
    ] {
        let asked = by(owner, rest.wire.request(Op::Send(&Say::text("go"))));
        let begun = rest.read(send(url, &asked).await).expect("a task");
        let id = begun.string("task.id");
        let theirs = call(url, &called_by(owner, calling("GetTask", &id, ""))).await;
        assert_eq!(theirs.status, OK, "{theirs:?}");
        assert!(has(&theirs, &id));
        for other in others {
            for method in METHODS {
                let missing = "00000000-0000-4000-8000-000000000000";
                let foreign = call(url, &called_by(other, calling(method, &id, ""))).await;
                let missing = call(url, &called_by(other, calling(method, missing, ""))).await;
                let what = format!("{other} {method}");
                assert_eq!(foreign.status, missing.status, "{what}");
                assert_eq!(foreign.message, missing.message, "{what}");
                assert_eq!(foreign.details, missing.details, "{what}");
                assert_eq!(foreign.messages, missing.messages, "{what}");
                if !matches!(method, "ListTasks" | "GetExtendedAgentCard") {
                    refused(&foreign, NOT_FOUND, "TASK_NOT_FOUND", &what);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_tenant_that_is_declared_is_served_and_kept_apart() {
    let server = serve(create_server(card("agent"), said).tenants(["acme", "globex"])).await;
    let url = server.url();
    let sent = call(url, &calling("SendMessage", "", "acme")).await;
    assert!(has(&sent, "None of Some(\"acme\")"), "{sent:?}");
    let id = task_id(&sent);
    let own = call(url, &calling("GetTask", &id, "acme")).await;
    assert_eq!(own.status, OK, "{own:?}");
    let foreign = call(url, &calling("GetTask", &id, "globex")).await;
    refused(&foreign, NOT_FOUND, "TASK_NOT_FOUND", "globex");
    for method in METHODS {
        for tenant in ["", "initech", "ACME"] {
            let answer = call(url, &calling(method, "t", tenant)).await;
            let what = format!("{method} {tenant:?}");
            refused(&answer, INVALID_ARGUMENT, "INVALID_PARAMS", &what);
            assert!(answer.message.starts_with("tenant: "), "{what}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_known_caller_has_one_tenant_and_the_wire_cannot_change_it() {
    let builder = create_server(card("agent"), said).tenants(["globex"]);
    let server = serve(builder.authenticate(Names)).await;
    let url = server.url();
    for name in ["bob@acme", "alice"] {
        for method in METHODS {
            let of = |tenant| called_by(name, calling(method, "t", tenant));
            let served = call(url, &of("globex")).await;
            let unknown = call(url, &of("initech")).await;
            refused(&served, PERMISSION_DENIED, "PERMISSION_DENIED", method);
            // A tenant that exists cannot be told from one that does not.
            assert_eq!(served.details, unknown.details, "{method}");
        }
    }
    for tenant in ["acme", ""] {
        let own = called_by("bob@acme", calling("SendMessage", "", tenant));
        let sent = call(url, &own).await;
        assert!(has(&sent, "Some(\"bob\") of Some(\"acme\")"), "{sent:?}");
    }
}

#[tokio::test]
async fn a_required_extension_that_is_not_asked_for_ends_every_method() {
    let uri = "urn:example:required";
    let mut extension = AgentExtension::new(uri, "For tests.");
    extension.required = true;
    let server = serve(create_server(card("agent"), said).extension(extension)).await;
    for method in METHODS {
        let answer = call(server.url(), &calling(method, "t", "")).await;
        let reason = "EXTENSION_SUPPORT_REQUIRED";
        refused(&answer, FAILED_PRECONDITION, reason, method);
        assert!(answer.message.contains(uri), "{answer:?}");

        let named = calling(method, "t", "").metadata("a2a-extensions", uri);
        let answer = call(server.url(), &named).await;
        assert_eq!(answer.metadata("a2a-extensions"), Some(uri), "{method}");
        assert!(!answer.details.contains(reason), "{answer:?}");
    }
}

#[tokio::test]
async fn the_extended_card_is_absent_declared_or_there() {
    let server = || create_server(card("agent"), said).authenticate(Names);
    let asking = || calling("GetExtendedAgentCard", "", "");
    for (builder, reason) in [
        (server(), "UNSUPPORTED_OPERATION"),
        (
            server().declare_extended_card(),
            "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        ),
    ] {
        let server = serve(builder).await;
        let answer = call(server.url(), &called_by("alice", asking())).await;
        refused(&answer, FAILED_PRECONDITION, reason, reason);
    }
    let skill = Skill::new("secret", "Secret", "What only known callers can ask for");
    let server = serve(server().extended_card(card("agent").skill(skill))).await;
    let nobody = call(server.url(), &asking()).await;
    refused(&nobody, UNAUTHENTICATED, "UNAUTHENTICATED", "nobody");
    let alice = call(server.url(), &called_by("alice", asking())).await;
    assert_eq!(alice.status, OK, "{alice:?}");
    assert!(has(&alice, "What only known callers"), "{alice:?}");
}
