use super::*;

#[tokio::test]
async fn ten_agents_that_carry_one_file_store_it_once() {
    const MIB: usize = 1024 * 1024;
    let folder = Folder::new();
    let options = SqliteStore::options().max_finished_tasks(40);
    let store = options.open(folder.path()).unwrap();
    let part = file_part("QUJD", 5 * MIB / 4);
    let before = settled_size(&folder.path());
    let mut workers = Vec::new();
    for number in 0..10 {
        let backend = store.backend(format!("agent {number}"));
        let worker = backend.enlist().await.unwrap();
        // Twice, as it may be sent twice.
        let parts = vec![Part::text("x"), part.clone(), part.clone()];
        finish(&backend, &worker, "task", parts.clone()).await;
        let (task, _) = backend.get(&SCOPE, "task").await.unwrap();
        assert_eq!(task.artifacts[0].parts, parts);
        assert_eq!(task.history[0].parts[..], parts[..]);
        workers.push((backend, worker));
    }
    let grown = settled_size(&folder.path()) - before;
    println!("ten agents, one part of 5 MiB: the file has grown by {grown} bytes");
    assert!(grown < 8 * MIB as u64, "{grown} bytes");
    assert_eq!(store.stats().await.unwrap().shared_parts, 1);
    // It goes with the last task that has it, and its room is used again.
    let (backend, worker) = &workers[0];
    for number in 0..9 {
        finish(
            backend,
            worker,
            &format!("small{number}"),
            vec![Part::text("x")],
        )
        .await;
    }
    assert_eq!(store.stats().await.unwrap().shared_parts, 1);
    for number in 0..40 {
        finish(
            backend,
            worker,
            &format!("more{number}"),
            vec![Part::text("x")],
        )
        .await;
    }
    while backend.sweep(worker).await.unwrap() == Swept::More {}
    assert_eq!(store.stats().await.unwrap().shared_parts, 0);
    let size = settled_size(&folder.path());
    let other = file_part("RkZG", 5 * MIB / 4);
    finish(backend, worker, "other", vec![other.clone()]).await;
    let grown = settled_size(&folder.path()) - size;
    assert!(grown < MIB as u64, "{grown} bytes");
    assert_eq!(
        backend.get(&SCOPE, "other").await.unwrap().0.artifacts[0].parts,
        [other]
    );
    drop((workers, store));
    assert_sound(&folder.path());
}

#[tokio::test]
async fn drafts_that_were_replaced_are_not_kept() {
    let folder = Folder::new();
    let store = folder.open();
    let backend = store.backend("agent");
    let worker = backend.enlist().await.unwrap();
    let mut pen = create(&backend, new_task("a", Some(&worker))).await;
    for letter in ["QUJD", "RkZG", "REVG", "R0hJ"] {
        let draft = vec![chunk("a", vec![file_part(letter, 10_000)], false)];
        pen = commit(&backend, "a", pen, draft).await.unwrap();
    }
    commit(&backend, "a", pen, vec![status("a", TaskState::Completed)])
        .await
        .unwrap();
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.shared_parts, stats.log_bytes), (1, 0));
    drop((worker, backend, store));
    assert_sound(&folder.path());
}

#[tokio::test]
async fn a_long_stream_does_not_write_the_task_for_each_chunk() {
    let folder = Folder::new();
    let store = folder.open();
    let backend = store.backend("agent");
    let worker = backend.enlist().await.unwrap();
    let mut pen = create(&backend, new_task("a", Some(&worker))).await;
    for number in 0..2_000 {
        let chunk = vec![text("a", &"x".repeat(1_000), number > 0)];
        pen = commit(&backend, "a", pen, chunk).await.unwrap();
    }
    let stats = store.stats().await.unwrap();
    println!(
        "2 MB in 2,000 chunks, running: {} bytes of log",
        stats.log_bytes
    );
    assert!(
        stats.log_bytes < 2_000_000,
        "the log is cut where it has grown long"
    );
    commit(&backend, "a", pen, vec![status("a", TaskState::Completed)])
        .await
        .unwrap();
    assert_eq!(store.stats().await.unwrap().log_bytes, 0);
    assert_eq!(
        backend
            .get(&SCOPE, "a")
            .await
            .unwrap()
            .0
            .payload()
            .text()
            .len(),
        2_000_000
    );
    drop((worker, backend, store));
    assert_sound(&folder.path());
}
