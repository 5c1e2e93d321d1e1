use std::future::Future;

use crate::error::CliError;
use crate::exit::Exit;

/// Runs a command until it ends or Ctrl-C comes, which ends it as `interrupted` says.
///
/// The command runs as a task, so that Ctrl-C also ends one that is stuck in a write to a pipe
/// which nobody empties.
pub(crate) fn run(
    command: impl Future<Output = Result<Exit, CliError>> + Send + 'static,
    interrupted: CliError,
) -> Result<Exit, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::usage(format!("cannot start: {error}")))?;
    let ended = runtime.block_on(async {
        tokio::select! {
            // First, so that the handler is there before the command does anything.
            biased;
            () = interrupt() => Err(interrupted),
            ended = async { runtime.spawn(command).await } => ended.unwrap_or_else(|error| {
                Err(CliError::new(Exit::Protocol, format!("the command broke: {error}")))
            }),
        }
    });
    runtime.shutdown_background();
    ended
}

async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a handler Ctrl-C ends the process by itself.
        std::future::pending::<()>().await;
    }
}
