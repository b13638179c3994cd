//! Prompts of seeded words: each unique, or with beginnings that some have in common.
//!
//! Invariant: a prompt is a pure function of its numbers, stage and index. Eight words spell out a
//! code that no other request of the run has: the first eight, or the first after a shared prefix.
//! So no two prompts have more in common than they were asked to.

mod text;
mod words;

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use serde::Serialize;
use streamgauge_schema::{Digest, SharedPrefix, Stage};

use crate::error::WorkloadError;
use crate::unique;
use text::{CODE_WORDS, WORD_BYTES, push_words};
pub(crate) use text::{Spelling, push_nonce};

/// Fewest words of a synthetic prompt: its code and its instruction. Words of a shared prefix come
/// on top.
pub const MIN_WORDS: u64 = 20;
/// Most words of a synthetic prompt.
pub const MAX_WORDS: u64 = 1 << 20;
/// Fewest words of a shared prefix: its code.
pub const MIN_PREFIX_WORDS: u64 = CODE_WORDS as u64;

/// Names of the ways from numbers to prompts.
const RECIPE: &str = "seeded-words-v1";
const PREFIX_RECIPE: &str = "seeded-words-with-prefix-v1";
/// What ends each prompt: it makes a model talk at length.
const INSTRUCTION: &str = "Write a very long and detailed story with all of these words.";
/// Room for both lines of a nonce and for what ends the words.
const BYTES_BESIDES: usize = 128;

