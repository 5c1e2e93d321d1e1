//! One part: its JSON text, kept as it came, and where its fields stand in that text.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use bytes::Bytes;
use bytestring::ByteString;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json::{self, ReadError, ReadErrorKind, Reader, Seen, Span};
use crate::payload::PayloadError;
use crate::to_json::to_json;

/// What a part holds (A2A 1.0, section 4.1.6: exactly one of `text`, `data`, `raw`, `url`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartKind {
    /// Text.
    Text,
    /// Any JSON value.
    Data,
    /// A file's bytes, base64 on the wire.
    Raw,
    /// A file's address. The SDK never fetches it.
    Url,
}

impl PartKind {
    /// Whether the part is a file, `raw` or `url`.
    pub fn is_file(self) -> bool {
        matches!(self, Self::Raw | Self::Url)
    }

    /// The field's name on the wire.
    pub fn field(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Data => "data",
            Self::Raw => "raw",
            Self::Url => "url",
        }
    }
}

/// A message's or an artifact's part.
///
/// A part *is* its JSON text: it is read once to find its fields and then carried, compared and
/// sent as it stands, so that numbers, escapes, key order, duplicate keys and unknown fields
/// survive. Cloning a part copies no text.
///
/// ```
/// use llamon_core::Part;
/// let part = Part::from_json(r#"{"data":{"n":1e400,"n":1.0},"x-unknown":true}"#)?;
/// assert_eq!(part.data_json(), Some(r#"{"n":1e400,"n":1.0}"#));
/// assert_eq!(part.json(), r#"{"data":{"n":1e400,"n":1.0},"x-unknown":true}"#);
/// # Ok::<(), llamon_core::json::ReadError>(())
/// ```
#[derive(Clone)]
pub struct Part {
    json: ByteString,
    kind: PartKind,
    content: Field,
    filename: Option<Field>,
    media_type: Option<Field>,
    metadata: Option<Field>,
}

/// A value's range in its part's text. 32 bits suffice: limits end at 1 GiB.
#[derive(Clone, Copy)]
struct Field {
    start: u32,
    end: u32,
}

