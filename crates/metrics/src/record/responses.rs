//! What the responses of a run add up to, besides their times.

use std::collections::BTreeSet;

use streamgauge_schema::{AnomalyKind, Observation, Plan, PromptSource, RequestLine};

use crate::graded::GivenBy;
use crate::sent::{OutputTokens, has_output};

/// Share of the target length by which a prompt is off it, and the one that is much.
const OFF_TARGET: f64 = 0.01;
const FAR_OFF_TARGET: f64 = 0.02;

/// Something found in responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Responses that have any.
    pub(super) responses: u64,
    /// How many they have together.
    pub(super) count: u64,
}

impl Found {
    fn add(&mut self, count: u64) {
        self.responses += u64::from(count > 0);
        self.count = self.count.saturating_add(count);
    }
}

/// Sums over the responses of measured requests.
#[derive(Debug, Default)]
pub(super) struct Responses {
    pub(super) with_output: u64,
    /// With output, but without a usable count of its tokens.
    pub(super) uncounted: u64,
    /// With output that usage counts as 0 tokens.
    pub(super) zero_tokens: u64,
    /// Whose usage counts more completion tokens than the request allowed.
    pub(super) above_cap: u64,
    /// With output and another name than the expected model's.
    pub(super) model_differs: u64,
    /// With output, and no model's name.
    pub(super) model_unsaid: u64,
    pub(super) whole_bodies: u64,
    pub(super) think_tags: u64,
    pub(super) usage_disagrees: Found,
    pub(super) falling_counters: Found,
    pub(super) held_back: Found,
    pub(super) hidden_reasoning: Found,
    pub(super) malformed: Found,
    /// With prompts off the target length.
    pub(super) off_target: u64,
    /// Of these, with prompts far off it.
    pub(super) far_off_target: u64,
    /// With gaps between output events, kept or not.
    pub(super) with_gaps: u64,
    pub(super) models: BTreeSet<String>,
}

impl Responses {
    pub(super) fn add(&mut self, plan: &Plan, line: &RequestLine) {
        let tokens = OutputTokens::of(line);
        self.with_output += u64::from(tokens != OutputTokens::None);
        self.uncounted += u64::from(tokens == OutputTokens::Unknown);
        let Some(seen) = &line.observation else { return };
        self.add_answer(plan, seen);
        self.add_prompt(plan, seen);
        self.usage_disagrees.add(anomalies(seen, &[AnomalyKind::UsageDisagrees]));
        self.falling_counters.add(anomalies(seen, &[AnomalyKind::FallingCounter]));
        self.held_back.add(anomalies(seen, &[AnomalyKind::CoalescedStream]));
        self.hidden_reasoning.add(anomalies(seen, &[AnomalyKind::HiddenReasoning]));
        let malformed = [AnomalyKind::InvalidJson, AnomalyKind::InvalidUtf8];
        self.malformed.add(anomalies(seen, &malformed));
    }

    fn add_answer(&mut self, plan: &Plan, seen: &Observation) {
        let completion_tokens = seen.usage.and_then(|usage| usage.completion_tokens);
        self.zero_tokens += u64::from(has_output(seen) && completion_tokens == Some(0));
        // A line of a dataset can have a cap of its own.
        let cap = match plan.workload.source {
            PromptSource::Synthetic { .. } | PromptSource::Turnover { .. } => {
                Some(plan.request.max_tokens)
            }
            PromptSource::Dataset { .. } => None,
        };
        self.above_cap += u64::from(cap.is_some_and(|cap| completion_tokens > Some(cap)));
        if has_output(seen) {
            match GivenBy::of(&seen.returned_models, &plan.target.expect_model) {
                GivenBy::Another => self.model_differs += 1,
                GivenBy::Expected => {}
                GivenBy::Unsaid => self.model_unsaid += 1,
            }
        }
        self.whole_bodies += u64::from(seen.whole_body_output);
        self.think_tags += u64::from(seen.think_tag_in_content);
        self.with_gaps += u64::from(seen.output_events > 1);
        for model in &seen.returned_models {
            if !self.models.contains(model) {
                self.models.insert(model.clone());
            }
        }
    }

    fn add_prompt(&mut self, plan: &Plan, seen: &Observation) {
        let target = plan.workload.target_input_tokens.filter(|target| *target > 0);
        let tokens = seen.usage.and_then(|usage| usage.prompt_tokens);
        let Some((target, tokens)) = target.zip(tokens) else { return };
        let share = tokens.abs_diff(target) as f64 / target as f64;
        self.off_target += u64::from(share > OFF_TARGET);
        self.far_off_target += u64::from(share > FAR_OFF_TARGET);
    }
}

fn anomalies(seen: &Observation, kinds: &[AnomalyKind]) -> u64 {
    let found = seen.anomalies.iter().filter(|anomaly| kinds.contains(&anomaly.kind));
    found.map(|anomaly| anomaly.count).fold(0, u64::saturating_add)
}
