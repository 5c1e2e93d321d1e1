//! What is wrong with a card, all of it at once (section 4.4).

use std::fmt;

use super::is_media_type;
use crate::json::{ReadError, Tree};

const MAX_DEPTH: u32 = 64;

/// How bad a [`CardFinding`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// It is against the specification, and clients may refuse the card.
    Error,
    /// It is allowed, and most likely not meant.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// Something that is wrong with a card.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CardFinding {
    /// How bad it is.
    pub severity: Severity,
    /// Where: `skills[1].id`; empty for the card as a whole. Names come from the card.
    pub path: String,
    /// What is wrong and what is needed, a lower-case fragment. It may quote the card.
    pub message: String,
}

/// Checks a card's JSON text against the specification, unlike [`AgentCard::check`] for a card
/// that somebody else may have written: types, required fields, names of 0.3, security.
///
/// ```
/// let card = r#"{"name":"x","url":"https://a.example","skills":[{"id":"s"}]}"#;
/// let findings = llamon_core::a2a::lint_card(card)?;
/// assert!(findings.iter().any(|finding| finding.path == "url"));
/// assert!(findings.iter().any(|finding| finding.path == "skills[0].tags"));
/// # Ok::<(), llamon_core::json::ReadError>(())
/// ```
///
/// # Errors
/// When the text is no JSON object, or has a key twice in one object.
///
/// [`AgentCard::check`]: super::AgentCard::check
pub fn lint_card(card_json: &str) -> Result<Vec<CardFinding>, ReadError> {
    let card = Tree::parse(card_json, MAX_DEPTH)?;
    if !matches!(card, Tree::Object(_)) {
        return Err(ReadError::invalid(
            "expected an agent card, which is an object",
        ));
    }
    let mut lint = Lint {
        card: &card,
        findings: Vec::new(),
    };
    lint.card();
    Ok(lint.findings)
}

struct Lint<'a> {
    card: &'a Tree,
    findings: Vec<CardFinding>,
}

/// What 0.3 has at the top of a card, and what 1.0 has for it. A card for both has them on
/// purpose, so they are warnings.
const OLD_FIELDS: &[(&str, &str)] = &[
    ("url", "supportedInterfaces[].url"),
    ("protocolVersion", "supportedInterfaces[].protocolVersion"),
    (
        "preferredTransport",
        "supportedInterfaces, whose first is preferred",
    ),
    ("additionalInterfaces", "supportedInterfaces"),
    ("security", "securityRequirements"),
    (
        "supportsAuthenticatedExtendedCard",
        "capabilities.extendedAgentCard",
    ),
];

const SCHEMES: &[(&str, &[&str])] = &[
    ("apiKeySecurityScheme", &["location", "name"]),
    ("httpAuthSecurityScheme", &["scheme"]),
    ("oauth2SecurityScheme", &[]),
    ("openIdConnectSecurityScheme", &["openIdConnectUrl"]),
    ("mtlsSecurityScheme", &[]),
];

const FLOWS: &[(&str, &[&str])] = &[
    ("authorizationCode", &["authorizationUrl", "tokenUrl"]),
    ("clientCredentials", &["tokenUrl"]),
    ("implicit", &[]),
    ("password", &[]),
    ("deviceCode", &["deviceAuthorizationUrl", "tokenUrl"]),
];

impl<'a> Lint<'a> {
    fn card(&mut self) {
        let card = self.card;
        for name in ["name", "description", "version"] {
            self.text(card, "", name);
        }
        for name in ["defaultInputModes", "defaultOutputModes"] {
            self.media_types(card, "", name, Needed::Yes);
        }
        for (name, instead) in OLD_FIELDS {
            if card.get(name).is_some() {
                self.warning(
                    *name,
                    format!("is a field of A2A 0.3; 1.0 has {instead} for it"),
                );
            }
        }
        self.interfaces();
        self.provider();
        self.capabilities();
        self.schemes();
        self.requirements(card, "");
        self.skills();
        self.signatures();
    }

    fn interfaces(&mut self) {
        let interfaces = self.list(self.card, "", "supportedInterfaces", Needed::Yes);
        for (index, interface) in interfaces.iter().enumerate() {
            let at = format!("supportedInterfaces[{index}]");
            for name in ["protocolBinding", "protocolVersion"] {
                self.text(interface, &at, name);
            }
            let Some(url) = self.text(interface, &at, "url") else {
                continue;
            };
            let at = format!("{at}.url");
            let is_grpc = interface.get("protocolBinding").and_then(Tree::as_text) == Some("GRPC");
            match url.split_once("://") {
                Some(("https", _)) => {}
                Some(("http", rest)) if is_loopback(rest) => {}
                Some(("http", _)) => {
                    self.warning(at, "is not encrypted; production needs https (section 7.1)");
                }
                // gRPC's own names have no scheme.
                None if is_grpc => {}
                _ => self.error(
                    at,
                    format!("is {}; it needs an absolute https URL", quoted(url)),
                ),
            }
        }
    }