impl Field {
    fn new(span: Span, base: usize) -> Self {
        let narrow = |at: usize| u32::try_from(at - base).unwrap_or(u32::MAX);
        Self {
            start: narrow(span.start),
            end: narrow(span.end),
        }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

// === making parts ===

impl Part {
    /// A text part.
    pub fn text(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        // Exact where nothing is escaped: the text becomes the part's memory as it is.
        let mut json = String::with_capacity(text.len() + r#"{"text":""}"#.len());
        json.push_str(TEXT_HEAD);
        json::push_string(&mut json, text);
        let end = json.len();
        json.push('}');
        Self {
            content: Field {
                start: TEXT_HEAD.len() as u32,
                end: u32::try_from(end).unwrap_or(u32::MAX),
            },
            json: json.into(),
            kind: PartKind::Text,
            filename: None,
            media_type: None,
            metadata: None,
        }
    }

    /// A data part that holds `value`.
    ///
    /// # Errors
    /// When `value` cannot be JSON: a float that is not finite (never written as null), a map
    /// whose keys are no strings, or a `Serialize` that fails. The error names the place.
    pub fn data(value: &(impl Serialize + ?Sized)) -> Result<Self, PayloadError> {
        Self::data_from_json(to_json(value)?).map_err(PayloadError::from)
    }

    /// A data part that holds the JSON text `json`, token for token. It may nest 100 levels.
    ///
    /// # Errors
    /// When the text is not exactly one JSON value.
    pub fn data_from_json(json: impl AsRef<str>) -> Result<Self, ReadError> {
        let mut reader = Reader::of_str(json.as_ref(), crate::Limits::default().max_json_depth);
        let span = reader.skip()?;
        reader.end()?;
        let token = span.of(json.as_ref());
        Ok(if span.has_newline {
            Self::of_token(PartKind::Data, &json::compact(token))
        } else {
            Self::of_token(PartKind::Data, token)
        })
    }

    /// A file part that carries `bytes`.
    pub fn file_bytes(bytes: impl AsRef<[u8]>) -> Self {
        let encoded = STANDARD.encode(bytes);
        Self::of_token(PartKind::Raw, &format!("\"{encoded}\""))
    }

    /// A file part that names the file's address.
    pub fn file_url(url: impl AsRef<str>) -> Self {
        Self::of_token(PartKind::Url, &json::string_token(url.as_ref()))
    }

    /// The same part with a file name.
    #[must_use]
    pub fn with_filename(self, filename: impl AsRef<str>) -> Self {
        let field = self.filename;
        self.with_field("filename", field, &json::string_token(filename.as_ref()))
    }

    /// The same part with a media type (`application/pdf`).
    #[must_use]
    pub fn with_media_type(self, media_type: impl AsRef<str>) -> Self {
        let field = self.media_type;
        self.with_field("mediaType", field, &json::string_token(media_type.as_ref()))
    }

    /// The same part with metadata, which must serialise to an object.
    ///
    /// # Errors
    /// When it does not, or cannot be JSON.
    pub fn with_metadata(self, metadata: &(impl Serialize + ?Sized)) -> Result<Self, PayloadError> {
        let token = to_json(metadata)?;
        if !token.starts_with('{') {
            return Err(PayloadError::new("a part's metadata must be an object"));
        }
        let field = self.metadata;
        Ok(self.with_field("metadata", field, &token))
    }

    /// The part with an entry more in its metadata, unless it has one of that name.
    pub(crate) fn with_metadata_entry(self, key: &str, value: &str) -> Self {
        let old = self.metadata_json().unwrap_or("{}");
        if has_key(old, key) {
            return self;
        }
        let head = old.strip_suffix('}').unwrap_or("{").trim_end();
        let comma = if head == "{" { "" } else { "," };
        let metadata = format!("{head}{comma}{}:{value}}}", json::string_token(key));
        let field = self.metadata;
        self.with_field("metadata", field, &metadata)
    }

    fn of_token(kind: PartKind, token: &str) -> Self {
        let mut json = String::with_capacity(token.len() + 10);
        json.push_str("{\"");
        json.push_str(kind.field());
        json.push_str("\":");
        let start = json.len();
        json.push_str(token);
        let span = Span {
            start,
            end: json.len(),
            has_newline: false,
        };
        json.push('}');
        Self {
            json: json.into(),
            kind,
            content: Field::new(span, 0),
            filename: None,
            media_type: None,
            metadata: None,
        }
    }

    fn with_field(self, name: &'static str, old: Option<Field>, token: &str) -> Self {
        let mut json = String::with_capacity(self.json.len() + name.len() + token.len() + 4);
        match old.map(Field::range) {
            Some(range) => {
                json.push_str(self.slice(0..range.start));
                json.push_str(token);
                json.push_str(self.slice(range.end..self.json.len()));
            }
            None => {
                json.push_str(self.slice(0..self.json.len() - 1));
                json.push_str(",\"");
                json.push_str(name);
                json.push_str("\":");
                json.push_str(token);
                json.push('}');
            }
        }
        // The text was valid and stays so: only a value was put in.
        Self::from_json(json).unwrap_or(self)
    }

    /// Reads a part's JSON text, which may nest 100 levels.
    ///
    /// # Errors
    /// As a part of a request: when the text is not one JSON object with exactly one content.
    pub fn from_json(json: impl Into<ByteString>) -> Result<Self, ReadError> {
        let json = json.into();
        let mut reader = Reader::of_str(&json, crate::Limits::default().max_json_depth);
        let part = Self::read(&mut reader, &json)?;
        reader.end()?;
        Ok(part)
    }
}

// === reading parts ===

const FILENAME: u32 = 4;
const MEDIA_TYPE: u32 = 5;
const METADATA: u32 = 6;

impl Part {
    /// Reads the part at the cursor. `source` is the text that the reader reads; the part shares
    /// its memory.
    ///
    /// # Errors
    /// When it is not an object, when a known field has the wrong type or is given twice, and
    /// when it has no content or more than one; naming the field.
    pub fn read(reader: &mut Reader<'_>, source: &ByteString) -> Result<Self, ReadError> {
        let (fields, span) = reader.spanned(Fields::read)?;
        let (kind, content) = fields.content.ok_or_else(|| {
            let hint = if fields.legacy {
                "; this looks like a part of A2A 0.3, 1.0 writes {\"text\":...}, {\"data\":...}, {\"raw\":...} or {\"url\":...}"
            } else {
                ""
            };
            ReadError::invalid(format!(
                "has no content: exactly one of text, data, raw and url is required{hint}"
            ))
        })?;
        let text = span.of(source);
        if span.has_newline {
            // Once, on arrival, so that it fits an SSE data line and a JSON line.
            let compact = ByteString::from(json::compact(text));
            let mut reader = Reader::of_str(&compact, u32::from(u8::MAX) / 2);
            return Self::read(&mut reader, &compact);
        }
        let field = |span: Span| Field::new(span, fields.start);
        Ok(Self {
            json: source.slice_ref(text),
            kind,
            content: field(content),
            filename: fields.filename.map(field),
            media_type: fields.media_type.map(field),
            metadata: fields.metadata.map(field),
        })
    }

    /// The part with memory of its own, if it is much smaller than the text it was read from:
    /// 20 bytes must not keep a body of 16 MiB alive.
    #[must_use]
    pub fn detached_from(self, source_len: usize) -> Self {
        if self.json.len() >= source_len / 4 {
            return self;
        }
        Self {
            json: ByteString::from(String::from(&*self.json)),
            ..self
        }
    }

    /// What the part holds.
    pub fn kind(&self) -> PartKind {
        self.kind
    }

    /// The part's JSON text. It has no CR and no LF.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The JSON text of the content: of the string of a text, raw or url part, of the value of a
    /// data part.
    pub fn content_json(&self) -> &str {
        self.slice(self.content.range())
    }

    /// A text part's text.
    pub fn as_text(&self) -> Option<Cow<'_, str>> {
        (self.kind == PartKind::Text).then(|| self.decode(self.content))
    }

    /// A data part's JSON text, token for token as it was sent.
    pub fn data_json(&self) -> Option<&str> {
        (self.kind == PartKind::Data).then(|| self.content_json())
    }

    /// A data part's value as a `T`.
    ///
    /// # Errors
    /// When the part is no data part, or its value is no `T`; some values that may be carried
    /// cannot be parsed (`1e400`, a lone surrogate), and the error says so.
    pub fn data_as<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        let json = self.data_json().ok_or_else(|| {
            PayloadError::new(format!(
                "the part is no data part, it has {}",
                self.kind.field()
            ))
        })?;
        serde_json::from_str(json)
            .map_err(|error| PayloadError::new(format!("the data part cannot be read: {error}")))
    }

    /// A raw part's bytes.
    ///
    /// # Errors
    /// When the part is no raw part.
    pub fn file_content(&self) -> Result<Bytes, PayloadError> {
        if self.kind != PartKind::Raw {
            return Err(PayloadError::new(format!(
                "the part carries no bytes, it has {}",
                self.kind.field()
            )));
        }
        decode_base64(&self.decode(self.content))
            .map(Bytes::from)
            .map_err(|error| PayloadError::new(format!("the raw part is not base64: {error}")))
    }

    /// A url part's address.
    pub fn url(&self) -> Option<Cow<'_, str>> {
        (self.kind == PartKind::Url).then(|| self.decode(self.content))
    }

