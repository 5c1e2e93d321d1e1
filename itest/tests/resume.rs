//! The client's streams over connections that break: at random bytes, and with their server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use llamon_agent::a2a::{StreamEvent, TaskState};
use llamon_agent::client::{Binding, Client, EventStream};
use llamon_agent::core::{Json, Part};
use llamon_agent::server::{Answer, Turn};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::durable::{answer_of, text_of};
use llamon_itest::process::Process;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// What somebody sees who takes the events one by one.
#[derive(Debug, Default)]
struct Seen {
    text: String,
    data: Vec<String>,
    /// Updates that replaced an artifact which was there.
    replaced: usize,
    events: usize,
}

impl Seen {
    fn take(&mut self, event: &StreamEvent) {
        self.events += 1;
        let (artifacts, append) = match event {
            StreamEvent::Task(task) => (task.artifacts.clone(), false),
            StreamEvent::Artifact(update) => (vec![update.artifact.clone()], update.append),
            StreamEvent::Status(_) | StreamEvent::Message(_) => return,
        };
        for artifact in artifacts {
            let is_first = self.text.is_empty() && self.data.is_empty();
            if !append && !is_first {
                self.replaced += 1;
                self.text.clear();
                self.data.clear();
            }
            for part in &artifact.parts {
                self.text.extend(part.as_text());
                self.data.extend(part.data_json().map(str::to_owned));
            }
        }
    }
}

// === cut at random bytes ===

/// Passes bytes on, and cuts each connection after as many bytes of answers as chance says.
struct Cutting {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    running: JoinHandle<()>,
}

/// More than a whole task and its head has, so that not every continuation fails.
const LONGEST: u64 = 12_000;

impl Cutting {
    async fn before(target: String, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::clone(&connections);
        let running = tokio::spawn(async move {
            let mut chance = seed;
            while let Ok((near, _)) = listener.accept().await {
                // Knuth's MMIX generator; its upper bits are the good ones.
                chance = chance
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let budget = (chance >> 33) % LONGEST;
                accepted.fetch_add(1, Ordering::SeqCst);
                let far = TcpStream::connect(&target).await.expect("the server");
                tokio::spawn(pass(near, far, budget as usize));
            }
        });
        Self {
            address,
            connections,
            running,
        }
    }
}

impl Drop for Cutting {
    fn drop(&mut self) {
        self.running.abort();
    }
}

async fn pass(near: TcpStream, far: TcpStream, mut budget: usize) {
    let (mut from_client, mut to_client) = near.into_split();
    let (mut from_server, mut to_server) = far.into_split();
    let asking = tokio::spawn(async move {
        // Either side may be gone; what matters is what the client makes of it.
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    });
    let mut bytes = [0; 2_048];
    while budget > 0 {
        let room = bytes.len().min(budget);
        let Ok(read @ 1..) = from_server.read(&mut bytes[..room]).await else {
            break;
        };
        if to_client.write_all(&bytes[..read]).await.is_err() {
            break;
        }
        budget -= read;
    }
    asking.abort();
}

const WORDS: usize = 250;

/// Says words as fast as the test lets it, with data in between.
async fn slow_server(permits: Arc<Semaphore>) -> TestServer {
    let agent = move |turn: Turn| {
        let permits = Arc::clone(&permits);
        async move {
            for number in 0..WORDS {
                permits.acquire().await?.forget();
                turn.emit(format!("단어{number} ")).await?;
                if number % 50 == 49 {
                    turn.emit(Json(number)).await?;
                }
            }
            Ok(Answer::completed(())?)
        }
    };
    start(llamon_agent::server::create_server(card("slow"), agent)).await
}

/// A client of the server that reaches it through the proxy only.
fn client_through(server: &TestServer, proxy: &Cutting, binding: Binding) -> Client {
    let url = format!("http://{}", proxy.address);
    let card = server.client().card_json().replace(server.url(), &url);
    assert!(card.contains(&url), "{card}");
    let builder = Client::builder().binding(binding);
    builder.with_card(&card, &url).expect("a client")
}

