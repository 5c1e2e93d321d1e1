use std::fmt;
use std::sync::Arc;

use llamon_core::IntoPayload;
use llamon_core::a2a::{Artifact, ArtifactUpdate, StreamEvent};
use tokio::sync::Mutex;

use super::Turn;
use crate::agent_error::AgentError;
use crate::composer::{check_artifact, checked_bytes};

/// Writes an artifact of its own beside the turn's answer; see [`Turn::artifact`].
pub struct ArtifactWriter {
    pub(super) turn: Turn,
    pub(super) name: Arc<str>,
    pub(super) state: Mutex<Option<Named>>,
}

pub(super) struct Named {
    id: Arc<str>,
    bytes: usize,
}

impl ArtifactWriter {
    /// Adds to the artifact and shows it to streaming clients at once. An empty payload does
    /// nothing.
    ///
    /// Cancel-safe, as [`Turn::emit`].
    ///
    /// # Errors
    /// As [`Turn::emit`].
    pub async fn emit(&self, payload: impl IntoPayload) -> Result<(), AgentError> {
        let payload = payload.into_payload()?;
        if payload.is_empty() {
            return Ok(());
        }
        tokio::task::coop::consume_budget().await;
        let turn = &self.turn;
        let limits = &turn.0.shared.limits;
        let mut state = self.state.lock().await;
        let mut output = turn.0.output.lock().await;
        output.check_open()?;
        if output.muted {
            return Ok(());
        }
        let payload = turn.stamp(payload, &self.name);
        let parts = payload.into_answer_order().into_parts();
        let before = state.as_ref().map_or(0, |named| named.bytes);
        let bytes = checked_bytes(&parts, limits).map(|bytes| before + bytes);
        let bytes = output.note(bytes)?;
        output.note(check_artifact(bytes, limits))?;
        let append = state.is_some();
        if !append {
            let room = output.check_artifact_room(limits);
            output.note(room)?;
            output.named += 1;
        }
        let named = state.get_or_insert_with(|| Named {
            // From turn and count, so that a replay makes the same ids.
            id: format!("artifact-{}-{}", turn.number(), output.named).into(),
            bytes: 0,
        });
        named.bytes = bytes;
        let mut artifact = Artifact::new(Arc::clone(&named.id), parts);
        artifact.name = Some(Arc::clone(&self.name));
        let mut update = ArtifactUpdate::new(
            Arc::clone(&turn.0.begin.task_id),
            Arc::clone(&turn.0.begin.context_id),
            turn.marked(artifact),
        );
        update.append = append;
        turn.write(output, StreamEvent::Artifact(update)).await
    }
}

impl fmt::Debug for ArtifactWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactWriter")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
