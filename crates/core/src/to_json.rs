//! Serialising a value to JSON text without turning NaN into null.

use std::fmt;

use serde::ser::{
    Error as _, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct,
    SerializeStructVariant, SerializeTuple, SerializeTupleStruct, SerializeTupleVariant,
    Serializer,
};

use crate::payload::PayloadError;

/// The JSON text of `value`.
///
/// # Errors
/// When a float is not finite (`serde_json` would write null, and a reader could not tell), when
/// a map's key is no string, and when `value`'s own `Serialize` fails.
pub(crate) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<String, PayloadError> {
    value
        .serialize(FiniteCheck)
        .map_err(|error| PayloadError::new(format!("the value cannot be JSON: {error}")))?;
    serde_json::to_string(value)
        .map(crate::json::escape_line_separators)
        .map_err(|error| PayloadError::new(format!("the value cannot be JSON: {error}")))
}

/// A serializer that writes nothing and fails at a float that is not finite.
#[derive(Clone, Copy)]
struct FiniteCheck;

/// What is wrong, and where; the path grows while the error travels outwards.
#[derive(Debug)]
struct CheckError {
    path: Vec<String>,
    message: String,
}

impl CheckError {
    fn within(mut self, segment: String) -> Self {
        self.path.push(segment);
        self
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.path.is_empty() {
            return Ok(());
        }
        let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        write!(f, " at {}", path.concat())
    }
}

impl std::error::Error for CheckError {}

impl serde::ser::Error for CheckError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            path: Vec::new(),
            message: message.to_string(),
        }
    }
}

macro_rules! accept {
    ($($method:ident($type:ty)),* $(,)?) => {
        $(fn $method(self, _: $type) -> Result<(), CheckError> { Ok(()) })*
    };
}

impl Serializer for FiniteCheck {
    type Ok = ();
    type Error = CheckError;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = Entries;

