//! What was offered and what became of it, the serving cell, and the windows of the run.

use streamgauge_schema::{
    Completion, Identifier, IntervalBasis, LoadReport, LoadShape, Millis, Performance, Plan,
    RequestLine, Stage, Window, Windows,
};

use crate::gate::performance_eligible;
use crate::inflight::{Span, mean_inflight, peak_inflight, steady_window};
use crate::measured::Measured;
use crate::quantile::median;
use crate::request::prompt_tokens;

pub(super) fn report(plan: &Plan, requests: &[RequestLine], run: &Measured<'_>) -> LoadReport {
    let mut load = LoadReport {
        cell: plan.load.cell.clone(),
        shape: Identifier::new(plan.load.shape.name()).expect("shapes are named by identifiers"),
        offered: run.offered,
        succeeded: run.count(Completion::Succeeded),
        failed: run.count(Completion::Failed),
        timed_out: run.count(Completion::TimedOut),
        cancelled: run.count(Completion::Cancelled),
        not_sent: run.count(Completion::NotSent),
        warmup: requests.iter().filter(|line| line.stage == Stage::Warmup).count() as u64,
        max_failure_ratio: plan.max_failure_ratio,
        performance_eligible: false,
        late_after_ms: None,
        stages: Vec::new(),
    };
    load.performance_eligible = performance_eligible(&load, true);
    load
}

/// The serving cell. A run that was cut off has lost the spans of what was under way.
pub(super) fn serving_cell(plan: &Plan, run: &Measured<'_>, has_end: bool) -> Performance {
    let observed = || run.sent.iter().filter_map(|line| line.observation.as_ref());
    let input_tokens = || run.sent.iter().filter_map(|line| prompt_tokens(line));
    let has_intervals = observed().any(|seen| seen.output_events > 1);
    let mut spans: Vec<Option<Span>> = run.spans().into_iter().map(Some).collect();
    if !has_end && run.count(Completion::NotSent) > 0 {
        spans.push(None);
    }
    Performance {
        version: Identifier::new("serving-cell-v1").expect("letters, digits and '-'"),
        target_input_tokens: plan.workload.target_input_tokens,
        actual_input_tokens_min: input_tokens().min(),
        actual_input_tokens_max: input_tokens().max(),
        cache_state: plan.cache_state.clone(),
        client_concurrency_limit: plan.load.shape.max_inflight().unwrap_or(run.offered),
        observed_peak_inflight: peak_inflight(&spans),
        stream_interval_basis: if has_intervals {
            IntervalBasis::SseChunks
        } else {
            IntervalBasis::NotMeasured
        },
        token_accounting: plan.token_accounting.clone(),
        transport_successes: run.count(Completion::Succeeded),
    }
}

pub(super) fn windows(plan: &Plan, run: &Measured<'_>) -> Windows {
    let spans = run.spans();
    let window = |span: Span| {
        mean_inflight(&spans, span).map(|mean_inflight| Window {
            from_ms: Millis::from_micros(span.from_us),
            to_ms: Millis::from_micros(span.to_us),
            mean_inflight,
        })
    };
    let latencies_us: Vec<f64> = run.succeeded().map(|line| line.elapsed_us as f64).collect();
    let steady = match plan.load.shape {
        LoadShape::ClosedLoop { concurrency } => median(&latencies_us)
            .and_then(|latency_us| steady_window(&spans, concurrency, latency_us)),
        _ => None,
    };
    Windows { whole: run.batch().and_then(window), steady: steady.and_then(window) }
}
