//! What came of it all.

use std::path::Path;

use llamon_agent::server::backend::sqlite::StoreFile;

#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) deaths: usize,
    pub(crate) sent: usize,
    pub(crate) acknowledged: usize,
    pub(crate) finished_before: usize,
    pub(crate) pushed_tasks: usize,
    pub(crate) deliveries: usize,
    pub(crate) repeats: usize,
}

impl Figures {
    pub(crate) fn print(&self, rounds: usize) {
        println!(
            "{rounds} rounds, {} deaths: {} tasks sent, {} acknowledged ({} of them finished before \
             the death), 0 lost; {} push tasks, {} notifications, {} of them repeats",
            self.deaths,
            self.sent,
            self.acknowledged,
            self.finished_before,
            self.pushed_tasks,
            self.deliveries,
            self.repeats
        );
    }
}

/// Checks the file as `llamon store check` does.
pub(crate) fn check_store(db: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let report = StoreFile::open(db)?.check()?;
    if report.problems.is_empty() {
        return Ok(());
    }
    Err(format!("the store is broken: {report:?}").into())
}
