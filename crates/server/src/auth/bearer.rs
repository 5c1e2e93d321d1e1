//! Bearer tokens in requests and challenges (RFC 6750).

use super::RequestHead;

/// For whoever shows none (section 3: a challenge has a parameter).
pub(super) const CHALLENGE: &str = "Bearer realm=\"a2a\"";

/// The token in `Authorization: Bearer <token>`.
pub(super) fn token<'a>(request: &RequestHead<'a>) -> Option<&'a str> {
    let (scheme, token) = request.header("authorization")?.split_once(' ')?;
    let token = token.trim_matches(' ');
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    (scheme.eq_ignore_ascii_case("bearer") && is_token).then_some(token)
}

/// For whoever shows one that does not count. `why` is written here and has no quotes in it.
pub(super) fn invalid(why: &str) -> String {
    format!("{CHALLENGE}, error=\"invalid_token\", error_description=\"{why}\"")
}
