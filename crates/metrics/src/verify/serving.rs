//! Rules of the serving cell.

use streamgauge_schema::RunRecord;

use super::{Rules, at};

pub(super) fn check(record: &RunRecord, rules: &mut Rules) {
    let cell = record.performance();
    rules.at_most(
        "successes-were-declared",
        [
            (cell.transport_successes, "performance.transport_successes"),
            (record.counts().declared, "counts.declared"),
        ],
    );
    let (min, max) = (cell.actual_input_tokens_min, cell.actual_input_tokens_max);
    let shown = |tokens: Option<u64>| tokens.map_or_else(|| "null".to_owned(), |n| n.to_string());
    rules.check(
        "input-tokens-in-order",
        min.is_some() == max.is_some() && min <= max,
        [at("performance.actual_input_tokens_min"), at("performance.actual_input_tokens_max")],
        format!(
            "performance.actual_input_tokens_min ({}) is at most \
             performance.actual_input_tokens_max ({}), and both are known or neither",
            shown(min),
            shown(max)
        ),
    );
    if let Some(peak) = cell.observed_peak_inflight {
        rules.at_most(
            "peak-within-limit",
            [
                (peak, "performance.observed_peak_inflight"),
                (cell.client_concurrency_limit, "performance.client_concurrency_limit"),
            ],
        );
    }
}
