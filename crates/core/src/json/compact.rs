/// Removes the white space between the tokens of a valid JSON text; every token keeps its text.
///
/// ```
/// assert_eq!(llamon_core::json::compact("{ \"a b\" :\r\n [ 1.0 ] }"), r#"{"a b":[1.0]}"#);
/// ```
pub fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(quote) = rest.find('"') {
        push_without_white(&mut out, rest.get(..quote).unwrap_or_default());
        let string = rest.get(quote..).unwrap_or_default();
        let end = string_end(string);
        out.push_str(string.get(..end).unwrap_or_default());
        rest = string.get(end..).unwrap_or_default();
    }
    push_without_white(&mut out, rest);
    out
}

fn push_without_white(out: &mut String, tokens: &str) {
    for piece in tokens.split([' ', '\t', '\n', '\r']) {
        out.push_str(piece);
    }
}

/// The length of the string token that `text` begins with.
fn string_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
