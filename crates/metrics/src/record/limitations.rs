//! What the figures of a run do not say: sentences computed from plan and journal, what may
//! mislead most first.

mod answers;
mod responses;
mod schedule;
mod server;
mod shards;

use streamgauge_schema::{
    EvidenceMode, InstrumentReport, LoadReport, Plan, PublicText, ReplicaReport, TimeBasis,
};

use super::{CollectedRun, replicas, text};
use crate::error::RecordError;

/// True of every run that nothing graded, and of every other.
const UNGRADED: &str = "Nothing graded the answers: a succeeded request is a complete stream with \
                        output, not a correct answer.";
const GRADED: &str = "Graders hold answers against fixed expectations: whatever these leave out, a \
                      passed answer may still have wrong.";
/// True of every run.
const ALWAYS: [&str; 4] = [
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
    run: &CollectedRun<'_>,
    load: &LoadReport,
    reports: &[ReplicaReport],
    instrument: &InstrumentReport,
) -> Result<Vec<PublicText>, RecordError> {
    let (plan, found) = (run.plan, &run.responses);
    let found = [
        evidence(plan),
        not_verified(plan),
        through_proxy(plan),
        shards::one_alone(run),
        schedule::stopped(run, load),
        shards::missing(run),
        shards::ended_early(run),
        schedule::taken_up(run),
        shards::taken_up(run),
        schedule::changed_meanwhile(run),
        shards::servers_differ(run),
        shards::started_differently(run),
        shards::clocks(run),
        shards::server_metrics(run),
        schedule::invalid_stages(run, load),
        responses::contaminated(run),
        not_succeeded(load),
        replicas::without_success(reports),
        answers::contracts_broken(run),
        answers::not_passed(run),
        answers::from_another_model(run),
        answers::length_limited(run),
        answers::fenced(run),
        client_limited(instrument),
        schedule::late(run),
        schedule::ended_by_its_limit(run),
        schedule::warmup_failed(run),
        schedule::warmup_shared(run),
        responses::model_differs(run),
        responses::model_by_list(run),
        responses::usage_missing(found),
        responses::zero_tokens(found),
        responses::above_cap(plan, found),
        responses::usage_disagrees(found),
        responses::falling_counters(found),
        responses::not_streamed(found),
        responses::held_back(found),
        responses::hidden_reasoning(found),
        responses::malformed(found),
        responses::think_tags(found),
        resends(instrument),
        retries(run),
        server::counts_differ(run),
        server::counts_not_held(run),
        server::counters_fell(run),
        server::says_nothing_known(run),
        server::under_several_names(run),
        server::did_not_answer(run),
        responses::cached(run),
        repeated_prompts(run),
        responses::input_off_target(plan, found),
        untimed(run),
        not_kept(plan),
        coalesced(instrument),
        lag_unmeasured(run, instrument),
        too_few(load),
    ];
    let graded = if run.joined.is_some() { GRADED } else { UNGRADED };
    let always = [graded].into_iter().chain(ALWAYS).map(str::to_owned);
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
        EvidenceMode::Imported => {
            Some("Another program measured: the figures are what its file says.".into())
        }
        EvidenceMode::Other(_) => {
            Some("This instrument does not know the kind of evidence.".into())
        }
    }
}

fn not_verified(plan: &Plan) -> Option<String> {
    plan.target.route.unverified.then(|| {
        "The server's certificate was not verified (--insecure): another server may have answered, and \
         no gate is judged by this run unless that is allowed."
            .to_owned()
    })
}

fn through_proxy(plan: &Plan) -> Option<String> {
    plan.target.route.proxy.is_some().then(|| {
        "Requests went through an HTTP proxy: its time is in every latency, and it may hold events back."
            .to_owned()
    })
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
    let allowed = match load.max_failure_ratio {
        0.0 => "none may fail".to_owned(),
        // Rounded, as a share of a hundredth is no whole number of them.
        ratio => format!("{} percent may fail", (ratio * 1e8).round() / 1e6),
    };
    (not > 0)
        .then(|| format!("Requests that did not succeed: {not} of {offered} ({allowed}); {gates}."))
}

fn repeated_prompts(run: &CollectedRun<'_>) -> Option<String> {
    let (repeated, requests) = (run.plan.workload.repeated_prompts, run.plan.load.requests);
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

fn retries(run: &CollectedRun<'_>) -> Option<String> {
    let (retries, sent) = (run.instrument.retries, run.measured.sent.len());
    (retries.requests > 0).then(|| {
        format!(
            "Requests of which attempts failed and were made again by policy: {} of {sent}, {} attempts; \
             their latencies count from the first, pauses included.",
            retries.requests, retries.attempts
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

/// By the kernel's clock an arrival without a stamp has no time.
fn untimed(run: &CollectedRun<'_>) -> Option<String> {
    let sent = &run.measured.sent;
    let untimed = sent.iter().filter(|sent| !sent.is_timed).count();
    (run.plan.instrument.time_basis == TimeBasis::Kernel && untimed > 0).then(|| {
        format!(
            "Requests without a kernel receive stamp for every arrival: {untimed} of {}; by the \
             kernel's clock they have no latencies.",
            sent.len()
        )
    })
}

fn not_kept(plan: &Plan) -> Option<String> {
    (!plan.instrument.keep_arrivals).then(|| {
        "Single intervals between events were not kept: their quantiles have no value, only mean \
         and extremes have."
            .to_owned()
    })
}

fn lag_unmeasured(run: &CollectedRun<'_>, instrument: &InstrumentReport) -> Option<String> {
    (!run.measured.sent.is_empty() && instrument.observer_lag_ms.is_none()).then(|| {
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
