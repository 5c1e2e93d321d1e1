use std::error::Error;
use std::fmt;

use url::Url;

/// Why a request was not made, or has no answer. What kind of failure it was is asked with the
/// predicates; exactly one of them holds.
///
/// The text is for the operator's log. It has no query, no header and no body in it, and of a URL
/// that the operator did not name only its origin, since webhooks have secrets in their paths. It
/// can say what a name resolves to here, so a stranger gets [`EgressError::public`] instead.
#[derive(Clone)]
pub struct EgressError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: Kind,
    message: String,
    public: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Usage,
    Refused,
    Unresolved,
    Connect,
    Timeout,
    Disconnected,
    TooLarge,
    Encoded,
}

// One text for a name that does not exist and one that leads inside: otherwise the difference
// tells a stranger what names there are.
const PUBLIC_HOST: &str = "the URL's host is not one that this server calls";
const PUBLIC_UNREACHED: &str = "the URL's host gave no answer";
const PUBLIC_ANSWER: &str = "the answer of the URL's host cannot be used";

impl EgressError {
    /// Whether the program that asks has to change something: a setting, or a header that HTTP
    /// does not allow.
    pub fn is_usage(&self) -> bool {
        self.0.kind == Kind::Usage
    }

    /// Whether the URL or an address that its host has is not allowed. Nothing was dialled, and
    /// trying again does not help.
    pub fn is_refused(&self) -> bool {
        self.0.kind == Kind::Refused
    }

    /// Whether the host's name has no address now.
    pub fn is_unresolved(&self) -> bool {
        self.0.kind == Kind::Unresolved
    }

    /// Whether no connection could be made, within the time that is allowed for it. Nothing was
    /// sent.
    pub fn is_connect(&self) -> bool {
        self.0.kind == Kind::Connect
    }

    /// Whether the whole time was over. The host may have got the request.
    pub fn is_timeout(&self) -> bool {
        self.0.kind == Kind::Timeout
    }

    /// Whether the connection was lost before the whole answer arrived. The host may have got
    /// the request.
    pub fn is_disconnected(&self) -> bool {
        self.0.kind == Kind::Disconnected
    }

    /// Whether the answer is larger than it may be.
    pub fn is_too_large(&self) -> bool {
        self.0.kind == Kind::TooLarge
    }

    /// Whether the answer is packed (gzip and the like), which was not asked for.
    pub fn is_encoded(&self) -> bool {
        self.0.kind == Kind::Encoded
    }

    /// Whether the same request could succeed later: no address, no connection, a lost one, or
    /// no answer in time.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self.0.kind,
            Kind::Unresolved | Kind::Connect | Kind::Timeout | Kind::Disconnected
        )
    }

    /// A text that can be shown to whoever gave the URL: what is wrong with the URL where it is
    /// to be seen in it, and nothing about names and addresses here.
    pub fn public(&self) -> &'static str {
        self.0.public
    }
}

impl EgressError {
    pub(super) fn usage(message: String) -> Self {
        Self::new(Kind::Usage, message, "the request cannot be made")
    }

    pub(super) fn malformed(message: String) -> Self {
        let public =
            "the URL is not a plain http:// or https:// URL (no user or password, no white space)";
        Self::new(Kind::Refused, message, public)
    }

    pub(super) fn not_https(url: &Url) -> Self {
        Self::refused(url, "it is not https", "the URL has to begin with https://")
    }

    pub(super) fn port(url: &Url, port: u16) -> Self {
        Self::refused(
            url,
            &format!(
                "port {port} is not one for the web; use the scheme's own or one from 1024 on that no other service has"
            ),
            "the URL's port is not allowed",
        )
    }

    pub(super) fn barred(url: &Url, why: &str) -> Self {
        Self::refused(url, why, PUBLIC_HOST)
    }

    fn refused(url: &Url, why: &str, public: &'static str) -> Self {
        let origin = url.origin().ascii_serialization();
        Self::new(
            Kind::Refused,
            format!(
                "a request to {origin} is refused: {why}; if it is right, trust it with trust_origin({origin:?})"
            ),
            public,
        )
    }

    pub(super) fn unresolved(shown: &str, cause: &str) -> Self {
        let message = format!("the host of {shown} has no address: {cause}");
        Self::new(Kind::Unresolved, message, PUBLIC_HOST)
    }

    pub(super) fn connect(message: String) -> Self {
        Self::new(Kind::Connect, message, PUBLIC_UNREACHED)
    }

    pub(super) fn timeout(message: String) -> Self {
        Self::new(Kind::Timeout, message, PUBLIC_UNREACHED)
    }

    pub(crate) fn disconnected(message: String) -> Self {
        Self::new(Kind::Disconnected, message, PUBLIC_UNREACHED)
    }

    pub(super) fn too_large(shown: &str, max: usize) -> Self {
        let message = format!("the answer of {shown} is larger than {max} bytes");
        Self::new(Kind::TooLarge, message, PUBLIC_ANSWER)
    }

    pub(super) fn encoded(shown: &str, encoding: &str) -> Self {
        let encoding: String = encoding.chars().take(40).collect();
        let message = format!(
            "the answer of {shown} is packed ({encoding:?}), although it was asked for as it is; have the server send it unpacked"
        );
        Self::new(Kind::Encoded, message, PUBLIC_ANSWER)
    }

    fn new(kind: Kind, message: String, public: &'static str) -> Self {
        Self(Box::new(Inner {
            kind,
            message,
            public,
        }))
    }
}

impl fmt::Display for EgressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for EgressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EgressError({:?}: {})", self.0.kind, self.0.message)
    }
}

impl Error for EgressError {}
