//! Removes what differs between two runs that are the same.

/// The text with every UUID replaced.
pub fn without_ids(text: &str) -> String {
    replace(text, "<id>", |rest| {
        const DASHES: [usize; 4] = [8, 13, 18, 23];
        let id = rest.get(..36)?;
        let fits = id.bytes().enumerate().all(|(at, byte)| {
            if DASHES.contains(&at) {
                byte == b'-'
            } else {
                byte.is_ascii_hexdigit()
            }
        });
        fits.then_some(36)
    })
}

/// The text with every moment replaced that is written as the protocol does.
pub fn without_times(text: &str) -> String {
    const SHAPE: &str = "0000-00-00T00:00:00.000Z";
    replace(text, "<time>", |rest| {
        let time = rest.get(..SHAPE.len())?;
        let fits = time.bytes().zip(SHAPE.bytes()).all(|(byte, shape)| {
            if shape == b'0' {
                byte.is_ascii_digit()
            } else {
                byte == shape
            }
        });
        fits.then_some(SHAPE.len())
    })
}

fn replace(text: &str, with: &str, length: impl Fn(&str) -> Option<usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skip = length(rest);
        match skip {
            Some(_) => out.push_str(with),
            None => out.push(first),
        }
        rest = rest
            .get(skip.unwrap_or(first.len_utf8())..)
            .unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{without_ids, without_times};

    #[test]
    fn ids_and_times_are_found_and_nothing_else() {
        let text = r#""2026-03-01T12:00:00.250Z" é 0b0e7a52-8c9f-4a4a-9c3e-1f2d3c4b5a69."#;
        let masked = without_times(&without_ids(text));
        assert_eq!(masked, r#""<time>" é <id>."#);
    }
}
