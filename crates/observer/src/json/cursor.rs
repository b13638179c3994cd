//! The borders of JSON: where a value, a string or a member begins and ends.
//!
//! The small steps are inlined always: the place is then kept in a register from one step to the next,
//! and the chain of steps is what reading an event costs.

use crate::json::{Text, Value};

/// Deepest nesting that is read.
const MAX_DEPTH: u32 = 128;

/// A place in a text. Every method that reads takes what it read, or answers `None` or false where
/// the text is not what it should be.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// The text was read strictly before.
    trusted: bool,
    /// Objects and lists that are open.
    depth: u32,
}

/// How far the items of an object or list have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    First,
    Later,
    Closed,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text that may be anything.
    pub(super) fn strict(text: &'a str) -> Self {
        Self { text, at: 0, trusted: false, depth: 0 }
    }

    /// At the beginning of a text that is known to be valid.
    pub(super) fn trusting(text: &'a str) -> Self {
        Self { text, at: 0, trusted: true, depth: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline(always)]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[inline(always)]
    pub(super) fn skip_separators(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    pub(super) fn is_at_end(&self) -> bool {
        let mut rest = self.text.as_bytes()[self.at..].iter();
        rest.all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// Goes to the next item of an object or list. False at its end, or where there is neither.
    #[inline(always)]
    pub(super) fn next_item(&mut self, state: &mut State, close: u8) -> bool {
        self.skip_separators();
        match (*state, self.peek()) {
            (State::Later, Some(b',')) => {
                self.at += 1;
                self.skip_separators();
                true
            }
            (State::First | State::Later, Some(byte)) if byte == close => {
                self.at += 1;
                *state = State::Closed;
                false
            }
            (State::First, Some(_)) => {
                *state = State::Later;
                true
            }
            _ => false,
        }
    }

    #[inline(always)]
    pub(super) fn colon(&mut self) -> bool {
        self.skip_separators();
        let found = self.take(b':');
        self.skip_separators();
        found
    }

    /// Whether the next value is an object.
    pub(crate) fn is_at_object(&self) -> bool {
        self.peek() == Some(b'{')
    }

    /// The next value.
    #[inline]
    pub(crate) fn value(&mut self) -> Option<Value<'a>> {
        self.value_by(Self::pass)
    }

    /// The next value, over which `pass` passes.
    #[inline]
    pub(crate) fn value_by(&mut self, pass: impl FnOnce(&mut Self) -> bool) -> Option<Value<'a>> {
        let start = self.at;
        pass(self).then(|| Value(&self.text[start..self.at]))
    }

    /// Passes over the next value. If it is an object, hands out the name of each of its members;
    /// `each` has to pass over the value.
    #[inline]
    pub(crate) fn walk_members(&mut self, mut each: impl FnMut(&str, &mut Self) -> bool) -> bool {
        if !self.is_at_object() {
            return self.pass();
        }
        let mut state = State::First;
        if !self.open() {
            return false;
        }
        while self.next_item(&mut state, b'}') {
            let Some(key) = self.text() else { return false };
            if !self.colon() || !each(&key.decode(), self) {
                return false;
            }
        }
        self.depth -= 1;
        state == State::Closed
    }

    /// Passes over the next value. If it is a list, hands out the place of each of its elements;
    /// `each` has to pass over the element.
    #[inline]
    pub(crate) fn walk_elements(&mut self, mut each: impl FnMut(u64, &mut Self) -> bool) -> bool {
        if self.peek() != Some(b'[') {
            return self.pass();
        }
        let mut state = State::First;
        if !self.open() {
            return false;
        }
        let mut place = 0;
        while self.next_item(&mut state, b']') {
            if !each(place, self) {
                return false;
            }
            place += 1;
        }
        self.depth -= 1;
        state == State::Closed
    }

    /// Passes over the next value.
    #[inline(always)]
    pub(crate) fn pass(&mut self) -> bool {
        match self.peek() {
            Some(b'"') => self.string().is_some(),
            _ if self.trusted => self.pass_trusted(),
            _ => self.pass_strictly(),
        }
    }

    /// The next value, which must be a string.
    #[inline(always)]
    pub(super) fn text(&mut self) -> Option<Text<'a>> {
        let start = self.at + 1;
        let escaped = self.string()?;
        Some(Text { raw: &self.text[start..self.at - 1], escaped })
    }

    /// Passes over a value of a text that is known to be valid.
    fn pass_trusted(&mut self) -> bool {
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
    fn pass_strictly(&mut self) -> bool {
        match self.peek() {
            Some(b'"') => self.string().is_some(),
            Some(b'{') => self.walk_members(|_, value| value.pass_strictly()),
            Some(b'[') => self.walk_elements(|_, value| value.pass_strictly()),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.number(),
        }
    }

    /// Takes the first byte of an object or list. False if it is nested too deep.
    fn open(&mut self) -> bool {
        self.at += 1;
        self.depth += 1;
        self.depth <= MAX_DEPTH
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
    #[inline(always)]
    fn string(&mut self) -> Option<bool> {
        /// Nearly all names, and most other strings, end within so many words.
        const WORDS: usize = 8;
        if !self.take(b'"') {
            return None;
        }
        let bytes = self.text.as_bytes();
        for _ in 0..WORDS {
            let Some(word) = bytes[self.at..].first_chunk::<8>() else { break };
            let found = special_bytes(*word);
            if found == 0 {
                self.at += word.len();
                continue;
            }
            self.at += found.trailing_zeros() as usize / 8;
            if bytes[self.at] != b'"' {
                break;
            }
            self.at += 1;
            return Some(false);
        }
        self.rest_of_string()
    }

    /// Passes over what is left of a string of any length; says whether that has escapes.
    #[inline(never)]
    fn rest_of_string(&mut self) -> Option<bool> {
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

    /// Whether all that is left is what may stand between quotation marks; says whether it has
    /// escapes.
    #[inline]
    pub(super) fn rest_is_string_body(&mut self) -> Option<bool> {
        let mut escaped = false;
        loop {
            self.at += plain_length(&self.text.as_bytes()[self.at..]);
            match self.peek() {
                None => return Some(escaped),
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return None,
            }
        }
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
fn plain_length(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    // One block takes a few vector instructions.
    let is_plain = |block: &&[u8]| !block.iter().fold(false, |any, byte| any | is_special(*byte));
    let mut length = bytes.chunks_exact(BLOCK).take_while(is_plain).count() * BLOCK;
    while let Some(word) = bytes[length..].first_chunk::<8>() {
        let found = special_bytes(*word);
        if found != 0 {
            return length + found.trailing_zeros() as usize / 8;
        }
        length += word.len();
    }
    let rest = &bytes[length..];
    length + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

/// A number whose lowest set bit is in the first special byte; 0 if there is none.
#[inline]
fn special_bytes(bytes: [u8; 8]) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    let word = u64::from_le_bytes(bytes);
    // In each of these the lowest high bit that is set marks the first such byte.
    let equal = |byte: u8| {
        let difference = word ^ (ONES * u64::from(byte));
        difference.wrapping_sub(ONES) & !difference
    };
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (equal(b'"') | equal(b'\\') | control) & HIGH_BITS
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}
