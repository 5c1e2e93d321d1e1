//! JSON texts as strangers write them.

use proptest::prelude::*;

/// White space between tokens, mostly none.
fn white() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => Just(String::new()),
        1 => Just(" ".to_owned()),
        1 => "[ \t\r\n]{1,3}",
    ]
}

/// A string token: plain text, escapes, surrogate pairs and lone surrogates.
pub(crate) fn string_token() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zA-Z0-9 /+=]{0,12}",
        2 => "[^\"\\\\\u{0}-\u{1f}]{0,6}",
        1 => prop_oneof![
            Just(r#"\""#), Just(r"\\"), Just(r"\/"), Just(r"\n"), Just(r"\u0041"),
            Just(r"\ud83d\ude00"), Just(r"\u00E9"),
        ].prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// A string token that may hold what no Rust string can.
fn wild_string_token() -> impl Strategy<Value = String> {
    prop_oneof![
        9 => string_token(),
        1 => Just(r#""\ud800""#.to_owned()),
    ]
}

fn number_token() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        Just("1.0".to_owned()),
        Just("-0".to_owned()),
        Just("1e400".to_owned()),
        Just("123456789012345678901234567890".to_owned()),
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?",
    ]
}

/// Any JSON value, with white space, duplicate keys and odd numbers.
pub(crate) fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        number_token(),
        wild_string_token(),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let item = (white(), inner.clone(), white())
            .prop_map(|(a, v, b)| format!("{a}{v}{b}"))
            .boxed();
        let key = prop_oneof![3 => Just("\"k\"".to_owned()), 3 => string_token()];
        let entry = (white(), key, white(), item.clone())
            .prop_map(|(a, key, b, value)| format!("{a}{key}{b}:{value}"));
        prop_oneof![
            (white(), prop::collection::vec(item, 0..5)).prop_map(|(a, items)| {
                if items.is_empty() {
                    format!("[{a}]")
                } else {
                    format!("[{}]", items.join(","))
                }
            }),
            (white(), prop::collection::vec(entry, 0..5)).prop_map(|(a, entries)| {
                if entries.is_empty() {
                    format!("{{{a}}}")
                } else {
                    format!("{{{}}}", entries.join(","))
                }
            }),
        ]
    })
}
