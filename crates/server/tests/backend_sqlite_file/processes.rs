use std::io::{BufRead as _, BufReader};

use super::*;

#[tokio::test]
async fn two_stores_on_one_file_see_each_others_events() {
    let folder = Folder::new();
    let (one, two) = (
        folder.open().backend("agent"),
        folder.open().backend("agent"),
    );
    let worker = one.enlist().await.unwrap();
    let mut pen = create(&one, new_task("a", Some(&worker))).await;
    let (task, mut log) = two.follow(&SCOPE, "a", ReadFrom::Now).await.unwrap();
    assert_eq!(task.status.state, TaskState::Submitted);
    let mut settled = two.settled(&SCOPE, "a");
    assert!(poll_immediate(&mut settled).await.is_none());
    let mut read = Vec::new();
    for number in 0..5 {
        let event = text("a", &number.to_string(), number > 0);
        pen = commit(&one, "a", pen, vec![event.clone()]).await.unwrap();
        while read.len() <= number {
            read.extend(soon(log.next()).await.unwrap().unwrap());
        }
        assert_eq!(*read[number], event);
    }
    // The generation counts in both, and so does the fence.
    let stale = commit(
        &two,
        "a",
        (Generation(0), pen.1),
        vec![text("a", "x", true)],
    )
    .await;
    assert_eq!(stale.unwrap_err(), StoreError::Conflict);
    pen = commit(&two, "a", pen, vec![text("a", "5", true)])
        .await
        .unwrap();
    commit(&one, "a", pen, vec![status("a", TaskState::Completed)])
        .await
        .unwrap();
    let Ok(Settled::Task(task)) = soon(settled).await else {
        panic!("it has settled");
    };
    assert_eq!(task.payload().text(), "012345");
    let mut last = None;
    while let Some(events) = soon(log.next()).await.unwrap() {
        last = events.last().cloned();
    }
    assert_eq!(last.unwrap().state(), Some(TaskState::Completed));
    assert_eq!(
        two.get(&SCOPE, "a").await.unwrap(),
        one.get(&SCOPE, "a").await.unwrap()
    );
}

#[tokio::test]
async fn a_direct_answer_wakes_who_waits_in_another_process() {
    let folder = Folder::new();
    let (one, two) = (
        folder.open().backend("agent"),
        folder.open().backend("agent"),
    );
    let worker = one.enlist().await.unwrap();
    let mut new = new_task("a", Some(&worker));
    new.visibility = Visibility::Hidden;
    let pen = create(&one, new).await;
    let (_, mut log) = two.follow(&SCOPE, "a", ReadFrom::Now).await.unwrap();
    let mut settled = two.settled(&SCOPE, "a");
    assert!(poll_immediate(&mut settled).await.is_none());
    let answer = Arc::new(Message::new("answer", Role::Agent, vec![Part::text("yes")]));
    let event = StreamEvent::Message(Arc::clone(&answer));
    commit(&one, "a", pen, vec![event.clone()]).await.unwrap();
    let Ok(Settled::Message(message)) = soon(settled).await else {
        panic!("it was answered");
    };
    assert_eq!(message, answer);
    assert_eq!(soon(log.next()).await.unwrap(), Some(vec![Arc::new(event)]));
    assert_eq!(soon(log.next()).await.unwrap(), None);
}

