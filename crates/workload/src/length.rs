//! From tokens to words: how long a synthetic prompt has to be.
//!
//! Invariant: a [`Lengths`] is a rising line, so more tokens never mean fewer words; and what it
//! was drawn through stands in its [`basis`](Lengths::basis).

#[cfg(feature = "tokenizer")]
mod tokenizer;

use streamgauge_schema::{LengthBasis, LengthProbe};

/// Tokens of a word of English in common tokenizers.
const ASSUMED_TOKENS_PER_WORD: f64 = 4.0 / 3.0;
/// Tokens of a word that are believed.
const TOKENS_PER_WORD: std::ops::RangeInclusive<f64> = 0.1..=100.0;
/// Share of its tokens, and a number of tokens, that a probe may lie beside the line; the larger
/// counts. More means that the server does not count what it was sent.
const TOLERANCE: (f64, f64) = (0.05, 16.0);

/// How many words a prompt gets for the tokens that it is meant to have.
///
/// ```
/// use streamgauge_schema::LengthProbe;
/// use streamgauge_workload::Lengths;
///
/// assert_eq!(Lengths::assumed().words(512), 384);
/// // A server that counts 1.25 tokens a word, and 20 for what it puts around each prompt.
/// let probe = |words, prompt_tokens| LengthProbe { words, prompt_tokens };
/// let lengths = Lengths::calibrated(&[probe(100, 145), probe(400, 520)])?;
/// assert_eq!(lengths.words(1020), 800);
/// # Ok::<(), streamgauge_workload::LengthError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Lengths {
    basis: LengthBasis,
    line: Line,
}

/// Tokens that are no line of words.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LengthError {
    /// One count is far from what the others make of its length.
    #[error(
        "{} words were counted as {} tokens, where the line through all counts gives \
         {expected:.0}; is the prompt cut off, or cached tokens not counted?",
        probe.words,
        probe.prompt_tokens
    )]
    OffLine {
        /// The prompt.
        probe: LengthProbe,
        /// Its tokens on the line.
        expected: f64,
    },
    /// More words have not plausibly more tokens.
    #[error(
        "{per_word:.3} tokens a word are not within {} to {}; what counts these tokens is not the \
         prompt's tokenizer",
        TOKENS_PER_WORD.start(),
        TOKENS_PER_WORD.end()
    )]
    Slope {
        /// Tokens a word.
        per_word: f64,
    },
    /// A tokenizer's file cannot be used.
    #[cfg(feature = "tokenizer")]
    #[error("no usable tokenizer: {reason}")]
    Tokenizer {
        /// What its reader says.
        reason: String,
    },
    /// Too few prompts were counted.
    #[error(
        "{probes} counted prompts of {lengths} different lengths give no line; count at least two"
    )]
    TooFew {
        /// Prompts that were counted.
        probes: usize,
        /// Different numbers of words among them.
        lengths: usize,
    },
}

impl Lengths {
    /// Four tokens for three words, as common tokenizers have it for English.
    #[must_use]
    pub fn assumed() -> Self {
        let line = Line { tokens_per_word: ASSUMED_TOKENS_PER_WORD, tokens_besides: 0.0 };
        Self { basis: LengthBasis::Assumed {}, line }
    }

    /// A line through what a server counted: least squares over prompts of different lengths, which
    /// are made like those that are to be sent.
    ///
    /// # Errors
    /// When there are less than two different lengths, or the counts cannot be those of a tokenizer.
    pub fn calibrated(probes: &[LengthProbe]) -> Result<Self, LengthError> {
        let line = Line::through(probes)?;
        Ok(Self { basis: LengthBasis::Calibrated { probes: probes.to_vec() }, line })
    }

    /// The words of a prompt of so many tokens, to the nearest word; 0 when what stands around a
    /// prompt has as many tokens already.
    #[must_use]
    pub fn words(&self, tokens: u64) -> u64 {
        let words = (tokens as f64 - self.line.tokens_besides) / self.line.tokens_per_word;
        words.round() as u64
    }

    /// How the line was found.
    #[must_use]
    pub fn basis(&self) -> &LengthBasis {
        &self.basis
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    tokens_per_word: f64,
    tokens_besides: f64,
}

impl Line {
    fn through(probes: &[LengthProbe]) -> Result<Self, LengthError> {
        let mut lengths: Vec<u64> = probes.iter().map(|probe| probe.words).collect();
        lengths.sort_unstable();
        lengths.dedup();
        if lengths.len() < 2 {
            return Err(LengthError::TooFew { probes: probes.len(), lengths: lengths.len() });
        }
        let count = probes.len() as f64;
        let mean = |of: fn(&LengthProbe) -> u64| {
            probes.iter().map(|probe| of(probe) as f64).sum::<f64>() / count
        };
        let (words, tokens) = (mean(|probe| probe.words), mean(|probe| probe.prompt_tokens));
        let (mut joint, mut square) = (0.0, 0.0);
        for probe in probes {
            let off = probe.words as f64 - words;
            joint += off * (probe.prompt_tokens as f64 - tokens);
            square += off * off;
        }
        let tokens_per_word = joint / square;
        if !TOKENS_PER_WORD.contains(&tokens_per_word) {
            return Err(LengthError::Slope { per_word: tokens_per_word });
        }
        let line = Self { tokens_per_word, tokens_besides: tokens - tokens_per_word * words };
        match probes.iter().find(|probe| !line.passes(probe)) {
            Some(probe) => {
                Err(LengthError::OffLine { probe: *probe, expected: line.tokens(probe.words) })
            }
            None => Ok(line),
        }
    }

