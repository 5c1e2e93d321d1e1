//! Questions of an agent with people in the loop: asked at a terminal, or shown with the command
//! that answers them.

use std::io::{self, BufRead, BufReader, IsTerminal, Write};

use llamon_agent::a2a::{Task, TaskState};
use llamon_agent::core::Part;
use llamon_agent::server::hitl::AskedQuestion;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::CliError;
use crate::exit::Exit;
use crate::text::{clean, clean_line, shell_word};

/// What a question's data part holds.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    interrupts: &'a RawValue,
}

/// The questions that a task waits with; none where it asks in another way.
pub(crate) fn of(task: &Task) -> Vec<AskedQuestion> {
    let json = json_of(task).unwrap_or_default();
    serde_json::from_str(&json).unwrap_or_default()
}

/// The same as JSON text, as the agent wrote it.
pub(crate) fn json_of(task: &Task) -> Option<String> {
    let message = task.status.message.as_ref()?;
    let waits = task.status.state == TaskState::InputRequired;
    let mut parts = message.parts.iter().filter(|_| waits);
    parts.find_map(interrupts)
}

/// The questions in a part, if it is the one that has them.
pub(super) fn interrupts(part: &Part) -> Option<String> {
    let document: Document<'_> = serde_json::from_str(part.data_json()?).ok()?;
    Some(document.interrupts.get().to_owned())
}

