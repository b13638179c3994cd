//! What is worth a word while a run is under way: requests that failed, and answers of which the
//! figures that were asked for can never come. Each is said once for a cell, when it is first seen.

use std::collections::BTreeSet;

use streamgauge_client::bounded;
use streamgauge_schema::{Goal, GoalQuantity, Identifier, Observation, Plan, RequestLine, Stage};

use crate::console;

/// Requests that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailureGroup {
    pub(crate) class: String,
    pub(crate) count: u64,
    pub(crate) example: String,
}

/// What the lines of a cell have shown so far.
#[derive(Debug)]
pub(crate) struct Notices {
    cell: Identifier,
    expect_model: String,
    goals: Vec<Goal>,
    failures: Vec<FailureGroup>,
    other_model: u64,
    said: BTreeSet<&'static str>,
}

impl Notices {
    /// Nothing has been seen of this plan's requests.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            cell: plan.load.cell.clone(),
            expect_model: plan.target.expect_model.clone(),
            goals: plan.goals.clone(),
            failures: Vec::new(),
            other_model: 0,
            said: BTreeSet::new(),
        }
    }

    /// A request has ended.
    pub(crate) fn note(&mut self, line: &RequestLine) {
        self.group(line);
        let Some(observation) = line.observation.as_ref() else { return };
        if let Some(models) = self.other_models(observation) {
            self.other_model += u64::from(line.stage == Stage::Measured);
            let expected = bounded(&self.expect_model);
            self.say_once("model", || {
                format!(
                    "{models} answered, and {expected} was expected (--expect-model); no \
                     comparison takes such figures",
                )
            });
        }
        if lacks_tokens(&self.goals, observation) {
            self.say_once("tokens", || NO_TOKENS.to_owned());
        }
    }

    /// The failures, and the number of measured responses that named another model than the
    /// expected one.
    pub(crate) fn finish(self) -> (Vec<FailureGroup>, u64) {
        (self.failures, self.other_model)
    }

    fn group(&mut self, line: &RequestLine) {
        let Some(failure) = &line.failure else { return };
        let class = match line.stage {
            Stage::Measured => failure.class.to_string(),
            Stage::Warmup => format!("{} (warm-up)", failure.class),
        };
        match self.failures.iter_mut().find(|group| group.class == class) {
            Some(group) => group.count += 1,
            None => {
                let example = failure.message.clone();
                self.failures.push(FailureGroup { class, count: 1, example });
            }
        }
    }

    /// The models that a response names, if they are others than the expected one.
    fn other_models(&self, observation: &Observation) -> Option<String> {
        let models = &observation.returned_models;
        let is_other = |model: &String| *model != self.expect_model;
        models
            .iter()
            .any(is_other)
            .then(|| console::listed(models.iter().map(|model| bounded(model))))
    }

    fn say_once(&mut self, what: &'static str, text: impl FnOnce() -> String) {
        if !self.said.contains(what) {
            console::remark(&format!("warning: cell {}: {}", self.cell, text()));
            self.said.insert(what);
        }
    }
}

/// What is said where a goal limits the time per output token and nobody counts tokens.
pub(crate) const NO_TOKENS: &str = "the server reports no output tokens (usage), so that no \
    request has a TPOT: the goal tpot counts each as a miss. Leave the goal out, or make the server \
    report usage";

/// Whether a response with output lacks the count of tokens that a goal needs.
pub(crate) fn lacks_tokens(goals: &[Goal], observation: &Observation) -> bool {
    let is_asked = goals.iter().any(|goal| goal.quantity == GoalQuantity::Tpot);
    let tokens = observation.usage.and_then(|usage| usage.completion_tokens).unwrap_or(0);
    is_asked && observation.succeeded() && tokens == 0
}
