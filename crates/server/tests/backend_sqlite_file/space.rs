use super::*;

#[tokio::test]
async fn a_full_disk_refuses_new_work_and_recovers_by_itself() {
    let folder = Folder::new();
    let store = SqliteStore::options()
        .max_pages(120)
        .open(folder.path())
        .unwrap();
    let backend = store.backend("agent");
    let worker = backend.enlist().await.unwrap();
    let pen = create(&backend, new_task("first", Some(&worker))).await;
    let mut number = 0;
    let error = loop {
        let mut new = new_task(&format!("t{number}"), Some(&worker));
        new.task.metadata = Some(format!("{{\"x\":\"{}\"}}", "x".repeat(5_000)));
        match backend.create(&SCOPE, new).await {
            Ok(_) => number += 1,
            Err(error) => break error,
        }
        assert!(number < 1_000, "the file does not fill");
    };
    assert!(matches!(error, StoreError::NoSpace(_)), "{error}");
    assert!(matches!(
        backend.health().await,
        Err(StoreError::NoSpace(_)) | Ok(())
    ));
    // Nothing of what was refused is there, and what there was can be read.
    let missing = backend.get(&SCOPE, &format!("t{number}")).await;
    assert_eq!(missing.unwrap_err(), StoreError::NotFound);
    assert_eq!(total(&backend).await, number + 1);
    let (_, mut log) = backend
        .follow(&SCOPE, "first", ReadFrom::Now)
        .await
        .unwrap();
    let big = vec![text("first", &"y".repeat(500_000), false)];
    let refused = commit(&backend, "first", pen, big.clone()).await;
    assert!(
        matches!(refused, Err(StoreError::NoSpace(_))),
        "{refused:?}"
    );
    assert!(matches!(
        backend.health().await,
        Err(StoreError::NoSpace(_))
    ));
    assert_eq!(backend.get(&SCOPE, "first").await.unwrap().1, Generation(0));
    // Many at once, so that they share a transaction: each is told for itself.
    let news = (0..50).map(|number| {
        let mut new = new_task(&format!("many{number}"), Some(&worker));
        new.task.metadata = Some(format!("{{\"x\":\"{}\"}}", "x".repeat(100_000)));
        let backend = &backend;
        async move { backend.create(&SCOPE, new).await }
    });
    for refused in join_all(news).await {
        assert!(
            matches!(refused, Err(StoreError::NoSpace(_))),
            "{refused:?}"
        );
    }
    store.set_max_pages(None).await.unwrap();
    let pen = commit(&backend, "first", pen, big).await.unwrap();
    assert_eq!(soon(log.next()).await.unwrap().unwrap().len(), 1);
    assert_eq!(log.position(), Position(1), "no half event");
    commit(
        &backend,
        "first",
        pen,
        vec![status("first", TaskState::Completed)],
    )
    .await
    .unwrap();
    backend.health().await.unwrap();
    drop((log, worker, backend, store));
    assert_sound(&folder.path());
}

#[tokio::test]
async fn one_operation_that_fails_does_not_fail_the_others() {
    let folder = Folder::new();
    let backend = folder.open().backend("agent");
    let worker = backend.enlist().await.unwrap();
    create(&backend, new_task("taken", Some(&worker))).await;
    let ids = (0..60).map(|number| match number % 10 {
        5 => "taken".to_owned(),
        _ => format!("t{number}"),
    });
    let creates = ids.map(|id| {
        let (backend, worker) = (&backend, &worker);
        async move {
            (
                id.clone(),
                backend.create(&SCOPE, new_task(&id, Some(worker))).await,
            )
        }
    });
    for (id, created) in join_all(creates).await {
        assert_eq!(created.is_err(), id == "taken", "{id}: {created:?}");
    }
    assert_eq!(total(&backend).await, 55);
    backend.health().await.unwrap();
    drop((worker, backend));
    assert_sound(&folder.path());
}
