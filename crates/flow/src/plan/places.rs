use std::collections::HashMap;

use crate::finding::Place;

/// What in a plan has a place in its document. Numbers are places in the plan's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum At {
    Agent(usize),
    AgentUrl(usize),
    Step(usize),
    Field(usize, &'static str),
    From(usize, usize),
    Outputs,
    Output(usize),
}

/// Where in the document everything stands; empty for a plan that was built in Rust.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(HashMap<At, Place>);

impl Places {
    pub(crate) fn put(&mut self, at: At, place: Option<Place>) {
        if let Some(place) = place {
            self.0.insert(at, place);
        }
    }

    /// The place, or that of what it is in.
    pub(crate) fn get(&self, at: At) -> Option<Place> {
        let outer = match at {
            At::AgentUrl(agent) => Some(At::Agent(agent)),
            At::Field(step, _) => Some(At::Step(step)),
            At::From(step, _) => Some(At::Field(step, "from")),
            At::Output(_) => Some(At::Outputs),
            At::Agent(_) | At::Step(_) | At::Outputs => None,
        };
        let found = self.0.get(&at).copied();
        found.or_else(|| outer.and_then(|outer| self.get(outer)))
    }
}
