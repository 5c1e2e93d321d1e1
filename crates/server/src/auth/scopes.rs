//! Which scopes an operation or a skill needs, checked at the gate and said on the card.

use std::sync::Arc;

use llamon_core::a2a::{
    A2aError, AgentCard, ErrorCode, Message, SecurityRequirement, SecurityScheme,
};
use llamon_core::json::Reader;

use super::{Identity, Operation, Security};
use crate::config_error::ConfigError;

/// The key in a message's metadata by which a client says which of the card's skills the message
/// is for. A2A has no field for it (section 4.4.5 only lists skills).
pub const SKILL_KEY: &str = "skillId";

/// How deep a message's metadata may nest to be looked at; it was read within the server's limit.
const MAX_DEPTH: u32 = llamon_core::MAX_JSON_DEPTH_CEILING;

/// What callers need beside being known.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScopeRules {
    operations: Vec<(Operation, Arc<str>)>,
    skills: Vec<(String, Arc<str>)>,
    /// Ids of the card's skills, where one of them needs a scope.
    known_skills: Vec<String>,
    /// Whether callers show tokens, which can have more scopes another time.
    by_token: bool,
}

/// What a request wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    operation: Operation,
    message: Option<&'a Message>,
}

/// Why a request is not let in.
#[derive(Debug)]
pub(crate) enum Missing {
    /// The caller does not have the scope.
    Scope {
        error: A2aError,
        challenge: Option<String>,
    },
    /// What the request says of its skill cannot be used.
    Skill(A2aError),
}

impl<'a> Wanted<'a> {
    pub(crate) fn send(operation: Operation, message: &'a Message) -> Self {
        Self {
            operation,
            message: Some(message),
        }
    }
}

impl From<Operation> for Wanted<'_> {
    fn from(operation: Operation) -> Self {
        Self {
            operation,
            message: None,
        }
    }
}

impl ScopeRules {
    pub(crate) fn for_operation(&mut self, operation: Operation, scope: Arc<str>) {
        self.operations.push((operation, scope));
    }

    pub(crate) fn for_skill(&mut self, skill: String, scope: Arc<str>) {
        self.skills.push((skill, scope));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.skills.is_empty()
    }

    /// Checks the rules against the cards that the server has.
    ///
    /// # Errors
    /// When a scope cannot stand in a token, and when no card has the skill.
    pub(crate) fn complete(
        &mut self,
        cards: &[&AgentCard],
        security: &Security,
    ) -> Result<(), ConfigError> {
        self.by_token = security.schemes.values().any(is_by_token);
        let operations = self.operations.iter().map(|(_, scope)| scope);
        let skills = self.skills.iter().map(|(_, scope)| scope);
        for scope in operations.chain(skills) {
            check_scope(scope)?;
        }
        if self.skills.is_empty() {
            return Ok(());
        }
        let ids = cards.iter().flat_map(|card| card.skills.iter());
        self.known_skills = ids.map(|skill| skill.id.clone()).collect();
        for (skill, scope) in &self.skills {
            if !self.known_skills.contains(skill) {
                return Err(ConfigError::authentication(format!(
                    "the skill {skill:?} is to need the scope {scope:?}, and the card has no such \
                     skill; it has {:?}",
                    self.known_skills
                )));
            }
        }
        Ok(())
    }

    /// Whether somebody may do what they ask for.
    ///
    /// # Errors
    /// With the first scope that is missing. A message that names no skill needs the scopes of all
    /// skills, since nothing here can know which of them the agent will take it for.
    pub(crate) fn check(&self, identity: &Identity, wanted: Wanted<'_>) -> Result<(), Missing> {
        let operation = wanted.operation;
        let needed = self.operations.iter().filter(|(of, _)| *of == operation);
        for (_, scope) in needed {
            if !identity.has_scope(scope) {
                let message = format!(
                    "{operation} needs the scope {scope:?}, which the caller does not have"
                );
                return Err(self.missing(scope, message));
            }
        }
        match wanted.message {
            Some(message) if !self.skills.is_empty() => self.check_skill(identity, message),
            _ => Ok(()),
        }
    }