async fn cut_again_and_again(binding: Binding, seed: u64) -> usize {
    let permits = Arc::new(Semaphore::new(20));
    let server = slow_server(Arc::clone(&permits)).await;
    let target = server.url().trim_start_matches("http://").to_owned();
    let proxy = Cutting::before(target, seed).await;
    let client = client_through(&server, &proxy, binding);
    // The first event has to arrive: before it nobody knows of a task that could be continued.
    let mut stream: EventStream = loop {
        if let Ok(mut stream) = client.stream("go").await
            && let Some(Ok(_)) = stream.next().await
        {
            break stream;
        }
        permits.add_permits(20);
    };
    let mut seen = Seen::default();
    while let Some(event) = stream.next().await {
        seen.take(&event.expect("a stream that goes on"));
        // Whatever was said meanwhile, there is more to come than was seen.
        permits.add_permits(3);
    }
    let text: String = (0..WORDS).map(|number| format!("단어{number} ")).collect();
    let data: Vec<String> = (49..WORDS).step_by(50).map(|n| n.to_string()).collect();
    assert_eq!(seen.replaced, 0, "{binding} {seed}: a text came twice");
    assert!(
        seen.text == text,
        "{binding} {seed}: {:?} is not {text:?}",
        seen.text
    );
    assert_eq!(seen.data, data, "{binding} {seed}");
    let id = stream.task_id().expect("a task").to_owned();
    let reply = stream.finish().await.expect("an answer");
    assert_eq!(reply.state(), Some(TaskState::Completed));
    let stored = server.client().get(&id).await.expect("the task");
    assert_eq!(reply.payload().parts(), stored.payload().parts());
    assert_eq!(reply.text(), text);
    proxy.connections.load(Ordering::SeqCst)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_over_connections_that_are_cut_at_random_bytes_says_everything_once() {
    let seeds = 1..=6_u64;
    let runs = seeds.flat_map(|seed| {
        [Binding::JsonRpc, Binding::Rest].map(|binding| cut_again_and_again(binding, seed))
    });
    let connections: Vec<usize> = join_all(runs).await;
    let cuts: usize = connections.iter().map(|count| count - 1).sum();
    assert!(cuts > 2 * connections.len(), "{connections:?}");
}

// === with the server ===

#[derive(Clone, Copy, Debug)]
enum Stop {
    Killed,
    Asked,
}

async fn restarted(binding: Binding, how: Stop) {
    let folder = tempfile::tempdir().expect("a folder");
    let start = |address: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_durable-agent"));
        command.arg(folder.path().join("tasks.db")).arg(address);
        Process::of(&mut command)
    };
    let mut server = start("127.0.0.1:0");
    let address = server.url().trim_start_matches("http://");
    let address = address.trim_end_matches('/').to_owned();
    let client = Client::builder().binding(binding);
    let client = client.discover(server.url()).await.expect("a client");
    let words: Vec<String> = (0..300).map(|word| format!("w{word}")).collect();
    let query = words.join(" ");
    let message = llamon_agent::client::Outgoing::text(&query)
        .with_part(Part::from_json(r#"{"data":{"n":1e400}}"#).expect("a part"));
    let mut stream = client.stream(message).await.expect("a stream");
    let mut seen = Seen::default();
    while seen.text.len() < 100 {
        let event = stream.next().await.expect("an event");
        seen.take(&event.expect("no error"));
    }
    match how {
        Stop::Killed => server.kill(),
        Stop::Asked => {
            server.signal("TERM");
            server.ended().await;
            drop(server);
        }
    }
    let _server = start(&address);
    while let Some(event) = stream.next().await {
        seen.take(&event.expect("a stream that goes on"));
    }
    let text = text_of(&query);
    assert!(seen.text == text, "{how:?}: {:?}", seen.text);
    // Another attempt begins its output anew, once.
    assert!(seen.replaced <= 1, "{how:?}: {}", seen.replaced);
    let reply = stream.finish().await.expect("an answer");
    assert_eq!(reply.state(), Some(TaskState::Completed));
    assert_eq!(reply.text(), text);
    assert_eq!(reply.data(), seen.data);
    let own = answer_of(&query, 1).to_string();
    assert_eq!(reply.data(), [&*own, r#"{"n":1e400}"#]);
}

#[tokio::test]
async fn a_stream_goes_on_after_its_server_was_killed_and_started_again() {
    restarted(Binding::JsonRpc, Stop::Killed).await;
    restarted(Binding::Rest, Stop::Killed).await;
}

#[tokio::test]
async fn a_stream_goes_on_after_an_orderly_stop_and_a_new_start() {
    restarted(Binding::JsonRpc, Stop::Asked).await;
    restarted(Binding::Rest, Stop::Asked).await;
}
