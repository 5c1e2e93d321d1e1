use super::*;

fn refused(path: &Path) -> OpenError {
    SqliteStore::open(path).unwrap_err()
}

#[test]
fn a_file_of_a_newer_version_is_refused_with_both_versions() {
    let folder = Folder::new();
    drop(folder.open());
    raw(&folder.path(), "PRAGMA user_version = 7");
    let error = refused(&folder.path());
    assert!(
        matches!(
            error,
            OpenError::Newer {
                found: 7,
                known: 2,
                ..
            }
        ),
        "{error}"
    );
    let said = error.to_string();
    assert!(
        said.contains("version 7") && said.contains("up to 2"),
        "{said}"
    );
    assert!(matches!(
        StoreFile::open(folder.path()),
        Err(OpenError::Newer { .. })
    ));
}

#[tokio::test]
async fn a_file_of_the_first_version_is_brought_to_this_one() {
    let folder = Folder::new();
    let backend = folder.open().backend("agent");
    let worker = backend.enlist().await.unwrap();
    finish(&backend, &worker, "a", vec![Part::text("kept")]).await;
    drop((worker, backend));
    raw(
        &folder.path(),
        "DROP TABLE page_secrets; PRAGMA user_version = 1",
    );
    // Who only looks leaves it as it is.
    StoreFile::open(folder.path()).unwrap();
    let backend = folder.open().backend("agent");
    let worker = backend.enlist().await.unwrap();
    let secret = backend.page_secret(&worker).await.unwrap();
    assert_eq!(backend.page_secret(&worker).await.unwrap(), secret);
    assert!(backend.get(&Scope::anonymous(), "a").await.is_ok());
}

#[tokio::test]
async fn what_a_receiver_was_given_in_confidence_goes_with_it() {
    const SECRET: &str = "canary-of-a-receiver";
    let has_it = |folder: &Folder| {
        let bytes = std::fs::read(folder.path()).unwrap();
        bytes
            .windows(SECRET.len())
            .any(|at| at == SECRET.as_bytes())
    };
    for deleted in [false, true] {
        let folder = Folder::new();
        let store = folder.open();
        let backend = store.backend("agent");
        create(&backend, new_task("a", None)).await;
        for number in 0..50 {
            let mut config = PushConfig::new("https://receiver.example/");
            config.id = Some(format!("c{}", number % 5).into());
            config.token = Some(SECRET.into());
            let put = backend.put_push(&SCOPE, "a", Arc::new(config));
            put.await.unwrap();
        }
        if deleted {
            for number in 0..5 {
                let id = format!("c{number}");
                backend.delete_push(&SCOPE, "a", &id).await.unwrap();
            }
        }
        // The log beside the file goes into it with the last one who has it open.
        drop((backend, store));
        assert_eq!(has_it(&folder), !deleted);
    }
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    let folder = Folder::new();
    for sql in [
        "CREATE TABLE theirs (x)",
        "PRAGMA application_id = 42; CREATE TABLE theirs (x)",
        "PRAGMA user_version = 1",
    ] {
        let path = folder.directory.path().join("theirs.db");
        raw(&path, sql);
        let before = std::fs::read(&path).unwrap();
        let error = refused(&path);
        assert!(matches!(error, OpenError::Foreign(_)), "{error}");
        assert!(error.to_string().contains("another program"), "{error}");
        assert_eq!(
            std::fs::read(&path).unwrap(),
            before,
            "not a byte was changed"
        );
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_is_no_database_is_refused() {
    let folder = Folder::new();
    std::fs::write(folder.path(), "a letter, and a long one: ".repeat(100)).unwrap();
    let error = refused(&folder.path());
    assert!(matches!(error, OpenError::NotADatabase(_)), "{error}");
    assert!(error.to_string().contains("tasks.db"), "{error}");
    let missing = StoreFile::open(folder.directory.path().join("none.db"));
    assert!(matches!(missing, Err(OpenError::Missing(_))));
    let directory = refused(folder.directory.path());
    assert!(matches!(directory, OpenError::Sqlite(..)), "{directory}");
    // A file where a directory is needed.
    let error = refused(&folder.path().join("data/tasks.db"));
    assert!(matches!(error, OpenError::Io(..)), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let store = folder.open();
    let backend = store.backend("agent");
    create(&backend, new_task("a", None)).await;
    store
        .backup(folder.directory.path().join("copy.db"))
        .await
        .unwrap();
    for name in ["tasks.db", "tasks.db-wal", "tasks.db-shm", "copy.db"] {
        let data = std::fs::metadata(folder.directory.path().join(name)).unwrap();
        assert_eq!(data.permissions().mode() & 0o777, 0o600, "{name}");
    }
}
