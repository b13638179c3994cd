//! The conditions in which two runs must agree to be comparable.

use std::str::FromStr;

use streamgauge_schema::{Digest, Identifier, Metric, RunRecordV2, TokenSource};

use crate::record::{ADDRESSES_LABEL, EXPECTED_ANSWERS_LABEL, LOAD_SHAPE_LABEL, RETRIES_LABEL};

/// A condition in which two runs must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum MatchingCondition {
    /// State of the server's caches.
    CacheState,
    /// The prompts, by the digest of the suite.
    Dataset,
    /// The grader, by its digest, and what it holds answers against.
    Grader,
    /// The whole shape of the load: clients or rates, how its requests are spread, its stages, its
    /// limits and its length, and how many addresses shared it by which weights.
    LoadShape,
    /// What the gated metrics mean.
    MetricDefinitions,
    /// What each request asked for besides its prompt, and when it was sent again.
    RequestSettings,
    /// Tokens that a prompt was meant to have.
    TargetInput,
    /// Which clock reading an arrival is.
    TimeBasis,
    /// How the server counts reasoning tokens.
    TokenAccounting,
}

impl MatchingCondition {
    /// Every condition, in alphabetical order.
    pub const ALL: [Self; 9] = [
        Self::CacheState,
        Self::Dataset,
        Self::Grader,
        Self::LoadShape,
        Self::MetricDefinitions,
        Self::RequestSettings,
        Self::TargetInput,
        Self::TimeBasis,
        Self::TokenAccounting,
    ];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CacheState => "cache_state",
            Self::Dataset => "dataset",
            Self::Grader => "grader",
            Self::LoadShape => "load_shape",
            Self::MetricDefinitions => "metric_definitions",
            Self::RequestSettings => "request_settings",
            Self::TargetInput => "target_input",
            Self::TimeBasis => "time_basis",
            Self::TokenAccounting => "token_accounting",
        }
    }

    /// What two records say of the condition; of metrics, the gated ones count.
    fn of(self, runs: [&RunRecordV2; 2], gated: &[&str]) -> [String; 2] {
        match self {
            Self::CacheState => runs.map(|run| run.performance.cache_state.to_string()),
            Self::Dataset => runs.map(|run| run.suite_sha256.to_string()),
            Self::Grader => runs.map(grader),
            Self::LoadShape => runs.map(load_shape),
            Self::MetricDefinitions => metric_definitions(runs, gated),
            Self::RequestSettings => runs.map(request_settings),
            Self::TargetInput => runs.map(|run| {
                let tokens = run.performance.target_input_tokens;
                tokens.map_or("none".to_owned(), |tokens| format!("{tokens} tokens"))
            }),
            Self::TimeBasis => runs.map(|run| run.instrument.time_basis.to_string()),
            Self::TokenAccounting => runs.map(|run| run.performance.token_accounting.to_string()),
        }
    }
}

/// A name that no matching condition has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is none of {}", MatchingCondition::ALL.map(MatchingCondition::as_str).join(", "))]
pub struct UnknownCondition {
    /// The name.
    pub name: String,
}

impl FromStr for MatchingCondition {
    type Err = UnknownCondition;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|condition| condition.as_str() == name);
        found.ok_or_else(|| UnknownCondition { name: name.to_owned() })
    }
}

/// A matching condition that differs between the two runs of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The cell.
    pub cell: Identifier,
    /// The condition.
    pub condition: MatchingCondition,
    /// What the baseline says.
    pub baseline: String,
    /// What the candidate says.
    pub candidate: String,
}

/// Every matching condition that differs between two runs of a cell.
pub(super) fn differences(
    baseline: &RunRecordV2,
    candidate: &RunRecordV2,
    gated: &[&str],
) -> Vec<Difference> {
    let difference = |condition: MatchingCondition| {
        let [old, new] = condition.of([baseline, candidate], gated);
        (old != new).then(|| Difference {
            cell: baseline.load.cell.clone(),
            condition,
            baseline: old,
            candidate: new,
        })
    };
    MatchingCondition::ALL.into_iter().filter_map(difference).collect()
}

/// Differences as one text.
pub(super) fn list(differences: &[Difference]) -> String {
    let each = differences.iter().map(|Difference { cell, condition, baseline, candidate }| {
        let condition = condition.as_str();
        format!("{condition} of cell {cell} (baseline: {baseline}; candidate: {candidate})")
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The shape as the conditions state it: what a load held in the end may differ between two runs of
/// the same load, where time ends it.
pub(super) fn load_shape(run: &RunRecordV2) -> String {
    let shape = stated(run, &[LOAD_SHAPE_LABEL]).unwrap_or_else(|| {
        format!(
            "{}, {} at once, {} requests after {} of warm-up",
            run.load.shape,
            run.performance.client_concurrency_limit,
            run.load.offered,
            run.load.warmup
        )
    });
    match stated(run, &[ADDRESSES_LABEL]) {
        Some(addresses) => format!("{shape}; addresses: {addresses}"),
        None => shape,
    }
}

/// What the two runs say of the gated metrics that they do not define alike. A run without a value
/// says nothing: its definition may tell why there is none.
fn metric_definitions(runs: [&RunRecordV2; 2], gated: &[&str]) -> [String; 2] {
    let measured = |run: &RunRecordV2, id: &str| {
        let metric = run.metrics.iter().find(|metric| metric.id.as_str() == id)?;
        metric.value.map(|_| definition(metric))
    };
    let [old, new] = runs;
    let pairs = gated.iter().filter_map(|id| measured(old, id).zip(measured(new, id)));
    let (old, new): (Vec<String>, Vec<String>) = pairs.filter(|(old, new)| old != new).unzip();
    [old.join("; "), new.join("; ")]
}

fn definition(metric: &Metric) -> String {
    let Metric { id, unit, direction, window, population, definition, .. } = metric;
    let tokens = metric.token_source.map_or("no tokens", TokenSource::as_str);
    format!("{id} in {unit}, {direction}, {window} run, {population}, {tokens}: {definition}")
}

pub(super) fn grader(run: &RunRecordV2) -> String {
    let evaluator = run.evaluator_sha256.as_ref().map_or("none".to_owned(), Digest::to_string);
    match stated(run, &[EXPECTED_ANSWERS_LABEL]) {
        None => evaluator,
        Some(expected) => format!("{evaluator}, expected answers {expected}"),
    }
}

pub(super) fn request_settings(run: &RunRecordV2) -> String {
    let labels = ["Request settings", "Extra request members", RETRIES_LABEL];
    stated(run, &labels).unwrap_or_else(|| "not stated".to_owned())
}

/// What the conditions of these labels say.
fn stated(run: &RunRecordV2, labels: &[&str]) -> Option<String> {
    let stated = run
        .conditions
        .iter()
        .filter(|condition| labels.contains(&condition.label.as_str()))
        .map(|condition| condition.value.as_str());
    let stated: Vec<&str> = stated.collect();
    (!stated.is_empty()).then(|| stated.join("; "))
}
