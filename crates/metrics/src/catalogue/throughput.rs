//! Rates of the whole run, and the duration that they are divided by.

use streamgauge_schema::{Completion, Direction, TokenSource, Unit};

use super::{Entry, Family, Population, RunFigure, Source};
use crate::measured::{Measured, OutputTokens};

pub(crate) const COMPLETION_THROUGHPUT: Family = Family {
    name: "End-to-end completion throughput",
    unit: Unit::TokensPerSecond,
    direction: Direction::HigherIsBetter,
    population: Population::Sent,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "completion tokens divided by the measured batch duration",
    formula: "Σ completion_tokens / batch_duration_seconds",
    absent_when: "Any request with output has no usable usage: none, ambiguous, or 0 tokens (the \
                  definition then says how many); nothing was sent, or the batch has no duration. \
                  A request without output counts 0 tokens.",
    example: "787 tokens in 37.153 s: 21.18 tok/s, prefill, waiting and failures inside.",
    source: Source::Run {
        metric: Entry::of_run("completion_throughput_tps").in_version_1(
            "Server-reported completion tokens divided by the entire measured batch duration, \
             including prefill, waiting and failed requests. Token accounting is stated in the \
             serving cell.",
        ),
        figure: completion_throughput,
    },
};

pub(crate) const BATCH_DURATION: Family = Family {
    name: "Measured batch duration",
    unit: Unit::Seconds,
    direction: Direction::Neutral,
    population: Population::Sent,
    token_source: None,
    meaning: "the time from the first start to the last end of the measured requests",
    formula: "(max(started_us + elapsed_us) − min(started_us)) / 1,000,000",
    absent_when: "Nothing was sent.",
    example: "First start at 0.2 s, last end at 10.2 s of the run: 10.0. Process set-up and \
              warm-up are outside.",
    source: Source::Run {
        metric: Entry::of_run("batch_duration_seconds").in_version_1(
            "Client measurement interval, excluding process setup. This is the denominator for \
             aggregate completion throughput.",
        ),
        figure: |run| {
            let value = run.batch_seconds();
            RunFigure { value, samples: u64::from(value.is_some()), missing: 0, remark: None }
        },
    },
};

pub(crate) const REQUEST_THROUGHPUT: Family = Family {
    name: "Request throughput",
    unit: Unit::RequestsPerSecond,
    direction: Direction::HigherIsBetter,
    population: Population::Sent,
    token_source: None,
    meaning: "Succeeded requests divided by the entire measured batch duration; the time of \
              requests that did not succeed is inside it.",
    formula: "succeeded / batch_duration_seconds",
    absent_when: "Nothing was sent, or the batch has no duration.",
    example: "64 requests, 60 of them succeeded, in 10.0 s: 6.0 req/s.",
    source: Source::Run {
        metric: Entry::of_run("request_throughput_per_s"),
        figure: |run| {
            let value = per_second(run, run.count(Completion::Succeeded));
            let samples = value.map_or(0, |_| run.sent.len() as u64);
            RunFigure { value, samples, missing: 0, remark: None }
        },
    },
};

fn completion_throughput(run: &Measured<'_>) -> RunFigure {
    let (mut tokens, mut with_output, mut missing) = (0_u64, 0_u64, 0_u64);
    for line in &run.sent {
        let counted = OutputTokens::of(line);
        with_output += u64::from(counted != OutputTokens::None);
        match counted {
            OutputTokens::None => {}
            OutputTokens::Counted(count) => tokens = tokens.saturating_add(count),
            OutputTokens::Unknown => missing += 1,
        }
    }
    let value = if missing == 0 { per_second(run, tokens) } else { None };
    let samples = value.map_or(0, |_| run.sent.len() as u64);
    let remark = (missing > 0)
        .then(|| format!("None: usage is missing for {missing} of {with_output} responses."));
    RunFigure { value, samples, missing, remark }
}

fn per_second(run: &Measured<'_>, count: u64) -> Option<f64> {
    run.batch_seconds().map(|seconds| count as f64 / seconds)
}
