use super::*;

#[tokio::test]
async fn a_backup_is_a_store_of_its_own() {
    let folder = Folder::new();
    let store = folder.open();
    let backend = store.backend("agent");
    let worker = backend.enlist().await.unwrap();
    finish(
        &backend,
        &worker,
        "a",
        vec![file_part("QUJD", 10_000), Part::text("x")],
    )
    .await;
    create(&backend, new_task("b", Some(&worker))).await;
    let copy = folder.directory.path().join("copy.db");
    store.backup(&copy).await.unwrap();
    let again = store.backup(&copy).await;
    assert!(again.unwrap_err().to_string().contains("exists already"));
    finish(&backend, &worker, "later", vec![Part::text("x")]).await;
    assert_sound(&copy);
    let copied = SqliteStore::open(&copy).unwrap().backend("agent");
    assert_eq!(total(&copied).await, 2);
    assert_eq!(
        copied.get(&SCOPE, "a").await.unwrap(),
        backend.get(&SCOPE, "a").await.unwrap()
    );
    let heir = copied.enlist().await.unwrap();
    assert_eq!(
        copied.claim(&heir, 10).await.unwrap().len(),
        1,
        "its workers are not there"
    );
}

#[tokio::test]
async fn stats_and_gc_work_beside_a_server() {
    let folder = Folder::new();
    let store = folder.open();
    let backend = store.backend("agent");
    let worker = backend.enlist().await.unwrap();
    for number in 0..50 {
        let parts = vec![
            Part::text("y".repeat(4_000)),
            file_part("QUJD", 4_000 + number),
        ];
        finish(&backend, &worker, &format!("t{number}"), parts).await;
    }
    create(&backend, new_task("b", Some(&worker))).await;
    let file = StoreFile::open(folder.path()).unwrap();
    let stats = file.stats().unwrap();
    assert_eq!(
        (stats.open_tasks, stats.finished_tasks, stats.turns),
        (1, 50, 1)
    );
    assert_eq!((stats.shared_parts, stats.workers), (50, 1));
    assert_eq!(stats.agents.len(), 1);
    assert_eq!(stats.agents[0].name, "agent");
    let expected = [(TaskState::Submitted, 1), (TaskState::Completed, 50)];
    assert_eq!(stats.agents[0].states, expected);
    assert_eq!(stats, store.stats().await.unwrap());
    let collected = file.gc(&keeping(10)).unwrap();
    assert_eq!((collected.tasks, collected.parts), (40, 0));
    assert!(collected.bytes > 0, "the room is given back");
    assert_eq!(total(&backend).await, 11);
    // Its own is the same, but leaves the file's size alone.
    assert_eq!(store.gc().await.unwrap().tasks, 0);
    assert_eq!(store.check().await.unwrap().problems, [""; 0]);
    finish(&backend, &worker, "after", vec![Part::text("x")]).await;
    drop((worker, backend, store, file));
    assert_sound(&folder.path());
}

#[tokio::test]
async fn a_check_finds_what_is_broken() {
    let folder = Folder::new();
    {
        let backend = folder.open().backend("agent");
        let worker = backend.enlist().await.unwrap();
        for number in 0..4 {
            let parts = vec![file_part("QUJD", 10_000 + number)];
            finish(&backend, &worker, &format!("t{number}"), parts).await;
        }
    }
    assert_sound(&folder.path());
    raw(
        &folder.path(),
        "UPDATE counts SET open = open + 1; UPDATE listed SET tasks = tasks + 1;
         DELETE FROM blobs WHERE key = 1;
         UPDATE snapshots SET json = '{\"id\":' WHERE task = (SELECT key FROM tasks WHERE id = 't2');
         DELETE FROM snapshots WHERE task = (SELECT key FROM tasks WHERE id = 't3');",
    );
    let report = StoreFile::open(folder.path()).unwrap().check().unwrap();
    let all = report.problems.join("\n");
    for part in [
        "the counters are wrong",
        "counted wrongly",
        "task t0: a shared part is missing",
        "task t2:",
        "tasks without a snapshot: 1",
        "references to shared parts that do not exist: 1",
    ] {
        assert!(all.contains(part), "{part} in {all}");
    }
    // A broken task is that task's trouble.
    let backend = folder.open().backend("agent");
    let broken = backend.get(&SCOPE, "t2").await.unwrap_err();
    assert!(
        broken.to_string().contains("llamon store check"),
        "{broken}"
    );
    assert!(backend.get(&SCOPE, "t1").await.is_ok());
}

#[tokio::test]
#[ignore = "takes long and shows times only"]
async fn pages_of_many_tasks_show_their_cost() {
    let count: usize = std::env::var("TASKS").map_or(100_000, |count| count.parse().unwrap());
    let folder = Folder::new();
    let store = keeping(10_000_000).open(folder.path()).unwrap();
    let backend = store.backend("agent");
    let worker = backend.enlist().await.unwrap();
    let began = Instant::now();
    let clients = (0..64).map(|client| {
        let (backend, worker) = (Arc::clone(&backend), Arc::clone(&worker));
        tokio::spawn(async move {
            for number in 0..count / 64 {
                finish(
                    &backend,
                    &worker,
                    &format!("{client}.{number}"),
                    vec![Part::text("x")],
                )
                .await;
            }
        })
    });
    join_all(clients.collect::<Vec<_>>()).await;
    println!("{count} tasks of three writes in {:?}", began.elapsed());
    let rss = std::fs::read_to_string("/proc/self/status").unwrap();
    println!(
        "{}",
        rss.lines().find(|line| line.starts_with("VmRSS")).unwrap()
    );
    for (name, state, context) in [
        ("all", None, None),
        ("completed", Some(TaskState::Completed), None),
        ("failed", Some(TaskState::Failed), None),
        ("a context", None, Some("context of 1.1")),
    ] {
        let mut request = ListTasksRequest::default();
        request.status = state;
        request.context_id = context.map(Into::into);
        let began = Instant::now();
        let page = backend.list(&SCOPE, &request, 50).await.unwrap();
        println!(
            "{name}: {} of {} in {:?}",
            page.tasks.len(),
            page.total,
            began.elapsed()
        );
        if !page.next_page_token.is_empty() {
            request.page_token = Some(page.next_page_token);
            let began = Instant::now();
            backend.list(&SCOPE, &request, 50).await.unwrap();
            println!("{name}, second page: {:?}", began.elapsed());
        }
    }
    let mut request = ListTasksRequest::default();
    request.status_timestamp_after = Some(Timestamp::from_micros(0));
    let began = Instant::now();
    let page = backend.list(&SCOPE, &request, 50).await.unwrap();
    println!("since ever: total {} in {:?}", page.total, began.elapsed());
    println!("{:?}", store.stats().await.unwrap());
}
