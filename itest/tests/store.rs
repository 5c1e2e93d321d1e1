//! A server on a store that fails: at any operation, for want of space, under a clock that jumps.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise, also in its helpers"
)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::StreamExt as _;
use futures_util::stream;
use llamon_agent::prelude::{AgentError, Answer, Execution, Turn, create_server};
use llamon_agent::server::Clock;
use llamon_agent::server::backend::sqlite::{SqliteStore, StoreFile};
use llamon_agent::server::backend::{Backend, StoreError};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Gate, card, patient, start, until};
use llamon_itest::hooked::{Call, Hook, Hooked, When};
use llamon_itest::outcome::Outcome;
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, Wire, peers};

const UP: &str = r#"{"data":"up"}"#;
const INTERVAL: Duration = Duration::from_millis(20);

/// Says its query in words, or waits, asks or fails as its first word says.
async fn agent(turn: Turn) -> Result<Answer, AgentError> {
    match turn.query() {
        "forever" => turn.cancelled().await,
        "ask" => {
            turn.emit("before ").await?;
            let reply = turn.ask("Go on?").await?;
            turn.emit(reply.text()).await?;
        }
        "fail" => return Err(AgentError::public("as asked")),
        query => {
            for word in query.split_inclusive(' ') {
                turn.emit(word).await?;
            }
        }
    }
    Ok(Answer::completed(())?)
}

async fn serve(backend: Arc<dyn Backend>) -> TestServer {
    let server = create_server(card("agent"), agent)
        .upstream_parts_policy("append")
        .hitl()
        .backend(backend)
        .execution(Execution::AtLeastOnce { max_attempts: 10 })
        .cancel_grace(Duration::from_millis(10))
        .upkeep_interval(INTERVAL);
    start(server).await
}

// === the nth operation fails ===

/// How an operation fails.
#[derive(Clone, Copy, Debug)]
enum Failure {
    /// It does not happen.
    Broken,
    /// It does not happen: there is no space.
    Full,
    /// It happens, and its success gets lost.
    AckLost,
}

/// Fails one operation, once.
struct FailsAt {
    at: usize,
    failure: Failure,
    count: AtomicUsize,
}

