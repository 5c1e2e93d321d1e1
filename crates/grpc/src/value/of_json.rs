//! JSON text in, protobuf out.
//!
//! The length of a message stands before it and is known only after it. So everything but these
//! lengths is written first, with a mark where each belongs, and put together in the end.

use bytes::Bytes;
use llamon_core::json::{ReadError, Reader};

use super::{
    ARRAY_LEVELS, BOOL, DELIMITED, FIELDS, FIXED_64, KEY, LIST, MAX_LEVELS, NULL, NUMBER,
    OBJECT_LEVELS, STRING, STRUCT, VALUE, VALUES, VARINT, below,
};

/// More than a value can nest here, so that it is the limit of levels that is named.
const MAX_DEPTH: u32 = 120;

/// Encodes a JSON value as a `google.protobuf.Value`.
///
/// # Errors
/// When it has no form there: a number beyond a double, a lone surrogate, nesting beyond
/// [`MAX_LEVELS`]; with the place in the value. When it is not JSON.
pub fn value_of_json(json: &str) -> Result<Bytes, ReadError> {
    let mut writer = Writer::default();
    let mut reader = Reader::of_str(json, MAX_DEPTH);
    writer.value(&mut reader, MAX_LEVELS)?;
    reader.end()?;
    Ok(writer.finish())
}

/// Encodes a JSON object as a `google.protobuf.Struct`.
///
/// # Errors
/// As [`value_of_json`], and when it is no object.
pub fn struct_of_json(json: &str) -> Result<Bytes, ReadError> {
    let mut writer = Writer::default();
    let mut reader = Reader::of_str(json, MAX_DEPTH);
    // As deep as an object in a value.
    let room = below(MAX_LEVELS, OBJECT_LEVELS)?;
    writer.fields(&mut reader, room)?;
    reader.end()?;
    Ok(writer.finish())
}

/// Where a length is to be put in, and which.
struct Mark {
    at: usize,
    length: usize,
}

/// A message that is being written.
struct Open {
    mark: usize,
    /// Bytes of lengths before it.
    lengths: usize,
}

#[derive(Default)]
struct Writer {
    /// Everything but the marked lengths.
    out: Vec<u8>,
    /// In the order of their places.
    marks: Vec<Mark>,
    /// Bytes that the lengths of the closed marks take.
    lengths: usize,
}

impl Writer {
    /// Writes the fields of a Value: always one.
    fn value(&mut self, reader: &mut Reader<'_>, room: u32) -> Result<(), ReadError> {
        match reader.peek() {
            Some(b'{') => {
                let room = below(room, OBJECT_LEVELS)?;
                let open = self.open(STRUCT);
                self.fields(reader, room)?;
                self.close(open);
            }
            Some(b'[') => {
                let room = below(room, ARRAY_LEVELS)?;
                let open = self.open(LIST);
                let mut array = reader.array()?;
                let mut index = 0_usize;
                while reader.element(&mut array)? {
                    let at = |error: ReadError| error.within(format!("[{index}]"));
                    let value = self.open(VALUES);
                    self.value(reader, room).map_err(at)?;
                    self.close(value);
                    index += 1;
                }
                self.close(open);
            }
            Some(b'"') => {
                let string = reader.string()?;
                self.string(STRING, &string);
            }
            Some(b't' | b'f') => {
                let value = reader.optional_bool()?.unwrap_or_default();
                self.key(BOOL, VARINT);
                self.out.push(value.into());
            }
            Some(b'n') => {
                reader.null()?;
                self.key(NULL, VARINT);
                self.out.push(0);
            }
            _ => {
                let span = reader.skip()?;
                let number = number(span.of(reader.source()))?;
                self.key(NUMBER, FIXED_64);
                self.out.extend_from_slice(&number.to_le_bytes());
            }
        }
        Ok(())
    }

    /// Writes the fields of a Struct.
    fn fields(&mut self, reader: &mut Reader<'_>, room: u32) -> Result<(), ReadError> {
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            let entry = self.open(FIELDS);
            self.string(KEY, &key);
            let value = self.open(VALUE);
            let written = self.value(reader, room);
            written.map_err(|error| error.within(key.into_owned()))?;
            self.close(value);
            self.close(entry);
        }
        Ok(())
    }

    fn string(&mut self, field: u32, value: &str) {
        self.key(field, DELIMITED);
        push_varint(&mut self.out, value.len());
        self.out.extend_from_slice(value.as_bytes());
    }

    /// Field numbers are below 16, so that a key is one byte.
    fn key(&mut self, field: u32, wire_type: u32) {
        self.out.push((field << 3 | wire_type) as u8);
    }

    fn open(&mut self, field: u32) -> Open {
        self.key(field, DELIMITED);
        self.marks.push(Mark {
            at: self.out.len(),
            length: 0,
        });
        Open {
            mark: self.marks.len() - 1,
            lengths: self.lengths,
        }
    }

    fn close(&mut self, open: Open) {
        if let Some(mark) = self.marks.get_mut(open.mark) {
            mark.length = self.out.len() - mark.at + self.lengths - open.lengths;
            self.lengths += varint_bytes(mark.length);
        }
    }

    fn finish(self) -> Bytes {
        if self.marks.is_empty() {
            return self.out.into();
        }
        let mut whole = Vec::with_capacity(self.out.len() + self.lengths);
        let mut done = 0;
        for mark in &self.marks {
            whole.extend_from_slice(self.out.get(done..mark.at).unwrap_or_default());
            push_varint(&mut whole, mark.length);
            done = mark.at;
        }
        whole.extend_from_slice(self.out.get(done..).unwrap_or_default());
        whole.into()
    }
}

fn number(token: &str) -> Result<f64, ReadError> {
    match token.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => {
            let shown: String = token.chars().take(40).collect();
            let more = if shown.len() < token.len() { "..." } else { "" };
            Err(ReadError::invalid(format!(
                "{shown}{more} has no form in gRPC, whose numbers are doubles; send it as a string, \
                 or over JSON-RPC or REST"
            )))
        }
    }
}

fn push_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint_bytes(value: usize) -> usize {
    let bits = usize::BITS - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}
