//! The states of the described graphs: a Rust type for each set of reducers that they use.

use llamon_graph::{GraphMessage, GraphState};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Nearly all of them: lists are appended, all else is replaced.
#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
pub(crate) struct Plain {
    #[state(append)]
    log: Vec<Value>,
    #[state(append)]
    done: Vec<Value>,
    #[state(messages)]
    messages: Vec<GraphMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    routes: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<Value>,
}

/// What comes in and goes out is less than the whole.
#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
pub(crate) struct Narrow {
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scratch: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<Value>,
}

/// The input of [`Narrow`].
#[derive(Deserialize)]
struct Question {
    question: Value,
}

impl From<Question> for NarrowUpdate {
    fn from(input: Question) -> Self {
        Narrow::update().question(Some(input.question))
    }
}

/// The output of [`Narrow`].
#[derive(Serialize)]
pub(crate) struct Reply {
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<Value>,
}

impl From<Narrow> for Reply {
    fn from(state: Narrow) -> Self {
        Self { reply: state.reply }
    }
}

/// Reads the input of [`Narrow`]: what its type does not have stays outside.
pub(crate) fn read_question(input: &Value) -> Result<NarrowUpdate, serde_json::Error> {
    serde_json::from_value::<Question>(input.clone()).map(Into::into)
}

/// `n` is a sum.
#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
pub(crate) struct Summed {
    #[state(append)]
    log: Vec<Value>,
    #[state(reducer = add)]
    n: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<Value>,
}

/// `text` is the longest one.
#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
pub(crate) struct Longest {
    #[state(reducer = longer)]
    text: String,
}

/// `log` is replaced.
#[derive(Clone, Default, Serialize, Deserialize, GraphState)]
pub(crate) struct Replaced {
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<Value>,
}

fn add(sum: &mut i64, more: i64) {
    *sum += more;
}

fn longer(old: String, new: String) -> String {
    if new.chars().count() > old.chars().count() {
        new
    } else {
        old
    }
}

/// What of a state is in its description; the Rust types have the fields of several.
pub(crate) fn described(values: &Value, fields: &[&str]) -> Value {
    let described = |(name, _): &(&String, &Value)| fields.contains(&name.as_str());
    let fields = values.as_object().into_iter().flatten().filter(described);
    fields
        .map(|(name, value)| (name.clone(), theirs(value)))
        .collect::<Map<_, _>>()
        .into()
}

/// A value of the golden files as ours: messages and overwrites have other names here.
pub(crate) fn ours(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(ours).collect(),
        Value::Object(object) => match (
            object.get("role").and_then(Value::as_str),
            object.get("$overwrite"),
        ) {
            (Some(role), _) => our_message(role, object),
            (_, Some(value)) => json!({"__overwrite__": ours(value)}),
            _ => object
                .iter()
                .map(|(key, value)| (key.clone(), ours(value)))
                .collect(),
        },
        other => other.clone(),
    }
}

/// The other way round.
pub(crate) fn theirs(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(theirs).collect(),
        Value::Object(object) => match (
            object.get("role").and_then(Value::as_str),
            object.get("__overwrite__"),
        ) {
            (Some(role), _) => their_message(role, object),
            (_, Some(value)) => json!({"$overwrite": theirs(value)}),
            _ => object
                .iter()
                .map(|(key, value)| (key.clone(), theirs(value)))
                .collect(),
        },
        other => other.clone(),
    }
}

const REMOVE_ALL: &str = "__remove_all__";

fn our_message(role: &str, message: &Map<String, Value>) -> Value {
    let text = message["content"]
        .as_str()
        .expect("messages of the golden files are texts");
    let id = message["id"]
        .as_str()
        .expect("messages of the golden files have ids");
    let message = match role {
        "human" => GraphMessage::user(text).with_id(id),
        "ai" => GraphMessage::agent(text).with_id(id),
        "remove" if id == REMOVE_ALL => GraphMessage::remove_all(),
        "remove" => GraphMessage::remove(id),
        other => panic!("no role of the golden files: {other}"),
    };
    json!(message)
}

fn their_message(role: &str, message: &Map<String, Value>) -> Value {
    let message: GraphMessage =
        serde_json::from_value(message.clone().into()).expect("one of our messages");
    let role = match role {
        "user" => "human",
        "agent" => "ai",
        "remove" => "remove",
        "remove_all" => return json!({"role": "remove", "id": REMOVE_ALL, "content": ""}),
        other => panic!("no role of the golden files: {other}"),
    };
    json!({"role": role, "id": message.id, "content": message.text()})
}
