use std::sync::Arc;

/// Who asks. Every call that a request can make to a store or to the registry of running turns
/// takes one, and sees the tasks of that scope only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    tenant: Option<Arc<str>>,
    principal: Option<Arc<str>>,
}

impl Scope {
    /// The scope of a server without authentication: everybody shares it.
    pub const fn anonymous() -> Self {
        Self {
            tenant: None,
            principal: None,
        }
    }

    /// The scope of one principal of a tenant.
    pub fn new(tenant: impl Into<Arc<str>>, principal: impl Into<Arc<str>>) -> Self {
        Self {
            tenant: Some(tenant.into()),
            principal: Some(principal.into()),
        }
    }
}
