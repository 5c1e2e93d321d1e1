//! `google.protobuf.Value` and `Struct` to JSON text and back, in one pass each and without a tree.
//!
//! What is read as protobuf and written as protobuf again has the bytes that it came with, if they
//! were what protobuf libraries write: fields of maps with key and value, one kind in a value, no
//! unknown fields. Keys keep their order, and keys that are there twice stay so.

mod of_json;
mod to_json;

pub use of_json::{struct_of_json, value_of_json};
pub use to_json::{struct_to_json, value_to_json};

use llamon_core::json::{ReadError, ReadErrorKind};

/// Messages that a value may nest, itself not counted. An array is two of them, an object three, so
/// that this is 45 arrays or 30 objects. Common readers of protobuf stop at 100 for a whole message,
/// in which a part is up to five deep.
pub const MAX_LEVELS: u32 = 90;

const ARRAY_LEVELS: u32 = 2;
const OBJECT_LEVELS: u32 = 3;

// Field numbers of google.protobuf.Value.
const NULL: u32 = 1;
const NUMBER: u32 = 2;
const STRING: u32 = 3;
const BOOL: u32 = 4;
const STRUCT: u32 = 5;
const LIST: u32 = 6;

// Of Struct its only field, of ListValue its only field, and those of an entry.
const FIELDS: u32 = 1;
const VALUES: u32 = 1;
const KEY: u32 = 1;
const VALUE: u32 = 2;

// Wire types.
const VARINT: u32 = 0;
const FIXED_64: u32 = 1;
const DELIMITED: u32 = 2;
const FIXED_32: u32 = 5;

/// What is left of [`MAX_LEVELS`] below a container of `levels`.
fn below(room: u32, levels: u32) -> Result<u32, ReadError> {
    room.checked_sub(levels).ok_or_else(|| {
        ReadError::new(
            ReadErrorKind::Depth,
            "nests deeper than gRPC can carry, which is 45 arrays or 30 objects; send flatter \
             data, or over JSON-RPC or REST",
        )
    })
}

#[cfg(test)]
mod tests;