    fn check_skill(&self, identity: &Identity, message: &Message) -> Result<(), Missing> {
        let named = named_skill(message).map_err(Missing::Skill)?;
        if let Some(named) = &named
            && !self.known_skills.contains(named)
        {
            let shown: String = named.chars().take(80).collect();
            let text = format!(
                "message.metadata.{SKILL_KEY}: {shown:?} is no skill of this agent; its card lists \
                 them"
            );
            let error = A2aError::new(ErrorCode::InvalidParams, text);
            return Err(Missing::Skill(error));
        }
        for (skill, scope) in &self.skills {
            let counts = named.as_ref().is_none_or(|named| named == skill);
            if !counts || identity.has_scope(scope) {
                continue;
            }
            let text = match &named {
                Some(_) => format!(
                    "the skill {skill:?} needs the scope {scope:?}, which the caller does not have"
                ),
                None => format!(
                    "the message names no skill, and one of the agent's skills needs the scope \
                     {scope:?}, which the caller does not have; name the skill that the message is \
                     for in message.metadata.{SKILL_KEY}"
                ),
            };
            return Err(self.missing(scope, text));
        }
        Ok(())
    }

    fn missing(&self, scope: &str, message: String) -> Missing {
        // RFC 6750, section 3.1; a scope is made of characters that can be quoted.
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
        Missing::Scope {
            error: A2aError::new(ErrorCode::PermissionDenied, message),
            challenge: self.by_token.then_some(challenge),
        }
    }

    /// What the card says of authentication: with the scopes that the operations need.
    pub(crate) fn of_card(&self, mut security: Security) -> Security {
        let operations = self.operations.iter();
        add_scopes(
            &mut security.requirements,
            operations.map(|(_, scope)| scope),
        );
        security
    }

    /// What the card says of one of its skills; empty where the card's own requirements are all.
    pub(crate) fn of_skill(&self, skill: &str, security: &Security) -> Vec<SecurityRequirement> {
        let scopes = self.skills.iter().filter(|(of, _)| of == skill);
        let scopes: Vec<_> = scopes.map(|(_, scope)| scope).collect();
        if scopes.is_empty() {
            return Vec::new();
        }
        let mut requirements = self.of_card(security.clone()).requirements;
        add_scopes(&mut requirements, scopes.into_iter());
        requirements
    }
}

/// The skill that a message says it is for.
///
/// # Errors
/// InvalidParams where it says so with something else than a text.
pub(crate) fn named_skill(message: &Message) -> Result<Option<String>, A2aError> {
    let Some(metadata) = &message.metadata else {
        return Ok(None);
    };
    let read = || {
        let mut reader = Reader::of_str(metadata, MAX_DEPTH);
        let mut object = reader.object()?;
        let mut named = None;
        while let Some(key) = reader.key(&mut object)? {
            if key == SKILL_KEY {
                named = Some(reader.string().map_err(|error| error.within(SKILL_KEY))?);
            } else {
                reader.skip()?;
            }
        }
        Ok(named.map(std::borrow::Cow::into_owned))
    };
    read().map_err(|error: llamon_core::json::ReadError| {
        A2aError::of_params(&error.within("metadata").within("message"))
    })
}

fn is_by_token(scheme: &SecurityScheme) -> bool {
    match scheme {
        SecurityScheme::Http(http) => http.scheme.eq_ignore_ascii_case("bearer"),
        SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_) => true,
        _ => false,
    }
}

fn add_scopes<'a>(
    requirements: &mut [SecurityRequirement],
    scopes: impl Iterator<Item = &'a Arc<str>> + Clone,
) {
    for scheme in requirements
        .iter_mut()
        .flat_map(|one| one.schemes.values_mut())
    {
        for scope in scopes.clone() {
            if !scheme.list.iter().any(|known| **known == **scope) {
                scheme.list.push(scope.to_string());
            }
        }
    }
}

/// RFC 6749, section 3.3: what a token can carry.
fn check_scope(scope: &str) -> Result<(), ConfigError> {
    let is_fine = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    if !scope.is_empty() && scope.bytes().all(is_fine) {
        return Ok(());
    }
    Err(ConfigError::authentication(format!(
        "the scope {scope:?} can be in no token: a scope is visible ASCII without spaces, \" and \\"
    )))
}

#[cfg(test)]
mod tests {
    use llamon_core::a2a::{AgentCard, Message, Role, SecurityScheme, Skill};

    use super::{Missing, ScopeRules, Wanted, check_scope};
    use crate::auth::{Identity, Operation, Security};

