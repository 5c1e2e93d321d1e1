use std::fmt;
use std::path::Path;

/// Why a server's TLS cannot be what its files say.
#[derive(Clone, PartialEq, Eq)]
pub struct TlsError {
    message: String,
}

impl TlsError {
    pub(super) fn of_file(path: &Path, what: &str, why: impl fmt::Display) -> Self {
        Self {
            message: format!("{what} in {} cannot be used: {why}", path.display()),
        }
    }

    pub(super) fn of_options(message: String) -> Self {
        Self { message }
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What `main` prints when it returns the error.
        write!(f, "TlsError({})", self.message)
    }
}

impl std::error::Error for TlsError {}
