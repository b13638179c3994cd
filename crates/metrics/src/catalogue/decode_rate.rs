//! Tokens a second after the first output, one value a request.

use streamgauge_schema::{Direction, TokenSource, Unit};

use super::tpot::NO_RATE;
use super::{Entry, Family, Population, Presence, Source};
use crate::sent::Sent;
use crate::statistic::Statistic::{Mean, P50, P95, P99};

pub(crate) const DECODE_RATE: Family = Family {
    name: "Decode rate",
    unit: Unit::TokensPerSecond,
    direction: Direction::HigherIsBetter,
    population: Population::Succeeded,
    presence: Presence::Always,
    token_source: Some(TokenSource::ServerUsage),
    meaning: "(completion tokens - 1) / (end - first output), one value a request, tokens as the \
              server counts them; prefill is outside. Succeeded requests with usable usage.",
    formula: "(completion_tokens − 1) / ((elapsed_us − first_output_us) / 1,000,000)",
    absent_when: NO_RATE,
    example: "100 tokens, first output at 200 ms, end at 1,190 ms: 99 / 0.99 s = 100.0 tok/s. Over \
              the whole request it would be 84.0, which is no decode rate. More is better, so the \
              slow tail is below p50; p95 and p99 are the fast one.",
    source: Source::Requests {
        value: Sent::decode_rate_tok_per_s,
        metrics: &[
            Entry::new("decode_rate_p50_tok_per_s", P50)
                .and_steady("decode_rate_steady_p50_tok_per_s"),
            Entry::new("decode_rate_p95_tok_per_s", P95)
                .and_steady("decode_rate_steady_p95_tok_per_s"),
            Entry::new("decode_rate_p99_tok_per_s", P99)
                .and_steady("decode_rate_steady_p99_tok_per_s"),
            Entry::new("decode_rate_mean_tok_per_s", Mean)
                .and_steady("decode_rate_steady_mean_tok_per_s"),
        ],
    },
};
