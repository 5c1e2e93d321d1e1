use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};
use subtle::ConstantTimeEq as _;

use crate::config_error::ConfigError;

/// What a key must hold at least, as far as its length tells. Fewer could be guessed from a hash
/// that was stolen, as SHA-256 is quick.
const MIN_KEY_BITS: usize = 128;
/// A key is a header's value.
const MAX_KEY_BYTES: usize = 512;
/// Of what is no choice of single characters, such as a password of one letter.
const MIN_DISTINCT: usize = 8;
const GENERATED_BYTES: usize = 32;
/// What keys made here begin with, so that a scanner for leaked secrets can find them.
const PREFIX: &str = "llk_";
const HASH_PREFIX: &str = "sha256:";

/// A secret that a caller shows. `Debug` does not tell it; servers keep its [`KeyHash`] instead.
///
/// ```
/// use llamon_server::auth::ApiKey;
///
/// let key = ApiKey::generate()?;
/// // Once, for the caller:
/// let for_alice: &str = key.expose();
/// // For the server:
/// let line = key.hash().to_string();
/// assert!(line.starts_with("sha256:") && !line.contains(for_alice));
/// # Ok::<(), llamon_server::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// A new key of 256 random bits.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn generate() -> Result<Self, ConfigError> {
        let mut bytes = [0; GENERATED_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            ConfigError::authentication("the system gives no random numbers to make a key of")
        })?;
        Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    /// A key that there is already. It must be random: its length is all that can be checked here.
    ///
    /// # Errors
    /// When it holds less than 128 bits, is longer than 512 bytes, or cannot stand in a header.
    pub fn new(text: impl Into<String>) -> Result<Self, ConfigError> {
        let text = text.into();
        match why_not(&text) {
            None => Ok(Self(text)),
            // Without the key, which may be a good one of somebody else's.
            Some(why) => Err(ConfigError::authentication(format!(
                "the API key cannot be used: {why}; ApiKey::generate() and `llamon key new` make \
                 one"
            ))),
        }
    }

    /// The secret.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What a server keeps of it.
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(&self.0)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(hidden)")
    }
}

/// The SHA-256 of an [`ApiKey`], as text `sha256:` and 64 hexadecimal digits. Nobody gets the key
/// from it, so it may stand in a configuration file. Keys are random, so that nothing slower than
/// SHA-256 is needed, as it would be for passwords.
///
/// ```
/// use llamon_server::auth::{ApiKey, KeyHash};
///
/// let key = ApiKey::generate()?;
/// let read: KeyHash = key.hash().to_string().parse()?;
/// assert_eq!(read, key.hash());
/// # Ok::<(), llamon_server::ConfigError>(())
/// ```
#[derive(Clone, Copy)]
pub struct KeyHash([u8; digest::SHA256_OUTPUT_LEN]);

impl KeyHash {
    /// Of whatever somebody shows.
    pub(super) fn of(text: &str) -> Self {
        let mut hash = [0; digest::SHA256_OUTPUT_LEN];
        hash.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
        Self(hash)
    }
}

/// In a time that does not depend on where they differ.
impl PartialEq for KeyHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for KeyHash {}

impl FromStr for KeyHash {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let read = || {
            let digits = text.strip_prefix(HASH_PREFIX)?.as_bytes();
            let mut hash = [0; digest::SHA256_OUTPUT_LEN];
            if digits.len() != hash.len() * 2 {
                return None;
            }
            for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
                for digit in pair {
                    let value = char::from(*digit).to_digit(16)?;
                    *byte = *byte << 4 | u8::try_from(value).ok()?;
                }
            }
            Some(Self(hash))
        };
        // Without the text: whoever writes the key itself here by mistake must not find it in a log.
        read().ok_or_else(|| {
            ConfigError::authentication(format!(
                "the hash of an API key has {} bytes and is none; it is \"{HASH_PREFIX}\" and {} \
                 hexadecimal digits, as `llamon key new` prints it",
                text.len(),
                digest::SHA256_OUTPUT_LEN * 2
            ))
        })
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HASH_PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyHash({self})")
    }
}

fn why_not(text: &str) -> Option<String> {
    if text.len() > MAX_KEY_BYTES {
        let length = text.len();
        return Some(format!(
            "it has {length} bytes, and at most {MAX_KEY_BYTES} are taken"
        ));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some("it has other characters than visible ASCII".to_owned());
    }
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bits = text.len() * if is_hex { 4 } else { 6 };
    if bits < MIN_KEY_BITS {
        return Some(format!(
            "its {} characters hold {bits} bits at most, and at least {MIN_KEY_BITS} are needed \
             (22 characters of base64url, or 32 hexadecimal digits)",
            text.len()
        ));
    }
    let mut distinct: Vec<u8> = text.bytes().collect();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct.len() < MIN_DISTINCT).then(|| {
        format!(
            "it is made of {} different characters, so it is not random",
            distinct.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{ApiKey, KeyHash};

    #[test]
    fn a_key_that_could_be_guessed_is_refused_without_telling_it() {
        let cases = [
            ("0123456789abcdef0123456789abcdef", None),
            ("0123456789abcdef0123456789abcde", Some("124 bits")),
            ("abcdefghijklmnopqrstuv", None),
            ("abcdefghijklmnopqrstu", Some("126 bits")),
            ("", Some("0 bits")),
            ("abcabcabcabcabcabcabcabcabcabcabcabc", Some("3 different")),
            ("abcdefghijklmnop qrstuvwxyz", Some("visible ASCII")),
            ("abcdefghijklmnopqrstuvwxyzä", Some("visible ASCII")),
        ];
        for (text, expected) in cases {
            let error = ApiKey::new(text).err().map(|error| error.to_string());
            match (&error, expected) {
                (None, None) => {}
                (Some(error), Some(expected)) => {
                    assert!(error.contains(expected), "{text}: {error}");
                    assert!(text.is_empty() || !error.contains(text), "{error}");
                }
                _ => panic!("{text}: {error:?}"),
            }
        }
        let long = "0123456789abcdef".repeat(33);
        let error = ApiKey::new(long).unwrap_err().to_string();
        assert!(error.contains("at most 512"), "{error}");
    }

    #[test]
    fn keys_differ_and_are_good_enough_for_themselves() {
        let (one, other) = (ApiKey::generate().unwrap(), ApiKey::generate().unwrap());
        assert_ne!(one.expose(), other.expose());
        assert_ne!(one.hash(), other.hash());
        let again = ApiKey::new(one.expose()).unwrap();
        assert_eq!(again.hash(), one.hash());
        assert!(!format!("{one:?}").contains(one.expose()));
    }

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        // The example of FIPS 180-4.
        let hash = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(KeyHash::of("abc").to_string(), hash);
        assert_eq!(hash.parse::<KeyHash>().unwrap(), KeyHash::of("abc"));
        assert_eq!(
            hash.to_uppercase()
                .replace("SHA", "sha")
                .parse::<KeyHash>()
                .unwrap(),
            KeyHash::of("abc")
        );
        for wrong in [
            "",
            "sha256:",
            &hash[7..],
            &hash[..70],
            "sha256:zz",
            &format!("{hash}0"),
        ] {
            let error = wrong.parse::<KeyHash>().unwrap_err();
            assert!(error.is_authentication(), "{wrong}");
        }
        let not_hex = hash.replace('b', "g");
        assert!(not_hex.parse::<KeyHash>().is_err());
    }
}
