//! Agents that call each other: how far that goes, how often, and what is passed on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use llamon_agent::a2a::TaskState;
use llamon_agent::client::{Binding, Client};
use llamon_agent::core::Limits;
use llamon_agent::server::adapters::A2aAdapter;
use llamon_agent::server::{AgentError, Answer, GrpcAt, Streaming, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_flow::run::Runner;
use llamon_flow::store::RunStore;
use llamon_flow::{Plan, WorkflowAgent};
use llamon_itest::agents::{Gate, card, patient, start};
use llamon_itest::call::Caller;
use llamon_itest::say::Say;
use tokio::sync::OnceCell;

/// An agent that another one is set for, later.
#[derive(Clone, Default)]
struct Relay {
    next: Arc<OnceCell<Client>>,
    turns: Arc<AtomicUsize>,
}

impl Relay {
    fn sends_to(&self, client: Client) {
        self.next.set(client).expect("it is set once");
    }

    /// Asks the next one, `calls` times, and fails as it does.
    async fn run(&self, turn: &Turn, calls: usize) -> Result<Answer, AgentError> {
        self.turns.fetch_add(1, Ordering::Relaxed);
        for _ in 0..calls {
            let next = self.next.get().expect("the next agent");
            let reply = turn.call(next, turn.query()).await?;
            if reply.state() != Some(TaskState::Completed) {
                return Err(AgentError::public(reply.status_text().unwrap_or_default()));
            }
        }
        Ok(Answer::completed(format!(
            "depth {}",
            turn.delegation().depth
        ))?)
    }
}

async fn serve(relay: &Relay, limits: Limits, streaming: Streaming, calls: usize) -> TestServer {
    let relay = relay.clone();
    let agent = move |turn: Turn| {
        let relay = relay.clone();
        async move { relay.run(&turn, calls).await }
    };
    let builder = create_server(card("relay"), agent)
        .limits(limits)
        .streaming(streaming);
    start(builder.grpc(GrpcAt::SamePort)).await
}

fn depth(max: u32) -> Limits {
    Limits::default().with_max_delegation_depth(max)
}

async fn client(server: &TestServer, binding: Binding) -> Client {
    let client = Client::builder().binding(binding).discover(server.url());
    client.await.expect("a client")
}

#[tokio::test]
async fn a_circle_stops_at_the_cap_and_everybody_learns_why() {
    for binding in [Binding::JsonRpc, Binding::Rest, Binding::Grpc] {
        for streaming in [Streaming::On, Streaming::Off] {
            let what = format!("{binding:?} {streaming:?}");
            let (a, b) = (Relay::default(), Relay::default());
            let server_a = serve(&a, depth(4), streaming, 1).await;
            let server_b = serve(&b, depth(4), streaming, 1).await;
            a.sends_to(client(&server_b, binding).await);
            b.sends_to(client(&server_a, binding).await);
            let caller = client(&server_a, Binding::JsonRpc).await;
            let reply = caller.send("go").await.expect("an answer");
            assert_eq!(reply.state(), Some(TaskState::Failed), "{what}");
            let said = reply.status_text().expect("a reason");
            assert!(said.contains("max_delegation_depth: 5 where 4"), "{said}");
            let turns = [&a, &b].map(|relay| relay.turns.load(Ordering::Relaxed));
            assert_eq!(turns, [3, 2], "{what}");
        }
    }
}

#[tokio::test]
async fn the_smallest_limit_on_the_way_holds() {
    for (first, second, turns) in [(8, 2, 3), (2, 8, 3), (0, 8, 1)] {
        let (a, b) = (Relay::default(), Relay::default());
        let server_a = serve(&a, depth(first), Streaming::On, 1).await;
        let server_b = serve(&b, depth(second), Streaming::On, 1).await;
        a.sends_to(client(&server_b, Binding::JsonRpc).await);
        b.sends_to(client(&server_a, Binding::JsonRpc).await);
        let reply = server_a.send("go").await.expect("an answer");
        assert_eq!(reply.state(), Some(TaskState::Failed));
        let made = [&a, &b].map(|relay| relay.turns.load(Ordering::Relaxed));
        assert_eq!(made.iter().sum::<usize>(), turns, "{first} {second}");
    }
}

#[tokio::test]
async fn an_adapter_that_leads_to_itself_stops_as_well() {
    let first = Relay::default();
    let entry = serve(&first, depth(8), Streaming::On, 1).await;
    let adapter = A2aAdapter::new(client(&entry, Binding::JsonRpc).await);
    let server = start(create_server(card("front"), adapter).limits(depth(5))).await;
    first.sends_to(client(&server, Binding::JsonRpc).await);
    let reply = server.send("go").await.expect("an answer");
    assert_eq!(reply.state(), Some(TaskState::Failed));
    let said = reply.status_text().expect("a reason");
    assert!(said.contains("max_delegation_depth: 6 where 5"), "{said}");
    assert_eq!(first.turns.load(Ordering::Relaxed), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_leads_to_itself_stops_as_well() {
    let first = Relay::default();
    let entry = serve(&first, depth(8), Streaming::On, 1).await;
    let steps = format!(
        "steps:\n  s: {{agent: '{}', from: [input]}}\noutputs: [s]\n",
        entry.url()
    );
    let plan = Plan::from_yaml(&steps).expect("a plan");
    let runner = Runner::new(RunStore::in_memory().expect("a store"));
    let workflow = create_server(card("workflow"), WorkflowAgent::new(plan, runner));
    let server = start(workflow.limits(depth(5))).await;
    first.sends_to(client(&server, Binding::JsonRpc).await);
    let reply = server.send("go").await.expect("an answer");
    assert_eq!(reply.state(), Some(TaskState::Failed));
    let said = reply.status_text().expect("a reason");
    assert!(said.contains("max_delegation_depth"), "{said}");
    assert_eq!(first.turns.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_turn_makes_so_many_calls() {
    for (allowed, calls, state) in [
        (3, 3, TaskState::Completed),
        (3, 4, TaskState::Failed),
        (0, 1, TaskState::Failed),
    ] {
        let (a, b) = (Relay::default(), Relay::default());
        let limits = Limits::default().with_max_calls_per_turn(allowed);
        let server_a = serve(&a, limits, Streaming::On, calls).await;
        let server_b = serve(&b, Limits::default(), Streaming::On, 0).await;
        a.sends_to(client(&server_b, Binding::JsonRpc).await);
        let reply = server_a.send("go").await.expect("an answer");
        assert_eq!(reply.state(), Some(state), "{allowed} {calls}");
        if state == TaskState::Failed {
            let said = reply.status_text().expect("a reason");
            let expected = format!("max_calls_per_turn: {} where {allowed}", allowed + 1);
            assert!(said.contains(&expected), "{said}");
        }
        assert_eq!(
            b.turns.load(Ordering::Relaxed),
            calls.min(allowed as usize),
            "{allowed} {calls}"
        );
    }
}

#[tokio::test]
async fn what_was_handed_on_too_often_is_refused_and_what_says_nonsense_too() {
    let relay = Relay::default();
    let server = serve(&relay, Limits::default(), Streaming::On, 0).await;
    let params = |delegation: &str| {
        let say = Say::text("go").json();
        let rest = say.strip_prefix('{').expect("an object");
        format!(r#"{{"metadata":{{"urn:llamon:ext:delegation:v1":{delegation}}},{rest}"#)
    };
    for caller in Caller::all(server.url()) {
        let what = format!("{:?}", caller.binding);
        for fine in [r#"{"depth":8}"#, r#"{"depth":1,"maxDepth":1,"x":[]}"#] {
            let sent = caller.call("SendMessage", &params(fine)).await;
            let task = sent.expect("an answer").at("task");
            assert_eq!(task.string("status.state"), "TASK_STATE_COMPLETED");
        }
        for method in ["SendMessage", "SendStreamingMessage"] {
            for (deep, limit) in [
                (r#"{"depth":9}"#, "9 where 8"),
                (r#"{"depth":9,"maxDepth":100}"#, "9 where 8"),
                (r#"{"depth":2,"maxDepth":1}"#, "2 where 1"),
                (r#"{"depth":4294967295}"#, "4294967295 where 8"),
            ] {
                let refused = caller.transcript(method, &params(deep)).await.refused;
                let refused = refused.expect("a refusal");
                assert_eq!(refused.reason, "UNSUPPORTED_OPERATION", "{what} {deep}");
                assert!(refused.message.contains(limit), "{what}: {refused:?}");
                assert!(refused.message.contains("max_delegation_depth"), "{what}");
            }
            for nonsense in ["[]", "null", r#"{"depth":"1"}"#, r#"{"depth":-1}"#, "{}"] {
                let refused = caller.transcript(method, &params(nonsense)).await.refused;
                let refused = refused.expect("a refusal");
                assert_eq!(refused.reason, "INVALID_PARAMS", "{what} {nonsense}");
                let place = "metadata.urn:llamon:ext:delegation:v1";
                assert!(refused.message.starts_with(place), "{what}: {refused:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_cancel_reaches_the_agent_that_was_called() {
    for streaming in [Streaming::On, Streaming::Off] {
        let begun = Gate::new();
        let says_begun = begun.clone();
        let waits = move |turn: Turn| {
            says_begun.open();
            async move {
                turn.cancelled().await;
                Ok::<_, AgentError>("stopped")
            }
        };
        let called = start(create_server(card("waits"), waits).streaming(streaming)).await;
        let relay = Relay::default();
        relay.sends_to(client(&called, Binding::JsonRpc).await);
        let server = serve(&relay, Limits::default(), Streaming::On, 1).await;
        let caller = client(&server, Binding::JsonRpc).await;
        let sent = caller.send(llamon_agent::client::Outgoing::text("go").return_immediately());
        let id = sent
            .await
            .expect("a task")
            .task()
            .expect("a task")
            .id
            .to_string();
        begun.pass().await;
        let canceled = patient(caller.cancel(&id)).await.expect("a canceled task");
        assert_eq!(canceled.status.state, TaskState::Canceled);
        let listed = client(&called, Binding::JsonRpc).await;
        let page = listed.list(Default::default()).await.expect("a page");
        let states: Vec<TaskState> = page.tasks.iter().map(|task| task.status.state).collect();
        assert_eq!(states, [TaskState::Canceled], "{streaming:?}");
    }
}
