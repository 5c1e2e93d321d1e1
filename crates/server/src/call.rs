use llamon_client::trace::TraceContext;
use llamon_core::a2a::{IDEMPOTENT_MESSAGES_URI, ProtocolVersion};

use crate::scope::Scope;

/// A request that has been let in: what the bindings make of it before they call the handler, by
/// the one way there is, [`crate::binding::gate::Gate`].
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Who asks.
    pub(crate) scope: Scope,
    /// As what the answer is written.
    #[expect(dead_code, reason = "there is but one version so far")]
    pub(crate) version: ProtocolVersion,
    pub(crate) extensions: ActiveExtensions,
    /// The trace that the caller works in.
    pub(crate) trace: Option<TraceContext>,
}

/// URIs of the extensions that the client asked for and this agent has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ActiveExtensions(pub(crate) Vec<String>);

impl ActiveExtensions {
    /// The value of the response's `A2A-Extensions`, if it is to have one.
    pub(crate) fn echo(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.join(", "))
    }

    /// Whether a message that came before is to be recognised.
    pub(crate) fn recognise_repeats(&self) -> bool {
        self.0.iter().any(|uri| uri == IDEMPOTENT_MESSAGES_URI)
    }
}
