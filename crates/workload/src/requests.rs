//! The requests of a run: prompts and settings, resolved so that any request can be made alone.
//!
//! Invariant: warm-up and measured requests have no prompt in common, so a warm-up never fills a
//! prompt cache for what is measured.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde::Serialize;
use streamgauge_schema::{
    Dialect, Digest, Identifier, LengthBasis, PromptSource, Request, RequestSettings, Stage,
    Workload,
};

use crate::body::{BodyFormat, BodyTemplate};
use crate::dataset::{Dataset, DatasetLine, Prompt};
use crate::error::WorkloadError;
use crate::prompt::{SentPrompt, takes, takes_nonce};
use crate::synthetic::SyntheticPrompts;
use crate::unique;

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
    /// Name and version of the suite.
    pub suite_version: Identifier,
    /// Measured requests.
    pub requests: u64,
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
        /// How a line serves more than once.
        reuse: Reuse,
    },
    /// Unique prompts of seeded words.
    Synthetic(SyntheticPrompts),
}

/// How the lines of a dataset serve more requests than there are lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// From the first line again; *every* prompt gets a first line of its own, so no two are equal.
    Nonce,
    /// Not at all: so many requests are refused.
    Refuse,
    /// From the first line again, with the same prompts.
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
    /// Lines of the dataset that no measured request asks, as many as the warm-up needs.
    spare: Vec<usize>,
}

impl Requests {
    /// Checks that every request of the run can be made.
    ///
    /// # Errors
    /// When a dataset is too short, the API takes no messages and a line has some, a nonce has no
    /// place, or a setting has no meaning.
    pub fn new(spec: RequestsSpec) -> Result<Self, WorkloadError> {
        let format = BodyFormat::of(spec.dialect);
        let template = BodyTemplate::new(spec.dialect, &spec.model, &spec.settings)?;
        let spare = match &spec.prompts {
            Prompts::Dataset { dataset, reuse } => {
                let spare = spare_lines(dataset, &format, &spec);
                check_dataset(dataset, *reuse, &spec, spare.len())?;
                spare
            }
            Prompts::Synthetic(_) => Vec::new(),
        };
        Ok(Self { spec, format, template, spare })
    }

    /// Makes one request. Any index gives one; those of the run are below the declared counts.
    ///
    /// Its digest is [`Digest::of_value`] of the list of messages or the text that the body holds.
    /// Where the API wants what a system says in a member `system`, and there is some, it is that
    /// of an object with the members `system` and `messages`.
    #[must_use]
    pub fn request(&self, stage: Stage, index: u64) -> Request {
        let (prompt, line) = self.prompt(stage, index);
        Request {
            index,
            prompt_sha256: prompt.digest(),
            dataset_id: line.map(|line| line.id.clone()),
            body: self.template.body(&prompt, line.and_then(|line| line.max_tokens)),
        }
    }

    /// What a plan says of these requests. It makes every measured prompt once.
    #[must_use]
    pub fn describe(&self) -> Workload {
        let prompts: Vec<Digest> = (0..self.spec.requests)
            .map(|index| self.prompt(Stage::Measured, index).0.digest())
            .collect();
        let (source, name, dataset_sha256) = match &self.spec.prompts {
            Prompts::Dataset { dataset, reuse } => {
                let source = PromptSource::Dataset {
                    path: dataset.file_name().to_owned(),
                    records: dataset.lines().len() as u64,
                    repeat: *reuse == Reuse::Repeat,
                    nonce: (*reuse == Reuse::Nonce).then_some(0),
                };
                (source, base_name(dataset.file_name()), dataset.digest())
            }
            Prompts::Synthetic(prompts) => {
                let source = PromptSource::Synthetic {
                    words: prompts.words(),
                    seed: prompts.seed(),
                    prefix: None,
                    nonce: None,
                };
                (source, "synthetic", prompts.digest())
            }
        };
        let suite = Suite {
            dataset: name,
            dataset_version: self.spec.suite_version.as_str(),
            prompts: &prompts,
        };
        Workload {
            source,
            target_input_tokens: self.spec.target_input_tokens,
            suite_version: self.spec.suite_version.clone(),
            suite_sha256: Digest::of_value(&suite).expect("texts have canonical bytes"),
            dataset_sha256,
            repeated_prompts: repeated(prompts),
            length_basis: match &self.spec.prompts {
                Prompts::Dataset { .. } => None,
                Prompts::Synthetic(_) => Some(LengthBasis::Assumed {}),
            },
        }
    }

