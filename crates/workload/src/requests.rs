//! The requests of a run: prompts and settings, resolved so that any request can be made alone.
//!
//! Invariant: warm-up and measured requests have no prompt in common, so a warm-up never fills a
//! prompt cache for what is measured; a shared prefix it fills unless that is to be cold.

mod lines;
mod order;
mod suite;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use streamgauge_schema::{Dialect, Identifier, Request, RequestSettings, Stage};

use crate::body::{BodyFormat, BodyTemplate};
use crate::dataset::{Dataset, DatasetLine, Prompt};
use crate::error::WorkloadError;
use crate::length::Lengths;
use crate::prompt::{SentPrompt, Text};
use crate::synthetic::{Spelling, SyntheticPrompts, push_nonce};
use crate::turnover::TurnoverPrompts;
use crate::unique;
use order::Rounds;

/// What the requests of a run are made from.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestsSpec {
    /// The API spoken.
    pub dialect: Dialect,
    /// The model asked for.
    pub model: String,
    /// What each request asks for besides its prompt.
    pub settings: RequestSettings,
    /// Where the prompts come from.
    pub prompts: Prompts,
    /// Tokens that a prompt is meant to have; `None` when a dataset decides.
    pub target_input_tokens: Option<u64>,
    /// How the words of synthetic prompts follow from their tokens. Of [`Prompts::Synthetic`], how
    /// their number of words was chosen.
    pub lengths: Lengths,
    /// Name and version of the suite.
    pub suite_version: Identifier,
    /// Measured requests: a multiple of `repetitions`.
    pub requests: u64,
    /// How often each prompt is asked, in rounds that ask every prompt once: 1 asks nothing twice. A
    /// prompt is the same in each round, its nonce included.
    pub repetitions: u64,
    /// Warm-up requests.
    pub warmup: u64,
}

/// Where prompts come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Prompts {
    /// The lines of a file, in its order.
    Dataset {
        /// The file.
        dataset: Dataset,
        /// Whether a line serves more than once.
        reuse: Reuse,
        /// Seed of a line of its own before *every* prompt: then no two are equal, not even in runs
        /// of different seeds, and lines serve as often as they are needed.
        nonce: Option<u64>,
    },
    /// Prompts of seeded words.
    Synthetic(SyntheticPrompts),
    /// Prompts of a turnover run.
    Turnover(TurnoverPrompts),
}

/// What happens when there are more requests than lines in a dataset, and no nonce parts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// So many requests are refused.
    Refuse,
    /// The lines are used from the first again, with the same prompts.
    Repeat,
}

/// The resolved requests of a run.
///
/// Warm-up requests take the lines of a dataset that follow the measured ones and equal none of
/// them. Where such lines run out, each further warm-up prompt has a nonce.
#[derive(Clone, Debug)]
pub struct Requests {
    spec: RequestsSpec,
    format: BodyFormat,
    template: BodyTemplate,
    rounds: Rounds,
    /// Lines of the dataset that no measured request asks, as many as the warm-up needs.
    spare: Vec<usize>,
}

impl Requests {
    /// Checks that every request of the run can be made, and that no warm-up prompt is a measured
    /// one.
    ///
    /// # Errors
    /// When a dataset is too short, the API takes no messages and a line has some, a nonce has no
    /// place, a prompt would be too long, or a setting has no meaning.
    pub fn new(spec: RequestsSpec) -> Result<Self, WorkloadError> {
        let format = BodyFormat::of(spec.dialect);
        let template = BodyTemplate::new(spec.dialect, &spec.model, &spec.settings)?;
        let rounds = Rounds::new(spec.requests, spec.repetitions);
        let mut requests = Self { spec, format, template, rounds, spare: Vec::new() };
        requests.check_lines()?;
        requests.spare = requests.spare_lines()?;
        Ok(requests)
    }

    /// Makes one request. Any index gives one; those of the run are below the declared counts.
    ///
    /// Its digest is [`Digest::of_value`](streamgauge_schema::Digest::of_value) of the list of
    /// messages or the text that the body holds. Where the API wants what a system says in a member
    /// `system`, and there is some, it is that of an object with the members `system` and
    /// `messages`.
    #[must_use]
    pub fn request(&self, stage: Stage, index: u64) -> Request {
        let asked = match stage {
            Stage::Measured => self.rounds.prompt_of(index),
            Stage::Warmup => index,
        };
        let (prompt, line) = match &self.spec.prompts {
            Prompts::Dataset { dataset, nonce, .. } => {
                let (place, nonce) = self.line_of(dataset, *nonce, stage, asked);
                let line = &dataset.lines()[place];
                (self.sent_line(line, place, nonce.as_deref()), Some(line))
            }
            Prompts::Synthetic(prompts) => {
                let text = Text::Words { prompts: *prompts, stage, index: asked };
                (SentPrompt::text(&self.format, text), None)
            }
            Prompts::Turnover(prompts) => {
                let text = Text::Given(prompts.prompt(stage, asked).into());
                (SentPrompt::text(&self.format, text), None)
            }
        };
        let (body, prompt_sha256) =
            self.template.body(&prompt, line.and_then(|line| line.max_tokens));
        Request { index, prompt_sha256, dataset_id: line.map(|line| line.id.clone()), body }
    }

    /// The line of a prompt, and the first line that it gets.
    fn line_of(
        &self,
        dataset: &Dataset,
        nonce: Option<u64>,
        stage: Stage,
        index: u64,
    ) -> (usize, Option<String>) {
        let spare = match stage {
            Stage::Measured => None,
            Stage::Warmup => usize::try_from(index).ok().and_then(|place| self.spare.get(place)),
        };
        let marked = nonce.is_some() || stage == Stage::Warmup && spare.is_none();
        let nonce = marked.then(|| {
            let mut line = Vec::new();
            push_nonce(&mut line, unique::code(nonce.unwrap_or(0), stage, index), Spelling::Plain);
            String::from_utf8(line).expect("digits and brackets are ASCII")
        });
        let in_turn = || (index % dataset.lines().len() as u64) as usize;
        (spare.copied().unwrap_or_else(in_turn), nonce)
    }

    /// What is sent for the line at `place`.
    fn sent_line<'a>(
        &self,
        line: &'a DatasetLine,
        place: usize,
        nonce: Option<&str>,
    ) -> SentPrompt<'a> {
        let text: Cow<'a, str> = match &line.prompt {
            Prompt::Messages(messages) => {
                return SentPrompt::messages(&self.format, messages, nonce);
            }
            Prompt::Synthetic { input_tokens } => {
                self.line_prompts(*input_tokens).prompt(Stage::Measured, place as u64).into()
            }
            Prompt::Text(text) => text.into(),
        };
        let text = match nonce {
            Some(nonce) => Cow::Owned([nonce, &text].concat()),
            None => text,
        };
        SentPrompt::text(&self.format, Text::Given(text))
    }
}
