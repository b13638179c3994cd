//! What each choice of a response said.

use crate::json::Text;
use crate::so_far::{Change, SoFar};
use crate::think::ThinkMarks;
use crate::timeline::Span;

/// Choices that are told apart; further ones are passed over.
const MAX_CHOICES: usize = 1024;

/// Bytes of a finish reason that are kept.
const MAX_REASON_BYTES: usize = 256;

/// One choice.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    pub(crate) index: u64,
    pub(crate) content: String,
    pub(crate) reasoning: String,
    pub(crate) finish_reason: Option<String>,
    pub(crate) marks: ThinkMarks,
    /// Events that carried output of this choice.
    pub(crate) output: Span,
    so_far: SoFar,
}

/// The choices seen, by index.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    list: Vec<Choice>,
}

/// How many bytes of text may still be kept.
#[derive(Debug)]
pub(crate) struct Room(pub(crate) usize);

impl Choices {
    /// The choice with this index, new if need be. `None` when there are too many.
    pub(crate) fn choice(&mut self, index: u64) -> Option<&mut Choice> {
        // Nearly all streams number their choices from 0 without gaps.
        let guess = usize::try_from(index).unwrap_or(usize::MAX);
        let found = match self.list.get(guess) {
            Some(choice) if choice.index == index => Ok(guess),
            _ => self.list.binary_search_by_key(&index, |choice| choice.index),
        };
        match found {
            Ok(place) => self.list.get_mut(place),
            Err(_) if self.list.len() == MAX_CHOICES => None,
            Err(place) => {
                self.list.insert(place, Choice { index, ..Choice::default() });
                self.list.get_mut(place)
            }
        }
    }

    /// All of them, by index.
    pub(crate) fn list(&self) -> &[Choice] {
        &self.list
    }

    /// Whether there is any choice, and each has a finish reason.
    pub(crate) fn all_finished(&self) -> bool {
        !self.list.is_empty() && self.list.iter().all(|choice| choice.finish_reason.is_some())
    }
}

impl Choice {
    /// Keeps the last finish reason as sent. False if it is too long to be kept whole.
    pub(crate) fn finish(&mut self, reason: &str) -> bool {
        let kept = self.finish_reason.get_or_insert_default();
        kept.clear();
        push_within(kept, reason, MAX_REASON_BYTES);
        kept.len() == reason.len()
    }
}

impl Choice {
    /// Takes the next piece of the content; keeps it where there is room. False if any is lost.
    pub(crate) fn content(&mut self, piece: &str, room: Option<&mut Room>) -> bool {
        self.marks.push(piece);
        room.is_none_or(|room| room.keep(&mut self.content, piece))
    }

    /// Takes the whole content so far; what it is to the content before. False if any is lost.
    pub(crate) fn content_so_far(
        &mut self,
        text: Text<'_>,
        mut room: Option<&mut Room>,
    ) -> (Change, bool) {
        let change = self.so_far.replace(text);
        let mut known = match change {
            Change::None => return (change, true),
            Change::Grown { from } => from,
            Change::Other => {
                if let Some(room) = &mut room {
                    room.give_back(&mut self.content);
                }
                self.marks = ThinkMarks::default();
                0
            }
        };
        let mut whole = true;
        text.pieces(|piece| {
            let new = &piece[piece.floor_char_boundary(known)..];
            known = known.saturating_sub(piece.len());
            if !new.is_empty() {
                whole &= self.content(new, room.as_deref_mut());
            }
        });
        (change, whole)
    }
}

impl Room {
    /// Forgets a text that was kept.
    fn give_back(&mut self, kept: &mut String) {
        self.0 += kept.len();
        kept.clear();
    }

    /// Appends as much of `text` as there is room for. False if any of it is lost.
    pub(crate) fn keep(&mut self, kept: &mut String, text: &str) -> bool {
        let before = kept.len();
        push_within(kept, text, self.0);
        let added = kept.len() - before;
        self.0 -= added;
        added == text.len()
    }
}

/// Appends the longest beginning of `text` that has no more bytes than there is room for.
fn push_within(kept: &mut String, text: &str, room: usize) {
    kept.push_str(&text[..text.floor_char_boundary(room)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_come_by_index_and_are_bounded() {
        let mut choices = Choices::default();
        assert!(!choices.all_finished());
        for index in [7, 0, u64::MAX, 1, 7] {
            choices.choice(index).unwrap();
        }
        let indices: Vec<u64> = choices.list().iter().map(|choice| choice.index).collect();
        assert_eq!(indices, [0, 1, 7, u64::MAX]);
        let kept = (0..5000).filter(|index| choices.choice(*index).is_some()).count();
        assert_eq!(kept, MAX_CHOICES - 1);
        assert!(choices.choice(u64::MAX).is_some());
    }

    #[test]
    fn text_is_cut_where_the_room_ends() {
        let mut room = Room(5);
        let mut kept = String::new();
        assert!(room.keep(&mut kept, "ab"));
        assert!(!room.keep(&mut kept, "éé"));
        assert_eq!((kept.as_str(), room.0), ("abé", 1));
    }
}
