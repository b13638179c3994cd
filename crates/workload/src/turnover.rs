//! Prompts of a turnover run: short, each with a marker of its own and a word that the answer has to
//! repeat.
//!
//! Invariant: markers have one length and spell out a number that no other request of the run has, so
//! none is part of another; and as prompts hold them, no two prompts are equal.

use serde::Serialize;
use streamgauge_schema::{ControlledOutput, Digest, Expectation, OutputPolicy, Stage};

use crate::error::WorkloadError;
use crate::unique;

/// Name of the way from numbers to prompts.
const RECIPE: &str = "turnover-v1";
/// Longest word, in characters; it stands in every prompt, and in answers again and again.
const MOST_CHARS: usize = 32;
/// Most repetitions: answers are short, so that requests follow each other fast.
const MOST_REPETITIONS: u64 = 10_000;

/// Prompts that ask for a marker and a word, a number of times.
///
/// ```
/// use streamgauge_schema::{Expectation, OutputPolicy, Stage};
/// use streamgauge_workload::TurnoverPrompts;
///
/// let prompts = TurnoverPrompts::new("apple", 24, OutputPolicy::Strict, 7)?;
/// let prompt = prompts.prompt(Stage::Measured, 0);
/// let Expectation::ControlledOutput(wanted) = prompts.expectation(Stage::Measured, 0) else {
///     panic!("another grader");
/// };
/// assert!(prompt.contains(&wanted.canary.unwrap()) && prompt.contains("the word apple 24 times"));
/// assert_ne!(prompt, prompts.prompt(Stage::Measured, 1));
/// # Ok::<(), streamgauge_workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnoverPrompts {
    word: String,
    count: u64,
    policy: OutputPolicy,
    seed: u64,
}

impl TurnoverPrompts {
    /// Prompts that ask for `word`, `count` times; `seed` picks the markers.
    ///
    /// # Errors
    /// When the word is not 1 to 32 letters and digits, or is to be repeated never or more than
    /// 10,000 times.
    pub fn new(
        word: &str,
        count: u64,
        policy: OutputPolicy,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        let is_word = (1..=MOST_CHARS).contains(&word.chars().count())
            && word.chars().all(char::is_alphanumeric);
        if !is_word {
            return Err(WorkloadError::TurnoverWord { word: word.to_owned(), most: MOST_CHARS });
        }
        if !(1..=MOST_REPETITIONS).contains(&count) {
            return Err(WorkloadError::TurnoverCount { count, most: MOST_REPETITIONS });
        }
        Ok(Self { word: word.to_owned(), count, policy, seed })
    }

    /// The marker of one request; distinct for all indexes below 50 million of both stages.
    #[must_use]
    pub fn marker(&self, stage: Stage, index: u64) -> String {
        spelt(unique::short_code(self.seed, stage, index))
    }

    /// The prompt of one request.
    #[must_use]
    pub fn prompt(&self, stage: Stage, index: u64) -> String {
        let (marker, Self { word, count, .. }) = (self.marker(stage, index), self);
        format!(
            "Begin with the marker {marker} and one space. Then repeat the word {word} {count} times, \
             with one space between the words. Write nothing else."
        )
    }

    /// What the answer to it is held against. It is strict whatever the policy, which says what a
    /// wrong answer means for the run.
    #[must_use]
    pub fn expectation(&self, stage: Stage, index: u64) -> Expectation {
        Expectation::ControlledOutput(ControlledOutput {
            canary: Some(self.marker(stage, index)),
            count: self.count,
            policy: OutputPolicy::Strict,
            word: self.word.clone(),
        })
    }

    /// The word.
    #[must_use]
    pub fn word(&self) -> &str {
        &self.word
    }

    /// How often it is wanted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What a wrong answer means for the run.
    #[must_use]
    pub fn policy(&self) -> OutputPolicy {
        self.policy
    }

    /// Seed of the markers.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The digest of all that makes the prompts but the seed of their markers: runs with the same
    /// one ask for the same.
    #[must_use]
    pub fn digest(&self) -> Digest {
        #[derive(Serialize)]
        struct Recipe<'a> {
            recipe: &'static str,
            word: &'a str,
            count: u64,
        }
        let recipe = Recipe { recipe: RECIPE, word: &self.word, count: self.count };
        Digest::of_value(&recipe).expect("a recipe of texts and numbers has canonical bytes")
    }
}

/// A code as a marker, of the same length whatever it is. Small models copy digits behind a letter
/// best: of a hundred such markers a model of 135 million parameters copied every one, and of hexadecimal
/// ones hardly any.
fn spelt(code: u64) -> String {
    format!("M-{code:08}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn prompts(seed: u64) -> TurnoverPrompts {
        TurnoverPrompts::new("apple", 3, OutputPolicy::Strict, seed).unwrap()
    }

    #[test]
    fn markers_have_one_length_and_are_never_the_same() {
        let mut markers = HashSet::new();
        for stage in Stage::ALL {
            for index in 0..20_000 {
                let marker = prompts(7).marker(*stage, index);
                assert_eq!(marker.len(), prompts(8).marker(*stage, index + 1).len());
                assert!(markers.insert(marker), "{stage} {index}");
            }
        }
        // Of another seed only chance has some of them.
        let of_another_seed = (0..20_000).map(|index| prompts(8).marker(Stage::Measured, index));
        assert!(of_another_seed.filter(|marker| markers.contains(marker)).count() < 40);
    }

    #[test]
    fn a_prompt_asks_for_what_is_expected() {
        let prompts = prompts(0);
        let Expectation::ControlledOutput(wanted) = prompts.expectation(Stage::Warmup, 4) else {
            panic!("another grader");
        };
        let marker = prompts.marker(Stage::Warmup, 4);
        assert_eq!(wanted.canary.as_ref(), Some(&marker));
        assert_eq!((wanted.word.as_str(), wanted.count), ("apple", 3));
        let prompt = prompts.prompt(Stage::Warmup, 4);
        assert!(prompt.contains(&format!("the marker {marker} and")), "{prompt}");
        assert!(prompt.contains("repeat the word apple 3 times,"), "{prompt}");
    }

    #[test]
    fn what_is_no_word_is_refused() {
        let long = "a".repeat(33);
        for word in ["", "two words", "a-b", "a.", &long] {
            let refused = TurnoverPrompts::new(word, 3, OutputPolicy::Strict, 0).unwrap_err();
            assert!(matches!(refused, WorkloadError::TurnoverWord { .. }), "{word:?}");
        }
        for count in [0, 10_001] {
            let refused = TurnoverPrompts::new("a", count, OutputPolicy::Strict, 0).unwrap_err();
            assert!(matches!(refused, WorkloadError::TurnoverCount { .. }), "{count}");
        }
        assert!(TurnoverPrompts::new("Äpfel2", 10_000, OutputPolicy::Observe, 0).is_ok());
    }

    #[test]
    fn the_digest_is_of_what_is_asked_and_not_of_the_markers() {
        assert_eq!(prompts(1).digest(), prompts(2).digest());
        let other = TurnoverPrompts::new("apple", 4, OutputPolicy::Strict, 1).unwrap();
        assert_ne!(prompts(1).digest(), other.digest());
    }
}
