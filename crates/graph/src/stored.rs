//! Values on their way into a checkpoint: typed as long as they stay in memory, JSON beyond.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A value that a [`Saver`](crate::Saver) keeps.
///
/// In memory it is what the graph has put in; only a saver that writes it out turns it into JSON.
/// Cloning is cheap. It serializes as the JSON.
#[derive(Clone)]
pub struct Stored(Arc<dyn Storable>);

impl Stored {
    /// A value as it is.
    pub fn new<T: Serialize + Send + Sync + 'static>(value: T) -> Self {
        Self::shared(Arc::new(value))
    }

    pub(crate) fn shared<T: Serialize + Send + Sync + 'static>(value: Arc<T>) -> Self {
        Self(value)
    }

    /// The JSON of it.
    ///
    /// # Errors
    /// When its type cannot be JSON, as a map with keys that are no strings.
    pub fn to_json(&self) -> Result<Value, serde_json::Error> {
        self.0.to_json()
    }

    /// The value as a `T`; nothing is copied if it was put in as one.
    ///
    /// # Errors
    /// When its JSON cannot be read as a `T`.
    pub fn get<T>(&self) -> Result<Arc<T>, serde_json::Error>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        match self.0.clone().into_any().downcast() {
            Ok(value) => Ok(value),
            Err(_) => serde_json::from_value(self.to_json()?).map(Arc::new),
        }
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_json() {
            Ok(json) => fmt::Display::fmt(&json, f),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

impl Serialize for Stored {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = self.to_json().map_err(S::Error::custom)?;
        json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Stored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::new)
    }
}

trait Storable: Send + Sync {
    fn to_json(&self) -> Result<Value, serde_json::Error>;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<T: Serialize + Send + Sync + 'static> Storable for T {
    fn to_json(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}
