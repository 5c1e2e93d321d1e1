use llamon_core::json::ReadErrorKind;
use proptest::prelude::*;

use super::{struct_of_json, struct_to_json, value_of_json, value_to_json};

const DEPTH: u32 = 95;

/// A value as protobuf libraries encode it, by hand and without the code under test.
#[derive(Clone, Debug)]
enum Tree {
    Null,
    Number(f64),
    String(String),
    Bool(bool),
    Struct(Vec<(String, Tree)>),
    List(Vec<Tree>),
}

impl Tree {
    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Null => vec![0x08, 0],
            Self::Number(value) => [&[0x11][..], &value.to_le_bytes()].concat(),
            Self::String(value) => delimited(0x1a, value.as_bytes()),
            Self::Bool(value) => vec![0x20, u8::from(*value)],
            Self::Struct(fields) => {
                let entries = fields.iter().flat_map(|(key, value)| {
                    let entry = [
                        delimited(0x0a, key.as_bytes()),
                        delimited(0x12, &value.encode()),
                    ];
                    delimited(0x0a, &entry.concat())
                });
                delimited(0x2a, &entries.collect::<Vec<_>>())
            }
            Self::List(values) => {
                let values = values
                    .iter()
                    .flat_map(|value| delimited(0x0a, &value.encode()));
                delimited(0x32, &values.collect::<Vec<_>>())
            }
        }
    }
}

fn delimited(key: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![key];
    prost::encoding::encode_varint(content.len() as u64, &mut out);
    out.extend_from_slice(content);
    out
}

fn tree() -> impl Strategy<Value = Tree> {
    let number = prop_oneof![
        any::<f64>().prop_filter("JSON has no others", |n| n.is_finite()),
        any::<i64>().prop_map(|n| n as f64),
        (-1_000_000_i64..1_000_000).prop_map(|n| n as f64 / 8.0),
    ];
    let leaf = prop_oneof![
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::Bool),
        number.prop_map(Tree::Number),
        any::<String>().prop_map(Tree::String),
        "[\u{0}-\u{20}\"\\\\\u{7f}-\u{85}\u{2028}\u{2029}a]{0,200}".prop_map(Tree::String),
    ];
    leaf.prop_recursive(6, 200, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Tree::List),
            // Keys are few, so that some are there twice.
            prop::collection::vec(("[ab\u{2028}\"]{0,2}", inner), 0..12).prop_map(Tree::Struct),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn protobuf_comes_back_byte_for_byte_through_json(tree in tree()) {
        let bytes = tree.encode();
        let json = value_to_json(&bytes, DEPTH).unwrap();
        serde_json::from_str::<serde::de::IgnoredAny>(&json).unwrap();
        let line_end = json.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        prop_assert!(!line_end, "{}", json);
        prop_assert_eq!(&value_of_json(&json).unwrap()[..], &bytes[..], "{}", json);
    }

    #[test]
    fn hostile_bytes_are_an_error_or_a_value_and_never_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        tree in tree(),
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4),
    ) {
        let mut changed = tree.encode();
        for (at, byte) in changes {
            let at = at % changed.len();
            changed[at] = byte;
        }
        for bytes in [&bytes, &changed] {
            if let Ok(json) = value_to_json(bytes, DEPTH) {
                serde_json::from_str::<serde::de::IgnoredAny>(&json).unwrap();
            }
            let _ = struct_to_json(bytes, DEPTH);
        }
    }

    #[test]
    fn json_keeps_its_values(tree in tree()) {
        let json = value_to_json(&tree.encode(), DEPTH).unwrap();
        let spaced = json.replace(',', " ,\t");
        if serde_json::from_str::<serde_json::Value>(&spaced).ok()
            == serde_json::from_str::<serde_json::Value>(&json).ok()
        {
            let bytes = value_of_json(&spaced).unwrap();
            prop_assert_eq!(value_to_json(&bytes, DEPTH).unwrap(), json);
        }
    }
}

