//! The lines of a dataset as requests: whether each can be asked, and which are left for a warm-up.

use std::collections::HashSet;

use streamgauge_schema::{Digest, Expectation, Stage};

use super::{Prompts, Requests, Reuse};
use crate::dataset::{Dataset, DatasetLine, Prompt};
use crate::error::WorkloadError;
use crate::prompt::{SentPrompt, Text, takes, takes_nonce};
use crate::synthetic::{MAX_WORDS, MIN_WORDS, SyntheticPrompts};
use crate::turnover::TurnoverPrompts;

impl Requests {
    /// How many measured requests ask a line of fewer tokens than a synthetic prompt can have, and
    /// are therefore longer than the line wants.
    #[must_use]
    pub fn longer_than_asked(&self) -> u64 {
        let Prompts::Dataset { dataset, .. } = &self.spec.prompts else { return 0 };
        let too_short = |prompt: &Prompt| match prompt {
            Prompt::Synthetic { input_tokens } => {
                self.spec.lengths.words(*input_tokens) < MIN_WORDS
            }
            Prompt::Messages(_) | Prompt::Text(_) => false,
        };
        let in_turn = dataset.lines().iter().cycle().take(self.prompts_asked() as usize);
        let prompts = in_turn.filter(|line| too_short(&line.prompt)).count() as u64;
        prompts * self.spec.repetitions.max(1)
    }

    /// Different prompts of the measured requests, as far as the run does not repeat lines.
    pub(super) fn prompts_asked(&self) -> u64 {
        self.rounds.prompts_of(self.spec.requests)
    }

    /// The lines that the measured requests ask, in the order of the requests, each with the digest of
    /// the prompt that is sent for it. Nothing where no dataset is asked.
    pub fn asked(&self) -> impl Iterator<Item = (Digest, &DatasetLine)> {
        let of = |dataset, nonce| {
            (0..self.spec.requests).map(move |index| {
                let asked = self.rounds.prompt_of(index);
                let (place, nonce) = self.line_of(dataset, nonce, Stage::Measured, asked);
                let line = &dataset.lines()[place];
                (self.sent_line(line, place, nonce.as_deref()).digest(), line)
            })
        };
        let dataset = match &self.spec.prompts {
            Prompts::Dataset { dataset, nonce, .. } => Some(of(dataset, *nonce)),
            Prompts::Synthetic(_) | Prompts::Turnover(_) => None,
        };
        dataset.into_iter().flatten()
    }

    /// What the measured requests of a turnover run expect, in their order, each with the digest of its
    /// prompt. Nothing where others are asked.
    pub fn controlled(&self) -> impl Iterator<Item = (Digest, Expectation)> {
        let prompts = match &self.spec.prompts {
            Prompts::Turnover(prompts) => Some(prompts),
            Prompts::Dataset { .. } | Prompts::Synthetic(_) => None,
        };
        let of = |prompts: &TurnoverPrompts, index| {
            let text = Text::Given(prompts.prompt(Stage::Measured, index).into());
            let digest = SentPrompt::text(&self.format, text).digest();
            (digest, prompts.expectation(Stage::Measured, index))
        };
        prompts
            .into_iter()
            .flat_map(move |prompts| (0..self.spec.requests).map(move |index| of(prompts, index)))
    }

    /// The synthetic prompts of lines of so many tokens.
    pub(super) fn line_prompts(&self, input_tokens: u64) -> SyntheticPrompts {
        let words = self.spec.lengths.words(input_tokens).clamp(MIN_WORDS, MAX_WORDS);
        SyntheticPrompts::new(words, 0).expect("the words are within the bounds")
    }

    pub(super) fn check_lines(&self) -> Result<(), WorkloadError> {
        let Prompts::Dataset { dataset, reuse, nonce } = &self.spec.prompts else {
            return Ok(());
        };
        let file = || dataset.file_name().to_owned();
        let records = dataset.lines().len();
        for line in dataset.lines() {
            if !takes(self.format.prompt_form, &line.prompt) {
                let dialect = self.spec.dialect;
                return Err(WorkloadError::MessagesForPrompt {
                    file: file(),
                    line: line.line,
                    dialect,
                });
            }
            if let Prompt::Synthetic { input_tokens } = line.prompt {
                let words = self.spec.lengths.words(input_tokens);
                if words > MAX_WORDS {
                    let line = line.line;
                    return Err(WorkloadError::LineWords {
                        file: file(),
                        line,
                        input_tokens,
                        words,
                    });
                }
            }
            if nonce.is_some() && !takes_nonce(&line.prompt) {
                return Err(WorkloadError::NoPlaceForNonce { file: file(), line: line.line });
            }
        }
        if nonce.is_none() && *reuse == Reuse::Refuse && self.prompts_asked() > records as u64 {
            let requested = self.prompts_asked();
            return Err(WorkloadError::TooFewLines { file: file(), records, requested });
        }
        Ok(())
    }

    /// Lines after the measured ones that equal none of them, at most as many as the warm-up needs.
    /// Warm-up requests that get none have a nonce, and are held against the measured ones too.
    pub(super) fn spare_lines(&self) -> Result<Vec<usize>, WorkloadError> {
        let Prompts::Dataset { dataset, nonce, .. } = &self.spec.prompts else {
            return Ok(Vec::new());
        };
        if self.spec.warmup == 0 {
            return Ok(Vec::new());
        }
        let lines = dataset.lines();
        let measured =
            usize::try_from(self.prompts_asked()).map_or(lines.len(), |n| n.min(lines.len()));
        let wanted = usize::try_from(self.spec.warmup).unwrap_or(usize::MAX);
        let digest = |place: usize| self.sent_line(&lines[place], place, None).digest();
        let asked: HashSet<Digest> = (0..measured).map(digest).collect();
        let spare: Vec<usize> = (measured..lines.len())
            .filter(|&place| !asked.contains(&digest(place)))
            .take(wanted)
            .collect();
        self.check_marked(dataset, &spare, nonce.is_none().then_some(&asked))?;
        Ok(spare)
    }

    /// Checks the warm-up requests that get no spare line: their lines take a nonce, and with it
    /// equal none of `asked`, the measured prompts. Where those have nonces too, no two are equal.
    fn check_marked(
        &self,
        dataset: &Dataset,
        spare: &[usize],
        asked: Option<&HashSet<Digest>>,
    ) -> Result<(), WorkloadError> {
        let Some(asked) = asked else { return Ok(()) };
        for index in spare.len() as u64..self.spec.warmup {
            let place = (index % dataset.lines().len() as u64) as usize;
            let line = &dataset.lines()[place];
            let file = || dataset.file_name().to_owned();
            if !takes_nonce(&line.prompt) {
                return Err(WorkloadError::NoPlaceForNonce { file: file(), line: line.line });
            }
            let (_, nonce) = self.line_of(dataset, None, Stage::Warmup, index);
            if asked.contains(&self.sent_line(line, place, nonce.as_deref()).digest()) {
                return Err(WorkloadError::WarmupIsMeasured { file: file(), line: line.line });
            }
        }
        Ok(())
    }
}
