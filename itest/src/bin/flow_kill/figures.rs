//! What came of it all.

use crate::Outcome;

/// Counts of all rounds.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) runner_kills: usize,
    pub(crate) agent_kills: usize,
    /// Steps and items.
    pub(crate) calls: usize,
    /// Messages that runners said they send; one that was killed just then did not say so.
    pub(crate) sent: usize,
    /// Turns that agents did.
    pub(crate) effects: usize,
    /// Turns that an agent did again after its own death.
    pub(crate) redone: usize,
    /// Turns of agents without tasks that were done again.
    pub(crate) resent: usize,
    /// Messages that an agent with tasks, which does not know its messages, has taken twice: the
    /// first one came after the next runner had looked for it.
    pub(crate) late: usize,
    /// Repeats that runs report as possible.
    pub(crate) reported: usize,
}

impl Figures {
    /// Checks that what only a slow machine can excuse stays rare: one in 50 rounds.
    pub(crate) fn check(&self, rounds: usize) -> Outcome<()> {
        let most = 1 + rounds / 50;
        if self.late > most {
            let late = self.late;
            return Err(format!("{late} messages were sent twice to an agent with tasks").into());
        }
        Ok(())
    }

    pub(crate) fn print(&self, rounds: usize) {
        println!(
            "{rounds} rounds, {} kills of the runner, {} of agents: {} calls, {} messages sent, {} \
             effects, 0 missing; {} done again by an agent that had died, {} sent again to an agent \
             without tasks ({} reported as possible), {} to one with tasks",
            self.runner_kills,
            self.agent_kills,
            self.calls,
            self.sent,
            self.effects,
            self.redone,
            self.resent,
            self.reported,
            self.late
        );
    }
}
