use std::sync::{Arc, Mutex};

use llamon_agent::core::{Limits, Part, Payload};
use llamon_agent::server::{AgentError, Answer, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_flow::Plan;
use llamon_flow::run::{Runner, Stand};
use llamon_flow::store::{RunState, RunStore};
use llamon_itest::agents::card;

/// What an agent got, in the order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Got>>>);

#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) context: String,
    pub(crate) text: String,
    pub(crate) parts: Vec<String>,
}

impl Log {
    pub(crate) fn note(&self, turn: &Turn) {
        let parts = turn.message().parts.iter();
        self.0.lock().unwrap().push(Got {
            context: turn.context_id().to_owned(),
            text: turn.query().to_owned(),
            parts: parts.map(|part| part.json().to_owned()).collect(),
        });
    }

    pub(crate) fn all(&self) -> Vec<Got> {
        self.0.lock().unwrap().clone()
    }
}

/// An agent that answers with a text and one data part of its own, and keeps upstream or not.
pub(crate) async fn marker(name: &'static str, policy: &str, log: Log) -> TestServer {
    let agent = move |turn: Turn| {
        let log = log.clone();
        async move {
            log.note(&turn);
            let data = Part::from_json(format!(r#"{{"data":{{"by":"{name}"}}}}"#)).unwrap();
            let payload = Payload::new()
                .with_text(format!("{name} done"))
                .with_part(data);
            Ok::<_, AgentError>(payload)
        }
    };
    TestServer::start(create_server(card(name), agent).upstream_parts_policy(policy))
        .await
        .unwrap()
}

/// Serves a function.
pub(crate) async fn serve<F, Fut>(name: &str, agent: F) -> TestServer
where
    F: Fn(Turn) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Answer, AgentError>> + Send + 'static,
{
    let server = create_server(card(name), agent).limits(Limits::default());
    TestServer::start(server).await.unwrap()
}

pub(crate) fn plan(yaml: &str) -> Plan {
    Plan::from_yaml(yaml).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn runner() -> Runner {
    Runner::new(RunStore::in_memory().unwrap())
}

pub(crate) fn input() -> Payload {
    Payload::new()
        .with_text("begin")
        .with_part(Part::from_json(r#"{"data":{"n":1e400,"n":1.0}}"#).unwrap())
}

/// The answer of a run that completed.
pub(crate) fn completed(stand: Stand) -> Vec<String> {
    match stand {
        Stand::Ended {
            state: RunState::Completed,
            answer,
            ..
        } => answer
            .parts()
            .iter()
            .map(|part| part.json().to_owned())
            .collect(),
        other => panic!("not completed: {other:?}"),
    }
}

/// Why a run failed.
pub(crate) fn failed(stand: Stand) -> String {
    match stand {
        Stand::Ended {
            state: RunState::Failed,
            reason,
            ..
        } => reason.unwrap(),
        other => panic!("not failed: {other:?}"),
    }
}
