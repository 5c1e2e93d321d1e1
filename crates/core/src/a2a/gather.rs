use super::{ArtifactUpdate, StreamEvent};
use crate::Part;

/// Events that wait to be stored together. Text chunks of one artifact that come one after the
/// other become one chunk; the fold of what comes out is the fold of what went in.
#[derive(Debug, Default)]
pub struct EventGather {
    events: Vec<StreamEvent>,
    /// Escaped text that continues the last event's last part.
    tail: String,
    bytes: usize,
}

impl EventGather {
    /// Takes in an event.
    pub fn push(&mut self, event: StreamEvent) {
        if let StreamEvent::Artifact(update) = &event {
            self.bytes += update.artifact.bytes();
            if let Some(text) = self.continued_by(update) {
                self.tail.push_str(text);
                return;
            }
        }
        self.close();
        self.events.push(event);
    }

    /// Takes out what there is.
    pub fn take(&mut self) -> Vec<StreamEvent> {
        self.close();
        self.bytes = 0;
        std::mem::take(&mut self.events)
    }

    /// Bytes of the parts that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The escaped text by which `next` does nothing but continue the last event.
    fn continued_by<'a>(&self, next: &'a ArtifactUpdate) -> Option<&'a str> {
        let Some(StreamEvent::Artifact(last)) = self.events.last() else {
            return None;
        };
        let [only] = &next.artifact.parts[..] else {
            return None;
        };
        let renames = next.artifact.name.is_some() && next.artifact.name != last.artifact.name;
        let says_more = renames
            || next.artifact.description.is_some()
            || next.artifact.metadata.is_some()
            || next.metadata.is_some();
        let continues = next.append
            && !says_more
            && !next.last_chunk
            && !last.last_chunk
            && next.artifact.artifact_id == last.artifact.artifact_id
            && only.is_plain_text()
            && last.artifact.parts.last().is_some_and(Part::is_plain_text);
        continues.then(|| only.escaped_text())
    }

    fn close(&mut self) {
        if self.tail.is_empty() {
            return;
        }
        if let Some(StreamEvent::Artifact(update)) = self.events.last_mut()
            && let Some(last) = update.artifact.parts.last_mut()
        {
            let mut text = last.escaped_text().to_owned();
            text.push_str(&self.tail);
            *last = Part::text_of_escaped(&text);
        }
        self.tail.clear();
    }
}
