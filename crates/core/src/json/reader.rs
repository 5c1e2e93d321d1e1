use std::borrow::Cow;

use super::scan::{Scanner, Span, depth_error};
use super::{ReadError, ReadErrorKind, decode};

/// Reads a JSON text front to back, once.
///
/// The caller walks the objects whose fields it knows with [`Reader::object`] and skips all
/// other values with [`Reader::skip`], which validates them. Reading never allocates for a
/// string without escapes.
pub struct Reader<'a> {
    source: &'a str,
    scanner: Scanner<'a>,
    depth: u32,
    max_depth: u32,
}

/// An object that is being read: where its next key is to be found.
#[derive(Debug)]
pub struct Object {
    first: bool,
}

/// Checks that a text is JSON at all, for an error that was found before its end: a text that is no
/// JSON is that first of all.
///
/// # Errors
/// When it is not JSON. Nesting beyond every limit is not looked at.
pub fn check_syntax(source: &str) -> Result<(), ReadError> {
    let mut reader = Reader::of_str(source, DEEPEST);
    match reader.skip().and_then(|_| reader.end()) {
        Err(error) if error.kind() == ReadErrorKind::Syntax => Err(error),
        _ => Ok(()),
    }
}

/// Containers that the scanner can keep apart.
const DEEPEST: u32 = 128;

/// Which known fields of an object were seen, so that a second one is an error.
///
/// The protocol's JSON allows two spellings of a field (`messageId`, `message_id`); they count
/// as the same one.
#[derive(Debug, Default)]
pub struct Seen(u32);

impl Seen {
    /// Marks field number `index` (0 to 31) as seen.
    ///
    /// # Errors
    /// When it was seen before, naming it.
    pub fn mark(&mut self, index: u32, name: &'static str) -> Result<(), ReadError> {
        let bit = 1 << index;
        if self.0 & bit != 0 {
            return Err(ReadError::invalid("is given twice").within(name));
        }
        self.0 |= bit;
        Ok(())
    }
}

impl<'a> Reader<'a> {
    /// A reader of `source`, which may nest `max_depth` containers.
    ///
    /// # Errors
    /// When the text is not UTF-8, naming the position.
    pub fn new(source: &'a [u8], max_depth: u32) -> Result<Self, ReadError> {
        match std::str::from_utf8(source) {
            Ok(source) => Ok(Self::of_str(source, max_depth)),
            Err(error) => Err(ReadError::at(
                ReadErrorKind::Syntax,
                error.valid_up_to(),
                "is not UTF-8",
            )),
        }
    }

    /// A reader of `source`, which may nest `max_depth` containers.
    pub fn of_str(source: &'a str, max_depth: u32) -> Self {
        Self {
            source,
            scanner: Scanner {
                text: source.as_bytes(),
                pos: 0,
                newline: false,
            },
            depth: 0,
            max_depth,
        }
    }

