//! What the figures do not say of single responses: how many are odd in which way.

use streamgauge_schema::Plan;

use crate::cached::{CachedShare, is_contaminated};
use crate::record::CollectedRun;
use crate::record::responses::{Found, Responses};

/// Share of prompt tokens from a cache that is worth a word.
const NOTABLE_SHARE: f64 = 0.01;

pub(super) fn model_differs(run: &CollectedRun<'_>) -> Option<String> {
    let Responses { model_differs, model_unsaid, .. } = run.responses;
    let is_listed = run.lists_expected_alone();
    let unsure = if is_listed { model_differs } else { model_differs + model_unsaid };
    (unsure > 0).then(|| {
        format!(
            "Responses that did not name exactly the expected model: {unsure}; what \
             answered them is not established."
        )
    })
}

pub(super) fn model_by_list(run: &CollectedRun<'_>) -> Option<String> {
    let responses = run.responses.model_unsaid;
    (responses > 0 && run.lists_expected_alone()).then(|| {
        format!(
            "Responses that name no model, as is usual in this API: {responses}; before and after the \
             run the server listed the expected one alone."
        )
    })
}

pub(super) fn usage_missing(found: &Responses) -> Option<String> {
    let Responses { uncounted, with_output, .. } = found;
    (*uncounted > 0).then(|| {
        format!(
            "Responses with output but without usable usage: {uncounted} of {with_output}; \
             token throughput has no value, and TPOT and decode rate leave them out."
        )
    })
}

pub(super) fn zero_tokens(found: &Responses) -> Option<String> {
    let responses = found.zero_tokens;
    (responses > 0).then(|| {
        format!(
            "Responses with output whose usage says 0 tokens: {responses}; they count as without \
             usage."
        )
    })
}

pub(super) fn above_cap(plan: &Plan, found: &Responses) -> Option<String> {
    let (responses, cap) = (found.above_cap, plan.request.max_tokens);
    (responses > 0).then(|| {
        format!(
            "Responses whose usage counts more completion tokens than the {cap} that were asked \
             for: {responses}; the counts are taken as they are."
        )
    })
}

pub(super) fn usage_disagrees(found: &Responses) -> Option<String> {
    let Found { responses, count } = found.usage_disagrees;
    (count > 0).then(|| {
        format!(
            "Final token counts that are not those of an earlier final report: {count} (responses \
             with any: {responses}); the last ones are taken."
        )
    })
}

pub(super) fn falling_counters(found: &Responses) -> Option<String> {
    let Found { responses, count } = found.falling_counters;
    (count > 0).then(|| {
        format!(
            "Token counters that fell from one event to a later one: {count} (responses with any: \
             {responses}); the last values are taken."
        )
    })
}

pub(super) fn not_streamed(found: &Responses) -> Option<String> {
    let responses = found.whole_bodies;
    (responses > 0).then(|| {
        format!(
            "Responses that came as one body instead of a stream: {responses}; their output has \
             no times."
        )
    })
}

pub(super) fn held_back(found: &Responses) -> Option<String> {
    let Found { responses, count } = found.held_back;
    (responses > 0).then(|| {
        format!(
            "Responses whose output came mostly in bundles: {responses} (events in bundles: \
             {count}); something on the way holds streams back, and arrivals do not tell when \
             events were sent."
        )
    })
}

pub(super) fn hidden_reasoning(found: &Responses) -> Option<String> {
    let responses = found.hidden_reasoning.responses;
    (responses > 0).then(|| {
        format!(
            "Responses that billed reasoning which was not streamed: {responses}; they have \
             no TPOT and no decode rate, and their first output comes after it."
        )
    })
}

pub(super) fn malformed(found: &Responses) -> Option<String> {
    let Found { responses, count } = found.malformed;
    (count > 0).then(|| {
        format!(
            "Malformed stream events that were passed over: {count} (responses with any: \
             {responses})."
        )
    })
}

pub(super) fn think_tags(found: &Responses) -> Option<String> {
    let responses = found.think_tags;
    (responses > 0).then(|| {
        format!(
            "Responses with a think tag in their content: {responses}; they are left out of \
             first final content."
        )
    })
}

/// A cell that had to be computed, and was not.
pub(super) fn contaminated(run: &CollectedRun<'_>) -> Option<String> {
    let share = run.measured.cached;
    let CachedShare { cached, prompt, .. } = share;
    let state = &run.plan.cache_state;
    is_contaminated(state, share.ratio()).then(|| {
        format!(
            "Contaminated: the cell is declared {state}, but the server took {cached} of {prompt} \
             prompt tokens from a cache, more than 1 percent; no gate on the figures passes."
        )
    })
}

pub(super) fn cached(run: &CollectedRun<'_>) -> Option<String> {
    let share = run.measured.cached;
    let CachedShare { cached, prompt, .. } = share;
    let is_notable = share.ratio().is_some_and(|ratio| ratio > NOTABLE_SHARE);
    (is_notable && !is_contaminated(&run.plan.cache_state, share.ratio())).then(|| {
        format!(
            "Prompt tokens that the server took from a cache: {cached} of {prompt}; first \
             output comes sooner for it."
        )
    })
}

pub(super) fn input_off_target(plan: &Plan, found: &Responses) -> Option<String> {
    let target = plan.workload.target_input_tokens?;
    let Responses { off_target, far_off_target, .. } = found;
    (*off_target > 0).then(|| {
        format!(
            "Prompts more than 1 percent off the target of {target} tokens by the server's count: \
             {off_target}; more than 2 percent: {far_off_target}."
        )
    })
}
