//! Rules of the serving cell.

use streamgauge_schema::{RunRecord, RunRecordV2};

use super::{Rules, at, shown};

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
        format_args!(
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
    if let RunRecord::V2(record) = record {
        check_prompts(record, rules);
    }
}

/// Where every request that was sent succeeded, the metrics of prompt lengths are of all of them.
fn check_prompts(record: &RunRecordV2, rules: &mut Rules) {
    let (load, cell) = (&record.load, &record.performance);
    if load.succeeded != load.offered.saturating_sub(load.not_sent) {
        return;
    }
    for (id, key, said) in [
        ("prompt_tokens_min_tok", "actual_input_tokens_min", cell.actual_input_tokens_min),
        ("prompt_tokens_max_tok", "actual_input_tokens_max", cell.actual_input_tokens_max),
    ] {
        let found = record.metrics.iter().position(|metric| metric.id.as_str() == id);
        let Some(index) = found else { continue };
        let value = record.metrics[index].value;
        rules.check(
            "input-tokens-said-twice",
            value == said.map(|tokens| tokens as f64),
            [
                at("metrics").index(index).key("value"),
                at("performance").key(key),
                at("load.succeeded"),
                at("load.not_sent"),
            ],
            format_args!(
                "{id} ({}) is performance.{key} ({}), as every request succeeded",
                shown(value),
                shown(said.map(|tokens| tokens as f64))
            ),
        );
    }
}
