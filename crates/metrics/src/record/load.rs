//! What was offered and what became of it, the serving cell, and the windows of the run.

use streamgauge_schema::{
    Completion, Identifier, IntervalBasis, LoadReport, LoadShape, Metric, Millis, Performance,
    RunStatus, StageReport, Window, Windows,
};

use super::CollectedRun;
use crate::cached::is_contaminated;
use crate::catalogue::{MEAN_INFLIGHT, PEAK_INFLIGHT, STEADY_INFLIGHT};
use crate::gate::{Grounds, performance_eligible};
use crate::inflight::Span;
use crate::measured::Measured;
use crate::sent::Sent;

/// How far behind its due time a request may start before it counts as late, in microseconds.
pub(super) const LATE_AFTER_US: u64 = 1000;

pub(super) fn report(run: &CollectedRun<'_>, status: RunStatus) -> LoadReport {
    let (plan, measured) = (run.plan, &run.measured);
    let mut load = LoadReport {
        cell: plan.load.cell.clone(),
        shape: Identifier::new(plan.load.shape.name()).expect("shapes are named by identifiers"),
        offered: measured.offered,
        succeeded: measured.count(Completion::Succeeded),
        failed: measured.count(Completion::Failed),
        timed_out: measured.count(Completion::TimedOut),
        cancelled: measured.count(Completion::Cancelled),
        not_sent: measured.count(Completion::NotSent),
        warmup: run.warmup.sent,
        max_failure_ratio: plan.max_failure_ratio,
        performance_eligible: false,
        late_after_ms: measured.is_scheduled.then(|| Millis::from_micros(LATE_AFTER_US)),
        stages: stages(run),
    };
    let grounds = Grounds {
        completed: status == RunStatus::Completed,
        contaminated: is_contaminated(&plan.cache_state, measured.cached.ratio()),
        contracts_met: contracts_broken(measured) == 0,
    };
    load.performance_eligible = performance_eligible(&load, grounds);
    load
}

/// Answers that did not meet a contract which their request carried.
pub(super) fn contracts_broken(run: &Measured) -> u64 {
    let is_broken = |sent: &&Sent| sent.graded.is_some_and(|graded| graded.breaks_contract);
    run.sent.iter().filter(is_broken).count() as u64
}

/// What became of each stage of a schedule. Its requests follow each other, so a request's place
/// says to which stage it belongs, whenever it was sent.
fn stages(run: &CollectedRun<'_>) -> Vec<StageReport> {
    let load = &run.plan.load;
    let planned: Vec<u64> = match &load.shape {
        LoadShape::ClosedLoop { .. } | LoadShape::ClosedStages { .. } => return Vec::new(),
        LoadShape::OpenLoop { stages, .. } => stages.iter().map(|stage| stage.requests).collect(),
        LoadShape::Trace { .. } => vec![load.requests],
    };
    let part = |requests| run.journals.shard().map_or(requests, |it| it.count(load, requests));
    let (mut rest, mut end) = (run.measured.sent.as_slice(), 0);
    let stage = |requests| {
        let begin = end;
        end += requests;
        let planned = part(end) - part(begin);
        let (of_stage, later) = rest.split_at(rest.partition_point(|sent| sent.index() < end));
        rest = later;
        let (sent, late) =
            (of_stage.len() as u64, of_stage.iter().filter(|sent| is_late(sent)).count());
        let unsent = planned - sent;
        StageReport { planned, sent, late: late as u64, unsent, valid: unsent == 0 }
    };
    planned.into_iter().map(stage).collect()
}

/// Whether it started too far behind its due time, for whatever reason.
pub(super) fn is_late(sent: &Sent) -> bool {
    sent.delay_us().is_some_and(|us| us > LATE_AFTER_US)
}

/// The serving cell.
pub(super) fn serving_cell(run: &CollectedRun<'_>, metrics: &[Metric]) -> Performance {
    let (plan, measured) = (run.plan, &run.measured);
    let input_tokens = || measured.sent.iter().filter_map(Sent::prompt_tokens);
    Performance {
        version: Identifier::new("serving-cell-v1").expect("letters, digits and '-'"),
        target_input_tokens: plan.workload.target_input_tokens,
        actual_input_tokens_min: input_tokens().min(),
        actual_input_tokens_max: input_tokens().max(),
        cache_state: plan.cache_state.clone(),
        client_concurrency_limit: concurrency_limit(run),
        observed_peak_inflight: figure(metrics, PEAK_INFLIGHT).map(|peak| peak as u64),
        stream_interval_basis: if run.responses.with_gaps > 0 {
            IntervalBasis::SseChunks
        } else {
            IntervalBasis::NotMeasured
        },
        token_accounting: plan.token_accounting.clone(),
        transport_successes: measured.count(Completion::Succeeded),
    }
}

/// Most requests that the client has under way at once.
pub(super) fn concurrency_limit(run: &CollectedRun<'_>) -> u64 {
    let limit = run.plan.load.shape.max_inflight();
    limit.map_or(run.measured.offered, |limit| run.journals.share(limit))
}

pub(super) fn windows(run: &Measured, metrics: &[Metric]) -> Windows {
    let window = |span: Span, mean: &str| {
        figure(metrics, mean).map(|mean_inflight| Window {
            from_ms: Millis::from_micros(span.from_us),
            to_ms: Millis::from_micros(span.to_us),
            mean_inflight,
        })
    };
    Windows {
        whole: run.batch().and_then(|span| window(span, MEAN_INFLIGHT)),
        steady: run.steady.and_then(|span| window(span, STEADY_INFLIGHT)),
    }
}

fn figure(metrics: &[Metric], id: &str) -> Option<f64> {
    metrics.iter().find(|metric| metric.id.as_str() == id)?.value
}
