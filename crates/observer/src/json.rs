//! A strict JSON reader over borrowed text: it allocates nothing, and reads members lazily.
//!
//! A general deserialiser serves this crate badly: of a doubled key the last must count, a lone
//! surrogate escape is U+FFFD and no error, a member of the wrong type is passed over, counts are
//! exact beyond 2^53, and one event must not cost an allocation. Here a value is a slice of the
//! text that is read again only when someone asks what is in it. The first reading is strict:
//! whatever it accepts `serde_json` accepts too, lone surrogates and its lower depth limit apart.
//! Later readings of the same text only look for its borders.

use std::borrow::Cow;

use memchr::memchr;

/// Deepest nesting that is read.
const MAX_DEPTH: u32 = 128;

/// One valid JSON value, as the text that it is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value<'a>(&'a str);

/// The content of a JSON string, escapes and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    raw: &'a str,
    escaped: bool,
}

/// The members of an object, in their order.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    cursor: Cursor<'a>,
    state: State,
}

/// The elements of a list, in their order.
#[derive(Debug)]
pub(crate) struct Elements<'a> {
    cursor: Cursor<'a>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    First,
    Later,
    Closed,
    Broken,
}

impl<'a> Value<'a> {
    /// Reads a text that is one JSON value. `None` if it is anything else.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut cursor = Cursor { text, at: 0, trusted: false };
        cursor.skip_separators();
        let value = cursor.value(0)?;
        cursor.is_at_end().then_some(value)
    }

    /// The members, if this is an object; otherwise none.
    pub(crate) fn members(self) -> Members<'a> {
        let mut cursor = self.cursor();
        let state = if cursor.take(b'{') { State::First } else { State::Closed };
        Members { cursor, state }
    }

    /// The last member with this name.
    pub(crate) fn member(self, name: &str) -> Option<Self> {
        self.members().filter(|(key, _)| *key.decode() == *name).last().map(|(_, value)| value)
    }

    /// The elements, if this is a list; otherwise none.
    pub(crate) fn elements(self) -> Elements<'a> {
        let mut cursor = self.cursor();
        let state = if cursor.take(b'[') { State::First } else { State::Closed };
        Elements { cursor, state }
    }

    /// The content, if this is a string.
    pub(crate) fn text(self) -> Option<Text<'a>> {
        let raw = self.0.strip_prefix('"')?.strip_suffix('"')?;
        Some(Text { raw, escaped: memchr(b'\\', raw.as_bytes()).is_some() })
    }

    /// The digits and signs, if this is a number.
    pub(crate) fn number(self) -> Option<&'a str> {
        self.0.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then_some(self.0)
    }

    /// The content, if this is a string with something in it.
    pub(crate) fn some_text(self) -> Option<Text<'a>> {
        self.text().filter(|text| !text.is_empty())
    }

    pub(crate) fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Whether this is `null`, `false`, `""`, `{}` or `[]`.
    pub(crate) fn is_nothing(self) -> bool {
        match self.0.as_bytes()[0] {
            b'"' => self.0.len() == 2,
            b'{' => self.members().next().is_none(),
            b'[' => self.elements().next().is_none(),
            _ => self.is_null() || self.0 == "false",
        }
    }

    /// The text that the value is written in.
    pub(crate) fn as_written(self) -> &'a str {
        self.0
    }

    fn cursor(self) -> Cursor<'a> {
        Cursor { text: self.0, at: 0, trusted: true }
    }
}

