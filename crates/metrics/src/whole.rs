//! Samples that are whole numbers, nearly all of which fit into four bytes: spans of time in
//! microseconds, and tokens. A run can have tens of millions of them, so that they are counted where
//! they lie, and neither copied nor sorted.

use crate::interval::places as interval_places;
use crate::quantile::{Rank, at_places};
use crate::sorted::{Sorted, Sums, stddev_of};
use crate::statistic::Statistic;

/// Stands where a number is too long for four bytes; the number itself stands apart.
pub(crate) const LONG: u32 = u32::MAX;

/// Whole numbers in any order, in as few bytes as they need.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    short: Vec<u32>,
    long: Vec<u64>,
}

impl Whole {
    pub(crate) fn push(&mut self, number: u64) {
        let short = short_of(number);
        if short == LONG {
            self.long.push(number);
        }
        self.short.push(short);
    }

    /// What figures need of them, each divided by `divisor`.
    pub(crate) fn summary(&self, divisor: f64) -> Summary {
        Self::summary_of(std::slice::from_ref(self), divisor)
    }

    /// What figures need of all the numbers of several.
    pub(crate) fn summary_of(several: &[Self], divisor: f64) -> Summary {
        let each = |visit: &mut dyn FnMut(&[u32])| several.iter().for_each(|it| visit(&it.short));
        let long = several.iter().flat_map(|it| it.long.iter().copied()).collect();
        Summary::of(each, long, divisor)
    }
}

impl FromIterator<u64> for Whole {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut whole = Self::default();
        numbers.into_iter().for_each(|number| whole.push(number));
        whole
    }
}

/// The number in four bytes, where it fits.
pub(crate) fn short_of(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(LONG)
}

/// What figures need of many whole numbers: their sums, and those at the places that statistics and
/// their intervals ask for.
#[derive(Debug)]
pub(crate) struct Summary {
    count: usize,
    sums: Sums,
    at: Vec<(usize, f64)>,
}

impl Summary {
    /// Of the numbers that `each` visits, slice by slice and always the same; `long` has those for
    /// which [`LONG`] stands there.
    pub(crate) fn of(
        each: impl Fn(&mut dyn FnMut(&[u32])),
        mut long: Vec<u64>,
        divisor: f64,
    ) -> Self {
        long.sort_unstable();
        let (mut count, mut sum, mut squares) = (0_usize, 0_u128, 0_u128);
        each(&mut |numbers| {
            count += numbers.len();
            sum += numbers.iter().map(|number| u128::from(*number)).sum::<u128>();
            let square = |number: &u32| u128::from(u64::from(*number) * u64::from(*number));
            squares += numbers.iter().map(square).sum::<u128>();
        });
        // What stands for the long ones goes out, and they come in.
        let stands = u128::from(LONG) * long.len() as u128;
        let long_sum: u128 = long.iter().map(|number| u128::from(*number)).sum();
        let total = sum - stands + long_sum;
        let squares = long.iter().try_fold(squares - stands * u128::from(LONG), |sum, number| {
            u128::from(*number).checked_pow(2).and_then(|square| sum.checked_add(square))
        });
        let mean = if count == 0 { 0.0 } else { total as f64 / count as f64 / divisor };
        let stddev = variance(count, total, squares).map(|variance| variance.sqrt() / divisor);
        let places = places(count);
        let short = count - long.len();
        let (below, above): (Vec<usize>, Vec<usize>) =
            places.into_iter().partition(|place| *place < short);
        let found = at_places(count, each, &below).into_iter().map(u64::from);
        let numbers = found.chain(above.iter().map(|place| long[place - short]));
        let values: Vec<f64> = numbers.map(|number| number as f64 / divisor).collect();
        let at = below.iter().chain(&above).copied().zip(values).collect();
        Self { count, sums: Sums { mean, stddev }, at }
    }
}

impl Sorted for Summary {
    fn count(&self) -> usize {
        self.count
    }

    /// `None` also at places that no statistic asks for.
    fn at(&self, place: usize) -> Option<f64> {
        let index = self.at.binary_search_by_key(&place, |(place, _)| *place).ok()?;
        Some(self.at[index].1)
    }

    fn sums(&self) -> Sums {
        self.sums
    }
}

/// The sample variance from exact sums; where these leave 128 bits, from rounded ones.
fn variance(count: usize, sum: u128, squares: Option<u128>) -> Option<f64> {
    let n = count as u128;
    if n < 2 {
        return None;
    }
    let exact = squares
        .and_then(|squares| squares.checked_mul(n))
        .zip(sum.checked_mul(sum))
        .map(|(squares, sum)| (squares - sum) as f64 / (n * (n - 1)) as f64);
    let rounded = || {
        let squares = squares.map_or(f64::INFINITY, |squares| squares as f64);
        stddev_of((squares - sum as f64 * (sum as f64 / n as f64)).max(0.0), count)
            .map(|it| it * it)
    };
    exact.or_else(rounded).filter(|variance| variance.is_finite())
}

/// The places that the statistics of so many samples need, in rising order, each once.
fn places(count: usize) -> Vec<usize> {
    let mut places = vec![0, count.saturating_sub(1)];
    for q in Statistic::ALL.into_iter().filter_map(Statistic::quantile) {
        let rank = Rank::of(count, q).map(|rank| [rank.below, rank.below + 1]);
        places.extend(rank.into_iter().flatten());
        let bounds = interval_places(count, q).map(|(lower, upper)| [lower, upper]);
        places.extend(bounds.into_iter().flatten().flatten());
    }
    places.retain(|place| *place < count);
    places.sort_unstable();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interval::interval_of;

    fn check(numbers: &[u64]) {
        let summary: Whole = numbers.iter().copied().collect();
        let summary = summary.summary(1000.0);
        let mut sorted: Vec<f64> = numbers.iter().map(|number| *number as f64 / 1000.0).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        assert_eq!(summary.count(), sorted.len());
        for statistic in Statistic::ALL {
            let (found, expected) = (statistic.of(&summary), statistic.of_sorted(&sorted));
            match statistic.quantile() {
                None => {
                    let off = found.zip(expected).map_or(0.0, |(found, other)| found - other);
                    // The sorted floats are rounded, so that their spread is, where it is small.
                    let room = 1e-9 * sorted.last().copied().unwrap_or(0.0);
                    assert!(found.is_some() == expected.is_some() && off.abs() <= room);
                }
                Some(q) => {
                    assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits));
                    assert_eq!(interval_of(&summary, q), interval_of(sorted.as_slice(), q));
                }
            }
        }
    }

    #[test]
    fn long_numbers_follow_short_ones() {
        let most = u64::from(LONG);
        check(&[]);
        check(&[7]);
        check(&[most + 1, 7, 1 << 50, most, 0, most - 1]);
        let absurd: Whole = [u64::MAX, u64::MAX, 0].into_iter().collect();
        assert_eq!(Statistic::Max.of(&absurd.summary(1.0)), Some(u64::MAX as f64));
    }

    #[test]
    fn many_are_counted() {
        check(&(0..70_000_u64).map(|n| n * 2_654_435_761 % 5_000_000_000).collect::<Vec<_>>());
    }

    #[test]
    fn the_spread_of_whole_numbers_is_exact() {
        let large: Whole = (1_u64..=3).map(|n| 10_000_000_000_000_000 + n).collect();
        assert_eq!(large.summary(1.0).sums().stddev, Some(1.0));
    }

    proptest! {
        #[test]
        fn they_are_what_sorting_gives(numbers in prop::collection::vec(0_u64..6_000_000_000, 0..400)) {
            check(&numbers);
        }
    }
}
