use super::Turn;
use crate::auth::scopes::named_skill;

impl Turn {
    /// The skill of the card that the message says it is for, with the key
    /// [`SKILL_KEY`](crate::auth::SKILL_KEY) of its metadata. Only where the server requires a scope
    /// for a skill was it checked that there is one of that name.
    pub fn skill(&self) -> Option<String> {
        named_skill(self.message()).ok().flatten()
    }
}
