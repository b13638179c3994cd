//! The gaps between the events of all responses, in as few bytes as they need, and the tokens of
//! these events where the server counted them.

use std::collections::BTreeMap;

use streamgauge_schema::Observation;

use crate::request::generated_gaps_us;
use crate::whole::{LONG, Summary, short_of};

/// Gaps of responses, one response after the other, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    us: Vec<u32>,
    /// The long ones, by place.
    long_us: BTreeMap<usize, u64>,
    /// Those between events with reasoning or content, by request, where they are others than those
    /// between output events.
    generated: BTreeMap<u64, GapRange>,
    /// Tokens of the output events, and where those of a request stand.
    tokens: Vec<u32>,
    counted: BTreeMap<u64, GapRange>,
}

/// Where the gaps of one response stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GapRange {
    from: usize,
    count: usize,
}

impl GapRange {
    pub(crate) fn new(from: usize, count: u64) -> Self {
        Self { from, count: count as usize }
    }

    /// Where they begin, and how many there are.
    pub(crate) fn parts(self) -> (usize, u64) {
        (self.from, self.count as u64)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.count == 0
    }

    fn places(self) -> std::ops::Range<usize> {
        self.from..self.from + self.count
    }
}

impl Gaps {
    /// Takes the gaps and the tokens of the response to a request; says where the gaps between its
    /// output events stand.
    pub(crate) fn add(&mut self, index: u64, seen: &Observation) -> GapRange {
        let outputs = self.push(seen.arrivals_us.iter().skip(1).copied());
        if !seen.not_generated.is_empty() {
            let generated = self.push(generated_gaps_us(seen));
            self.generated.insert(index, generated);
        }
        // A count beyond four bytes was never taken.
        let counts = seen.token_counts.iter().flatten().map(|count| u32::try_from(*count));
        let counts: Vec<u32> = counts.collect::<Result<_, _>>().unwrap_or_default();
        if !counts.is_empty() {
            let range = GapRange { from: self.tokens.len(), count: counts.len() };
            self.counted.insert(index, range);
            self.tokens.extend(counts);
        }
        outputs
    }

    fn push(&mut self, us: impl Iterator<Item = u64>) -> GapRange {
        let from = self.us.len();
        for us in us {
            let short = short_of(us);
            if short == LONG {
                self.long_us.insert(self.us.len(), us);
            }
            self.us.push(short);
        }
        GapRange { from, count: self.us.len() - from }
    }

    /// Where the gaps between a request's events with reasoning or content stand; `outputs` are
    /// those between all its output events.
    pub(crate) fn generated(&self, index: u64, outputs: GapRange) -> GapRange {
        self.generated.get(&index).copied().unwrap_or(outputs)
    }

    /// The tokens of each output event of a request, where the server counted them.
    pub(crate) fn tokens(&self, index: u64) -> Option<&[u32]> {
        self.counted.get(&index).map(|range| &self.tokens[range.places()])
    }

    /// The gaps of one response.
    pub(crate) fn of(&self, range: GapRange) -> impl Iterator<Item = u64> {
        range.places().zip(&self.us[range.places()]).map(|(place, us)| match *us {
            LONG => self.long_us[&place],
            us => u64::from(us),
        })
    }

    /// What figures need of the gaps of some responses, pooled, in milliseconds; `each` visits where
    /// they stand.
    pub(crate) fn summary(&self, each: impl Fn(&mut dyn FnMut(GapRange))) -> Summary {
        let mut long = Vec::new();
        if !self.long_us.is_empty() {
            each(&mut |range| {
                long.extend(self.long_us.range(range.places()).map(|(_, us)| *us));
            });
        }
        let slices = |visit: &mut dyn FnMut(&[u32])| {
            each(&mut |range| visit(&self.us[range.places()]));
        };
        Summary::of(slices, long, 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::observation;
    use crate::sorted::Sorted;
    use crate::statistic::Statistic;

    #[test]
    fn gaps_come_back_by_response() {
        let long = u64::from(LONG);
        let mut gaps = Gaps::default();
        let first = gaps.push([5, long, 3].into_iter());
        let none = gaps.push([].into_iter());
        let second = gaps.push([long - 1, u64::MAX].into_iter());
        assert!(none.is_empty() && !first.is_empty());
        assert_eq!(gaps.of(first).collect::<Vec<_>>(), [5, long, 3]);
        for (ranges, count, min, max) in [
            (vec![first], 3, Some(3), Some(long)),
            (vec![none], 0, None, None),
            (vec![second, first], 5, Some(3), Some(u64::MAX)),
        ] {
            let summary = gaps.summary(|visit| ranges.iter().copied().for_each(visit));
            let of = |us: Option<u64>| us.map(|us| us as f64 / 1000.0);
            let found = [Statistic::Min, Statistic::Max].map(|statistic| statistic.of(&summary));
            assert_eq!((summary.count(), found), (count, [of(min), of(max)]));
        }
    }

    #[test]
    fn tokens_and_generated_gaps_come_back_by_request() {
        let mut gaps = Gaps::default();
        let plain = gaps.add(0, &observation(&[10, 20], 2));
        let mut seen = observation(&[10, 20, 50], 9);
        (seen.not_generated, seen.token_counts) = (vec![1], Some(vec![1, 3, 5]));
        let outputs = gaps.add(1, &seen);
        assert_eq!((gaps.generated(0, plain), gaps.tokens(0)), (plain, None));
        let generated = gaps.generated(1, outputs);
        assert_eq!(gaps.of(outputs).collect::<Vec<_>>(), [10, 30]);
        assert_eq!(gaps.of(generated).collect::<Vec<_>>(), [40]);
        assert_eq!(gaps.tokens(1), Some(&[1, 3, 5][..]));
    }
}
