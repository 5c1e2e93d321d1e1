//! What runs cost that wait for people, seen from outside their process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use llamon_itest::agents::until;
use llamon_itest::process::{Process, free_port, rss, sockets};

const RUNS: usize = 1_000;
const MAX_BYTES: u64 = 50 << 20;

/// A process that has the runs; it does the next thing when it is told to.
struct Host {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Host {
    fn start(store: &std::path::Path, agent: &str, runs: usize, open: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_flow-wait"))
            .arg(store)
            .args([agent, &runs.to_string(), open])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (
            process.stdin.take().unwrap(),
            process.stdout.take().unwrap(),
        );
        let mut host = Self {
            process,
            input,
            output: BufReader::new(output),
        };
        host.hear("READY");
        host
    }

    /// Has it do the next thing, and waits until that is done.
    fn next(&mut self, done: &str) {
        self.input.write_all(b"\n").unwrap();
        self.hear(done);
    }

    fn hear(&mut self, what: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), what);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It has ended already where all went well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Has so many runs wait, kills their agent, has them all answered; the bytes that waiting costs.
async fn wait(runs: usize, open: &str) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    let serve = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flow-kill"));
        command
            .args(["agent", "asking", &address])
            .arg(folder.path());
        Process::of(&mut command)
    };
    let agent = serve();
    let store = folder.path().join("flows.db");
    let mut host = Host::start(&store, agent.url(), runs, open);
    let id = host.process.id();
    // Some belong to the runtime.
    let sockets_before = sockets(id).unwrap();
    host.next("REHEARSED");
    let rss_before = rss(id).unwrap();
    host.next("WAITING");
    let grown = rss(id).unwrap().saturating_sub(rss_before);
    // Connections that were used are kept for a few seconds.
    until(async || (sockets(id).unwrap() <= sockets_before).then_some(())).await;
    assert!(grown < MAX_BYTES, "{grown} bytes");
    agent.kill();
    let _agent = serve();
    host.next("COMPLETED");
    grown
}

/// Nothing of a run is kept in the process, and each goes on where it was when it is answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_runs_that_returned_to_wait_cost_no_connection_and_little_memory() {
    let grown = wait(RUNS, "return").await;
    println!(
        "{RUNS} runs that returned: {} kB more resident, no connection",
        grown >> 10
    );
}

/// Each run that is driven while it waits has its lock, which is an open file: half as many fit
/// into the usual limit of 1,024.
#[tokio::test(flavor = "multi_thread")]
async fn runs_that_are_driven_while_they_wait_cost_no_connection_and_little_memory() {
    let (runs, grown) = (RUNS / 2, wait(RUNS / 2, "wait").await);
    println!(
        "{runs} runs that are driven: {} kB more resident, no connection",
        grown >> 10
    );
}
