//! The run as conditions and templates read it: JSON text that is made of the parts' texts.

use std::fmt::Write as _;

use llamon_core::json::{push_string, string_token};
use llamon_core::{Part, Payload};

use super::answers::{Answer, Answers, Outcome};
use super::items::Item;
use crate::expression::Reference;
use crate::plan::{INPUT, ITEM, Plan, Source};

impl Plan {
    /// The JSON of an object with what `references` read, and nothing else: a part that cannot be
    /// parsed is in nobody's way who does not read it.
    pub(super) fn context(
        &self,
        reader: usize,
        references: &[Reference],
        answers: &Answers,
        item: Option<&Item>,
    ) -> String {
        let mut names: Vec<&str> = references.iter().map(Reference::name).collect();
        names.sort_unstable();
        names.dedup();
        let mut context = String::from("{");
        for name in names {
            let reads = |field: &str| {
                let of_name = references
                    .iter()
                    .filter(|reference| reference.name() == name);
                of_name.into_iter().any(|reference| reference.reads(field))
            };
            let value = match (name, item) {
                (ITEM, Some(item)) => item.json().to_owned(),
                (INPUT, _) => object(None, answers.input(), reads),
                _ => match self.step_index(name) {
                    Some(step) => {
                        let stand_in = self.stands_for(step, reader, answers);
                        let payload = answers.payload(Source::Step(stand_in));
                        object(answers.get(step), payload, reads)
                    }
                    None => continue,
                },
            };
            if context.len() > 1 {
                context.push(',');
            }
            push_string(&mut context, name);
            context.push(':');
            context.push_str(&value);
        }
        context.push('}');
        context
    }
}

fn object(answer: Option<&Answer>, payload: &Payload, reads: impl Fn(&str) -> bool) -> String {
    let mut fields = Vec::new();
    if let Some(answer) = answer.filter(|_| reads("state")) {
        fields.push(format!("\"state\":\"{}\"", answer.outcome().as_str()));
    }
    if let Some(Outcome::Failed(error)) = answer.map(Answer::outcome)
        && reads("error")
    {
        fields.push(format!("\"error\":{}", string_token(error)));
    }
    if reads("text") {
        fields.push(format!("\"text\":{}", string_token(&payload.text())));
    }
    if reads("data") {
        let data: Vec<&str> = payload.data().collect();
        fields.push(format!("\"data\":[{}]", data.join(",")));
    }
    if reads("files") {
        let files: Vec<String> = payload.files().map(file).collect();
        fields.push(format!("\"files\":[{}]", files.join(",")));
    }
    format!("{{{}}}", fields.join(","))
}

/// What is said of a file; never its content.
fn file(part: &Part) -> String {
    let mut object = format!("{{\"bytes\":{}", part.json().len());
    let texts = [
        ("filename", part.filename()),
        ("mediaType", part.media_type()),
        ("url", part.url()),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            // Writing to a string cannot fail.
            let _ = write!(object, ",\"{name}\":{}", string_token(&text));
        }
    }
    object.push('}');
    object
}