/// What is put into a command to answer: a task and, where a text is not enough, data.
pub(crate) fn answering_arguments(task: &Task) -> String {
    let id = shell_word(&task.id);
    let questions = of(task);
    let takes_text = |question: &AskedQuestion| {
        question
            .schema
            .as_ref()
            .is_none_or(|schema| Kind::of(schema) == Kind::Text)
    };
    match &questions[..] {
        [] => format!("--task {id} \"...\""),
        [only] if takes_text(only) => format!("--task {id} \"...\""),
        questions => {
            let answers = questions.iter().map(|question| {
                let schema = question.schema.as_ref().unwrap_or(&Value::Null);
                let key = Value::from(question.id.as_str());
                format!("{key}:{}", Kind::of(schema).example())
            });
            let answers: Vec<String> = answers.collect();
            let data = format!(r#"{{"resume":{{{}}}}}"#, answers.join(","));
            format!("--task {id} --data {}", shell_word(&data))
        }
    }
}

/// A person at a terminal.
pub(crate) struct Terminal {
    input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
}

impl Terminal {
    /// The terminal that the command was typed at, if there is one to read and to write.
    pub(crate) fn find() -> Option<Self> {
        let both = io::stdin().is_terminal() && io::stderr().is_terminal();
        both.then(|| Self::new(BufReader::new(io::stdin()), io::stderr()))
    }

    pub(crate) fn new(
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> Self {
        Self {
            input: Box::new(input),
            output: Box::new(output),
        }
    }

    /// Asks the questions one after the other. The data part that answers them all; `None` where
    /// the person leaves them open.
    pub(crate) async fn answer(
        mut self,
        questions: Vec<AskedQuestion>,
    ) -> Result<(Self, Option<Part>), CliError> {
        // A read of a terminal cannot be given up, and must not keep Ctrl-C from being heard.
        let asking = tokio::task::spawn_blocking(move || {
            let answered = ask(&questions, &mut self.input, &mut self.output);
            (self, answered)
        });
        let broke = |error: &dyn std::fmt::Display| {
            CliError::new(
                Exit::InputRequired,
                format!("the terminal cannot be read: {error}"),
            )
        };
        let (this, answered) = asking.await.map_err(|error| broke(&error))?;
        let Some(resume) = answered.map_err(|error| broke(&error))? else {
            return Ok((this, None));
        };
        let part = Part::data_from_json(format!(r#"{{"resume":{resume}}}"#));
        let part = part.map_err(|error| broke(&error))?;
        Ok((this, Some(part)))
    }
}

/// What a schema asks for, as far as it matters to whoever types.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text,
    YesOrNo,
    OneOf(Vec<Value>),
    /// JSON that is no text, of this type if it is known.
    Json(Option<String>),
}

impl Kind {
    fn of(schema: &Value) -> Self {
        if let Some(choices) = choices(schema) {
            return Self::OneOf(choices);
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => Self::Text,
            Some("boolean") => Self::YesOrNo,
            Some(other) => Self::Json(Some(other.to_owned())),
            None if schema.as_object().is_none_or(serde_json::Map::is_empty) => Self::Text,
            None => Self::Json(None),
        }
    }

    /// An answer that could be one.
    fn example(&self) -> Value {
        match self {
            Self::YesOrNo => true.into(),
            Self::OneOf(choices) => choices.first().cloned().unwrap_or_default(),
            Self::Json(Some(of)) if of == "integer" || of == "number" => 1.into(),
            Self::Text | Self::Json(_) => "...".into(),
        }
    }

    fn prompt(&self) -> String {
        match self {
            Self::Text => "> ".to_owned(),
            Self::YesOrNo => "yes or no > ".to_owned(),
            Self::OneOf(choices) => format!("1 to {} > ", choices.len()),
            Self::Json(Some(of)) => format!("{} (JSON) > ", clean_line(of)),
            Self::Json(None) => "JSON > ".to_owned(),
        }
    }

    /// What was typed, as JSON text.
    fn read(&self, typed: &str) -> Result<String, String> {
        match self {
            Self::Text => Ok(Value::from(typed).to_string()),
            Self::YesOrNo => match &*typed.to_lowercase() {
                "y" | "yes" | "true" => Ok("true".to_owned()),
                "n" | "no" | "false" => Ok("false".to_owned()),
                _ => Err("type yes or no".to_owned()),
            },
            Self::OneOf(choices) => {
                let by_text = choices.iter().find(|choice| shown(choice) == typed);
                let by_number = || {
                    let number: usize = typed.parse().ok()?;
                    choices.get(number.checked_sub(1)?)
                };
                by_text
                    .or_else(by_number)
                    .map(Value::to_string)
                    .ok_or_else(|| {
                        format!(
                            "type a number from 1 to {}, or one of the texts",
                            choices.len()
                        )
                    })
            }
            Self::Json(_) => match serde_json::from_str::<&RawValue>(typed) {
                Ok(json) => Ok(json.get().to_owned()),
                Err(error) => Err(format!("this is not JSON ({error}); a text has quotes")),
            },
        }
    }
}

/// The values that an `enum`, or a `oneOf` of constants, allows.
fn choices(schema: &Value) -> Option<Vec<Value>> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return (!values.is_empty()).then(|| values.clone());
    }
    let of = schema.get("oneOf")?.as_array()?;
    let constants: Option<Vec<Value>> = of.iter().map(|one| one.get("const").cloned()).collect();
    constants.filter(|values| !values.is_empty())
}

/// A value as people read it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => clean(text).into_owned(),
        other => clean(&other.to_string()).into_owned(),
    }
}

