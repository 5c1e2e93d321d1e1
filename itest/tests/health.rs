//! `/healthz` and `/readyz`: for whoever starts, watches and replaces the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use llamon_agent::core::Limits;
use llamon_agent::server::backend::{Backend, MemoryBackend, StoreError};
use llamon_agent::server::{AgentError, AgentHost, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{Bound, card, patient, start, until};
use llamon_itest::hooked::{Call, Hooked, When};
use llamon_itest::http::{Connection, Request, Response, send};
use llamon_itest::say::Say;
use llamon_itest::wire::peers;

async fn agent(turn: Turn) -> Result<&'static str, AgentError> {
    if turn.query() == "wait" {
        turn.emit("begun").await?;
        turn.cancelled().await;
    }
    Ok("done")
}

async fn get(url: &str, path: &str) -> Response {
    send(url.trim_end_matches('/'), &Request::get(path)).await
}

async fn assert_is(url: &str, path: &str, status: u16, body: &str) {
    let response = get(url, path).await;
    assert_eq!((response.status, &*response.body), (status, body), "{path}");
}

#[tokio::test]
async fn a_server_that_takes_messages_is_alive_and_ready() {
    let server = start(create_server(card("agent"), agent)).await;
    assert_is(server.url(), "/healthz", 200, "alive\n").await;
    assert_is(server.url(), "/readyz", 200, "ready\n").await;
    for path in ["/healthz", "/readyz"] {
        let response = send(server.url().trim_end_matches('/'), &Request::post(path, "")).await;
        assert_eq!(response.status, 405, "{path}");
    }
    for path in ["/healthz/", "/readyz/x", "/health"] {
        assert_eq!(get(server.url(), path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn while_it_drains_it_is_not_ready_and_still_takes_messages() {
    let builder = create_server(card("agent"), agent).drain_delay(Duration::from_secs(600));
    let server = start(builder).await;
    let url = server.url().to_owned();
    let mut watching = Connection::open(url.trim_end_matches('/')).await;
    let ready = watching.send(&Request::get("/readyz")).await;
    assert_eq!(ready.status, 200);
    let stopping = tokio::spawn(server.stop());
    until(|| async { (get(&url, "/readyz").await.status == 503).then_some(()) }).await;
    assert_is(&url, "/readyz", 503, "not ready\n").await;
    assert_eq!(watching.send(&Request::get("/readyz")).await.status, 503);
    assert_is(&url, "/healthz", 200, "alive\n").await;
    for peer in peers(&url) {
        let task = peer.send(&Say::text("go")).await;
        assert_eq!(task.string("status.state"), "TASK_STATE_COMPLETED");
    }
    stopping.abort();
}

#[tokio::test]
async fn without_a_delay_it_stops_at_once() {
    let server = start(create_server(card("agent"), agent)).await;
    patient(server.stop()).await.unwrap();
}

#[tokio::test]
async fn a_store_that_is_not_well_is_not_ready_until_it_is_well_again() {
    let is_ill = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_ill);
    let backend = Hooked::new(
        Arc::new(MemoryBackend::new(Limits::default())),
        move |when: When, call: Call<'_>| match (when, call) {
            (When::Before, Call::Health) if told.load(Ordering::Relaxed) => {
                Err(StoreError::Failed("no space on /secret/disk".to_owned()))
            }
            _ => Ok(()),
        },
    );
    let ill = create_server(card("ill"), agent).backend(backend as Arc<dyn Backend>);
    let well = create_server(card("well"), agent).await.unwrap();
    let host = AgentHost::new()
        .agent("/well", well)
        .agent("/ill", ill.await.unwrap());
    let host = Bound::host(host).await;
    assert_is(&host.url, "/readyz", 200, "ready\n").await;
    is_ill.store(true, Ordering::Relaxed);
    // One of its agents is enough, and the reason is in the log.
    assert_is(&host.url, "/readyz", 503, "not ready\n").await;
    assert_is(&host.url, "/healthz", 200, "alive\n").await;
    is_ill.store(false, Ordering::Relaxed);
    assert_is(&host.url, "/readyz", 200, "ready\n").await;
}

#[tokio::test]
async fn a_server_without_room_is_not_ready_until_it_has_some() {
    let limits = Limits::default().with_max_concurrent_turns(1);
    let server = start(create_server(card("agent"), agent).limits(limits)).await;
    let peer = &peers(server.url())[0];
    let (id, _events) = peer.begin(&Say::text("wait")).await;
    assert_is(server.url(), "/readyz", 503, "not ready\n").await;
    peer.call(llamon_itest::wire::Op::Cancel(&id))
        .await
        .unwrap();
    until(|| async { (get(server.url(), "/readyz").await.status == 200).then_some(()) }).await;
}

#[tokio::test]
async fn no_agent_can_take_the_paths() {
    for path in ["/healthz", "/readyz", "/healthz/agent", "readyz"] {
        let server = create_server(card("agent"), agent).await.unwrap();
        let host = AgentHost::new().agent(path, server);
        let error = TestServer::start_host(host).await.unwrap_err().to_string();
        assert!(error.contains(path), "{path}: {error}");
    }
    let server = create_server(card("agent"), agent).await.unwrap();
    let host = AgentHost::new().agent("/health", server);
    let server = TestServer::start_host(host).await.unwrap();
    let base = server
        .url()
        .trim_end_matches('/')
        .trim_end_matches("/health");
    assert_is(base, "/healthz", 200, "alive\n").await;
}