impl Hook for FailsAt {
    fn at(&self, when: When, call: Call<'_>) -> Result<(), StoreError> {
        // What looks after the store comes at any time, so it would make the count another one.
        if matches!(
            call,
            Call::Enlist | Call::Held | Call::Sweep | Call::Waiting | Call::Health
        ) {
            return Ok(());
        }
        let is_it = |count: usize| count == self.at;
        match (when, self.failure) {
            (When::Before, failure) => {
                let it = is_it(self.count.fetch_add(1, Ordering::SeqCst));
                match failure {
                    Failure::Broken if it => Err(StoreError::Failed("a broken disk".to_owned())),
                    Failure::Full if it => Err(StoreError::NoSpace("a full disk".to_owned())),
                    _ => Ok(()),
                }
            }
            (When::After, Failure::AckLost) if is_it(self.count.load(Ordering::SeqCst) - 1) => {
                // Once.
                self.count.fetch_add(1, Ordering::SeqCst);
                Err(StoreError::Failed("nobody heard of it".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

/// What a client was told of a task.
struct Told {
    id: String,
    /// What its artifacts say at its end.
    text: &'static str,
    state: &'static str,
}

/// A day's work, one call after the other; what clients were told of it.
async fn a_day(peer: &Peer) -> Vec<Told> {
    const DONE: &str = "TASK_STATE_COMPLETED";
    let mut told = Vec::new();
    let mut tell = |task: &Raw, text, state| {
        let id = task.string("id");
        told.push(Told { id, text, state });
    };
    if let Ok(task) = peer.call(Op::Send(&Say::text("one two three"))).await {
        tell(&task.find("task").unwrap_or(task), "one two three", DONE);
    }
    if let Ok(mut events) = peer.open(Op::Stream(&Say::text("four five"))).await {
        if let Some(first) = events.next().await.and_then(|event| event.find("task")) {
            tell(&first, "four five", DONE);
        }
        while events.next().await.is_some() {}
    }
    if let Ok(task) = peer.call(Op::Send(&Say::text("fail"))).await {
        tell(&task.find("task").unwrap_or(task), "", "TASK_STATE_FAILED");
    }
    if let Ok(task) = peer.call(Op::Send(&Say::text("forever").at_once())).await {
        let task = task.find("task").unwrap_or(task);
        // A cancel that was refused can be asked for again.
        let mut canceled = peer.call(Op::Cancel(&task.string("id"))).await;
        for _ in 0..3 {
            if canceled.is_err() {
                canceled = peer.call(Op::Cancel(&task.string("id"))).await;
            }
        }
        tell(&task, "", "TASK_STATE_CANCELED");
    }
    if let Ok(task) = peer.call(Op::Send(&Say::text("ask"))).await {
        let task = task.find("task").unwrap_or(task);
        let id = task.string("id");
        let waiting = until_settled(peer, &id).await;
        assert_eq!(waiting.state, "TASK_STATE_INPUT_REQUIRED");
        let answer = Say::text("yes").in_task(&id);
        let mut answered = peer.call(Op::Send(&answer)).await.is_ok();
        for _ in 0..3 {
            // If the answer was taken and the success got lost, the task goes on by itself.
            let state = until_settled(peer, &id).await.state;
            if answered || state != "TASK_STATE_INPUT_REQUIRED" {
                break;
            }
            answered = peer.call(Op::Send(&answer)).await.is_ok();
        }
        tell(&task, "before yes", DONE);
    }
    let _ = peer.call(Op::List(&[])).await;
    told
}

async fn until_settled(peer: &Peer, id: &str) -> Outcome {
    until(|| async {
        let outcome = Outcome::of_task(&peer.call(Op::Get(id)).await.ok()?);
        let working = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"];
        (!working.contains(&outcome.state.as_str())).then_some(outcome)
    })
    .await
}

/// Lives the day with one failure, and checks that every promise holds after it. Whether the
/// failure came to pass.
async fn survives(at: usize, failure: Failure) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let store = SqliteStore::open(&path).unwrap();
    let hook = FailsAt {
        at,
        failure,
        count: AtomicUsize::new(0),
    };
    let backend = Hooked::new(store.backend("agent"), hook);
    let server = serve(Arc::clone(&backend) as Arc<dyn Backend>).await;
    let peer = Peer::new(
        server.url(),
        if at.is_multiple_of(2) {
            Wire::JsonRpc
        } else {
            Wire::Rest
        },
    );
    let told = patient(a_day(&peer)).await;
    for told in &told {
        let what = format!("{failure:?} at {at}: {:?}", told.text);
        let outcome = until_settled(&peer, &told.id).await;
        // A turn whose output could not be stored for long may also have failed; never for one
        // failure, which is tried again.
        assert_eq!(outcome.state, told.state, "{what}: {outcome:?}");
        assert_eq!(outcome.content().text, told.text, "{what}: {outcome:?}");
    }
    // Nobody was told of some tasks; they end as well.
    for state in ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"] {
        until(|| async {
            let listed = peer.call(Op::List(&[("status", state)])).await.ok()?;
            let left = listed.list("tasks").len();
            (left == 0 || orphaned_forever(&peer, &listed).await).then_some(())
        })
        .await;
    }
    server.stop().await.unwrap();
    let passed = backend.hook().count.load(Ordering::SeqCst) > at;
    drop((backend, store));
    check_file(&path);
    passed
}

/// Whether what is left is the task that waits for its cancel and that nobody was told of.
async fn orphaned_forever(peer: &Peer, listed: &Raw) -> bool {
    for task in listed.list("tasks") {
        let task = peer.get(&task.string("id")).await;
        if task.list("history")[0].list("parts")[0].string("text") != "forever" {
            return false;
        }
    }
    true
}

fn check_file(path: &Path) {
    let report = StoreFile::open(path).unwrap().check().unwrap();
    assert!(report.problems.is_empty(), "{report:?}");
}

/// Every operation of the day fails once, a few days at a time.
async fn every_operation_fails_once(failure: Failure) {
    let mut from = 0;
    loop {
        let days = stream::iter(from..from + 16).map(|at| survives(at, failure));
        let passed: Vec<bool> = days.buffer_unordered(8).collect().await;
        from += 16;
        if passed.contains(&false) {
            break;
        }
    }
    assert!(from > 20, "a day has more operations than that");
}

#[tokio::test]
async fn whichever_operation_breaks_once_every_promise_holds() {
    every_operation_fails_once(Failure::Broken).await;
}

#[tokio::test]
async fn whichever_operation_has_no_space_once_every_promise_holds() {
    every_operation_fails_once(Failure::Full).await;
}

#[tokio::test]
async fn whichever_success_gets_lost_once_every_promise_holds() {
    every_operation_fails_once(Failure::AckLost).await;
}

// === a store that is down for longer ===

#[tokio::test]
async fn a_turn_that_ends_while_the_store_is_down_for_long_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("tasks.db")).unwrap();
    let down = Arc::new(AtomicBool::new(false));
    let is_down = Arc::clone(&down);
    let hook = move |when: When, call: Call<'_>| {
        let writes = matches!(call, Call::Commit(_) | Call::Release | Call::Claim);
        if when == When::Before && writes && is_down.load(Ordering::SeqCst) {
            return Err(StoreError::Failed("down".to_owned()));
        }
        Ok(())
    };
    let gate = Gate::new();
    let of_agent = gate.clone();
    let waits = move |turn: Turn| {
        let gate = of_agent.clone();
        async move {
            gate.pass().await;
            Ok::<_, AgentError>(format!("attempt {}", turn.attempt()))
        }
    };
    let builder = create_server(card("agent"), waits)
        .backend(Hooked::new(store.backend("agent"), hook) as Arc<dyn Backend>)
        .upkeep_interval(INTERVAL);
    let server = start(builder).await;
    let [peer, _] = peers(server.url());
    let (id, _events) = peer.begin(&Say::text("x")).await;
    down.store(true, Ordering::SeqCst);
    gate.open();
    // The turn gives up after some seconds; until then it has not ended.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(
        peer.get(&id).await.string("status.state"),
        "TASK_STATE_WORKING"
    );
    down.store(false, Ordering::SeqCst);
    let outcome = until_settled(&peer, &id).await;
    assert_eq!(outcome.content().text, "attempt 2", "{outcome:?}");
}

