//! How many words a prompt of so many tokens has, as the server itself counts them.

use anyhow::Context;
use streamgauge_client::{Collected, run};
use streamgauge_schema::{
    Completion, Goal, Identifier, LengthProbe, Load, LoadShape, RequestLine, Stage,
};
use streamgauge_workload::{LengthError, Lengths, Prompts, SyntheticPrompts};
use tokio::sync::watch;

use super::Planner;
use crate::console;
use crate::exit::Unreachable;
use crate::notices::{NO_TOKENS, lacks_tokens};

/// Prompts of each of two lengths that the server is asked to count. All are sent at once.
const PROBES: u64 = 2;
/// Longest wait for a count, in milliseconds: the run itself may be more patient.
const PATIENCE_MS: u64 = 30_000;
/// Fewest tokens of a prompt that is counted: one that is too short to be made tells nothing.
const FEWEST_TOKENS: u64 = 64;
/// Parts the prompts that are counted from those that are measured.
const SEED_APART: u64 = 0x6c65_6e67_7468_7321;

/// Finds it out, from the tokenizer or the server, where any prompt is made to a length.
pub(super) async fn find(planner: &Planner<'_>) -> anyhow::Result<Lengths> {
    let args = planner.args;
    if !planner.asked.prompts.needs_lengths() {
        return Ok(Lengths::assumed());
    }
    #[cfg(feature = "tokenizer")]
    if let Some(file) = &args.prompts.tokenizer {
        let sample = sample(planner)?;
        let json = crate::input::read_bytes(file)?;
        return Lengths::from_tokenizer(&json, &sample).with_context(|| file.display().to_string());
    }
    if args.prompts.no_length_probes || args.output.dry_run {
        return Ok(Lengths::assumed());
    }
    let [shorter, longer] = sample(planner)?.in_two_lengths();
    let counts = tokio::try_join!(counted(planner, shorter), counted(planner, longer))?;
    let counts = [counts.0, counts.1];
    if let Some(why) = refused(planner, &counts) {
        return Err(Unreachable(why).into());
    }
    remark_on_answers(&args.goals.goodput, &counts);
    let probes: Vec<LengthProbe> = counts.iter().flat_map(Counted::probes).collect();
    Ok(Lengths::calibrated(&probes).unwrap_or_else(|error| {
        console::remark(&format!(
            "note: {}; so prompts get three words for four tokens, which is a guess",
            unusable(&error, &counts, &probes)
        ));
        Lengths::assumed()
    }))
}

/// What the server answered to prompts of one length.
struct Counted {
    words: u64,
    lines: Vec<RequestLine>,
}

impl Counted {
    /// What it reported of each prompt, in tokens.
    fn tokens(&self) -> impl Iterator<Item = u64> {
        let tokens_of = |line: &RequestLine| line.observation.as_ref()?.usage?.prompt_tokens;
        self.lines.iter().filter_map(tokens_of)
    }

    /// A prompt of no tokens was not counted.
    fn probes(&self) -> impl Iterator<Item = LengthProbe> {
        let words = self.words;
        let counted = self.tokens().filter(|tokens| *tokens > 0);
        counted.map(move |prompt_tokens| LengthProbe { words, prompt_tokens })
    }
}

/// What to do where the server refused every prompt for a reason that the run would meet too.
fn refused(planner: &Planner<'_>, counts: &[Counted; 2]) -> Option<String> {
    let mut lines = counts.iter().flat_map(|counted| &counted.lines);
    let status = |line: &RequestLine| Some(line.observation.as_ref()?.http_status);
    let first = lines.next()?;
    let code = status(first)?;
    if !lines.all(|line| status(line) == Some(code)) {
        return None;
    }
    let advice = match code {
        401 | 403 => {
            "it wants a key, or another one: --api-key-env names the variable that holds it"
        }
        404 => {
            "it knows no such path (--api, --endpoint-path, the end of --base-url), or no such \
             model (--model)"
        }
        405 => "this path takes no such requests: --api and --endpoint-path say which one does",
        _ => return None,
    };
    let server = planner.server;
    let path = server.endpoint.path(&planner.asked.endpoint_path);
    let said = first.failure.as_ref().map_or("", |failure| failure.message.as_str());
    Some(format!(
        "{}, path {path}: every request that was to count a prompt was refused: {said}; {advice}",
        server.endpoint
    ))
}

