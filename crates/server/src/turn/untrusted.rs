//! What arrived, as a type that says so.

use std::sync::Arc;

use llamon_core::provenance::Stamp;
use llamon_core::{Part, Untrusted};

use super::Turn;

impl Turn {
    /// [`Turn::query`] as what it is, a stranger's text. It does not become a part of a prompt, a
    /// command or a log unless [`Untrusted::expose`] says so.
    pub fn untrusted_query(&self) -> Untrusted<&str> {
        let query = Untrusted::new(self.query(), None);
        sent(query, self.sender().as_ref())
    }

    /// The parts of [`Turn::upstream`] as what they are, in arrival order. Where the agents on the
    /// way stamp their parts, each says who made it and how many hops ago.
    ///
    /// ```
    /// use llamon_server::{AgentError, Turn};
    ///
    /// async fn count(turn: Turn) -> Result<String, AgentError> {
    ///     let mut lines = Vec::new();
    ///     for part in turn.untrusted_upstream() {
    ///         let who = part.producer().unwrap_or("somebody").to_owned();
    ///         let number: u64 = part.check(|part| part.data_as())?;
    ///         lines.push(format!("{number} from {who}"));
    ///     }
    ///     Ok(lines.join(", "))
    /// }
    /// ```
    pub fn untrusted_upstream(&self) -> impl Iterator<Item = Untrusted<&Part>> {
        let here = Stamp::next_hop(self.upstream());
        let sender = self.sender();
        let parts = self.upstream().parts().iter();
        parts.map(move |part| {
            let part = Untrusted::new(part, Stamp::made(part, here));
            sent(part, sender.as_ref())
        })
    }

    fn sender(&self) -> Option<Arc<str>> {
        self.principal().map(Arc::from)
    }
}

fn sent<T>(value: Untrusted<T>, sender: Option<&Arc<str>>) -> Untrusted<T> {
    match sender {
        Some(sender) => value.sent_by(Arc::clone(sender)),
        None => value,
    }
}