    fn tokens(&self, words: u64) -> f64 {
        self.tokens_besides + self.tokens_per_word * words as f64
    }

    fn passes(&self, probe: &LengthProbe) -> bool {
        let (share, tokens) = TOLERANCE;
        let counted = probe.prompt_tokens as f64;
        (counted - self.tokens(probe.words)).abs() <= tokens.max(share * counted)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Words and tokens.
    type Counts<'a> = &'a [(u64, u64)];

    fn probes(counts: Counts<'_>) -> Vec<LengthProbe> {
        let probe = |&(words, prompt_tokens)| LengthProbe { words, prompt_tokens };
        counts.iter().map(probe).collect()
    }

    #[test]
    fn tokens_become_words() {
        let assumed = [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (512, 384), (1 << 40, 3 << 38)];
        for (tokens, words) in assumed {
            assert_eq!(Lengths::assumed().words(tokens), words, "{tokens}");
        }
        let cases: [(Counts<'_>, u64, u64); 5] = [
            (&[(100, 145), (400, 520)], 1020, 800),
            (&[(100, 145), (400, 520)], 20, 0),
            (&[(100, 145), (400, 520)], 5, 0),
            // Of three that are on no line, the nearest: 16.33 + 1.15 w.
            (&[(100, 130), (200, 250), (300, 360)], 245, 199),
            // Fewer tokens than words, as of a server that leaves the instruction uncounted.
            (&[(100, 40), (400, 190)], 290, 600),
        ];
        for (counts, tokens, words) in cases {
            let lengths = Lengths::calibrated(&probes(counts)).unwrap();
            assert_eq!(lengths.words(tokens), words, "{counts:?}");
            assert_eq!(*lengths.basis(), LengthBasis::Calibrated { probes: probes(counts) });
        }
    }

    #[test]
    fn counts_that_are_no_line_are_refused() {
        let cases: [(Counts<'_>, &str); 7] = [
            (&[], "0 counted prompts of 0 different lengths give no line; count at least two"),
            (
                &[(100, 130), (100, 131)],
                "2 counted prompts of 1 different lengths give no line; count at least two",
            ),
            (
                &[(100, 130), (400, 130)],
                "0.000 tokens a word are not within 0.1 to 100; what counts these tokens is not \
                 the prompt's tokenizer",
            ),
            (
                &[(100, 500), (400, 130)],
                "-1.233 tokens a word are not within 0.1 to 100; what counts these tokens is not \
                 the prompt's tokenizer",
            ),
            (
                &[(100, 0), (101, 1000)],
                "1000.000 tokens a word are not within 0.1 to 100; what counts these tokens is \
                 not the prompt's tokenizer",
            ),
            // A prompt that the server cut off at 2,048 tokens.
            (
                &[(100, 130), (1000, 1300), (4000, 2048)],
                "100 words were counted as 130 tokens, where the line through all counts \
                 gives 470; is the prompt cut off, or cached tokens not counted?",
            ),
            (
                &[(100, u64::MAX), (200, 0)],
                "-184467440737095520.000 tokens a word are not within 0.1 to 100; what counts \
                 these tokens is not the prompt's tokenizer",
            ),
        ];
        for (counts, expected) in cases {
            let error = Lengths::calibrated(&probes(counts)).unwrap_err();
            assert_eq!(error.to_string(), expected, "{counts:?}");
        }
    }

    proptest! {
        #[test]
        fn a_tokenizer_is_met_within_a_word(
            per_word in 0.5_f64..4.0,
            besides in 0_u64..200,
            sizes in (20_u64..200, 200_u64..2000),
            wanted in 300_u64..100_000,
        ) {
            let count = |words: u64| (per_word * words as f64).round() as u64 + besides;
            let counts = [(sizes.0, count(sizes.0)), (sizes.1 + 400, count(sizes.1 + 400))];
            let lengths = Lengths::calibrated(&probes(&counts)).unwrap();
            let achieved = count(lengths.words(wanted)) as f64;
            let off = (achieved - wanted as f64).abs();
            // Rounding of the two counts is stretched by the distance over which the line is drawn.
            let stretched = wanted as f64 / (per_word * (sizes.1 + 400 - sizes.0) as f64);
            prop_assert!(off <= per_word + 1.0 + stretched, "{achieved} for {wanted}");
        }

        #[test]
        fn more_tokens_never_mean_fewer_words(one: u64, other: u64) {
            let lengths = Lengths::calibrated(&probes(&[(10, 30), (20, 37)])).unwrap();
            let (less, more) = (one.min(other), one.max(other));
            prop_assert!(lengths.words(less) <= lengths.words(more));
        }
    }
}
