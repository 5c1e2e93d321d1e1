//! Protobuf in, JSON text out.

use llamon_core::json::{ReadError, ReadErrorKind, push_string};

use super::{
    ARRAY_LEVELS, BOOL, DELIMITED, FIELDS, FIXED_32, FIXED_64, KEY, LIST, MAX_LEVELS, NULL, NUMBER,
    OBJECT_LEVELS, STRING, STRUCT, VALUE, VALUES, VARINT, below,
};

/// Whole numbers up to here are written as integers: a double tells each of them from its
/// neighbours.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Decodes a `google.protobuf.Value` to the text of its JSON value, which may nest `max_depth`
/// arrays and objects. Its strings have no line separators: they are escaped.
///
/// # Errors
/// When the bytes are no Value, when it has no form in JSON (NaN, infinity, a value without a
/// kind), and when it nests deeper than `max_depth` or [`MAX_LEVELS`]; with the place in the value.
pub fn value_to_json(bytes: &[u8], max_depth: u32) -> Result<String, ReadError> {
    let mut out = String::with_capacity(bytes.len());
    push_value(&mut out, bytes, Room::new(max_depth))?;
    Ok(out)
}

/// Decodes a `google.protobuf.Struct` to the text of its JSON object.
///
/// # Errors
/// As [`value_to_json`].
pub fn struct_to_json(bytes: &[u8], max_depth: u32) -> Result<String, ReadError> {
    let mut out = String::with_capacity(bytes.len());
    push_struct(&mut out, bytes, Room::new(max_depth).below(OBJECT_LEVELS)?)?;
    Ok(out)
}

/// How much deeper a value may nest.
#[derive(Clone, Copy)]
struct Room {
    levels: u32,
    depth: u32,
    max_depth: u32,
}

impl Room {
    fn new(max_depth: u32) -> Self {
        Self {
            levels: MAX_LEVELS,
            depth: max_depth,
            max_depth,
        }
    }

    /// What is left in a container of so many levels.
    fn below(self, levels: u32) -> Result<Self, ReadError> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return Err(ReadError::new(
                ReadErrorKind::Depth,
                format!(
                    "nests deeper than {} arrays and objects, which is what max_json_depth leaves \
                     for it; send flatter data or raise the limit",
                    self.max_depth
                ),
            ));
        };
        Ok(Self {
            levels: below(self.levels, levels)?,
            depth,
            ..self
        })
    }
}