    fn provider(&mut self) {
        if let Some(provider) = self.object(self.card, "", "provider") {
            for name in ["url", "organization"] {
                self.text(provider, "provider", name);
            }
        }
    }

    fn capabilities(&mut self) {
        let Some(capabilities) = self.object(self.card, "", "capabilities") else {
            if self.card.get("capabilities").is_none() {
                self.error("capabilities", "is missing; it is an object, {} at least");
            }
            return;
        };
        for name in ["streaming", "pushNotifications", "extendedAgentCard"] {
            self.flag(capabilities, "capabilities", name);
        }
        if capabilities.get("stateTransitionHistory").is_some() {
            let message = "is a field of A2A 0.3; 1.0 has none for it";
            self.warning("capabilities.stateTransitionHistory", message);
        }
        let extensions = self.list(capabilities, "capabilities", "extensions", Needed::No);
        for (index, extension) in extensions.iter().enumerate() {
            let at = format!("capabilities.extensions[{index}]");
            self.text(extension, &at, "uri");
            self.flag(extension, &at, "required");
            let is_required = extension.get("required") == Some(&Tree::Bool(true));
            let description = extension.get("description").and_then(Tree::as_text);
            if is_required && description.is_none_or(str::is_empty) {
                let message = "is missing; clients must support the extension, so say what for";
                self.warning(format!("{at}.description"), message);
            }
        }
    }

    fn schemes(&mut self) {
        let Some(Tree::Object(schemes)) = self.object(self.card, "", "securitySchemes") else {
            return;
        };
        for (name, scheme) in schemes {
            let at = format!("securitySchemes.{name}");
            let Some((kind, fields)) = self.one_of(scheme, &at, SCHEMES) else {
                continue;
            };
            let Some(scheme) = scheme.get(kind) else {
                continue;
            };
            let at = format!("{at}.{kind}");
            for field in fields {
                self.text(scheme, &at, field);
            }
            match kind {
                "apiKeySecurityScheme" => {
                    let location = scheme.get("location").and_then(Tree::as_text);
                    if let Some(other) = location
                        .filter(|location| !matches!(*location, "query" | "header" | "cookie"))
                    {
                        let message =
                            format!("is {}; it is query, header or cookie", quoted(other));
                        self.error(format!("{at}.location"), message);
                    }
                }
                "oauth2SecurityScheme" => self.flows(scheme, &at),
                _ => {}
            }
        }
    }

    fn flows(&mut self, scheme: &'a Tree, at: &str) {
        let Some(flows) = self.object(scheme, at, "flows") else {
            self.error(format!("{at}.flows"), "is missing; it has one flow");
            return;
        };
        let at = format!("{at}.flows");
        let Some((kind, fields)) = self.one_of(flows, &at, FLOWS) else {
            return;
        };
        let at = format!("{at}.{kind}");
        if matches!(kind, "implicit" | "password") {
            self.warning(&at, "is deprecated; use authorizationCode with PKCE");
        }
        if let Some(flow) = flows.get(kind) {
            for field in fields {
                self.text(flow, &at, field);
            }
        }
    }

