//! A server that asks nobody who they are listens on this machine only, unless it is told so.

use llamon_agent::server::auth::{ApiKey, ApiKeys, Identity};
use llamon_agent::server::{AgentError, AgentHost, GrpcAt, ServerBuilder, Turn, create_server};
use llamon_itest::agents::card;

async fn agent(_: Turn) -> Result<&'static str, AgentError> {
    Ok("done")
}

fn builder() -> ServerBuilder<impl Sized + use<>> {
    create_server(card("agent"), agent).public_url("https://agents.example")
}

fn keys() -> ApiKeys {
    let key = ApiKey::generate().unwrap();
    ApiKeys::new().key(key.hash(), Identity::new("alice"))
}

#[tokio::test]
async fn who_can_be_reached_from_elsewhere_asks_who_calls() {
    for address in ["0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0"] {
        let error = builder().await.unwrap().bind(address).await.unwrap_err();
        let config = error.config().expect("an error of the configuration");
        assert!(config.is_authentication(), "{error}");
        for said in [
            address,
            "\"agent\"",
            ".authenticate(",
            ".allow_anonymous()",
            "127.0.0.1",
        ] {
            assert!(error.to_string().contains(said), "{said}: {error}");
        }
    }
    for address in ["127.0.0.1:0", "127.9.9.9:0", "[::1]:0", "localhost:0"] {
        drop(builder().await.unwrap().bind(address).await.expect(address));
    }
    let named = builder().allow_anonymous().await.unwrap();
    drop(named.bind("0.0.0.0:0").await.expect("it was named"));
    let known = builder().authenticate(keys()).await.unwrap();
    drop(known.bind("0.0.0.0:0").await.expect("it asks"));
}

#[tokio::test]
async fn each_agent_of_a_host_and_each_port_counts() {
    let open = builder().await.unwrap();
    let known = builder().authenticate(keys()).await.unwrap();
    let host = AgentHost::new().agent("/a", known).agent("/b", open);
    let error = host.bind("0.0.0.0:0").await.unwrap_err();
    assert!(error.to_string().contains(".allow_anonymous()"), "{error}");

    let grpc = |address: &str| {
        let target = "agents.example:50051";
        builder().grpc(GrpcAt::address(address)).grpc_target(target)
    };
    let error = grpc("0.0.0.0:0")
        .await
        .unwrap()
        .bind("127.0.0.1:0")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("\"0.0.0.0:0\""), "{error}");
    let near = grpc("127.0.0.1:0").await.unwrap();
    drop(near.bind("127.0.0.1:0").await.expect("both are near"));
}

#[tokio::test]
async fn nobody_is_anonymous_where_callers_are_known() {
    let error = builder()
        .authenticate(keys())
        .allow_anonymous()
        .await
        .unwrap_err();
    assert!(error.is_authentication(), "{error}");
    assert!(
        error.to_string().contains("take one of them out"),
        "{error}"
    );
}
