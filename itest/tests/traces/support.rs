use llamon_agent::client::Client;
use llamon_agent::core::Json;
use llamon_agent::flow::Plan;
use llamon_agent::server::{AgentError, GrpcAt, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::card;

/// The trace of a turn, as its agent sees it: parent and state.
pub(crate) fn seen(turn: &Turn) -> String {
    match turn.trace() {
        None => "none".to_owned(),
        Some(trace) => [Some(trace.traceparent()), trace.tracestate()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// An agent that says which trace it works in, and has a data part.
pub(crate) async fn witness(name: &str) -> TestServer {
    let agent = |turn: Turn| async move { Ok::<_, AgentError>((seen(&turn), Json("seen"))) };
    let server = create_server(card(name), agent).grpc(GrpcAt::SamePort);
    TestServer::start(server).await.unwrap()
}

/// An agent that passes on what another one says of its trace.
pub(crate) async fn relay(name: &str, client: Client) -> TestServer {
    let agent = move |turn: Turn| {
        let client = client.clone();
        async move {
            let reply = client.send(turn.query()).await?;
            Ok::<_, AgentError>(reply.text())
        }
    };
    let server = create_server(card(name), agent).grpc(GrpcAt::SamePort);
    TestServer::start(server).await.unwrap()
}

pub(crate) fn plan(yaml: &str) -> Plan {
    Plan::from_yaml(yaml).unwrap_or_else(|error| panic!("{error}"))
}
