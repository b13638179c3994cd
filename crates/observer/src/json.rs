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

pub(crate) use cursor::Cursor;
use cursor::State;
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
        cursor.value().filter(|_| cursor.is_at_end())
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

    /// Goes over the value and what is in it.
    pub(crate) fn cursor(self) -> Cursor<'a> {
        Cursor::trusting(self.0)
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
}

/// Walks over a text that should be one JSON object. Hands out the name of each member; `each` has
/// to pass over the value. Says whether the text was one valid object and nothing else: before that
/// nothing of it is certain.
#[inline]
pub(crate) fn walk_object<'a>(
    text: &'a str,
    each: impl FnMut(&str, &mut Cursor<'a>) -> bool,
) -> bool {
    let mut cursor = Cursor::strict(text);
    cursor.skip_separators();
    cursor.is_at_object() && cursor.walk_members(each) && cursor.is_at_end()
}

impl<'a> Iterator for Members<'a> {
    type Item = (Text<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let cursor = &mut self.cursor;
        if !cursor.next_item(&mut self.state, b'}') {
            return None;
        }
        let key = cursor.text()?;
        cursor.colon();
        Some((key, cursor.value()?))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let more = self.cursor.next_item(&mut self.state, b']');
        more.then(|| self.cursor.value()).flatten()
    }
}

#[cfg(test)]
mod tests;