    fn rules() -> ScopeRules {
        let mut rules = ScopeRules::default();
        rules.for_operation(Operation::GetTask, "tasks:read".into());
        rules.for_operation(Operation::SendMessage, "tasks:write".into());
        rules.for_skill("audit".to_owned(), "audit".into());
        rules.for_skill("pay".to_owned(), "pay".into());
        let card = AgentCard::new("a", "b", "1")
            .skill(Skill::new("audit", "Audit", "x"))
            .skill(Skill::new("pay", "Pay", "x"))
            .skill(Skill::new("talk", "Talk", "x"));
        let security = Security::one("token", SecurityScheme::http("Bearer"));
        rules.complete(&[&card], &security).unwrap();
        rules
    }

    fn message(metadata: Option<&str>) -> Message {
        let mut message = Message::new("m", Role::User, []);
        message.metadata = metadata.map(str::to_owned);
        message
    }

    #[test]
    fn a_caller_needs_the_scopes_of_the_operation_and_of_the_skill() {
        let rules = rules();
        let send = Operation::SendMessage;
        for (scopes, operation, metadata, expected) in [
            (&[][..], Operation::GetTask, None, Some("tasks:read")),
            (
                &["tasks:write"],
                Operation::GetTask,
                None,
                Some("tasks:read"),
            ),
            (&["tasks:read"], Operation::GetTask, None, None),
            (&[], Operation::ListTasks, None, None),
            (&["audit", "pay"], send, None, Some("tasks:write")),
            (&["tasks:write"], send, None, Some("audit")),
            (&["tasks:write", "audit"], send, None, Some("pay")),
            (&["tasks:write", "audit", "pay"], send, None, None),
            (&["tasks:write"], send, Some(r#"{"skillId":"talk"}"#), None),
            (
                &["tasks:write"],
                send,
                Some(r#"{"skillId":"pay"}"#),
                Some("pay"),
            ),
            (
                &["tasks:write", "pay"],
                send,
                Some(r#"{"a":1,"skillId":"pay"}"#),
                None,
            ),
            (
                &["tasks:write", "pay"],
                send,
                Some(r#"{"skillId":"audit"}"#),
                Some("audit"),
            ),
            (
                &["tasks:write"],
                send,
                Some(r#"{"skillId":"none"}"#),
                Some("?"),
            ),
            (&["tasks:write"], send, Some(r#"{"skillId":7}"#), Some("?")),
        ] {
            let identity = Identity::new("alice").with_scopes(scopes.iter().copied());
            let message = message(metadata);
            let wanted = match operation {
                Operation::SendMessage => Wanted::send(operation, &message),
                other => other.into(),
            };
            let found = match rules.check(&identity, wanted) {
                Ok(()) => None,
                Err(Missing::Scope { challenge, .. }) => {
                    let challenge = challenge.expect("tokens are shown");
                    let scope = challenge.rsplit_once("scope=\"").expect("a scope").1;
                    Some(scope.trim_end_matches('"').to_owned())
                }
                Err(Missing::Skill(_)) => Some("?".to_owned()),
            };
            assert_eq!(
                found.as_deref(),
                expected,
                "{scopes:?} {operation} {metadata:?}"
            );
        }
    }

    #[test]
    fn the_card_says_which_scopes_are_needed() {
        let rules = rules();
        let security = Security::one("token", SecurityScheme::http("Bearer"));
        let of_card = rules.of_card(security.clone());
        let list = |requirement: &llamon_core::a2a::SecurityRequirement| {
            requirement.schemes["token"].list.join(" ")
        };
        assert_eq!(list(&of_card.requirements[0]), "tasks:read tasks:write");
        let of_skill = rules.of_skill("pay", &security);
        assert_eq!(list(&of_skill[0]), "tasks:read tasks:write pay");
        assert!(rules.of_skill("talk", &security).is_empty());
    }

    #[test]
    fn what_no_token_can_carry_is_no_scope() {
        for (scope, expected) in [
            ("tasks:read", true),
            ("https://a.example/x", true),
            ("", false),
            ("two words", false),
            ("a\"b", false),
            ("a\\b", false),
            ("ümlaut", false),
        ] {
            assert_eq!(check_scope(scope).is_ok(), expected, "{scope:?}");
        }
    }
}
