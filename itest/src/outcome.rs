//! What a client has in the end, folded from the wire without the product's own fold.

use crate::mask::without_ids;
use crate::raw::Raw;

/// What parts say: `{ text, data, files }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The texts, joined with nothing between them.
    pub text: String,
    /// The JSON texts of the data parts' values.
    pub data: Vec<String>,
    /// The JSON texts of the file parts.
    pub files: Vec<String>,
    /// The JSON texts of the data and file parts as they stand among each other.
    pub order: Vec<String>,
}

impl Content {
    /// The content of parts.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a Raw>) -> Self {
        let mut content = Self::default();
        for part in parts {
            let fields = part.fields();
            // A content that is null is not there, except for data.
            let text = fields.get("text").filter(|text| text.text() != "null");
            if let Some(text) = text {
                let text: String = serde_json::from_str(text.text()).expect("a text");
                content.text.push_str(&text);
                continue;
            }
            match fields.get("data") {
                Some(data) => content.data.push(data.text().to_owned()),
                None => content.files.push(part.text().to_owned()),
            }
            content.order.push(part.text().to_owned());
        }
        content
    }

    /// Content that is expected, from JSON texts of data values and file parts.
    pub fn expect(text: &str, data: &[&str], files: &[&str]) -> Self {
        let own = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        Self {
            text: text.to_owned(),
            data: own(data),
            files: own(files),
            order: Vec::new(),
        }
    }

    /// Whether the two are the same response: equal text, equal data texts in order, equal
    /// files in order.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.text, &self.data, &self.files) == (&other.text, &other.data, &other.files)
    }
}

/// What became of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The task's id; `None` for a direct message.
    pub task_id: Option<String>,
    /// The task's state.
    pub state: String,
    /// The texts of the status message, ids in it masked.
    pub said: String,
    /// The artifacts: id and parts.
    pub artifacts: Vec<(String, Vec<Raw>)>,
    /// The parts of a direct message.
    pub message: Vec<Raw>,
}

impl Outcome {
    /// Of a task.
    pub fn of_task(task: &Raw) -> Self {
        let artifact = |artifact: &Raw| (artifact.string("artifactId"), artifact.list("parts"));
        let mut outcome = Self {
            task_id: Some(task.string("id")),
            artifacts: task.list("artifacts").iter().map(artifact).collect(),
            ..Self::default()
        };
        outcome.set_status(&task.at("status"));
        outcome
    }

    /// Of a result of SendMessage: a task or a message.
    pub fn of_result(result: &Raw) -> Self {
        if result.find("messageId").is_none() {
            return Self::of_task(result);
        }
        Self {
            message: result.list("parts"),
            ..Self::default()
        }
    }

    /// Takes in an event of a stream.
    ///
    /// # Panics
    /// When it is not exactly one of the four, or belongs to another task.
    pub fn apply(&mut self, event: &Raw) {
        let fields = event.fields();
        assert_eq!(fields.len(), 1, "one of four: {event:?}");
        let (name, value) = fields.first_key_value().expect("a field");
        match name.as_str() {
            "task" => *self = Self::of_task(value),
            "message" => self.message = value.list("parts"),
            "statusUpdate" => {
                assert_eq!(Some(value.string("taskId")), self.task_id);
                self.set_status(&value.at("status"));
            }
            "artifactUpdate" => {
                assert_eq!(Some(value.string("taskId")), self.task_id);
                self.add(value);
            }
            other => panic!("an event {other}"),
        }
    }

    /// What the artifacts or the message say, one after the other.
    pub fn content(&self) -> Content {
        let artifacts = self.artifacts.iter().flat_map(|(_, parts)| parts);
        Content::of(artifacts.chain(&self.message))
    }

    /// What each artifact says, by its id.
    pub fn by_artifact<'a>(&'a self) -> Vec<(&'a str, Content)> {
        let content = |(id, parts): &'a (String, Vec<Raw>)| (id.as_str(), Content::of(parts));
        self.artifacts.iter().map(content).collect()
    }

    fn set_status(&mut self, status: &Raw) {
        self.state = status.string("state");
        let parts = status.list("message.parts");
        self.said = without_ids(&Content::of(&parts).text);
    }

    fn add(&mut self, update: &Raw) {
        let id = update.string("artifact.artifactId");
        let parts = update.list("artifact.parts");
        let append = update.find("append").is_some_and(|it| it.text() == "true");
        match self.artifacts.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) if append => known.extend(parts),
            Some((_, known)) => *known = parts,
            None => {
                assert!(!append, "an append to {id}, which is not there");
                self.artifacts.push((id, parts));
            }
        }
    }
}
