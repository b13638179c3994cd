//! The gaps between the events of all responses, in as few bytes as they need.

use std::collections::BTreeMap;

use crate::sorted::SortedMicros;

/// Stands where a gap is too long for four bytes; the gap itself stands in `long_us`.
const LONG: u32 = u32::MAX;

/// Gaps of responses, one response after the other, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    us: Vec<u32>,
    /// The long ones, by place.
    long_us: BTreeMap<usize, u64>,
}

/// Where the gaps of one response stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GapRange {
    from: usize,
    count: usize,
}

impl GapRange {
    pub(crate) fn is_empty(self) -> bool {
        self.count == 0
    }
}

impl Gaps {
    /// Takes the gaps of one response.
    pub(crate) fn push(&mut self, us: impl Iterator<Item = u64>) -> GapRange {
        let from = self.us.len();
        for us in us {
            let short = u32::try_from(us).unwrap_or(LONG);
            if short == LONG {
                self.long_us.insert(self.us.len(), us);
            }
            self.us.push(short);
        }
        GapRange { from, count: self.us.len() - from }
    }

    /// The gaps of some responses, pooled and sorted.
    pub(crate) fn sorted(&self, ranges: impl Iterator<Item = GapRange>) -> SortedMicros {
        ranges.flat_map(|range| self.of(range)).collect()
    }

    fn of(&self, GapRange { from, count }: GapRange) -> impl Iterator<Item = u64> {
        let places = from..from + count;
        places.clone().zip(&self.us[places]).map(|(place, us)| match *us {
            LONG => self.long_us[&place],
            us => u64::from(us),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sorted::Sorted;

    #[test]
    fn gaps_come_back_by_response() {
        let long = u64::from(LONG);
        let mut gaps = Gaps::default();
        let first = gaps.push([5, long, 3].into_iter());
        let none = gaps.push([].into_iter());
        let second = gaps.push([long - 1, u64::MAX].into_iter());
        assert!(none.is_empty() && !first.is_empty());
        for (ranges, expected) in [
            (vec![first], vec![3, 5, long]),
            (vec![none], vec![]),
            (vec![second, first], vec![3, 5, long - 1, long, u64::MAX]),
        ] {
            let sorted = gaps.sorted(ranges.into_iter());
            let found: Vec<f64> = (0..sorted.count()).filter_map(|n| sorted.at(n)).collect();
            let expected: Vec<f64> = expected.into_iter().map(|us| us as f64 / 1000.0).collect();
            assert_eq!(found, expected);
        }
    }
}
