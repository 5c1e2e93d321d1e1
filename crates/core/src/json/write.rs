use std::fmt::Write as _;

/// Appends `value` as a JSON string token, quotes included.
pub fn push_string(out: &mut String, value: &str) {
    out.push('"');
    let mut start = 0;
    for (at, byte) in value.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            _ => continue,
        };
        out.push_str(value.get(start..at).unwrap_or_default());
        if escape.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        start = at + 1;
    }
    out.push_str(value.get(start..).unwrap_or_default());
    out.push('"');
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
