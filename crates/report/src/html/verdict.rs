//! What a page says first.

use streamgauge_schema::{RunRecord, RunRecordV2, RunStatus};

use crate::figures::spec;
use crate::number::{of, share};
use crate::words::counted;

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
