use std::collections::BTreeMap;

use llamon_core::PartKind;
use llamon_core::a2a::{Message, Role};
use serde_json::value::RawValue;

use super::question::{AskedQuestion, Document, ResumeDocument};
use super::schema;
use crate::turn::{join_answers, turn_number};

/// What a task's messages say when some of them are answers to questions.
#[derive(Debug)]
pub(crate) struct Conversation {
    /// The message that the agent works on: the last one that answers no question.
    pub(crate) message: Message,
    /// What was said before it.
    pub(crate) before: Vec<Message>,
    /// The turn that began with it.
    pub(crate) run: usize,
    /// The answers since, by their questions' ids, as JSON texts.
    pub(crate) answers: Vec<(String, String)>,
    /// Why the newest message is not the answer that it should be.
    pub(crate) problem: Option<Problem>,
}

/// A message that does not answer what was asked.
#[derive(Debug)]
pub(crate) struct Problem {
    /// For whoever answered.
    pub(crate) reason: String,
    /// What is still asked.
    pub(crate) open: Vec<AskedQuestion>,
}

impl Conversation {
    /// Reads what was said: `history`, oldest first, and the newest message.
    pub(crate) fn read(history: &[Message], newest: &Message) -> Self {
        let mut began = 0;
        let mut open: Vec<AskedQuestion> = Vec::new();
        let mut answers: Vec<(String, String)> = Vec::new();
        let mut problem = None;
        let said: Vec<&Message> = history.iter().chain([newest]).collect();
        for (index, message) in said.iter().enumerate() {
            if message.role == Role::Agent {
                open = asked(message).unwrap_or_default();
                continue;
            }
            problem = None;
            if open.is_empty() {
                began = index;
                answers.clear();
                continue;
            }
            match read_answers(message, &open, &answers) {
                Ok(given) => {
                    open.retain(|question| given.iter().all(|(id, _)| *id != question.id));
                    answers.extend(given);
                }
                Err(reason) => {
                    let open = open.clone();
                    problem = Some(Problem { reason, open });
                }
            }
        }
        let mut before: Vec<Message> = said.iter().take(began).map(|m| (*m).clone()).collect();
        let run = turn_number(&before);
        let asking = said.get(began).copied().unwrap_or(newest);
        Self {
            message: join_answers(&mut before, asking),
            before,
            run,
            answers,
            problem,
        }
    }
}

/// The questions that an agent's message asks.
fn asked(message: &Message) -> Option<Vec<AskedQuestion>> {
    let data = message
        .parts
        .iter()
        .filter(|part| part.kind() == PartKind::Data);
    let mut documents =
        data.filter_map(|part| serde_json::from_str::<Document>(part.content_json()).ok());
    documents.next().map(|document| document.interrupts)
}

/// The answers in a message, by question.
///
/// # Errors
/// Why it answers nothing, for whoever sent it.
fn read_answers(
    message: &Message,
    open: &[AskedQuestion],
    answered: &[(String, String)],
) -> Result<Vec<(String, String)>, String> {
    let data = message
        .parts
        .iter()
        .filter(|part| part.kind() == PartKind::Data);
    let mut documents =
        data.filter_map(|part| serde_json::from_str::<ResumeDocument>(part.content_json()).ok());
    let Some(document) = documents.next() else {
        return read_text(&message.query(), open);
    };
    if documents.next().is_some() {
        return Err(
            "The message has two answers; send one data part {\"resume\": ...}, with the ids of \
             several questions as its keys."
                .to_owned(),
        );
    }
    let given = document.resume.get();
    if let Some(by_id) = read_by_id(given, open, answered)? {
        return Ok(by_id);
    }
    match open {
        [only] => Ok(vec![checked(only, given)?]),
        _ => Err(name_one(open)),
    }
}

/// The answers by their questions' ids, if the object's keys are that.
fn read_by_id(
    given: &str,
    open: &[AskedQuestion],
    answered: &[(String, String)],
) -> Result<Option<Vec<(String, String)>>, String> {
    let Ok(by_key) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(given) else {
        return Ok(None);
    };
    let find = |key: &str| open.iter().find(|question| question.id == key);
    let unknown: Vec<&str> = by_key
        .keys()
        .map(String::as_str)
        .filter(|k| find(k).is_none())
        .collect();
    let was_asked = |key: &&str| answered.iter().any(|(id, _)| id == key);
    if unknown.len() == by_key.len() && !unknown.iter().any(was_asked) {
        // No key is an id: with one question open, the object itself is the answer.
        return Ok(None);
    }
    if let Some(unknown) = unknown.first() {
        let shown: String = unknown.chars().take(80).collect();
        return Err(format!(
            "No open question has the id {shown:?}. {}",
            name_one(open)
        ));
    }
    let pairs = by_key
        .iter()
        .filter_map(|(key, value)| Some((find(key)?, value.get())));
    pairs
        .map(|(question, value)| checked(question, value))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Plain text as the answer to the only question.
fn read_text(text: &str, open: &[AskedQuestion]) -> Result<Vec<(String, String)>, String> {
    let [only] = open else {
        return Err(name_one(open));
    };
    if text.trim().is_empty() {
        return Err(
            "The message has no answer; send a text, or a data part {\"resume\": ...}.".to_owned(),
        );
    }
    let token = serde_json::Value::from(text).to_string();
    match checked(only, &token) {
        Ok(answer) => Ok(vec![answer]),
        // `true` and `42` are what people type where a boolean or a number is asked for.
        Err(reason) => match serde_json::from_str::<Box<RawValue>>(text.trim()) {
            Ok(value) => Ok(vec![checked(only, value.get())?]),
            Err(_) => Err(reason),
        },
    }
}

fn checked(question: &AskedQuestion, given: &str) -> Result<(String, String), String> {
    if let Some(schema) = &question.schema {
        schema::check(given, schema)
            .map_err(|reason| format!("The answer does not fit: {reason}."))?;
    }
    Ok((question.id.clone(), given.to_owned()))
}

fn name_one(open: &[AskedQuestion]) -> String {
    let ids: Vec<String> = open
        .iter()
        .map(|question| format!("{:?}", question.id))
        .collect();
    format!(
        "{} questions are open; answer by id with a data part {{\"resume\": {{id: answer}}}}. The \
         ids are {}.",
        open.len(),
        ids.join(", ")
    )
}
