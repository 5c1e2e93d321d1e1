//! What agents that record nothing carry on.

use std::sync::Arc;
use std::time::Duration;

use llamon_agent::client::trace::{TraceContext, within};
use llamon_agent::client::{Binding, Client, Outgoing};
use llamon_agent::core::{Part, Payload};
use llamon_agent::flow::WorkflowAgent;
use llamon_agent::flow::run::{Runner, Stand, trace_of};
use llamon_agent::flow::store::RunStore;
use llamon_agent::server::backend::sqlite::SqliteStore;
use llamon_agent::server::{AgentError, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::card;
use llamon_itest::call::Caller;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::support::{plan, relay, seen, witness};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn message(text: &str) -> String {
    format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_s_trace_reaches_the_agent_behind_the_agent_in_every_binding() {
    let last = witness("last").await;
    for between in [Binding::JsonRpc, Binding::Rest, Binding::Grpc] {
        let client = last.client_with(between).await.unwrap();
        let first = relay("first", client).await;
        for caller in Caller::all(first.url()) {
            let caller = caller.with("traceparent", PARENT);
            let caller = caller.with("tracestate", "vendor=1,other=2");
            let reply = caller.call("SendMessage", &message("?")).await.unwrap();
            let expected = format!("{PARENT} vendor=1,other=2");
            assert!(reply.text().contains(&expected), "{caller:?} {between}");
            let events = caller.open("SendStreamingMessage", &message("?")).await;
            let events = events.unwrap().rest().await;
            let said: String = events.iter().map(|event| event.text().to_owned()).collect();
            assert!(said.contains(&expected), "{caller:?} {between}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_is_not_well_formed_is_none() {
    let agent = witness("agent").await;
    for caller in Caller::all(agent.url()) {
        for parent in [
            "",
            "00-xyz",
            &PARENT.to_uppercase(),
            &PARENT.replace("00-", "ff-"),
        ] {
            let caller = caller.clone().with("traceparent", parent);
            let reply = caller.call("SendMessage", &message("?")).await.unwrap();
            assert!(
                reply.text().contains("none"),
                "{parent:?}: {}",
                reply.text()
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_another_process_goes_on_with_is_still_of_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    let begun = Arc::new(Notify::new());
    let start = async || {
        let store = SqliteStore::open(folder.path().join("tasks.db")).unwrap();
        let begun = Arc::clone(&begun);
        let agent = move |turn: Turn| {
            let begun = Arc::clone(&begun);
            async move {
                if turn.attempt() == 1 {
                    begun.notify_one();
                    std::future::pending::<()>().await;
                }
                Ok::<_, AgentError>(seen(&turn))
            }
        };
        let server = create_server(card("durable"), agent)
            .store(&store)
            .cancel_grace(Duration::ZERO)
            .shutdown_grace(Duration::ZERO);
        TestServer::start(server).await.unwrap()
    };
    let server = start().await;
    let client = server.client().clone();
    let trace = TraceContext::parse(PARENT, None);
    let sent = client.send(Outgoing::from("work").return_immediately());
    let sent = within(trace, Span::none(), sent).await.unwrap();
    begun.notified().await;
    server.stop().await.unwrap();

    let server = start().await;
    let id = sent.task().unwrap().id.to_string();
    let reply = match server.client().subscribe(&id).await {
        Ok(events) => events.finish().await.unwrap().text(),
        // It has ended already.
        Err(_) => {
            let task = server.client().get(&id).await.unwrap();
            let parts = task.artifacts.iter().flat_map(|made| made.parts.iter());
            parts.filter_map(Part::as_text).collect()
        }
    };
    assert_eq!(reply, PARENT);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_one_trace_whoever_goes_on_with_it() {
    let witness = witness("witness").await;
    let plan = plan(&format!(
        "steps:
  one: {{agent: '{url}', from: [input]}}
  two: {{agent: '{url}', from: [one]}}
outputs: [one, two]
",
        url = witness.url()
    ));
    let folder = tempfile::tempdir().unwrap();
    let run = {
        let store = RunStore::open(folder.path().join("runs.db")).unwrap();
        let runner = Runner::new(store);
        let run = runner
            .begin(&plan, Payload::new().with_text("go"))
            .await
            .unwrap();
        let stop = CancellationToken::new();
        stop.cancel();
        let stand = runner.drive(&run, &(), &stop).await.unwrap();
        assert!(matches!(stand, Stand::Parked));
        run
    };
    let runner = Runner::new(RunStore::open(folder.path().join("runs.db")).unwrap());
    let stand = runner.drive(&run, &(), &CancellationToken::new()).await;
    let Stand::Ended { answer, .. } = stand.unwrap() else {
        panic!("it did not end");
    };
    let texts: Vec<_> = answer.parts().iter().filter_map(Part::as_text).collect();
    assert_eq!(texts, [trace_of(&run).traceparent(); 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_is_served_works_in_its_caller_s_trace() {
    let witness = witness("witness").await;
    let inner = plan(&format!(
        "steps:\n  s: {{agent: '{}', from: [input]}}\noutputs: [s]\n",
        witness.url()
    ));
    let agent = WorkflowAgent::new(inner, Runner::new(RunStore::in_memory().unwrap()));
    let server = TestServer::start(create_server(card("workflow"), agent));
    let server = server.await.unwrap();
    let trace = TraceContext::parse(PARENT, None);
    let client: Client = server.client().clone();
    let reply = within(trace, Span::none(), client.send("go"))
        .await
        .unwrap();
    assert_eq!(reply.text(), PARENT);
}
