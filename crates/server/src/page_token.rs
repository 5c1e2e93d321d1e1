//! Page tokens: where a list goes on, sealed to who asks and to what they ask for.
//!
//! A backend says where its next page begins in words of its own. What a caller gets of it is
//! encrypted and authenticated, so that it tells nothing, cannot be changed, and is good for
//! nothing but the caller's next page of the same list.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use llamon_core::a2a::{A2aError, ErrorCode, ListTasksRequest};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::error::Unspecified;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::backend::{PageSecret, StoreError};
use crate::scope::Scope;

/// Seals page tokens and opens them again.
pub(crate) struct PageTokens {
    key: LessSafeKey,
    random: SystemRandom,
}

/// What a token goes on with. Another list is another one in its order or in what is on it; how
/// long a page is, and how much of a task is shown, may change from page to page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum List<'a> {
    /// Tasks.
    Tasks(&'a ListTasksRequest),
    /// The push configurations of a task.
    PushConfigs(&'a str),
}

impl PageTokens {
    /// # Errors
    /// Never with a secret of the right length, which it has by its type.
    pub(crate) fn new(secret: &PageSecret) -> Result<Self, StoreError> {
        let key =
            UnboundKey::new(&CHACHA20_POLY1305, secret.as_bytes()).map_err(|Unspecified| {
                StoreError::Failed("the secret of page tokens is no key".to_owned())
            })?;
        Ok(Self {
            key: LessSafeKey::new(key),
            random: SystemRandom::new(),
        })
    }

    /// The token for a place in a list; an empty place is the list's end and stays empty.
    ///
    /// # Errors
    /// Internal where the system gives no random numbers.
    pub(crate) fn seal(
        &self,
        scope: &Scope,
        list: List<'_>,
        place: &str,
    ) -> Result<String, A2aError> {
        if place.is_empty() {
            return Ok(String::new());
        }
        self.try_seal(scope, list, place).map_err(|Unspecified| {
            tracing::error!("a page token cannot be made: the system gives no random numbers");
            A2aError::internal()
        })
    }

    /// The place that a token was made for.
    ///
    /// # Errors
    /// InvalidParams for everything that is not a token of this caller and this list.
    pub(crate) fn open(
        &self,
        scope: &Scope,
        list: List<'_>,
        token: &str,
    ) -> Result<String, A2aError> {
        self.try_open(scope, list, token).ok_or_else(not_one)
    }

    fn try_seal(&self, scope: &Scope, list: List<'_>, place: &str) -> Result<String, Unspecified> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce)?;
        let mut sealed = place.as_bytes().to_vec();
        self.key.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(sealed_to(scope, list)),
            &mut sealed,
        )?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    fn try_open(&self, scope: &Scope, list: List<'_>, token: &str) -> Option<String> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let place = self.key.open_in_place(
            Nonce::assume_unique_for_key(*nonce),
            Aad::from(sealed_to(scope, list)),
            &mut sealed,
        );
        Some(std::str::from_utf8(place.ok()?).ok()?.to_owned())
    }
}

/// The error for a token that is not the caller's for this list.
pub(crate) fn not_one() -> A2aError {
    A2aError::new(
        ErrorCode::InvalidParams,
        "pageToken: is not one of this server's for this caller and this list; send the \
         nextPageToken of the page before with the same filters, or begin without one",
    )
}