// === a full disk ===

#[tokio::test]
async fn a_full_disk_refuses_new_work_keeps_reading_and_recovers_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let store = SqliteStore::open(&path).unwrap();
    let server = serve(store.backend("agent")).await;
    let [rpc, rest] = peers(server.url());
    let first = rpc.send(&Say::text("hello")).await;
    let pages = StoreFile::open(&path).unwrap().stats().unwrap().file_bytes / 4096;
    let pages = u32::try_from(pages).unwrap();
    store.set_max_pages(Some(pages + 40)).await.unwrap();
    let large = "x".repeat(4000);
    let mut taken = Vec::new();
    let refused = loop {
        let say = Say::text(&large);
        match rest.call(Op::Send(&say)).await {
            Ok(task) => taken.push(task.find("task").unwrap_or(task).string("id")),
            Err(refused) => break refused,
        }
        assert!(taken.len() < 1_000, "the disk is never full");
    };
    assert_eq!(refused.code, 503, "{refused:?}");
    assert!(refused.body.contains("no space"), "{refused:?}");
    let refused = rpc.open(Op::Stream(&Say::text(&large))).await.unwrap_err();
    assert!(refused.body.contains("no space"), "{refused:?}");
    // Reading works, and what was answered is there, whole.
    assert_eq!(rpc.get(&first.string("id")).await.text(), first.text());
    let listed = rest.call(Op::List(&[("pageSize", "100")])).await.unwrap();
    assert!(listed.list("tasks").len() > taken.len());
    store.set_max_pages(None).await.unwrap();
    let after = rest.send(&Say::text("again")).await;
    assert_eq!(Outcome::of_task(&after).content().text, "again");
    for id in &taken {
        let outcome = until_settled(&rpc, id).await;
        assert_eq!(outcome.state, "TASK_STATE_COMPLETED");
        assert_eq!(outcome.content().text, large);
    }
    server.stop().await.unwrap();
    drop(store);
    check_file(&path);
}