    /// The file name.
    pub fn filename(&self) -> Option<Cow<'_, str>> {
        self.filename.map(|field| self.decode(field))
    }

    /// The media type.
    pub fn media_type(&self) -> Option<Cow<'_, str>> {
        self.media_type.map(|field| self.decode(field))
    }

    /// The JSON text of the metadata, an object.
    pub fn metadata_json(&self) -> Option<&str> {
        self.metadata.map(|field| self.slice(field.range()))
    }

    /// Whether the part is text and nothing else, so that chunks of it can be joined.
    pub(crate) fn is_plain_text(&self) -> bool {
        self.kind == PartKind::Text
            && self.content.start as usize == TEXT_HEAD.len()
            && self.content.end as usize + 1 == self.json.len()
    }

    /// A text part whose string token is already escaped.
    pub(crate) fn text_of_escaped(escaped: &str) -> Self {
        Self::of_token(PartKind::Text, &format!("\"{escaped}\""))
    }

    /// The characters between a text part's quotes, escaped.
    pub(crate) fn escaped_text(&self) -> &str {
        let token = self.content_json();
        token.get(1..token.len() - 1).unwrap_or_default()
    }

    fn slice(&self, range: Range<usize>) -> &str {
        self.json.get(range).unwrap_or_default()
    }

    fn decode(&self, field: Field) -> Cow<'_, str> {
        // Every string of a part was decoded once when it was read.
        json::decode(self.slice(field.range())).unwrap_or_default()
    }
}

const TEXT_HEAD: &str = r#"{"text":"#;

/// Two parts are equal when their JSON texts are.
impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl Eq for Part {}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Content can be large and can be somebody's secret: it is not for logs.
        f.debug_struct("Part")
            .field("kind", &self.kind)
            .field("bytes", &self.json.len())
            .finish_non_exhaustive()
    }
}

/// The spans of a part's fields, in the coordinates of the whole source.
#[derive(Default)]
struct Fields {
    start: usize,
    content: Option<(PartKind, Span)>,
    filename: Option<Span>,
    media_type: Option<Span>,
    metadata: Option<Span>,
    legacy: bool,
}

