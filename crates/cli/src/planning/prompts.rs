//! The prompts that arguments ask for.

use std::sync::Arc;

use anyhow::Context;
use streamgauge_schema::{CacheState, DatasetManifest, Identifier, PublicText, SharedPrefix};
use streamgauge_workload::{
    Dataset, DatasetLine, Lengths, Prompt, Prompts, Requests, Reuse, SyntheticPrompts,
};

use crate::args::run::PromptArgs;
use crate::args::turnover::ControlledWord;
use crate::console;
use crate::deployment::identifier_like;
use crate::grading::{Expectations, Expected};
use crate::input::read_dataset;
use crate::manifest;

/// Most requests of a closed loop that time ends: their digests are made before it begins.
const MOST_IN_A_DURATION: u64 = 100_000;

/// Where prompts come from: a dataset that was read, or nothing but a recipe.
#[derive(Debug)]
pub(crate) struct PromptFile {
    dataset: Option<Dataset>,
    /// What lies beside it and says what it is.
    manifest: Option<DatasetManifest>,
    /// What answers are held against; `None` where nothing grades them.
    expectations: Option<Expectations>,
    /// What a turnover asks for; `None` of any other run.
    turnover: Option<ControlledWord>,
}

/// What keeps the prompts of this run apart from those of any other; `None` where nothing is to. Answers
/// of two runs can be held against each other only where both were asked the same.
pub(super) fn nonce(args: &PromptArgs) -> anyhow::Result<Option<u64>> {
    let asked_again = args.determinism.is_some() && args.nonce_seed.is_none();
    let apart = args.dataset.is_none() && !args.allow_cached_prompts && !asked_again;
    let wanted = args.nonce || apart;
    match args.nonce_seed {
        _ if !wanted => Ok(None),
        Some(seed) => Ok(Some(seed)),
        None => getrandom::u64().map(Some).context("no random number for this run's prompts"),
    }
}

impl PromptFile {
    pub(super) fn read(args: &PromptArgs) -> anyhow::Result<Self> {
        let Some(file) = &args.dataset else {
            let turnover = args.turnover.clone();
            // What cannot be asked for is said before any server is asked.
            turnover.as_ref().map(|asked| asked.prompts(0)).transpose()?;
            return Ok(Self { dataset: None, manifest: None, expectations: None, turnover });
        };
        let shown = file.display().to_string();
        let bytes = read_dataset(file)?;
        let dataset = Dataset::parse(&bytes, &shown)?;
        // Receipts are joined by prompts, of which several requests have the same.
        let ungraded = args.no_grade || args.determinism.is_some();
        let expectations = if ungraded { None } else { Expectations::of(&dataset, &bytes)? };
        if dataset.skipped() > 0 {
            console::remark(&format!(
                "note: {shown}: {} conversations without a prompt were left out",
                dataset.skipped()
            ));
        }
        let manifest = manifest::beside(file, dataset.digest())?;
        Ok(Self { dataset: Some(dataset), manifest, expectations, turnover: None })
    }

    /// Warns where right answers would be cut.
    pub(super) fn note_short_answers(&self, output_tokens: u64) {
        let needed =
            self.manifest.as_ref().and_then(|manifest| Some((manifest, manifest.answer_tokens?)));
        let Some((manifest, needed)) = needed.filter(|(_, needed)| *needed > output_tokens) else {
            return;
        };
        console::remark(&format!(
            "warning: {} needs up to {needed} tokens for an answer without reasoning; answers that \
             --output-tokens {output_tokens} cuts cannot pass",
            manifest.suite_version()
        ));
    }

    /// The prompts of a cell.
    pub(super) fn prompts(
        &self,
        args: &PromptArgs,
        lengths: &Lengths,
        nonce: Option<u64>,
        cache_state: &CacheState,
    ) -> anyhow::Result<Prompts> {
        if let Some(dataset) = self.dataset.clone() {
            let reuse = if args.repeat { Reuse::Repeat } else { Reuse::Refuse };
            return Ok(Prompts::Dataset { dataset, reuse, nonce });
        }
        if let Some(asked) = &self.turnover {
            return asked.prompts(nonce.unwrap_or(0)).map(Prompts::Turnover);
        }
        let words = lengths.words(args.input_tokens);
        let mut prompts = SyntheticPrompts::new(words, args.prompt_seed).with_context(|| {
            format!(
                "--input-tokens {} stands for {words} words, besides what the server puts around a \
                 prompt",
                args.input_tokens
            )
        })?;
        if let Some(tokens) = args.prefix_tokens {
            let prefix = SharedPrefix { words: lengths.words(tokens), count: args.prefixes };
            prompts = prompts.with_prefix(prefix).with_context(|| {
                format!("--prefix-tokens {tokens} of --input-tokens {}", args.input_tokens)
            })?;
        }
        if *cache_state != CacheState::WarmEngineSharedPrefixes {
            prompts = prompts.with_cold_prefix();
        }
        Ok(Prompts::Synthetic(match nonce {
            Some(seed) => prompts.with_nonce(seed),
            None => prompts,
        }))
    }

    /// Whether something is expected of the answers.
    pub(super) fn is_graded(&self) -> bool {
        self.expectations.is_some()
    }

    /// What the answers to these requests are held against; `None` when nothing grades them.
    pub(super) fn expected(&self, requests: &Requests) -> anyhow::Result<Option<Expected>> {
        if let Some(asked) = &self.turnover {
            // What is asked for is the same whatever the markers are.
            let sha256 = asked.prompts(0)?.digest();
            return Expected::of_turnover(sha256, requests).map(Some);
        }
        let expectations = self.expectations.as_ref();
        expectations.map(|expectations| Expected::of_lines(expectations, requests)).transpose()
    }

    /// Most requests of a closed loop that time ends: a dataset's lines serve once each unless the
    /// arguments say otherwise.
    pub(super) fn most_requests(&self, args: &PromptArgs) -> u64 {
        match &self.dataset {
            Some(dataset) if !args.repeat && !args.nonce => dataset.lines().len() as u64,
            _ => MOST_IN_A_DURATION,
        }
    }

    /// Tokens that a prompt is meant to have.
    pub(super) fn target_tokens(&self, args: &PromptArgs) -> Option<u64> {
        (self.dataset.is_none() && self.turnover.is_none()).then_some(args.input_tokens)
    }

    /// Whether some prompt is made to a length in tokens.
    pub(super) fn needs_lengths(&self) -> bool {
        let is_made = |line: &DatasetLine| matches!(line.prompt, Prompt::Synthetic { .. });
        self.turnover.is_none()
            && self.dataset.as_ref().is_none_or(|dataset| dataset.lines().iter().any(is_made))
    }

    /// When each line of a trace is due.
    pub(super) fn due_us(&self) -> Option<Arc<[u64]>> {
        self.dataset.as_ref().and_then(Dataset::due_us)
    }

    /// Name of the suite.
    pub(super) fn suite_version(&self) -> Identifier {
        if let Some(manifest) = &self.manifest {
            return manifest.suite_version();
        }
        if self.turnover.is_some() {
            return identifier_like("turnover-v1");
        }
        let Some(dataset) = &self.dataset else { return identifier_like("synthetic-words-v1") };
        let name = std::path::Path::new(dataset.file_name());
        let stem = name.file_stem().unwrap_or_default().to_string_lossy();
        // The name is published.
        identifier_like(if PublicText::new(stem.as_ref()).is_ok() { &stem } else { "dataset" })
    }
}
