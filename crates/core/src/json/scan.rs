//! The scanner: validates one JSON value (RFC 8259) and says where it ends.

use super::{ReadError, ReadErrorKind};

/// Where a value stands in its source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Whether CR or LF stands between its tokens.
    pub has_newline: bool,
}

impl Span {
    /// The value's text in `source`, the text that was scanned.
    pub fn of<'a>(&self, source: &'a str) -> &'a str {
        // The scanner only makes spans that begin and end at ASCII tokens of its own source.
        source.get(self.start..self.end).unwrap_or_default()
    }
}

/// A position in a text that is known to be UTF-8.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a [u8],
    pub(super) pos: usize,
    pub(super) newline: bool,
}

/// The kinds of the open containers, one bit each: 1 is an object.
struct Containers {
    bits: u128,
    open: u32,
}

impl Containers {
    fn push(&mut self, object: bool) {
        self.bits = (self.bits << 1) | u128::from(object);
        self.open += 1;
    }

    fn pop(&mut self) {
        self.bits >>= 1;
        self.open -= 1;
    }

    fn in_object(&self) -> bool {
        self.bits & 1 == 1
    }
}

impl<'a> Scanner<'a> {
    pub(super) fn syntax(&self, expected: &str) -> ReadError {
        let found = match self.text.get(self.pos) {
            None => "the end of the text".to_owned(),
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(*byte)),
            Some(byte) => format!("byte 0x{byte:02x}"),
        };
        ReadError::at(
            ReadErrorKind::Syntax,
            self.pos,
            format!("expected {expected}, found {found}"),
        )
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.pos).copied()
    }

    #[inline]
    pub(super) fn skip_white(&mut self) {
        while let Some(byte) = self.text.get(self.pos) {
            match byte {
                b' ' | b'\t' => {}
                b'\n' | b'\r' => self.newline = true,
                _ => return,
            }
            self.pos += 1;
        }
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8, what: &str) -> Result<(), ReadError> {
        if self.peek() == Some(byte) {
            self.pos += 1;
            return Ok(());
        }
        Err(self.syntax(what))
    }

    /// Skips the value at the cursor. `room` is how many containers it may nest (at most 128).
    pub(super) fn skip_value(&mut self, room: u32, limit: u32) -> Result<(), ReadError> {
        let mut containers = Containers { bits: 0, open: 0 };
        loop {
            self.skip_white();
            match self.peek() {
                Some(b'"') => {
                    self.skip_string()?;
                }
                Some(open @ (b'{' | b'[')) => {
                    if containers.open >= room {
                        return Err(depth_error(self.pos, limit));
                    }
                    let object = open == b'{';
                    self.pos += 1;
                    self.skip_white();
                    let close = if object { b'}' } else { b']' };
                    if self.peek() == Some(close) {
                        self.pos += 1;
                    } else {
                        containers.push(object);
                        if object {
                            self.skip_key()?;
                        }
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.skip_number()?,
                Some(b't') => self.skip_word(b"true")?,
                Some(b'f') => self.skip_word(b"false")?,
                Some(b'n') => self.skip_word(b"null")?,
                _ => return Err(self.syntax("a JSON value")),
            }
            // A value has ended: close what ends with it, or go on to the next one.
            loop {
                if containers.open == 0 {
                    return Ok(());
                }
                self.skip_white();
                match (containers.in_object(), self.peek()) {
                    (false, Some(b',')) => {
                        self.pos += 1;
                        break;
                    }
                    (true, Some(b',')) => {
                        self.pos += 1;
                        self.skip_white();
                        self.skip_key()?;
                        break;
                    }
                    (false, Some(b']')) | (true, Some(b'}')) => {
                        self.pos += 1;
                        containers.pop();
                    }
                    (false, _) => return Err(self.syntax("`,` or `]`")),
                    (true, _) => return Err(self.syntax("`,` or `}`")),
                }
            }
        }
    }

    fn skip_key(&mut self) -> Result<(), ReadError> {
        if self.peek() != Some(b'"') {
            return Err(self.syntax("a key in quotes"));
        }
        self.skip_string()?;
        self.skip_white();
        self.expect(b':', "`:`")
    }

    /// Skips the string at the cursor; says whether it has escapes.
    pub(super) fn skip_string(&mut self) -> Result<bool, ReadError> {
        self.pos += 1;
        let mut escapes = false;
        loop {
            self.skip_plain();
            match self.peek() {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(escapes);
                }
                Some(b'\\') => {
                    escapes = true;
                    self.skip_escape()?;
                }
                Some(_) => return Err(self.syntax("no control character in a string")),
                None => return Err(self.syntax("`\"`")),
            }
        }
    }

    /// Moves to the next quote, backslash or control character, eight bytes at a time.
    #[inline]
    pub(super) fn skip_plain(&mut self) {
        const ONES: u64 = u64::MAX / 255;
        const HIGHS: u64 = ONES << 7;
        let mut rest = self.text.get(self.pos..).unwrap_or_default();
        while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
            let word = u64::from_le_bytes(*chunk);
            let control = word.wrapping_sub(ONES * 0x20) & !word;
            let quote = word ^ (ONES * u64::from(b'"'));
            let quote = quote.wrapping_sub(ONES) & !quote;
            let backslash = word ^ (ONES * u64::from(b'\\'));
            let backslash = backslash.wrapping_sub(ONES) & !backslash;
            // Borrows only spoil bytes above the first hit, so the lowest hit is exact.
            let hits = (control | quote | backslash) & HIGHS;
            if hits != 0 {
                self.pos += (hits.trailing_zeros() / 8) as usize;
                return;
            }
            self.pos += 8;
            rest = tail;
        }
        for byte in rest {
            if matches!(byte, b'"' | b'\\' | 0..=0x1f) {
                return;
            }
            self.pos += 1;
        }
    }

    fn skip_escape(&mut self) -> Result<(), ReadError> {
        self.pos += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.pos += 1;
                Ok(())
            }
            Some(b'u') => {
                self.pos += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.syntax("four hexadecimal digits after `\\u`"));
                    }
                    self.pos += 1;
                }
                Ok(())
            }
            _ => Err(self.syntax("an escape that JSON knows")),
        }
    }

    fn skip_number(&mut self) -> Result<(), ReadError> {
        if self.peek() == Some(b'-') {
            self.pos += 1;
        }
        match self.peek() {
            Some(b'0') => self.pos += 1,
            Some(b'1'..=b'9') => self.skip_digits(),
            _ => return Err(self.syntax("a digit")),
        }
        if self.peek() == Some(b'.') {
            self.pos += 1;
            self.expect_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.pos += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.pos += 1;
            }
            self.expect_digits()?;
        }
        // `01` and `1a` would otherwise be found only by whoever looks for the next comma.
        if self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
        {
            return Err(self.syntax("the end of a number"));
        }
        Ok(())
    }

    fn expect_digits(&mut self) -> Result<(), ReadError> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.syntax("a digit"));
        }
        self.skip_digits();
        Ok(())
    }

    fn skip_digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.pos += 1;
        }
    }

    pub(super) fn skip_word(&mut self, word: &[u8]) -> Result<(), ReadError> {
        let found = self.text.get(self.pos..self.pos + word.len());
        if found != Some(word) {
            return Err(self.syntax("`true`, `false` or `null`"));
        }
        self.pos += word.len();
        Ok(())
    }
}

pub(super) fn depth_error(offset: usize, limit: u32) -> ReadError {
    ReadError::at(
        ReadErrorKind::Depth,
        offset,
        format!(
            "nests deeper than max_json_depth, which is {limit}; send flatter data or raise the limit"
        ),
    )
}
