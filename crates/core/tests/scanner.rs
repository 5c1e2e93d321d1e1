//! The scanner against serde_json: the same texts are JSON, and values end at the same place.

mod support;

use llamon_core::json::{ReadErrorKind, Reader, compact};
use proptest::prelude::*;
use serde_json::value::RawValue;
use support::json;

const DEPTH: u32 = 100;

fn accepts(text: &str) -> bool {
    let mut reader = Reader::of_str(text, DEPTH);
    reader.skip().is_ok() && reader.end().is_ok()
}

fn serde_accepts(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// The tokens of a JSON text, without the white space between them.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(first) = chars.next() {
        if first == '"' {
            let mut token = String::from('"');
            while let Some(next) = chars.next() {
                token.push(next);
                match next {
                    '\\' => token.extend(chars.next()),
                    '"' => break,
                    _ => {}
                }
            }
            tokens.push(token);
        } else if !first.is_ascii_whitespace() {
            let mut token = String::from(first);
            if !"{}[],:".contains(first) {
                while let Some(next) = chars.next_if(|c| !"{}[],: \t\r\n\"".contains(*c)) {
                    token.push(next);
                }
            }
            tokens.push(token);
        }
    }
    tokens
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_is_accepted_and_its_value_found(text in json()) {
        prop_assert!(serde_accepts(&text), "the generator made no JSON: {text}");
        let padded = format!(" \t{text}\r\n ");
        let mut reader = Reader::of_str(&padded, DEPTH);
        let span = reader.skip().unwrap();
        reader.end().unwrap();
        prop_assert_eq!(span.of(&padded), &*text);
        let outside_strings = tokens(&text).concat();
        let has_newline = text.matches(['\r', '\n']).count() > outside_strings.matches(['\r', '\n']).count();
        prop_assert_eq!(span.has_newline, has_newline);
    }

    #[test]
    fn a_changed_text_is_accepted_exactly_when_serde_accepts_it(
        text in json(),
        at in any::<prop::sample::Index>(),
        with in prop::sample::select(vec!["", "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "1", "-", "e", ".", "n", "\n", "\u{1}", "é"]),
        keep in any::<bool>(),
    ) {
        let chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len());
        let rest = if keep { at } else { at + 1 };
        let changed: String = chars[..at].iter().collect::<String>() + with + &chars[rest..].iter().collect::<String>();
        prop_assert_eq!(accepts(&changed), serde_accepts(&changed), "{}", changed);
    }

    #[test]
    fn any_text_is_accepted_exactly_when_serde_accepts_it(text in "[\\[\\]{}:,\"\\\\0-9eE.+\\-truefalsn \n\u{1}é]{0,24}") {
        prop_assert_eq!(accepts(&text), serde_accepts(&text), "{}", text);
    }

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(mut reader) = Reader::new(&bytes, DEPTH) {
            let _ = reader.skip().and_then(|_| reader.end());
        }
    }

    #[test]
    fn compacting_keeps_every_token(text in json()) {
        let compacted = compact(&text);
        prop_assert_eq!(tokens(&compacted), tokens(&text));
        prop_assert_eq!(tokens(&compacted).concat(), compacted);
    }
}

#[test]
fn long_strings_end_at_their_quote() {
    // Eight bytes are looked at at a time: every alignment of every stop.
    for length in 0..40 {
        for stop in ["\"", "\\\"x\"", "\\n\"", "é\""] {
            let text = format!("\"{}{stop}", "a".repeat(length));
            assert!(accepts(&text), "{text}");
            assert!(!accepts(&text[..text.len() - 1]), "{text}");
            let control = format!("\"{}\u{1f}{stop}", "a".repeat(length));
            assert!(!accepts(&control), "{control:?}");
        }
    }
}

#[test]
fn depth_is_counted_at_under_and_over_the_limit() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(accepts(&nested(99)));
    assert!(accepts(&nested(100)));
    let mut reader = Reader::of_str("", 1);
    assert_eq!(reader.skip().unwrap_err().kind(), ReadErrorKind::Syntax);
    for bomb in [
        nested(101),
        "[".repeat(1_000_000),
        "{\"a\":".repeat(500_000),
    ] {
        let mut reader = Reader::of_str(&bomb, DEPTH);
        let error = reader.skip().unwrap_err();
        assert_eq!(error.kind(), ReadErrorKind::Depth);
        assert!(
            error.to_string().contains("max_json_depth, which is 100"),
            "{error}"
        );
    }
}
