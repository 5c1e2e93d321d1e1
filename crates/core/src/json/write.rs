use std::fmt::Write as _;

/// Appends `value` as a JSON string token, quotes included.
///
/// The line separators U+0085, U+2028 and U+2029 are escaped: some readers of event streams,
/// Python's httpx among them, end a line there.
pub fn push_string(out: &mut String, value: &str) {
    out.push('"');
    let bytes = value.as_bytes();
    let mut start = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let (escape, length) = match byte {
            b'"' => ("\\\"", 1),
            b'\\' => ("\\\\", 1),
            b'\n' => ("\\n", 1),
            b'\r' => ("\\r", 1),
            b'\t' => ("\\t", 1),
            0..=0x1f => ("", 1),
            0xc2 if bytes.get(at + 1) == Some(&0x85) => ("\\u0085", 2),
            0xe2 if bytes.get(at + 1..at + 3) == Some(&[0x80, 0xa8]) => ("\\u2028", 3),
            0xe2 if bytes.get(at + 1..at + 3) == Some(&[0x80, 0xa9]) => ("\\u2029", 3),
            _ => {
                at += 1;
                continue;
            }
        };
        out.push_str(value.get(start..at).unwrap_or_default());
        if escape.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        at += length;
        start = at;
    }
    out.push_str(value.get(start..).unwrap_or_default());
    out.push('"');
}

/// Escapes the line separators that [`push_string`] escapes, in a JSON text of our own making;
/// they can only stand inside its strings.
pub(crate) fn escape_line_separators(json: String) -> String {
    let separators = ['\u{85}', '\u{2028}', '\u{2029}'];
    if !json.contains(separators) {
        return json;
    }
    json.replace(separators[0], "\\u0085")
        .replace(separators[1], "\\u2028")
        .replace(separators[2], "\\u2029")
}

/// `value` as a JSON string token, quotes included.
pub fn string_token(value: &str) -> String {
    let mut token = String::with_capacity(value.len() + 2);
    push_string(&mut token, value);
    token
}

/// Appends `value` as a JSON number.
pub fn push_number(out: &mut String, value: u64) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use super::{escape_line_separators, string_token};

    #[test]
    fn what_is_escaped_reads_back_and_has_no_line_end() {
        let text = "a\"b\\c\nd\r\te\u{1}f\u{85}g\u{2028}h\u{2029}i\u{2027}é世🌍";
        let token = string_token(text);
        assert_eq!(serde_json::from_str::<String>(&token).unwrap(), text);
        assert!(!token.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']));
        let ours = escape_line_separators(serde_json::to_string(text).unwrap());
        assert_eq!(serde_json::from_str::<String>(&ours).unwrap(), text);
        assert!(!ours.contains(['\u{85}', '\u{2028}', '\u{2029}']));
    }
}
