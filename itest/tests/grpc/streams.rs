//! Streams.

use llamon_agent::a2a::{StreamEvent, TaskState};
use llamon_agent::client::{EventStream, Outgoing};
use llamon_agent::core::Payload;
use llamon_agent::server::{AgentError, Turn, create_server};
use llamon_itest::agents::{End, Gate, Script, card};

use crate::support::{grpc, serve, serve_scripts};

async fn events(mut stream: EventStream) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event.expect("an event"));
    }
    events
}

#[tokio::test]
async fn a_stream_has_the_task_its_chunks_in_order_and_ends_with_the_status() {
    let script = ["one ", "two ", "three"].iter().fold(
        Script::returns(&[r#"{"data":{"done":true}}"#]),
        |script, text| script.emitting(&[&format!(r#"{{"text":"{text}"}}"#)]),
    );
    let server = serve_scripts("append", vec![script]).await;
    let grpc = grpc(&server).await;
    let message = || {
        Outgoing::text("go")
            .with_data(&serde_json::json!(["up"]))
            .unwrap()
    };
    let found = events(grpc.stream(message()).await.unwrap()).await;
    assert!(matches!(found.first(), Some(StreamEvent::Task(_))));
    assert_eq!(
        found.last().and_then(StreamEvent::state),
        Some(TaskState::Completed)
    );
    let reply = grpc
        .stream(message())
        .await
        .unwrap()
        .finish()
        .await
        .unwrap();
    assert_eq!(reply.text(), "one two three");
    assert_eq!(reply.data(), [r#"{"done":true}"#, r#"["up"]"#]);
    let stored = grpc.get(&reply.task().unwrap().id).await.unwrap();
    assert_eq!(stored.payload(), reply.payload());
}

#[tokio::test]
async fn a_direct_message_is_a_stream_of_one() {
    let message = Script::new(End::Message(vec![r#"{"text":"hello"}"#.to_owned()]));
    let builder = create_server(card("agent"), llamon_itest::agents::scripted(vec![message]));
    let server =
        serve(builder.task_visibility(llamon_agent::server::TaskVisibility::WithFirstOutput)).await;
    let found = events(grpc(&server).await.stream("go").await.unwrap()).await;
    assert!(matches!(&found[..], [StreamEvent::Message(_)]));
}

#[tokio::test]
async fn a_subscription_begins_with_the_task_and_lives_through_a_question() {
    let ask = Script::new(End::InputRequired("which?"));
    let server = serve_scripts(
        "replace",
        vec![ask, Script::returns(&[r#"{"text":"done"}"#])],
    )
    .await;
    let grpc = grpc(&server).await;
    let asked = grpc.stream("go").await.unwrap().finish().await.unwrap();
    assert_eq!(asked.state(), Some(TaskState::InputRequired));
    let id = asked.task().unwrap().id.to_string();
    let mut followed = grpc.subscribe(&id).await.unwrap();
    let first = followed.next().await.unwrap().unwrap();
    assert_eq!(first.state(), Some(TaskState::InputRequired));
    grpc.send(Outgoing::text("this").in_task(&*id))
        .await
        .unwrap();
    let reply = followed.finish().await.unwrap();
    assert_eq!(reply.state(), Some(TaskState::Completed));
    assert_eq!(reply.text(), "done");
}

#[tokio::test]
async fn a_dropped_stream_cancels_nothing() {
    let gate = Gate::default();
    let opened = gate.clone();
    let agent = move |turn: Turn| {
        let gate = gate.clone();
        async move {
            turn.emit("begun ").await?;
            gate.pass().await;
            Ok::<_, AgentError>(Payload::new().with_text("done"))
        }
    };
    let server = serve(create_server(card("agent"), agent)).await;
    let grpc = grpc(&server).await;
    let mut stream = grpc.stream("go").await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    let StreamEvent::Task(task) = first else {
        panic!("{first:?}");
    };
    drop(stream);
    let followed = grpc.subscribe(&task.id).await.unwrap();
    opened.open();
    let reply = followed.finish().await.unwrap();
    assert_eq!(reply.state(), Some(TaskState::Completed));
}

#[tokio::test]
async fn a_burst_loses_nothing() {
    const COUNT: usize = 5_000;
    let agent = |turn: Turn| async move {
        for n in 0..COUNT {
            turn.emit(format!("{n} ")).await?;
        }
        Ok::<_, AgentError>(())
    };
    let server = serve(create_server(card("agent"), agent)).await;
    let reply = grpc(&server).await.stream("go").await.unwrap();
    let text = reply.finish().await.unwrap().text();
    let expected: String = (0..COUNT).map(|n| format!("{n} ")).collect();
    assert_eq!(text, expected);
}

#[tokio::test]
async fn hundreds_of_streams_share_connections() {
    let server = serve_scripts("replace", vec![Script::new(End::AwaitCancel(Vec::new()))]).await;
    let grpc = grpc(&server).await;
    let mut streams = Vec::new();
    for _ in 0..200 {
        let mut stream = grpc.stream("go").await.unwrap();
        stream.next().await.unwrap().unwrap();
        streams.push(stream);
    }
    for stream in streams {
        grpc.cancel(stream.task_id().unwrap()).await.unwrap();
        let reply = stream.finish().await.unwrap();
        assert_eq!(reply.state(), Some(TaskState::Canceled));
    }
}
