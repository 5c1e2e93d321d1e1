use std::borrow::Cow;

use super::decode;
use super::scan::Scanner;

/// Walks a JSON text that is known to be one. It validates nothing, which is what makes it fast;
/// on any other text it goes to some place, but never beyond the end.
pub(crate) struct Cursor<'a> {
    source: &'a str,
    scanner: Scanner<'a>,
}

impl<'a> Cursor<'a> {
    /// A cursor at the text's value.
    pub(crate) fn new(source: &'a str) -> Self {
        let mut scanner = Scanner {
            text: source.as_bytes(),
            pos: 0,
            newline: false,
        };
        scanner.skip_white();
        Self { source, scanner }
    }

    /// Where the cursor stands; at a value, that is the value's first byte.
    pub(crate) fn offset(&self) -> usize {
        self.scanner.pos
    }

    /// The byte at the cursor.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.scanner.peek()
    }

    /// Goes into the object or array at the cursor.
    pub(crate) fn open(&mut self) {
        self.scanner.pos += 1;
    }

    /// Goes to the next entry's value and returns its key; `None` behind the object's end.
    pub(crate) fn key(&mut self) -> Option<Cow<'a, str>> {
        if !self.element() {
            return None;
        }
        let start = self.scanner.pos;
        let has_escapes = self.skip_string();
        let end = self.scanner.pos;
        self.scanner.skip_white();
        // The colon.
        self.scanner.pos += 1;
        self.scanner.skip_white();
        if has_escapes {
            return decode(self.source.get(start..end)?).ok();
        }
        self.source
            .get(start + 1..end.saturating_sub(1))
            .map(Cow::Borrowed)
    }

    /// Goes to the next element; false behind the container's end.
    pub(crate) fn element(&mut self) -> bool {
        self.scanner.skip_white();
        if self.scanner.peek() == Some(b',') {
            self.scanner.pos += 1;
            self.scanner.skip_white();
        }
        match self.scanner.peek() {
            None => false,
            Some(b'}' | b']') => {
                self.scanner.pos += 1;
                false
            }
            Some(_) => true,
        }
    }

    /// Goes behind the value at the cursor.
    pub(crate) fn skip(&mut self) {
        match self.scanner.peek() {
            Some(b'"') => {
                self.skip_string();
            }
            Some(b'{' | b'[') => self.skip_container(),
            _ => self.skip_scalar(),
        }
    }

    fn skip_container(&mut self) {
        let mut open = 0_usize;
        while let Some(byte) = self.scanner.peek() {
            match byte {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open = open.saturating_sub(1),
                _ => {}
            }
            self.scanner.pos += 1;
            if open == 0 {
                return;
            }
        }
    }

    /// Says whether the string has escapes.
    fn skip_string(&mut self) -> bool {
        self.scanner.pos += 1;
        let mut has_escapes = false;
        loop {
            self.scanner.skip_plain();
            match self.scanner.peek() {
                Some(b'\\') => {
                    has_escapes = true;
                    self.scanner.pos += 2;
                }
                Some(b'"') => {
                    self.scanner.pos += 1;
                    return has_escapes;
                }
                Some(_) => self.scanner.pos += 1,
                None => {
                    self.scanner.pos = self.source.len();
                    return has_escapes;
                }
            }
        }
    }

    fn skip_scalar(&mut self) {
        let rest = self
            .scanner
            .text
            .get(self.scanner.pos..)
            .unwrap_or_default();
        let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
        self.scanner.pos += rest.iter().position(is_end).unwrap_or(rest.len());
    }
}

#[cfg(test)]
mod tests {
    use super::Cursor;

    #[test]
    fn what_is_no_json_ends_at_its_end() {
        for text in [
            "", "\"", "\"\\", "[", "[1", "{\"a", "{\"a\":", "{]", "]", "tru", "{1:2}",
        ] {
            let mut cursor = Cursor::new(text);
            cursor.skip();
            assert!(cursor.offset() <= text.len() + 1, "{text}");
            let mut cursor = Cursor::new(text);
            cursor.open();
            for _ in 0..4 {
                let _ = cursor.key();
                cursor.skip();
            }
        }
    }
}
