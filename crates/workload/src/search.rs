//! The search for the highest load at which goals hold.
//!
//! Invariant: the next probe follows from the probes so far and nothing else, and always lies
//! between the highest load that is known to hold and the lowest that is known to fail.

#[cfg(test)]
mod tests;

use crate::load_error::LoadError;

/// Halvings from the start before no rate is held possible.
const MOST_HALVINGS: i32 = 10;
/// Least relative step between rates: smaller ones are below any noise.
const LEAST_STEP_RATIO: f64 = 0.001;

/// Where a search begins and how fine it gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchSpec {
    /// Over numbers of clients, until two neighbours are known, one of which holds.
    Clients {
        /// The first probe.
        start: u64,
        /// The most that is probed.
        most: u64,
    },
    /// Over rates, until two are known that differ by less than a step, one of which holds. The
    /// least rate probed is the 1024th part of the first.
    Rates {
        /// The first probe, in requests per second.
        start_per_s: f64,
        /// The most that is probed, in requests per second.
        most_per_s: f64,
        /// The step as a share of the rate, 0.001 to 1.
        step_ratio: f64,
    },
}

/// A search under way: it says what to probe next and is told what came of it.
///
/// From the start it doubles the load until a probe fails, or halves it until one holds; then it
/// bisects. A probe holds when the share of requests that met their goals is at least `attainment`.
///
/// ```
/// use streamgauge_workload::{Search, SearchSpec};
/// // A server that keeps its goals with up to 23 clients.
/// let mut search = Search::new(SearchSpec::Clients { start: 8, most: 256 }, 0.95)?;
/// while let Some(clients) = search.next_load() {
///     search.record(clients, if clients <= 23.0 { 0.99 } else { 0.4 });
/// }
/// let found = search.found();
/// assert_eq!((found.highest_held, found.lowest_failed), (Some(23.0), Some(24.0)));
/// let loads: Vec<_> = search.probes().iter().map(|probe| probe.load).collect();
/// assert_eq!(loads, [8.0, 16.0, 32.0, 24.0, 20.0, 22.0, 23.0]);
/// # Ok::<(), streamgauge_workload::SearchError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    range: Range,
    attainment: f64,
    probes: Vec<Probe>,
}

/// One probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Clients, or requests per second.
    pub load: f64,
    /// Share of its requests that met their goals, 0 to 1.
    pub attained_ratio: f64,
    /// Whether that is enough.
    pub held: bool,
}

/// What a search knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The highest load that held below every one that failed; `None` when there is none.
    pub highest_held: Option<f64>,
    /// The lowest load that failed; `None` when none did, up to the most that was to be probed.
    pub lowest_failed: Option<f64>,
    /// Loads that held although a load no higher had failed, in the order of their probes: a sign
    /// that what lies between the two is noise.
    pub held_above_a_failure: Vec<f64>,
}

/// A search that cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The share of requests that must meet their goals is none.
    #[error("attainment {value} is not above 0 and at most 1")]
    Attainment {
        /// The value.
        value: f64,
    },
    /// Start and end do not lie in order, or are no loads.
    #[error(
        "a search from {start} to {most} does not go from a load above 0 to one at least as high"
    )]
    Range {
        /// The start.
        start: f64,
        /// The end.
        most: f64,
    },
    /// The step is out of range.
    #[error("a step of {value} is not within {LEAST_STEP_RATIO} to 1")]
    Step {
        /// The value.
        value: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    least: f64,
    start: f64,
    most: f64,
    step: Step,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Ratio(f64),
    Whole,
}

impl Search {
    /// A search that has probed nothing.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn new(spec: SearchSpec, attainment: f64) -> Result<Self, SearchError> {
        if !(attainment > 0.0 && attainment <= 1.0) {
            return Err(SearchError::Attainment { value: attainment });
        }
        let range = match spec {
            SearchSpec::Clients { start, most } => {
                let (start, most) = (start as f64, most as f64);
                Range { least: 1.0, start, most, step: Step::Whole }
            }
            SearchSpec::Rates { start_per_s, most_per_s, step_ratio } => {
                if !(LEAST_STEP_RATIO..=1.0).contains(&step_ratio) {
                    return Err(SearchError::Step { value: step_ratio });
                }
                let least = start_per_s / 2_f64.powi(MOST_HALVINGS);
                let step = Step::Ratio(step_ratio);
                Range { least, start: start_per_s, most: most_per_s, step }
            }
        };
        let Range { start, most, step, .. } = range;
        let highest = if step == Step::Whole { LoadError::MOST_CLIENTS as f64 } else { f64::MAX };
        if !(start > 0.0 && start <= most && most <= highest) {
            return Err(SearchError::Range { start, most });
        }
        Ok(Self { range, attainment, probes: Vec::new() })
    }

    /// The load to probe next, in clients or requests per second; `None` when nothing is left to
    /// find out.
    #[must_use]
    pub fn next_load(&self) -> Option<f64> {
        let Range { least, start, most, .. } = self.range;
        let found = self.found();
        match (found.highest_held, found.lowest_failed) {
            (None, None) => Some(start),
            (Some(held), None) => (held < most).then(|| (held * 2.0).min(most)),
            (None, Some(failed)) => {
                let half = self.range.step.rounded(failed / 2.0).max(least);
                (half < failed).then_some(half)
            }
            (Some(held), Some(failed)) => self.range.step.between(held, failed),
        }
    }

    /// Notes what came of a probe. It may be of another load than the search asked for, and of one
    /// that was probed before: then the worse result counts.
    pub fn record(&mut self, load: f64, attained_ratio: f64) {
        let held = attained_ratio >= self.attainment;
        self.probes.push(Probe { load, attained_ratio, held });
    }

    /// All probes, in the order in which they were noted.
    #[must_use]
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// What is known so far; the result when there is no [`next_load`](Self::next_load).
    #[must_use]
    pub fn found(&self) -> Found {
        let loads = |held: bool| {
            self.probes.iter().filter(move |probe| probe.held == held).map(|probe| probe.load)
        };
        let lowest_failed = loads(false).min_by(f64::total_cmp);
        let is_below = |load: &f64| lowest_failed.is_none_or(|failed| *load < failed);
        Found {
            highest_held: loads(true).filter(is_below).max_by(f64::total_cmp),
            lowest_failed,
            held_above_a_failure: loads(true).filter(|load| !is_below(load)).collect(),
        }
    }
}

impl Step {
    /// A load of this grid near `load`.
    fn rounded(self, load: f64) -> f64 {
        match self {
            Self::Ratio(_) => load,
            Self::Whole => load.floor(),
        }
    }

    /// A load in the middle of two; `None` when they are near enough to each other.
    fn between(self, held: f64, failed: f64) -> Option<f64> {
        match self {
            Self::Ratio(ratio) if held * (1.0 + ratio) >= failed => None,
            Self::Ratio(_) => {
                let middle = (held * failed).sqrt();
                // A rate that can be read and typed again.
                let short = format!("{middle:.3e}").parse().unwrap_or(middle);
                Some(if held < short && short < failed { short } else { middle })
            }
            Self::Whole if failed - held <= 1.0 => None,
            Self::Whole => Some(((held + failed) / 2.0).floor()),
        }
    }
}
