//! One simulated qualification, and what the rule makes of it.

use rand_chacha::ChaCha8Rng;
use streamgauge_metrics::{Change, Limit};
use streamgauge_schema::{ComparisonMethod, Direction, GateVerdict};

use super::latencies::Runs;

const ALPHA: f64 = 0.05;
const LIMIT_PERCENT: f64 = 5.0;

/// The order in which runs are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// All of the baseline, then all of the candidate.
    Apart,
    /// Blocks: A B, B A, A B …
    Blocks,
}

/// What is true, and how much drifts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truth {
    /// How much slower the candidate is: 0.05 is five percent.
    pub(crate) change: f64,
    /// How much slower the last run of the qualification is than the first one, linearly.
    pub(crate) drift: f64,
}

/// Figures of the runs of both sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) baseline: Vec<f64>,
    pub(crate) candidate: Vec<f64>,
}

impl Figures {
    /// So many runs of each side.
    pub(crate) fn taken(
        blocks: usize,
        order: Order,
        truth: Truth,
        runs: &mut Runs,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let mut figures = Self::default();
        for place in 0..2 * blocks {
            let is_candidate = match order {
                Order::Apart => place >= blocks,
                // A is first in even blocks and second in odd ones.
                Order::Blocks => (place / 2) % 2 != place % 2,
            };
            let past = place as f64 / (2 * blocks - 1) as f64;
            let level = 1.0 + truth.drift * past;
            if is_candidate {
                figures.candidate.push(runs.median_ms(level * (1.0 + truth.change), rng));
            } else {
                figures.baseline.push(runs.median_ms(level, rng));
            }
        }
        figures
    }

    /// What the rule concludes from the first `blocks` of each side, at one of so many looks.
    pub(crate) fn judged(&self, method: ComparisonMethod, blocks: usize, looks: usize) -> Judged {
        let [old, new] = [&self.baseline[..blocks], &self.candidate[..blocks]];
        let change = Change::between(method, old, new).expect("latencies are positive");
        let level = 1.0 - ALPHA / looks as f64;
        let interval = change.interval_percent(level).expect("there are three blocks");
        let limit = Limit::new(LIMIT_PERCENT, Direction::LowerIsBetter).expect("a sound limit");
        Judged {
            verdict: limit.verdict(interval, interval),
            excludes_zero: interval.0 > 0.0 || interval.1 < 0.0,
        }
    }
}

/// What the rule concludes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) verdict: GateVerdict,
    pub(crate) excludes_zero: bool,
}
