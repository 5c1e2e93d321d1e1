//! Cards and keys from files, and cards from agents.

use std::path::Path;

use llamon_agent::client::Client;

use super::SourceArgs;
use crate::attach;
use crate::error::CliError;
use crate::exit::Exit;

/// The card's text.
pub(super) async fn card(source: &SourceArgs) -> Result<String, CliError> {
    if !source.card.starts_with("http://") && !source.card.starts_with("https://") {
        return file(Path::new(&source.card));
    }
    let builder = Client::builder().timeout(source.timeout);
    builder.fetch_card(&source.card).await.map_err(|error| {
        let exit = if error.is_usage() {
            Exit::Usage
        } else if error.is_connect() || error.is_timeout() || error.is_disconnected() {
            Exit::Connect
        } else {
            Exit::Protocol
        };
        CliError::new(exit, error.to_string())
            .with_next(format!("check that an agent's card is at {}", source.card))
    })
}

/// A file's text.
pub(super) fn file(path: &Path) -> Result<String, CliError> {
    attach::read_text(path, "JSON and PEM are UTF-8")
}

/// Whether a key is PEM and not JSON.
pub(super) fn is_pem(text: &str) -> bool {
    text.contains("-----BEGIN")
}
