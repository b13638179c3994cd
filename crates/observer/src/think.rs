//! Marks of reasoning in the content of a choice, found without keeping the content.

use memchr::memchr3_iter;

/// Marks that servers and models put around reasoning.
const MARKS: [&str; 13] = [
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "<thought>",
    "</thought>",
    "[THINK]",
    "[/THINK]",
    "<seed:think>",
    "</seed:think>",
    "◁think▷",
    "◁/think▷",
    "<|channel|>analysis",
];

/// One byte less than the longest mark: what can be left of a mark that is torn.
const MAX_TORN: usize = 18;

/// The tag that counts as a leaked thought when it comes early, in any case.
const EARLY_TAG: &[u8] = b"<think";

/// Code points of content that count as early.
const EARLY_CHARACTERS: u16 = 256;

/// What has been found in one choice's content so far.
#[derive(Debug, Default)]
pub(crate) struct ThinkMarks {
    /// `<think`, in any case, within the first 256 characters.
    pub(crate) early_tag: bool,
    mark: bool,
    /// Characters seen while they still counted as early.
    characters: u16,
    /// Bytes of the early tag that the last characters match.
    matched: u8,
    /// The end of the content from the first byte that may begin a torn mark.
    torn: [u8; MAX_TORN],
    torn_length: u8,
}

impl ThinkMarks {
    /// Whether an early tag or any mark was found.
    pub(crate) fn any(&self) -> bool {
        self.early_tag || self.mark
    }

    /// Takes the next piece of the content.
    pub(crate) fn push(&mut self, piece: &str) {
        if self.characters < EARLY_CHARACTERS && !self.early_tag {
            self.push_early(piece);
        }
        if self.mark {
            return;
        }
        let piece = piece.as_bytes();
        if self.torn_length > 0 {
            self.push_after_torn(piece);
        } else {
            self.search(piece);
        }
    }

    fn push_early(&mut self, piece: &str) {
        for character in piece.chars().take(usize::from(EARLY_CHARACTERS - self.characters)) {
            self.characters += 1;
            let expected = char::from(EARLY_TAG[usize::from(self.matched)]);
            self.matched = if character.eq_ignore_ascii_case(&expected) {
                self.matched + 1
            } else {
                // The first byte comes only once in the tag, so nothing else can restart it.
                u8::from(character == char::from(EARLY_TAG[0]))
            };
            if usize::from(self.matched) == EARLY_TAG.len() {
                self.early_tag = true;
                return;
            }
        }
    }

    /// Looks through what is torn together with as much of `piece` as may complete it.
    fn push_after_torn(&mut self, piece: &[u8]) {
        let mut joined = [0; 2 * MAX_TORN];
        let torn = usize::from(self.torn_length);
        let (head, rest) = piece.split_at(piece.len().min(MAX_TORN));
        joined[..torn].copy_from_slice(&self.torn[..torn]);
        joined[torn..torn + head.len()].copy_from_slice(head);
        self.search(&joined[..torn + head.len()]);
        if !self.mark && !rest.is_empty() {
            // A mark that begins in `head` is whole or torn in `piece` itself.
            self.search(piece);
        }
    }

    /// Looks for a whole mark, else for the first beginning of one that `bytes` ends with.
    fn search(&mut self, bytes: &[u8]) {
        self.torn_length = 0;
        for start in memchr3_iter(b'<', b'[', "◁".as_bytes()[0], bytes) {
            let rest = &bytes[start..];
            if MARKS.iter().any(|mark| rest.starts_with(mark.as_bytes())) {
                self.mark = true;
                return;
            }
            if rest.len() <= MAX_TORN && MARKS.iter().any(|mark| mark.as_bytes().starts_with(rest))
            {
                self.torn[..rest.len()].copy_from_slice(rest);
                self.torn_length = rest.len() as u8;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(pieces: &[&str]) -> (bool, bool) {
        let mut marks = ThinkMarks::default();
        pieces.iter().for_each(|piece| marks.push(piece));
        (marks.early_tag, marks.any())
    }

    /// Checks a content whole, and cut at every character and at every pair of characters.
    fn check(content: &str, expected: (bool, bool)) {
        assert_eq!(find(&[content]), expected, "{content:?}");
        let cuts: Vec<usize> = content.char_indices().map(|(at, _)| at).collect();
        for (index, &first) in cuts.iter().enumerate() {
            for &second in cuts[index..].iter().take(24) {
                let pieces = [&content[..first], &content[first..second], &content[second..]];
                assert_eq!(find(&pieces), expected, "{pieces:?}");
            }
        }
        let characters: Vec<&str> = content.split("").collect();
        assert_eq!(find(&characters), expected, "{content:?}, by characters");
    }

    #[test]
    fn every_mark_is_found_anywhere_and_torn() {
        for mark in MARKS {
            let early = mark.starts_with("<think");
            check(&format!("a {mark} b"), (early, true));
            check(&format!("<<[◁<{mark}"), (early, true));
            check(&format!("{}{mark} b", "é".repeat(300)), (false, true));
            let mut broken: String = mark.to_uppercase();
            broken.pop();
            check(&format!("é{broken} b"), (early, early));
        }
    }

    #[test]
    fn the_early_tag_takes_any_case_within_256_characters() {
        check("<THINK and more", (true, true));
        check("<tHiNkInG", (true, true));
        check("<<think", (true, true));
        check("< think", (false, false));
        check("<thin", (false, false));
        check(&format!("{}<think", "é".repeat(250)), (true, true));
        check(&format!("{}<think", "é".repeat(251)), (false, false));
        check("a < b, c[0] and d < e", (false, false));
    }
}
