//! How much of the answers was reasoning.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! let reasoning = |tokens, of| {
//!     let mut line = request(&[100, 200], of);
//!     let seen = line.observation.as_mut().unwrap();
//!     seen.usage.as_mut().unwrap().reasoning_tokens = Some(tokens);
//!     line
//! };
//! let lines = [reasoning(30, 40), reasoning(10, 120)];
//! assert_eq!(figure("reasoning_tokens_ratio", &lines), Some(0.25));
//! ```

use streamgauge_schema::{Direction, TokenSource, Unit};

use super::{Entry, Family, Population, Presence, RunFigure, Source};

pub(crate) const REASONING_SHARE: Family = Family {
    name: "Reasoning share of completion tokens",
    unit: Unit::Ratio,
    direction: Direction::Neutral,
    population: Population::Sent,
    presence: Presence::Always,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "Tokens of reasoning, of all completion tokens of the responses that report both; \
              completion tokens hold those of reasoning unless the serving cell says otherwise.",
    formula: "Σ min(reasoning_tokens, completion_tokens) / Σ completion_tokens; where completion \
              tokens leave reasoning out, Σ reasoning_tokens / Σ (completion_tokens + \
              reasoning_tokens)",
    absent_when: "No response reports both counts; many servers report none, also of models that \
                  reason. Nothing is inferred from what was streamed.",
    example: "30 of 40 and 10 of 120 tokens were reasoning: 40 / 160 = 0.25.",
    source: Source::Run {
        metric: Entry::of_run("reasoning_tokens_ratio"),
        figure: |part| {
            let value = part.run.reasoning.ratio(&part.run.token_accounting);
            let samples = value.map_or(0, |_| part.run.reasoning.responses);
            let missing = part.run.sent.len() as u64 - samples;
            RunFigure { value, samples, missing, remark: None }
        },
    },
};
