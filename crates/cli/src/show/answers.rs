//! What graders made of a run, for its operator alone: the ids of requests are no part of a record.

use streamgauge_client::bounded;
use streamgauge_schema::{CaseOutcome, Interval, RunRecordV2};

use super::number::count;
use super::page::Page;
use crate::args::Format;
use crate::console::listed;
use crate::grading::Wrong;

/// The metric that says how many passed.
const PASS_RATIO: &str = "pass_ratio";

/// The pass rate, and, on a terminal, the first answers that did not pass; `None` of a run that nothing
/// graded.
pub(crate) fn answers(record: &RunRecordV2, wrong: &[Wrong], page: Page) -> Option<String> {
    record.evaluator_sha256?;
    let metric = record.metrics.iter().find(|metric| metric.id.as_str() == PASS_RATIO)?;
    let outcomes = &record.counts.outcomes;
    let passed = outcomes.get(&CaseOutcome::Pass).copied().unwrap_or(0);
    let mut text = format!(
        "Right answers: {} of {} declared ({}{})",
        count(passed),
        count(record.counts.declared),
        percent(metric.value),
        metric.interval.as_ref().map_or_else(String::new, interval),
    );
    let others = outcomes.iter().filter(|(outcome, _)| **outcome != CaseOutcome::Pass);
    for (outcome, cases) in others {
        text.push_str(&format!("; {}: {}", in_words(*outcome), count(*cases)));
    }
    let mut lines = vec![page.prose(&text, "  ")];
    if !wrong.is_empty() && page.format == Format::Table {
        lines.push(page.labelled("Wrong: ", &listed(wrong.iter().map(one))));
    }
    Some(lines.join("\n"))
}

fn one(wrong: &Wrong) -> String {
    let id = wrong.id.as_deref().map_or_else(|| format!("#{}", wrong.index), bounded);
    format!("{id} ({})", bounded(&wrong.why))
}

fn interval(interval: &Interval) -> String {
    let level = 100.0 * interval.level;
    format!(", {level} % interval {} to {}", percent(interval.lower), percent(interval.upper))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}

fn in_words(outcome: CaseOutcome) -> &'static str {
    match outcome {
        CaseOutcome::Error => "failed",
        CaseOutcome::Fail => "graded wrong",
        CaseOutcome::NotRun => "not run",
        CaseOutcome::Pass => "passed",
        CaseOutcome::Timeout => "timed out",
        CaseOutcome::Unverified => "not graded",
    }
}