    accept! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32),
        serialize_i64(i64), serialize_i128(i128), serialize_u8(u8), serialize_u16(u16),
        serialize_u32(u32), serialize_u64(u64), serialize_u128(u128), serialize_char(char),
        serialize_str(&str), serialize_bytes(&[u8]), serialize_unit_struct(&'static str),
    }

    fn serialize_f32(self, value: f32) -> Result<(), CheckError> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), CheckError> {
        if value.is_finite() {
            return Ok(());
        }
        Err(CheckError::custom(format!(
            "{value} is not a JSON number (send null or a string where that is meant)"
        )))
    }

    fn serialize_none(self) -> Result<(), CheckError> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CheckError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), CheckError> {
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<(), CheckError> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), CheckError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), CheckError> {
        value
            .serialize(self)
            .map_err(|error| error.within(format!(".{variant}")))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items, CheckError> {
        Ok(Items(0))
    }

    fn serialize_tuple(self, _: usize) -> Result<Items, CheckError> {
        Ok(Items(0))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items, CheckError> {
        Ok(Items(0))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Items, CheckError> {
        Ok(Items(0))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries, CheckError> {
        Ok(Entries(String::new()))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Entries, CheckError> {
        Ok(Entries(String::new()))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Entries, CheckError> {
        Ok(Entries(String::new()))
    }
}

/// A sequence that is being checked: the next index.
struct Items(usize);

impl Items {
    fn check<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CheckError> {
        let index = self.0;
        self.0 += 1;
        value
            .serialize(FiniteCheck)
            .map_err(|error| error.within(format!("[{index}]")))
    }
}

macro_rules! items {
    ($($trait:ident $method:ident),* $(,)?) => {
        $(impl $trait for Items {
            type Ok = ();
            type Error = CheckError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CheckError> {
                self.check(value)
            }

            fn end(self) -> Result<(), CheckError> {
                Ok(())
            }
        })*
    };
}

items! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

/// A map or struct that is being checked: the current key.
struct Entries(String);

impl Entries {
    fn check<T: Serialize + ?Sized>(&self, key: &str, value: &T) -> Result<(), CheckError> {
        value
            .serialize(FiniteCheck)
            .map_err(|error| error.within(format!(".{key}")))
    }
}

impl SerializeMap for Entries {
    type Ok = ();
    type Error = CheckError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CheckError> {
        // Keys only name the place of an error; whether they may be keys, the writer decides.
        self.0 = key.serialize(KeyName).unwrap_or_else(|_| "?".to_owned());
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CheckError> {
        self.check(&self.0, value)
    }

    fn end(self) -> Result<(), CheckError> {
        Ok(())
    }
}

macro_rules! structs {
    ($($trait:ident),*) => {
        $(impl $trait for Entries {
            type Ok = ();
            type Error = CheckError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), CheckError> {
                self.check(key, value)
            }

            fn end(self) -> Result<(), CheckError> {
                Ok(())
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);

/// Shows a string key; every other kind is an error, which the caller shows as `?`.
struct KeyName;

macro_rules! no_name {
    ($($method:ident($type:ty)),* $(,)?) => {
        $(fn $method(self, _: $type) -> Result<String, CheckError> {
            Err(CheckError::custom("no string"))
        })*
    };
}

impl Serializer for KeyName {
    type Ok = String;
    type Error = CheckError;
    type SerializeSeq = Impossible<String, CheckError>;
    type SerializeTuple = Impossible<String, CheckError>;
    type SerializeTupleStruct = Impossible<String, CheckError>;
    type SerializeTupleVariant = Impossible<String, CheckError>;
    type SerializeMap = Impossible<String, CheckError>;
    type SerializeStruct = Impossible<String, CheckError>;
    type SerializeStructVariant = Impossible<String, CheckError>;

    no_name! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32),
        serialize_i64(i64), serialize_u8(u8), serialize_u16(u16), serialize_u32(u32),
        serialize_u64(u64), serialize_f32(f32), serialize_f64(f64), serialize_char(char),
        serialize_bytes(&[u8]), serialize_unit_struct(&'static str),
    }

    fn serialize_str(self, value: &str) -> Result<String, CheckError> {
        Ok(value.to_owned())
    }
    fn serialize_none(self) -> Result<String, CheckError> {
        Err(CheckError::custom("no string"))
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<String, CheckError> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<String, CheckError> {
        Err(CheckError::custom("no string"))
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<String, CheckError> {
        Ok(variant.to_owned())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<String, CheckError> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String, CheckError> {
        Err(CheckError::custom("no string"))
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, CheckError> {
        Err(CheckError::custom("no string"))
    }
    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, CheckError> {
        Err(CheckError::custom("no string"))
    }
    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, CheckError> {
        Err(CheckError::custom("no string"))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, CheckError> {
        Err(CheckError::custom("no string"))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, CheckError> {
        Err(CheckError::custom("no string"))
    }
    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, CheckError> {
        Err(CheckError::custom("no string"))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, CheckError> {
        Err(CheckError::custom("no string"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::to_json;

    #[derive(serde::Serialize)]
    struct Report {
        scores: Vec<Item>,
    }

    #[derive(serde::Serialize)]
    struct Item {
        by_name: BTreeMap<&'static str, f64>,
    }

    #[test]
    fn a_float_that_is_not_finite_is_an_error_that_names_its_place() {
        let good = Item {
            by_name: BTreeMap::from([("a", 1.0)]),
        };
        let bad = Item {
            by_name: BTreeMap::from([("a", 1.0), ("b", f64::NAN)]),
        };
        let report = Report {
            scores: vec![good, bad],
        };
        let error = to_json(&report).unwrap_err().to_string();
        assert!(error.contains("NaN is not a JSON number"), "{error}");
        assert!(error.contains("at .scores[1].by_name.b"), "{error}");
        assert!(to_json(&f32::INFINITY).is_err());
    }

    #[test]
    fn raw_values_keep_their_text() {
        let raw = serde_json::value::RawValue::from_string("1e400".to_owned()).unwrap();
        assert_eq!(to_json(&vec![raw]).unwrap(), "[1e400]");
    }
}
