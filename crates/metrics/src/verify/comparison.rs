//! Rules of comparisons: deltas, flags and gates are recomputed to the last bit; turnover runs add
//! up.

use streamgauge_schema::{
    CellComparison, Comparison, JsonPath, MetricComparison, Turnover, TurnoverFailure,
    TurnoverFailureClass,
};

use super::{Rules, at, same_bits, shown};
use crate::gate::{
    candidate_turnovers, compared_direction, delta_percent, performance_gate, strict_turnover_gate,
    within_five_percent,
};

pub(super) fn check(comparison: &Comparison, rules: &mut Rules) {
    for (name, cell) in comparison.cells.iter() {
        check_cell(at("cells").key(name.as_str()), cell, rules);
    }
    let turnovers = [
        ("baseline_turnover", &comparison.baseline_turnover),
        ("candidate_turnover", &comparison.candidate_turnover),
        ("candidate_turnover_repeat", &comparison.candidate_turnover_repeat),
    ];
    for (key, turnover) in &turnovers {
        if let Some(turnover) = turnover {
            check_turnover(&at(key), turnover, rules);
        }
    }
    check_performance_gate(comparison, rules);
    let strict = strict_turnover_gate(&candidate_turnovers(comparison));
    let recorded = comparison.strict_turnover_gate_passed;
    let runs = turnovers[1..].iter().filter(|(_, turnover)| turnover.is_some());
    let counts = runs.flat_map(|(key, _)| {
        ["requests", "exact_output_passed", "failed"].map(|count| at(key).key(count))
    });
    rules.check(
        "strict-turnover-gate-follows",
        recorded == strict,
        [at("strict_turnover_gate_passed")].into_iter().chain(counts),
        format_args!(
            "strict_turnover_gate_passed ({recorded}) says whether there is a turnover run of the \
             candidate and all passed exactly ({strict})"
        ),
    );
}

fn check_performance_gate(comparison: &Comparison, rules: &mut Rules) {
    let mut members = vec![at("performance_gate_passed")];
    for (name, cell) in comparison.cells.iter() {
        let path = at("cells").key(name.as_str());
        members.push(path.clone().key("baseline_performance_eligible"));
        members.push(path.clone().key("candidate_performance_eligible"));
        members.extend(cell.metrics.iter().map(|(metric, _)| {
            metric_path(&path, metric.as_str()).key("no_more_than_5_percent_regression")
        }));
    }
    let expected = performance_gate(&comparison.cells);
    let recorded = comparison.performance_gate_passed;
    rules.check(
        "performance-gate-follows",
        recorded == expected,
        members,
        format_args!(
            "performance_gate_passed ({recorded}) says whether both sides are eligible in every \
             cell and every metric is within the limit ({expected})"
        ),
    );
}

fn check_cell(path: JsonPath, cell: &CellComparison, rules: &mut Rules) {
    if let Some(tokens) = cell.median_prompt_tokens {
        rules.check(
            "median-of-counts",
            tokens >= 0.0 && (tokens * 2.0).fract() == 0.0,
            [path.clone().key("median_prompt_tokens")],
            format_args!("median_prompt_tokens ({tokens:?}) is a whole or a half number"),
        );
    }
    for (name, metric) in cell.metrics.iter() {
        check_metric(name.as_str(), &metric_path(&path, name.as_str()), metric, rules);
    }
}

fn metric_path(cell: &JsonPath, metric: &str) -> JsonPath {
    cell.clone().key("metrics").key(metric)
}

fn check_metric(name: &str, path: &JsonPath, metric: &MetricComparison, rules: &mut Rules) {
    let member = |key: &str| path.clone().key(key);
    for (key, value) in [("baseline", metric.baseline), ("candidate", metric.candidate)] {
        if let Some(value) = value {
            rules.check(
                "compared-values-in-range",
                (0.0..=f64::MAX).contains(&value),
                [member(key)],
                format_args!("{key} of {name} ({value:?}) is finite and not negative"),
            );
        }
    }
    let delta = delta_percent(metric.baseline, metric.candidate);
    let seen =
        format!("baseline {}, candidate {}", shown(metric.baseline), shown(metric.candidate));
    rules.check(
        "delta-follows",
        same_bits(metric.delta_percent, delta),
        [member("baseline"), member("candidate"), member("delta_percent")],
        format_args!(
            "delta_percent of {name} ({}) is (candidate / baseline − 1) · 100, {} ({seen})",
            shown(metric.delta_percent),
            shown(delta)
        ),
    );
    let direction = compared_direction(name);
    let within = within_five_percent(direction, delta);
    let flag = metric.no_more_than_5_percent_regression;
    rules.check(
        "flag-follows",
        flag == within,
        [member("baseline"), member("candidate"), member("no_more_than_5_percent_regression")],
        format_args!(
            "no_more_than_5_percent_regression of {name} ({flag}) is {within} ({seen}, {})",
            direction.as_str().replace('_', " ")
        ),
    );
}

