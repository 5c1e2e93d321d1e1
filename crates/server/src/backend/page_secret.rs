use std::fmt;

use ring::rand::{SecureRandom as _, SystemRandom};

use super::StoreError;

/// What page tokens are sealed with. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PageSecret([u8; Self::BYTES]);

impl PageSecret {
    /// How long it is.
    pub const BYTES: usize = 32;

    /// A new one.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the system gives no random numbers.
    pub fn random() -> Result<Self, StoreError> {
        let mut bytes = [0; Self::BYTES];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| {
            StoreError::Failed("the system gives no random numbers for a secret".to_owned())
        })?;
        Ok(Self(bytes))
    }

    /// One that was stored.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The secret itself, to store it.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Debug for PageSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageSecret(..)")
    }
}