#[test]
fn numbers_have_the_shortest_text_and_whole_ones_no_point() {
    let cases: [(f64, &str); 14] = [
        (0.0, "0"),
        (-0.0, "-0.0"),
        (3.0, "3"),
        (-42.0, "-42"),
        (0.1, "0.1"),
        (1.0 / 3.0, "0.3333333333333333"),
        (9_007_199_254_740_991.0, "9007199254740991"),
        (-9_007_199_254_740_991.0, "-9007199254740991"),
        (9_007_199_254_740_992.0, "9007199254740992.0"),
        (1e16, "1e16"),
        (f64::MAX, "1.7976931348623157e308"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (5e-324, "5e-324"),
        (1e-7, "1e-7"),
    ];
    for (number, text) in cases {
        let bytes = Tree::Number(number).encode();
        assert_eq!(value_to_json(&bytes, DEPTH).unwrap(), text);
        assert_eq!(value_of_json(text).unwrap(), bytes, "{text}");
    }
}

#[test]
fn of_json_the_value_is_kept_and_its_spelling_is_not() {
    let cases = [
        ("3.0", "3"),
        ("1E2", "100"),
        ("-0", "-0.0"),
        ("9007199254740993", "9007199254740992.0"),
        ("1e-400", "0"),
        (r#""\u0041\/""#, r#""A/""#),
        (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
        (" [ 1 , { } ] ", "[1,{}]"),
    ];
    for (json, back) in cases {
        let bytes = value_of_json(json).unwrap();
        assert_eq!(value_to_json(&bytes, DEPTH).unwrap(), back, "{json}");
    }
}

#[test]
fn what_has_no_form_in_protobuf_is_an_error_that_names_the_place() {
    let cases = [
        ("1e400", ": 1e400 has no form in gRPC"),
        (r#"{"a":[0,-1e999]}"#, "a[1]: -1e999 has no form in gRPC"),
        (r#"{"a":{"b c":"\ud800"}}"#, "a.b c: has a lone surrogate"),
        (r#"["\udc00x"]"#, "[0]: has a lone surrogate"),
    ];
    for (json, expected) in cases {
        let error = value_of_json(json).unwrap_err().to_string();
        assert!(format!(": {error}").contains(expected), "{json}: {error}");
    }
    let error = value_of_json(r#"{"\ud800":1}"#).unwrap_err().to_string();
    assert!(error.contains("lone surrogate"), "{error}");
    assert!(struct_of_json("[1]").is_err());
    assert!(value_of_json("1 2").is_err());
}

#[test]
fn what_has_no_form_in_json_is_an_error_that_names_the_place() {
    let list = |value: Tree| Tree::List(vec![Tree::Null, value]).encode();
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = value_to_json(&list(Tree::Number(number)), DEPTH).unwrap_err();
        assert!(error.to_string().starts_with("[1]: is "), "{error}");
    }
    // A value without a kind, in a list and in an entry, and alone.
    for bytes in [
        &b""[..],
        b"\x32\x02\x0a\x00",
        b"\x2a\x05\x0a\x03\x0a\x01k",
        b"\x7a\x00",
    ] {
        let error = value_to_json(bytes, DEPTH).unwrap_err().to_string();
        assert!(error.contains("without a kind"), "{error}");
    }
    for bytes in [
        &b"\x1a\x02\xff\xfe"[..],
        b"\x1a\x7f",
        b"\x11\x00",
        b"\x09\x00\x00\x00\x00\x00\x00\x00\x00",
        b"\x0b\x0c",
        b"\x00\x00",
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    ] {
        let error = value_to_json(bytes, DEPTH).unwrap_err().to_string();
        assert!(error.starts_with("is no protobuf Value"), "{error}");
    }
}

#[test]
fn the_last_kind_counts_and_unknown_fields_are_passed_over() {
    let bytes = b"\x08\x00\x20\x01\x7a\x01x\x7d\x00\x00\x00\x00";
    assert_eq!(value_to_json(bytes, DEPTH).unwrap(), "true");
}

#[test]
fn nesting_ends_at_the_limit_in_both_directions() {
    let arrays = |n: usize| (format!("{}{}", "[".repeat(n), "]".repeat(n)), n);
    let objects = |n: usize| {
        let json = format!("{}0{}", r#"{"a":"#.repeat(n), "}".repeat(n));
        (json, n)
    };
    for (json, _) in [arrays(45), objects(30)] {
        let bytes = value_of_json(&json).unwrap();
        assert_eq!(value_to_json(&bytes, DEPTH).unwrap(), json);
    }
    for (json, _) in [arrays(46), objects(31), arrays(100), arrays(100_000)] {
        let error = value_of_json(&json).unwrap_err();
        assert_eq!(error.kind(), ReadErrorKind::Depth, "{error}");
    }
    for (key, wrapped) in [(0x32, 0x0a), (0x2a, 0)] {
        let mut bytes = vec![0x08, 0];
        for _ in 0..60 {
            bytes = match wrapped {
                0 => {
                    let entry = [delimited(0x0a, b"a"), delimited(0x12, &bytes)].concat();
                    delimited(key, &delimited(0x0a, &entry))
                }
                wrapped => delimited(key, &delimited(wrapped, &bytes)),
            };
        }
        let error = value_to_json(&bytes, DEPTH).unwrap_err();
        assert_eq!(error.kind(), ReadErrorKind::Depth, "{error}");
    }
    let (json, _) = arrays(4);
    let bytes = value_of_json(&json).unwrap();
    assert!(value_to_json(&bytes, 4).is_ok());
    let error = value_to_json(&bytes, 3).unwrap_err().to_string();
    assert!(
        error.contains("max_json_depth") && error.contains('3'),
        "{error}"
    );
}

#[test]
fn a_struct_is_an_object() {
    let json = r#"{"b":{"x":[]},"a":null,"":""}"#;
    let bytes = struct_of_json(json).unwrap();
    assert_eq!(struct_to_json(&bytes, DEPTH).unwrap(), json);
    assert_eq!(struct_to_json(b"", DEPTH).unwrap(), "{}");
    assert_eq!(struct_of_json("{}").unwrap(), b""[..]);
    let in_value = [&b"\x2a"[..], &[bytes.len() as u8], &bytes].concat();
    assert_eq!(value_of_json(json).unwrap(), in_value);
}

#[test]
fn large_values_cost_no_more_than_their_size() {
    // Lengths of one to four bytes, in every nesting.
    let mut json = format!("\"{}\"", "x".repeat(2_100_000));
    for level in 0..20 {
        json = if level % 2 == 0 {
            format!("[{json},{level}]")
        } else {
            format!(r#"{{"k":{json},"l":{level}}}"#)
        };
    }
    let bytes = value_of_json(&json).unwrap();
    assert_eq!(value_to_json(&bytes, DEPTH).unwrap(), json);
}
