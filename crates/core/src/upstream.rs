use std::sync::Arc;

use crate::part::{Part, PartKind};

/// The data and file parts that arrived with the message that a turn answers, in arrival order.
///
/// Raw: nothing was selected from it and nothing was changed in it. Upstream text is not here,
/// it is the query. Cloning copies no parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upstream {
    // `None` instead of an empty slice: an agent at the head of a chain allocates nothing.
    parts: Option<Arc<[Part]>>,
}

impl Upstream {
    /// Nothing arrived. Does not allocate.
    pub const fn empty() -> Self {
        Self { parts: None }
    }

    /// The upstream of a message with `parts`: all but its text.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Self {
        let kept: Vec<Part> = parts
            .into_iter()
            .filter(|part| part.kind() != PartKind::Text)
            .cloned()
            .collect();
        if kept.is_empty() {
            return Self::empty();
        }
        Self {
            parts: Some(kept.into()),
        }
    }

    /// All data and file parts, in arrival order.
    pub fn parts(&self) -> &[Part] {
        self.parts.as_deref().unwrap_or_default()
    }

    /// The data parts, in arrival order.
    pub fn data(&self) -> impl Iterator<Item = &Part> {
        self.parts()
            .iter()
            .filter(|part| part.kind() == PartKind::Data)
    }

    /// The file parts, in arrival order.
    pub fn files(&self) -> impl Iterator<Item = &Part> {
        self.parts().iter().filter(|part| part.kind().is_file())
    }

    /// Whether no data and no file arrived.
    pub fn is_empty(&self) -> bool {
        self.parts().is_empty()
    }

    /// How many data and file parts arrived.
    pub fn len(&self) -> usize {
        self.parts().len()
    }
}
