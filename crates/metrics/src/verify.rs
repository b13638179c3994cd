//! Verification: whether a document's members agree with each other.
//!
//! Every rule is recomputed from the document alone, to the last bit, and reported with the paths
//! of all members that take part in it. No rule knows any particular document; a figure that the
//! rest of a document does not determine is bounded, or left alone and listed by [`unproven`].

mod blocks;
mod cases;
mod comparison;
mod decision;
mod determinism;
mod figures;
mod from_cases;
mod graded;
mod identity;
mod inflight;
mod instrument;
mod known;
mod leaves;
mod ledger;
mod load;
mod notes;
mod numbers;
mod parts;
mod replicas;
mod runs;
mod schedule;
mod serving;
mod shards;
mod shares;
mod statistics;
#[cfg(test)]
mod tests;
mod turnover;
mod unproven;

use std::collections::BTreeMap;
use std::fmt::Display;

use streamgauge_schema::{Document, JsonPath, RunRecord};

use known::Known;

pub use decision::verify_decision;
pub use ledger::{LedgerFault, LedgerVerification, verify_ledger, verify_listed};
pub use runs::verify_runs;
pub use unproven::unproven;

/// One rule as it applies to one place of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's name, such as `counts-match-cases`.
    pub rule: &'static str,
    /// What must hold, with the values seen.
    pub statement: String,
    /// All members that take part.
    pub members: Vec<JsonPath>,
    /// The rule does not hold here.
    pub broken: bool,
}

/// A word that this version does not know, in a vocabulary that may grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where it stands.
    pub member: JsonPath,
    /// The word.
    pub word: String,
}

/// What verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Every rule that applied, broken or not.
    pub findings: Vec<Finding>,
    /// Words that this version does not know; they break no rule.
    pub notes: Vec<Note>,
}

impl Verification {
    /// Whether every rule holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.broken().next().is_none()
    }

    /// The findings whose rule does not hold.
    pub fn broken(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.broken)
    }
}

/// Checks every rule that the document itself determines.
///
/// *Run records*: the run id's digest over all members; counts and primary passes against the
/// cases; outcomes against each other; the completion metrics from the cases' durations;
/// throughputs against the batch duration, and that against the times and windows; samples against
/// declared requests and populations; the order of quantiles, intervals, windows and spreads; the
/// load's sum and that of its stages, and eligibility from them; pass rates from the outcomes; goodput from the requests that
/// ended; latencies from the schedule against those from the start; the metrics that the client may
/// have bent; shards against each other and the whole; what several addresses share against the whole and
/// the cases; the part of a turnover run against its cases. *Comparisons*: every delta, flag and gate; turnover runs and their failures; with
/// intervals, everything that follows from the figures of each run. *Decisions*: the id's digest, the
/// outcome against the gates, and the override against both; [`verify_decision`] holds them against
/// their comparison. *Determinism reports*: each prompt's state, digest and verdict against each other,
/// and the counts.
///
/// ```
/// use streamgauge_metrics::verify;
/// use streamgauge_schema::Document;
///
/// let text = br#"{"schema": "runtime-profile-comparison/v1", "baseline_image": "a",
///     "candidate_image": "b", "cells": {}, "performance_gate_passed": true,
///     "strict_turnover_gate_passed": false, "qualification": "none", "promotion": "undecided",
///     "human_decision": "undecided"}"#;
/// let verification = verify(&Document::read(text)?);
/// let finding = verification.broken().next().unwrap();
/// // Where nothing was judged, no gate passes.
/// assert_eq!(finding.rule, "performance-gate-follows");
/// assert_eq!(finding.members[0].to_string(), "performance_gate_passed");
/// # Ok::<(), streamgauge_schema::ReadError>(())
/// ```
#[must_use]
pub fn verify(document: &Document) -> Verification {
    let mut rules = Rules::default();
    match document {
        Document::Comparison(comparison) => comparison::check(comparison, &mut rules),
        Document::ComparisonV2(comparison) => blocks::check(comparison, &mut rules),
        Document::Decision(decision) => decision::check(decision, &mut rules),
        Document::Determinism(report) => determinism::check(report, &mut rules),
        Document::Run(record) => check_record(record, &mut rules),
    }
    Verification { findings: rules.findings, notes: notes::unknown_words(document) }
}