pub(super) fn check_turnover(path: &JsonPath, turnover: &Turnover, rules: &mut Rules) {
    let member = |key: &str| path.clone().key(key);
    let Turnover { requests, exact_output_passed: passed, failed, .. } = *turnover;
    rules.check(
        "turnover-adds-up",
        passed.checked_add(failed) == Some(requests),
        [member("requests"), member("exact_output_passed"), member("failed")],
        format_args!(
            "{path}: requests ({requests}) equal exact_output_passed ({passed}) + failed ({failed})"
        ),
    );
    let listed = turnover.failures.len();
    rules.check(
        "failures-are-listed",
        failed == listed as u64,
        [member("failed"), member("failures")],
        format_args!("{path}: failed ({failed}) equals the number of failures ({listed})"),
    );
    check_responses(path, turnover, rules);
    rules.check(
        "failed-turnover-ineligible",
        failed == 0 || !turnover.performance_eligible,
        [member("failed"), member("performance_eligible")],
        format_args!(
            "{path}: a run with failures is not performance_eligible (failed {failed}, \
             eligible {})",
            turnover.performance_eligible
        ),
    );
    let failure_path = |index: usize, key: &str| member("failures").index(index).key(key);
    let indexes = turnover.failures.iter().enumerate().map(|(index, failure)| {
        (failure.request_index.to_string(), failure_path(index, "request_index"))
    });
    rules.distinct("failure-indexes-differ", "request indexes", indexes.collect());
    for (index, failure) in turnover.failures.iter().enumerate() {
        rules.check(
            "failure-index-in-range",
            failure.request_index < requests,
            [failure_path(index, "request_index"), member("requests")],
            format_args!(
                "{path}: request_index ({}) is below requests ({requests})",
                failure.request_index
            ),
        );
        let members = ["failure_class", "canary_passed"].map(|key| failure_path(index, key));
        check_canary(failure, members, rules);
    }
}

/// Every request that was judged by its output was answered, and none was answered twice.
fn check_responses(path: &JsonPath, turnover: &Turnover, rules: &mut Rules) {
    let mut members: Vec<JsonPath> = ["responses_received", "requests", "exact_output_passed"]
        .map(|key| path.clone().key(key))
        .into();
    let judged = turnover.failures.iter().enumerate().filter(|(_, failure)| {
        failure.failure_class == TurnoverFailureClass::ControlledOutputFailed
    });
    members.extend(
        judged.map(|(index, _)| path.clone().key("failures").index(index).key("failure_class")),
    );
    let judged = (members.len() - 3) as u64;
    let answered = turnover.exact_output_passed.saturating_add(judged);
    let received = turnover.responses_received;
    rules.check(
        "responses-in-range",
        (answered..=turnover.requests).contains(&received),
        members,
        format_args!(
            "{path}: responses_received ({received}) is at least the requests judged by their \
             output ({answered}) and at most requests ({})",
            turnover.requests
        ),
    );
}

fn check_canary(failure: &TurnoverFailure, members: [JsonPath; 2], rules: &mut Rules) {
    let holds = match failure.failure_class {
        TurnoverFailureClass::ControlledOutputFailed => failure.canary_passed == Some(true),
        TurnoverFailureClass::RequestCanaryFailed => failure.canary_passed != Some(true),
        TurnoverFailureClass::RequestError | TurnoverFailureClass::StreamValidationFailed => return,
    };
    let seen = failure.canary_passed.map_or_else(|| "null".to_owned(), |passed| passed.to_string());
    rules.check(
        "canary-fits-class",
        holds,
        members,
        format_args!("canary_passed ({seen}) fits failure_class ({})", failure.failure_class),
    );
}
