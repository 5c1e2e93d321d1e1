//! What a push notification configuration may have, and the headers that it makes.

use super::{PushAuthentication, PushConfig};
use crate::json::ReadError;

/// The header that carries a configuration's token, in both spellings that receivers look for.
pub const PUSH_TOKEN_HEADERS: [&str; 2] = ["x-a2a-notification-token", "a2a-notification-token"];
/// The header that names a notification: the same each time that the notification is sent.
pub const PUSH_ID_HEADER: &str = "webhook-id";

const API_KEY_HEADER: &str = "x-api-key";
/// Schemes that mean a key in a header of its own.
const API_KEY_SCHEMES: [&str; 3] = ["apikey", "api-key", "x-api-key"];
/// Schemes that receivers know in this spelling; it is free to the client (RFC 9110, section 11.1).
const SPELLINGS: [&str; 2] = ["Bearer", "Basic"];

const MAX_ID_BYTES: usize = 512;
const MAX_URL_BYTES: usize = 8 * 1024;
const MAX_TOKEN_BYTES: usize = 4 * 1024;
const MAX_SCHEME_BYTES: usize = 64;
const MAX_CREDENTIALS_BYTES: usize = 8 * 1024;

impl PushConfig {
    /// Checks that the configuration can be served: that its URL is absolute, that nothing in it
    /// can break out of an HTTP header, and that nothing is longer than it may be.
    ///
    /// Where the URL may lead to is for whoever makes the request to say.
    ///
    /// # Errors
    /// Naming the field and what is allowed. No value is repeated: it can be a secret.
    pub fn check(&self) -> Result<(), ReadError> {
        if let Some(id) = &self.id {
            check_id(id).map_err(|e| e.within("id"))?;
        }
        check_url(&self.url).map_err(|e| e.within("url"))?;
        if let Some(token) = &self.token {
            check_header(token, MAX_TOKEN_BYTES).map_err(|e| e.within("token"))?;
        }
        if let Some(authentication) = &self.authentication {
            let checked = authentication.check();
            checked.map_err(|e| e.within("authentication"))?;
        }
        Ok(())
    }

    /// The headers by which a receiver tells that a notification is of this configuration: the
    /// token, and the authentication. Their values are secrets.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let token = self.token.iter();
        let mut headers: Vec<_> = token
            .flat_map(|token| PUSH_TOKEN_HEADERS.map(|name| (name, token.clone())))
            .collect();
        headers.extend(self.authentication.as_ref().map(PushAuthentication::header));
        headers
    }
}

impl PushAuthentication {
    /// The header that carries the credentials: `Authorization`, or for an API key `X-API-Key`.
    fn header(&self) -> (&'static str, String) {
        let credentials = self.credentials.as_deref().unwrap_or_default();
        if is_one_of(&self.scheme, &API_KEY_SCHEMES).is_some() {
            return (API_KEY_HEADER, credentials.to_owned());
        }
        let scheme = is_one_of(&self.scheme, &SPELLINGS).unwrap_or(&self.scheme);
        ("authorization", format!("{scheme} {credentials}"))
    }

    fn check(&self) -> Result<(), ReadError> {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if self.scheme.is_empty() || !self.scheme.bytes().all(is_token) {
            let wrong = "is no name of a scheme; use one such as Bearer, Basic or ApiKey";
            return Err(ReadError::invalid(wrong).within("scheme"));
        }
        check_length(&self.scheme, MAX_SCHEME_BYTES).map_err(|e| e.within("scheme"))?;
        let Some(credentials) = self.credentials.as_deref().filter(|text| !text.is_empty()) else {
            let wrong = "is required: what is sent with the scheme";
            return Err(ReadError::invalid(wrong).within("credentials"));
        };
        check_header(credentials, MAX_CREDENTIALS_BYTES).map_err(|e| e.within("credentials"))?;
        if self.scheme.eq_ignore_ascii_case("basic") && credentials.contains(':') {
            let wrong = "has a colon; Basic takes user:password in base64";
            return Err(ReadError::invalid(wrong).within("credentials"));
        }
        Ok(())
    }
}

/// Checks the id of a configuration.
fn check_id(id: &str) -> Result<(), ReadError> {
    check_length(id, MAX_ID_BYTES)?;
    if id.chars().any(char::is_control) {
        return Err(ReadError::invalid("has a control character"));
    }
    Ok(())
}

