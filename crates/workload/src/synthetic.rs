//! Unique prompts of seeded words.
//!
//! Invariant: a prompt is a pure function of words, seed, stage and index. Its first eight words
//! spell out a code that no other request of the run has, so no two prompts have these in common.

mod words;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use streamgauge_schema::{Digest, Stage};

use crate::error::WorkloadError;
use crate::unique;
use words::WORDS;

/// Fewest words of a synthetic prompt: its code and its instruction.
pub const MIN_WORDS: u64 = 20;
/// Most words of a synthetic prompt.
pub const MAX_WORDS: u64 = 1 << 20;

/// Words that spell out a request's code, one a byte.
const CODE_WORDS: usize = 8;
/// Name of the way from words and seed to prompts.
const RECIPE: &str = "seeded-words-v1";
/// What ends each prompt: it makes a model talk at length.
const INSTRUCTION: &str = "Write a very long and detailed story with all of these words.";

/// Prompts of a fixed number of common English words, no two of which begin alike.
///
/// ```
/// use streamgauge_schema::Stage;
/// let prompts = streamgauge_workload::SyntheticPrompts::new(24, 0)?;
/// let prompt = prompts.prompt(Stage::Measured, 0);
/// assert_eq!(prompt.split_whitespace().count(), 24);
/// assert_ne!(prompt, prompts.prompt(Stage::Warmup, 0));
/// # Ok::<(), streamgauge_workload::WorkloadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntheticPrompts {
    words: u64,
    seed: u64,
}

impl SyntheticPrompts {
    /// Prompts of `words` words each, the closing instruction included.
    ///
    /// # Errors
    /// When `words` is not within [`MIN_WORDS`] to [`MAX_WORDS`].
    pub fn new(words: u64, seed: u64) -> Result<Self, WorkloadError> {
        if !(MIN_WORDS..=MAX_WORDS).contains(&words) {
            return Err(WorkloadError::Words { words });
        }
        Ok(Self { words, seed })
    }

    /// Words a prompt.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.words
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The prompt of one request.
    #[must_use]
    pub fn prompt(&self, stage: Stage, index: u64) -> String {
        // The seed fills the key by hand, so that prompts stay the same whatever the random
        // library makes of a short seed.
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        let mut filler = ChaCha8Rng::from_seed(key);
        filler.set_stream(unique::ordinal(stage, index));

        let mut picks = vec![0; (self.words - MIN_WORDS) as usize + CODE_WORDS];
        let (code, rest) = picks.split_at_mut(CODE_WORDS);
        code.copy_from_slice(&unique::code(self.seed, stage, index).to_be_bytes());
        filler.fill_bytes(rest);

        let mut text = String::with_capacity(picks.len() * 7 + INSTRUCTION.len());
        for pick in picks {
            text.push_str(WORDS[usize::from(pick)]);
            text.push(' ');
        }
        text.pop();
        text.push_str(".\n\n");
        text.push_str(INSTRUCTION);
        text
    }

    /// The digest of the recipe: equal digests mean equal prompts.
    pub(crate) fn digest(&self) -> Digest {
        let recipe = Recipe { recipe: RECIPE, seed: self.seed, words: self.words };
        Digest::of_value(&recipe).expect("texts and whole numbers have canonical bytes")
    }
}

#[derive(Serialize)]
struct Recipe {
    recipe: &'static str,
    seed: u64,
    words: u64,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn first_words(prompt: &str) -> String {
        prompt.split(' ').take(CODE_WORDS).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_prompt_is_this_text() {
        let prompts = SyntheticPrompts::new(32, 7).unwrap();
        assert_eq!(
            prompts.prompt(Stage::Measured, 0),
            "history heart jar fox earth guest land carpet desert home care bottle deer great \
             frost journey cotton fruit fruit moon.\n\nWrite a very long and detailed story with \
             all of these words."
        );
    }

    #[test]
    fn words_are_distinct_and_lengths_exact() {
        assert_eq!(WORDS.iter().collect::<HashSet<_>>().len(), WORDS.len());
        assert_eq!(INSTRUCTION.split(' ').count() + CODE_WORDS, MIN_WORDS as usize);
        for words in [MIN_WORDS, MIN_WORDS + 1, 512, 5_000] {
            let prompt = SyntheticPrompts::new(words, 1).unwrap().prompt(Stage::Measured, 3);
            assert_eq!(prompt.split_whitespace().count() as u64, words);
        }
        for words in [0, MIN_WORDS - 1, MAX_WORDS + 1, u64::MAX] {
            let error = SyntheticPrompts::new(words, 1).unwrap_err().to_string();
            assert_eq!(error, format!("{words} words a prompt are not within 20 to 1048576"));
        }
    }

    #[test]
    fn ten_thousand_prompts_share_no_beginning() {
        let prompts = SyntheticPrompts::new(MIN_WORDS, 42).unwrap();
        let mut beginnings = HashSet::new();
        for index in 0..5_000 {
            for stage in [Stage::Measured, Stage::Warmup] {
                let prompt = prompts.prompt(stage, index);
                assert!(beginnings.insert(first_words(&prompt)), "{stage} {index}: {prompt}");
            }
        }
    }

    proptest! {
        #[test]
        fn prompts_are_pure_and_apart(
            words in MIN_WORDS..200,
            seed: u64,
            one in 0_u64..1 << 63,
            other in 0_u64..1 << 63,
        ) {
            let prompts = SyntheticPrompts::new(words, seed).unwrap();
            let prompt = prompts.prompt(Stage::Measured, one);
            prop_assert_eq!(&prompt, &prompts.prompt(Stage::Measured, one));
            let warmup = prompts.prompt(Stage::Warmup, other);
            prop_assert_ne!(first_words(&prompt), first_words(&warmup));
            if one != other {
                let next = prompts.prompt(Stage::Measured, other);
                prop_assert_ne!(first_words(&prompt), first_words(&next));
            }
        }
    }
}
