//! Intervals for quantiles from order statistics: no assumption about how values are spread.
//!
//! The number of samples below the true `q`-quantile is binomial, so two order statistics enclose
//! it with a known chance. Samples are taken to be independent, which under queueing they are not;
//! the interval speaks of one run and says nothing about the noise between runs.

use statrs::distribution::{Binomial, DiscreteCDF};
use streamgauge_schema::{Identifier, Interval};

use crate::sorted::Sorted;

/// How sure an interval is.
pub(crate) const LEVEL: f64 = 0.95;
/// What intervals of quantiles are called.
pub(crate) const METHOD: &str = "order_statistics";
/// The most that may lie beyond either bound.
const TAIL: f64 = 0.025;

/// The 95 % interval of the `q`-quantile of samples sorted by `total_cmp`: at most 2.5 % lie beyond
/// each bound.
///
/// A bound that so few samples cannot give is `None` in the interval. There is no interval without
/// samples, or when `q` lies outside 0 to 1.
///
/// ```
/// use streamgauge_metrics::quantile_interval;
/// let interval = quantile_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.5).unwrap();
/// assert_eq!((interval.lower, interval.upper), (Some(1.0), Some(6.0)));
/// let interval = quantile_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).unwrap();
/// assert_eq!((interval.lower, interval.upper), (Some(4.0), None));
/// ```
#[must_use]
pub fn quantile_interval(sorted: &[f64], q: f64) -> Option<Interval> {
    interval_of(sorted, q)
}

/// The interval of samples, wherever they lie.
pub(crate) fn interval_of(sorted: &(impl Sorted + ?Sized), q: f64) -> Option<Interval> {
    let (lower, upper) = places(sorted.count(), q)?;
    Some(Interval {
        level: LEVEL,
        method: Identifier::new(METHOD).expect("letters and '_'"),
        lower: lower.and_then(|place| sorted.at(place)),
        upper: upper.and_then(|place| sorted.at(place)),
    })
}

/// The chance that [`quantile_interval`] of so many samples holds the true `q`-quantile, whatever
/// continuous distribution they come from; exact but for rounding. A bound that does not exist leaves
/// nothing out on its side. It is never below 0.95. `None` where there is no interval.
///
/// ```
/// use streamgauge_metrics::quantile_interval_coverage;
/// // From the least to the greatest of six: all on one side of the median has 2 chances in 64.
/// let coverage = quantile_interval_coverage(6, 0.5).unwrap();
/// assert!((coverage - (1.0 - 2.0 / 64.0)).abs() < 1e-12);
/// ```
#[must_use]
pub fn quantile_interval_coverage(count: usize, q: f64) -> Option<f64> {
    let (lower, upper) = places(count, q)?;
    let below = Binomial::new(q, count as u64).ok()?;
    // The true quantile is above the lower bound when more samples than its place are below it.
    let missed_below = lower.map_or(0.0, |place| below.cdf(place as u64));
    let missed_above = upper.map_or(0.0, |place| below.sf(place as u64));
    Some(1.0 - missed_below - missed_above)
}

/// The places of the bounds among so many sorted samples, from 0; `None` where one does not exist,
/// and where there is no interval.
pub(crate) fn places(count: usize, q: f64) -> Option<(Option<usize>, Option<usize>)> {
    if count == 0 {
        return None;
    }
    let below = Binomial::new(q, count as u64).ok()?;
    let past_lower = first(count, |k| below.cdf(k) > TAIL);
    let upper = first(count, |k| below.sf(k) <= TAIL);
    // With few samples a bound can lie between the quantile's neighbours. Moving it outwards to
    // the neighbour leaves less beyond it, and the interval holds its value.
    let rank = (count - 1) as f64 * q;
    let lower = past_lower.checked_sub(1).map(|place| place.min(rank.floor() as usize));
    let upper = upper.max(rank.ceil() as usize);
    Some((lower, Some(upper).filter(|place| *place < count)))
}

