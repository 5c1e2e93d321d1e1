//! URLs: what a caller gives, and where its card is.

use llamon_core::a2a::CARD_PATH;
use url::Url;

use crate::egress::{self, NotUsable};
use crate::error::ClientError;

/// Reads an `http` or `https` URL.
pub(crate) fn parse(text: &str) -> Result<Url, ClientError> {
    let text = text.trim();
    egress::parse(text).map_err(|why| {
        ClientError::usage(match why {
            NotUsable::NoUrl(error) => {
                let scheme = if text.contains("://") {
                    ""
                } else {
                    "; begin it with http:// or https://"
                };
                format!("the URL {text:?} is not one: {error}{scheme}")
            }
            // The text is not shown: it has a secret in it.
            NotUsable::UserOrPassword(url) => format!(
                "the URL for {} has a user or password in it; take them out",
                url.host_str().unwrap_or_default()
            ),
            NotUsable::Scheme => format!("the URL {text:?} is no http:// or https:// URL"),
        })
    })
}

/// The URL of the card of the agent at `text`, which is the agent's base or the card itself.
pub(crate) fn card_url(text: &str) -> Result<Url, ClientError> {
    let mut url = parse(text)?;
    if !url.path().ends_with(".json") {
        let path = format!("{}/{CARD_PATH}", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    Ok(url)
}

/// The URL as it may stand in a message: a query can have a secret.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::{card_url, parse};

    #[test]
    fn a_base_gets_the_path_of_the_card() {
        let cases = [
            ("http://h", "http://h/.well-known/agent-card.json"),
            ("http://h/", "http://h/.well-known/agent-card.json"),
            (
                "https://h:8443/a/b",
                "https://h:8443/a/b/.well-known/agent-card.json",
            ),
            ("http://h/a/b/", "http://h/a/b/.well-known/agent-card.json"),
            (
                "http://h/a?k=1#f",
                "http://h/a/.well-known/agent-card.json?k=1",
            ),
            ("http://h/cards/x.json", "http://h/cards/x.json"),
            (
                "http://[::1]:80/a b",
                "http://[::1]/a%20b/.well-known/agent-card.json",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(card_url(text).unwrap().as_str(), expected);
        }
    }

    #[test]
    fn what_is_no_web_address_is_a_usage_error() {
        for text in [
            "",
            "localhost:8080",
            "ftp://h/",
            "file:///etc/passwd",
            "http://",
            "//h/x",
        ] {
            assert!(parse(text).unwrap_err().is_usage(), "{text}");
        }
        let error = parse("http://me:secret@h/").unwrap_err();
        assert!(error.is_usage());
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
