//! Tokens as they are sent (RFC 7519, in the compact form of RFC 7515), and what must be in them.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use llamon_core::json::Tree;

use super::JwtAlgorithm;
use super::key::Key;
use crate::auth::Identity;

/// A token is in a header, which most servers bound by 8 KiB.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
const MAX_DEPTH: u32 = 16;
const MAX_PRINCIPAL_BYTES: usize = 512;

/// Why a token does not count, for the caller: never with something of the token in it, and
/// without quotes, as it also stands in a challenge.
pub(super) type Invalid = &'static str;

/// A token whose signature was not looked at. Its header says which key to try, and nothing else
/// is taken from it: not where keys are, and not what they are (`jku`, `jwk`, `x5u`, `x5c`).
pub(super) struct Unverified<'a> {
    pub(super) algorithm: JwtAlgorithm,
    pub(super) key_id: Option<String>,
    /// Header and claims as they were signed.
    message: &'a str,
    claims: &'a str,
    signature: Vec<u8>,
}

/// What is asked of a token's claims.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) issuer: String,
    /// One of them.
    pub(super) audiences: Vec<String>,
    pub(super) leeway: Duration,
    pub(super) tenant_claim: Option<String>,
    pub(super) principal_prefix: String,
}

impl<'a> Unverified<'a> {
    pub(super) fn read(token: &'a str, algorithms: &[JwtAlgorithm]) -> Result<Self, Invalid> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err("the token is larger than 16 KiB");
        }
        let no_token = "the token is not a signed JWT";
        let (message, signature) = token.rsplit_once('.').ok_or(no_token)?;
        let (header, claims) = message.split_once('.').ok_or(no_token)?;
        let header = decode(header).ok_or(no_token)?;
        let Tree::Object(parameters) = &header else {
            return Err(no_token);
        };
        let name = header.get("alg").and_then(Tree::as_text).ok_or(no_token)?;
        let algorithm = JwtAlgorithm::from_name(name).filter(|one| algorithms.contains(one));
        let algorithm = algorithm.ok_or("the token is signed in a way that is not taken here")?;
        // RFC 7515, section 4.1.11: what must be understood and is not makes it invalid. `b64`
        // would change what is signed (RFC 7797).
        let refused = |(name, _): &(String, Tree)| matches!(name.as_str(), "crit" | "b64");
        if parameters.iter().any(refused) {
            return Err("the token has a header that is not supported");
        }
        let key_id = match header.get("kid") {
            None => None,
            Some(Tree::Text(id)) => Some(id.clone()),
            Some(_) => return Err(no_token),
        };
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| no_token)?;
        Ok(Self {
            algorithm,
            key_id,
            message,
            claims,
            signature,
        })
    }

    /// The claims, once one of the keys has signed them.
    pub(super) fn verify(&self, keys: &[&Key]) -> Result<Tree, Invalid> {
        let message = self.message.as_bytes();
        let signed = keys
            .iter()
            .any(|key| key.verifies(self.algorithm, message, &self.signature));
        if !signed {
            return Err("the signature of the token is wrong");
        }
        let claims = decode(self.claims).ok_or("the token has claims that cannot be read")?;
        match claims {
            Tree::Object(_) => Ok(claims),
            _ => Err("the token has claims that are no object"),
        }
    }
}

impl Expected {
    /// Who the claims speak of, if they are for this server and count now.
    pub(super) fn identity(&self, claims: &Tree, now: SystemTime) -> Result<Identity, Invalid> {
        let text = |name: &str| claims.get(name).and_then(Tree::as_text);
        if text("iss") != Some(&self.issuer) {
            return Err("the token is of another issuer");
        }
        let is_ours = |audience: &str| self.audiences.iter().any(|ours| ours == audience);
        let for_us = match claims.get("aud") {
            Some(Tree::Text(audience)) => is_ours(audience),
            // RFC 7519, section 4.1.3: texts all of them.
            Some(Tree::Array(audiences)) => {
                let texts: Option<Vec<&str>> = audiences.iter().map(Tree::as_text).collect();
                texts.is_some_and(|texts| texts.into_iter().any(is_ours))
            }
            _ => false,
        };
        if !for_us {
            return Err("the token is for another audience");
        }
        self.check_times(claims, now)?;
        let subject = text("sub").filter(|subject| !subject.is_empty());
        let subject = subject.ok_or("the token says nothing of its subject")?;
        if subject.len() > MAX_PRINCIPAL_BYTES {
            return Err("the token has a subject of more than 512 bytes");
        }
        let principal = format!("{}{subject}", self.principal_prefix);
        let mut identity = Identity::new(principal).with_scopes(scopes(claims)?);
        if let Some(claim) = &self.tenant_claim {
            let tenant = text(claim).filter(|tenant| !tenant.is_empty());
            identity = identity.of_tenant(tenant.ok_or("the token says nothing of its tenant")?);
        }
        Ok(identity)
    }

