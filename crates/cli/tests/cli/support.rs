//! Runs the command, and agents for it to call.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use llamon_agent::a2a::{AgentCard, Skill};
use llamon_agent::server::{IntoAgent, ServerBuilder, create_server};
use llamon_agent::testing::TestServer;

/// What a run of the command ended with.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the command with empty standard input.
pub(crate) async fn llamon(args: &[&str]) -> Ran {
    llamon_with(args, b"").await
}

/// Runs the command with environment variables.
pub(crate) async fn llamon_in(env: &[(&str, &str)], args: &[&str]) -> Ran {
    let running = Running::start_in(env, args);
    blocking(move || running.end()).await
}

/// Runs the command with `input` as standard input.
pub(crate) async fn llamon_with(args: &[&str], input: &[u8]) -> Ran {
    let mut running = Running::start(args);
    let input = input.to_vec();
    blocking(move || {
        let mut stdin = running.child.stdin.take().unwrap();
        // A command that fails before it reads has closed its end.
        let _ = stdin.write_all(&input);
        drop(stdin);
        running.end()
    })
    .await
}

/// A run of the command that has not ended yet.
pub(crate) struct Running {
    pub(crate) child: Child,
    stdout: Option<BufReader<ChildStdout>>,
}

impl Running {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_in(&[], args)
    }

    fn start_in(env: &[(&str, &str)], args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_llamon"))
            .args(args)
            .env_remove("RUST_LOG")
            .env("NO_COLOR", "1")
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().map(BufReader::new);
        Self { child, stdout }
    }

    /// The next line of standard output, without its end.
    pub(crate) async fn line(self) -> (Self, String) {
        blocking(move || {
            let mut this = self;
            let mut line = String::new();
            let bytes = this.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
            assert!(bytes > 0, "the command ended before it wrote a line");
            (this, line.trim_end_matches('\n').to_owned())
        })
        .await
    }

    /// The next `bytes` bytes of standard output.
    pub(crate) async fn bytes(self, bytes: usize) -> (Self, String) {
        blocking(move || {
            let mut this = self;
            let mut read = vec![0; bytes];
            this.stdout.as_mut().unwrap().read_exact(&mut read).unwrap();
            (this, String::from_utf8(read).unwrap())
        })
        .await
    }

    /// Nobody reads standard output any more.
    pub(crate) fn close_stdout(&mut self) {
        self.stdout = None;
    }

    /// What Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        // The shell's own `kill`: not every machine has one besides.
        let kill = format!("kill -INT {}", self.child.id());
        let killed = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(killed.success());
    }

    /// Waits for the end; standard output has what was not read before.
    pub(crate) async fn wait(self) -> Ran {
        blocking(move || self.end()).await
    }

    fn end(mut self) -> Ran {
        let mut stdout = String::new();
        if let Some(reader) = &mut self.stdout {
            reader.read_to_string(&mut stdout).unwrap();
        }
        let mut stderr = String::new();
        let mut reader = self.child.stderr.take().unwrap();
        reader.read_to_string(&mut stderr).unwrap();
        let status: ExitStatus = self.child.wait().unwrap();
        Ran {
            code: status.code(),
            stdout,
            stderr,
        }
    }
}

/// A command that a failing test left behind must not run on.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// A card for an agent of a test.
pub(crate) fn card(name: &str) -> AgentCard {
    AgentCard::new(name, "An agent of a test", "1.0.0").skill(Skill::new(name, name, "Tests"))
}

/// Serves an agent under the default policy.
pub(crate) async fn serve<M>(agent: impl IntoAgent<M>) -> TestServer {
    start(create_server(card("test"), agent)).await
}

/// Serves an agent under `append`.
pub(crate) async fn serve_append<M>(agent: impl IntoAgent<M>) -> TestServer {
    start(create_server(card("test"), agent).upstream_parts_policy("append")).await
}

/// Serves an agent with people in the loop.
pub(crate) async fn serve_hitl<M>(agent: impl IntoAgent<M>) -> TestServer {
    start(create_server(card("test"), agent).hitl()).await
}

/// A file in a new folder, which is gone with the first value.
pub(crate) fn file(name: &str, content: &[u8]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

async fn start<M>(builder: ServerBuilder<M>) -> TestServer {
    TestServer::start(builder).await.unwrap()
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}
