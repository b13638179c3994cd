//! What a page says first.

use streamgauge_metrics::{Compared, Standings};
use streamgauge_schema::{GateStanding, RunRecord, RunRecordV2, RunStatus};

use super::gates::tone;
use crate::figures::spec;
use crate::number::{of, share};
use crate::words::{counted, standing};

/// The verdict on what a page shows.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) tone: Tone,
    /// In a word or two.
    pub(super) word: String,
    /// In a sentence.
    pub(super) text: String,
    /// What it comes from.
    pub(super) reasons: Vec<String>,
}

/// How a verdict is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Bad,
    Good,
    Open,
}

impl Tone {
    /// The class that its colours go by.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Good => "good",
            Self::Open => "open",
        }
    }
}

impl Verdict {
    /// Whether the figures of a run may pass a gate.
    pub(super) fn of_run(record: &RunRecord) -> Self {
        match record {
            RunRecord::V1(record) => {
                let succeeded = record.performance.transport_successes;
                let text = format!(
                    "{} requests succeeded on the wire. A record of version 1 does not say whether \
                     its figures may pass a gate.",
                    of(succeeded, record.counts.declared)
                );
                let word = match record.status {
                    RunStatus::Aborted => "Aborted",
                    RunStatus::Completed => "Completed",
                };
                Self { tone: Tone::Open, word: word.to_owned(), text, reasons: Vec::new() }
            }
            RunRecord::V2(record) => Self::of_run_2(record),
        }
    }

    /// What the gates of a comparison amount to, and which of them did not pass.
    pub(super) fn of_gates(standings: &Standings, rule: &str, compared: Compared<'_>) -> Self {
        let outcome = standings.outcome;
        let word = match outcome {
            GateStanding::Fail => "Fail",
            GateStanding::Inconclusive => "Inconclusive",
            GateStanding::Ineligible => "Ineligible",
            GateStanding::NotEvaluated => "Not evaluated",
            GateStanding::Pass => "Pass",
        };
        let passed = standings.gates.iter().filter(|it| it.verdict == GateStanding::Pass).count();
        let text = format!(
            "By the {rule} rule {} gates passed.",
            of(passed as u64, standings.gates.len() as u64)
        );
        let mut open: Vec<_> =
            standings.gates.iter().filter(|it| it.verdict != GateStanding::Pass).collect();
        open.sort_by_key(|it| it.verdict != outcome);
        let turnover = standings.turnover.filter(|it| *it != GateStanding::Pass).map(|it| {
            let why = match compared {
                Compared::V2(comparison) => {
                    comparison.turnover.as_ref().map(|it| it.reason.as_str())
                }
                Compared::V1(_) => None,
            };
            let why = why.unwrap_or("not every request had exactly the controlled output");
            format!("Turnover: {}: {why}.", standing(it))
        });
        // Gates of a cell that stand the same way for the same reason share a line.
        let mut gates: Vec<(String, String)> = Vec::new();
        for it in open {
            let why = format!("in cell {}: {}: {}.", it.cell, standing(it.verdict), it.reason);
            match gates.iter_mut().find(|(_, known)| *known == why) {
                Some((names, _)) => names.push_str(&format!(", {}", it.metric)),
                None => gates.push((it.metric.to_string(), why)),
            }
        }
        let gates = gates.into_iter().map(|(names, why)| format!("{names} {why}"));
        Self {
            tone: tone(outcome),
            word: word.to_owned(),
            text,
            reasons: turnover.into_iter().chain(gates).collect(),
        }
    }

    fn of_run_2(record: &RunRecordV2) -> Self {
        let load = &record.load;
        let succeeded = format!("{} requests succeeded", of(load.succeeded, load.offered));
        let (tone, word, text) = match (load.succeeded, load.performance_eligible) {
            (0, _) => (
                Tone::Bad,
                "Nothing succeeded",
                format!("None of {} succeeded.", counted(load.offered, "request", "requests")),
            ),
            (_, true) => {
                let limited = record.instrument.client_limited.is_empty();
                let except =
                    if limited { "" } else { ", except those that the client itself limited" };
                let text = format!("{succeeded}; the figures may pass a gate{except}.");
                (Tone::Good, "Eligible", text)
            }
            (_, false) => {
                (Tone::Bad, "Not eligible", format!("{succeeded}; the figures pass no gate."))
            }
        };
        Self { tone, word: word.to_owned(), text, reasons: reasons(record) }
    }
}

/// Why the figures of a run pass no gate, or only some.
fn reasons(record: &RunRecordV2) -> Vec<String> {
    let load = &record.load;
    let mut reasons = Vec::new();
    if record.status == RunStatus::Aborted {
        reasons.push("The run was stopped before it came to its end.".to_owned());
    }
    let not_succeeded = load.offered.saturating_sub(load.succeeded);
    if load.offered > 0 && not_succeeded as f64 / load.offered as f64 > load.max_failure_ratio {
        reasons.push(format!(
            "{} requests did not succeed; {} may.",
            of(not_succeeded, load.offered),
            if load.max_failure_ratio > 0.0 {
                format!("at most {}", share(load.max_failure_ratio))
            } else {
                "none".to_owned()
            }
        ));
    }
    for (number, what) in [(load.cancelled, "stopped under way"), (load.not_sent, "never sent")] {
        if number > 0 {
            reasons.push(format!("{} {what}.", counted(number, "request was", "requests were")));
        }
    }
    if !load.performance_eligible && reasons.is_empty() {
        reasons.push(
            "A contract that was set was not met, or prompts came from a cache in a cell that \
             allows none; what the figures do not say names it."
                .to_owned(),
        );
    }
    reasons.extend(client_limited(record));
    reasons
}

/// What the client itself may have bent, by the quantities that it belongs to.
fn client_limited(record: &RunRecordV2) -> Option<String> {
    let limited = &record.instrument.client_limited;
    let mut names: Vec<&str> = Vec::new();
    for id in limited {
        let name = spec(id.as_str()).map_or(id.as_str(), |spec| spec.quantity);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let metrics = counted(limited.len() as u64, "metric", "metrics");
    (!limited.is_empty()).then(|| {
        format!(
            "The client itself may have bent {metrics}, and no gate on them passes: of {}.",
            names.join(", ")
        )
    })
}