/// Prompts of a fixed number of common English words.
///
/// ```
/// use streamgauge_schema::{SharedPrefix, Stage};
/// use streamgauge_workload::SyntheticPrompts;
///
/// // No two begin alike.
/// let prompts = SyntheticPrompts::new(24, 0)?;
/// let prompt = prompts.prompt(Stage::Measured, 0);
/// assert_eq!(prompt.split_whitespace().count(), 24);
/// assert_ne!(prompt[..8], prompts.prompt(Stage::Warmup, 0)[..8]);
///
/// // Of two families with a prefix each, every second prompt begins alike.
/// let prompts = SyntheticPrompts::new(64, 0)?.with_prefix(SharedPrefix { words: 40, count: 2 })?;
/// let beginning = |index| prompts.prompt(Stage::Measured, index)[..160].to_owned();
/// assert_eq!(beginning(0), beginning(2));
/// assert_ne!(beginning(0), beginning(1));
/// # Ok::<(), streamgauge_workload::WorkloadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntheticPrompts {
    words: u64,
    seed: u64,
    prefix: Option<SharedPrefix>,
    /// Warm-up requests have other shared prefixes than measured ones.
    prefix_is_cold: bool,
    nonce: Option<u64>,
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
        Ok(Self { words, seed, prefix: None, prefix_is_cold: false, nonce: None })
    }

    /// The same number of words, of which the first are a prefix that prompts have in common: the
    /// requests of a stage take one of `prefix.count` after the other. Warm-up requests take the
    /// same ones, so that a server may know them before the first is measured, unless they are
    /// [cold](Self::with_cold_prefix).
    ///
    /// # Errors
    /// When there is no prefix, or what it leaves of the prompt is below [`MIN_WORDS`], or it is
    /// itself below [`MIN_PREFIX_WORDS`].
    pub fn with_prefix(self, prefix: SharedPrefix) -> Result<Self, WorkloadError> {
        let fits = (MIN_PREFIX_WORDS..=self.words - MIN_WORDS).contains(&prefix.words);
        if prefix.count == 0 || !fits {
            return Err(WorkloadError::Prefix { prefix, words: self.words });
        }
        Ok(Self { prefix: Some(prefix), ..self })
    }

    /// The same prompts, but warm-up requests have as many shared prefixes of their own: a server meets
    /// those of the measured requests for the first time when they are measured.
    #[must_use]
    pub fn with_cold_prefix(self) -> Self {
        Self { prefix_is_cold: true, ..self }
    }

    /// The same prompts behind a line of this seed, so that a server that was sent them under
    /// another seed knows no beginning of them. A shared prefix has one line before it, which its
    /// requests have in common too, and one line for each request after it. The lines come on top
    /// of the words.
    #[must_use]
    pub fn with_nonce(self, seed: u64) -> Self {
        Self { nonce: Some(seed), ..self }
    }

    /// The same prompts in two lengths, the second their own. Their counted tokens give
    /// [`Lengths`](crate::Lengths) by which the right number of words is found.
    ///
    /// ```
    /// let prompts = streamgauge_workload::SyntheticPrompts::new(384, 0)?;
    /// assert_eq!(prompts.in_two_lengths().map(|prompts| prompts.words()), [202, 384]);
    /// # Ok::<(), streamgauge_workload::WorkloadError>(())
    /// ```
    #[must_use]
    pub fn in_two_lengths(&self) -> [Self; 2] {
        let least = MIN_WORDS + self.prefix.map_or(0, |prefix| prefix.words);
        let spare = self.words - least;
        // Of a short prompt the other length is a longer one: near each other two say little.
        let other = if spare >= 2 * MIN_WORDS { least + spare / 2 } else { least + 4 * MIN_WORDS };
        [Self { words: other, ..*self }, *self]
    }

    /// Words a prompt.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.words
    }

    /// The seed of the words.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The beginnings that prompts have in common.
    #[must_use]
    pub fn prefix(&self) -> Option<SharedPrefix> {
        self.prefix
    }

    /// The seed of the lines of their own.
    #[must_use]
    pub fn nonce(&self) -> Option<u64> {
        self.nonce
    }

    /// The prompt of one request, as it is sent.
    #[must_use]
    pub fn prompt(&self, stage: Stage, index: u64) -> String {
        let mut text = Vec::with_capacity(self.size());
        self.write(&mut text, stage, index, Spelling::Plain);
        String::from_utf8(text).expect("words are ASCII")
    }

    /// Writes the prompt of one request.
    pub(crate) fn write(&self, out: &mut Vec<u8>, stage: Stage, index: u64, spelling: Spelling) {
        let mut own = self.words - MIN_WORDS;
        if let Some(prefix) = self.prefix {
            own -= prefix.words;
            let family = self.family(prefix, stage, index);
            if let Some(nonce) = self.nonce {
                push_nonce(out, unique::family_code(nonce, family), spelling);
            }
            let code = unique::family_code(self.seed, family);
            let filler = || self.filler(Part::Prefix, family);
            push_words(out, code, prefix.words as usize - CODE_WORDS, filler, spelling);
        }
        if let Some(nonce) = self.nonce {
            push_nonce(out, unique::code(nonce, stage, index), spelling);
        }
        let code = unique::code(self.seed, stage, index);
        let filler = || self.filler(Part::Own, unique::ordinal(stage, index));
        push_words(out, code, own as usize, filler, spelling);
        out.extend_from_slice(INSTRUCTION.as_bytes());
    }

    /// The number of a shared prefix. Those of a warm-up that has its own are in the upper half of all
    /// numbers, which no index reaches.
    fn family(&self, prefix: SharedPrefix, stage: Stage, index: u64) -> u64 {
        let family = index % prefix.count;
        if self.prefix_is_cold && stage == Stage::Warmup { !family } else { family }
    }

    /// Room enough for a prompt, however it is written.
    pub(crate) fn size(&self) -> usize {
        self.words as usize * WORD_BYTES + BYTES_BESIDES
    }

    /// The same prompts without their nonce: what a suite consists of.
    pub(crate) fn bare(&self) -> Self {
        Self { nonce: None, ..*self }
    }

    /// The digest of the recipe: equal digests mean equal prompts, nonces aside.
    pub(crate) fn digest(&self) -> Digest {
        let Self { seed, words, prefix, prefix_is_cold: _, nonce: _ } = *self;
        let digest = match prefix {
            None => Digest::of_value(&Recipe { recipe: RECIPE, seed, words }),
            Some(prefix) => Digest::of_value(&PrefixRecipe {
                prefix_count: prefix.count,
                prefix_words: prefix.words,
                recipe: PREFIX_RECIPE,
                seed,
                words,
            }),
        };
        digest.expect("texts and whole numbers have canonical bytes")
    }

    /// Random bytes for the words of one part of one prompt.
    fn filler(&self, part: Part, number: u64) -> ChaCha8Rng {
        // The seed fills the key by hand, so that prompts stay the same whatever the random
        // library makes of a short seed.
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8] = part as u8;
        let mut filler = ChaCha8Rng::from_seed(key);
        filler.set_stream(number);
        filler
    }
}

