use llamon_core::Part;
use llamon_core::contracts::{InputContract, InputContracts};
use serde_json::Value;

/// Checks an answer against its question's schema.
///
/// # Errors
/// Why it does not fit.
pub(super) fn check(json: &str, schema: &Value) -> Result<(), String> {
    let contract = InputContract::data("answer").schema(schema.clone());
    let compiled = (InputContracts::new().with(contract).compile())
        .map_err(|error| format!("the question's schema cannot be used: {error}"))?;
    let part = Part::from_json(format!("{{\"data\":{json}}}"))
        .map_err(|error| format!("the answer cannot be read: {error}"))?;
    let explained = compiled.explain(std::slice::from_ref(&part));
    let mut candidates = explained.into_iter().flat_map(|(_, candidates)| candidates);
    candidates
        .next()
        .and_then(|candidate| candidate.reason)
        .map_or(Ok(()), Err)
}