impl Fields {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut fields = Self {
            start: reader.offset(),
            ..Self::default()
        };
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "text" => fields.content(reader, &mut seen, PartKind::Text)?,
                "data" => fields.content(reader, &mut seen, PartKind::Data)?,
                "raw" => fields.content(reader, &mut seen, PartKind::Raw)?,
                "url" => fields.content(reader, &mut seen, PartKind::Url)?,
                "filename" => {
                    seen.mark(FILENAME, "filename")?;
                    fields.filename = string_span(reader).map_err(|e| e.within("filename"))?;
                }
                "mediaType" | "media_type" => {
                    seen.mark(MEDIA_TYPE, "mediaType")?;
                    fields.media_type = string_span(reader).map_err(|e| e.within("mediaType"))?;
                }
                "metadata" => {
                    seen.mark(METADATA, "metadata")?;
                    fields.metadata = object_span(reader).map_err(|e| e.within("metadata"))?;
                }
                "kind" => {
                    fields.legacy = true;
                    reader.skip().map_err(|e| e.within("kind"))?;
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        Ok(fields)
    }

    fn content(
        &mut self,
        reader: &mut Reader<'_>,
        seen: &mut Seen,
        kind: PartKind,
    ) -> Result<(), ReadError> {
        let name = kind.field();
        seen.mark(kind as u32, name)?;
        let span = match kind {
            // The field is a google.protobuf.Value: its null is a value, not an absence.
            PartKind::Data => Some(reader.skip().map_err(|e| e.within(name))?),
            PartKind::Text | PartKind::Url => string_span(reader).map_err(|e| e.within(name))?,
            PartKind::Raw => base64_span(reader).map_err(|e| e.within(name))?,
        };
        let Some(span) = span else { return Ok(()) };
        if let Some((first, _)) = self.content {
            return Err(ReadError::invalid(format!(
                "has both {} and {name}: exactly one of text, data, raw and url is allowed",
                first.field()
            )));
        }
        self.content = Some((kind, span));
        Ok(())
    }
}

/// The span of a string, or `None` for null.
fn string_span(reader: &mut Reader<'_>) -> Result<Option<Span>, ReadError> {
    if reader.null()? {
        return Ok(None);
    }
    reader.spanned(Reader::string).map(|(_, span)| Some(span))
}

/// Whether an object's text has a key; not those below it.
fn has_key(object: &str, key: &str) -> bool {
    let read = || {
        let mut reader = Reader::of_str(object, crate::MAX_JSON_DEPTH_CEILING);
        let mut entries = reader.object()?;
        while let Some(found) = reader.key(&mut entries)? {
            if found == key {
                return Ok(true);
            }
            reader.skip()?;
        }
        Ok::<_, ReadError>(false)
    };
    // What cannot be read is not touched.
    read().unwrap_or(true)
}

pub(crate) fn object_span(reader: &mut Reader<'_>) -> Result<Option<Span>, ReadError> {
    if reader.null()? {
        return Ok(None);
    }
    if reader.peek() != Some(b'{') {
        return Err(reader.wrong_type("an object"));
    }
    reader.skip().map(Some)
}

/// The span of a base64 string, which is checked here: a reader further on that decodes it would
/// otherwise fail on the whole message.
fn base64_span(reader: &mut Reader<'_>) -> Result<Option<Span>, ReadError> {
    if reader.null()? {
        return Ok(None);
    }
    let (text, span) = reader.spanned(Reader::string)?;
    if !is_base64(text.as_bytes()) {
        return Err(ReadError::new(
            ReadErrorKind::Invalid,
            "is not base64 (RFC 4648, either alphabet, padding optional)",
        ));
    }
    Ok(Some(span))
}

/// ProtoJSON takes both alphabets, with and without padding.
fn is_base64(text: &[u8]) -> bool {
    let end = text
        .iter()
        .rposition(|byte| *byte != b'=')
        .map_or(0, |at| at + 1);
    let (digits, padding) = text.split_at(end);
    let fits = match padding.len() {
        0 => digits.len() % 4 != 1,
        padding => padding < 3 && (digits.len() + padding) % 4 == 0,
    };
    fits && digits
        .iter()
        .fold(true, |ok, byte| ok & BASE64_DIGIT[*byte as usize])
}

const BASE64_DIGIT: [bool; 256] = {
    let mut table = [false; 256];
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_";
    let mut at = 0;
    while at < digits.len() {
        table[digits[at] as usize] = true;
        at += 1;
    }
    table
};

fn decode_base64(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    use base64::alphabet;
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let url_safe = text.contains(['-', '_']);
    if url_safe && text.contains(['+', '/']) {
        let standard = text.replace('-', "+").replace('_', "/");
        return GeneralPurpose::new(&alphabet::STANDARD, lenient).decode(standard);
    }
    let alphabet = if url_safe {
        &alphabet::URL_SAFE
    } else {
        &alphabet::STANDARD
    };
    GeneralPurpose::new(alphabet, lenient).decode(text)
}
