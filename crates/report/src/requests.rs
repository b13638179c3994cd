//! What plots need of the lines of a journal, taken line by line: a run may have more requests than
//! anybody wants to hold as lines.
//!
//! Invariant: latencies and gaps are those of the metrics of the same names: of succeeded requests, by
//! the record's time basis.

mod gaps;
mod over_time;
mod selection;

use std::collections::BTreeMap;

use streamgauge_metrics::to_kernel_basis;
use streamgauge_schema::{
    Completion, FailureClass, Observation, RequestLine, RunRecordV2, Stage, TimeBasis,
};

pub(crate) use gaps::Gaps;
pub(crate) use over_time::OverTime;
pub(crate) use selection::{Selection, Shown};

/// The measured requests of one run, as plots show them.
#[derive(Clone, Debug)]
pub struct Requests {
    time_basis: TimeBasis,
    pub(crate) latencies: Latencies,
    pub(crate) gaps: Gaps,
    pub(crate) over_time: Option<OverTime>,
    pub(crate) selection: Selection,
    pub(crate) failures: BTreeMap<FailureClass, Failed>,
}

/// Latencies in microseconds, a value for each succeeded request that has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    pub(crate) ttft_us: Vec<u64>,
    /// By final content: none of a response with a think tag in its content.
    pub(crate) ttfc_us: Vec<u64>,
    pub(crate) e2e_us: Vec<u64>,
}

/// Requests that failed in the same way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failed {
    pub(crate) count: u64,
    /// Places of the first of them in the run.
    pub(crate) first: Vec<u64>,
    /// Statuses that they were answered with.
    pub(crate) statuses: BTreeMap<u16, u64>,
}

impl Requests {
    /// None yet, of the run that a record tells of.
    #[must_use]
    pub fn of(record: &RunRecordV2) -> Self {
        Self {
            time_basis: record.instrument.time_basis,
            latencies: Latencies::default(),
            gaps: Gaps::default(),
            over_time: record.windows.whole.and_then(OverTime::within),
            selection: Selection::among(record.load.offered),
            failures: BTreeMap::new(),
        }
    }

    /// Takes one line; those of the warm-up are in no plot.
    pub fn add(&mut self, line: &RequestLine) {
        if line.stage == Stage::Warmup {
            return;
        }
        if let Some(failure) = &line.failure {
            let status = line.observation.as_ref().map(|seen| seen.http_status);
            self.failures.entry(failure.class).or_default().add(line.index, status);
        }
        match self.time_basis {
            TimeBasis::Kernel => {
                if let Some(moved) = to_kernel_basis(line) {
                    self.take(&moved);
                }
            }
            TimeBasis::Read => self.take(line),
        }
    }

    fn take(&mut self, line: &RequestLine) {
        if let Some(over_time) = &mut self.over_time {
            over_time.add(line);
        }
        self.selection.add(line);
        let seen = line.observation.as_ref();
        if let Some(seen) = seen.filter(|_| line.completion == Completion::Succeeded) {
            self.latencies.add(line.elapsed_us, seen);
            seen.arrivals_us.iter().skip(1).for_each(|gap_us| self.gaps.add(*gap_us));
        }
    }
}

impl Latencies {
    fn add(&mut self, elapsed_us: u64, seen: &Observation) {
        self.ttft_us.extend(seen.first_output_us);
        self.ttfc_us.extend(seen.first_content_us.filter(|_| !seen.think_tag_in_content));
        self.e2e_us.push(elapsed_us);
    }
}

impl Failed {
    fn add(&mut self, index: u64, status: Option<u16>) {
        const SHOWN: usize = 5;
        self.count += 1;
        if self.first.len() < SHOWN {
            self.first.push(index);
        }
        if let Some(status) = status {
            *self.statuses.entry(status).or_default() += 1;
        }
    }
}