// === a clock that jumps ===

#[tokio::test]
async fn a_clock_that_jumps_by_a_day_makes_no_turn_run_twice() {
    let day = Duration::from_secs(24 * 60 * 60);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let ticks = Arc::new(AtomicUsize::new(0));
    let jumping = move || {
        #[expect(clippy::disallowed_methods, reason = "the clock that jumps")]
        let real = SystemTime::now();
        match ticks.fetch_add(1, Ordering::SeqCst) % 3 {
            0 => real,
            1 => real + day,
            _ => real - day,
        }
    };
    let clock = Clock::of(jumping);
    // Two servers of one agent, on two handles of the store as two processes have them.
    let stores = [(); 2].map(|()| {
        SqliteStore::options()
            .clock(clock.clone())
            .open(&path)
            .unwrap()
    });
    let gate = Gate::new();
    let mut servers = Vec::new();
    for store in &stores {
        let gate = gate.clone();
        let agent = move |turn: Turn| {
            let gate = gate.clone();
            async move {
                turn.emit("begun ").await?;
                gate.pass().await;
                Ok::<_, AgentError>(format!("attempt {}", turn.attempt()))
            }
        };
        let builder = create_server(card("agent"), agent)
            .backend(store.backend("agent"))
            .clock(clock.clone())
            .upkeep_interval(Duration::from_millis(5));
        servers.push(start(builder).await);
    }
    let peers: Vec<Peer> = servers
        .iter()
        .map(|server| Peer::new(server.url(), Wire::Rest))
        .collect();
    let mut ids = Vec::new();
    for peer in peers.iter().cycle().take(20) {
        ids.push(
            peer.send(&Say::text("x").with(&[UP]).at_once())
                .await
                .string("id"),
        );
    }
    // Both look after the store many times while the turns run.
    tokio::time::sleep(Duration::from_millis(200)).await;
    gate.open();
    for (id, peer) in ids.iter().zip(peers.iter().rev().cycle()) {
        // Read through the other server.
        let outcome = until_settled(peer, id).await;
        assert_eq!(outcome.content().text, "attempt 1", "{outcome:?}");
    }
}

// === size ===

#[tokio::test]
async fn ten_agents_that_append_keep_a_large_part_once() {
    const AGENTS: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let size = || std::fs::metadata(&path).unwrap().len();
    let store = SqliteStore::open(&path).unwrap();
    let mut servers = Vec::new();
    for index in 0..AGENTS {
        let agent = async |turn: Turn| -> Result<String, AgentError> {
            Ok(turn.upstream().files().count().to_string())
        };
        let builder = create_server(card("agent"), agent)
            .upstream_parts_policy("append")
            .backend(store.backend(format!("agent {index}")));
        servers.push(start(builder).await);
    }
    drop(store);
    let before = size();
    let file = format!(
        r#"{{"raw":"{}","filename":"scan.bin"}}"#,
        "QUJD".repeat(5 * 1024 * 1024 / 4)
    );
    let twice = format!(r#"{{"raw":"{}"}}"#, "REVG".repeat(3_000));
    let mut say = Say::text("go").with(&[&file, &twice, &twice]);
    for server in &servers {
        let [peer, _] = peers(server.url());
        let outcome = Outcome::of_task(&peer.send(&say).await);
        let content = outcome.content();
        // The same part twice comes back twice, and as it was.
        assert_eq!(content.text, "3");
        let expected = [&file, &twice, &twice];
        assert!(
            content.files.iter().eq(expected),
            "{} files",
            content.files.len()
        );
        say = Say::text("on").with(&content.files.iter().map(|f| &**f).collect::<Vec<_>>());
    }
    for server in servers {
        server.stop().await.unwrap();
    }
    // The last one to close the store writes its log back.
    until(|| async { (!path.with_extension("db-wal").exists()).then_some(()) }).await;
    let grown = size() - before;
    assert!(
        grown < 8 * 1024 * 1024,
        "the store has grown by {grown} bytes"
    );
    check_file(&path);
}
