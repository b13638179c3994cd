//! How many tokens the server itself counted while the measured requests were under way, and how many its
//! responses added up to.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{request, server_figure};
//! let told = ["output 1000 prompt 500", "output 1064 prompt 1524"];
//! let requests = [request(&[9_000], 32), request(&[9_000], 32)];
//! let figure = |id| server_figure(id, &requests, &told);
//! assert_eq!(figure("server_output_tokens_tok"), Some(64.0));
//! assert_eq!(figure("usage_output_tokens_tok"), Some(64.0));
//! assert_eq!(figure("server_prompt_tokens_tok"), Some(1024.0));
//! ```

use streamgauge_schema::{ServerQuantity, TokenSource, Unit};

use super::server_requests::{ENDS_MISSING, OF_STATE, counted};
use super::{Entry, Family, Population, RunFigure, Source};
use crate::measured::Part;
use crate::sent::OutputTokens;

pub(crate) const OUTPUT_TOKENS: Family = Family {
    name: "Output tokens by the server's counter",
    unit: Unit::Tokens,
    meaning: "Tokens that the server generated while the measured requests were under way, by its own \
              counter, for whomever.",
    formula: "counter after the last request − counter before the first",
    absent_when: ENDS_MISSING,
    example: "1,000 before, 1,064 after: 64.",
    source: Source::Run {
        metric: Entry::of_run("server_output_tokens_tok"),
        figure: |part| counted(part, ServerQuantity::OutputTokens),
    },
    ..OF_STATE
};

pub(crate) const OUTPUT_TOKENS_BY_USAGE: Family = Family {
    name: "Output tokens by usage",
    unit: Unit::Tokens,
    population: Population::Sent,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "Completion tokens of all measured requests together, as their responses count them: what the \
              server's own counter is held against.",
    formula: "Σ usage.completion_tokens",
    absent_when: "Nothing was sent, or a response with output has no usable count of its tokens.",
    example: "Two answers of 32 tokens: 64.",
    source: Source::Run { metric: Entry::of_run("usage_output_tokens_tok"), figure: by_usage },
    ..OF_STATE
};

pub(crate) const PROMPT_TOKENS: Family = Family {
    name: "Prompt tokens by the server's counter",
    unit: Unit::Tokens,
    meaning: "Prompt tokens that the server counted while the measured requests were under way; some servers \
              leave out what came from a cache.",
    formula: "counter after the last request − counter before the first",
    absent_when: ENDS_MISSING,
    example: "500 before, 1,524 after: 1,024.",
    source: Source::Run {
        metric: Entry::of_run("server_prompt_tokens_tok"),
        figure: |part| counted(part, ServerQuantity::PromptTokens),
    },
    ..OF_STATE
};

fn by_usage(part: Part<'_>) -> RunFigure {
    let sent = &part.run.sent;
    let missing = sent.iter().filter(|sent| sent.output_tokens() == OutputTokens::Unknown).count();
    let tokens = part.run.counted_tokens();
    let value = (!sent.is_empty() && missing == 0).then_some(tokens as f64);
    RunFigure { missing: missing as u64, ..RunFigure::of(value, sent.len() as u64) }
}
