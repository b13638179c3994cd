//! Answers made wrong, each in the way that its fault says.

use rand_core::Rng;

use crate::answer::{Answer, FinishReason, Tokens, extend_with_words};
use crate::faults::FaultKind;

/// Words of thinking that leak into an answer.
const THOUGHTS: usize = 5;
/// What stands in place of a word, and in place of itself.
const CHANGED: [&str; 2] = ["otherwise", "elsewhere"];

impl Answer {
    /// The same answer under a fault; those that break a response leave it as it is.
    pub(crate) fn with_fault(mut self, fault: FaultKind, rng: &mut impl Rng) -> Self {
        match fault {
            FaultKind::ChangeWord { place } => {
                self.content = with_another_word(&self.content, place as usize);
            }
            FaultKind::DropWords { count } => {
                self.content = without_words(&self.content, count as usize, rng);
            }
            FaultKind::LengthLimited { after_words } => {
                if (after_words as usize) < self.content.len() {
                    self.content.truncate(after_words as usize);
                    self.finish = FinishReason::Length;
                }
            }
            FaultKind::ThinkTags => self.content = thinking_aloud(&self.content, rng),
            FaultKind::Close(_)
            | FaultKind::Cross
            | FaultKind::EndEarly { .. }
            | FaultKind::OtherModel
            | FaultKind::Reset(_)
            | FaultKind::Restart { .. }
            | FaultKind::Stall { .. }
            | FaultKind::Status { .. }
            | FaultKind::Wire(_) => {}
        }
        self
    }
}

/// The same tokens, but for one word.
fn with_another_word(tokens: &Tokens, place: usize) -> Tokens {
    let mut changed = Tokens::default();
    for at in 0..tokens.len() {
        let token = tokens.slice(at..at + 1);
        let (space, word) = token.split_at(token.len() - token.trim_start().len());
        let other = if word == CHANGED[0] { CHANGED[1] } else { CHANGED[0] };
        changed.push(space, if at == place { other } else { word });
    }
    changed
}

/// What is left when so many words after the first are missing.
fn without_words(tokens: &Tokens, count: usize, rng: &mut impl Rng) -> Tokens {
    let after_first = tokens.len().saturating_sub(1);
    let count = count.min(after_first);
    let places = after_first - count + 1;
    let from = 1 + rng.next_u64() as usize % places;
    let mut left = Tokens::default();
    for place in (0..tokens.len()).filter(|place| !(from..from + count).contains(place)) {
        left.push("", tokens.slice(place..place + 1));
    }
    left
}

fn thinking_aloud(tokens: &Tokens, rng: &mut impl Rng) -> Tokens {
    let mut aloud = Tokens::default();
    aloud.push("", "<think>");
    extend_with_words(&mut aloud, 1 + THOUGHTS, rng);
    aloud.push(" ", "</think>");
    for place in 0..tokens.len() {
        let space = if place == 0 { " " } else { "" };
        aloud.push(space, tokens.slice(place..place + 1));
    }
    aloud
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::{Purpose, generator};

    fn spoilt(text: &str, fault: FaultKind, seed: u64) -> (String, FinishReason) {
        let mut content = Tokens::default();
        for (place, word) in text.split_whitespace().enumerate() {
            content.push(if place == 0 { "" } else { " " }, word);
        }
        let answer = Answer { content, finish: FinishReason::Stop, reasoning: Tokens::default() };
        let answer = answer.with_fault(fault, &mut generator(seed, Purpose::Fault, text));
        assert_eq!(answer.content.text().split_whitespace().count(), answer.content.len());
        (answer.content.text().to_owned(), answer.finish)
    }

    #[test]
    fn dropped_words_leave_a_gap_after_the_first() {
        for seed in 0..20 {
            let (text, finish) = spoilt("M a b c d", FaultKind::DropWords { count: 2 }, seed);
            let one_piece = ["M c d", "M a d", "M a b"];
            assert!(one_piece.contains(&text.as_str()), "{text}");
            assert_eq!(finish, FinishReason::Stop);
        }
        for (text, left) in [("M a b", "M"), ("M", "M"), ("", "")] {
            assert_eq!(spoilt(text, FaultKind::DropWords { count: 9 }, 0).0, left);
        }
    }

    #[test]
    fn one_word_is_another() {
        for (place, text) in [(0, "otherwise a b"), (2, "M a otherwise"), (3, "M a b")] {
            let found = spoilt("M a b", FaultKind::ChangeWord { place }, 0);
            assert_eq!(found, (text.to_owned(), FinishReason::Stop));
        }
        let fault = FaultKind::ChangeWord { place: 0 };
        assert_eq!(spoilt("otherwise", fault, 0).0, "elsewhere");
    }

    #[test]
    fn a_length_cuts_what_is_longer() {
        let cases = [(0, "", FinishReason::Length), (2, "M a", FinishReason::Length)];
        for (after_words, text, finish) in
            cases.into_iter().chain([(3, "M a b", FinishReason::Stop)])
        {
            let found = spoilt("M a b", FaultKind::LengthLimited { after_words }, 0);
            assert_eq!(found, (text.to_owned(), finish));
        }
    }

    #[test]
    fn thoughts_stand_before_the_answer() {
        let (text, _) = spoilt("M a", FaultKind::ThinkTags, 0);
        let (thoughts, answer) = text.split_once("</think>").unwrap();
        assert!(thoughts.starts_with("<think> "), "{thoughts}");
        assert_eq!(thoughts.split_whitespace().count(), 1 + THOUGHTS);
        assert_eq!(answer, " M a");
    }
}