    /// The text that is read.
    pub fn source(&self) -> &'a str {
        self.source
    }

    /// The next value's first byte, after white space.
    pub fn peek(&mut self) -> Option<u8> {
        self.scanner.skip_white();
        self.scanner.peek()
    }

    /// Where the reader stands, in bytes from the start.
    pub fn offset(&self) -> usize {
        self.scanner.pos
    }

    /// Begins the object at the cursor.
    ///
    /// # Errors
    /// When the value is not an object, or nests too deep.
    pub fn object(&mut self) -> Result<Object, ReadError> {
        self.open(b'{', "an object")?;
        Ok(Object { first: true })
    }

    /// The next key of `object`, or `None` at its end. The value is at the cursor then and must
    /// be read or skipped before the next call.
    ///
    /// # Errors
    /// When the text is not JSON, or the key has a lone surrogate.
    pub fn key(&mut self, object: &mut Object) -> Result<Option<Cow<'a, str>>, ReadError> {
        if !self.advance(&mut object.first, b'}', "`,` or `}`")? {
            return Ok(None);
        }
        self.scanner.skip_white();
        if self.scanner.peek() != Some(b'"') {
            return Err(self.scanner.syntax("a key in quotes"));
        }
        let start = self.scanner.pos;
        self.scanner.skip_string()?;
        let token = self.text(start);
        self.scanner.skip_white();
        self.scanner.expect(b':', "`:`")?;
        decode(token).map(Some)
    }

    /// Begins the array at the cursor; read its elements with [`Reader::element`].
    ///
    /// # Errors
    /// When the value is not an array, or nests too deep.
    pub fn array(&mut self) -> Result<Object, ReadError> {
        self.open(b'[', "an array")?;
        Ok(Object { first: true })
    }

    /// Whether `array` has another element, which is at the cursor then.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub fn element(&mut self, array: &mut Object) -> Result<bool, ReadError> {
        self.advance(&mut array.first, b']', "`,` or `]`")
    }

    /// Validates and skips the value at the cursor.
    ///
    /// # Errors
    /// When the text is not JSON, or nests too deep.
    pub fn skip(&mut self) -> Result<Span, ReadError> {
        self.scanner.skip_white();
        let start = self.scanner.pos;
        let outer = std::mem::replace(&mut self.scanner.newline, false);
        let room = self.max_depth.saturating_sub(self.depth);
        self.scanner.skip_value(room, self.max_depth)?;
        let span = Span {
            start,
            end: self.scanner.pos,
            has_newline: self.scanner.newline,
        };
        self.scanner.newline |= outer;
        Ok(span)
    }

    /// Reads a string.
    ///
    /// # Errors
    /// When the value is not a string, or has a lone surrogate.
    pub fn string(&mut self) -> Result<Cow<'a, str>, ReadError> {
        self.expect_type(b'"', "a string")?;
        let start = self.scanner.pos;
        self.scanner.skip_string()?;
        decode(self.text(start))
    }

    /// Reads a string, or `None` where the value is null.
    ///
    /// # Errors
    /// When the value is neither.
    pub fn optional_string(&mut self) -> Result<Option<Cow<'a, str>>, ReadError> {
        if self.null()? {
            return Ok(None);
        }
        self.string().map(Some)
    }

    /// Reads `true` or `false`; null is `None`.
    ///
    /// # Errors
    /// When the value is neither.
    pub fn optional_bool(&mut self) -> Result<Option<bool>, ReadError> {
        if self.null()? {
            return Ok(None);
        }
        match self.peek() {
            Some(b't') => self.scanner.skip_word(b"true").map(|()| Some(true)),
            Some(b'f') => self.scanner.skip_word(b"false").map(|()| Some(false)),
            _ => Err(self.wrong_type("true or false")),
        }
    }

    /// Reads a whole number of 32 bits, as a number or (as ProtoJSON allows) a string; null is
    /// `None`.
    ///
    /// # Errors
    /// When the value is something else, negative included.
    pub fn optional_u32(&mut self) -> Result<Option<u32>, ReadError> {
        if self.null()? {
            return Ok(None);
        }
        let quoted = self.peek() == Some(b'"');
        let span = self.skip()?;
        let text = span.of(self.source);
        let digits = if quoted {
            text.get(1..text.len() - 1).unwrap_or_default()
        } else {
            text
        };
        // ProtoJSON: 5.0 and 5e0 are the integer 5.
        let whole = digits.parse::<u32>().ok().or_else(|| {
            let number = digits.parse::<f64>().ok()?;
            let fits = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
            fits.then_some(number as u32)
        });
        whole.map(Some).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            ReadError::invalid(format!(
                "expected a whole number from 0 to {}, found {shown}",
                u32::MAX
            ))
        })
    }

    /// Skips a null; says whether there was one.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub fn null(&mut self) -> Result<bool, ReadError> {
        if self.peek() == Some(b'n') {
            return self.scanner.skip_word(b"null").map(|()| true);
        }
        Ok(false)
    }

    /// Checks that nothing but white space follows.
    ///
    /// # Errors
    /// When something does.
    pub fn end(&mut self) -> Result<(), ReadError> {
        self.scanner.skip_white();
        if self.scanner.peek().is_some() {
            return Err(self.scanner.syntax("the end of the text"));
        }
        Ok(())
    }

    /// Runs `read` and returns its result with the span of what it read.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn spanned<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ReadError>,
    ) -> Result<(T, Span), ReadError> {
        self.scanner.skip_white();
        let start = self.scanner.pos;
        let outer = std::mem::replace(&mut self.scanner.newline, false);
        let value = read(self)?;
        let span = Span {
            start,
            end: self.scanner.pos,
            has_newline: self.scanner.newline,
        };
        self.scanner.newline |= outer;
        Ok((value, span))
    }

    /// An error that says what was expected here and what stands here.
    pub fn wrong_type(&mut self, expected: &str) -> ReadError {
        let found = match self.peek() {
            None => return self.scanner.syntax(expected),
            Some(b'"') => "a string",
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            Some(b'-' | b'0'..=b'9') => "a number",
            Some(_) => return self.scanner.syntax(expected),
        };
        ReadError::invalid(format!("expected {expected}, found {found}"))
    }

    fn text(&self, start: usize) -> &'a str {
        self.source.get(start..self.scanner.pos).unwrap_or_default()
    }

    fn expect_type(&mut self, byte: u8, expected: &str) -> Result<(), ReadError> {
        if self.peek() == Some(byte) {
            return Ok(());
        }
        Err(self.wrong_type(expected))
    }

    fn open(&mut self, byte: u8, expected: &str) -> Result<(), ReadError> {
        self.expect_type(byte, expected)?;
        if self.depth >= self.max_depth {
            return Err(depth_error(self.scanner.pos, self.max_depth));
        }
        self.depth += 1;
        self.scanner.pos += 1;
        Ok(())
    }

    /// Moves to the container's next entry; false, and one level up, at its end.
    fn advance(&mut self, first: &mut bool, close: u8, expected: &str) -> Result<bool, ReadError> {
        self.scanner.skip_white();
        if self.scanner.peek() == Some(close) {
            self.scanner.pos += 1;
            self.depth -= 1;
            return Ok(false);
        }
        if !std::mem::replace(first, false) {
            self.scanner.expect(b',', expected)?;
            // A trailing comma: the caller would meet the bracket as a value.
            self.scanner.skip_white();
            if self.scanner.peek() == Some(close) {
                return Err(self.scanner.syntax("a value after `,`"));
            }
        }
        Ok(true)
    }
}
