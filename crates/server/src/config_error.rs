use std::fmt;

use llamon_core::a2a::CardError;
use llamon_core::contracts::ContractError;
use llamon_core::{InvalidLimit, PolicyError};

use crate::backend::StoreError;

/// A server that cannot be what its configuration says. Nothing has been bound or written.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Policy,
    Card,
    Limit,
    Contracts,
    Address,
    Path,
    Store,
    Hitl,
    Push,
    Tenants,
    Authentication,
}

impl ConfigError {
    /// Whether the upstream parts policy is wrong.
    pub fn is_policy(&self) -> bool {
        self.kind == Kind::Policy
    }

    /// Whether the agent card lacks something.
    pub fn is_card(&self) -> bool {
        self.kind == Kind::Card
    }

    /// Whether a limit has a value that it cannot have.
    pub fn is_limit(&self) -> bool {
        self.kind == Kind::Limit
    }

    /// Whether the input contracts are wrong.
    pub fn is_contracts(&self) -> bool {
        self.kind == Kind::Contracts
    }

    /// Whether the address to listen on, or the public URL, cannot be used.
    pub fn is_address(&self) -> bool {
        self.kind == Kind::Address
    }

    /// Whether the path of an agent cannot be used.
    pub fn is_path(&self) -> bool {
        self.kind == Kind::Path
    }

    /// Whether the backend cannot be used.
    pub fn is_store(&self) -> bool {
        self.kind == Kind::Store
    }

    /// Whether the agent asks people and is not served so that it can.
    pub fn is_hitl(&self) -> bool {
        self.kind == Kind::Hitl
    }

    #[cfg(feature = "graph")]
    pub(crate) fn hitl(message: impl Into<String>) -> Self {
        Self::new(Kind::Hitl, message)
    }

    /// Whether the options of push notifications are wrong.
    pub fn is_push(&self) -> bool {
        self.kind == Kind::Push
    }

    /// Whether a tenant has a name that it cannot have.
    pub fn is_tenants(&self) -> bool {
        self.kind == Kind::Tenants
    }

    /// Whether what the server says of authentication is not what it does.
    pub fn is_authentication(&self) -> bool {
        self.kind == Kind::Authentication
    }

    pub(crate) fn authentication(message: impl Into<String>) -> Self {
        Self::new(Kind::Authentication, message)
    }

    pub(crate) fn tenants(message: impl Into<String>) -> Self {
        Self::new(Kind::Tenants, message)
    }

    pub(crate) fn push(message: impl Into<String>) -> Self {
        Self::new(Kind::Push, message)
    }

    pub(crate) fn store(error: StoreError) -> Self {
        Self::new(Kind::Store, format!("the backend cannot be used: {error}"))
    }

    pub(crate) fn card(message: impl Into<String>) -> Self {
        Self::new(Kind::Card, message)
    }

    pub(crate) fn contracts(message: impl Into<String>) -> Self {
        Self::new(Kind::Contracts, message)
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self::new(Kind::Limit, message)
    }

    pub(crate) fn address(message: impl Into<String>) -> Self {
        Self::new(Kind::Address, message)
    }

    pub(crate) fn path(message: impl Into<String>) -> Self {
        Self::new(Kind::Path, message)
    }

    pub(crate) fn no_url() -> Self {
        Self::address(
            "the agent card names no interface and the server does not know its public address; \
             call .public_url(\"https://host/path\") or add an AgentInterface to the card",
        )
    }

    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

impl From<PolicyError> for ConfigError {
    fn from(error: PolicyError) -> Self {
        Self::new(Kind::Policy, error.to_string())
    }
}

impl From<CardError> for ConfigError {
    fn from(error: CardError) -> Self {
        Self::new(Kind::Card, error.to_string())
    }
}

impl From<ContractError> for ConfigError {
    fn from(error: ContractError) -> Self {
        Self::contracts(error.to_string())
    }
}

impl From<InvalidLimit> for ConfigError {
    fn from(error: InvalidLimit) -> Self {
        Self::new(Kind::Limit, error.to_string())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What `main` prints when it returns the error.
        write!(f, "ConfigError({:?}: {})", self.kind, self.message)
    }
}

impl std::error::Error for ConfigError {}
