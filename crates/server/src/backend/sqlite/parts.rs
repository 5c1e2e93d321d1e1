//! Walking the parts of what is stored, in one fixed order.

use std::sync::Arc;

use llamon_core::Part;
use llamon_core::a2a::{Message, StreamEvent, Task};

/// Something that has parts. Both methods see them in the same order.
pub(super) trait Parts {
    /// Shows every part.
    fn each_part(&self, see: &mut dyn FnMut(&Part));

    /// Puts another part in the place of each for which `with` gives one.
    fn replace_parts(&mut self, with: &mut dyn FnMut(&Part) -> Option<Part>);
}

impl Parts for Message {
    fn each_part(&self, see: &mut dyn FnMut(&Part)) {
        self.parts.iter().for_each(see);
    }

    fn replace_parts(&mut self, with: &mut dyn FnMut(&Part) -> Option<Part>) {
        let mut changed = false;
        let mut replace = |part: &Part| match with(part) {
            Some(other) => {
                changed = true;
                other
            }
            None => part.clone(),
        };
        let parts: Vec<Part> = self.parts.iter().map(&mut replace).collect();
        if changed {
            self.parts = parts.into();
        }
    }
}

impl Parts for Task {
    fn each_part(&self, see: &mut dyn FnMut(&Part)) {
        for message in self.status.message.iter().chain(&self.history) {
            message.each_part(see);
        }
        for artifact in &self.artifacts {
            artifact.parts.iter().for_each(&mut *see);
        }
    }

    fn replace_parts(&mut self, with: &mut dyn FnMut(&Part) -> Option<Part>) {
        for message in self.status.message.iter_mut().chain(&mut self.history) {
            message.replace_parts(with);
        }
        for artifact in &mut self.artifacts {
            replace_in(&mut artifact.parts, with);
        }
    }
}

impl Parts for StreamEvent {
    fn each_part(&self, see: &mut dyn FnMut(&Part)) {
        match self {
            Self::Task(task) => task.each_part(see),
            Self::Message(message) => message.each_part(see),
            Self::Status(update) => {
                if let Some(message) = &update.status.message {
                    message.each_part(see);
                }
            }
            Self::Artifact(update) => update.artifact.parts.iter().for_each(see),
        }
    }

    fn replace_parts(&mut self, with: &mut dyn FnMut(&Part) -> Option<Part>) {
        match self {
            Self::Task(task) => Arc::make_mut(task).replace_parts(with),
            Self::Message(message) => Arc::make_mut(message).replace_parts(with),
            Self::Status(update) => {
                if let Some(message) = &mut update.status.message {
                    message.replace_parts(with);
                }
            }
            Self::Artifact(update) => replace_in(&mut update.artifact.parts, with),
        }
    }
}

fn replace_in(parts: &mut [Part], with: &mut dyn FnMut(&Part) -> Option<Part>) {
    for part in parts {
        if let Some(other) = with(part) {
            *part = other;
        }
    }
}
