//! Parts: read once, carried as they stand.

mod support;

use llamon_core::{Part, PartKind};
use proptest::prelude::*;
use support::{json, string_token};

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_part_is_its_text(value in json(), unknown in json(), name in string_token()) {
        let text = format!(r#"{{"x-{}":{unknown},"data":{value},"filename":{name},"metadata":{{"k":{unknown}}}}}"#, "y");
        let part = Part::from_json(text.clone()).unwrap();
        let one_line = llamon_core::json::compact(&text);
        if text.contains(['\n', '\r']) {
            prop_assert_eq!(part.json(), &*one_line);
        } else {
            prop_assert_eq!(part.json(), &*text);
        }
        prop_assert_eq!(llamon_core::json::compact(part.data_json().unwrap()), llamon_core::json::compact(&value));
        prop_assert_eq!(part.kind(), PartKind::Data);
        let decoded: String = serde_json::from_str(&name).unwrap();
        prop_assert_eq!(part.filename().unwrap(), decoded);
        prop_assert_eq!(part.metadata_json().unwrap().as_bytes()[0], b'{');
    }

    #[test]
    fn a_text_comes_back(text in any::<String>()) {
        let part = Part::text(&text);
        prop_assert_eq!(part.as_text().unwrap(), text.as_str());
        let again = Part::from_json(part.json().to_owned()).unwrap();
        prop_assert_eq!(again.as_text().unwrap(), text.as_str());
        let line_ends = part.json().matches(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count();
        prop_assert_eq!(line_ends, 0);
    }

    #[test]
    fn a_file_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..200), name in any::<String>()) {
        let part = Part::file_bytes(&bytes).with_filename(&name).with_media_type("a/b").with_filename(&name);
        prop_assert_eq!(&part.file_content().unwrap()[..], &bytes[..]);
        prop_assert_eq!(part.filename().unwrap(), name.as_str());
        prop_assert_eq!(part.media_type().unwrap(), "a/b");
        prop_assert!(serde_json::from_str::<serde_json::Value>(part.json()).is_ok());
    }
}

#[test]
fn both_alphabets_of_base64_are_taken_with_and_without_padding() {
    for (text, expected) in [
        ("-_-_", &[0xfb, 0xff, 0xbf][..]),
        ("+/+/", &[0xfb, 0xff, 0xbf]),
        ("+_-/", &[0xfb, 0xff, 0xbf]),
        (r"+\/+\/", &[0xfb, 0xff, 0xbf]),
        ("QQ==", b"A"),
        ("QQ", b"A"),
        ("", b""),
    ] {
        let part = Part::from_json(format!(r#"{{"raw":"{text}"}}"#)).unwrap();
        assert_eq!(&part.file_content().unwrap()[..], expected, "{text}");
    }
}

#[test]
fn what_is_no_part_is_refused_with_the_field_and_the_reason() {
    for (text, expected) in [
        (
            "{}",
            "has no content: exactly one of text, data, raw and url is required",
        ),
        (r#"{"kind":"text"}"#, "looks like a part of A2A 0.3"),
        (r#"{"text":"a","data":1}"#, "has both text and data"),
        (r#"{"text":"a","text":"b"}"#, "text: is given twice"),
        (r#"{"text":null}"#, "has no content"),
        (r#"{"text":1}"#, "text: expected a string, found a number"),
        (r#"{"text":"\ud800"}"#, "text: has a lone surrogate"),
        (r#"{"raw":"a"}"#, "raw: is not base64"),
        (r#"{"raw":"QQ=A"}"#, "raw: is not base64"),
        (r#"{"raw":"Q Q="}"#, "raw: is not base64"),
        (r#"{"url":true}"#, "url: expected a string, found a boolean"),
        (
            r#"{"data":1,"metadata":[]}"#,
            "metadata: expected an object, found an array",
        ),
        (
            r#"{"data":1,"media_type":"a/b","mediaType":"a/b"}"#,
            "mediaType: is given twice",
        ),
        (
            r#"{"data":1,"filename":{}}"#,
            "filename: expected a string, found an object",
        ),
        ("[]", "expected an object, found an array"),
        (r#"{"data":1} x"#, "expected the end of the text"),
        (r#"{"data":1,}"#, "expected a value after `,`"),
    ] {
        let error = Part::from_json(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_small_part_does_not_keep_a_large_body_alive() {
    let body = format!(r#"{{"data":"small"}}{}"#, " ".repeat(1_000_000));
    let source = bytestring::ByteString::from(body);
    let mut reader = llamon_core::json::Reader::of_str(&source, 100);
    let part = Part::read(&mut reader, &source).unwrap();
    let copied = part.clone().detached_from(source.len());
    assert_eq!(copied, part);
    let inside = source.as_bytes().as_ptr_range();
    assert!(inside.contains(&part.json().as_ptr()));
    assert!(!inside.contains(&copied.json().as_ptr()));
}
