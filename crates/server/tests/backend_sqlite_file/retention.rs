use super::*;

#[tokio::test]
async fn retention_goes_in_small_steps() {
    let folder = Folder::new();
    {
        let backend = folder.open().backend("agent");
        let worker = backend.enlist().await.unwrap();
        let running = create(&backend, new_task("running", Some(&worker))).await;
        let ids: Vec<String> = (0..700).map(|number| format!("t{number}")).collect();
        let all = ids
            .iter()
            .map(|id| finish(&backend, &worker, id, vec![Part::text("x")]));
        join_all(all).await;
        commit(
            &backend,
            "running",
            running,
            vec![text("running", "x", false)],
        )
        .await
        .unwrap();
    }
    let backend = keeping(100).open(folder.path()).unwrap().backend("agent");
    let worker = backend.enlist().await.unwrap();
    for left in [701 - 256, 701 - 512, 101] {
        let swept = backend.sweep(&worker).await.unwrap();
        assert_eq!(total(&backend).await, left);
        assert_eq!(swept == Swept::Clean, left == 101);
    }
    // From here on each one that finishes makes one go, without a sweep.
    for number in 0..50 {
        finish(
            &backend,
            &worker,
            &format!("n{number}"),
            vec![Part::text("x")],
        )
        .await;
    }
    assert_eq!(total(&backend).await, 101);
    assert!(backend.get(&SCOPE, "running").await.is_ok());
    drop((worker, backend));
    assert_sound(&folder.path());
}

#[tokio::test]
async fn the_file_stops_growing() {
    let folder = Folder::new();
    let store = keeping(200).open(folder.path()).unwrap();
    let backend = store.backend("agent");
    let worker = backend.enlist().await.unwrap();
    let mut sizes = Vec::new();
    for round in 0..8 {
        let ids: Vec<String> = (0..400).map(|number| format!("{round}.{number}")).collect();
        let parts = || vec![Part::text("x".repeat(1_000))];
        for some in ids.chunks(20) {
            join_all(some.iter().map(|id| finish(&backend, &worker, id, parts()))).await;
        }
        sizes.push(settled_size(&folder.path()));
    }
    println!("sizes after each 400 tasks with a retention of 200: {sizes:?}");
    assert!(sizes[7] < sizes[1] + sizes[1] / 5, "{sizes:?}");
}

#[tokio::test]
async fn old_tasks_go_by_the_clock_that_was_given() {
    let folder = Folder::new();
    let (clock, seconds) = clock();
    let options = SqliteStore::options()
        .keep_finished_for(Duration::from_secs(3_600))
        .clock(clock);
    let backend = options.open(folder.path()).unwrap().backend("agent");
    let worker = backend.enlist().await.unwrap();
    finish(&backend, &worker, "old", vec![Part::text("x")]).await;
    let running = create(&backend, new_task("running", Some(&worker))).await;
    seconds.fetch_add(HOUR / 2, Ordering::Relaxed);
    finish(&backend, &worker, "young", vec![Part::text("x")]).await;
    assert_eq!(backend.sweep(&worker).await.unwrap(), Swept::Clean);
    assert_eq!(total(&backend).await, 3);
    seconds.fetch_add(HOUR / 2 + 1, Ordering::Relaxed);
    backend.sweep(&worker).await.unwrap();
    assert_eq!(
        backend.get(&SCOPE, "old").await.unwrap_err(),
        StoreError::NotFound
    );
    assert_eq!(total(&backend).await, 2);
    // Years change nothing for what is not finished.
    seconds.fetch_add(100_000 * HOUR, Ordering::Relaxed);
    backend.sweep(&worker).await.unwrap();
    assert_eq!(total(&backend).await, 1);
    commit(
        &backend,
        "running",
        running,
        vec![text("running", "x", false)],
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn the_clock_decides_nothing_about_turns() {
    let folder = Folder::new();
    let (clock, seconds) = clock();
    let options = SqliteStore::options().clock(clock);
    let backend = options.open(folder.path()).unwrap().backend("agent");
    let worker = backend.enlist().await.unwrap();
    let other = backend.enlist().await.unwrap();
    let mut pen = create(&backend, new_task("a", Some(&worker))).await;
    for jump in [24 * HOUR, -48 * HOUR, 24 * HOUR] {
        seconds.fetch_add(jump, Ordering::Relaxed);
        assert!(backend.claim(&other, 10).await.unwrap().is_empty());
        assert_eq!(backend.held(&worker).await.unwrap().len(), 1);
        backend.sweep(&other).await.unwrap();
        pen = commit(&backend, "a", pen, vec![text("a", "x", true)])
            .await
            .unwrap();
    }
    drop(worker);
    assert_eq!(backend.claim(&other, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_task_waits_a_day_for_its_push_receivers() {
    let folder = Folder::new();
    let (clock, seconds) = clock();
    let options = keeping(5).clock(clock);
    let backend = options.open(folder.path()).unwrap().backend("agent");
    let worker = backend.enlist().await.unwrap();
    for number in 0..4 {
        let id = format!("pushed{number}");
        let mut new = new_task(&id, Some(&worker));
        new.push = Some(Arc::new(
            PushConfig::new("https://example.com").with_id("r"),
        ));
        let pen = create(&backend, new).await;
        commit(&backend, &id, pen, vec![status(&id, TaskState::Completed)])
            .await
            .unwrap();
    }
    backend
        .note_push(
            &worker,
            "pushed0",
            "r",
            PushProgress::Delivered(Position(1)),
        )
        .await
        .unwrap();
    backend
        .note_push(&worker, "pushed1", "r", PushProgress::GivenUp)
        .await
        .unwrap();
    for number in 0..6 {
        finish(
            &backend,
            &worker,
            &format!("t{number}"),
            vec![Part::text("x")],
        )
        .await;
    }
    for (id, is_there) in [("pushed0", false), ("pushed1", false), ("pushed2", true)] {
        assert_eq!(backend.get(&SCOPE, id).await.is_ok(), is_there, "{id}");
    }
    seconds.fetch_add(25 * HOUR, Ordering::Relaxed);
    for number in 0..6 {
        finish(
            &backend,
            &worker,
            &format!("u{number}"),
            vec![Part::text("x")],
        )
        .await;
    }
    assert!(
        backend.get(&SCOPE, "pushed2").await.is_err(),
        "a day is enough"
    );
    assert!(backend.claim_push(&worker, 10).await.unwrap().is_empty());
    drop((worker, backend));
    assert_sound(&folder.path());
}

#[tokio::test]
async fn receivers_that_are_never_served_do_not_keep_everything() {
    let folder = Folder::new();
    let store = keeping(5).open(folder.path()).unwrap();
    let backend = store.backend("agent");
    let worker = backend.enlist().await.unwrap();
    for number in 0..40 {
        let id = format!("t{number}");
        let mut new = new_task(&id, Some(&worker));
        new.push = Some(Arc::new(
            PushConfig::new("https://example.com").with_id("r"),
        ));
        let pen = create(&backend, new).await;
        commit(&backend, &id, pen, vec![status(&id, TaskState::Completed)])
            .await
            .unwrap();
    }
    let left = total(&backend).await;
    assert!((5..=11).contains(&left), "{left}");
}