fn check_url(url: &str) -> Result<(), ReadError> {
    check_length(url, MAX_URL_BYTES)?;
    let rest = ["http://", "https://"].into_iter().find_map(|scheme| {
        let (head, rest) = url.split_at_checked(scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then_some(rest)
    });
    let has_host =
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']));
    if !has_host {
        return Err(ReadError::invalid(
            "is not absolute; send one such as https://client.example.com/webhook",
        ));
    }
    if url
        .chars()
        .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
    {
        return Err(ReadError::invalid(
            "has white space, a control character or a backslash; escape it",
        ));
    }
    Ok(())
}

/// Checks what is to be the value of a header.
fn check_header(value: &str, max: usize) -> Result<(), ReadError> {
    check_length(value, max)?;
    let wrong = value.bytes().find(|byte| !matches!(byte, b' '..=b'~'));
    if let Some(wrong) = wrong {
        let what = match wrong {
            b'\r' | b'\n' => "a line break (CR or LF)",
            0..=0x1f | 0x7f => "a control character",
            _ => "a character that is not ASCII",
        };
        return Err(ReadError::invalid(format!(
            "has {what}, which cannot be sent in a header"
        )));
    }
    if value.starts_with(' ') || value.ends_with(' ') {
        return Err(ReadError::invalid(
            "begins or ends with a space, which a header does not keep",
        ));
    }
    Ok(())
}

fn check_length(value: &str, max: usize) -> Result<(), ReadError> {
    if value.len() > max {
        let found = value.len();
        return Err(ReadError::invalid(format!(
            "has {found} bytes; at most {max} are allowed"
        )));
    }
    Ok(())
}

fn is_one_of(text: &str, known: &[&'static str]) -> Option<&'static str> {
    let mut known = known.iter().copied();
    known.find(|known| known.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::super::PushConfig;

    fn wrong(config: PushConfig) -> String {
        config.check().unwrap_err().to_string()
    }

    fn config() -> PushConfig {
        PushConfig::new("https://client.example.com/hook?x=1")
    }

    #[test]
    fn what_can_be_sent_is_taken() {
        config().check().unwrap();
        PushConfig::new("HTTP://127.0.0.1:1").check().unwrap();
        let full = config()
            .with_id("한 id: a/b")
            .with_token("~ a b !")
            .with_authentication("bEARER", "x.y.z");
        full.check().unwrap();
        config().with_token("x".repeat(4096)).check().unwrap();
    }

    #[test]
    fn what_breaks_a_header_is_named_and_not_repeated() {
        for (token, what) in [
            ("s3cret\r\nX-Admin: 1", "token: has a line break (CR or LF)"),
            ("s3cret\n", "token: has a line break (CR or LF)"),
            ("s3cret\0", "token: has a control character"),
            ("s3cret\u{7f}", "token: has a control character"),
            ("s3cret한", "token: has a character that is not ASCII"),
            (" s3cret", "token: begins or ends with a space"),
        ] {
            let error = wrong(config().with_token(token));
            assert!(error.contains(what), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        let error = wrong(config().with_authentication("Bearer", "a\r\nb"));
        assert!(
            error.contains("authentication.credentials: has a line break"),
            "{error}"
        );
        for scheme in ["", "Bea rer", "Bearer\r\nX: 1", "Bearer:"] {
            let error = wrong(config().with_authentication(scheme, "a"));
            assert!(
                error.contains("authentication.scheme: is no name"),
                "{error}"
            );
        }
        let error = wrong(config().with_authentication("Bearer", ""));
        assert!(
            error.contains("authentication.credentials: is required"),
            "{error}"
        );
        let error = wrong(config().with_authentication("basic", "user:password"));
        assert!(error.contains("base64"), "{error}");
        assert!(wrong(config().with_id("a\nb")).contains("id: has a control character"));
    }

    #[test]
    fn lengths_are_limited() {
        let long = |bytes: usize| "x".repeat(bytes);
        for (config, what) in [
            (
                config().with_id(long(513)),
                "id: has 513 bytes; at most 512",
            ),
            (
                config().with_token(long(4097)),
                "token: has 4097 bytes; at most 4096",
            ),
            (
                config().with_authentication(long(65), "a"),
                "scheme: has 65 bytes; at most 64",
            ),
            (
                config().with_authentication("Bearer", long(8193)),
                "credentials: has 8193 bytes; at most 8192",
            ),
            (
                PushConfig::new(format!("https://a/{}", long(8183))),
                "url: has 8193 bytes; at most 8192",
            ),
        ] {
            let error = wrong(config);
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn urls_are_absolute() {
        for url in [
            "x",
            "/hook",
            "//host/hook",
            "ftp://host",
            "https://",
            "https:///hook",
            "http:host",
            "한",
        ] {
            assert!(
                wrong(PushConfig::new(url)).contains("url: is not absolute"),
                "{url}"
            );
        }
        for url in ["https://a/b c", "https://a/\r\nb", "https://a\\@b"] {
            assert!(
                wrong(PushConfig::new(url)).contains("url: has white space"),
                "{url}"
            );
        }
    }

    #[test]
    fn schemes_have_their_headers() {
        let header = |scheme: &str| {
            let config = config().with_authentication(scheme, "c");
            config.headers().pop().unwrap()
        };
        for (scheme, name, value) in [
            ("bearer", "authorization", "Bearer c"),
            ("BASIC", "authorization", "Basic c"),
            ("MAC-v2", "authorization", "MAC-v2 c"),
            ("ApiKey", "x-api-key", "c"),
            ("api-key", "x-api-key", "c"),
            ("X-API-Key", "x-api-key", "c"),
        ] {
            assert_eq!(header(scheme), (name, value.to_owned()), "{scheme}");
        }
        let token = config().with_token("t").headers();
        let t = || "t".to_owned();
        assert_eq!(
            token,
            [
                ("x-a2a-notification-token", t()),
                ("a2a-notification-token", t())
            ]
        );
        assert!(config().headers().is_empty());
    }
}
