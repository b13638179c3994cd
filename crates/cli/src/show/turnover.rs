//! Turnover runs for people: how many answers were exact, and what was wrong with the others.

use std::collections::BTreeMap;

use streamgauge_schema::{
    EvidenceMode, OutputPolicy, RunRecordV2, Turnover, TurnoverFailure, TurnoverFailureClass,
    TurnoverReport,
};

use super::number::count;
use super::page::Page;
use super::run::failures as failed_requests;
use super::table::table;
use crate::args::Format;
use crate::measure::Measured;

/// Failures that are shown one by one.
const SHOWN: usize = 20;

/// One turnover run.
pub(crate) fn turnover(measured: &Measured, page: Page) -> String {
    let (record, format) = (&measured.record, page.format);
    let path = measured.dir.record().display().to_string();
    let Some(report) = &record.turnover else {
        let said = format!("{}: not every answer was graded", headline(record, page));
        return [said, path].join("\n\n");
    };
    let unsent = record.load.not_sent;
    let mut parts = vec![format!("{}: {}", headline(record, page), verdict(report, unsent))];
    parts.extend(turnover_failures(measured, page));
    parts.extend(failures(&report.outcome, unsent, format));
    let limitations = record.limitations.iter().map(|limitation| limitation.as_str());
    parts.push(page.list("What this does not say:", limitations));
    parts.push(path);
    parts.join("\n\n")
}

/// How many requests failed in which way, and what those said that had no answer; nothing where none
/// failed.
pub(crate) fn turnover_failures(measured: &Measured, page: Page) -> Option<String> {
    let record = &measured.record;
    let counted = record.turnover.as_ref().filter(|report| report.outcome.failed > 0);
    let classes = counted.map(|it| classes(&it.outcome, record.load.not_sent, page.format));
    let parts: Vec<String> =
        classes.into_iter().chain(failed_requests(&measured.failures, page)).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn headline(record: &RunRecordV2, page: Page) -> String {
    let simulated =
        if record.evidence_mode == EvidenceMode::Simulated { ", SIMULATED server" } else { "" };
    let limit = record.performance.client_concurrency_limit;
    let model = &record.deployment.model;
    page.heading(&format!("{model}, turnover with {limit} in flight{simulated}"))
}

/// What the run amounts to by its policy.
fn verdict(report: &TurnoverReport, unsent: u64) -> String {
    let Turnover { requests, exact_output_passed, failed, .. } = report.outcome;
    let unsent = match unsent {
        0 => String::new(),
        some => format!(", {} never sent", count(some)),
    };
    let exact =
        format!("{} of {} answers exact{unsent}", count(exact_output_passed), count(requests));
    match (report.policy, failed) {
        (OutputPolicy::Observe, _) => format!("{exact} (observed)"),
        (OutputPolicy::Strict, 0) => format!("{exact}, strict: pass"),
        (OutputPolicy::Strict, _) => format!("{exact}, strict: FAIL"),
    }
}

/// How many requests failed in which way. The record calls those that were never sent
/// `request_error`, as its words for failures are fixed.
fn classes(outcome: &Turnover, unsent: u64, format: Format) -> String {
    let mut counts: BTreeMap<TurnoverFailureClass, u64> = BTreeMap::new();
    for failure in sent(outcome, unsent) {
        *counts.entry(failure.failure_class).or_default() += 1;
    }
    let never = (unsent > 0).then(|| {
        ["never sent".to_owned(), count(unsent), "the run was stopped before its turn".to_owned()]
    });
    let rows = counts
        .into_iter()
        .map(|(class, number)| [class.to_string(), count(number), meaning(class).to_owned()])
        .chain(never);
    table(format, ["failure class", "requests", "what it is"], rows)
}

/// Failures of requests that were sent: a closed loop sends in order, so that the last ones were not.
fn sent(outcome: &Turnover, unsent: u64) -> impl Iterator<Item = &TurnoverFailure> {
    let end = outcome.requests.saturating_sub(unsent);
    outcome.failures.iter().filter(move |failure| failure.request_index < end)
}

fn meaning(class: TurnoverFailureClass) -> &'static str {
    match class {
        TurnoverFailureClass::ControlledOutputFailed => {
            "not the word as often as asked, and nothing else"
        }
        TurnoverFailureClass::RequestCanaryFailed => {
            "its own marker is missing, or another's is there"
        }
        TurnoverFailureClass::RequestError => "no answer: connection, status, time limit",
        TurnoverFailureClass::StreamValidationFailed => {
            "the stream broke, or another model answered"
        }
    }
}

/// The first failures.
fn failures(outcome: &Turnover, unsent: u64, format: Format) -> Option<String> {
    let all = sent(outcome, unsent).count();
    let rows = sent(outcome, unsent).take(SHOWN).map(row);
    let header = ["request", "failure class", "words", "finish reasons", "own marker"];
    match all.saturating_sub(SHOWN) {
        _ if all == 0 => None,
        0 => Some(table(format, header, rows)),
        more => {
            let shown = table(format, header, rows);
            Some(format!("{shown}\n\nand {} more in the record", count(more as u64)))
        }
    }
}

fn row(failure: &TurnoverFailure) -> [String; 5] {
    let reasons: Vec<&str> = failure.finish_reasons.iter().map(|it| it.as_str()).collect();
    [
        failure.request_index.to_string(),
        failure.failure_class.to_string(),
        failure.words.map_or_else(|| "–".to_owned(), count),
        if reasons.is_empty() { "–".to_owned() } else { reasons.join(", ") },
        match failure.canary_passed {
            None => "–",
            Some(false) => "no",
            Some(true) => "yes",
        }
        .to_owned(),
    ]
}
