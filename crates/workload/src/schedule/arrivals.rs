//! The due times of an open loop, one after the other.
//!
//! Invariant: the n-th request is due when the integral of the rate over all stages reaches the sum
//! of the first n distances. Stages are therefore no seams: a slow, even rate does not begin anew
//! with each.

use std::sync::Arc;

use streamgauge_schema::{Arrivals, RateStage};

use super::gaps::Gaps;

const NANOS_PER_S: f64 = 1e9;
const NANOS_PER_MS: u64 = 1_000_000;

/// One arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The stage that it falls into.
    pub(crate) stage: usize,
    /// When, since the first request could be due.
    pub(crate) due_ns: u64,
}

/// The arrivals of checked stages, without end in a last stage that nothing ends.
#[derive(Clone, Debug)]
pub(crate) struct ArrivalTimes {
    stages: Arc<[RateStage]>,
    gaps: Gaps,
    stage: usize,
    /// Requests that the current stage has had.
    had: u64,
    /// When the current stage begins.
    begin_ns: u64,
    /// Integral of the rate up to there.
    passed: f64,
    /// Integral of the rate at which the next request is due.
    next: f64,
    last_ns: u64,
}

impl ArrivalTimes {
    pub(crate) fn new(arrivals: &Arrivals, stages: Arc<[RateStage]>) -> Self {
        let mut gaps = Gaps::new(arrivals);
        let next = gaps.first();
        Self { stages, gaps, stage: 0, had: 0, begin_ns: 0, passed: 0.0, next, last_ns: 0 }
    }

    fn leave_stage(&mut self, end_ns: u64, passed: f64) {
        self.stage += 1;
        self.had = 0;
        self.begin_ns = end_ns;
        self.passed = passed;
    }
}

impl Iterator for ArrivalTimes {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            let stage = *self.stages.get(self.stage)?;
            // Where a stage ends, rounding may put its end a hair behind the next arrival.
            let offset_ns = nanos_until(&stage, (self.next - self.passed).max(0.0));
            match stage.duration_ms {
                Some(length) if offset_ns >= length * NANOS_PER_MS => {
                    let passed = self.passed + integral(&stage, length);
                    self.leave_stage(self.begin_ns + length * NANOS_PER_MS, passed);
                }
                // The request after the stage's last is the first of the next.
                None if self.had == stage.requests => {
                    self.leave_stage(self.begin_ns.saturating_add(offset_ns), self.next);
                }
                _ => {
                    // The inverse of the integral is rounded, and might step back by its last digit.
                    let due_ns = self.begin_ns.saturating_add(offset_ns).max(self.last_ns);
                    self.last_ns = due_ns;
                    self.next += self.gaps.next();
                    self.had += 1;
                    return Some(Arrival { stage: self.stage, due_ns });
                }
            }
        }
    }
}

/// Integral of the rate over a stage of this length.
pub(crate) fn integral(stage: &RateStage, length_ms: u64) -> f64 {
    (stage.from_per_s + stage.to_per_s) / 2.0 * seconds(length_ms)
}

/// When the integral of the rate from the stage's beginning reaches `requests`, rounded to the
/// nearest nanosecond; `u64::MAX` when the rate falls to 0 before.
fn nanos_until(stage: &RateStage, requests: f64) -> u64 {
    let (from, to) = (stage.from_per_s, stage.to_per_s);
    let offset_s = match stage.duration_ms {
        _ if requests == 0.0 => 0.0,
        Some(length) if from != to => {
            // With the rate a + s·t, the integral a·t + s·t²/2 is n at t = 2n / (a + √(a² + 2sn)):
            // this form of the solution loses no digits when s is small.
            let slope = (to - from) / seconds(length);
            let square = from * from + 2.0 * slope * requests;
            if square < 0.0 { f64::INFINITY } else { 2.0 * requests / (from + square.sqrt()) }
        }
        _ => requests / from,
    };
    (offset_s * NANOS_PER_S).round() as u64
}

fn seconds(length_ms: u64) -> f64 {
    length_ms as f64 / 1000.0
}
