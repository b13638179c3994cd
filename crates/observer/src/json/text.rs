//! JSON strings, and what their escapes stand for.

use std::borrow::Cow;

use memchr::memchr;

use crate::json::Cursor;

/// The content of a JSON string, escapes and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    pub(super) raw: &'a str,
    /// Whether there are any escapes.
    pub(super) escaped: bool,
}

impl<'a> Text<'a> {
    /// The text between the quotation marks of a valid string.
    pub(super) fn of(raw: &'a str) -> Self {
        Self { raw, escaped: memchr(b'\\', raw.as_bytes()).is_some() }
    }

    /// What stands between two quotation marks, if that makes a valid string.
    #[inline]
    pub(crate) fn between_marks(raw: &'a str) -> Option<Self> {
        Cursor::strict(raw).rest_is_string_body().map(|escaped| Self { raw, escaped })
    }

    /// Where its bytes are in memory, and how many there are.
    pub(crate) fn address(self) -> (usize, usize) {
        (self.raw.as_ptr().addr(), self.raw.len())
    }

    pub(crate) fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// The text itself; copied only if it has escapes.
    #[inline]
    pub(crate) fn decode(self) -> Cow<'a, str> {
        if self.escaped { Cow::Owned(self.unescaped()) } else { Cow::Borrowed(self.raw) }
    }

    fn unescaped(self) -> String {
        let mut text = String::with_capacity(self.raw.len());
        self.pieces(|piece| text.push_str(piece));
        text
    }

    /// Hands out the text in pieces: runs without escapes, and what each escape stands for. A lone
    /// surrogate stands for U+FFFD.
    pub(crate) fn pieces(self, mut each: impl FnMut(&str)) {
        let mut rest = self.raw;
        if self.escaped {
            while let Some(escape) = memchr(b'\\', rest.as_bytes()) {
                if escape > 0 {
                    each(&rest[..escape]);
                }
                let (character, length) = unescape(&rest[escape..]);
                each(character.encode_utf8(&mut [0; 4]));
                rest = &rest[escape + length..];
            }
        }
        if !rest.is_empty() {
            each(rest);
        }
    }
}

/// What the escape at the beginning of a valid text stands for, and how long it is.
fn unescape(text: &str) -> (char, usize) {
    let simple = match text.as_bytes()[1] {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unescape_unit(text),
        other => char::from(other),
    };
    (simple, 2)
}

fn unescape_unit(text: &str) -> (char, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(0).unwrap_or(0xfffd);
    if let Some(character) = char::from_u32(first) {
        return (character, 6);
    }
    match (first, unit(6)) {
        (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) => {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}
