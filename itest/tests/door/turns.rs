//! How many turns a caller may run at once.

use std::num::NonZeroUsize;
use std::sync::Arc;

use llamon_agent::server::auth::{ApiKey, ApiKeys, Identity};
use llamon_agent::server::{AgentError, GrpcAt, Turn, create_server};
use llamon_itest::agents::{card, start};
use llamon_itest::call::{Binding, Caller};
use llamon_itest::http::send;
use tokio::sync::Semaphore;

const AT_ONCE: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"configuration":{"returnImmediately":true}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_runs_no_more_turns_than_its_own_and_others_are_not_held_up() {
    let ends = Arc::new(Semaphore::new(0));
    let wait = Arc::clone(&ends);
    let agent = move |_: Turn| {
        let wait = Arc::clone(&wait);
        async move {
            let _ended = wait.acquire().await?;
            Ok::<_, AgentError>("done")
        }
    };
    let (alice, bob) = (ApiKey::generate().unwrap(), ApiKey::generate().unwrap());
    let keys = ApiKeys::new()
        .bearer()
        .key(alice.hash(), Identity::new("alice"))
        .key(bob.hash(), Identity::new("bob"));
    let server = create_server(card("slow"), agent)
        .authenticate(keys)
        .grpc(GrpcAt::SamePort)
        .max_turns_per_caller(NonZeroUsize::new(2).unwrap());
    let server = start(server).await;
    let of = |key: &ApiKey| {
        let header = format!("Bearer {}", key.expose());
        Caller::all(server.url()).map(|caller| caller.with("authorization", &header))
    };
    let mut begun = Vec::new();
    for caller in of(&alice).iter().take(2) {
        begun.push(
            caller
                .call("SendMessage", AT_ONCE)
                .await
                .unwrap()
                .string("task.id"),
        );
    }
    for caller in of(&alice) {
        let refused = caller.call("SendMessage", AT_ONCE).await.unwrap_err();
        assert_eq!(
            refused.reason, "TOO_MANY_REQUESTS",
            "{caller:?} {refused:?}"
        );
        assert!(
            refused
                .message
                .contains("max_turns_per_caller allows, which is 2"),
            "{refused:?}"
        );
        if caller.binding != Binding::Grpc {
            let response = send(server.url(), &caller.request("SendMessage", AT_ONCE)).await;
            assert_eq!(response.status, 429, "{response:?}");
            assert_eq!(response.header("retry-after"), Some("1"), "{response:?}");
        }
        // What does not run the agent is as free as before.
        caller
            .call("GetTask", &format!(r#"{{"id":"{}"}}"#, begun[0]))
            .await
            .unwrap();
    }
    for caller in of(&bob).iter().take(2) {
        caller.call("SendMessage", AT_ONCE).await.unwrap();
    }
    ends.add_permits(1_000);
    let [caller, ..] = of(&alice);
    for id in &begun {
        let id = format!(r#"{{"id":"{id}"}}"#);
        // It may have ended just now, and then cannot be followed any more.
        if let Ok(events) = caller.open("SubscribeToTask", &id).await {
            events.rest().await;
        }
    }
    let whole = AT_ONCE.replace("true", "false");
    llamon_itest::agents::until(|| async { caller.call("SendMessage", &whole).await.ok() }).await;
}
