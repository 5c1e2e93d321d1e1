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

    /// The scope of everybody of a tenant, on a server without authentication.
    pub fn of_tenant(tenant: impl Into<Arc<str>>) -> Self {
        Self {
            tenant: Some(tenant.into()),
            principal: None,
        }
    }

    /// The scope of a principal of no tenant.
    pub fn of_principal(principal: impl Into<Arc<str>>) -> Self {
        Self {
            tenant: None,
            principal: Some(principal.into()),
        }
    }

    /// What keeps names of this scope apart from those of others; empty where there is but one.
    #[cfg(feature = "graph")]
    pub(crate) fn prefix(&self) -> String {
        match (&self.tenant, &self.principal) {
            (None, None) => String::new(),
            (tenant, principal) => {
                // As JSON, so that no choice of names makes two scopes one.
                let names = serde_json::json!([tenant.as_deref(), principal.as_deref()]);
                format!("{names}/")
            }
        }
    }

    /// The tenant, if there is one. For backends that keep scopes elsewhere than in memory.
    pub fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// The principal; none where there is no authentication.
    pub fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }
}
