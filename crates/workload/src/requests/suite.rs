//! What a plan says of requests: where their prompts come from, and the digest of all of them.

use std::fmt::Write as _;

use streamgauge_schema::{Digest, PromptSource, Stage, Workload, digest_bytes};

use super::{Prompts, Requests, Reuse};
use crate::dataset::{Dataset, Prompt};
use crate::prompt::{SentPrompt, Text};
use crate::synthetic::SyntheticPrompts;
use crate::turnover::TurnoverPrompts;

/// Prompts of a suite whose digests enter its own. That of all others follows from the file or the
/// recipe, whose digest stands beside it, and a run of millions is not to wait for them.
const SUITE_PROMPTS: u64 = 100_000;
/// Digests that are written down before they are hashed, so that a suite of millions needs no
/// memory.
const DIGESTS_AT_ONCE: usize = 512;
/// A digest with what stands around it.
const DIGEST_BYTES: usize = 72;

/// What depends on where prompts come from.
struct Described {
    source: PromptSource,
    suite_sha256: Digest,
    dataset_sha256: Digest,
    repeated_prompts: u64,
}

impl Requests {
    /// What a plan says of these requests.
    ///
    /// `suite_sha256` is taken over the prompts without their nonces, and over those of one round where
    /// each is asked several times: two runs that differ in nothing else have the same suite. Of more
    /// than 100,000 measured requests it is taken over the first 100,000 prompts and the number of
    /// requests (`{dataset, dataset_version, prompts, requests}`). The prompts of a turnover run enter with
    /// their markers: two such runs with the same suite asked for the very same.
    #[must_use]
    pub fn describe(&self) -> Workload {
        let described = match &self.spec.prompts {
            Prompts::Dataset { dataset, reuse, nonce } => {
                self.describe_dataset(dataset, *reuse, *nonce)
            }
            Prompts::Synthetic(prompts) => self.describe_synthetic(prompts),
            Prompts::Turnover(prompts) => self.describe_turnover(prompts),
        };
        let by_length = match &self.spec.prompts {
            Prompts::Dataset { dataset, .. } => {
                let by_length = |prompt: &Prompt| matches!(prompt, Prompt::Synthetic { .. });
                dataset.lines().iter().any(|line| by_length(&line.prompt))
            }
            Prompts::Synthetic(_) => true,
            Prompts::Turnover(_) => false,
        };
        Workload {
            source: described.source,
            target_input_tokens: self.spec.target_input_tokens,
            suite_version: self.spec.suite_version.clone(),
            suite_sha256: described.suite_sha256,
            dataset_sha256: described.dataset_sha256,
            repeated_prompts: match self.spec.repetitions {
                0 | 1 => described.repeated_prompts,
                // Each of them is asked again.
                _ => self.spec.requests,
            },
            repetitions: Some(self.spec.repetitions).filter(|times| *times > 1),
            length_basis: by_length.then(|| self.spec.lengths.basis().clone()),
        }
    }

    fn describe_dataset(&self, dataset: &Dataset, reuse: Reuse, nonce: Option<u64>) -> Described {
        let lines = self.line_digests(dataset);
        let prompts = lines.iter().cycle().take(self.prompts_asked() as usize).copied();
        Described {
            source: PromptSource::Dataset {
                path: dataset.file_name().to_owned(),
                records: dataset.lines().len() as u64,
                repeat: reuse == Reuse::Repeat,
                nonce,
            },
            suite_sha256: self.suite(base_name(dataset.file_name()), prompts),
            dataset_sha256: dataset.digest(),
            repeated_prompts: match nonce {
                Some(_) => 0,
                None => repeated(lines, self.spec.requests),
            },
        }
    }

    fn describe_synthetic(&self, prompts: &SyntheticPrompts) -> Described {
        let bare = prompts.bare();
        let digests = (0..self.prompts_asked()).map(|index| {
            let text = Text::Words { prompts: bare, stage: Stage::Measured, index };
            SentPrompt::text(&self.format, text).digest()
        });
        Described {
            source: PromptSource::Synthetic {
                words: prompts.words(),
                seed: prompts.seed(),
                prefix: prompts.prefix(),
                nonce: prompts.nonce(),
            },
            suite_sha256: self.suite("synthetic", digests),
            dataset_sha256: prompts.digest(),
            // Each has a code that no other has.
            repeated_prompts: 0,
        }
    }

    fn describe_turnover(&self, prompts: &TurnoverPrompts) -> Described {
        let digests = (0..self.spec.requests).map(|index| {
            let text = Text::Given(prompts.prompt(Stage::Measured, index).into());
            SentPrompt::text(&self.format, text).digest()
        });
        Described {
            source: PromptSource::Turnover {
                word: prompts.word().to_owned(),
                count: prompts.count(),
                policy: prompts.policy(),
                seed: prompts.seed(),
            },
            suite_sha256: self.suite("turnover", digests),
            dataset_sha256: prompts.digest(),
            // Each has a marker that no other has.
            repeated_prompts: 0,
        }
    }

    /// The digests of the lines that measured requests ask, without a nonce.
    fn line_digests(&self, dataset: &Dataset) -> Vec<Digest> {
        let asked = usize::try_from(self.prompts_asked()).unwrap_or(usize::MAX);
        let lines = dataset.lines().iter().take(asked).enumerate();
        lines.map(|(place, line)| self.sent_line(line, place, None).digest()).collect()
    }

    /// The digest of the suite's canonical bytes.
    fn suite(&self, dataset: &str, prompts: impl Iterator<Item = Digest>) -> Digest {
        let begin = format!(
            "{{\n  \"dataset\": {},\n  \"dataset_version\": {},\n  \"prompts\": [",
            canonical(dataset),
            canonical(self.spec.suite_version.as_str()),
        );
        let requests = self.prompts_asked();
        let end = match requests {
            0 => "]\n}\n".to_owned(),
            1..=SUITE_PROMPTS => "\n  ]\n}\n".to_owned(),
            _ => format!("\n  ],\n  \"requests\": {requests}\n}}\n"),
        };
        let mut prompts = prompts.take(SUITE_PROMPTS as usize).peekable();
        let mut separator = "";
        let blocks = std::iter::from_fn(|| {
            prompts.peek()?;
            let mut block = String::with_capacity(DIGESTS_AT_ONCE * DIGEST_BYTES);
            for digest in prompts.by_ref().take(DIGESTS_AT_ONCE) {
                write!(block, "{separator}\n    \"{digest}\"").expect("a text takes any text");
                separator = ",";
            }
            Some(block)
        });
        Digest::of_parts([begin].into_iter().chain(blocks).chain([end]))
    }
}

fn canonical(text: &str) -> String {
    let mut bytes = digest_bytes(text).expect("a text has canonical bytes");
    bytes.pop();
    String::from_utf8(bytes).expect("canonical bytes are ASCII")
}

fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// How many of so many requests, which take these lines in turn, have a prompt that another has too.
fn repeated(lines: Vec<Digest>, requests: u64) -> u64 {
    let count = lines.len() as u64;
    let times = |place: u64| requests / count + u64::from(place < requests % count);
    let mut asked: Vec<(Digest, u64)> =
        lines.into_iter().zip(0..).map(|(digest, place)| (digest, times(place))).collect();
    asked.sort_unstable();
    let of_each = asked.chunk_by(|a, b| a.0 == b.0);
    let together = of_each.map(|same| same.iter().map(|(_, times)| times).sum::<u64>());
    together.filter(|times| *times > 1).sum()
}
