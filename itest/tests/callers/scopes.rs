//! What a caller may do, per operation and per skill.

use llamon_agent::a2a::{AgentCard, SecurityRequirement, Skill};
use llamon_agent::server::auth::{ApiKey, ApiKeys, Identity, Operation};
use llamon_agent::server::{
    AgentError, GrpcAt, PushNotifications, ServerBuilder, Turn, create_server,
};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::call::{Binding, Caller};
use llamon_itest::http::{Request, send};
use llamon_itest::raw::Raw;

use crate::issuer::{Signer, claims, key_set, tokens};

const PARAMS: [(Operation, &str); 11] = [
    (Operation::SendMessage, MESSAGE),
    (Operation::SendStreamingMessage, MESSAGE),
    (Operation::GetTask, r#"{"id":"t"}"#),
    (Operation::ListTasks, "{}"),
    (Operation::CancelTask, r#"{"id":"t"}"#),
    (Operation::SubscribeToTask, r#"{"id":"t"}"#),
    (
        Operation::CreateTaskPushNotificationConfig,
        r#"{"taskId":"t","url":"https://receiver.example/"}"#,
    ),
    (
        Operation::GetTaskPushNotificationConfig,
        r#"{"taskId":"t","id":"c"}"#,
    ),
    (
        Operation::ListTaskPushNotificationConfigs,
        r#"{"taskId":"t"}"#,
    ),
    (
        Operation::DeleteTaskPushNotificationConfig,
        r#"{"taskId":"t","id":"c"}"#,
    ),
    (Operation::GetExtendedAgentCard, "{}"),
];
const MESSAGE: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}"#;

async fn skill(turn: Turn) -> Result<String, AgentError> {
    Ok(turn.skill().unwrap_or_else(|| "none".to_owned()))
}

fn with_skills() -> AgentCard {
    let pay = Skill::new("pay", "Pay", "Pays what is due");
    card("agent").skill(pay)
}

fn builder(key: &ApiKey, scopes: &[&str]) -> ServerBuilder<impl Sized + use<>> {
    let identity = Identity::new("alice").with_scopes(scopes.iter().copied());
    create_server(with_skills(), skill)
        .push_notifications(PushNotifications::new())
        .extended_card(with_skills())
        .grpc(GrpcAt::SamePort)
        .authenticate(ApiKeys::new().key(key.hash(), identity))
}

async fn call(
    server: &TestServer,
    binding: Binding,
    key: &ApiKey,
    name: &str,
    params: &str,
) -> Result<Raw, llamon_itest::call::Refused> {
    let caller = Caller::new(server.url(), binding).with("x-api-key", key.expose());
    if matches!(name, "SendStreamingMessage" | "SubscribeToTask") {
        let events = caller.open(name, params).await?.rest().await;
        return Ok(events.into_iter().next_back().expect("an event"));
    }
    caller.call(name, params).await
}

#[tokio::test]
async fn each_operation_needs_its_scopes_in_each_binding() {
    let key = ApiKey::generate().unwrap();
    for (operation, _) in PARAMS {
        for (scopes, expected) in [
            (&["other"][..], Some("needs the scope \"one\"")),
            (&["one"], Some("needs the scope \"two\"")),
            (&["one", "two"], None),
        ] {
            let builder = builder(&key, scopes)
                .require_scope(operation, "one")
                .require_scope(operation, "two");
            let server = start(builder).await;
            for binding in llamon_itest::call::BINDINGS {
                for (other, params_of_other) in PARAMS {
                    let found = call(&server, binding, &key, other.name(), params_of_other).await;
                    let denied = found
                        .err()
                        .filter(|refused| refused.reason == "PERMISSION_DENIED");
                    let expected = expected.filter(|_| other == operation);
                    let what = format!("{binding:?} {operation} {other} {scopes:?}: {denied:?}");
                    assert_eq!(denied.is_some(), expected.is_some(), "{what}");
                    if let (Some(denied), Some(expected)) = (denied, expected) {
                        assert!(denied.message.contains(expected), "{what}");
                        assert!(denied.message.starts_with(operation.name()), "{what}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_skill_needs_its_scope_and_a_message_that_names_none_needs_all() {
    let key = ApiKey::generate().unwrap();
    let named = |skill: &str| {
        format!(
            r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"x"}}],"metadata":{{"skillId":{skill}}}}}}}"#
        )
    };
    for (scopes, params, expected) in [
        (&["pay"][..], MESSAGE.to_owned(), Ok("none")),
        (&["pay"], named("\"pay\""), Ok("pay")),
        (&[], MESSAGE.to_owned(), Err("names no skill")),
        (
            &[],
            named("\"pay\""),
            Err("the skill \"pay\" needs the scope \"pay\""),
        ),
        (&[], named("\"test\""), Ok("test")),
        (
            &["pay"],
            named("\"nothing\""),
            Err("\"nothing\" is no skill of this agent"),
        ),
        (&["pay"], named("7"), Err("skillId")),
    ] {
        let builder = builder(&key, scopes).require_scope_for_skill("pay", "pay");
        let server = start(builder).await;
        for binding in llamon_itest::call::BINDINGS {
            for name in ["SendMessage", "SendStreamingMessage"] {
                let found = call(&server, binding, &key, name, &params).await;
                let what = format!("{binding:?} {name} {scopes:?} {params}: {found:?}");
                match (&found, expected) {
                    (Ok(sent), Ok(skill)) if name == "SendMessage" => {
                        assert_eq!(
                            sent.string("task.artifacts.0.parts.0.text"),
                            skill,
                            "{what}"
                        );
                    }
                    (Ok(_), Ok(_)) => {}
                    (Err(refused), Err(text)) => assert!(refused.message.contains(text), "{what}"),
                    _ => panic!("{what}"),
                }
            }
        }
    }
    // Without a rule for a skill, what a message says of skills is the agent's to read.
    let server = start(builder(&key, &[])).await;
    let found = call(
        &server,
        Binding::Rest,
        &key,
        "SendMessage",
        &named("\"nothing\""),
    )
    .await;
    assert_eq!(
        found.unwrap().string("task.artifacts.0.parts.0.text"),
        "nothing"
    );
}

#[tokio::test]
async fn a_token_without_the_scope_is_told_which_one_to_get() {
    let signer = Signer::ed25519();
    let authenticator = tokens()
        .jwks(key_set(&[signer.named("one")]))
        .build()
        .unwrap();
    let builder = create_server(card("agent"), skill)
        .grpc(GrpcAt::SamePort)
        .authenticate(authenticator)
        .require_scope(Operation::ListTasks, "tasks:read");
    let server = start(builder).await;
    let header = r#"{"alg":"EdDSA","kid":"one"}"#;
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"tasks:read\"";
    for (scope, status, challenge) in [
        ("tasks:write tasks:read", 200, None),
        ("tasks:write", 403, Some(challenge)),
        ("tasks", 403, Some(challenge)),
    ] {
        let token = signer.token(header, &claims("alice", &format!(r#","scope":"{scope}""#)));
        let bearer = format!("Bearer {token}");
        for request in [
            Request::get("/tasks"),
            Request::post("/", r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks"}"#),
        ] {
            let request = request.header("Authorization", &bearer);
            let response = send(server.url(), &request).await;
            assert_eq!(response.status, status, "{scope}");
            assert_eq!(response.header("www-authenticate"), challenge, "{scope}");
        }
        let listing = llamon_itest::grpc::Call::new("ListTasks", b"");
        let listing = listing.metadata("authorization", &bearer);
        let answer = llamon_itest::grpc::call(server.url(), &listing).await;
        assert_eq!(
            answer.status,
            Some(if status == 200 { 0 } else { 7 }),
            "{scope}"
        );
        assert_eq!(answer.metadata("www-authenticate"), challenge, "{scope}");
    }
}

#[tokio::test]
async fn the_cards_say_what_is_required_and_nothing_else_can() {
    let key = ApiKey::generate().unwrap();
    let rules = builder(&key, &["read", "pay"])
        .require_scope(Operation::GetTask, "read")
        .require_scope_for_skill("pay", "pay");
    let server = start(rules).await;
    let public = send(server.url(), &Request::get("/.well-known/agent-card.json")).await;
    let extended = call(&server, Binding::Rest, &key, "GetExtendedAgentCard", "{}").await;
    for card in [Raw::parse(&public.body), extended.unwrap()] {
        assert_eq!(
            card.at("securityRequirements").text(),
            r#"[{"schemes":{"apiKey":{"list":["read"]}}}]"#
        );
        assert!(card.find("skills.0.securityRequirements").is_none());
        assert_eq!(
            card.at("skills.1.securityRequirements").text(),
            r#"[{"schemes":{"apiKey":{"list":["read","pay"]}}}]"#
        );
    }

    let mut of_skill = with_skills();
    let none: [&str; 0] = [];
    of_skill.skills[0].security_requirements = vec![SecurityRequirement::new("apiKey", none)];
    let on_the_card = create_server(of_skill.clone(), skill)
        .authenticate(ApiKeys::new().key(key.hash(), Identity::new("alice")));
    let extended = builder(&key, &[]).extended_card(of_skill);
    for (builder, expected) in [
        (on_the_card.await, "take them off the card"),
        (extended.await, "take them off the card"),
        (
            create_server(card("agent"), skill)
                .require_scope(Operation::GetTask, "read")
                .await,
            "this server knows none",
        ),
        (
            builder(&key, &[])
                .require_scope_for_skill("none", "pay")
                .await,
            "the card has no such skill",
        ),
        (
            builder(&key, &[])
                .require_scope(Operation::GetTask, "two words")
                .await,
            "can be in no token",
        ),
    ] {
        let error = builder.expect_err(expected);
        assert!(error.is_authentication(), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}
