//! Rates of the whole run, and the duration that they are divided by.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! // 37 tokens in the one second of the batch.
//! let lines = [request(&[100, 1_000], 37)];
//! assert_eq!(figure("completion_throughput_tps", &lines), Some(37.0));
//! assert_eq!(figure("total_throughput_tok_per_s", &lines), Some(549.0));
//! ```

use streamgauge_schema::{Direction, TokenSource, Unit};

use super::{Entry, Family, Population, Presence, RunFigure, Source};
use crate::measured::Part;
use crate::sent::{OutputTokens, Sent};

/// The name of completion throughput over the steady window.
const STEADY_TOKENS: &str = "completion_throughput_steady_tok_per_s";

/// When the tokens of a run are not known.
pub(super) const OUTPUT_UNKNOWN: &str = "Any request with output has no usable usage: none, ambiguous, or 0 tokens (the definition then \
     says how many); nothing was sent, or the batch has no duration. A request without output counts \
     0 tokens.";

pub(crate) const COMPLETION_THROUGHPUT: Family = Family {
    name: "End-to-end completion throughput",
    unit: Unit::TokensPerSecond,
    direction: Direction::HigherIsBetter,
    population: Population::Sent,
    presence: Presence::Always,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "completion tokens divided by the measured batch duration",
    formula: "Σ completion_tokens / batch_duration_seconds",
    absent_when: OUTPUT_UNKNOWN,
    example: "787 tokens in 37.153 s: 21.18 tok/s, prefill, waiting and failures inside.",
    source: Source::Run {
        metric: Entry::of_run("completion_throughput_tps").and_steady(STEADY_TOKENS).in_version_1(
            "Server-reported completion tokens divided by the entire measured batch duration, \
             including prefill, waiting and failed requests. Token accounting is stated in the \
             serving cell.",
        ),
        figure: |part| token_throughput(part, output_tokens),
    },
};

pub(crate) const INPUT_THROUGHPUT: Family = Family {
    name: "Input throughput",
    meaning: "Prompt tokens that the server reports, those from its cache included, divided by the \
              entire measured batch duration.",
    formula: "Σ prompt_tokens / batch_duration_seconds",
    absent_when: "Any request with output has no usable count of prompt tokens (the definition then \
                  says how many); nothing was sent, or the batch has no duration. A request without \
                  output and usage counts 0 tokens.",
    example: "64 prompts of 512 tokens in 10.0 s: 3,276.8 tok/s.",
    source: Source::Run {
        metric: Entry::of_run("input_throughput_tok_per_s")
            .and_steady("input_throughput_steady_tok_per_s"),
        figure: |part| token_throughput(part, input_tokens),
    },
    ..COMPLETION_THROUGHPUT
};

pub(crate) const TOTAL_THROUGHPUT: Family = Family {
    name: "Total throughput",
    meaning: "Prompt and completion tokens that the server reports, divided by the entire measured \
              batch duration.",
    formula: "(Σ prompt_tokens + Σ completion_tokens) / batch_duration_seconds",
    absent_when: "As input or completion throughput.",
    example: "64 prompts of 512 tokens and answers of 128 in 10.0 s: 4,096 tok/s.",
    source: Source::Run {
        metric: Entry::of_run("total_throughput_tok_per_s")
            .and_steady("total_throughput_steady_tok_per_s"),
        figure: |part| {
            token_throughput(part, |sent| {
                Some(input_tokens(sent)?.saturating_add(output_tokens(sent)?))
            })
        },
    },
    ..COMPLETION_THROUGHPUT
};

pub(crate) const BATCH_DURATION: Family = Family {
    name: "Measured batch duration",
    unit: Unit::Seconds,
    direction: Direction::Neutral,
    population: Population::Sent,
    presence: Presence::Always,
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
        figure: |part| {
            let value = part.seconds();
            RunFigure { value, samples: u64::from(value.is_some()), missing: 0, remark: None }
        },
    },
};

pub(crate) const REQUEST_THROUGHPUT: Family = Family {
    name: "Request throughput",
    unit: Unit::RequestsPerSecond,
    direction: Direction::HigherIsBetter,
    population: Population::Sent,
    presence: Presence::Always,
    token_source: None,
    meaning: "Succeeded requests divided by the entire measured batch duration; the time of \
              requests that did not succeed is inside it.",
    formula: "succeeded / batch_duration_seconds",
    absent_when: "Nothing was sent, or the batch has no duration.",
    example: "64 requests, 60 of them succeeded, in 10.0 s: 6.0 req/s.",
    source: Source::Run {
        metric: Entry::of_run("request_throughput_per_s")
            .and_steady("request_throughput_steady_per_s"),
        figure: |part| {
            let succeeded = part.sent().filter(|sent| sent.succeeded()).count() as u64;
            let value = per_second(part, succeeded);
            let samples = value.map_or(0, |_| part.sent().count() as u64);
            RunFigure { value, samples, missing: 0, remark: None }
        },
    },
};

/// The tokens that one request adds: nothing without output and usage, and `None` where it has
/// output that no count belongs to.
fn output_tokens(sent: &Sent) -> Option<u64> {
    match sent.output_tokens() {
        OutputTokens::None => Some(0),
        OutputTokens::Counted(count) => Some(count),
        OutputTokens::Unknown => None,
    }
}

fn input_tokens(sent: &Sent) -> Option<u64> {
    let has_none = sent.output_tokens() == OutputTokens::None;
    sent.prompt_tokens().or(has_none.then_some(0))
}

fn token_throughput(part: Part<'_>, of: fn(&Sent) -> Option<u64>) -> RunFigure {
    let (mut tokens, mut with_output, mut missing) = (0_u64, 0_u64, 0_u64);
    for sent in part.sent() {
        with_output += u64::from(sent.output_tokens() != OutputTokens::None);
        match of(sent) {
            Some(count) => tokens = tokens.saturating_add(count),
            None => missing += 1,
        }
    }
    let value = if missing == 0 { per_second(part, tokens) } else { None };
    let samples = value.map_or(0, |_| part.sent().count() as u64);
    let remark = (missing > 0)
        .then(|| format!("None: usage is missing for {missing} of {with_output} responses."));
    RunFigure { value, samples, missing, remark }
}

fn per_second(part: Part<'_>, count: u64) -> Option<f64> {
    part.seconds().map(|seconds| count as f64 / seconds)
}