    /// The one member that a union has, and the texts that it needs.
    fn one_of(
        &mut self,
        union: &Tree,
        at: &str,
        kinds: &'static [(&'static str, &'static [&'static str])],
    ) -> Option<(&'static str, &'static [&'static str])> {
        let mut present = kinds.iter().filter(|(name, _)| union.get(name).is_some());
        let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
        match (present.next(), present.next()) {
            (Some(kind), None) => Some(*kind),
            (Some(_), Some(_)) => {
                self.error(
                    at,
                    format!("has several of {}; it has one", names.join(", ")),
                );
                None
            }
            (None, _) if union.get("type").is_some() => {
                let message = "has the form of A2A 0.3, with \"type\"; 1.0 has an object of the \
                               scheme's name, such as httpAuthSecurityScheme";
                self.error(at, message);
                None
            }
            (None, _) => {
                self.error(
                    at,
                    format!("has none of {}; it needs one", names.join(", ")),
                );
                None
            }
        }
    }

    fn requirements(&mut self, of: &'a Tree, at: &str) {
        let declared = self.card.get("securitySchemes");
        let requirements = self.list(of, at, "securityRequirements", Needed::No);
        for (index, requirement) in requirements.iter().enumerate() {
            let at = join(at, &format!("securityRequirements[{index}]"));
            let Some(Tree::Object(schemes)) = requirement.get("schemes") else {
                let message = "has no \"schemes\", so nothing is required by it; the form is \
                               {\"schemes\":{\"name\":{\"list\":[]}}}";
                self.warning(at, message);
                continue;
            };
            for (name, scopes) in schemes {
                let at = format!("{at}.schemes.{name}");
                if declared.and_then(|declared| declared.get(name)).is_none() {
                    let message = "names a scheme that securitySchemes does not declare";
                    self.error(&at, message);
                }
                if !matches!(scopes, Tree::Object(_)) {
                    self.error(&at, "is not an object; the form is {\"list\":[]}");
                }
            }
        }
    }

    fn skills(&mut self) {
        let skills = self.list(self.card, "", "skills", Needed::Yes);
        let mut ids = Vec::new();
        for (index, skill) in skills.iter().enumerate() {
            let at = format!("skills[{index}]");
            for name in ["name", "description"] {
                self.text(skill, &at, name);
            }
            if let Some(id) = self.text(skill, &at, "id") {
                if let Some(first) = ids.iter().position(|other| *other == Some(id)) {
                    let message = format!("is {}, as that of skills[{first}]", quoted(id));
                    self.error(format!("{at}.id"), message);
                }
                ids.push(Some(id));
            } else {
                ids.push(None);
            }
            self.list(skill, &at, "tags", Needed::Yes);
            for name in ["inputModes", "outputModes"] {
                self.media_types(skill, &at, name, Needed::No);
            }
            if skill.get("security").is_some() {
                let message = "is a field of A2A 0.3; 1.0 has securityRequirements for it";
                self.warning(format!("{at}.security"), message);
            }
            self.requirements(skill, &at);
        }
    }

    fn signatures(&mut self) {
        use base64::Engine as _;
        use base64::engine::general_purpose::URL_SAFE_NO_PAD;
        let signatures = self.list(self.card, "", "signatures", Needed::No);
        for (index, signature) in signatures.iter().enumerate() {
            let at = format!("signatures[{index}]");
            if let Some(text) = self.text(signature, &at, "signature")
                && URL_SAFE_NO_PAD.decode(text).is_err()
            {
                self.error(
                    format!("{at}.signature"),
                    "is not base64url without padding",
                );
            }
            let Some(text) = self.text(signature, &at, "protected") else {
                continue;
            };
            let at = format!("{at}.protected");
            let bytes = URL_SAFE_NO_PAD.decode(text).ok();
            let header = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            let Some(header) = header.and_then(|text| Tree::parse(&text, MAX_DEPTH).ok()) else {
                self.error(at, "is not JSON in base64url without padding");
                continue;
            };
            for name in ["alg", "kid"] {
                self.text(&header, &at, name);
            }
            if header.get("alg").and_then(Tree::as_text) == Some("none") {
                self.error(format!("{at}.alg"), "is none, which signs nothing");
            }
        }
    }

    /// A required text of an object.
    fn text<'b>(&mut self, of: &'b Tree, at: &str, name: &str) -> Option<&'b str> {
        let path = join(at, name);
        match of.get(name) {
            None | Some(Tree::Null) => self.error(path, "is missing; it needs a text"),
            Some(Tree::Text(text)) if text.trim().is_empty() => {
                self.error(path, "is empty; it needs a text");
            }
            Some(Tree::Text(text)) => return Some(text),
            Some(_) => self.error(path, "is not a text"),
        }
        None
    }

    fn flag(&mut self, of: &Tree, at: &str, name: &str) {
        if !matches!(of.get(name), None | Some(Tree::Null | Tree::Bool(_))) {
            self.error(join(at, name), "is neither true nor false");
        }
    }

    fn object(&mut self, of: &'a Tree, at: &str, name: &str) -> Option<&'a Tree> {
        match of.get(name) {
            None | Some(Tree::Null) => None,
            Some(object @ Tree::Object(_)) => Some(object),
            Some(_) => {
                self.error(join(at, name), "is not an object");
                None
            }
        }
    }

    fn list(&mut self, of: &'a Tree, at: &str, name: &str, needed: Needed) -> &'a [Tree] {
        let message = match of.get(name) {
            None | Some(Tree::Null) if needed == Needed::No => return &[],
            None | Some(Tree::Null) => "is missing; it needs at least one element",
            Some(Tree::Array(elements)) if elements.is_empty() && needed == Needed::Yes => {
                "is empty; it needs at least one element"
            }
            Some(Tree::Array(elements)) => return elements,
            Some(_) => "is not an array",
        };
        self.error(join(at, name), message);
        &[]
    }

    fn media_types(&mut self, of: &'a Tree, at: &str, name: &str, needed: Needed) {
        for (index, mode) in self.list(of, at, name, needed).iter().enumerate() {
            if !mode.as_text().is_some_and(is_media_type) {
                let found = mode.as_text().map_or_else(|| "no text".into(), quoted);
                self.error(
                    join(at, &format!("{name}[{index}]")),
                    format!("is {found}; it needs a media type such as text/plain"),
                );
            }
        }
    }

    fn error(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.add(Severity::Error, path.into(), message.into());
    }

    fn warning(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.add(Severity::Warning, path.into(), message.into());
    }

    fn add(&mut self, severity: Severity, path: String, message: String) {
        self.findings.push(CardFinding {
            severity,
            path,
            message,
        });
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    Yes,
    No,
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

fn is_loopback(rest: &str) -> bool {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(host) => host.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// A text of the card, cut.
fn quoted(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Severity, lint_card};

    const GOOD: &str = r#"{"name":"a","description":"b","version":"1",
        "supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
        "capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
        "skills":[{"id":"s","name":"s","description":"s","tags":["t"]}]}"#;

    #[test]
    fn a_card_with_all_that_it_needs_has_no_findings() {
        assert_eq!(lint_card(GOOD).unwrap(), []);
        let local = GOOD.replace("https://a.example", "http://[::1]:8080/");
        assert_eq!(lint_card(&local).unwrap(), []);
    }

    #[test]
    fn each_fault_is_found_where_it_is() {
        use Severity::{Error, Warning};
        let skills = r#""skills":[{"#;
        let cases = [
            (r#""name":"a","#, "", Error, "name"),
            (r#""name":"a""#, r#""name":"""#, Error, "name"),
            (r#""name":"a""#, r#""name":1"#, Error, "name"),
            (r#""capabilities":{},"#, "", Error, "capabilities"),
            (
                "{}",
                r#"{"streaming":"yes"}"#,
                Error,
                "capabilities.streaming",
            ),
            (
                "{}",
                r#"{"extensions":[{"uri":"u","required":true}]}"#,
                Warning,
                "capabilities.extensions[0].description",
            ),
            (
                r#""defaultInputModes":["text/plain"]"#,
                r#""defaultInputModes":["text"]"#,
                Error,
                "defaultInputModes[0]",
            ),
            (
                "https://a",
                "http://a",
                Warning,
                "supportedInterfaces[0].url",
            ),
            (
                "https://a",
                "http://localhost.evil",
                Warning,
                "supportedInterfaces[0].url",
            ),
            ("https://a", "a", Error, "supportedInterfaces[0].url"),
            (
                r#","protocolVersion":"1.0""#,
                "",
                Error,
                "supportedInterfaces[0].protocolVersion",
            ),
            (r#"["t"]"#, "[]", Error, "skills[0].tags"),
            (
                skills,
                r#""skills":[{"id":"s","name":"s","description":"s","tags":["t"]},{"#,
                Error,
                "skills[1].id",
            ),
            (
                skills,
                r#""skills":[{"inputModes":["x"],"#,
                Error,
                "skills[0].inputModes[0]",
            ),
            (skills, r#""url":"https://a","skills":[{"#, Warning, "url"),
            (skills, r#""security":[],"skills":[{"#, Warning, "security"),
            (
                skills,
                r#""securityRequirements":[{"schemes":{"x":{}}}],"skills":[{"#,
                Error,
                "securityRequirements[0].schemes.x",
            ),
            (
                skills,
                r#""securityRequirements":[{"x":[]}],"skills":[{"#,
                Warning,
                "securityRequirements[0]",
            ),
            (
                skills,
                r#""skills":[{"securityRequirements":[{"schemes":{"x":{}}}],"#,
                Error,
                "skills[0].securityRequirements[0].schemes.x",
            ),
            (
                skills,
                r#""securitySchemes":{"x":{"type":"http"}},"skills":[{"#,
                Error,
                "securitySchemes.x",
            ),
            (
                skills,
                r#""securitySchemes":{"x":{"apiKeySecurityScheme":{"location":"body","name":"k"}}},"skills":[{"#,
                Error,
                "securitySchemes.x.apiKeySecurityScheme.location",
            ),
            (
                skills,
                r#""securitySchemes":{"x":{"oauth2SecurityScheme":{"flows":{"password":{}}}}},"skills":[{"#,
                Warning,
                "securitySchemes.x.oauth2SecurityScheme.flows.password",
            ),
            (
                skills,
                r#""signatures":[{"protected":"e30","signature":"AA=="}],"skills":[{"#,
                Error,
                "signatures[0].signature",
            ),
            (
                skills,
                r#""signatures":[{"protected":"e30","signature":"AA"}],"skills":[{"#,
                Error,
                "signatures[0].protected.alg",
            ),
        ];
        for (from, to, severity, path) in cases {
            let card = GOOD.replacen(from, to, 1);
            assert_ne!(card, GOOD, "{from}");
            let findings = lint_card(&card).unwrap();
            let found = findings
                .iter()
                .any(|finding| finding.severity == severity && finding.path == path);
            assert!(found, "{to}: {findings:?}");
        }
    }
}
