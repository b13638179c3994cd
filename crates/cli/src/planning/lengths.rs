//! How many words a prompt of so many tokens has, as the server itself counts them.

use std::convert::Infallible;

use anyhow::Context;
use streamgauge_client::run;
use streamgauge_schema::{
    Identifier, JournalLine, LengthProbe, Load, LoadShape, RequestLine, Stage,
};
use streamgauge_workload::Lengths;
use tokio::sync::watch;

use super::{Cell, Planner};
use crate::console;

/// Prompts of each length that the server is asked to count. All are sent at once.
const PROBES: u64 = 2;
/// Longest wait for a count, in milliseconds: the run itself may be more patient.
const PATIENCE_MS: u64 = 30_000;
/// Fewest tokens of the longer of two probes: the shorter one, of half as many, is then no prompt
/// that is too short to be made.
const FEWEST_TOKENS: u64 = 64;

/// Finds it out, from the tokenizer or the server, where any prompt is made to a length.
pub(super) async fn find(planner: &Planner<'_>) -> anyhow::Result<Lengths> {
    let args = planner.args;
    if !planner.asked.prompts.needs_lengths()
        || args.prompts.no_length_probes
        || args.output.dry_run
    {
        return Ok(Lengths::assumed());
    }
    #[cfg(feature = "tokenizer")]
    if let Some(file) = &args.prompts.tokenizer {
        return by_tokenizer(planner, file).with_context(|| file.display().to_string());
    }
    let longer = args.prompts.input_tokens.max(FEWEST_TOKENS);
    let probes = tokio::try_join!(counted(planner, longer / 2), counted(planner, longer))?;
    match Lengths::calibrated(&[probes.0, probes.1].concat()) {
        Ok(lengths) => Ok(lengths),
        Err(error) => {
            console::remark(&format!(
                "note: the server does not tell how long prompts are ({error}); four tokens are \
                 taken for three words"
            ));
            Ok(Lengths::assumed())
        }
    }
}

/// What a tokenizer counts for prompts like those of the run.
#[cfg(feature = "tokenizer")]
fn by_tokenizer(planner: &Planner<'_>, file: &std::path::Path) -> anyhow::Result<Lengths> {
    use streamgauge_workload::{Prompts, SyntheticPrompts};
    let assumed = Lengths::assumed();
    let args = &planner.args.prompts;
    let sample = match planner.asked.prompts.prompts(args, &assumed, planner.nonce)? {
        Prompts::Synthetic(prompts) => prompts,
        Prompts::Dataset { .. } => SyntheticPrompts::new(assumed.words(args.input_tokens), 0)?,
    };
    Ok(Lengths::from_tokenizer(&crate::input::read_bytes(file)?, &sample)?)
}

/// What the server counts in a few prompts of about so many tokens. A request that fails counts
/// nothing: the run will say why.
async fn counted(planner: &Planner<'_>, tokens: u64) -> anyhow::Result<Vec<LengthProbe>> {
    let mut args = planner.args.clone();
    args.prompts.input_tokens = tokens;
    args.prompts.dataset = None;
    args.prompts.prefix_tokens = None;
    args.answers.output_tokens = 1;
    let prober = Planner { args: &args, lengths: Lengths::assumed(), ..*planner };
    let words = Lengths::assumed().words(tokens);
    let load = Load {
        cell: Identifier::new("length-probes").context("a name")?,
        shape: LoadShape::ClosedLoop { concurrency: PROBES },
        requests: PROBES,
        duration_ms: None,
        warmup: 0,
    };
    // The prompts of the run itself are numbered from 0.
    let mut cell = prober.cell(u64::MAX / 2 - words, load)?;
    cell.plan.limits.timeout_ms = cell.plan.limits.timeout_ms.min(PATIENCE_MS);
    let lines = send(&cell, planner).await?;
    let tokens_of = |line: &RequestLine| line.observation.as_ref()?.usage?.prompt_tokens;
    let counts = lines.iter().filter_map(tokens_of);
    Ok(counts.map(|prompt_tokens| LengthProbe { words, prompt_tokens }).collect())
}

async fn send(cell: &Cell, planner: &Planner<'_>) -> anyhow::Result<Vec<RequestLine>> {
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
    Ok(lines)
}
