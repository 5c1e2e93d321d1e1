//! What the code that `#[derive(InputContracts)]` writes calls. No part of the API.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::contract::InputContract;

/// A type that a derived input can be.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an input",
    label = "an input is read from JSON and describes itself as a JSON Schema",
    note = "derive both: `#[derive(serde::Deserialize, schemars::JsonSchema)]`, with schemars 1 \
            (`use llamon_agent::schemars;`)",
    note = "or do without a schema: `#[input(schema = \"none\")]`"
)]
pub trait InputValue: serde::de::DeserializeOwned + schemars::JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: serde::de::DeserializeOwned + schemars::JsonSchema> InputValue for T {}

/// The contract with the schema of a `T`, and for values that can be read as one.
pub fn typed<T: InputValue>(contract: InputContract) -> InputContract {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let schema = generator.into_root_schema_for::<T>().to_value();
    let contract = contract.typed::<T>();
    if accepts_anything(&schema) {
        return contract;
    }
    contract.schema(schema)
}

/// Whether a schema says nothing of the value, as that of `serde_json::Value`.
fn accepts_anything(schema: &Value) -> bool {
    match schema {
        Value::Object(keywords) => keywords
            .keys()
            .all(|keyword| matches!(keyword.as_str(), "$schema" | "title")),
        other => *other == Value::Bool(true),
    }
}
