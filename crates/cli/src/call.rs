//! Calls to an agent: the client, what its errors mean for the shell, and how a task's state
//! ends the command.

use llamon_agent::a2a::{ErrorCode, TaskState};
use llamon_agent::client::{Client, ClientError, Reply};

use crate::args::AgentArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::send::questions;
use crate::text::{clean_line, shell_word};

/// Fetches the agent's card and makes a client for it.
pub(crate) async fn connect(agent: &AgentArgs) -> Result<Client, CliError> {
    let mut builder = Client::builder()
        .timeout(agent.timeout)
        .idle_timeout(agent.timeout);
    if let Some(binding) = agent.binding {
        builder = builder.binding(binding.into());
    }
    for origin in &agent.trust_origin {
        builder = builder.trust_origin(origin);
    }
    if let Some(variable) = &agent.bearer_env {
        builder = builder.bearer(secret(variable)?);
    }
    for (header, variable) in &agent.header_env {
        builder = builder.api_key(header, secret(variable)?);
    }
    builder.discover(&agent.url).await.map_err(|error| {
        // Only the card was asked for: whatever broke, the agent got nothing.
        if error.is_timeout() || error.is_disconnected() {
            return CliError::new(Exit::Connect, error.to_string()).with_next(reachable(agent));
        }
        failed(&error, agent)
    })
}

/// The value of an environment variable.
fn secret(variable: &str) -> Result<String, CliError> {
    std::env::var(variable).map_err(|_| {
        CliError::usage(format!(
            "the environment variable {variable:?} is not set, or is no text"
        ))
        .with_next("set it to what the agent is to be sent, and export it")
    })
}

/// The error of a call.
pub(crate) fn failed(error: &ClientError, agent: &AgentArgs) -> CliError {
    let message = error.to_string();
    if error.is_usage() {
        return CliError::usage(message).with_next(
            "check the URL and the options; --binding chooses among the card's interfaces, \
             --trust-origin allows one on another origin",
        );
    }
    if error.is_connect() {
        return CliError::new(Exit::Connect, message).with_next(reachable(agent));
    }
    let next = if let Some(id) = error.task_id() {
        agent.command("task watch", &shell_word(id))
    } else if let Some(error) = error.protocol() {
        match error.code() {
            ErrorCode::TaskNotFound => agent.command("task list", ""),
            ErrorCode::Unauthenticated => "say who you are, with --bearer-env VARIABLE or \
                 --header-env HEADER=VARIABLE; the agent's card says which it takes"
                .to_owned(),
            ErrorCode::UnsupportedOperation => {
                format!("see what the agent can do: {}", agent.command("card", ""))
            }
            _ => "the error is the agent's; change the message, or ask who runs the agent".into(),
        }
    } else if error.is_timeout() {
        let list = agent.command("task list", "");
        format!("raise --timeout; the task may run on: {list}")
    } else if error.is_disconnected() {
        let list = agent.command("task list", "");
        format!("the agent may have got the message: {list}")
    } else {
        "check that the URL is that of an A2A 1.0 agent".to_owned()
    };
    CliError::new(Exit::Protocol, message).with_next(next)
}

/// How a command ends whose answer is `reply`: says what is to be said besides the answer.
pub(crate) fn conclude(
    reply: &Reply,
    agent: &AgentArgs,
    said: Said,
    out: &mut Out,
) -> Result<Exit, CliError> {
    let Some(task) = reply.task() else {
        return Ok(Exit::Completed);
    };
    let id = shell_word(&task.id);
    let get = || agent.command("task get", &id);
    let reason = reply.status_text();
    let with_reason = |what: &str| match &reason {
        Some(reason) => format!("{what}: {}", clean_line(reason)),
        None => what.to_owned(),
    };
    match task.status.state {
        TaskState::Completed => {
            if said == Said::ForPeople {
                out.note(&format!("task {id} completed"));
            }
            Ok(Exit::Completed)
        }
        TaskState::InputRequired => {
            if said == Said::AsJson {
                out.note(&with_reason("the agent asks"));
            }
            let answer = agent.command("send", &questions::answering_arguments(task));
            out.note(&format!("answer with: {answer}"));
            Ok(Exit::InputRequired)
        }
        TaskState::AuthRequired => {
            let error = CliError::new(
                Exit::InputRequired,
                with_reason("the agent requires credentials"),
            );
            let answer = agent.command("send", &format!("--task {id} \"...\""));
            Err(error.with_next(format!("when it has them, go on with: {answer}")))
        }
        TaskState::Failed => {
            Err(CliError::new(Exit::AgentFailed, with_reason("the agent failed")).with_next(get()))
        }
        TaskState::Rejected => Err(CliError::new(
            Exit::AgentFailed,
            with_reason("the agent rejected the task"),
        )
        .with_next("change the message as the agent says")),
        TaskState::Canceled => Err(CliError::new(
            Exit::Canceled,
            with_reason("the task was canceled"),
        )
        .with_next(get())),
        state @ (TaskState::Submitted | TaskState::Working) => Err(CliError::new(
            Exit::Protocol,
            format!("the agent answered before the task came to rest; it is {state}"),
        )
        .with_next(agent.command("task watch", &id))),
    }
}

/// In which form the answer was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    ForPeople,
    AsJson,
}

fn reachable(agent: &AgentArgs) -> String {
    format!("check that an agent listens at {}", clean_line(&agent.url))
}