impl<'a> Text<'a> {
    pub(crate) fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// The text itself; copied only if it has escapes.
    pub(crate) fn decode(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut text = String::with_capacity(self.raw.len());
        self.pieces(|piece| text.push_str(piece));
        Cow::Owned(text)
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

impl<'a> Members<'a> {
    /// The members of a text that should be one JSON object; read [`Self::is_whole`] after the
    /// last one.
    pub(crate) fn of(text: &'a str) -> Self {
        let mut cursor = Cursor { text, at: 0, trusted: false };
        cursor.skip_separators();
        let state = if cursor.take(b'{') { State::First } else { State::Broken };
        Self { cursor, state }
    }

    /// Whether the text was one valid object and nothing else. False before the last member.
    pub(crate) fn is_whole(&self) -> bool {
        self.state == State::Closed && self.cursor.is_at_end()
    }

    fn step(&mut self) -> Option<(Text<'a>, Value<'a>)> {
        let cursor = &mut self.cursor;
        if !cursor.next_item(&mut self.state, b'}') {
            return None;
        }
        let start = cursor.at + 1;
        let escaped = cursor.string()?;
        let key = Text { raw: &cursor.text[start..cursor.at - 1], escaped };
        if !cursor.colon() {
            return None;
        }
        Some((key, cursor.value(1)?))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Text<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let member = self.step();
        if member.is_none() && self.state != State::Closed {
            self.state = State::Broken;
        }
        member
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.cursor.next_item(&mut self.state, b']') { self.cursor.value(1) } else { None }
    }
}

/// A place in a text. Every method that reads takes what it read, or answers `None` or false where
/// the text is not what it should be.
#[derive(Debug)]
struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// The text was read strictly before.
    trusted: bool,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_separators(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn is_at_end(&self) -> bool {
        let mut rest = self.text.as_bytes()[self.at..].iter();
        rest.all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// Goes to the next item of an object or list. False at its end, or where there is neither.
    fn next_item(&mut self, state: &mut State, close: u8) -> bool {
        if matches!(state, State::Closed | State::Broken) {
            return false;
        }
        self.skip_separators();
        if self.take(close) {
            *state = State::Closed;
            return false;
        }
        if *state == State::Later {
            if !self.take(b',') {
                return false;
            }
            self.skip_separators();
        }
        *state = State::Later;
        true
    }

    fn colon(&mut self) -> bool {
        self.skip_separators();
        let found = self.take(b':');
        self.skip_separators();
        found
    }

    fn value(&mut self, depth: u32) -> Option<Value<'a>> {
        let start = self.at;
        let found = if self.trusted { self.pass_value() } else { self.skip_value(depth) };
        found.then(|| Value(&self.text[start..self.at]))
    }

    /// Passes over a value of a text that is known to be valid.
    fn pass_value(&mut self) -> bool {
        let mut open = 0_u32;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    if self.string().is_none() {
                        return false;
                    }
                    if open == 0 {
                        return true;
                    }
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' if open == 1 => {
                    self.at += 1;
                    return true;
                }
                b'}' | b']' if open > 1 => open -= 1,
                b'}' | b']' | b',' | b' ' | b'\t' | b'\n' | b'\r' if open == 0 => return true,
                _ => {}
            }
            self.at += 1;
        }
        open == 0
    }

    /// Passes over a value, and makes sure that it is one.
    fn skip_value(&mut self, depth: u32) -> bool {
        match self.peek() {
            Some(b'"') => self.string().is_some(),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.list(depth + 1),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: u32) -> bool {
        let mut state = State::First;
        self.at += 1;
        if depth > MAX_DEPTH {
            return false;
        }
        while self.next_item(&mut state, b'}') {
            if self.string().is_none() || !self.colon() || !self.skip_value(depth) {
                return false;
            }
        }
        state == State::Closed
    }

    fn list(&mut self, depth: u32) -> bool {
        let mut state = State::First;
        self.at += 1;
        if depth > MAX_DEPTH {
            return false;
        }
        while self.next_item(&mut state, b']') {
            if !self.skip_value(depth) {
                return false;
            }
        }
        state == State::Closed
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        found
    }

    fn number(&mut self) -> bool {
        self.take(b'-');
        let whole = self.take(b'0') || self.digits();
        let fraction = !self.take(b'.') || self.digits();
        if !self.take(b'e') && !self.take(b'E') {
            return whole && fraction;
        }
        if !self.take(b'+') {
            self.take(b'-');
        }
        whole && fraction && self.digits()
    }

    fn digits(&mut self) -> bool {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at > start
    }

    /// Passes over a string; says whether it has escapes.
    #[inline]
    fn string(&mut self) -> Option<bool> {
        if !self.take(b'"') {
            return None;
        }
        let mut escaped = false;
        loop {
            self.at += plain_length(&self.text.as_bytes()[self.at..]);
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return None,
            }
        }
        self.at += 1;
        Some(escaped)
    }

    fn escape(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        match bytes.get(self.at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
            b'u' => {
                let digits = bytes.get(self.at + 2..self.at + 6)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                self.at += 6;
            }
            _ => return None,
        }
        Some(())
    }
}

/// How many bytes come before a quotation mark, a backslash or a control character.
#[inline]
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    let mut length = 0;
    while let Some(word) = bytes[length..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        // In each of these the lowest high bit that is set marks the first such byte.
        let equal = |byte: u8| {
            let difference = word ^ (ONES * u64::from(byte));
            difference.wrapping_sub(ONES) & !difference
        };
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (equal(b'"') | equal(b'\\') | control) & HIGH_BITS;
        if found != 0 {
            return length + found.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    let rest = &bytes[length..];
    length + rest.iter().position(is_special).unwrap_or(rest.len())
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

#[cfg(test)]
mod tests;