    fn prompt(&self, stage: Stage, index: u64) -> (SentPrompt, Option<&DatasetLine>) {
        match &self.spec.prompts {
            Prompts::Dataset { dataset, reuse } => {
                let lines = dataset.lines();
                let spare = match stage {
                    Stage::Measured => None,
                    Stage::Warmup => {
                        usize::try_from(index).ok().and_then(|place| self.spare.get(place))
                    }
                };
                let line = match spare {
                    Some(&line) => &lines[line],
                    None => &lines[(index % lines.len() as u64) as usize],
                };
                let marked = *reuse == Reuse::Nonce || stage == Stage::Warmup && spare.is_none();
                let nonce = marked.then(|| nonce(stage, index));
                (SentPrompt::new(&self.format, &line.prompt, nonce.as_deref()), Some(line))
            }
            Prompts::Synthetic(prompts) => {
                let prompt = Prompt::Text(prompts.prompt(stage, index));
                (SentPrompt::new(&self.format, &prompt, None), None)
            }
        }
    }
}

/// The value over which `suite_sha256` is taken.
#[derive(Serialize)]
struct Suite<'a> {
    dataset: &'a str,
    dataset_version: &'a str,
    prompts: &'a [Digest],
}

/// Lines after the measured ones that equal none of them, at most as many as the warm-up needs.
fn spare_lines(dataset: &Dataset, format: &BodyFormat, spec: &RequestsSpec) -> Vec<usize> {
    if spec.warmup == 0 {
        return Vec::new();
    }
    let lines = dataset.lines();
    let measured = usize::try_from(spec.requests).map_or(lines.len(), |n| n.min(lines.len()));
    let wanted = usize::try_from(spec.warmup).unwrap_or(usize::MAX);
    let prompt_digest = |line: &DatasetLine| SentPrompt::new(format, &line.prompt, None).digest();
    let asked: HashSet<Digest> = lines[..measured].iter().map(prompt_digest).collect();
    (measured..lines.len())
        .filter(|&place| !asked.contains(&prompt_digest(&lines[place])))
        .take(wanted)
        .collect()
}

fn check_dataset(
    dataset: &Dataset,
    reuse: Reuse,
    spec: &RequestsSpec,
    spare: usize,
) -> Result<(), WorkloadError> {
    let lines = dataset.lines();
    let form = BodyFormat::of(spec.dialect).prompt_form;
    if let Some(line) = lines.iter().find(|line| !takes(form, &line.prompt)) {
        return Err(WorkloadError::MessagesForPrompt {
            file: dataset.file_name().to_owned(),
            line: line.line,
            dialect: spec.dialect,
        });
    }
    let records = lines.len();
    if reuse == Reuse::Refuse && spec.requests > records as u64 {
        return Err(WorkloadError::TooFewLines {
            file: dataset.file_name().to_owned(),
            records,
            requested: spec.requests,
        });
    }
    let warmup = usize::try_from(spec.warmup).unwrap_or(usize::MAX);
    let marked = match reuse {
        Reuse::Nonce => 0..records,
        Reuse::Refuse | Reuse::Repeat => spare..warmup.min(spare + records),
    };
    match marked.map(|place| &lines[place % records]).find(|line| !takes_nonce(&line.prompt)) {
        Some(line) => Err(WorkloadError::NoPlaceForNonce {
            file: dataset.file_name().to_owned(),
            line: line.line,
        }),
        None => Ok(()),
    }
}

/// A first line that no other request of the run has.
fn nonce(stage: Stage, index: u64) -> String {
    format!("[{:016x}]", unique::code(0, stage, index))
}

fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// How many of the prompts occur more than once.
fn repeated(mut prompts: Vec<Digest>) -> u64 {
    prompts.sort_unstable();
    prompts.chunk_by(|a, b| a == b).map(<[_]>::len).filter(|&n| n > 1).sum::<usize>() as u64
}
