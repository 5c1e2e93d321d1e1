//! Pages of tasks.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use llamon_core::a2a::ListTasksRequest;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params_from_iter};

use super::fault::Fault;
use super::rows::{self, ANSWERED, TaskRow, number_of};
use crate::backend::{Page, StoreError};

/// Where a page ends: a status' moment and number.
type Key = (i64, i64);

pub(super) fn page(
    connection: &Connection,
    agent: &str,
    who: &str,
    request: &ListTasksRequest,
    page_size: usize,
) -> Result<Page, Fault> {
    let after = request.page_token.as_deref().map(parse_token).transpose()?;
    let space = space(connection, agent, who)?;
    let Some(space) = space else {
        return Ok(Page::default());
    };
    let filter = Filter::new(space, request);
    let mut keys = filter.keys(connection, after, page_size.saturating_add(1))?;
    let has_more = keys.len() > page_size;
    keys.truncate(page_size);
    let mut page = Page {
        tasks: Vec::with_capacity(keys.len()),
        next_page_token: String::new(),
        total: filter.total(connection)?,
    };
    let history = request.history_length.unwrap_or(0) as usize;
    for (task, key) in keys {
        let Some(row) = TaskRow::of_key(connection, task)? else {
            continue;
        };
        let task = rows::load_task_in_part(connection, &row, history, request.include_artifacts)?;
        page.tasks.push(Arc::new(task));
        if has_more {
            page.next_page_token = token(key);
        }
    }
    Ok(page)
}

/// The key of a scope of an agent, if it has one.
pub(super) fn space(
    connection: &Connection,
    agent: &str,
    who: &str,
) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT s.key FROM spaces s JOIN agents a ON a.key = s.agent \
             WHERE a.name = ?1 AND s.who = ?2",
        )?
        .query_row((agent, who), |row| row.get(0))
        .optional()
}

/// The tasks that a request asks for, as SQL.
struct Filter {
    space: i64,
    state: Option<i64>,
    /// Whether the state is all that is asked for.
    is_counted: bool,
    from: String,
    values: Vec<Value>,
}

impl Filter {
    fn new(space: i64, request: &ListTasksRequest) -> Self {
        let state = request.status.map(number_of);
        let since = request.status_timestamp_after;
        let index = match (&request.context_id, state) {
            (Some(_), _) => "tasks_by_context",
            (None, Some(_)) => "tasks_by_state",
            (None, None) => "tasks_by_status",
        };
        let mut filter = Self {
            space,
            state,
            is_counted: request.context_id.is_none() && since.is_none(),
            from: format!(
                "FROM tasks INDEXED BY {index} WHERE status_number IS NOT NULL AND space = ?"
            ),
            values: vec![space.into()],
        };
        if let Some(context) = &request.context_id {
            filter.and("context = ?", context.to_string());
        }
        if let Some(state) = state {
            filter.and("state = ?", state);
        }
        if let Some(since) = since {
            filter.and("status_ms >= ?", rows::millis(Some(since)));
        }
        filter
    }

    fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.from.push_str(" AND ");
        self.from.push_str(condition);
        self.values.push(value.into());
    }

    /// How many tasks there are on all pages.
    fn total(&self, connection: &Connection) -> Result<usize, Fault> {
        let total: i64 = if self.is_counted {
            connection
                .prepare_cached(
                    "SELECT coalesce(sum(tasks), 0) FROM listed \
                     WHERE space = ?1 AND state < ?2 AND (?3 IS NULL OR state = ?3)",
                )?
                .query_row((self.space, ANSWERED, self.state), |row| row.get(0))?
        } else {
            connection
                .prepare_cached(&format!("SELECT count(*) {}", self.from))?
                .query_row(params_from_iter(&self.values), |row| row.get(0))?
        };
        Ok(usize::try_from(total).unwrap_or(0))
    }

    fn keys(
        &self,
        connection: &Connection,
        after: Option<Key>,
        limit: usize,
    ) -> Result<Vec<(i64, Key)>, Fault> {
        let mut values = self.values.clone();
        let begin = match after {
            None => "",
            Some((millis, number)) => {
                values.extend([millis.into(), number.into()]);
                "AND (status_ms, status_number) < (?, ?)"
            }
        };
        values.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
        let mut statement = connection.prepare_cached(&format!(
            "SELECT key, status_ms, status_number {} {begin} \
             ORDER BY status_ms DESC, status_number DESC LIMIT ?",
            self.from
        ))?;
        let rows = statement.query_map(params_from_iter(values), |row| {
            Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn token((millis, number): Key) -> String {
    URL_SAFE_NO_PAD.encode(format!("{millis}/{number}"))
}

fn parse_token(token: &str) -> Result<Key, StoreError> {
    let parse = || {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        let (millis, number) = text.split_once('/')?;
        Some((millis.parse().ok()?, number.parse().ok()?))
    };
    parse().ok_or(StoreError::PageToken)
}