fn check_record(record: &RunRecord, rules: &mut Rules) {
    // That the id fits is no question where only single rules are asked for.
    if rules.sought.is_none() {
        identity::check(record, rules);
    }
    cases::check(record, rules);
    serving::check(record, rules);
    figures::check(record, rules);
    if let RunRecord::V2(record) = record {
        load::check(record, rules);
        graded::check(record, rules);
        statistics::check(record, rules);
        shares::check(record, rules);
        inflight::check(record, rules);
        from_cases::check(record, rules);
        schedule::check(record, rules);
        parts::check(record, rules);
        instrument::check(record, rules);
        replicas::check(record, rules);
        shards::check(record, rules);
        turnover::check(record, rules);
    }
}

/// The findings so far.
#[derive(Debug, Default)]
struct Rules {
    findings: Vec<Finding>,
    /// Where it only matters whether a broken rule names a member: that member, and whether one did.
    sought: Option<JsonPath>,
    is_named: bool,
    known: Known,
}

impl Rules {
    /// Records whether `rule` holds for `members`; `statement` says what must hold and what was
    /// seen.
    fn check(
        &mut self,
        rule: &'static str,
        holds: bool,
        members: impl IntoIterator<Item = JsonPath>,
        statement: impl Display,
    ) {
        if let Some(sought) = &self.sought {
            self.is_named |= !holds && members.into_iter().any(|member| member == *sought);
            return;
        }
        let members = members.into_iter().collect();
        let statement = statement.to_string();
        self.findings.push(Finding { rule, statement, members, broken: !holds });
    }

    /// Records that two whole numbers must be equal.
    fn equal(
        &mut self,
        rule: &'static str,
        [(left, left_path), (right, right_path)]: [(u64, &str); 2],
    ) {
        self.check(
            rule,
            left == right,
            [at(left_path), at(right_path)],
            format_args!("{left_path} ({left}) equals {right_path} ({right})"),
        );
    }

    /// Records that one whole number must not exceed another.
    fn at_most(
        &mut self,
        rule: &'static str,
        [(less, less_path), (more, more_path)]: [(u64, &str); 2],
    ) {
        self.check(
            rule,
            less <= more,
            [at(less_path), at(more_path)],
            format_args!("{less_path} ({less}) is at most {more_path} ({more})"),
        );
    }

    /// Records that the texts of a list must differ from each other. Where they do not, the
    /// members are those that are equal, one finding a text.
    fn distinct(&mut self, rule: &'static str, what: &str, texts: Vec<(String, JsonPath)>) {
        // Only numbers are sought.
        if self.sought.is_some() {
            return;
        }
        let mut by_text: BTreeMap<&str, Vec<&JsonPath>> = BTreeMap::new();
        for (text, path) in &texts {
            by_text.entry(text).or_default().push(path);
        }
        by_text.retain(|_, paths| paths.len() > 1);
        if by_text.is_empty() {
            let count = texts.len();
            let members: Vec<JsonPath> = texts.into_iter().map(|(_, path)| path).collect();
            self.check(
                rule,
                true,
                members,
                format_args!("{what} differ from each other ({count})"),
            );
            return;
        }
        for (text, paths) in by_text {
            let statement =
                format!("{what} differ from each other; {text} stands {} times", paths.len());
            self.check(rule, false, paths.into_iter().cloned(), statement);
        }
    }
}

/// A path of plain keys, written with points: `counts.declared`.
fn at(keys: &str) -> JsonPath {
    keys.split('.').fold(JsonPath::root(), |path, key| path.key(key))
}

/// How a figure that may be missing is shown.
fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| format!("{value:?}"))
}

/// Equality to the last bit.
fn same_bits(left: Option<f64>, right: Option<f64>) -> bool {
    left.map(f64::to_bits) == right.map(f64::to_bits)
}
