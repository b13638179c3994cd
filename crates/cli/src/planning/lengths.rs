//! How many words a prompt of so many tokens has, as the server itself counts them.

use std::convert::Infallible;

use anyhow::Context;
use streamgauge_client::run;
use streamgauge_schema::{
    Identifier, JournalLine, LengthProbe, Load, LoadShape, RequestLine, Stage,
};
use streamgauge_workload::{Lengths, Prompts, SyntheticPrompts};
use tokio::sync::watch;

use super::Planner;
use crate::console;

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
    let guess = args.prompts.no_length_probes || args.output.dry_run;
    if guess || !planner.asked.prompts.needs_lengths() {
        return Ok(Lengths::assumed());
    }
    let sample = sample(planner)?;
    #[cfg(feature = "tokenizer")]
    if let Some(file) = &args.prompts.tokenizer {
        let json = crate::input::read_bytes(file)?;
        return Lengths::from_tokenizer(&json, &sample).with_context(|| file.display().to_string());
    }
    let [shorter, longer] = sample.in_two_lengths();
    let probes = tokio::try_join!(counted(planner, shorter), counted(planner, longer))?;
    Ok(Lengths::calibrated(&[probes.0, probes.1].concat()).unwrap_or_else(|error| {
        console::remark(&format!(
            "note: the server does not tell how long prompts are ({error}); four tokens are taken \
             for three words"
        ));
        Lengths::assumed()
    }))
}

/// Prompts like those of the run, about as long, with other words.
fn sample(planner: &Planner<'_>) -> anyhow::Result<SyntheticPrompts> {
    let mut args = planner.args.prompts.clone();
    args.input_tokens = args.input_tokens.max(FEWEST_TOKENS);
    args.prompt_seed ^= SEED_APART;
    let assumed = Lengths::assumed();
    // Cells take this number and those after it.
    let nonce = planner.nonce.map(|first| first.wrapping_sub(1));
    match planner.asked.prompts.prompts(&args, &assumed, nonce) {
        Ok(Prompts::Synthetic(prompts)) => Ok(prompts),
        // A prefix that leaves too little of the prompt by this guess may not by the server's count.
        _ => Ok(SyntheticPrompts::new(assumed.words(args.input_tokens), args.prompt_seed)?),
    }
}

/// What the server counts in a few prompts. A request that fails counts nothing: the run will say
/// why.
async fn counted(
    planner: &Planner<'_>,
    prompts: SyntheticPrompts,
) -> anyhow::Result<Vec<LengthProbe>> {
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
    cell.plan.limits.timeout_ms = cell.plan.limits.timeout_ms.min(PATIENCE_MS);
    let (_stop, never) = watch::channel(false);
    let mut lines = Vec::new();
    let sink = |line| {
        if let JournalLine::Request(line) = line {
            lines.push(*line);
        }
        Ok::<(), Infallible>(())
    };
    let setup = cell.setup(&planner.server.access, None, never);
    run(setup, |stage: Stage, index| cell.request(stage, index), sink).await?;
    if let Some(failure) = lines.iter().find_map(|line: &RequestLine| line.failure.as_ref()) {
        console::remark(&format!(
            "note: a request that was to count a prompt failed: {}: {}",
            failure.class, failure.message
        ));
    }
    let tokens_of = |line: &RequestLine| line.observation.as_ref()?.usage?.prompt_tokens;
    let counts = lines.iter().filter_map(tokens_of);
    let words = prompts.words();
    Ok(counts.map(|prompt_tokens| LengthProbe { words, prompt_tokens }).collect())
}
