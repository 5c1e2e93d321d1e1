//! Text for people: what came from outside is cleaned before a terminal sees it.

use std::borrow::Cow;

/// The text without what could steer a terminal or reorder what it shows: control characters
/// (C0 but line feed and tab, DEL, C1) and bidirectional overrides, embeddings and isolates.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hostile) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(is_hostile, ""))
}

/// The text on one line: cleaned, with spaces for line feeds and tabs.
pub(crate) fn clean_line(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}

/// The text as one word of a POSIX shell. Ids and URLs come from outside, and a command that is
/// shown may be copied.
pub(crate) fn shell_word(text: &str) -> String {
    let text = clean_line(text);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A number of bytes, short: `512 B`, `4.1 kB`, `355 kB`, `1.2 MB`.
pub(crate) fn size(bytes: usize) -> String {
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["kB", "MB", "GB"] {
        // What would be rounded up to 1000 is one of the next unit.
        if value < 999.5 {
            break;
        }
        value /= 1_000.0;
        unit = larger;
    }
    if value < 9.95 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// `1 part`, `2 parts`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{number} {noun}")
}

fn is_hostile(c: char) -> bool {
    let is_control = c.is_control() && c != '\n' && c != '\t';
    let is_bidi = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_control || is_bidi
}

#[cfg(test)]
mod tests {
    use super::{clean, clean_line, shell_word, size};

    #[test]
    fn control_characters_and_overrides_go_and_everything_else_stays() {
        let hostile = "a\u{1b}[31mb\u{7}\r\u{0}c\u{7f}\u{85}\u{9b}d\u{202e}e\u{2066}f\u{2069}";
        assert_eq!(clean(hostile), "a[31mbcdef");
        let fine = "tab\tline\n한국어 עברית \u{200f}🌍";
        assert_eq!(clean(fine), fine);
        assert_eq!(clean_line("a\nb\tc\u{1b}"), "a b c");
    }

    #[test]
    fn a_shell_word_cannot_end_early() {
        assert_eq!(shell_word("http://a:1/b"), "http://a:1/b");
        assert_eq!(shell_word("x; rm -rf ~"), "'x; rm -rf ~'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn sizes_have_at_most_three_digits() {
        let sizes = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (9_949, "9.9 kB"),
            (9_950, "10 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (1_234_567, "1.2 MB"),
        ];
        for (bytes, shown) in sizes {
            assert_eq!(size(bytes), shown);
        }
    }
}
