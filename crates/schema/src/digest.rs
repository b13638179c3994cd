//! SHA-256 digests as records write them: 64 lower-case hexadecimal digits.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

use crate::error::CanonicalError;
use crate::json::digest_bytes;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of bytes as they are.
    ///
    /// ```
    /// let digest = streamgauge_schema::Digest::of(b"");
    /// assert!(digest.to_string().starts_with("e3b0c44298fc1c14"));
    /// ```
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of bytes that never lie together in memory: of all parts, one after the other.
    ///
    /// ```
    /// use streamgauge_schema::Digest;
    /// assert_eq!(Digest::of_parts(["stream", "gauge"]), Digest::of(b"streamgauge"));
    /// ```
    #[must_use]
    pub fn of_parts<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The digest of a value's canonical bytes ([`digest_bytes`]).
    ///
    /// # Errors
    /// When the value has no canonical bytes.
    pub fn of_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, CanonicalError> {
        Ok(Self::of(&digest_bytes(value)?))
    }

    /// The first `digits` hexadecimal digits, at most 64.
    #[must_use]
    pub fn prefix(&self, digits: usize) -> String {
        let mut text = self.to_string();
        text.truncate(digits);
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(bytes))
    }
}

/// The digest of bytes that come piece by piece, and are used meanwhile.
///
/// ```
/// use streamgauge_schema::{Digest, Digester};
/// let mut digester = Digester::default();
/// digester.add(b"stream");
/// digester.add(b"gauge");
/// assert_eq!(digester.finish(), Digest::of(b"streamgauge"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Digester(Sha256);

impl Digester {
    /// Takes the next piece.
    pub fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The digest of all pieces.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).expect("digits are ASCII"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            de::Error::custom(format_args!(
                "{text:?} is not a SHA-256 digest of 64 lower-case hexadecimal digits"
            ))
        })
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Digest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A SHA-256 digest.",
            "pattern": "^[0-9a-f]{64}$",
        })
    }
}