/// Asks, and asks again what is no answer. The answers by the questions' ids as JSON; `None` at
/// the end of the input.
fn ask(
    questions: &[AskedQuestion],
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> io::Result<Option<String>> {
    let mut answers = Vec::new();
    for (index, question) in questions.iter().enumerate() {
        if questions.len() > 1 {
            writeln!(output, "{}. {}", index + 1, shown(&question.value))?;
        }
        let schema = question.schema.as_ref().unwrap_or(&Value::Null);
        let kind = Kind::of(schema);
        if let Kind::OneOf(choices) = &kind {
            for (index, choice) in choices.iter().enumerate() {
                writeln!(output, "  {}  {}", index + 1, shown(choice))?;
            }
        }
        let Some(answer) = ask_one(&kind, input, output)? else {
            return Ok(None);
        };
        answers.push(format!("{}:{answer}", Value::from(question.id.as_str())));
    }
    Ok(Some(format!("{{{}}}", answers.join(","))))
}

fn ask_one(
    kind: &Kind,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> io::Result<Option<String>> {
    loop {
        write!(output, "{}", kind.prompt())?;
        output.flush()?;
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line)? == 0 {
            writeln!(output)?;
            return Ok(None);
        }
        let problem = match std::str::from_utf8(&line).map(str::trim) {
            Ok("") => "type an answer, or Ctrl-D to leave the question open".to_owned(),
            Ok(typed) => match kind.read(typed) {
                Ok(answer) => return Ok(Some(answer)),
                Err(problem) => problem,
            },
            Err(_) => "this is not UTF-8".to_owned(),
        };
        writeln!(output, "{problem}")?;
    }
}

#[cfg(test)]
mod tests {
    use llamon_agent::server::hitl::{AskedQuestion, Question};
    use serde_json::{Value, json};

    use super::{Kind, ask};

    fn question(id: &str, text: &str, schema: Option<Value>) -> AskedQuestion {
        let question = Question::new(text);
        let question = match schema {
            Some(schema) => question.schema(schema),
            None => question,
        };
        AskedQuestion::new(id, question)
    }

    fn asked(questions: &[AskedQuestion], typed: &str) -> (Option<String>, String) {
        let mut output = Vec::new();
        let answers = ask(questions, &mut typed.as_bytes(), &mut output).unwrap();
        (answers, String::from_utf8(output).unwrap())
    }

    #[test]
    fn each_kind_takes_what_people_type() {
        let colors = json!({"enum": ["red", "2", 7, null]});
        let documented = json!({"oneOf": [{"const": "a"}, {"const": "b"}]});
        let cases = [
            (None, "a \"b\"\n", r#""a \"b\"""#),
            (None, "true\n", r#""true""#),
            (Some(json!({"type": "string"})), "\n 42 \n", r#""42""#),
            (Some(json!({"type": "boolean"})), "YES\n", "true"),
            (Some(json!({"type": "boolean"})), "perhaps\nn\n", "false"),
            (Some(colors.clone()), "1\n", r#""red""#),
            // What stands there counts more than the number before it.
            (Some(colors.clone()), "2\n", r#""2""#),
            (Some(colors.clone()), "0\n9\n3\n", "7"),
            (Some(colors), "null\n", "null"),
            (Some(documented), "b\n", r#""b""#),
            (Some(json!({"type": "integer"})), "two\n1.0e+2\n", "1.0e+2"),
            (Some(json!({"type": "array"})), "[1, 2]\n", "[1, 2]"),
            (Some(json!({"minimum": 3})), "4", "4"),
        ];
        for (schema, typed, expected) in cases {
            let (answers, _) = asked(&[question("q", "?", schema.clone())], typed);
            assert_eq!(
                answers,
                Some(format!(r#"{{"q":{expected}}}"#)),
                "{schema:?}"
            );
        }
    }

    #[test]
    fn several_questions_are_numbered_and_answered_by_id() {
        let questions = [
            question("a", "Go on?\u{1b}[31m", Some(json!({"type": "boolean"}))),
            question("b", "Which?", Some(json!({"enum": ["x", "y"]}))),
        ];
        let (answers, output) = asked(&questions, "y\n2\n");
        assert_eq!(answers.unwrap(), r#"{"a":true,"b":"y"}"#);
        let expected = "1. Go on?[31m\nyes or no > 2. Which?\n  1  x\n  2  y\n1 to 2 > ";
        assert_eq!(output, expected);
    }

    #[test]
    fn the_end_of_the_input_leaves_everything_open() {
        let questions = [question("a", "a?", None), question("b", "b?", None)];
        assert_eq!(asked(&questions, "one\n").0, None);
        assert_eq!(asked(&questions, "").0, None);
    }

    #[test]
    fn an_example_fits_its_schema() {
        let cases = [
            (json!(null), json!("...")),
            (json!({"type": "boolean"}), json!(true)),
            (json!({"enum": [3, 4]}), json!(3)),
            (json!({"type": "integer"}), json!(1)),
        ];
        for (schema, example) in cases {
            assert_eq!(Kind::of(&schema).example(), example);
        }
    }
}
