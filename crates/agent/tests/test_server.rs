//! The server for tests reaches its agent where it is, whatever its card says.

use llamon_agent::client::Binding;
use llamon_agent::prelude::*;
use llamon_agent::testing::TestServer;

async fn echo(turn: Turn) -> Result<String, AgentError> {
    Ok(turn.query().to_owned())
}

fn card() -> AgentCard {
    AgentCard::new("echo", "Says it again", "1.0.0").skill(Skill::new("echo", "Echo", "Repeats"))
}

#[tokio::test]
async fn an_agent_with_a_public_url_is_reached_on_this_machine() {
    let server = create_server(card(), echo).public_url("https://agents.example.com/echo");
    let server = TestServer::start(server).await.unwrap();
    assert!(server.url().starts_with("http://127.0.0.1:"));
    assert_eq!(server.send("hello").await.unwrap().text(), "hello");
    for binding in [Binding::JsonRpc, Binding::Rest] {
        let client = server.client_with(binding).await.unwrap();
        assert_eq!(client.binding(), binding);
        assert_eq!(client.send("hello").await.unwrap().text(), "hello");
    }
    server.stop().await.unwrap();
}
