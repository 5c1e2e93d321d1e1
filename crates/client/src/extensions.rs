//! Extensions of the protocol (A2A section 4.6): which the caller supports, which the agent
//! requires, which were active.

use llamon_core::a2a::AgentCard;
use reqwest::header::HeaderValue;

use crate::error::ClientError;

/// The header that names extensions, in a request and in its answer.
pub(crate) const HEADER: &str = "a2a-extensions";

/// The header's value for extensions that the client supports and that this call does; `None`
/// where there are none. Each stands in it once.
///
/// # Errors
/// When a URI cannot stand in the header, and when the card requires one that is not among them.
pub(crate) fn asked(
    card: &AgentCard,
    supported: &[String],
    of_call: &[String],
) -> Result<Option<HeaderValue>, ClientError> {
    let mut uris: Vec<&str> = Vec::new();
    for uri in supported.iter().chain(of_call) {
        check(uri)?;
        if !uris.contains(&&**uri) {
            uris.push(uri);
        }
    }
    let mut required = card.capabilities.extensions.iter().filter(|e| e.required);
    if let Some(missing) = required.find(|e| !uris.contains(&&*e.uri)) {
        let uri = &missing.uri;
        return Err(ClientError::usage(format!(
            "the agent requires the extension {uri:?}, which this client does not say it supports; if your program does, add it with extension({uri:?})"
        )));
    }
    if uris.is_empty() {
        return Ok(None);
    }
    match HeaderValue::try_from(uris.join(",")) {
        Ok(value) => Ok(Some(value)),
        // Each was checked; an empty answer would hide it if that were wrong.
        Err(_) => Err(ClientError::usage(format!(
            "the extensions {uris:?} cannot stand in a header"
        ))),
    }
}

/// The URIs that a header names.
pub(crate) fn named(value: &str) -> impl Iterator<Item = &str> {
    value
        .split(',')
        .map(str::trim)
        .filter(|uri| !uri.is_empty())
}

fn check(uri: &str) -> Result<(), ClientError> {
    let fits = |byte: u8| byte.is_ascii_graphic() && byte != b',';
    if !uri.is_empty() && uri.bytes().all(fits) {
        return Ok(());
    }
    Err(ClientError::usage(format!(
        "{uri:?} is no URI of an extension; it may have neither white space nor a comma and is ASCII"
    )))
}

#[cfg(test)]
mod tests {
    use llamon_core::a2a::{AgentCard, AgentExtension};

    use super::{asked, named};

    fn card(required: &[&str], optional: &[&str]) -> AgentCard {
        let mut card = AgentCard::new("a", "b", "1");
        let extension = |uri: &&str, required| {
            let mut extension = AgentExtension::new(*uri, "");
            extension.required = required;
            extension
        };
        card.capabilities
            .extensions
            .extend(required.iter().map(|uri| extension(uri, true)));
        card.capabilities
            .extensions
            .extend(optional.iter().map(|uri| extension(uri, false)));
        card
    }

    #[test]
    fn what_is_supported_is_asked_for_once() {
        let of = |uris: &[&str]| uris.iter().map(|uri| (*uri).to_owned()).collect::<Vec<_>>();
        let cases: [(&[&str], &[&str], Option<&str>); 4] = [
            (&[], &[], None),
            (&["urn:a"], &[], Some("urn:a")),
            (&["urn:a"], &["urn:b", "urn:a"], Some("urn:a,urn:b")),
            (&[], &["urn:c"], Some("urn:c")),
        ];
        for (supported, of_call, expected) in cases {
            let value = asked(&card(&[], &["urn:z"]), &of(supported), &of(of_call)).unwrap();
            assert_eq!(value.as_ref().map(|v| v.to_str().unwrap()), expected);
        }
        let error = asked(&card(&["urn:r"], &[]), &of(&["urn:a"]), &[]).unwrap_err();
        assert!(error.is_usage());
        assert!(
            error.to_string().contains(r#"extension("urn:r")"#),
            "{error}"
        );
        for wrong in ["", "a,b", "a b", "a\r\nb", "ü"] {
            assert!(
                asked(&card(&[], &[]), &of(&[wrong]), &[]).is_err(),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn the_header_is_a_list() {
        let uris: Vec<&str> = named(" urn:a,urn:b , ,urn:c").collect();
        assert_eq!(uris, ["urn:a", "urn:b", "urn:c"]);
    }
}