/// What is in a Value: the last of its kinds.
enum Kind<'a> {
    Null,
    Number(f64),
    String(&'a [u8]),
    Bool(bool),
    Struct(&'a [u8]),
    List(&'a [u8]),
}

fn push_value(out: &mut String, bytes: &[u8], room: Room) -> Result<(), ReadError> {
    match read_kind(bytes)? {
        Kind::Null => out.push_str("null"),
        Kind::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Kind::Number(value) => push_double(out, value)?,
        Kind::String(value) => push_string(out, text(value)?),
        Kind::Struct(value) => push_struct(out, value, room.below(OBJECT_LEVELS)?)?,
        Kind::List(value) => push_list(out, value, room.below(ARRAY_LEVELS)?)?,
    }
    Ok(())
}

fn read_kind(bytes: &[u8]) -> Result<Kind<'_>, ReadError> {
    let mut kind = None;
    let mut fields = Fields(bytes);
    while let Some(field) = fields.next()? {
        kind = Some(match field {
            (NULL, Content::Varint(_)) => Kind::Null,
            (NUMBER, Content::Fixed64(bits)) => Kind::Number(f64::from_le_bytes(bits)),
            (STRING, Content::Delimited(value)) => Kind::String(value),
            (BOOL, Content::Varint(value)) => Kind::Bool(value != 0),
            (STRUCT, Content::Delimited(value)) => Kind::Struct(value),
            (LIST, Content::Delimited(value)) => Kind::List(value),
            (NULL..=LIST, _) => return Err(torn("has a field of another type")),
            _ => continue,
        });
    }
    kind.ok_or_else(|| ReadError::invalid("is a protobuf Value without a kind; set one"))
}

fn push_struct(out: &mut String, bytes: &[u8], room: Room) -> Result<(), ReadError> {
    out.push('{');
    let mut fields = Fields(bytes);
    let mut first = true;
    while let Some((number, content)) = fields.next()? {
        if number != FIELDS {
            continue;
        }
        let entry = content.delimited()?;
        if !std::mem::replace(&mut first, false) {
            out.push(',');
        }
        push_entry(out, entry, room)?;
    }
    out.push('}');
    Ok(())
}

fn push_entry(out: &mut String, bytes: &[u8], room: Room) -> Result<(), ReadError> {
    let mut key: &[u8] = &[];
    let mut value: &[u8] = &[];
    let mut fields = Fields(bytes);
    while let Some((number, content)) = fields.next()? {
        match number {
            KEY => key = content.delimited()?,
            VALUE => value = content.delimited()?,
            _ => {}
        }
    }
    let key = text(key)?;
    push_string(out, key);
    out.push(':');
    push_value(out, value, room).map_err(|error| error.within(key.to_owned()))
}

fn push_list(out: &mut String, bytes: &[u8], room: Room) -> Result<(), ReadError> {
    out.push('[');
    let mut fields = Fields(bytes);
    let mut index = 0_usize;
    while let Some((number, content)) = fields.next()? {
        if number != VALUES {
            continue;
        }
        if index > 0 {
            out.push(',');
        }
        let value = content.delimited()?;
        push_value(out, value, room).map_err(|error| error.within(format!("[{index}]")))?;
        index += 1;
    }
    out.push(']');
    Ok(())
}

fn push_double(out: &mut String, value: f64) -> Result<(), ReadError> {
    use std::fmt::Write as _;
    if !value.is_finite() {
        return Err(ReadError::invalid(format!(
            "is {value}, which JSON does not have; send a number, a string or null"
        )));
    }
    let whole = value.trunc() == value && value.abs() < MAX_WHOLE;
    // Writing to a String cannot fail. Debug is the shortest text that reads back as this double.
    let _ = if whole && !(value == 0.0 && value.is_sign_negative()) {
        write!(out, "{}", value as i64)
    } else {
        write!(out, "{value:?}")
    };
    Ok(())
}

fn text(bytes: &[u8]) -> Result<&str, ReadError> {
    std::str::from_utf8(bytes).map_err(|_| torn("has a string that is not UTF-8"))
}

fn torn(what: &str) -> ReadError {
    ReadError::invalid(format!("is no protobuf Value: {what}"))
}

/// The fields of a message, front to back.
struct Fields<'a>(&'a [u8]);

enum Content<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Delimited(&'a [u8]),
    Fixed32,
}

impl<'a> Content<'a> {
    fn delimited(self) -> Result<&'a [u8], ReadError> {
        match self {
            Self::Delimited(bytes) => Ok(bytes),
            _ => Err(torn("has a field of another type")),
        }
    }
}

impl<'a> Fields<'a> {
    /// The next field's number and content; `None` at the end.
    fn next(&mut self) -> Result<Option<(u32, Content<'a>)>, ReadError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = u32::try_from(self.varint()?).map_err(|_| torn("has a field without number"))?;
        let number = key >> 3;
        if number == 0 {
            return Err(torn("has a field without number"));
        }
        let content = match key & 7 {
            VARINT => Content::Varint(self.varint()?),
            FIXED_64 => Content::Fixed64(*self.chunk()?),
            DELIMITED => {
                let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(ended)?;
                self.0 = rest;
                Content::Delimited(bytes)
            }
            FIXED_32 => {
                self.chunk::<4>()?;
                Content::Fixed32
            }
            _ => return Err(torn("has a field of a type that proto3 does not have")),
        };
        Ok(Some((number, content)))
    }

    fn chunk<const N: usize>(&mut self) -> Result<&'a [u8; N], ReadError> {
        let (chunk, rest) = self.0.split_first_chunk().ok_or_else(ended)?;
        self.0 = rest;
        Ok(chunk)
    }

    fn varint(&mut self) -> Result<u64, ReadError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = *self.chunk()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(torn("has a number of more than 64 bits"))
    }
}

fn ended() -> ReadError {
    torn("it ends in the middle of a field")
}
