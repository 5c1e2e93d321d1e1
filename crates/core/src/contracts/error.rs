use std::fmt;

/// A contract that cannot be one: which, where in it, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractError {
    /// The contract's name, or its index where it has none.
    contract: Option<String>,
    field: &'static str,
    message: String,
}

impl ContractError {
    pub(super) fn of(contract: &str, field: &'static str, message: impl Into<String>) -> Self {
        Self {
            contract: Some(contract.to_owned()),
            field,
            message: message.into(),
        }
    }

    pub(super) fn document(message: impl Into<String>) -> Self {
        Self {
            contract: None,
            field: "",
            message: message.into(),
        }
    }

    /// The contract at fault, if it is one contract's fault.
    pub fn contract(&self) -> Option<&str> {
        self.contract.as_deref()
    }

    /// The field at fault (`schema`, `select`), or nothing.
    pub fn field(&self) -> &str {
        self.field
    }
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.contract {
            Some(contract) => write!(
                f,
                "the input contract {contract:?}: {}: {}",
                self.field, self.message
            ),
            None => write!(f, "the input contracts: {}", self.message),
        }
    }
}

impl std::error::Error for ContractError {}
