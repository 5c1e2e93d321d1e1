//! [`ProcessAdapter`]: any program as an agent, one line of JSON in, lines of JSON out.

mod builder;
mod line;
mod pool;
mod program;
mod stderr;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use llamon_core::Upstream;

use crate::adapter::{AdapterRequest, Response, RuntimeAdapter};
use crate::agent_error::AgentError;
use crate::answer::Answer;
use crate::turn::Turn;
use line::{Said, request_line};
use pool::Pool;
use program::{Broken, Program};

pub use builder::{ProcessBuilder, ProcessError};

/// Any program behind `create_server`: it reads one JSON line for each request from its standard
/// input and writes JSON lines to its standard output, until one says that it is done.
///
/// ```json
/// {"id":"1","query":"check this","upstream":[{"data":{"n":1.0}}],"inputs":{},"taskId":"7c","contextId":"9a","turn":1,"attempt":1}
/// ```
///
/// | line that the program writes | what it does |
/// |---|---|
/// | `{"id":"1","status":"looking"}` | says what it is doing |
/// | `{"id":"1","emit":{"text":"so far"}}` | shows a draft: a part, or a list of parts |
/// | `{"id":"1","done":[{"text":"checked"},{"data":1}]}` | completes the task with these parts, in place of every draft |
/// | `{"id":"1","keep":true}` | completes the task with the drafts as they are |
/// | `{"id":"1","ask":{"text":"which one?"}}` | asks; the answer comes as a request of its own, with the task's `history` |
/// | `{"id":"1","error":"no such file"}` | fails the task with this text, which the caller reads |
///
/// The parts of both directions are A2A parts, token for token. The upstream parts policy has no
/// effect: `upstream` is what arrived, and the program repeats what its answer is to keep.
///
/// There are as many processes as [`ProcessBuilder::workers`] says, each with one request at a
/// time; further turns wait. The process of a turn that is canceled is ended: its input is closed
/// and SIGTERM sent to its process group, and SIGKILL after [`ProcessBuilder::kill_grace`]. One
/// that ends amid a request fails the task with the last lines of its standard error
/// ([`StderrOf`]). A new one takes its place, after a pause that grows with the crashes in a row.
///
/// ```no_run
/// use llamon_core::a2a::{AgentCard, Skill};
/// use llamon_server::adapters::ProcessAdapter;
/// use llamon_server::create_server;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let adapter = ProcessAdapter::program("python3").arg("agent.py").workers(2).start()?;
/// let card = AgentCard::new("python", "Checks what arrives", "1.0.0")
///     .skill(Skill::new("check", "Check", "Checks data parts"));
/// create_server(card, adapter).await?.serve("127.0.0.1:8080").await?;
/// # Ok(())
/// # }
/// ```
pub struct ProcessAdapter {
    pool: Pool,
    stderr: StderrOf,
    turn_timeout: Option<Duration>,
    next_id: AtomicU64,
}

/// Who reads what a program wrote to its standard error before it crashed. All of it is in the
/// server's log in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StderrOf {
    /// The caller, too: the task fails with the last lines. They can have paths, addresses and
    /// whatever else the program says about itself.
    #[default]
    Caller,
    /// Only the log: the caller gets the exit status.
    Log,
}

/// What a program is sent, and how it names the request.
#[derive(Debug)]
#[doc(hidden)]
pub struct ProcessInput {
    id: String,
    line: String,
}

/// How a program ended its answer: with a response, or with the text of an error.
#[derive(Debug)]
#[doc(hidden)]
pub struct ProcessOutput(Result<Response, String>);

impl ProcessAdapter {
    /// Begins with a program, a path or a name that is looked for in `PATH`.
    pub fn program(program: impl Into<std::ffi::OsString>) -> ProcessBuilder {
        ProcessBuilder::new(program.into())
    }
}

impl RuntimeAdapter for ProcessAdapter {
    type In = ProcessInput;
    type Out = ProcessOutput;

