use std::collections::HashMap;

use llamon_core::{Part, Payload};

use super::items::Item;
use super::{Answers, DataError};
use crate::plan::{Dedupe, Plan, PlannedStep, Source};

/// What a step's agent is sent, and where each part comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    parts: Vec<Part>,
    origins: Vec<Origin>,
    repeats: Vec<Repeat>,
}

/// Where a part of a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The step's own text.
    Text,
    /// The item, at the place of this source.
    Item(Source),
    /// A source in `from`.
    Source(Source),
}

/// A data or file part that had arrived before: equal token text of the whole part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The source that it came from.
    pub source: Source,
    /// The source that the first one came from.
    pub first: Source,
    /// Bytes of its JSON text.
    pub bytes: usize,
    /// Whether it was left out (`dedupe: by-content`); sent otherwise.
    pub removed: bool,
}

impl Message {
    /// The parts, in the order in which they are sent.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Where each of [`Message::parts`] comes from.
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// What arrived more than once, in the order of arrival.
    pub fn repeats(&self) -> &[Repeat] {
        &self.repeats
    }

    /// The parts as a payload.
    pub fn into_payload(self) -> Payload {
        self.parts.into()
    }

    fn push(&mut self, part: Part, origin: Origin) {
        self.parts.push(part);
        self.origins.push(origin);
    }
}

impl Plan {
    /// What the agent of `step` is sent, for `item` where the step has items.
    ///
    /// Of each source in `from`, in this order: its text as one text part, unless the step has a
    /// text of its own, which is the first part; then its data and file parts, token for token.
    ///
    /// # Errors
    /// When a place of the step's text is not there, and when there would be no part at all.
    pub fn message(
        &self,
        step: usize,
        answers: &Answers,
        item: Option<&Item>,
    ) -> Result<Message, DataError> {
        let Some(planned) = self.steps.get(step) else {
            return Err(DataError::new(format!("the plan has no step {step}")));
        };
        let mut message = Message::default();
        if let Some(template) = &planned.template {
            let context = self.context(step, template.references(), answers, item);
            let text = template.fill(&context);
            let text = text.map_err(|error| DataError::new(format!("`text`: {error}")))?;
            message.push(Part::text(text), Origin::Text);
        }
        let mut seen = HashMap::new();
        for source in &planned.from {
            match item.filter(|_| is_of(planned, *source)) {
                Some(item) => message.push(item.part().clone(), Origin::Item(*source)),
                None => self.receive(step, *source, answers, &mut message, &mut seen),
            }
        }
        if message.parts.is_empty() {
            return Err(DataError::new(
                "there is nothing to send: no source has a part, and the step has no `text`",
            ));
        }
        Ok(message)
    }

    fn receive<'a>(
        &self,
        step: usize,
        source: Source,
        answers: &'a Answers,
        message: &mut Message,
        seen: &mut HashMap<&'a str, Source>,
    ) {
        let Some(planned) = self.steps.get(step) else {
            return;
        };
        let payload = answers.payload(match source {
            Source::Input => Source::Input,
            Source::Step(from) => Source::Step(self.stands_for(from, step, answers)),
        });
        let text = payload.text();
        if planned.template.is_none() && !text.is_empty() {
            message.push(Part::text(text), Origin::Source(source));
        }
        for part in payload
            .parts()
            .iter()
            .filter(|part| part.as_text().is_none())
        {
            let removed = planned.dedupe() == Dedupe::ByContent;
            if let Some(first) = seen.get(part.json()) {
                message.repeats.push(Repeat {
                    source,
                    first: *first,
                    bytes: part.json().len(),
                    removed,
                });
                if removed {
                    continue;
                }
            } else {
                seen.insert(part.json(), source);
            }
            message.push(part.clone(), Origin::Source(source));
        }
    }
}

fn is_of(step: &PlannedStep, source: Source) -> bool {
    step.each.as_ref().is_some_and(|each| each.of == source)
}
