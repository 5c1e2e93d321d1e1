//! Savers: what is kept is kept, also when the process dies.

use llamon_graph::{END, Graph, MemorySaver, Resume, RunConfig, START, Saver, StateGraph};

use crate::support::{Log, finished, log, logged};

fn config() -> RunConfig {
    RunConfig::thread("t")
}

fn stops(saver: impl Saver) -> Graph<Log> {
    StateGraph::<Log>::new("stops")
        .node("a", log("a"))
        .node("b", log("b"))
        .node("c", log("c"))
        .edge(START, "a")
        .edge(START, "b")
        .join(["a", "b"], "c")
        .edge("c", END)
        .interrupt_before(["c"])
        .compile()
        .unwrap()
        .with_saver(saver)
}

/// What each saver must do.
async fn keeps_threads(saver: impl Saver + Clone) {
    let graph = stops(saver.clone());
    let _ = graph.invoke(logged("in"), config()).await.unwrap();
    let _ = graph
        .invoke(logged("other"), RunConfig::thread("u"))
        .await
        .unwrap();
    // Another graph of the same shape, as after a restart.
    let graph = stops(saver.clone());
    let history = graph.history(&config()).await.unwrap();
    assert_eq!(history.len(), 2);
    let tasks = |tasks: &[llamon_graph::TaskSnapshot]| {
        let shown = tasks
            .iter()
            .map(|task| (task.node.clone(), task.result.clone()));
        shown.collect::<Vec<_>>()
    };
    let wrote = |name: &str| (name.to_owned(), Some(serde_json::json!({ "log": [name] })));
    assert_eq!(tasks(&history[1].tasks), [wrote("a"), wrote("b")]);
    assert_eq!(tasks(&history[0].tasks), [("c".to_owned(), None)]);
    let state = finished(graph.resume(Resume::proceed(), config()).await);
    assert_eq!(state.log, ["in", "a", "b", "c"]);
    let at = config().checkpoint(&history[1].checkpoint);
    assert_eq!(graph.state(&at).await.unwrap().unwrap().state.log, ["in"]);
    saver.delete_thread("t").await.unwrap();
    assert!(graph.state(&config()).await.unwrap().is_none());
    assert!(
        graph
            .state(&RunConfig::thread("u"))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn memory_keeps_threads() {
    keeps_threads(MemorySaver::new()).await;
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Child, Command, Stdio};

    use llamon_graph::{NodeContext, SqliteSaver, Status};

    use super::*;
    use crate::support::soon;

    #[tokio::test]
    async fn a_file_keeps_threads() {
        let folder = tempfile::tempdir().unwrap();
        let saver = SqliteSaver::open(folder.path().join("data/graph.db"))
            .await
            .unwrap();
        keeps_threads(saver).await;
    }

    #[tokio::test]
    async fn files_of_others_and_of_newer_programs_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        // SQLite's header has the version of the tables at byte 60 and whose they are at byte 68.
        for (at, expected) in [
            (60, "has version 7"),
            (68, "is a database of something else"),
        ] {
            let file = folder.path().join(format!("{at}.db"));
            drop(SqliteSaver::open(&file).await.unwrap());
            let mut bytes = std::fs::read(&file).unwrap();
            bytes[at..at + 4].copy_from_slice(&7_u32.to_be_bytes());
            std::fs::write(&file, bytes).unwrap();
            let error = SqliteSaver::open(&file).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }

        let no_file = SqliteSaver::open(folder.path())
            .await
            .unwrap_err()
            .to_string();
        assert!(no_file.contains("failed to open"), "{no_file}");
        let text = folder.path().join("text");
        std::fs::write(
            &text,
            "no database, but long enough to be looked at".repeat(40),
        )
        .unwrap();
        let error = SqliteSaver::open(&text).await.unwrap_err().to_string();
        assert!(error.contains("file is not a database"), "{error}");
    }

    /// The file of the child process, whose nodes hang when they are told to.
    const FILE: &str = "LLAMON_GRAPH_TEST_FILE";
    const HANG: &str = "LLAMON_GRAPH_TEST_HANG";

    /// `a` and `b` in one super-step, then `c`.
    fn graph(saver: SqliteSaver, hang: &'static str) -> Graph<Log> {
        let node = |name: &'static str| {
            let saver = saver.clone();
            move |_: Log, _: NodeContext| {
                let saver = saver.clone();
                async move {
                    if name != hang {
                        return Ok(logged(name));
                    }
                    if name == "b" {
                        // Until what `a` wrote is kept.
                        let kept = || async { saver.get("t", "", None).await.unwrap() };
                        while kept().await.is_none_or(|saved| saved.writes.is_empty()) {
                            tokio::task::yield_now().await;
                        }
                    }
                    let mut out = std::io::stdout();
                    writeln!(out, "\nhanging").unwrap();
                    std::future::pending().await
                }
            }
        };
        StateGraph::<Log>::new("killed")
            .node("a", node("a"))
            .node("b", node("b"))
            .node("c", node("c"))
            .edge(START, "a")
            .edge(START, "b")
            .join(["a", "b"], "c")
            .edge("c", END)
            .compile()
            .unwrap()
            .with_saver(saver)
    }

    /// Not a test of its own: what the child process runs.
    #[tokio::test]
    async fn child() {
        let (Ok(file), Ok(hang)) = (std::env::var(FILE), std::env::var(HANG)) else {
            return;
        };
        let saver = SqliteSaver::open(file).await.unwrap();
        let _ = graph(saver, hang.leak())
            .invoke(logged("in"), config())
            .await;
    }

    /// A process that does not outlive its test, whatever happens.
    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Kills a process whose node hangs. What is left goes on in this one.
    async fn killed(hang: &str) -> (Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data/graph.db");
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["savers::sqlite::child", "--exact", "--nocapture"])
            .env(FILE, &file)
            .env(HANG, hang)
            .stdout(Stdio::piped())
            .spawn();
        let mut child = Killed(child.unwrap());
        let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
        let hangs = tokio::task::spawn_blocking(|| {
            lines.map_while(Result::ok).any(|line| line == "hanging")
        });
        assert!(soon(hangs).await.unwrap());
        drop(child);

        let saver = SqliteSaver::open(&file).await.unwrap();
        let graph = graph(saver, "nobody");
        let snapshot = graph.state(&config()).await.unwrap().unwrap();
        assert_eq!(snapshot.status, Status::Unfinished);
        let state = finished(graph.resume(Resume::proceed(), config()).await);
        (snapshot.next, state.log)
    }

    #[tokio::test]
    async fn a_process_killed_between_super_steps_loses_no_node() {
        let (next, log) = killed("c").await;
        assert_eq!(next, ["c"]);
        assert_eq!(log, ["in", "a", "b", "c"]);
    }

    #[tokio::test]
    async fn a_process_killed_inside_a_super_step_loses_no_node_that_had_finished() {
        let (next, log) = killed("b").await;
        assert_eq!(next, ["b"]);
        assert_eq!(log, ["in", "a", "b", "c"]);
    }
}
