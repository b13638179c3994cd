//! How many requests the server itself says that it had, in execution and waiting.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{request, server_figure};
//! // Asked before a request of nine seconds, three times meanwhile, and after it.
//! let told = ["running 0", "running 2", "running 8 waiting 3", "running 5", "running 0"];
//! let figure = |id| server_figure(id, &[request(&[9_000], 4)], &told);
//! assert_eq!(figure("server_requests_running_mean_count"), Some(5.0));
//! assert_eq!(figure("server_requests_running_peak_count"), Some(8.0));
//! assert_eq!(figure("server_requests_waiting_peak_count"), Some(3.0));
//! assert_eq!(figure("server_preemptions_count"), None);
//! ```

use streamgauge_schema::{Direction, ServerQuantity, Unit};

use super::{Entry, Family, Population, Presence, RunFigure, Source};
use crate::measured::Part;
use crate::server::{States, Untold};

pub(crate) const RUNNING_MEAN: Family = Family {
    name: "Mean running by the server",
    meaning: "Requests in execution by the server's own metrics, averaged over the answers that came while \
              measured requests were under way.",
    formula: "mean of the answers; engines added up",
    example: "2, 8 and 5 running: 5.",
    source: Source::Run {
        metric: Entry::of_run("server_requests_running_mean_count"),
        figure: |part| mean_of(part, ServerQuantity::RequestsRunning),
    },
    ..OF_STATE
};

pub(crate) const RUNNING_PEAK: Family = Family {
    name: "Peak running by the server",
    meaning: "The most requests in execution by the server's own metrics, asked once a second: what lies \
              between two answers is not seen.",
    formula: "greatest of the answers; engines added up",
    example: "2, 8 and 5 running: 8. The client's peak in flight is inflight_peak_count.",
    source: Source::Run {
        metric: Entry::of_run("server_requests_running_peak_count"),
        figure: |part| peak_of(part, ServerQuantity::RequestsRunning),
    },
    ..OF_STATE
};

pub(crate) const WAITING_MEAN: Family = Family {
    name: "Mean waiting by the server",
    meaning: "Requests that wait, by the server's own metrics, averaged over the answers that came while \
              measured requests were under way.",
    formula: "mean of the answers; engines added up",
    example: "0, 3 and 0 waiting: 1.",
    source: Source::Run {
        metric: Entry::of_run("server_requests_waiting_mean_count"),
        figure: |part| mean_of(part, ServerQuantity::RequestsWaiting),
    },
    ..OF_STATE
};

pub(crate) const WAITING_PEAK: Family = Family {
    name: "Peak waiting by the server",
    meaning: "The most requests that wait, by the server's own metrics, asked once a second: what lies \
              between two answers is not seen.",
    formula: "greatest of the answers; engines added up",
    example: "0, 3 and 0 waiting: 3.",
    source: Source::Run {
        metric: Entry::of_run("server_requests_waiting_peak_count"),
        figure: |part| peak_of(part, ServerQuantity::RequestsWaiting),
    },
    ..OF_STATE
};

pub(crate) const PREEMPTIONS: Family = Family {
    name: "Preemptions by the server",
    meaning: "How often the server took a request out of its batch for want of memory while the measured \
              requests were under way, by its own counter.",
    formula: "counter after the last request − counter before the first",
    absent_when: ENDS_MISSING,
    example: "12 before, 15 after: 3.",
    source: Source::Run {
        metric: Entry::of_run("server_preemptions_count"),
        figure: |part| counted(part, ServerQuantity::Preemptions),
    },
    ..OF_STATE
};

/// When the difference of a counter has no value.
pub(super) const ENDS_MISSING: &str = "The server tells no such counter, or it fell meanwhile. It also takes an answer just before the first \
     request and one after the last.";

/// What states of a server have in common.
pub(super) const OF_STATE: Family = Family {
    name: "",
    unit: Unit::Count,
    direction: Direction::Neutral,
    population: Population::ServerAnswers,
    presence: Presence::ServerMetrics,
    token_source: None,
    meaning: "",
    formula: "",
    absent_when: "The server tells no such figure, or none of its answers came while requests were under \
                  way. It is asked once a second.",
    example: "",
    source: Source::Run { metric: Entry::of_run(""), figure: |_| RunFigure::of(None, 0) },
};

pub(super) fn mean_of(part: Part<'_>, quantity: ServerQuantity) -> RunFigure {
    of_states(part, quantity, |values| values.iter().sum::<f64>() / values.len() as f64)
}

pub(super) fn peak_of(part: Part<'_>, quantity: ServerQuantity) -> RunFigure {
    of_states(part, quantity, |values| values.iter().copied().fold(0.0, f64::max))
}

/// The difference of a counter, of the two answers around the requests.
pub(super) fn counted(part: Part<'_>, quantity: ServerQuantity) -> RunFigure {
    let server = part.run.server.as_ref();
    match server.map_or(Err(Untold::NoEnds), |server| server.counted(quantity)) {
        Ok(value) => RunFigure::of(Some(value), 2),
        Err(untold) => without(untold),
    }
}

pub(super) fn without(untold: Untold) -> RunFigure {
    RunFigure { remark: Some(untold.remark().to_owned()), ..RunFigure::of(None, 0) }
}

fn of_states(part: Part<'_>, quantity: ServerQuantity, of: fn(&[f64]) -> f64) -> RunFigure {
    let Some(server) = &part.run.server else { return without(Untold::NotAnswered) };
    let States { values, missing, untold } = server.states(quantity);
    match untold {
        None => RunFigure { missing, ..RunFigure::of(Some(of(&values)), values.len() as u64) },
        Some(untold) => RunFigure { missing, ..without(untold) },
    }
}
