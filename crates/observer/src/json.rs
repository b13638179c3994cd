//! A strict JSON reader over borrowed text: it allocates nothing, and reads members lazily.
//!
//! A general deserialiser serves this crate badly: of a doubled key the last must count, a lone
//! surrogate escape is U+FFFD and no error, a member of the wrong type is passed over, counts are
//! exact beyond 2^53, and one event must not cost an allocation. Here a value is a slice of the
//! text that is read again only when someone asks what is in it. The first reading is strict:
//! whatever it accepts `serde_json` accepts too, lone surrogates and its lower depth limit apart.
//! Later readings of the same text only look for its borders.

mod cursor;
mod text;

use cursor::{Cursor, State};
pub(crate) use text::Text;

/// One valid JSON value, as the text that it is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value<'a>(&'a str);

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

impl<'a> Value<'a> {
    /// Reads a text that is one JSON value. `None` if it is anything else.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut cursor = Cursor::strict(text);
        cursor.skip_separators();
        let value = cursor.value(0)?;
        cursor.is_at_end().then_some(Self(value))
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

    /// Hands out the place and the members of every element that is an object, if this is a list.
    /// Faster than to find the end of each element before its members are read.
    pub(crate) fn objects(self, mut each: impl FnMut(u64, &mut Members<'a>)) {
        let Elements { mut cursor, mut state } = self.elements();
        for place in 0.. {
            if !cursor.next_item(&mut state, b']') {
                return;
            }
            if cursor.take(b'{') {
                let mut members = Members { cursor, state: State::First };
                each(place, &mut members);
                members.by_ref().for_each(drop);
                cursor = members.cursor;
            } else {
                cursor.pass_value();
            }
        }
    }

    /// The content, if this is a string.
    pub(crate) fn text(self) -> Option<Text<'a>> {
        let raw = self.0.strip_prefix('"')?.strip_suffix('"')?;
        Some(Text::of(raw))
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

    pub(crate) fn is_boolean(self) -> bool {
        self.is_true() || self.0 == "false"
    }

    pub(crate) fn is_true(self) -> bool {
        self.0 == "true"
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
        Cursor::trusting(self.0)
    }
}

impl<'a> Members<'a> {
    /// The members of a text that should be one JSON object; read [`Self::is_whole`] after the
    /// last one.
    pub(crate) fn of(text: &'a str) -> Self {
        let mut cursor = Cursor::strict(text);
        cursor.skip_separators();
        let state = if cursor.take(b'{') { State::First } else { State::Broken };
        Self { cursor, state }
    }

    /// Whether the text was one valid object and nothing else. False before the last member.
    pub(crate) fn is_whole(&self) -> bool {
        self.state == State::Closed && self.cursor.is_at_end()
    }

    #[inline]
    fn step(&mut self) -> Option<(Text<'a>, Value<'a>)> {
        let cursor = &mut self.cursor;
        if !cursor.next_item(&mut self.state, b'}') {
            return None;
        }
        let key = cursor.text()?;
        if !cursor.colon() {
            return None;
        }
        Some((key, Value(cursor.value(1)?)))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Text<'a>, Value<'a>);

    #[inline]
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
        let more = self.cursor.next_item(&mut self.state, b']');
        more.then(|| self.cursor.value(1)).flatten().map(Value)
    }
}

#[cfg(test)]
mod tests;
