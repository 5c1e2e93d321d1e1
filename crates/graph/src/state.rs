//! The state of a graph: typed fields, and how writes to each are merged.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// What the nodes of a graph read and write; implemented by `#[derive(GraphState)]`.
///
/// It starts as its `Default`, and it goes into checkpoints as JSON: what serde cannot read back,
/// a resumed run cannot have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no graph state",
    note = "add `#[derive(Clone, Default, Serialize, Deserialize, GraphState)]` to it"
)]
pub trait GraphState:
    Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Writes to some of the fields. Made by `Self::update()`, which the derive writes.
    type Update: Update + From<Self>;

    /// Merges the writes of one super-step, given with their nodes in the order in which they count.
    ///
    /// # Errors
    /// For writes that do not go together. The state is then of no use.
    fn apply<'n>(
        &mut self,
        writes: impl Iterator<Item = (&'n str, Self::Update)>,
    ) -> Result<(), UpdateError>;
}

/// At most one write for each field of a state. As JSON: an object of the fields that are written.
pub trait Update: Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Whether it writes nothing.
    fn is_empty(&self) -> bool;
}

/// A write to a field that has a reducer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write<T> {
    /// Goes through the reducer.
    Merge(T),
    /// Is the new value. Other writes of the same super-step are lost, a second one is an error.
    ///
    /// As JSON: `{"__overwrite__": value}`.
    Overwrite(T),
}

const OVERWRITE: &str = "__overwrite__";

impl<T: Serialize> Serialize for Write<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Merge(value) => value.serialize(serializer),
            Self::Overwrite(value) => serializer.collect_map([(OVERWRITE, value)]),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Write<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut json = Value::deserialize(deserializer)?;
        let overwrite = match &mut json {
            Value::Object(object) if object.len() == 1 => object.remove(OVERWRITE),
            _ => None,
        };
        match overwrite {
            Some(value) => serde_json::from_value(value).map(Self::Overwrite),
            None => serde_json::from_value(json).map(Self::Merge),
        }
        .map_err(D::Error::custom)
    }
}

/// Writes of one super-step that do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpdateError {
    /// Two writes to a field that can take one in a super-step.
    Conflict {
        /// The field.
        field: &'static str,
        /// The nodes that wrote to it.
        nodes: [String; 2],
    },
    /// Two writes that overwrite the same field.
    Overwrites {
        /// The field.
        field: &'static str,
        /// The nodes that wrote to it.
        nodes: [String; 2],
    },
    /// The field's reducer refused a write.
    Refused {
        /// The field.
        field: &'static str,
        /// The node that wrote to it.
        node: String,
        /// Why.
        reason: String,
    },
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict { field, nodes } => write!(
                f,
                "{} wrote to `{field}` in one super-step, and it takes one value; give the field a \
                 reducer (`#[state(append)]`, `#[state(reducer = ...)]`), or let the last one win \
                 with `#[state(overwrite)]`",
                Pair(nodes)
            ),
            Self::Overwrites { field, nodes } => write!(
                f,
                "{} overwrote `{field}` in one super-step; only one may",
                Pair(nodes)
            ),
            Self::Refused {
                field,
                node,
                reason,
            } => write!(f, "the write of node `{node}` to `{field}`: {reason}"),
        }
    }
}

impl std::error::Error for UpdateError {}

struct Pair<'a>(&'a [String; 2]);

impl fmt::Display for Pair<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.0;
        if first == second {
            write!(f, "two tasks of node `{first}`")
        } else {
            write!(f, "the nodes `{first}` and `{second}`")
        }
    }
}

// === what the derive's code calls ===

/// A field that takes one value in a super-step.
pub struct Replaced {
    field: &'static str,
    writer: Option<String>,
}

impl Replaced {
    /// Before the first write of a super-step.
    #[must_use]
    pub fn new(field: &'static str) -> Self {
        let writer = None;
        Self { field, writer }
    }

    /// # Errors
    /// For a second write.
    pub fn write<T>(&mut self, to: &mut T, node: &str, value: T) -> Result<(), UpdateError> {
        if let Some(first) = self.writer.replace(node.to_owned()) {
            return Err(UpdateError::Conflict {
                field: self.field,
                nodes: [first, node.to_owned()],
            });
        }
        *to = value;
        Ok(())
    }
}

/// A field with a reducer.
pub struct Reduced {
    field: &'static str,
    overwritten_by: Option<String>,
}

impl Reduced {
    /// Before the first write of a super-step.
    #[must_use]
    pub fn new(field: &'static str) -> Self {
        let overwritten_by = None;
        Self {
            field,
            overwritten_by,
        }
    }

    /// # Errors
    /// For a second write that overwrites, and when the reducer refuses.
    pub fn write<T>(
        &mut self,
        to: &mut T,
        node: &str,
        write: Write<T>,
        reduce: impl FnOnce(&mut T, T) -> Result<(), String>,
    ) -> Result<(), UpdateError> {
        match (write, &self.overwritten_by) {
            (Write::Merge(_), Some(_)) => {}
            (Write::Merge(value), None) => {
                reduce(to, value).map_err(|reason| UpdateError::Refused {
                    field: self.field,
                    node: node.to_owned(),
                    reason,
                })?;
            }
            (Write::Overwrite(_), Some(first)) => {
                return Err(UpdateError::Overwrites {
                    field: self.field,
                    nodes: [first.clone(), node.to_owned()],
                });
            }
            (Write::Overwrite(value), None) => {
                self.overwritten_by = Some(node.to_owned());
                *to = value;
            }
        }
        Ok(())
    }
}

/// A reducer: `fn(&mut T, T)` or `fn(T, T) -> T`. The marker tells the two apart.
#[diagnostic::on_unimplemented(
    message = "this is no reducer of `{T}`",
    note = "a reducer is a `fn(&mut T, T)` or a `fn(T, T) -> T`, where the first is the field's value and the second what a node wrote"
)]
pub trait Reducer<T, Marker> {
    /// Merges a write into the current value.
    fn reduce(&self, current: &mut T, write: T);
}

/// Marker of `fn(&mut T, T)`.
pub struct InPlace;

/// Marker of `fn(T, T) -> T`.
pub struct ByValue;

impl<T, F: Fn(&mut T, T)> Reducer<T, InPlace> for F {
    fn reduce(&self, current: &mut T, write: T) {
        self(current, write);
    }
}

impl<T: Default, F: Fn(T, T) -> T> Reducer<T, ByValue> for F {
    fn reduce(&self, current: &mut T, write: T) {
        *current = self(std::mem::take(current), write);
    }
}

/// Reads a field of an update: `null` is a write of `null`, not none.
///
/// # Errors
/// When the value does not fit the field.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
