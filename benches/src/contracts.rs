//! Selecting inputs: our contracts against the two libraries called directly on the same parts.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use jsonschema::{Draft, PatternOptions, Validator};
use llamon_agent::contracts::{CompiledContracts, InputContract, InputContracts, Pick};
use llamon_agent::prelude::Part;
use serde_json::{Value, json};
use serde_json_path::JsonPath;

use crate::Outcome;

const ROUNDS: usize = 50;
const PARTS: usize = 100;
const GOAL: f64 = 1.3;

pub(crate) fn run(out: &mut String) -> Outcome<()> {
    let parts = parts()?;
    let bytes = parts.iter().map(|part| part.json().len()).sum::<usize>() / PARTS;
    let declared = declared();
    let ours = contracts(&declared)?;
    let direct = libraries(&declared)?;
    let mut times = (Vec::new(), Vec::new());
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let expected = black_box(call_directly(&direct, &parts)?);
        let theirs = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let selected = ours.select(&parts)?;
        let own = start.elapsed().as_secs_f64();
        let found: usize = selected.iter().map(|(_, input)| input.items().len()).sum();
        if found != expected {
            return Err(format!("ours found {found} places, the libraries {expected}").into());
        }
        times.0.push(theirs * 1e6);
        times.1.push(own * 1e6);
        ratios.push(own / theirs);
    }
    writeln!(
        out,
        "| {PARTS} parts of {bytes} B, 5 contracts with schema and path | libraries, µs | ours, µs | ratio | goal |"
    )?;
    writeln!(out, "|---|---|---|---|---|")?;
    writeln!(
        out,
        "| select | {:.0} | {:.0} | {:.2} | {GOAL} |",
        crate::report::median(&mut times.0),
        crate::report::median(&mut times.1),
        crate::report::median(&mut ratios),
    )?;
    Ok(())
}

/// Paths and schemas, as an agent that reads orders would declare them.
fn declared() -> [(&'static str, Value); 5] {
    [
        ("$.order.total", json!({"type": "number", "minimum": 0})),
        (
            "$.order.items[*].sku",
            json!({"type": "string", "pattern": "^[a-z]+-[0-9]+$"}),
        ),
        (
            "$.customer",
            json!({"type": "object", "required": ["id", "name"], "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}),
        ),
        (
            "$.order.items[?@.count > 1]",
            json!({"type": "object", "required": ["sku"]}),
        ),
        ("$.notes[0]", json!({"type": "string", "maxLength": 2000})),
    ]
}

fn parts() -> Outcome<Vec<Part>> {
    let part = |index: usize| {
        let item =
            |n: usize| json!({"sku": format!("sku-{index}{n}"), "count": n % 3, "price": 12.5});
        let value = json!({
            "customer": {"id": index, "name": "a customer with a name"},
            "order": {"total": 99.9, "items": (0..8).map(item).collect::<Vec<_>>()},
            "notes": ["lorem ipsum dolor sit amet ".repeat(19)],
        });
        Part::data(&value)
    };
    Ok((0..PARTS).map(part).collect::<Result<_, _>>()?)
}

fn contracts(declared: &[(&'static str, Value)]) -> Outcome<CompiledContracts> {
    let contract = |(index, (path, schema)): (usize, &(&'static str, Value))| {
        InputContract::data(format!("input-{index}"))
            .select(*path)
            .schema(schema.clone())
            .pick(Pick::All)
    };
    let contracts: InputContracts = declared.iter().enumerate().map(contract).collect();
    Ok(contracts.compile()?)
}

fn libraries(declared: &[(&'static str, Value)]) -> Outcome<Vec<(JsonPath, Validator)>> {
    let pair = |(path, schema): &(&'static str, Value)| -> Outcome<_> {
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex())
            .build(schema)
            .map_err(|error| error.to_string())?;
        Ok((JsonPath::parse(path)?, validator))
    };
    declared.iter().map(pair).collect()
}

/// Parses each part once, asks each path for its places and each schema whether they satisfy it.
fn call_directly(libraries: &[(JsonPath, Validator)], parts: &[Part]) -> Outcome<usize> {
    let mut found = 0;
    for part in parts {
        let value: Value = serde_json::from_str(part.data_json().unwrap_or_default())?;
        for (path, validator) in libraries {
            let places = path.query_located(&value);
            found += places
                .iter()
                .filter(|place| validator.is_valid(place.node()))
                .count();
        }
    }
    Ok(found)
}