/// Says what the answers show that the run will not do without.
fn remark_on_answers(goals: &[Goal], counts: &[Counted; 2]) {
    let lines = || counts.iter().flat_map(|counted| &counted.lines);
    if let Some(failure) = lines().find_map(|line| line.failure.as_ref()) {
        console::remark(&format!(
            "note: a request that was to count a prompt failed: {}: {}",
            failure.class, failure.message
        ));
    }
    let lacks = |line: &RequestLine| {
        line.observation.as_ref().is_some_and(|seen| lacks_tokens(goals, seen))
    };
    if lines().any(lacks) {
        console::remark(&format!("warning: {NO_TOKENS}"));
    }
}

/// Why the counts say nothing of lengths.
fn unusable(error: &LengthError, counts: &[Counted; 2], probes: &[LengthProbe]) -> String {
    let answered = |counted: &Counted| {
        let succeeded = |line: &&RequestLine| line.completion == Completion::Succeeded;
        counted.lines.iter().filter(succeeded).count()
    };
    let tokens: Vec<u64> = counts.iter().flat_map(Counted::tokens).collect();
    let listed = || {
        let pair = |probe: &LengthProbe| format!("{}: {}", probe.words, probe.prompt_tokens);
        probes.iter().map(pair).collect::<Vec<_>>().join(", ")
    };
    match error {
        LengthError::TooFew { .. } if counts.iter().map(answered).sum::<usize>() == 0 => {
            "no request that was to count a prompt succeeded".to_owned()
        }
        LengthError::TooFew { .. } if tokens.is_empty() => {
            "the server reports no usage.prompt_tokens".to_owned()
        }
        LengthError::TooFew { .. } if tokens.iter().all(|tokens| *tokens == 0) => {
            "the server reports usage.prompt_tokens of 0".to_owned()
        }
        LengthError::TooFew { .. } => {
            "the server reports usage.prompt_tokens of prompts of one length only".to_owned()
        }
        LengthError::Slope { .. } => format!(
            "the server's usage.prompt_tokens does not grow with the prompt as a count of its \
             tokens does (words: tokens reported: {})",
            listed()
        ),
        error => format!("the server's usage.prompt_tokens cannot be used: {error}"),
    }
}

/// Prompts like those of the run, about as long, with other words.
fn sample(planner: &Planner<'_>) -> anyhow::Result<SyntheticPrompts> {
    let mut args = planner.args.prompts.clone();
    args.input_tokens = args.input_tokens.max(FEWEST_TOKENS);
    args.prompt_seed ^= SEED_APART;
    let assumed = Lengths::assumed();
    // Cells take this number and those after it.
    let nonce = planner.nonce.map(|first| first.wrapping_sub(1));
    match planner.prompts(&args, &assumed, nonce) {
        Ok(Prompts::Synthetic(prompts)) => Ok(prompts),
        // A prefix that leaves too little of the prompt by this guess may not by the server's count.
        _ => SyntheticPrompts::new(assumed.words(args.input_tokens), args.prompt_seed)
            .with_context(|| format!("--input-tokens {}", args.input_tokens)),
    }
}

/// What the server answers to a few prompts.
async fn counted(planner: &Planner<'_>, prompts: SyntheticPrompts) -> anyhow::Result<Counted> {
    let mut args = planner.args.clone();
    args.answers.output_tokens = 1;
    let prober = Planner { args: &args, lengths: Lengths::assumed(), ..*planner };
    let load = Load {
        cell: Identifier::new("length-probes").context("a name")?,
        shape: LoadShape::ClosedLoop { concurrency: PROBES },
        requests: PROBES,
        duration_ms: None,
        warmup: 0,
    };
    let mut cell = prober.cell_of(Prompts::Synthetic(prompts), load)?;
    // One count is as good as another's, and the first address gives it.
    cell.plan.target.replicas.clear();
    cell.plan.limits.timeout_ms = cell.plan.limits.timeout_ms.min(PATIENCE_MS);
    let (_stop, never) = watch::channel(false);
    let setup = cell.setup(&planner.server.access, None, never);
    let request_of = |stage: Stage, index| cell.request(stage, index);
    let (_, run) = run(setup, request_of, Collected::default()).await?;
    Ok(Counted { words: prompts.words(), lines: run.requests })
}
