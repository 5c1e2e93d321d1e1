use globset::{GlobBuilder, GlobMatcher};
use jsonschema::{Draft, PatternOptions, Retrieve, Uri, Validator};
use serde_json::Value;
use serde_json::value::RawValue;
use serde_json_path::JsonPath;

use super::contract::{InputContract, InputContracts, InputKind, Pick};
use super::document::is_json;
use super::effort;
use super::error::ContractError;
use super::plain::{PlainPaths, PlainStep, index, parse_path};

/// Bytes that a pattern of a schema may need when it is compiled.
const REGEX_SIZE_LIMIT: usize = 1 << 20;
/// Descendant segments (`..`) that a path may have. Each further one multiplies the places that a
/// hostile value can yield by its depth.
const MAX_DESCENDANTS: usize = 1;

/// Contracts that were checked and are ready for use.
#[derive(Debug)]
pub struct CompiledContracts {
    pub(super) contracts: Vec<Compiled>,
    pub(super) plain: PlainPaths,
}

#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) contract: InputContract,
    pub(super) schema: Option<Validator>,
    /// How deep a value of the schema may nest.
    pub(super) schema_depth: usize,
    pub(super) select: Option<Select>,
    pub(super) media_type: Option<GlobMatcher>,
    pub(super) filename: Option<GlobMatcher>,
}

#[derive(Debug)]
pub(super) struct Select {
    pub(super) how: How,
    /// Whether the path has a descendant segment.
    pub(super) descends: bool,
    /// Where its places are in what [`PlainPaths::find`] finds, if it is plain.
    pub(super) slot: Option<usize>,
}

#[derive(Debug)]
pub(super) enum How {
    Path(JsonPath),
    Pointer(Vec<String>),
}

impl CompiledContracts {
    pub(super) fn new(contracts: &InputContracts) -> Result<Self, ContractError> {
        let mut compiled: Vec<Compiled> = Vec::new();
        for (index, contract) in contracts.contracts.iter().enumerate() {
            if contract.name.trim().is_empty() {
                let place = format!("#{index}");
                return Err(ContractError::of(
                    &place,
                    "name",
                    "is empty; each input needs one",
                ));
            }
            if compiled
                .iter()
                .any(|other| other.contract.name == contract.name)
            {
                let message = "is given twice; each input needs its own";
                return Err(ContractError::of(&contract.name, "name", message));
            }
            compiled.push(Compiled::new(contract)?);
        }
        let mut plain = PlainPaths::new();
        for contract in &mut compiled {
            if let Some(select) = &mut contract.select {
                let steps = match &select.how {
                    How::Path(_) => contract.contract.select.as_deref().and_then(parse_path),
                    How::Pointer(tokens) => Some(pointer_steps(tokens)),
                };
                select.slot = steps.map(|steps| plain.add(steps));
            }
        }
        Ok(Self {
            contracts: compiled,
            plain,
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.contracts.is_empty()
    }
}

impl Compiled {
    fn new(contract: &InputContract) -> Result<Self, ContractError> {
        let error = |field, message: String| ContractError::of(&contract.name, field, message);
        if contract.kind == InputKind::File && contract.schema.is_some() {
            let message = "a file has no schema; match it by media_type and filename";
            return Err(error("schema", message.to_owned()));
        }
        if contract.kind != InputKind::Data && contract.select.is_some() {
            let message = format!(
                "only data has places to select, the kind is {}",
                contract.kind.as_str()
            );
            return Err(error("select", message));
        }
        if let Some(default) = &contract.default {
            if contract.kind == InputKind::File {
                return Err(error("default", "a file has no default".to_owned()));
            }
            if !is_json(default) {
                let shown: String = default.chars().take(60).collect();
                return Err(error("default", format!("{shown:?} is not one JSON value")));
            }
            check_default(contract, default).map_err(|message| error("default", message))?;
        }
        Ok(Self {
            contract: contract.clone(),
            schema: (contract.schema.as_ref())
                .map(|schema| compile_schema(schema).map_err(|message| error("schema", message)))
                .transpose()?,
            schema_depth: contract
                .schema
                .as_ref()
                .map_or(usize::MAX, effort::allowed_depth),
            select: (contract.select.as_deref())
                .map(|select| compile_select(select).map_err(|message| error("select", message)))
                .transpose()?
                .map(|how| Select {
                    how,
                    descends: (contract.select.as_deref())
                        .is_some_and(|select| without_strings(select).contains("..")),
                    slot: None,
                }),
            media_type: (contract.media_type.as_deref())
                .map(|glob| {
                    compile_glob(glob, true).map_err(|message| error("media_type", message))
                })
                .transpose()?,
            filename: (contract.filename.as_deref())
                .map(|glob| compile_glob(glob, false).map_err(|message| error("filename", message)))
                .transpose()?,
        })
    }
}

/// A default that the agent could not read would fail every turn that needs it.
fn check_default(contract: &InputContract, default: &str) -> Result<(), String> {
    let items: Vec<&str> = match contract.pick {
        Pick::All => {
            let items: Vec<&RawValue> = serde_json::from_str(default)
                .map_err(|_| "is no array, and the input is all that match".to_owned())?;
            items.into_iter().map(RawValue::get).collect()
        }
        Pick::First | Pick::Last | Pick::One => vec![default],
    };
    let Some(typed) = &contract.typed else {
        return Ok(());
    };
    for item in items {
        typed(item).map_err(|error| format!("cannot be read as the agent's type: {error}"))?;
    }
    Ok(())
}

fn compile_schema(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_retriever(NeverFetch)
        .with_pattern_options(PatternOptions::regex().size_limit(REGEX_SIZE_LIMIT))
        .build(schema)
        .map_err(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() {
                "/".to_owned()
            } else {
                place
            };
            format!("is no usable schema at {place}: {error}")
        })
}

/// A schema stands alone: nothing is ever fetched for it.
struct NeverFetch;

impl Retrieve for NeverFetch {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(
            format!("{uri} is another document, which is never fetched; copy it under $defs")
                .into(),
        )
    }
}

