//! What takes long to compute and is asked for again and again while a record is verified.

use std::collections::BTreeMap;

use streamgauge_schema::{Interval, Tally};

use crate::interval::places;
use crate::rate::share_interval;
use crate::statistic::Statistic;

/// Places of an interval's bounds; `None` where one does not exist, and where there is no interval.
type Bounds = Option<(Option<usize>, Option<usize>)>;

/// Results by what they were computed from.
#[derive(Debug, Default)]
pub(super) struct Known {
    bounds: BTreeMap<(u64, &'static str), Bounds>,
    shares: BTreeMap<(u64, u64), Option<Interval>>,
}

impl Known {
    /// The places of the bounds beside a statistic of so many samples.
    pub(super) fn bounds(&mut self, samples: u64, statistic: Statistic) -> Bounds {
        let q = statistic.quantile()?;
        let compute = || places(usize::try_from(samples).ok()?, q);
        *self.bounds.entry((samples, statistic.word())).or_insert_with(compute)
    }

    /// The interval beside a share of requests.
    pub(super) fn share(&mut self, tally: Tally) -> Option<Interval> {
        let compute = || share_interval(tally);
        self.shares.entry((tally.count, tally.of)).or_insert_with(compute).clone()
    }
}
