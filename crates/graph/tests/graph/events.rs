//! What a run tells.

use std::sync::Arc;

use futures_util::StreamExt as _;
use llamon_graph::{
    END, EventData, Graph, GraphStream, MemorySaver, Mode, NodeContext, RunConfig, START,
    StateGraph,
};
use serde_json::json;
use tokio::sync::Barrier;

use crate::support::{Log, finished, log, logged, soon};

const ALL: [Mode; 7] = [
    Mode::Values,
    Mode::Updates,
    Mode::Custom,
    Mode::Messages,
    Mode::Tasks,
    Mode::Checkpoints,
    Mode::Debug,
];

/// Three nodes that tell much and meet at a barrier of three.
fn barrier() -> Graph<Log> {
    let barrier = Arc::new(Barrier::new(3));
    let meet = move |name: &'static str| {
        let barrier = barrier.clone();
        move |_: Log, context: NodeContext| {
            let barrier = barrier.clone();
            async move {
                for piece in 0..200 {
                    context.token(format!("{name}{piece}")).await;
                    context.write(json!({ name: piece })).await;
                }
                barrier.wait().await;
                for piece in 200..400 {
                    context.token(format!("{name}{piece}")).await;
                }
                Ok(logged(name))
            }
        }
    };
    let mut graph = StateGraph::<Log>::new("barrier");
    for name in ["a", "b", "c"] {
        graph = graph
            .node(name, meet(name))
            .edge(START, name)
            .edge(name, END);
    }
    graph.compile().unwrap().with_saver(MemorySaver::new())
}

#[tokio::test]
async fn three_nodes_that_meet_at_a_barrier_finish_in_every_mode_and_no_event_is_lost() {
    let graph = barrier();
    let each = ALL.iter().map(|mode| vec![*mode]);
    for (run, modes) in each.chain([ALL.to_vec(), Vec::new()]).enumerate() {
        let config = RunConfig::thread(run.to_string()).modes(modes.clone());
        let read = async {
            let mut stream = graph.stream(Log::update(), config);
            let mut tokens = [0; 3];
            let mut customs = 0;
            while let Some(event) = stream.next().await {
                match event.data {
                    EventData::Token(text) => {
                        // In the order in which the node gave them.
                        let node = usize::from(text.as_bytes()[0] - b'a');
                        assert_eq!(text[1..], tokens[node].to_string());
                        tokens[node] += 1;
                    }
                    EventData::Custom(_) => customs += 1,
                    _ => {}
                }
            }
            finished(stream.outcome().await);
            (tokens, customs)
        };
        let (tokens, customs) = soon(read).await;
        let wants = |mode| modes.contains(&mode);
        assert_eq!(tokens, [if wants(Mode::Messages) { 400 } else { 0 }; 3]);
        assert_eq!(customs, if wants(Mode::Custom) { 600 } else { 0 });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_events_nobody_wants_to_wait_for_finishes() {
    let graph = barrier();
    let stream = graph.stream(Log::update(), RunConfig::thread("t").modes(ALL));
    finished(soon(stream.outcome()).await);
}

#[tokio::test]
async fn no_event_is_lost_when_many_runs_are_read_in_one_task() {
    let graph = StateGraph::<Log>::new("short")
        .node("a", log("a"))
        .edge(START, "a")
        .edge("a", END)
        .compile()
        .unwrap();
    // A task that never waits is told by the runtime, now and then, that a channel is not ready.
    for _ in 0..300 {
        let config = RunConfig::default().modes([Mode::Values, Mode::Updates]);
        assert_eq!(graph.stream(logged("in"), config).count().await, 3);
    }
}

async fn told(stream: GraphStream<Log>) -> Vec<String> {
    stream
        .map(|event| {
            let node = event.node.unwrap_or_default();
            let what = match event.data {
                EventData::Values(values) => format!("values {}", values["log"]),
                EventData::Update { update, cached } => format!("update {update} {cached}"),
                EventData::Interrupt(open) => format!("interrupt {}", open.len()),
                EventData::Custom(value) => format!("custom {value}"),
                EventData::Token(text) => format!("token {text}"),
                EventData::TaskStarted { .. } => "start".to_owned(),
                EventData::TaskFinished {
                    error, interrupts, ..
                } => {
                    format!("finish {error:?} {}", interrupts.len())
                }
                EventData::Checkpoint { next, .. } => format!("checkpoint {next:?}"),
                other => panic!("{other:?}"),
            };
            format!("{} {node} {what}", event.step)
        })
        .collect()
        .await
}

#[tokio::test]
async fn several_modes_come_in_one_order() {
    let talks = |_: Log, context: NodeContext| async move {
        context.write("custom").await;
        context.token("token").await;
        Ok(logged("talks"))
    };
    let graph = StateGraph::<Log>::new("modes")
        .node("talks", talks)
        .node("last", log("last"))
        .edge(START, "talks")
        .edge("talks", "last")
        .edge("last", END)
        .compile()
        .unwrap()
        .with_saver(MemorySaver::new());
    let config = RunConfig::thread("t").modes(ALL);
    let told = told(graph.stream(logged("in"), config)).await;
    assert_eq!(
        told,
        [
            "0  values [\"in\"]",
            "0  checkpoint [\"talks\"]",
            "1 talks start",
            "1 talks custom \"custom\"",
            "1 talks token token",
            "1 talks update {\"log\":[\"talks\"]} false",
            "1 talks finish None 0",
            "1  values [\"in\",\"talks\"]",
            "1  checkpoint [\"last\"]",
            "2 last start",
            "2 last update {\"log\":[\"last\"]} false",
            "2 last finish None 0",
            "2  values [\"in\",\"talks\",\"last\"]",
            "2  checkpoint []",
        ]
    );
}

#[tokio::test]
async fn updates_are_told_if_nothing_is_said() {
    let graph = StateGraph::<Log>::new("updates")
        .node("a", log("a"))
        .edge(START, "a")
        .edge("a", END)
        .compile()
        .unwrap();
    let told = told(graph.stream(Log::update(), RunConfig::default())).await;
    assert_eq!(told, ["1 a update {\"log\":[\"a\"]} false"]);
}

#[tokio::test]
async fn a_dropped_stream_stops_its_run() {
    let endless = |_: Log, context: NodeContext| async move {
        loop {
            context.token("again").await;
        }
        #[expect(unreachable_code, reason = "it says the type")]
        Ok(())
    };
    let graph = StateGraph::<Log>::new("endless")
        .node("a", endless)
        .edge(START, "a")
        .edge("a", END)
        .compile()
        .unwrap();
    let config = RunConfig::default().modes([Mode::Messages]);
    let mut stream = graph.stream(Log::update(), config);
    assert!(soon(stream.next()).await.is_some());
}
