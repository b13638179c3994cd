//! Texts that every event repeats from the beginning, told apart without keeping them.

use crate::json::Text;

/// The text that a choice had with the event before: its length and a digest of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SoFar {
    bytes: usize,
    digest: u64,
}

/// What a text is to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The same.
    None,
    /// It goes on after so many bytes.
    Grown {
        /// Bytes that were there before.
        from: usize,
    },
    /// It begins otherwise.
    Other,
}

impl Default for SoFar {
    fn default() -> Self {
        Self { bytes: 0, digest: FNV_OFFSET }
    }
}

// The 64-bit FNV-1a digest: the same for a text however it is cut into pieces.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

impl SoFar {
    /// Takes the next text; says what it is to the one before.
    pub(crate) fn replace(&mut self, text: Text<'_>) -> Change {
        let before = *self;
        let mut begins_alike = before.bytes == 0;
        *self = Self::default();
        text.pieces(|piece| {
            let (old, new) = piece
                .split_at_checked(before.bytes - self.bytes.min(before.bytes))
                .unwrap_or((piece, ""));
            self.push(old);
            begins_alike |= *self == before;
            self.push(new);
        });
        match self.bytes {
            _ if !begins_alike => Change::Other,
            bytes if bytes == before.bytes => Change::None,
            _ => Change::Grown { from: before.bytes },
        }
    }

    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        }
        self.bytes += text.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;

    #[test]
    fn texts_stay_grow_or_change() {
        use Change::{Grown, None, Other};
        let mut so_far = SoFar::default();
        for (json, expected) in [
            (r#""""#, None),
            (r#""a""#, Grown { from: 0 }),
            (r#""a""#, None),
            (r#""\u0061bc""#, Grown { from: 1 }),
            (r#""ab\u0063\n\"d""#, Grown { from: 3 }),
            (r#""abc\n\"dé""#, Grown { from: 6 }),
            (r#""abc\n\"d\u00e9""#, None),
            (r#""abc\n\"dè""#, Other),
            (r#""abc""#, Other),
            (r#""""#, Other),
            (r#""\ud83d""#, Grown { from: 0 }),
            (r#""\ud83d\ude0a""#, Other),
        ] {
            let text = Value::parse(json).unwrap().text().unwrap();
            assert_eq!(so_far.replace(text), expected, "{json}");
        }
    }
}
