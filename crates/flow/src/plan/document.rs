//! The shape of a plan's document. `plan.schema.json` is made of these types, by a test.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

use crate::finding::Place;

/// A workflow of A2A agents.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Document {
    /// What the plan is called.
    pub(super) name: Option<String>,
    /// What the plan is for.
    pub(super) description: Option<String>,
    /// The agents that steps can name.
    #[serde(default)]
    pub(super) agents: Entries<TextOr<AgentEntry>>,
    /// The steps, by their names: letters, digits and `_`.
    pub(super) steps: Entries<StepEntry>,
    /// The steps whose answers are the run's answer, in this order.
    pub(super) outputs: At<Vec<At<String>>>,
}

/// An agent; its URL alone is enough.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct AgentEntry {
    /// The agent's base URL, or its card's.
    pub(super) url: At<String>,
    /// A file with its card, for a check that asks nobody; relative to the plan's file.
    pub(super) card: Option<String>,
    /// How it is called, if its card offers several ways.
    pub(super) binding: Option<At<String>>,
    /// Origins that its card may name an interface on.
    #[serde(default)]
    pub(super) trust_origins: Vec<String>,
    /// The environment variable that has its bearer token.
    pub(super) bearer_env: Option<String>,
}

/// A step: one call of an agent, or one for each item.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct StepEntry {
    /// The agent: its URL, or a name in `agents`.
    pub(super) agent: At<String>,
    /// What the step receives, in this order: names of steps, or `input`.
    #[serde(default)]
    pub(super) from: Option<At<Vec<At<String>>>>,
    /// The text that the agent is sent instead of the texts of `from`; `{{step.text}}` and
    /// `{{step.data[0].name}}` are what steps answered.
    pub(super) text: Option<At<String>>,
    /// The condition under which the step runs, such as `@.audit.data[0].total > 100`.
    pub(super) when: Option<At<String>>,
    /// Calls the agent once for each item; a JSONPath alone is enough.
    pub(super) each: Option<At<TextOr<EachEntry>>>,
    /// How long one attempt may take, such as `30s` or `2h`. 5 minutes unless given.
    pub(super) timeout: Option<At<String>>,
    /// How often a call that did not come to rest is attempted.
    pub(super) retry: Option<At<RetryEntry>>,
    /// What happens when the step fails: `fail`, `continue`, or `{goto: STEP}`.
    pub(super) on_error: Option<At<TextOr<GotoEntry>>>,
    /// What happens when the agent asks: `pause`, `fail`, or `{wait: 24h}`.
    pub(super) ask: Option<At<TextOr<WaitEntry>>>,
    /// `by-content`: of equal data and file parts only the first is sent.
    pub(super) dedupe: Option<At<String>>,
}

/// A call for each item that a JSONPath finds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct EachEntry {
    /// The source whose data has the items, if `from` has several.
    pub(super) of: Option<String>,
    /// A JSONPath (RFC 9535): each place that it finds is an item.
    pub(super) path: String,
    /// How many calls run at once, 1 to 1,000. 8 unless given.
    #[cfg_attr(test, schemars(range(min = 1, max = 1_000)))]
    pub(super) concurrency: Option<u32>,
    /// How many items there may be, 1 to 1,000,000. 10,000 unless given.
    #[cfg_attr(test, schemars(range(min = 1, max = 1_000_000)))]
    pub(super) max_items: Option<u32>,
}

/// How often a call that did not come to rest is attempted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RetryEntry {
    /// The attempts, the first one included, 1 to 100. 3 unless given.
    #[cfg_attr(test, schemars(range(min = 1, max = 100)))]
    pub(super) attempts: Option<u32>,
    /// The pause before the second attempt, doubled with each further one. 1s unless given.
    pub(super) backoff: Option<At<String>>,
    /// The longest pause. 60s unless given.
    pub(super) max_backoff: Option<At<String>>,
}

/// A step that stands in for one that failed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct GotoEntry {
    /// The step.
    pub(super) goto: String,
}

/// How long a question may wait.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct WaitEntry {
    /// The time, such as `24h`.
    pub(super) wait: String,
}

/// A value with its place in the document.
#[derive(Debug)]
pub(super) struct At<T>(Spanned<T>);

impl<T> At<T> {
    pub(super) fn place(&self) -> Option<Place> {
        place(&self.0.referenced)
    }

    pub(super) fn value(&self) -> &T {
        &self.0.value
    }

    pub(super) fn into_value(self) -> T {
        self.0.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

/// The place that a location is; nothing where it is not known.
pub(super) fn place(location: &Location) -> Option<Place> {
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let (line, column) = (number(location.line()), number(location.column()));
    (line > 0).then_some(Place { line, column })
}

/// The entries of a map in the order of the document.
#[derive(Debug)]
pub(super) struct Entries<T>(pub(super) Vec<(At<String>, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Collect<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Collect(PhantomData))
    }
}

/// A text, which is the short form, or a map.
#[derive(Debug)]
pub(super) enum TextOr<T> {
    Text(String),
    Map(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for TextOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = TextOr<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a map")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(TextOr::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(TextOr::Map)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

#[cfg(test)]
mod schema {
    //! What the wrappers are in a schema, and whether the published one is that of the types.

    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{At, Document, Entries, TextOr};

    impl<T: JsonSchema> JsonSchema for At<T> {
        fn inline_schema() -> bool {
            T::inline_schema()
        }

        fn schema_name() -> Cow<'static, str> {
            T::schema_name()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            T::json_schema(generator)
        }
    }

    impl<T: JsonSchema> JsonSchema for Entries<T> {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            format!("EntriesOf{}", T::schema_name()).into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let entry = generator.subschema_for::<T>();
            json_schema!({"type": "object", "additionalProperties": entry})
        }
    }

    impl<T: JsonSchema> JsonSchema for TextOr<T> {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            format!("TextOr{}", T::schema_name()).into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let map = generator.subschema_for::<T>();
            json_schema!({"anyOf": [{"type": "string"}, map]})
        }
    }

    #[test]
    fn the_published_schema_is_that_of_the_types() {
        let mut schema = schemars::schema_for!(Document);
        schema.insert("title".to_owned(), "llamon workflow plan".into());
        let expected = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/plan.schema.json");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path, &expected).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap();
        assert_eq!(published, expected, "write it anew with UPDATE_GOLDEN=1");
    }
}
