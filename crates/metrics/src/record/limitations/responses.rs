//! What the figures do not say of single responses: how many are odd in which way.

use streamgauge_schema::{AnomalyKind, Observation, Plan};

use crate::measured::{Measured, OutputTokens, has_output};
use crate::record::conditions::CachedShare;

/// Share of prompt tokens from a cache, or off the target length, that is worth a word.
const NOTABLE_SHARE: f64 = 0.01;

pub(super) fn model_differs(plan: &Plan, run: &Measured<'_>) -> Option<String> {
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

pub(super) fn usage_missing(run: &Measured<'_>) -> Option<String> {
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

pub(super) fn zero_tokens(run: &Measured<'_>) -> Option<String> {
    let (responses, _) = responses_with(run, |seen| {
        let tokens = seen.usage.and_then(|usage| usage.completion_tokens);
        u64::from(has_output(seen) && tokens == Some(0))
    });
    (responses > 0).then(|| {
        format!(
            "Responses with output whose usage says 0 tokens: {responses}; they count as without \
             usage."
        )
    })
}

pub(super) fn usage_disagrees(run: &Measured<'_>) -> Option<String> {
    let (responses, counts) = with_anomaly(run, &[AnomalyKind::UsageDisagrees]);
    (counts > 0).then(|| {
        format!(
            "Final token counts that are not those of an earlier final report: {counts} (responses \
             with any: {responses}); the last ones are taken."
        )
    })
}

pub(super) fn falling_counters(run: &Measured<'_>) -> Option<String> {
    let (responses, counts) = with_anomaly(run, &[AnomalyKind::FallingCounter]);
    (counts > 0).then(|| {
        format!(
            "Token counters that fell from one event to a later one: {counts} (responses with any: \
             {responses}); the last values are taken."
        )
    })
}

pub(super) fn not_streamed(run: &Measured<'_>) -> Option<String> {
    let (responses, _) = responses_with(run, |seen| u64::from(seen.whole_body_output));
    (responses > 0).then(|| {
        format!(
            "Responses that came as one body instead of a stream: {responses}; their output has \
             no times."
        )
    })
}

pub(super) fn held_back(run: &Measured<'_>) -> Option<String> {
    let (responses, events) = with_anomaly(run, &[AnomalyKind::CoalescedStream]);
    (responses > 0).then(|| {
        format!(
            "Responses whose output came mostly in bundles: {responses} (events in bundles: \
             {events}); something on the way holds streams back, and arrivals do not tell when \
             events were sent."
        )
    })
}

pub(super) fn hidden_reasoning(run: &Measured<'_>) -> Option<String> {
    let (responses, _) = with_anomaly(run, &[AnomalyKind::HiddenReasoning]);
    (responses > 0).then(|| {
        format!(
            "Responses that billed reasoning which was not streamed: {responses}; they have \
             no TPOT and no decode rate, and their first output comes after it."
        )
    })
}

pub(super) fn malformed(run: &Measured<'_>) -> Option<String> {
    let (responses, events) =
        with_anomaly(run, &[AnomalyKind::InvalidJson, AnomalyKind::InvalidUtf8]);
    (events > 0).then(|| {
        format!(
            "Malformed stream events that were passed over: {events} (responses with any: \
             {responses})."
        )
    })
}

pub(super) fn think_tags(run: &Measured<'_>) -> Option<String> {
    let (responses, _) = responses_with(run, |seen| u64::from(seen.think_tag_in_content));
    (responses > 0).then(|| {
        format!(
            "Responses with a think tag in their content: {responses}; they are left out of \
             first final content."
        )
    })
}

pub(super) fn cached(run: &Measured<'_>) -> Option<String> {
    let CachedShare { cached, prompt } = CachedShare::of(run)?;
    (cached as f64 > NOTABLE_SHARE * prompt as f64).then(|| {
        format!(
            "Prompt tokens that the server took from a cache: {cached} of {prompt}; first \
             output comes sooner for it."
        )
    })
}

pub(super) fn input_off_target(plan: &Plan, run: &Measured<'_>) -> Option<String> {
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

/// How many responses have such anomalies, and how many they have together.
fn with_anomaly(run: &Measured<'_>, kinds: &[AnomalyKind]) -> (u64, u64) {
    responses_with(run, |seen| {
        let found = seen.anomalies.iter().filter(|anomaly| kinds.contains(&anomaly.kind));
        found.map(|anomaly| anomaly.count).fold(0, u64::saturating_add)
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