    async fn preprocess(&self, request: &AdapterRequest<'_>) -> Result<ProcessInput, AgentError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed).to_string();
        let line = request_line(&id, request);
        Ok(ProcessInput { id, line })
    }

    async fn run(&self, input: ProcessInput, turn: &Turn) -> Result<ProcessOutput, AgentError> {
        let mut slot = self.pool.take(turn).await?;
        let answered = {
            let talk = talk(&mut slot.program, &input, turn);
            let timeout = async {
                match self.turn_timeout {
                    Some(timeout) => tokio::time::sleep(timeout).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = turn.cancelled() => Err(Ended::Canceled),
                talked = talk => talked,
                () = timeout => Err(Ended::TimedOut),
            }
        };
        match answered {
            Ok(response) => {
                slot.give_back();
                Ok(ProcessOutput(response))
            }
            Err(ended) => {
                let error = self.failed(ended, turn, &mut slot.program).await;
                slot.end().await;
                Err(error)
            }
        }
    }

    async fn postprocess(&self, out: ProcessOutput, _: &Upstream) -> Result<Response, AgentError> {
        out.0.map_err(AgentError::public)
    }
}

impl ProcessAdapter {
    /// The error of a turn whose process is of no use any more.
    async fn failed(&self, ended: Ended, turn: &Turn, program: &mut Program) -> AgentError {
        let task = turn.task_id();
        match ended {
            Ended::Canceled => AgentError::public("the task was canceled"),
            Ended::TimedOut => {
                let timeout = self.turn_timeout.unwrap_or_default();
                tracing::warn!(%task, ?timeout, "the program did not answer in time and is ended");
                AgentError::public(format!(
                    "the program behind this agent did not answer within {} s (turn_timeout); \
                     send less, or ask who runs the agent to raise it",
                    timeout.as_secs_f64()
                ))
            }
            Ended::Turn(error) => error,
            Ended::Broken(Broken::Protocol(reason)) => {
                tracing::error!(%task, reason, "the program broke the line protocol");
                AgentError::public(format!(
                    "the program behind this agent broke the line protocol: {reason}"
                ))
            }
            Ended::Broken(Broken::Gone) => {
                self.pool.note_crash();
                let post_mortem = program.post_mortem().await;
                let (status, lines) = (&post_mortem.status, &post_mortem.stderr);
                tracing::error!(%task, %status, stderr = ?lines, "the program ended amid a request");
                let mut text = format!(
                    "the program behind this agent ended ({status}) before it had answered"
                );
                if post_mortem.is_success {
                    text.push_str("; one that answers a single request needs turns_per_process(1)");
                }
                if self.stderr == StderrOf::Caller && !lines.is_empty() {
                    text.push_str("; it said last:\n");
                    text.push_str(&lines.join("\n"));
                }
                AgentError::public(text)
            }
        }
    }
}

/// Why there is no answer.
enum Ended {
    Canceled,
    TimedOut,
    Turn(AgentError),
    Broken(Broken),
}

/// Sends the request and relays what the program says until it is done.
async fn talk(
    program: &mut Program,
    input: &ProcessInput,
    turn: &Turn,
) -> Result<Result<Response, String>, Ended> {
    program.send(&input.line);
    loop {
        match program.hear(&input.id).await.map_err(Ended::Broken)? {
            Said::Emit(payload) => turn.emit(payload).await.map_err(Ended::Turn)?,
            Said::Status(text) => turn.status(text).await.map_err(Ended::Turn)?,
            Said::Done(payload) => return Ok(Ok(Response::from(payload))),
            Said::Keep => return Ok(Ok(Response::Keep)),
            Said::Ask(payload) => return Ok(Ok(Answer::InputRequired(payload).into())),
            // An answer as well: the program goes on with the next request.
            Said::Error(text) => return Ok(Err(text)),
        }
    }
}

impl fmt::Debug for ProcessAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessAdapter")
            .field("pool", &self.pool)
            .field("stderr", &self.stderr)
            .field("turn_timeout", &self.turn_timeout)
            .finish_non_exhaustive()
    }
}
