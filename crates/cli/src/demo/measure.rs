use llamon_agent::core::{Part, PartKind, Payload};

/// The three lists that an answer is seen as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Text,
    Data,
    Files,
}

/// How much of a payload is in one of the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) parts: usize,
    /// Of the parts' JSON.
    pub(super) bytes: usize,
}

impl List {
    pub(super) const ALL: [Self; 3] = [Self::Text, Self::Data, Self::Files];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Data => "data",
            Self::Files => "files",
        }
    }

    pub(super) fn amount(self, payload: &Payload) -> Amount {
        let parts = payload.parts().iter().filter(|part| self.has(part));
        let bytes: Vec<usize> = parts.map(|part| part.json().len()).collect();
        Amount {
            parts: bytes.len(),
            bytes: bytes.iter().sum(),
        }
    }

    fn has(self, part: &Part) -> bool {
        match part.kind() {
            PartKind::Text => self == Self::Text,
            PartKind::Data => self == Self::Data,
            PartKind::Raw | PartKind::Url => self == Self::Files,
        }
    }
}