    fn check_times(&self, claims: &Tree, now: SystemTime) -> Result<(), Invalid> {
        // A time that cannot be read must not make a token valid for ever.
        let time = |name: &str| match claims.get(name) {
            None => Ok(None),
            Some(Tree::Number(seconds)) => Ok(Some(*seconds)),
            Some(_) => Err("the token has a time that is no number"),
        };
        let (expires, begins) = (time("exp")?, time("nbf")?);
        time("iat")?;
        let now = now.duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_secs_f64();
        let leeway = self.leeway.as_secs_f64();
        let expires = expires.ok_or("the token never expires, and only those that do are taken")?;
        if now >= expires + leeway {
            return Err("the token has expired");
        }
        if begins.is_some_and(|begins| now + leeway < begins) {
            return Err("the token does not count yet");
        }
        Ok(())
    }
}

/// Of `scope` (RFC 8693, section 4.2: a text with spaces) and `scp`, which some issuers have
/// instead, as such a text or an array.
fn scopes(claims: &Tree) -> Result<Vec<&str>, Invalid> {
    let wrong = "the token has scopes that are no texts";
    let mut all = Vec::new();
    for name in ["scope", "scp"] {
        match claims.get(name) {
            None => {}
            Some(Tree::Text(scopes)) => all.extend(scopes.split_ascii_whitespace()),
            Some(Tree::Array(scopes)) if name == "scp" => {
                for scope in scopes {
                    all.push(scope.as_text().ok_or(wrong)?);
                }
            }
            Some(_) => return Err(wrong),
        }
    }
    Ok(all)
}

fn decode(part: &str) -> Option<Tree> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    Tree::parse(std::str::from_utf8(&bytes).ok()?, MAX_DEPTH).ok()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use llamon_core::json::Tree;

    use super::Expected;

    fn identity(claims: &str) -> Result<(String, Vec<String>), &'static str> {
        let expected = Expected {
            issuer: "https://id.example".to_owned(),
            audiences: vec!["agent".to_owned(), "other".to_owned()],
            leeway: Duration::from_secs(30),
            tenant_claim: None,
            principal_prefix: String::new(),
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let claims = Tree::parse(claims, 16).expect("JSON");
        let identity = expected.identity(&claims, now)?;
        let scopes = identity.scopes().map(str::to_owned).collect();
        Ok((identity.principal().to_string(), scopes))
    }

    #[test]
    fn times_count_with_their_leeway_and_as_numbers_only() {
        for (times, expected) in [
            (r#""exp":1000001"#, true),
            (r#""exp":999970.5"#, true),
            // Leeway is no part of the life of a token that ends now.
            (r#""exp":999970"#, false),
            (r#""exp":999969"#, false),
            (r#""exp":1e300"#, true),
            (r#""exp":-1"#, false),
            (r#""exp":"1000001""#, false),
            (r#""exp":null"#, false),
            (r#""exp":true"#, false),
            (r#""nbf":0"#, false),
            (r#""exp":1000001,"nbf":1000030"#, true),
            (r#""exp":1000001,"nbf":1000031"#, false),
            (r#""exp":1000001,"nbf":"0""#, false),
            (r#""exp":1000001,"iat":"0""#, false),
            (r#""exp":1000001,"iat":7"#, true),
        ] {
            let claims =
                format!(r#"{{"iss":"https://id.example","aud":"agent","sub":"alice",{times}}}"#);
            assert_eq!(identity(&claims).is_ok(), expected, "{times}");
        }
    }

    #[test]
    fn issuer_audience_and_subject_are_to_the_letter() {
        for (claims, expected) in [
            (
                r#""iss":"https://id.example","aud":"agent","sub":"a""#,
                true,
            ),
            (
                r#""iss":"https://id.example","aud":["x","other"],"sub":"a""#,
                true,
            ),
            (
                r#""iss":"https://id.example/","aud":"agent","sub":"a""#,
                false,
            ),
            (
                r#""iss":["https://id.example"],"aud":"agent","sub":"a""#,
                false,
            ),
            (r#""aud":"agent","sub":"a""#, false),
            (r#""iss":"https://id.example","sub":"a""#, false),
            (r#""iss":"https://id.example","aud":[],"sub":"a""#, false),
            (r#""iss":"https://id.example","aud":["x"],"sub":"a""#, false),
            (
                r#""iss":"https://id.example","aud":["agent",7],"sub":"a""#,
                false,
            ),
            (
                r#""iss":"https://id.example","aud":"agents","sub":"a""#,
                false,
            ),
            (r#""iss":"https://id.example","aud":"agent""#, false),
            (
                r#""iss":"https://id.example","aud":"agent","sub":"""#,
                false,
            ),
            (r#""iss":"https://id.example","aud":"agent","sub":7"#, false),
        ] {
            let claims = format!(r#"{{"exp":1000001,{claims}}}"#);
            assert_eq!(identity(&claims).is_ok(), expected, "{claims}");
        }
    }

    #[test]
    fn scopes_are_read_in_both_forms() {
        for (scopes, expected) in [
            ("", Some("")),
            (r#","scope":"b  a""#, Some("a b")),
            (r#","scp":["a","b"]"#, Some("a b")),
            (r#","scp":"a b","scope":"c""#, Some("a b c")),
            (r#","scope":["a"]"#, None),
            (r#","scp":[1]"#, None),
            (r#","scp":7"#, None),
        ] {
            let claims = format!(
                r#"{{"iss":"https://id.example","aud":"agent","sub":"a","exp":1000001{scopes}}}"#
            );
            let found = identity(&claims).ok().map(|(_, scopes)| scopes.join(" "));
            assert_eq!(found.as_deref(), expected, "{scopes}");
        }
    }
}