/// The first number below `count` for which `holds`, which must not change back once it does;
/// `count` when there is none.
fn first(count: usize, holds: impl Fn(u64) -> bool) -> usize {
    let (mut from, mut to) = (0, count);
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle as u64) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(count: usize, q: f64) -> (Option<f64>, Option<f64>) {
        let sorted: Vec<f64> = (1..=count).map(|rank| rank as f64).collect();
        quantile_interval(&sorted, q).map_or((None, None), |found| (found.lower, found.upper))
    }

    #[test]
    fn an_upper_bound_needs_enough_samples() {
        for (q, needed) in [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368)] {
            assert_eq!(bounds(needed - 1, q).1, None, "one less than {needed} for {q}");
            assert_eq!(bounds(needed, q).1, Some(needed as f64), "{needed} for {q}");
        }
    }

    #[test]
    fn ranks_of_printed_tables() {
        // Ranks of the sign-test interval for a median, as statistical tables print them.
        let cases = [
            (5, 0.5, (None, None)),
            (6, 0.5, (Some(1.0), Some(6.0))),
            (10, 0.5, (Some(2.0), Some(9.0))),
            (20, 0.5, (Some(6.0), Some(15.0))),
            (50, 0.5, (Some(18.0), Some(33.0))),
            (100, 0.5, (Some(40.0), Some(61.0))),
        ];
        for (count, q, expected) in cases {
            assert_eq!(bounds(count, q), expected, "{count} samples at {q}");
        }
    }

    #[test]
    fn bounds_follow_the_binomial_sum() {
        for count in [1_usize, 7, 36, 72, 100, 150] {
            for q in [0.05_f64, 0.5, 0.9, 0.95, 0.99] {
                let (mut mass, mut cdf) = ((1.0 - q).powi(count as i32), Vec::new());
                let mut sum = 0.0;
                for k in 0..count {
                    sum += mass;
                    cdf.push(sum);
                    mass *= (count - k) as f64 / (k + 1) as f64 * q / (1.0 - q);
                }
                let rank = (count - 1) as f64 * q;
                let lower = cdf.iter().take_while(|chance| **chance <= 0.025).count();
                let lower = lower.min(rank.floor() as usize + 1);
                let upper = cdf.iter().position(|chance| 1.0 - chance <= 0.025);
                let upper = upper.map(|place| place.max(rank.ceil() as usize));
                let expected = ((lower > 0).then_some(lower as f64), upper.map(|k| (k + 1) as f64));
                assert_eq!(bounds(count, q), expected, "{count} samples at {q}");
            }
        }
    }

    #[test]
    fn coverage_is_never_below_the_level() {
        for q in [0.0, 0.01, 0.5, 0.9, 0.95, 0.99, 1.0] {
            for count in (1..400).chain([1_000, 20_000, 1_000_000]) {
                let coverage = quantile_interval_coverage(count, q).unwrap();
                assert!((LEVEL..=1.0).contains(&coverage), "{count} at {q}: {coverage}");
            }
        }
        assert_eq!(quantile_interval_coverage(0, 0.5), None);
        assert_eq!(quantile_interval_coverage(1, 1.5), None);
    }

    #[test]
    fn few_samples_leave_the_value_inside() {
        assert_eq!(bounds(2, 0.99), (Some(1.0), None));
        assert_eq!(bounds(1, 0.99), (Some(1.0), None));
        assert_eq!(bounds(1, 0.5), (None, None));
    }

    #[test]
    fn many_samples_are_near_the_normal_approximation() {
        for (count, q) in [(1_000_000_u32, 0.5_f64), (1_000_000, 0.99), (10_000_000, 0.95)] {
            let deviation = 1.959_964 * (f64::from(count) * q * (1.0 - q)).sqrt();
            let below = Binomial::new(q, count.into()).unwrap();
            let lower = first(count as usize, |k| below.cdf(k) > TAIL) as f64;
            let upper = first(count as usize, |k| below.sf(k) <= TAIL) as f64;
            assert!((lower - (f64::from(count) * q - deviation)).abs() < 2.0, "{lower}");
            assert!((upper - (f64::from(count) * q + deviation)).abs() < 2.0, "{upper}");
        }
    }

    #[test]
    fn no_interval_of_nothing() {
        assert_eq!(quantile_interval(&[], 0.5), None);
        assert_eq!(quantile_interval(&[1.0], 1.5), None);
        assert_eq!(quantile_interval(&[1.0], f64::NAN), None);
    }
}
