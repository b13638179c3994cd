//! Events that are the one before with another text.
//!
//! A server writes the chunks of an answer by one pattern: the same name, model and members, and in
//! each its own piece of the answer. Where the bytes before and after that piece are those of the
//! event before, and the piece is a valid string again, reading the event anew could only find the
//! same members, so only the piece is taken. Anything else is read in full.

use std::ops::Range;

use crate::json::Text;

/// Longest pattern that is kept, so that its memory is bounded.
const MAX_PATTERN_BYTES: usize = 4096;

/// Where a text belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// The content of a choice.
    Content,
    /// The reasoning of a choice.
    Reasoning,
}

/// What one event said, as far as another could say it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Said {
    /// Something that must be read anew each time.
    More,
    /// Nothing that adds anything when it is said again.
    #[default]
    Nothing,
    /// Besides that, one text.
    OneText {
        channel: Channel,
        choice: u64,
        /// Where its bytes are in memory.
        address: usize,
        length: usize,
    },
}

/// What the event before was made of, around its one text.
#[derive(Debug, Default)]
pub(crate) struct Twin {
    place: Option<(Channel, u64)>,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Said {
    /// A text was said.
    pub(crate) fn text(&mut self, channel: Channel, choice: u64, text: Text<'_>) {
        if text.is_empty() {
            return;
        }
        *self = match self {
            Self::Nothing => {
                let (address, length) = text.address();
                Self::OneText { channel, choice, address, length }
            }
            Self::More | Self::OneText { .. } => Self::More,
        };
    }

    /// Where the one text is within `event`, and where it belongs.
    fn place_in(self, event: &str) -> Option<(Channel, u64, Range<usize>)> {
        let Self::OneText { channel, choice, address, length } = self else { return None };
        // Texts are handed out as slices of the event, so this never leaves it.
        let start = address.checked_sub(event.as_ptr().addr())?;
        (start + length <= event.len()).then_some((channel, choice, start..start + length))
    }
}

impl Twin {
    /// Takes an event that was read in full, and what it said.
    pub(crate) fn learn(&mut self, event: &str, said: Said) {
        self.place = None;
        let Some((channel, choice, text)) = said.place_in(event) else { return };
        let (before, after) = (&event.as_bytes()[..text.start], &event.as_bytes()[text.end..]);
        if before.len() + after.len() <= MAX_PATTERN_BYTES {
            self.place = Some((channel, choice));
            self.before.clear();
            self.before.extend_from_slice(before);
            self.after.clear();
            self.after.extend_from_slice(after);
        }
    }

    /// Forgets the event before: one came that was not read.
    pub(crate) fn forget(&mut self) {
        self.place = None;
    }

    /// The text of this event and where it belongs, if all else is as in the event before.
    #[inline]
    pub(crate) fn text_of<'a>(&self, event: &'a [u8]) -> Option<(Channel, u64, Text<'a>)> {
        let (channel, choice) = self.place?;
        let text = event.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        let text = Text::between_marks(std::str::from_utf8(text).ok()?)?;
        // Without it another member may count in its place.
        (!text.is_empty()).then_some((channel, choice, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(event: &str, text: &str) -> Twin {
        let start = event.find(text).unwrap();
        let mut said = Said::default();
        let text = Text::between_marks(&event[start..start + text.len()]).unwrap();
        said.text(Channel::Content, 3, text);
        let mut twin = Twin::default();
        twin.learn(event, said);
        twin
    }

    #[test]
    fn only_the_text_may_differ() {
        let twin = learnt(r#"{"a":"one","b":1}"#, "one");
        for (event, expected) in [
            (r#"{"a":"one","b":1}"#, Some("one")),
            (r#"{"a":"or two","b":1}"#, Some("or two")),
            (r#"{"a":"\"\u00e9\\","b":1}"#, Some("\"é\\")),
            (r#"{"a":"","b":1}"#, None),
            (r#"{"a":"one","b":2}"#, None),
            (r#"{"a":"one","c":"","b":1}"#, None),
            (r#"{"a":"one\","b":1}"#, None),
            (r#"{"a":"\x","b":1}"#, None),
            ("{\"a\":\"\n\",\"b\":1}", None),
            (r#"{"a":"#, None),
            (r#"","b":1}"#, None),
        ] {
            let found = twin.text_of(event.as_bytes());
            let text = found.map(|(channel, choice, text)| {
                assert_eq!((channel, choice), (Channel::Content, 3));
                text.decode().into_owned()
            });
            assert_eq!(text.as_deref(), expected, "{event}");
        }
        assert!(twin.text_of(b"{\"a\":\"\xff\",\"b\":1}").is_none());
    }

    #[test]
    fn what_said_more_or_nothing_has_no_twin() {
        let event = r#"{"a":"one"}"#;
        let text = Text::between_marks(&event[6..9]).unwrap();
        let mut two = Said::default();
        two.text(Channel::Content, 0, text);
        two.text(Channel::Reasoning, 0, text);
        for said in [two, Said::More, Said::Nothing] {
            let mut twin = learnt(event, "one");
            assert!(twin.text_of(event.as_bytes()).is_some());
            twin.learn(event, said);
            assert!(twin.text_of(event.as_bytes()).is_none(), "{said:?}");
        }
    }
}
