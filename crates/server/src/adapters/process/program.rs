//! One process of a program: lines in, lines out, and its end.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use bytestring::ByteString;
use futures_util::StreamExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use super::line::{Said, read_line};
use super::stderr::Tail;

/// How long the last lines of standard error are waited for when the program has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How a program is started and ended.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) envs: Vec<(OsString, OsString)>,
    pub(super) clear_env: bool,
    pub(super) folder: Option<PathBuf>,
    pub(super) max_line_bytes: usize,
    pub(super) kill_grace: Duration,
}

/// A running program.
pub(super) struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    /// Of the request's line, what the program has not taken yet.
    unsent: BytesMut,
    lines: FramedRead<ChildStdout, LinesCodec>,
    stderr: Tail,
    kill_grace: Duration,
    max_line_bytes: usize,
    /// Whether it works on a request.
    is_busy: bool,
    answered: usize,
    /// The request that it answered last.
    before: Option<String>,
}

/// Why a program is of no use any more.
#[derive(Debug)]
pub(super) enum Broken {
    /// It has closed its output.
    Gone,
    /// It has written what is no line of the protocol; the reason is for the caller.
    Protocol(String),
}

/// What is known of a program that has ended.
#[derive(Debug)]
pub(super) struct PostMortem {
    pub(super) status: String,
    pub(super) is_success: bool,
    pub(super) stderr: Vec<String>,
}

impl Recipe {
    /// Starts the program. Needs a runtime.
    pub(super) fn start(&self) -> io::Result<Program> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(cfg!(not(unix)));
        if self.clear_env {
            command.env_clear();
        }
        command.envs(self.envs.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        // A group of its own: what it starts ends with it, and Ctrl-C at the server's terminal
        // does not end it amid a request that the server still waits for.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("the process has no pipes");
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let pid = child.id().unwrap_or_default();
        tracing::debug!(pid, program = ?self.program, "a program is started");
        Ok(Program {
            stdin: child.stdin.take(),
            child,
            unsent: BytesMut::new(),
            lines: FramedRead::new(stdout, LinesCodec::new_with_max_length(self.max_line_bytes)),
            stderr: Tail::of(stderr, pid),
            kill_grace: self.kill_grace,
            max_line_bytes: self.max_line_bytes,
            is_busy: false,
            answered: 0,
            before: None,
        })
    }
}

impl Program {
    /// Gives it a request, which it takes while it is listened to.
    pub(super) fn send(&mut self, line: &str) {
        self.is_busy = true;
        self.unsent.extend_from_slice(line.as_bytes());
    }

    /// What it says next about the request `id`. Cancel-safe.
    pub(super) async fn hear(&mut self, id: &str) -> Result<Said, Broken> {
        loop {
            let line = self.line().await?;
            if line.trim().is_empty() {
                continue;
            }
            let (about, said) = read_line(&line).map_err(|error| {
                let begin: String = line.chars().take(200).collect();
                tracing::error!(line = ?begin, %error, "a line that is not of the protocol");
                Broken::Protocol(format!(
                    "a line of its standard output {error}; what is for people goes to standard \
                     error"
                ))
            })?;
            if about == id {
                if matches!(
                    said,
                    Said::Done(_) | Said::Keep | Said::Ask(_) | Said::Error(_)
                ) {
                    self.is_busy = false;
                    self.answered += 1;
                    self.before = Some(about);
                }
                return Ok(said);
            }
            if self.before.as_deref() != Some(&about) {
                let about: String = about.chars().take(40).collect();
                return Err(Broken::Protocol(format!(
                    "a line is about the request {about:?}, but it was asked {id:?}"
                )));
            }
            tracing::warn!(
                id = about,
                "the program goes on about a request that is answered"
            );
        }
    }

    /// The next line; meanwhile the program is given what it has not taken yet.
    async fn line(&mut self) -> Result<ByteString, Broken> {
        loop {
            let heard = match &mut self.stdin {
                Some(stdin) if self.unsent.has_remaining() => tokio::select! {
                    heard = self.lines.next() => heard,
                    taken = stdin.write_buf(&mut self.unsent) => {
                        if taken.is_err() {
                            // It reads nothing any more, but may have said all it has to say.
                            self.stdin = None;
                        }
                        continue;
                    }
                },
                _ => self.lines.next().await,
            };
            return match heard {
                Some(Ok(line)) => Ok(ByteString::from(line)),
                Some(Err(LinesCodecError::MaxLineLengthExceeded)) => {
                    Err(Broken::Protocol(format!(
                        "a line of its standard output has more than {} bytes (max_line_bytes)",
                        self.max_line_bytes
                    )))
                }
                Some(Err(LinesCodecError::Io(error)))
                    if error.kind() == io::ErrorKind::InvalidData =>
                {
                    Err(Broken::Protocol(
                        "a line of its standard output is not UTF-8".to_owned(),
                    ))
                }
                Some(Err(_)) | None => Err(Broken::Gone),
            };
        }
    }

    /// Whether it can be given another request.
    pub(super) fn is_usable(&mut self) -> bool {
        let runs = matches!(self.child.try_wait(), Ok(None));
        runs && !self.is_busy && self.stdin.is_some() && self.unsent.is_empty()
    }

    /// How many requests it has answered.
    pub(super) fn answered(&self) -> usize {
        self.answered
    }

    /// What is to be said of a program that has closed its output: it is ended if it runs.
    pub(super) async fn post_mortem(&mut self) -> PostMortem {
        // Its output ends a moment before it does.
        let status = match tokio::time::timeout(self.kill_grace, self.child.wait()).await {
            Ok(ended) => ended.ok(),
            Err(_) => self.end().await,
        };
        let _ = tokio::time::timeout(LAST_WORDS, self.stderr.closed()).await;
        PostMortem {
            is_success: status.as_ref().is_some_and(ExitStatus::success),
            status: status.map_or_else(
                || "how is not known".to_owned(),
                |status| status.to_string(),
            ),
            stderr: self.stderr.lines(),
        }
    }

    /// Ends it: no more input, where it works on a request a signal to its group, and force after
    /// the grace.
    pub(super) async fn end(&mut self) -> Option<ExitStatus> {
        self.stdin = None;
        if self.is_busy {
            self.signal(Signal::Term);
        }
        if let Ok(ended) = tokio::time::timeout(self.kill_grace, self.child.wait()).await {
            return ended.ok();
        }
        self.signal(Signal::Kill);
        self.child.wait().await.ok()
    }

    /// Sends a signal to its process group, as long as it is there.
    #[cfg(unix)]
    fn signal(&mut self, signal: Signal) {
        use rustix::process;

        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        let Some(group) = id.and_then(process::Pid::from_raw) else {
            return;
        };
        let signal = match signal {
            Signal::Term => process::Signal::TERM,
            Signal::Kill => process::Signal::KILL,
        };
        // An error says that it has just ended.
        let _ = process::kill_process_group(group, signal);
    }

    /// Ends it by force: there is nothing else here.
    #[cfg(not(unix))]
    fn signal(&mut self, _: Signal) {
        // An error says that it has just ended.
        let _ = self.child.start_kill();
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Term,
    Kill,
}

impl Drop for Program {
    fn drop(&mut self) {
        // Who waits for its next request may tidy up; who is left amid one has had its grace.
        self.signal(if self.is_busy {
            Signal::Kill
        } else {
            Signal::Term
        });
    }
}
