//! Reading JSON without building a tree.
//!
//! The work between agents is mostly carrying parts that this hop does not look into. So a
//! request is scanned once: the envelope is read field by field, and a value that nobody asked
//! for is validated and handed on as a range of the source text.

mod canonical;
mod compact;
#[cfg(feature = "contracts")]
mod cursor;
pub(crate) mod entry;
mod error;
mod reader;
mod scan;
mod string;
mod write;

pub use canonical::Tree;
pub use compact::compact;
#[cfg(feature = "contracts")]
pub(crate) use cursor::Cursor;
pub use error::{ReadError, ReadErrorKind};
pub use reader::{Object, Reader, Seen, check_syntax};
pub use scan::Span;
pub use string::decode;
pub(crate) use write::escape_line_separators;
pub use write::{push_number, push_string, string_token};
