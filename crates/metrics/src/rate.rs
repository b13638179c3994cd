//! Intervals for shares of requests.

use statrs::distribution::{Beta, ContinuousCDF};
use streamgauge_schema::{Identifier, Interval, Tally};

use crate::change::published;

/// How sure the interval beside a share of a record is.
const LEVEL: f64 = 0.95;

/// Most counts whose bounds statrs itself looks for: of ten million, the bounds of the rarest and of the
/// most common shares it never finds.
const STATRS_FINDS: u64 = 1_000_000;

/// The interval beside a share of a record, rounded so that it is the same on any machine.
pub(crate) fn share_interval(tally: Tally) -> Option<Interval> {
    let Interval { level, method, lower, upper } = rate_interval(tally, LEVEL)?;
    let [lower, upper] = [lower, upper].map(|bound| bound.map(published));
    Some(Interval { level, method, lower, upper })
}

/// The interval of Clopper and Pearson for a share: whatever the true share is, the interval misses
/// it with a chance of at most `(1 − level) / 2` on each side. It takes requests as independent and
/// speaks of one run.
///
/// `None` when nothing was looked at, more was counted than looked at, or the level is not between
/// 0 and 1.
///
/// ```
/// use streamgauge_metrics::rate_interval;
/// use streamgauge_schema::Tally;
/// // No failure among 100 requests still leaves up to 3.6 percent.
/// let interval = rate_interval(Tally { count: 0, of: 100 }, 0.95).unwrap();
/// assert_eq!(interval.lower, Some(0.0));
/// assert!((interval.upper.unwrap() - 0.036_216_693).abs() < 1e-9);
/// ```
#[must_use]
pub fn rate_interval(Tally { count, of }: Tally, level: f64) -> Option<Interval> {
    if of == 0 || count > of || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let tail = (1.0 - level) / 2.0;
    let (seen, unseen) = (count as f64, (of - count) as f64);
    // The upper bound is one minus the lower bound of the share that was not counted: so both come
    // from a lower tail, which keeps its digits.
    let lower = |one: f64, other: f64| match one {
        0.0 => 0.0,
        one => {
            let beta = Beta::new(one, other + 1.0).expect("counts give positive shapes");
            if of <= STATRS_FINDS { beta.inverse_cdf(tail) } else { halved(&beta, tail) }
        }
    };
    Some(Interval {
        level,
        method: Identifier::new("clopper_pearson").expect("letters and '_'"),
        lower: Some(lower(seen, unseen)),
        upper: Some(1.0 - lower(unseen, seen)),
    })
}

/// The quantile between two neighbouring numbers, the lower of them: slower, and sure to end.
fn halved(beta: &Beta, tail: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle: f64 = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return low;
        }
        if beta.cdf(middle) < tail {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use num_rational::BigRational;

    use super::*;

    fn bounds(count: u64, of: u64) -> (f64, f64) {
        let interval = rate_interval(Tally { count, of }, 0.95).unwrap();
        (interval.lower.unwrap(), interval.upper.unwrap())
    }

    /// Clopper and Pearson, Biometrika 26 (1934), as exact confidence tables print it.
    #[test]
    fn published_bounds() {
        let cases = [
            (0, 10, 0.0, 0.3085),
            (1, 10, 0.0025, 0.4450),
            (5, 10, 0.1871, 0.8129),
            (10, 10, 0.6915, 1.0),
            (5, 100, 0.0164, 0.1128),
        ];
        for (count, of, lower, upper) in cases {
            let found = bounds(count, of);
            assert!((found.0 - lower).abs() < 5e-5, "{count} of {of}: {found:?}");
            assert!((found.1 - upper).abs() < 5e-5, "{count} of {of}: {found:?}");
        }
    }

    /// At the bound, the binomial tail is what the level leaves.
    #[test]
    fn tails_agree_with_exact_arithmetic() {
        let rational = |x: f64| BigRational::from_float(x).unwrap();
        let one = BigRational::from_integer(BigInt::from(1));
        for (count, of) in [(1_u64, 7_u64), (3, 20), (20, 25), (29, 30)] {
            let at_least = |share: f64| {
                let (p, mut term) = (rational(share), one.clone());
                let mut sum = BigRational::from_integer(BigInt::from(0));
                for k in 0..=of {
                    let power = |base: &BigRational, times: u64| {
                        (0..times).fold(one.clone(), |product, _| product * base)
                    };
                    if k > 0 {
                        term = term * BigInt::from(of - k + 1) / BigInt::from(k);
                    }
                    if k >= count {
                        sum += &term * power(&p, k) * power(&(&one - &p), of - k);
                    }
                }
                sum
            };
            let off = at_least(bounds(count, of).0) / rational(0.025) - &one;
            let allowed = rational(1e-10);
            assert!(off < allowed && off > -allowed, "{count} of {of}");
        }
    }

    #[test]
    fn no_interval_of_nothing() {
        for (count, of, level) in [(0, 0, 0.95), (2, 1, 0.95), (1, 2, 0.0), (1, 2, f64::NAN)] {
            assert_eq!(rate_interval(Tally { count, of }, level), None);
        }
    }

    #[test]
    fn bounds_hold_the_share_and_mirror() {
        for (count, of) in [(0, 1), (1, 1), (3, 1_000), (20_999, 24_576), (500_000, 1_000_000)] {
            let (lower, upper) = bounds(count, of);
            let share = count as f64 / of as f64;
            assert!(lower <= share && share <= upper && lower < upper, "{count} of {of}");
            let mirrored = bounds(of - count, of);
            assert!((mirrored.0 - (1.0 - upper)).abs() < 1e-12, "{count} of {of}");
        }
    }

    /// The limit of rare counts is Poisson's, whose bounds are 0.02532 and 3.689, 5.572, 11.668.
    #[test]
    fn bounds_of_the_longest_runs_are_found() {
        for of in [1_000_001, 10_000_000] {
            let scaled = |count: u64| {
                let (lower, upper) = bounds(count, of);
                (lower * of as f64, upper * of as f64)
            };
            for (count, lower, upper) in
                [(0, 0.0, 3.6889), (1, 0.025_318, 5.5716), (5, 1.6235, 11.668)]
            {
                let found = scaled(count);
                assert!((found.0 - lower).abs() <= 1e-3 * lower.max(1e-9), "{count}: {found:?}");
                assert!((found.1 - upper).abs() <= 1e-3 * upper, "{count} of {of}: {found:?}");
                let (most, _) = bounds(of - count, of);
                assert!((most - (1.0 - found.1 / of as f64)).abs() < 1e-12, "{count} of {of}");
            }
        }
        // What no run has, a document may say.
        for (count, of) in [(1, 1 << 40), (u64::MAX, u64::MAX), (u64::MAX / 2, u64::MAX)] {
            let (lower, upper) = bounds(count, of);
            assert!(
                (0.0..=1.0).contains(&lower) && (0.0..=1.0).contains(&upper),
                "{count} of {of}"
            );
        }
    }
}