#[tokio::test]
async fn the_next_process_takes_over_when_one_has_died() {
    let folder = Folder::new();
    let old = folder.open();
    let backend = old.backend("agent");
    let worker = backend.enlist().await.unwrap();
    let pen = create(&backend, new_task("a", Some(&worker))).await;
    let new = folder.open();
    let next = new.backend("agent");
    let heir = next.enlist().await.unwrap();
    assert_eq!(new.stats().await.unwrap().workers, 2);
    assert!(next.claim(&heir, 10).await.unwrap().is_empty(), "it lives");
    let stranger = new.backend("another agent");
    let theirs = stranger.enlist().await.unwrap();
    drop(worker);
    assert!(
        stranger.claim(&theirs, 10).await.unwrap().is_empty(),
        "not its agent's"
    );
    let claimed = next.claim(&heir, 10).await.unwrap();
    assert_eq!((claimed.len(), claimed[0].crashes), (1, 1));
    // What the old process still writes is refused, though it does not know yet.
    let ghost = commit(&backend, "a", pen, vec![text("a", "ghost", false)]).await;
    assert_eq!(ghost.unwrap_err(), StoreError::Fenced);
    drop((theirs, heir));
    let files = std::fs::read_dir(folder.directory.path().join("tasks.db-workers"));
    assert_eq!(files.unwrap().count(), 0, "the dead leave no files");
}

#[tokio::test]
async fn many_writers_in_two_stores_keep_everything() {
    let folder = Folder::new();
    let stores = [folder.open(), folder.open()];
    let mut running = Vec::new();
    for number in 0..40 {
        let backend = stores[number % 2].backend("agent");
        running.push(tokio::spawn(async move {
            let worker = backend.enlist().await.unwrap();
            for task in 0..5 {
                finish(
                    &backend,
                    &worker,
                    &format!("{number}.{task}"),
                    vec![Part::text("x")],
                )
                .await;
            }
        }));
    }
    for done in running {
        done.await.unwrap();
    }
    for store in &stores {
        assert_eq!(total(&store.backend("agent")).await, 200);
    }
    drop(stores);
    assert_sound(&folder.path());
}

#[tokio::test]
async fn agents_of_one_store_see_nothing_of_each_other() {
    let folder = Folder::new();
    let store = folder.open();
    let (one, two) = (store.backend("one"), store.backend("two"));
    let worker = one.enlist().await.unwrap();
    let pen = create(&one, new_task("a", Some(&worker))).await;
    assert_eq!(
        two.get(&SCOPE, "a").await.unwrap_err(),
        StoreError::NotFound
    );
    assert_eq!(total(&two).await, 0);
    // The same id is another task there.
    create(&two, new_task("a", Some(&worker))).await;
    assert!(two.held(&worker).await.unwrap().len() == 1);
    commit(&one, "a", pen, vec![status("a", TaskState::Completed)])
        .await
        .unwrap();
    let (task, _) = two.get(&SCOPE, "a").await.unwrap();
    assert_eq!(task.status.state, TaskState::Submitted);
}

const KILLED: &str = "LLAMON_TEST_STORE_OF_A_KILLED_PROCESS";

#[tokio::test]
#[ignore = "a process of the next test"]
async fn a_process_that_waits_to_be_killed() {
    let Ok(path) = std::env::var(KILLED) else {
        return;
    };
    let backend = SqliteStore::open(path).unwrap().backend("agent");
    let worker = backend.enlist().await.unwrap();
    let pen = create(&backend, new_task("a", Some(&worker))).await;
    commit(&backend, "a", pen, vec![text("a", "said", false)])
        .await
        .unwrap();
    println!("it works");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn the_turns_of_a_killed_process_are_claimed_by_the_next() {
    let folder = Folder::new();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "a_process_that_waits_to_be_killed",
            "--ignored",
            "--nocapture",
        ])
        .env(KILLED, folder.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("it works")));
    let store = folder.open();
    let backend = store.backend("agent");
    let worker = backend.enlist().await.unwrap();
    assert!(
        backend.claim(&worker, 10).await.unwrap().is_empty(),
        "it lives"
    );
    assert_eq!(store.stats().await.unwrap().workers, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let claimed = backend.claim(&worker, 10).await.unwrap();
    assert_eq!(
        (claimed.len(), claimed[0].attempt, claimed[0].crashes),
        (1, 2, 1)
    );
    assert_eq!(
        claimed[0].task.payload().text(),
        "said",
        "what it had committed is there"
    );
    let files = std::fs::read_dir(folder.directory.path().join("tasks.db-workers"));
    assert_eq!(files.unwrap().count(), 1, "its file is removed");
}
