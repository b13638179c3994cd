//! What the figures of a run do not say: sentences computed from plan and journal, what may
//! mislead most first.

use streamgauge_schema::{
    AnomalyKind, EvidenceMode, InstrumentReport, LoadReport, Observation, Plan, PublicText,
};

use super::conditions::CachedShare;
use super::{RunInput, text};
use crate::error::RecordError;
use crate::measured::{Measured, OutputTokens, has_output};

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
/// Share of prompt tokens from a cache, or off the target length, that is worth a word.
const NOTABLE_SHARE: f64 = 0.01;

pub(super) fn of(
    input: &RunInput<'_>,
    run: &Measured<'_>,
    load: &LoadReport,
    instrument: &InstrumentReport,
) -> Result<Vec<PublicText>, RecordError> {
    let plan = input.plan;
    let found = [
        evidence(plan),
        not_run(input, load),
        not_succeeded(load),
        client_limited(instrument),
        model_differs(plan, run),
        usage_missing(run),
        not_streamed(run),
        hidden_reasoning(run),
        malformed(run),
        think_tags(run),
        resends(instrument),
        cached(run),
        repeated_prompts(plan),
        input_off_target(plan, run),
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

/// A run that was cut off wrote nothing of what was under way.
fn not_run(input: &RunInput<'_>, load: &LoadReport) -> Option<String> {
    let (cancelled, not_sent) = (load.cancelled, load.not_sent);
    let without =
        if input.trailer.is_some() { "never sent" } else { "never sent or lost under way" };
    (cancelled + not_sent > 0).then(|| {
        format!("The run was stopped. Requests cut under way: {cancelled}; {without}: {not_sent}.")
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

fn malformed(run: &Measured<'_>) -> Option<String> {
    let kinds = [AnomalyKind::InvalidJson, AnomalyKind::InvalidUtf8];
    let events = |seen: &Observation| {
        let malformed = seen.anomalies.iter().filter(|anomaly| kinds.contains(&anomaly.kind));
        malformed.map(|anomaly| anomaly.count).fold(0, u64::saturating_add)
    };
    let (responses, events) = responses_with(run, events);
    (events > 0).then(|| {
        format!(
            "Malformed stream events that were passed over: {events} (responses with any: \
             {responses})."
        )
    })
}

fn not_streamed(run: &Measured<'_>) -> Option<String> {
    let (responses, _) = responses_with(run, |seen| u64::from(seen.whole_body_output));
    (responses > 0).then(|| {
        format!(
            "Responses that came as one body instead of a stream: {responses}; their output has \
             no times."
        )
    })
}

fn hidden_reasoning(run: &Measured<'_>) -> Option<String> {
    let hidden = |seen: &Observation| {
        u64::from(seen.anomalies.iter().any(|anomaly| anomaly.kind == AnomalyKind::HiddenReasoning))
    };
    let (responses, _) = responses_with(run, hidden);
    (responses > 0).then(|| {
        format!(
            "Responses that billed reasoning which was not streamed: {responses}; they have \
             no TPOT and no decode rate, and their first output comes after it."
        )
    })
}

fn think_tags(run: &Measured<'_>) -> Option<String> {
    let (responses, _) = responses_with(run, |seen| u64::from(seen.think_tag_in_content));
    (responses > 0).then(|| {
        format!(
            "Responses with a think tag in their content: {responses}; they are left out of \
             first final content."
        )
    })
}

fn usage_missing(run: &Measured<'_>) -> Option<String> {
    let tokens = || run.sent.iter().map(|line| OutputTokens::of(line));
    let unknown = tokens().filter(|tokens| *tokens == OutputTokens::Unknown).count();
    let with_output = tokens().filter(|tokens| *tokens != OutputTokens::None).count();
    (unknown > 0).then(|| {
        format!(
            "Responses with output but without usable usage: {unknown} of {with_output}; \
             token throughput has no value, and TPOT and decode rate leave them out."
        )
    })
}

fn model_differs(plan: &Plan, run: &Measured<'_>) -> Option<String> {
    let expected = [plan.target.expect_model.as_str()];
    let differs = |seen: &Observation| {
        let returned = seen.returned_models.iter().map(String::as_str);
        u64::from(has_output(seen) && !returned.eq(expected))
    };
    let (responses, _) = responses_with(run, differs);
    (responses > 0).then(|| {
        format!(
            "Responses that did not name exactly the expected model: {responses}; what \
             answered them is not established."
        )
    })
}

fn input_off_target(plan: &Plan, run: &Measured<'_>) -> Option<String> {
    let target = plan.workload.target_input_tokens.filter(|target| *target > 0)?;
    let prompt_tokens = |seen: &Observation| seen.usage.and_then(|usage| usage.prompt_tokens);
    let off = |tokens: u64| tokens.abs_diff(target) as f64 / target as f64 > NOTABLE_SHARE;
    let (responses, _) =
        responses_with(run, |seen| u64::from(prompt_tokens(seen).is_some_and(off)));
    (responses > 0).then(|| {
        format!(
            "Prompts more than 1 percent off the target of {target} tokens by the server's \
             count: {responses}."
        )
    })
}

fn cached(run: &Measured<'_>) -> Option<String> {
    let CachedShare { cached, prompt } = CachedShare::of(run)?;
    (cached as f64 > NOTABLE_SHARE * prompt as f64).then(|| {
        format!(
            "Prompt tokens that the server took from a cache: {cached} of {prompt}; first \
             output comes sooner for it."
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

/// How many responses have any, and how many they have together.
fn responses_with(run: &Measured<'_>, count: impl Fn(&Observation) -> u64) -> (u64, u64) {
    run.sent
        .iter()
        .filter_map(|line| line.observation.as_ref())
        .map(count)
        .filter(|count| *count > 0)
        .fold((0, 0), |(responses, total), count| (responses + 1, total.saturating_add(count)))
}