/// A part of a prompt with random words of its own.
#[derive(Clone, Copy, Debug)]
enum Part {
    Own = 0,
    Prefix = 1,
}

#[derive(Serialize)]
struct Recipe {
    recipe: &'static str,
    seed: u64,
    words: u64,
}

#[derive(Serialize)]
struct PrefixRecipe {
    prefix_count: u64,
    prefix_words: u64,
    recipe: &'static str,
    seed: u64,
    words: u64,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::words::WORDS;
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
    fn a_prompt_with_prefix_and_nonce_is_this_text() {
        let prefix = SharedPrefix { words: 10, count: 2 };
        let prompts = SyntheticPrompts::new(32, 7).unwrap().with_prefix(prefix).unwrap();
        assert_eq!(
            prompts.with_nonce(1).prompt(Stage::Measured, 3),
            "[0c1791e5de4a476e]\nmarket corn office land box east boat heavy castle amber.\n\n\
             [309f81a5ebe9a7f2]\ndeep color kitchen chain oak fox bridge deep act chair.\n\n\
             Write a very long and detailed story with all of these words."
        );
    }

    #[test]
    fn what_json_has_is_what_is_sent() {
        let prefix = SharedPrefix { words: 300, count: 2 };
        let plain = SyntheticPrompts::new(900, 7).unwrap();
        for prompts in [plain, plain.with_prefix(prefix).unwrap().with_nonce(2)] {
            let mut json = b"\"".to_vec();
            prompts.write(&mut json, Stage::Warmup, 5, Spelling::Json);
            json.push(b'"');
            assert!(json.len() <= prompts.size());
            let read: String = serde_json::from_slice(&json).unwrap();
            assert_eq!(read, prompts.prompt(Stage::Warmup, 5));
        }
    }

    #[test]
    fn a_cold_prefix_is_sent_in_no_warmup() {
        let prefix = SharedPrefix { words: 30, count: 3 };
        let plain = SyntheticPrompts::new(64, 7).unwrap().with_prefix(prefix).unwrap();
        for warm in [plain, plain.with_nonce(5)] {
            let cold = warm.with_cold_prefix();
            let beginnings = |prompts: SyntheticPrompts, stage| -> HashSet<String> {
                let beginning = |index| prompts.prompt(stage, index)[..100].to_owned();
                (0..9).map(beginning).collect()
            };
            let measured = beginnings(warm, Stage::Measured);
            assert_eq!(measured.len(), 3);
            assert_eq!(beginnings(cold, Stage::Measured), measured);
            assert_eq!(beginnings(warm, Stage::Warmup), measured);
            let apart = beginnings(cold, Stage::Warmup);
            assert_eq!((apart.len(), apart.is_disjoint(&measured)), (3, true));
            assert_eq!(warm.digest(), cold.digest());
        }
    }

    #[test]
    fn a_prefix_leaves_a_prompt_or_is_refused() {
        let with = |words, count| {
            let prompts = SyntheticPrompts::new(64, 1).unwrap();
            prompts.with_prefix(SharedPrefix { words, count }).map_err(|error| error.to_string())
        };
        for (words, count) in [(8, 1), (44, u64::MAX)] {
            assert_eq!(with(words, count).unwrap().words(), 64);
        }
        for (words, count) in [(0, 1), (7, 1), (45, 1), (u64::MAX, 1), (44, 0)] {
            let refused = format!(
                "{count} prefixes of {words} words do not fit prompts of 64: at least one, of at \
                 least 8 words, which leave 20 of each prompt"
            );
            assert_eq!(with(words, count).unwrap_err(), refused);
        }
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
