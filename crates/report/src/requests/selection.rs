//! The requests that are shown one by one: the slowest, and some at equal distances.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use streamgauge_schema::{Completion, FailureClass, RequestLine};

/// How many of each kind.
pub(crate) const SHOWN: usize = 12;

/// One request on its own clock: microseconds since it was due, or else since it began.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shown {
    /// From then to its end.
    pub(crate) total_us: u64,
    /// Its place in the run.
    pub(crate) index: u64,
    pub(crate) started_us: u64,
    pub(crate) first_output_us: Option<u64>,
    pub(crate) first_reasoning_us: Option<u64>,
    pub(crate) first_content_us: Option<u64>,
    pub(crate) completion: Completion,
    pub(crate) failure: Option<FailureClass>,
}

/// The requests to show.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    offered: u64,
    slowest: BinaryHeap<Reverse<Shown>>,
    sample: Vec<Shown>,
}

impl Selection {
    pub(crate) fn among(offered: u64) -> Self {
        Self { offered, slowest: BinaryHeap::new(), sample: Vec::new() }
    }

    pub(crate) fn add(&mut self, line: &RequestLine) {
        let shown = Shown::of(line);
        if self.is_sampled(line.index) {
            self.sample.push(shown.clone());
        }
        self.slowest.push(Reverse(shown));
        if self.slowest.len() > SHOWN {
            self.slowest.pop();
        }
    }

    /// The slowest, the slowest first.
    pub(crate) fn slowest(&self) -> Vec<Shown> {
        let mut found: Vec<Shown> = self.slowest.iter().map(|shown| shown.0.clone()).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }

    /// The others, in the order of the run.
    pub(crate) fn sample(&self) -> Vec<Shown> {
        let mut found = self.sample.clone();
        found.sort_unstable_by_key(|shown| shown.index);
        found
    }

    /// Whether a place is the first at or after one of the equal distances.
    fn is_sampled(&self, index: u64) -> bool {
        let step = self.offered.div_ceil(SHOWN as u64).max(1);
        index.is_multiple_of(step)
    }
}

impl Shown {
    fn of(line: &RequestLine) -> Self {
        let due_us = line.scheduled_us.unwrap_or(line.started_us);
        let started_us = line.started_us.saturating_sub(due_us);
        let seen = line.observation.as_ref();
        let after = |us: Option<u64>| us.map(|us| us.saturating_add(started_us));
        Self {
            total_us: line.elapsed_us.saturating_add(started_us),
            index: line.index,
            started_us,
            first_output_us: after(seen.and_then(|seen| seen.first_output_us)),
            first_reasoning_us: after(seen.and_then(|seen| seen.first_reasoning_us)),
            first_content_us: after(seen.and_then(|seen| seen.first_content_us)),
            completion: line.completion,
            failure: line.failure.as_ref().map(|failure| failure.class),
        }
    }
}
