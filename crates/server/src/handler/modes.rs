//! Which media types a message may have.

use llamon_core::a2a::{A2aError, AgentCard, ErrorCode, Message};

/// Whether a message may have parts of media types that the card does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputModes {
    /// It may: the card's modes are a description, and the agent decides what to do.
    #[default]
    Described,
    /// It may not: such a message is ContentTypeNotSupported (section 3.1.1), and no task begins.
    /// Taken is what `defaultInputModes` or `inputModes` of a skill names, on the card or on the
    /// extended one; `image/*` and `*/*` name several. Case and what follows a semicolon do not
    /// matter. A part without a media type is taken.
    Enforced,
}

/// The media types that an agent's cards name.
pub(crate) fn of_cards<'a>(cards: impl IntoIterator<Item = &'a AgentCard>) -> Vec<String> {
    let mut modes: Vec<String> = Vec::new();
    for card in cards {
        let of_skills = card.skills.iter().flat_map(|skill| &skill.input_modes);
        for mode in card.default_input_modes.iter().chain(of_skills) {
            if !modes.contains(mode) {
                modes.push(mode.clone());
            }
        }
    }
    modes
}

/// Checks the media types of a message's parts.
pub(super) fn check(message: &Message, modes: &[String]) -> Result<(), A2aError> {
    for (index, part) in message.parts.iter().enumerate() {
        let Some(found) = part.media_type() else {
            continue;
        };
        if !modes.iter().any(|mode| matches(mode, &found)) {
            let shown: String = found.chars().take(80).collect();
            return Err(A2aError::new(
                ErrorCode::ContentTypeNotSupported,
                format!(
                    "message.parts[{index}].mediaType: {shown:?} is not what this agent takes; its \
                     card names {}",
                    modes.join(", ")
                ),
            ));
        }
    }
    Ok(())
}

/// Whether `mode`, which may end in a star, covers a media type; parameters do not count.
fn matches(mode: &str, found: &str) -> bool {
    let essence = |text: &str| {
        let essence = text.split(';').next().unwrap_or_default();
        essence.trim().to_ascii_lowercase()
    };
    let (mode, found) = (essence(mode), essence(found));
    match mode.strip_suffix('*') {
        Some("*/") => found.contains('/'),
        Some(kind) if kind.ends_with('/') => found.starts_with(kind),
        _ => mode == found,
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn modes_cover_media_types() {
        for (mode, found, expected) in [
            ("text/plain", "text/plain", true),
            ("text/plain", "TEXT/Plain; charset=utf-8", true),
            ("text/plain; charset=utf-8", "text/plain", true),
            ("text/plain", "text/plainer", false),
            ("image/*", "image/png", true),
            ("image/*", "imagex/png", false),
            ("image/*", "text/plain", false),
            ("*/*", "x/y", true),
            ("*/*", "nonsense", false),
            ("text/*x", "text/ax", false),
        ] {
            assert_eq!(matches(mode, found), expected, "{mode} {found}");
        }
    }
}