/// Who asks for what. As JSON, so that no choice of names makes two of them one.
fn sealed_to(scope: &Scope, list: List<'_>) -> Vec<u8> {
    let (tenant, principal) = (scope.tenant(), scope.principal());
    let sealed_to = match list {
        List::Tasks(request) => serde_json::json!([
            "tasks",
            tenant,
            principal,
            request.context_id.as_deref(),
            request.status.map(|state| state.as_str()),
            request.status_timestamp_after.map(|at| at.as_micros()),
        ]),
        List::PushConfigs(task) => serde_json::json!(["push", tenant, principal, task]),
    };
    sealed_to.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use llamon_core::Timestamp;
    use llamon_core::a2a::{ListTasksRequest, TaskState};

    use super::{List, PageTokens};
    use crate::backend::PageSecret;
    use crate::scope::Scope;

    fn tokens(byte: u8) -> PageTokens {
        PageTokens::new(&PageSecret::from_bytes([byte; 32])).expect("a key")
    }

    fn asking(change: impl FnOnce(&mut ListTasksRequest)) -> ListTasksRequest {
        let mut request = ListTasksRequest::default();
        change(&mut request);
        request
    }

    #[test]
    fn a_token_is_good_for_its_caller_and_its_list_alone() {
        let requests = [
            asking(|_| {}),
            asking(|request| request.context_id = Some("c".into())),
            asking(|request| request.context_id = Some("d".into())),
            asking(|request| request.status = Some(TaskState::Failed)),
            asking(|request| request.status_timestamp_after = Some(Timestamp::from_micros(1))),
        ];
        let scopes = [
            Scope::anonymous(),
            Scope::of_principal("a"),
            Scope::of_tenant("a"),
            Scope::new("a", "b"),
            Scope::new("b", "a"),
            Scope::new("a\",\"b", "c"),
        ];
        let mut lists: Vec<List<'_>> = requests.iter().map(List::Tasks).collect();
        lists.extend([List::PushConfigs("c"), List::PushConfigs("d")]);
        let all = || {
            let of_scope = |scope| lists.iter().map(move |list| (scope, *list));
            scopes.iter().flat_map(of_scope).enumerate()
        };
        let tokens = tokens(1);
        for (made, (scope, list)) in all() {
            let token = tokens.seal(scope, list, "place").expect("a token");
            for (used, (other, other_list)) in all() {
                let opened = tokens.open(other, other_list, &token);
                let what = format!("{scope:?} {list:?} {other:?} {other_list:?}");
                assert_eq!(opened.is_ok(), made == used, "{what}");
            }
        }
    }

    #[test]
    fn how_a_page_is_shown_may_change() {
        let tokens = tokens(1);
        let scope = Scope::anonymous();
        let first = ListTasksRequest::default();
        let token = tokens.seal(&scope, List::Tasks(&first), "place");
        let next = asking(|request| {
            request.page_size = Some(7);
            request.history_length = Some(3);
            request.include_artifacts = true;
            request.page_token = Some("anything".to_owned());
        });
        let opened = tokens.open(&scope, List::Tasks(&next), &token.expect("a token"));
        assert_eq!(opened.expect("the place"), "place");
    }

    #[test]
    fn a_token_that_was_changed_or_made_by_others_is_none() {
        let scope = Scope::anonymous();
        let list = List::PushConfigs("task");
        let token = tokens(1).seal(&scope, list, "place").expect("a token");
        assert!(tokens(2).open(&scope, list, &token).is_err());
        for at in 0..token.len() {
            for other in ["A", "_", "=", "\u{e4}"] {
                let mut changed = token.clone();
                changed.replace_range(at..=at, other);
                let opened = tokens(1).open(&scope, list, &changed);
                assert_eq!(opened.is_ok(), changed == token, "{changed}");
            }
        }
        for text in ["", "x", "cGxhY2U", &"A".repeat(100_000)] {
            assert!(tokens(1).open(&scope, list, text).is_err(), "{text}");
        }
        let cut = token.get(..token.len() - 2).expect("its beginning");
        assert!(tokens(1).open(&scope, list, cut).is_err());
    }

    #[test]
    fn a_token_tells_nothing_and_the_end_of_a_list_has_none() {
        let scope = Scope::anonymous();
        let list = List::PushConfigs("task");
        let first = tokens(1).seal(&scope, list, "place").expect("a token");
        let second = tokens(1).seal(&scope, list, "place").expect("a token");
        assert_ne!(first, second);
        assert_eq!(tokens(1).seal(&scope, list, "").expect("no token"), "");
    }
}
