use std::time::Duration;

use llamon_agent::a2a::SecurityScheme;
use llamon_agent::server::auth::{Authenticate, Checked, Identity, Refusal, RequestHead, Security};
use llamon_agent::server::{AgentError, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_flow::check::{Cards, check};
use llamon_itest::agents::card;

use super::support::{completed, failed, input, plan, runner};

/// A variable that is set in every test, whatever its value.
const SET: &str = "CARGO_PKG_NAME";

/// Knows whoever sends what the variable has.
struct OfTheVariable;

impl Authenticate for OfTheVariable {
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
        Box::pin(async move {
            let expected = format!("Bearer {}", std::env::var(SET).unwrap());
            match request.header("authorization") {
                Some(sent) if sent == expected => Ok(Identity::new("runner")),
                _ => Err(Refusal::unauthenticated("Bearer", "send a token")),
            }
        })
    }

    fn security(&self) -> Security {
        Security::one("bearer", SecurityScheme::http("bearer"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_s_token_is_that_of_its_variable_in_runs_and_checks() {
    let agent = |turn: Turn| async move {
        Ok::<_, AgentError>(turn.principal().unwrap_or("nobody").to_owned())
    };
    let server = create_server(card("closed"), agent).authenticate(OfTheVariable);
    let server = TestServer::start(server).await.unwrap();
    for (variable, expected) in [(SET, None), ("LLAMON_NOT_SET", Some("LLAMON_NOT_SET"))] {
        let plan = plan(&format!(
            "agents:
  closed: {{url: '{}', bearer_env: {variable}}}
steps:
  s: {{agent: closed, from: [input]}}
outputs: [s]
",
            server.url()
        ));
        let cards = Cards::fetch(&plan, Duration::from_secs(20)).await;
        let report = check(&plan, &cards);
        let found: Vec<String> = report.findings().iter().map(ToString::to_string).collect();
        let (_, stand) = runner().run(&plan, input()).await.unwrap();
        match expected {
            None => {
                assert!(found.is_empty(), "{found:?}");
                assert_eq!(completed(stand), [r#"{"text":"runner"}"#]);
            }
            Some(expected) => {
                assert!(found.concat().contains(expected), "{found:?}");
                let reason = failed(stand);
                assert!(reason.contains(expected), "{reason}");
            }
        }
    }
}
