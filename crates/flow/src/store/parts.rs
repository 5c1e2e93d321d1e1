//! Lists of parts: hashes in a row, each naming a text of the run.

use std::collections::HashMap;

use bytestring::ByteString;
use llamon_core::Part;
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use rusqlite::{Connection, params};

use super::writer::Fault;

/// Stores the parts of a run and returns the list that names them.
pub(super) fn write(connection: &Connection, run: i64, parts: &[Part]) -> Result<Vec<u8>, Fault> {
    let mut list = Vec::with_capacity(parts.len() * SHA256_OUTPUT_LEN);
    let mut insert = connection
        .prepare_cached("INSERT OR IGNORE INTO contents (run, hash, json) VALUES (?,?,?)")?;
    for part in parts {
        let hash = digest(&SHA256, part.json().as_bytes());
        insert.execute(params![run, hash.as_ref(), part.json()])?;
        list.extend_from_slice(hash.as_ref());
    }
    Ok(list)
}

/// Reads lists of one run; a part that is in several of them is one text in memory.
pub(super) struct Contents<'c> {
    connection: &'c Connection,
    run: i64,
    known: HashMap<Vec<u8>, Part>,
}

impl<'c> Contents<'c> {
    pub(super) fn of(connection: &'c Connection, run: i64) -> Self {
        Self {
            connection,
            run,
            known: HashMap::new(),
        }
    }

    pub(super) fn read(&mut self, list: &[u8]) -> Result<Vec<Part>, Fault> {
        let hashes = list.chunks(SHA256_OUTPUT_LEN);
        hashes.map(|hash| self.part(hash)).collect()
    }

    fn part(&mut self, hash: &[u8]) -> Result<Part, Fault> {
        if let Some(part) = self.known.get(hash) {
            return Ok(part.clone());
        }
        let json: String = self
            .connection
            .prepare_cached("SELECT json FROM contents WHERE run = ? AND hash = ?")?
            .query_row(params![self.run, hash], |row| row.get(0))?;
        let part = Part::from_json(ByteString::from(json))
            .map_err(|error| Fault::Damaged(format!("a stored part is none: {error}")))?;
        self.known.insert(hash.to_owned(), part.clone());
        Ok(part)
    }
}
