//! What the figures of a run do not say: sentences computed from plan and journal, what may
//! mislead most first.

mod responses;

use streamgauge_schema::{
    Completion, EvidenceMode, InstrumentReport, LoadReport, Plan, PublicText, RequestLine, Stage,
};

use super::{RunInput, text};
use crate::error::RecordError;
use crate::measured::Measured;

/// True of every run.
const ALWAYS: [&str; 5] = [
    "Nothing graded the answers: a succeeded request is a complete stream with output, not a \
     correct answer.",
    "One run says nothing about the noise between runs; a difference from another run is no \
     finding yet.",
    "Client concurrency is a limit of the client; observed overlap counts its request spans, not \
     sequences active on the server.",
    "A stream event can hold several tokens: chunk intervals are not per-token latencies.",
    "Intervals beside quantiles treat requests as independent, which under queueing they are not.",
];
/// Succeeded requests that a quantile needs, and the quantiles that fewer leave unstable.
const NEEDED: [(u64, &str); 3] =
    [(20, "any quantile, the median included"), (200, "p95 and p99"), (1000, "p99")];

pub(super) fn of(
    input: &RunInput<'_>,
    run: &Measured<'_>,
    load: &LoadReport,
    instrument: &InstrumentReport,
) -> Result<Vec<PublicText>, RecordError> {
    let plan = input.plan;
    let found = [
        evidence(plan),
        cut_off(input, load),
        stopped(input, load),
        not_succeeded(load),
        client_limited(instrument),
        cold_engine(input),
        responses::model_differs(plan, run),
        responses::usage_missing(run),
        responses::zero_tokens(run),
        responses::usage_disagrees(run),
        responses::falling_counters(run),
        responses::not_streamed(run),
        responses::held_back(run),
        responses::hidden_reasoning(run),
        responses::malformed(run),
        responses::think_tags(run),
        resends(instrument),
        responses::cached(run),
        repeated_prompts(plan),
        responses::input_off_target(plan, run),
        coalesced(instrument),
        lag_unmeasured(run, instrument),
        too_few(load),
    ];
    let always = ALWAYS.into_iter().map(str::to_owned);
    found.into_iter().flatten().chain(always).map(text).collect()
}

fn evidence(plan: &Plan) -> Option<String> {
    match plan.evidence_mode {
        EvidenceMode::ActualInference => None,
        EvidenceMode::Simulated => Some(
            "A simulated server answered: the figures describe no model and no deployment.".into(),
        ),
        EvidenceMode::Replayed => {
            Some("Saved streams were read again: the figures describe when they were saved.".into())
        }
        EvidenceMode::Other(_) => {
            Some("This instrument does not know the kind of evidence.".into())
        }
    }
}

fn too_few(load: &LoadReport) -> Option<String> {
    let (needed, unstable) = NEEDED.iter().find(|(needed, _)| load.succeeded < *needed)?;
    let succeeded = load.succeeded;
    Some(format!(
        "Too few succeeded requests for a stable estimate of {unstable}: {succeeded} of the \
         {needed} needed."
    ))
}

fn not_succeeded(load: &LoadReport) -> Option<String> {
    let (not, offered) = (load.offered - load.succeeded, load.offered);
    let gates = if load.performance_eligible {
        "the figures may still pass a gate"
    } else {
        "no gate on the figures passes"
    };
    (not > 0).then(|| {
        format!(
            "Requests that did not succeed: {not} of {offered} (allowed share {:?}); {gates}.",
            load.max_failure_ratio
        )
    })
}

/// What was under way when a run was cut off has no line.
fn cut_off(input: &RunInput<'_>, load: &LoadReport) -> Option<String> {
    let (cancelled, not_sent) = (load.cancelled, load.not_sent);
    input.trailer.is_none().then(|| {
        format!(
            "The run was cut off: its journal has no end. Requests cut under way: {cancelled}; \
             never sent or lost under way: {not_sent}."
        )
    })
}

fn stopped(input: &RunInput<'_>, load: &LoadReport) -> Option<String> {
    let (cancelled, not_sent) = (load.cancelled, load.not_sent);
    (input.trailer.is_some() && cancelled + not_sent > 0).then(|| {
        format!("The run was stopped. Requests cut under way: {cancelled}; never sent: {not_sent}.")
    })
}

fn cold_engine(input: &RunInput<'_>) -> Option<String> {
    let warmup = input.plan.load.warmup;
    let warm = |line: &&RequestLine| {
        line.stage == Stage::Warmup && line.completion == Completion::Succeeded
    };
    let not = warmup - input.requests.iter().filter(warm).count() as u64;
    (not > 0).then(|| {
        format!(
            "Warm-up requests that did not succeed: {not} of {warmup}; the engine may have been \
             colder than it seems."
        )
    })
}

fn repeated_prompts(plan: &Plan) -> Option<String> {
    let (repeated, requests) = (plan.workload.repeated_prompts, plan.load.requests);
    (repeated > 0).then(|| {
        format!(
            "Requests that share their prompt with another: {repeated} of {requests}; a cache \
             may have served them."
        )
    })
}

fn resends(instrument: &InstrumentReport) -> Option<String> {
    let resends = instrument.resends;
    (resends > 0).then(|| {
        format!(
            "Requests sent once more after a reused connection was found closed: {resends}; \
             the server may have worked twice."
        )
    })
}

fn coalesced(instrument: &InstrumentReport) -> Option<String> {
    let (coalesced, reads) = (instrument.coalesced_reads, instrument.reads);
    (coalesced > 0).then(|| {
        format!(
            "Reads that completed more than one event: {coalesced} of {reads}; such events \
             share one arrival."
        )
    })
}

fn lag_unmeasured(run: &Measured<'_>, instrument: &InstrumentReport) -> Option<String> {
    (!run.sent.is_empty() && instrument.observer_lag_ms.is_none()).then(|| {
        "The client's own lag was not measured: no read had a usable kernel receive stamp.".into()
    })
}

fn client_limited(instrument: &InstrumentReport) -> Option<String> {
    let limited = instrument.client_limited.len();
    (limited > 0).then(|| {
        format!(
            "Metrics that the client's own delay may have bent: {limited} (named in \
             instrument.client_limited); no gate on them passes. Give the client more CPU or a \
             machine of its own, or lower the load."
        )
    })
}
