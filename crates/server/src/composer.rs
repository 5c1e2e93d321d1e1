//! What a turn's answer is: own parts in the order produced, then what the policy keeps.

use llamon_core::{
    LimitExceeded, Limits, Part, PartKind, Payload, Upstream, UpstreamPartsPolicy, compose,
};

use crate::shared::Served;

/// What the agent has emitted so far, and how its answer is completed.
#[derive(Debug, Default)]
pub(crate) struct Current {
    text: String,
    // Emitted data and files; emitted text is in `text`.
    others: Vec<Part>,
    bytes: usize,
    emitted: bool,
    discarded: bool,
}

/// How answers are composed.
#[derive(Clone, Copy)]
pub(crate) struct Composition<'a> {
    pub(crate) policy: UpstreamPartsPolicy,
    pub(crate) served: Served,
    pub(crate) limits: &'a Limits,
}

/// A chunk of the turn's artifact.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) parts: Vec<Part>,
    pub(crate) append: bool,
    pub(crate) last: bool,
}

impl Current {
    /// Takes in what the agent emits.
    pub(crate) fn emit(
        &mut self,
        payload: Payload,
        limits: &Limits,
    ) -> Result<Chunk, LimitExceeded> {
        let parts = payload.into_answer_order().into_parts();
        let bytes = self.bytes + checked_bytes(&parts, limits)?;
        check_artifact(bytes, limits)?;
        self.bytes = bytes;
        for part in &parts {
            match part.as_text() {
                Some(text) => self.text.push_str(&text),
                None => self.others.push(part.clone()),
            }
        }
        Ok(Chunk {
            parts,
            append: std::mem::replace(&mut self.emitted, true),
            last: false,
        })
    }

    pub(crate) fn has_emitted(&self) -> bool {
        self.emitted
    }

    /// Makes drafts of what was emitted: what is returned takes its place.
    pub(crate) fn discard(&mut self) {
        self.discarded = true;
        self.text.clear();
        self.others.clear();
        self.bytes = 0;
    }

    /// The chunk that completes the answer, if there is anything left to send: what was returned
    /// and was not emitted before, then upstream.
    ///
    /// A returned text equal to the emitted one adds nothing; a different one that is not empty
    /// replaces it, and the chunk carries all of current.
    pub(crate) fn complete(
        self,
        returned: Payload,
        upstream: &Upstream,
        composition: &Composition<'_>,
    ) -> Result<Option<Chunk>, LimitExceeded> {
        let returned = returned.into_answer_order();
        let mut sent = self.bytes;
        let mut append = self.emitted && !self.discarded;
        let own = if self.text.is_empty() {
            returned
        } else {
            let text = returned.text();
            if !text.is_empty() && text != self.text {
                append = false;
                sent = 0;
                let mut parts = self.others;
                parts.extend(returned.into_parts());
                Payload::from(parts)
            } else {
                drop(text);
                let mut parts = returned.into_parts();
                parts.retain(|part| part.kind() != PartKind::Text);
                Payload::from(parts)
            }
        };
        let response = if should_preserve_upstream(composition, upstream) {
            compose(own, upstream, composition.policy)
        } else {
            own
        };
        let mut parts = response.into_parts();
        if parts.is_empty() && self.emitted && self.discarded {
            // An artifact cannot become one without parts.
            parts.push(Part::text(""));
        }
        let limits = composition.limits;
        check_artifact(sent + checked_bytes(&parts, limits)?, limits)?;
        Ok((!parts.is_empty()).then_some(Chunk {
            parts,
            append,
            last: true,
        }))
    }
}

/// Whether upstream joins the answer. The one place that decides it.
fn should_preserve_upstream(composition: &Composition<'_>, upstream: &Upstream) -> bool {
    composition.policy == UpstreamPartsPolicy::Append
        && !upstream.is_empty()
        && composition.served == Served::Agent
}

/// Bytes of the parts; none may be too large.
pub(crate) fn checked_bytes(parts: &[Part], limits: &Limits) -> Result<usize, LimitExceeded> {
    let mut bytes = 0;
    for part in parts {
        let found = part.json().len();
        if found > limits.max_part_bytes {
            return Err(LimitExceeded {
                what: format!("a {} part of the answer", part.kind().field()),
                limit: "max_part_bytes",
                allowed: limits.max_part_bytes,
                found,
            });
        }
        bytes += found;
    }
    Ok(bytes)
}

pub(crate) fn check_artifact(bytes: usize, limits: &Limits) -> Result<(), LimitExceeded> {
    if bytes <= limits.max_artifact_bytes {
        return Ok(());
    }
    Err(LimitExceeded {
        what: "the answer".to_owned(),
        limit: "max_artifact_bytes",
        allowed: limits.max_artifact_bytes,
        found: bytes,
    })
}

#[cfg(test)]
mod tests {
    use llamon_core::{Limits, Part, Payload, Upstream, UpstreamPartsPolicy};

    use super::{Chunk, Composition, Current};
    use crate::shared::Served;

    fn payload(parts: &[&str]) -> Payload {
        let parts = parts
            .iter()
            .map(|json| Part::from_json(json.to_string()).unwrap());
        Payload::from(parts.collect::<Vec<_>>())
    }

    fn complete(emitted: &[&[&str]], returned: &[&str]) -> Option<Chunk> {
        let limits = Limits::default();
        let mut current = Current::default();
        for chunk in emitted {
            current.emit(payload(chunk), &limits).unwrap();
        }
        let upstream = Upstream::of(payload(&[r#"{"data":"up"}"#]).parts());
        let composition = Composition {
            policy: UpstreamPartsPolicy::Append,
            served: Served::Agent,
            limits: &limits,
        };
        current
            .complete(payload(returned), &upstream, &composition)
            .unwrap()
    }

    fn chunk(parts: &[&str], append: bool) -> Option<Chunk> {
        let parts = payload(parts).into_parts();
        Some(Chunk {
            parts,
            append,
            last: true,
        })
    }

    const A: &str = r#"{"text":"a"}"#;
    const B: &str = r#"{"text":"b"}"#;
    const AB: &str = r#"{"text":"ab"}"#;
    const OWN: &str = r#"{"data":"own"}"#;
    const UP: &str = r#"{"data":"up"}"#;

    #[test]
    fn nothing_emitted_is_one_chunk_in_answer_order() {
        assert_eq!(complete(&[], &[OWN, A]), chunk(&[A, OWN, UP], false));
    }

    #[test]
    fn an_equal_returned_text_adds_nothing() {
        assert_eq!(complete(&[&[A], &[B]], &[AB]), chunk(&[UP], true));
        assert_eq!(
            complete(&[&[A], &[B]], &[A, B, OWN]),
            chunk(&[OWN, UP], true)
        );
        assert_eq!(complete(&[&[A]], &[]), chunk(&[UP], true));
    }

    #[test]
    fn a_different_returned_text_replaces_and_carries_all_of_current() {
        assert_eq!(complete(&[&[A], &[OWN]], &[B]), chunk(&[OWN, B, UP], false));
    }

    #[test]
    fn a_returned_text_after_emitted_data_is_added() {
        assert_eq!(complete(&[&[OWN]], &[A]), chunk(&[A, UP], true));
    }

    #[test]
    fn data_that_is_emitted_and_returned_is_there_twice() {
        assert_eq!(complete(&[&[OWN]], &[OWN]), chunk(&[OWN, UP], true));
    }
}
