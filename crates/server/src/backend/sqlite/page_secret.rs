//! What an agent's page tokens are sealed with.

use std::sync::Arc;

use rusqlite::OptionalExtension as _;

use super::fault::Fault;
use super::tx::Tx;
use crate::backend::PageSecret;

/// The agent's secret; it gets one if it has none.
pub(super) fn of_agent(tx: &mut Tx<'_>, agent: &Arc<str>) -> Result<PageSecret, Fault> {
    // First, as nothing may have been written when it fails.
    let fresh = PageSecret::random()?;
    let agent = tx.agent(agent)?;
    let stored = tx
        .connection
        .prepare_cached("SELECT secret FROM page_secrets WHERE agent = ?1")?
        .query_row([agent], |row| row.get::<_, Vec<u8>>(0))
        .optional()?;
    if let Some(stored) = stored {
        let bytes = <[u8; PageSecret::BYTES]>::try_from(stored.as_slice()).map_err(|_| {
            let (found, expected) = (stored.len(), PageSecret::BYTES);
            Fault::record(format!(
                "a secret in page_secrets has {found} bytes, not {expected}; without the row a new \
                 one is made"
            ))
        })?;
        return Ok(PageSecret::from_bytes(bytes));
    }
    tx.connection.execute(
        "INSERT INTO page_secrets (agent, secret) VALUES (?1, ?2)",
        (agent, fresh.as_bytes().as_slice()),
    )?;
    Ok(fresh)
}
