//! Who may call: the builder's methods, and what must agree with the cards.

use std::sync::Arc;

use llamon_core::a2a::AgentCard;

use super::{ExtendedCardReaders, ServerBuilder, Settings};
use crate::auth::{Authenticate, Operation};
use crate::card::ExtendedCard;
use crate::config_error::ConfigError;

/// Whether a server may serve everybody where others than this machine can reach it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Anonymous {
    #[default]
    OnLoopback,
    Anywhere,
}

impl<M> ServerBuilder<M> {
    /// Who decides whose request it is, such as [`ApiKeys`](crate::auth::ApiKeys),
    /// [`JwtBearer`](crate::auth::JwtBearer) or one of your own. Every operation then runs in the
    /// scope of that identity, and what is refused gets HTTP 401 or 403. Default: nobody, and all
    /// callers are one.
    pub fn authenticate(mut self, authenticator: impl Authenticate) -> Self {
        self.settings.authenticator = Some(Arc::new(authenticator));
        self
    }

    /// Lets everybody call, also from other machines. Without it, a server that asks nobody who
    /// they are listens on loopback only. It is for an agent that everybody may use, and for one
    /// behind something that checks; all callers are then one, and see each other's tasks.
    pub fn allow_anonymous(mut self) -> Self {
        self.settings.anonymous = Anonymous::Anywhere;
        self
    }

    /// Serves an operation only to callers whose identity has this scope
    /// ([`Identity::with_scopes`](crate::auth::Identity::with_scopes)); others get 403, and the
    /// scope's name. Several calls for one operation: all of them are needed. The card's
    /// `securityRequirements` list the scopes of all operations.
    ///
    /// ```
    /// # use llamon_core::a2a::{AgentCard, Skill};
    /// # use llamon_server::{AgentError, Turn, create_server};
    /// use llamon_server::auth::{ApiKey, ApiKeys, Identity, Operation};
    ///
    /// # async fn work(_turn: Turn) -> Result<&'static str, AgentError> { Ok("done") }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let card = AgentCard::new("work", "Works", "1.0.0").skill(Skill::new("work", "Work", "Works"));
    /// let key = ApiKey::generate()?;
    /// let alice = Identity::new("alice").with_scopes(["tasks:read"]);
    /// let server = create_server(card, work)
    ///     .authenticate(ApiKeys::new().key(key.hash(), alice))
    ///     .require_scope(Operation::GetTask, "tasks:read")
    ///     .require_scope(Operation::SendMessage, "tasks:write")
    ///     .await?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn require_scope(mut self, operation: Operation, scope: impl Into<Arc<str>>) -> Self {
        self.settings.scopes.for_operation(operation, scope.into());
        self
    }

    /// Takes messages for a skill of the card only from callers whose identity has this scope. A
    /// message names its skill with the key [`SKILL_KEY`](crate::auth::SKILL_KEY) of its metadata,
    /// as A2A has no field for it; one that names none needs the scopes of all skills. What the
    /// agent then does is its own affair: [`Turn::skill`](crate::Turn::skill) tells it what was
    /// named. The skill's `securityRequirements` on the card list the scope.
    pub fn require_scope_for_skill(
        mut self,
        skill: impl Into<String>,
        scope: impl Into<Arc<str>>,
    ) -> Self {
        self.settings.scopes.for_skill(skill.into(), scope.into());
        self
    }
}

impl Settings {
    /// Checks that the cards say who may call as the server does it.
    pub(super) fn check_security(&mut self) -> Result<(), ConfigError> {
        let mut cards = vec![&self.card];
        if let ExtendedCard::Set(extended) = &self.extended_card {
            cards.push(extended);
        }
        let Some(authenticator) = &self.authenticator else {
            return self.check_without_authenticator();
        };
        if self.anonymous == Anonymous::Anywhere {
            return Err(ConfigError::authentication(
                ".authenticate(...) and .allow_anonymous() were both called; with an authenticator \
                 nobody is anonymous, so take one of them out",
            ));
        }
        if let Some(card) = cards.iter().find(|card| declares_security(card)) {
            return Err(ConfigError::authentication(format!(
                "the card of {:?} has securitySchemes or securityRequirements, on itself or on a \
                 skill; they come from the authenticator and from .require_scope(...) and \
                 .require_scope_for_skill(...), so take them off the card",
                card.name
            )));
        }
        authenticator.check()?;
        let security = authenticator.security();
        let named = (security.requirements.iter()).flat_map(|needed| needed.schemes.keys());
        for name in named {
            if !security.schemes.contains_key(name) {
                return Err(ConfigError::authentication(format!(
                    "the authenticator requires the scheme {name:?}, which is not among those \
                     that it declares: {:?}",
                    security.schemes.keys().collect::<Vec<_>>()
                )));
            }
        }
        self.scopes.complete(&cards, &security)
    }

    fn check_without_authenticator(&self) -> Result<(), ConfigError> {
        let is_open = self.extended_card_readers == ExtendedCardReaders::Anybody;
        if !matches!(self.extended_card, ExtendedCard::Absent) && !is_open {
            return Err(ConfigError::authentication(
                "an extended card is for callers that are known, and this server knows none: \
                 call .authenticate(...), or let everybody read it with \
                 .extended_card_readers(ExtendedCardReaders::Anybody)",
            ));
        }
        if !self.scopes.is_empty() {
            return Err(ConfigError::authentication(
                "scopes are required of callers, and this server knows none: call \
                 .authenticate(...), or take .require_scope(...) out",
            ));
        }
        Ok(())
    }
}

fn declares_security(card: &AgentCard) -> bool {
    let mut skills = card.skills.iter();
    !card.security_schemes.is_empty()
        || !card.security_requirements.is_empty()
        || skills.any(|skill| !skill.security_requirements.is_empty())
}
