//! JSON in the one form that signatures are made over (RFC 8785, JCS).
//!
//! Own code, since what the form is for needs two things that the libraries on top of
//! `serde_json` do not do: a key that is given twice is an error, and numbers are read exactly.

use std::fmt::Write as _;

use super::{ReadError, ReadErrorKind, Reader};

/// A JSON text as a tree, for texts whose every value is looked at. Objects keep the order in
/// which they were written; no key is in one twice.
///
/// ```
/// use llamon_core::json::Tree;
/// let tree = Tree::parse(r#"{"b": 1.50, "a": "\u00e9"}"#, 64)?;
/// assert_eq!(tree.canonical(), r#"{"a":"é","b":1.5}"#);
/// assert!(Tree::parse(r#"{"a":1,"a":2}"#, 64).is_err());
/// # Ok::<(), llamon_core::json::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as IEEE 754 double (RFC 8785 section 3.2.2.3). It is finite.
    Number(f64),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Tree>),
    /// An object.
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// Reads a JSON text that may nest `max_depth` containers.
    ///
    /// # Errors
    /// When it is not JSON, nests too deep, has a key twice in one object, a lone surrogate, or
    /// a number beyond the range of doubles.
    pub fn parse(source: &str, max_depth: u32) -> Result<Self, ReadError> {
        let mut reader = Reader::of_str(source, max_depth);
        let tree = Self::read(&mut reader)?;
        reader.end()?;
        Ok(tree)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        match reader.peek() {
            Some(b'{') => {
                let mut object = reader.object()?;
                let mut entries: Vec<(String, Self)> = Vec::new();
                let mut keys = std::collections::HashSet::new();
                while let Some(key) = reader.key(&mut object)? {
                    let key = key.into_owned();
                    if !keys.insert(key.clone()) {
                        return Err(ReadError::invalid(format!("has the key {key:?} twice")));
                    }
                    let value = Self::read(reader)?;
                    entries.push((key, value));
                }
                Ok(Self::Object(entries))
            }
            Some(b'[') => {
                let mut array = reader.array()?;
                let mut elements = Vec::new();
                while reader.element(&mut array)? {
                    elements.push(Self::read(reader)?);
                }
                Ok(Self::Array(elements))
            }
            Some(b'"') => Ok(Self::Text(reader.string()?.into_owned())),
            _ => {
                let source = reader.source();
                match reader.skip()?.of(source) {
                    "null" => Ok(Self::Null),
                    "true" => Ok(Self::Bool(true)),
                    "false" => Ok(Self::Bool(false)),
                    number => match number.parse::<f64>() {
                        Ok(value) if value.is_finite() => Ok(Self::Number(value)),
                        _ => Err(ReadError::new(
                            ReadErrorKind::Invalid,
                            format!(
                                "has the number {number}, which is beyond the range of doubles"
                            ),
                        )),
                    },
                }
            }
        }
    }

    /// The value of a key, where this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(entries) = self else {
            return None;
        };
        entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// The text, where this is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The elements, where this is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The canonical form (RFC 8785).
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.push_canonical(&mut out);
        out
    }

    fn push_canonical(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(value) => push_double(out, *value),
            Self::Text(text) => push_text(out, text),
            Self::Array(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    element.push_canonical(out);
                }
                out.push(']');
            }
            Self::Object(entries) => {
                let mut sorted: Vec<&(String, Self)> = entries.iter().collect();
                // By UTF-16 code units (section 3.2.3), where UTF-8 bytes would sort otherwise.
                sorted
                    .sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
                out.push('{');
                for (index, (key, value)) in sorted.into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    push_text(out, key);
                    out.push(':');
                    value.push_canonical(out);
                }
                out.push('}');
            }
        }
    }
}

/// Section 3.2.2.2: only what must be escaped is, in the shortest way.
fn push_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Section 3.2.2.3: as ECMAScript's `Number::toString` has it.
fn push_double(out: &mut String, value: f64) {
    if value == 0.0 {
        out.push('0'); // Also for minus zero.
        return;
    }
    if value < 0.0 {
        out.push('-');
    }
    let (digits, point) = shortest_digits(value.abs());
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or_default());
    if count <= point && point <= 21 {
        out.push_str(&digits);
        out.push_str(&zeros(point - count));
    } else if 0 < point && point <= 21 {
        let (whole, rest) = digits.split_at(usize::try_from(point).unwrap_or_default());
        let _ = write!(out, "{whole}.{rest}");
    } else if -6 < point && point <= 0 {
        let _ = write!(out, "0.{}{digits}", zeros(-point));
    } else {
        let (first, rest) = digits.split_at(1);
        out.push_str(first);
        if !rest.is_empty() {
            let _ = write!(out, ".{rest}");
        }
        let _ = write!(out, "e{:+}", point - 1);
    }
}

/// The shortest digits that read back as `value`, which is finite and positive, and where the
/// decimal point is, counted from before the first of them.
fn shortest_digits(value: f64) -> (String, i32) {
    // Not with `{:e}`: of two that are equally near, ECMAScript takes the even one, as what
    // serde_json writes with does, and Rust's own formatting the larger one.
    let written = serde_json::Number::from_f64(value).map_or_else(String::new, |n| n.to_string());
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let length = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX);
    let point = length(whole) - (length(&all) - length(significant))
        + exponent.parse::<i32>().unwrap_or_default();
    (significant.trim_end_matches('0').to_owned(), point)
}

#[cfg(test)]
mod tests {
    use super::{Tree, push_double};

    fn canonical(json: &str) -> String {
        Tree::parse(json, 64).unwrap().canonical()
    }

    #[test]
    fn the_example_of_rfc_8785_section_3_2_2() {
        let json = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,\
                        0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(canonical(json), expected);
    }

    #[test]
    fn keys_are_sorted_as_in_rfc_8785_section_3_2_3() {
        let json = r#"{
            "\u20ac": "Euro Sign", "\r": "Carriage Return",
            "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
            "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis"
        }"#;
        let tree = canonical(json);
        let order = [
            "Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew",
        ];
        let places: Vec<_> = order.iter().map(|name| tree.find(name).unwrap()).collect();
        assert!(places.is_sorted(), "{tree}");
    }

    #[test]
    fn numbers_are_those_of_rfc_8785_appendix_b() {
        let cases = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];
        for (bits, expected) in cases {
            let mut out = String::new();
            push_double(&mut out, f64::from_bits(bits));
            assert_eq!(out, expected, "{bits:x}");
        }
    }

    #[test]
    fn what_has_no_canonical_form_is_refused() {
        let cases = [
            (r#"{"a":1,"a":1}"#, "\"a\" twice"),
            (r#"{"a":1,"\u0061":1}"#, "\"a\" twice"),
            (r#"{"a":1e400}"#, "1e400"),
            (r#"{"a":"\ud800"}"#, "surrogate"),
            (r#"{"a":1} x"#, ""),
            (r#"{"a":01}"#, ""),
            ("", ""),
        ];
        for (json, reason) in cases {
            let error = Tree::parse(json, 64).unwrap_err();
            assert!(error.to_string().contains(reason), "{json}: {error}");
        }
        let deep = "[".repeat(65) + &"]".repeat(65);
        assert!(Tree::parse(&deep, 64).is_err());
    }
}
