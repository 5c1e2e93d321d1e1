use std::sync::Arc;

use llamon_agent::server::{Answer, Turn};
use llamon_flow::run::{Runner, Stand};
use llamon_flow::store::RunStore;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use super::support::{Log, completed, input, plan, serve};

/// A run that was stopped goes on in another runner; what was sent is not sent again.
#[tokio::test(flavor = "multi_thread")]
async fn a_parked_run_goes_on_elsewhere_and_sends_nothing_twice() {
    let log = Log::default();
    let (begun, gate) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let (l, b, g) = (log.clone(), Arc::clone(&begun), Arc::clone(&gate));
    let agent = serve("slow", move |turn: Turn| {
        let (log, begun, gate) = (l.clone(), Arc::clone(&b), Arc::clone(&g));
        async move {
            log.note(&turn);
            begun.notify_one();
            gate.acquire().await.unwrap().forget();
            Ok(Answer::completed("done")?)
        }
    })
    .await;
    let plan = plan(&format!(
        "steps:
  a: {{agent: '{url}', from: [input]}}
  b: {{agent: '{url}', from: [a]}}
outputs: [b]
",
        url = agent.url()
    ));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let first = Runner::new(RunStore::open(&file).unwrap());
    let id = first.begin(&plan, input()).await.unwrap();
    let stop = CancellationToken::new();
    let (driver, run, token) = (first.clone(), id.clone(), stop.clone());
    let driven = tokio::spawn(async move { driver.drive(&run, &(), &token).await });
    begun.notified().await;
    // Nobody else can run it meanwhile.
    let second = Runner::new(RunStore::open(&file).unwrap());
    let held = second
        .drive(&id, &(), &CancellationToken::new())
        .await
        .unwrap_err();
    assert!(held.is_held(), "{held}");
    stop.cancel();
    let stand = driven.await.unwrap().unwrap();
    assert!(matches!(stand, Stand::Parked), "{stand:?}");
    drop(first);
    gate.add_permits(2);
    let stand = second
        .drive(&id, &(), &CancellationToken::new())
        .await
        .unwrap();
    completed(stand);
    let contexts: Vec<String> = log.all().into_iter().map(|got| got.context).collect();
    assert_eq!(contexts, [format!("{id}/a"), format!("{id}/b")]);
    let stored = second.store().load(&id).await.unwrap();
    assert!(stored.calls.iter().all(|call| call.possibly_repeated == 0));
    // A run that has ended gives its answer again.
    completed(
        second
            .drive(&id, &(), &CancellationToken::new())
            .await
            .unwrap(),
    );
}