/// Checks a path or pointer; says what is wrong with it.
pub(super) fn check_select(select: &str) -> Result<(), String> {
    compile_select(select).map(drop)
}

fn compile_select(select: &str) -> Result<How, String> {
    if select.is_empty() || select.starts_with('/') {
        return compile_pointer(select);
    }
    if !select.starts_with('$') {
        return Err(format!(
            "{select:?} begins neither with `$` (JSONPath) nor with `/` (JSON Pointer)"
        ));
    }
    let outside_strings = without_strings(select);
    let functions = ["match(", "search("];
    if let Some(function) = functions
        .iter()
        .find(|name| outside_strings.contains(**name))
    {
        return Err(format!(
            "{select:?} has {function}), which compiles its pattern for each place; use `pattern` \
             in the schema"
        ));
    }
    let path =
        JsonPath::parse(select).map_err(|error| format!("{select:?} is no JSONPath: {error}"))?;
    let descendants = outside_strings.matches("..").count();
    if descendants > MAX_DESCENDANTS {
        return Err(format!(
            "{select:?} has {descendants} descendant segments (`..`), {MAX_DESCENDANTS} is allowed"
        ));
    }
    let tail = outside_strings.get(1..).unwrap_or_default();
    if tail.contains('$') {
        return Err(format!(
            "{select:?} reads the whole value again inside a filter (`$`), which is not allowed; use `@`"
        ));
    }
    Ok(How::Path(path))
}

/// The path without what stands in quotes.
fn without_strings(path: &str) -> String {
    let mut kept = String::new();
    let mut quote = None;
    let mut escaped = false;
    for c in path.chars() {
        match quote {
            Some(open) => {
                if escaped {
                    escaped = false;
                } else if c == '\\' {
                    escaped = true;
                } else if c == open {
                    quote = None;
                }
            }
            None if c == '\'' || c == '"' => quote = Some(c),
            None => kept.push(c),
        }
    }
    kept
}

fn pointer_steps(tokens: &[String]) -> Vec<PlainStep> {
    let step = |token: &String| PlainStep::Token(token.clone(), index(token));
    tokens.iter().map(step).collect()
}

fn compile_pointer(pointer: &str) -> Result<How, String> {
    let mut tokens = Vec::new();
    for token in pointer.split('/').skip(1) {
        let mut rest = token;
        while let Some(at) = rest.find('~') {
            rest = rest.get(at + 1..).unwrap_or_default();
            if !rest.starts_with(['0', '1']) {
                return Err(format!(
                    "{pointer:?} is no JSON Pointer: `~` must be followed by 0 or 1"
                ));
            }
        }
        tokens.push(token.replace("~1", "/").replace("~0", "~"));
    }
    Ok(How::Pointer(tokens))
}

fn compile_glob(pattern: &str, is_media_type: bool) -> Result<GlobMatcher, String> {
    GlobBuilder::new(pattern)
        .literal_separator(is_media_type)
        .case_insensitive(is_media_type)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("{pattern:?} is no pattern: {}", error.kind()))
}
