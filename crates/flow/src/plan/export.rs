use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Agent, Ask, DEFAULT_TIMEOUT, Dedupe, Each, OnError, Plan, Retry, Step};

impl Plan {
    /// The plan as a JSON document that [`Plan::from_yaml`] reads as the same plan; what a run
    /// keeps of it.
    pub fn to_json(&self) -> String {
        let agents = self
            .agents
            .iter()
            .map(|(name, agent)| (name, agent_value(agent)));
        let steps = self
            .steps
            .iter()
            .map(|step| (&step.step.name, step_value(&step.step)));
        let outputs: Vec<&str> = (self.outputs.iter())
            .filter_map(|output| self.steps.get(*output).map(|step| step.name()))
            .collect();
        let mut text = format!("{{\"name\":{}", Value::from(&*self.name));
        if let Some(description) = &self.description {
            text.push_str(&format!(",\"description\":{}", Value::from(&**description)));
        }
        // By hand: the order of steps is the plan's, and a map of values has its own.
        text.push_str(&format!(",\"agents\":{}", object(agents)));
        text.push_str(&format!(",\"steps\":{}", object(steps)));
        text.push_str(&format!(",\"outputs\":{}}}", json!(outputs)));
        text
    }
}

fn object<'n>(entries: impl Iterator<Item = (&'n String, Value)>) -> String {
    let entries = entries.map(|(name, value)| format!("{}:{value}", Value::from(&**name)));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
}

fn agent_value(agent: &Agent) -> Value {
    let mut value = json!({"url": agent.url, "trust_origins": agent.trust_origins});
    // As a document names them, not as a card does.
    let binding = agent.binding.map(|binding| match binding.as_str() {
        "HTTP+JSON" => "rest",
        "GRPC" => "grpc",
        _ => "jsonrpc",
    });
    let optional = [
        (
            "card",
            agent
                .card
                .as_ref()
                .map(|card| card.to_string_lossy().into_owned()),
        ),
        ("binding", binding.map(str::to_owned)),
        ("bearer_env", agent.bearer_env.clone()),
    ];
    if let Value::Object(fields) = &mut value {
        let given = optional
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)));
        fields.extend(given.map(|(name, text)| (name.to_owned(), Value::from(text))));
    }
    value
}

fn step_value(step: &Step) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
    put("agent", step.agent.clone().into());
    put("from", json!(step.from));
    if let Some(text) = &step.text {
        put("text", text.clone().into());
    }
    if let Some(when) = &step.when {
        put("when", when.clone().into());
    }
    if let Some(each) = &step.each {
        put("each", each_value(each));
    }
    if step.timeout != DEFAULT_TIMEOUT {
        put("timeout", time(step.timeout));
    }
    if step.retry != Retry::default() {
        let Retry {
            attempts,
            backoff,
            max_backoff,
        } = step.retry;
        put(
            "retry",
            json!({"attempts": attempts, "backoff": time(backoff), "max_backoff": time(max_backoff)}),
        );
    }
    match &step.on_error {
        OnError::Fail => {}
        OnError::Continue => put("on_error", "continue".into()),
        OnError::GoTo(step) => put("on_error", json!({"goto": step})),
    }
    match step.ask {
        Ask::Pause => {}
        Ask::Fail => put("ask", "fail".into()),
        Ask::Wait(wait) => put("ask", json!({"wait": time(wait)})),
    }
    if step.dedupe == Dedupe::ByContent {
        put("dedupe", "by-content".into());
    }
    Value::Object(fields)
}

fn each_value(each: &Each) -> Value {
    let mut value = json!({
        "path": each.path,
        "concurrency": each.concurrency,
        "max_items": each.max_items,
    });
    if let (Value::Object(fields), Some(of)) = (&mut value, &each.of) {
        fields.insert("of".to_owned(), of.clone().into());
    }
    value
}

/// A time as it is read again, to the nanosecond.
fn time(time: Duration) -> Value {
    let time = jiff::SignedDuration::try_from(time).unwrap_or(jiff::SignedDuration::MAX);
    format!("{time:#}").into()
}
