//! How far two shares of the same requests lie apart, and how surely that is known.

use streamgauge_schema::{Identifier, Interval, Tally};

use crate::rate::rate_interval;

/// Pairs that disagree, and how many pairs there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// Pairs that have it on the first side alone.
    pub only_one: u64,
    /// Pairs that have it on the other side alone.
    pub only_other: u64,
    /// All pairs.
    pub of: u64,
}

impl Disagreement {
    /// Share that has it on the other side minus share that has it on the first; `None` without pairs.
    #[must_use]
    pub fn difference(self) -> Option<f64> {
        let Self { only_one, only_other, of } = self;
        (of > 0).then(|| (only_other as f64 - only_one as f64) / of as f64)
    }

    /// An interval for that difference: the intervals of Clopper and Pearson for the two kinds of
    /// disagreement, each with half of what the level leaves, so that both hold together. Whatever the
    /// true shares are, it misses the difference with a chance of at most `1 − level`; with no
    /// disagreement at all it still has a width.
    ///
    /// `None` without pairs, with more disagreements than pairs, or when the level is not between 0
    /// and 1.
    ///
    /// ```
    /// use streamgauge_metrics::Disagreement;
    /// // A hundred prompts that both sides answer alike leave up to 4.3 points either way.
    /// let alike = Disagreement { only_one: 0, only_other: 0, of: 100 };
    /// let interval = alike.interval(0.95).unwrap();
    /// assert!((interval.upper.unwrap() - 0.042_874).abs() < 1e-6);
    /// assert_eq!(interval.lower.map(|lower| -lower), interval.upper);
    /// ```
    #[must_use]
    pub fn interval(self, level: f64) -> Option<Interval> {
        let Self { only_one, only_other, of } = self;
        only_one.checked_add(only_other).filter(|pairs| *pairs <= of)?;
        Some(level).filter(|level| *level > 0.0 && *level < 1.0)?;
        let each = (1.0 + level) / 2.0;
        let one = rate_interval(Tally { count: only_one, of }, each)?;
        let other = rate_interval(Tally { count: only_other, of }, each)?;
        Some(Interval {
            level,
            method: Identifier::new("clopper_pearson_pairs").expect("letters and '_'"),
            lower: Some(other.lower? - one.upper?),
            upper: Some(other.upper? - one.lower?),
        })
    }
}

/// Pairs without any disagreement that it takes until the interval reaches no farther than `limit`.
pub(crate) fn alike_pairs_needed(limit: f64, level: f64) -> Option<u64> {
    let tail = (1.0 - level) / 4.0;
    let pairs = (tail.ln() / (-limit).ln_1p()).ceil();
    (limit > 0.0 && limit < 1.0 && pairs.is_finite()).then_some(pairs as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;

    fn bounds(only_one: u64, only_other: u64, of: u64) -> (f64, f64) {
        let interval = Disagreement { only_one, only_other, of }.interval(0.95).unwrap();
        (interval.lower.unwrap(), interval.upper.unwrap())
    }

    #[test]
    fn no_interval_of_nothing() {
        for (only_one, only_other, of, level) in [
            (0, 0, 0, 0.95),
            (2, 2, 3, 0.95),
            (u64::MAX, 1, 3, 0.95),
            (1, 1, 9, 1.0),
            (1, 1, 9, 0.0),
        ] {
            let disagreement = Disagreement { only_one, only_other, of };
            assert_eq!(disagreement.interval(level), None, "{disagreement:?} {level}");
        }
        assert_eq!(Disagreement { only_one: 0, only_other: 0, of: 0 }.difference(), None);
    }

    #[test]
    fn so_many_alike_pairs_are_just_enough() {
        for limit in [0.005, 0.01, 0.05, 0.2] {
            let needed = alike_pairs_needed(limit, 0.95).unwrap();
            assert!(-bounds(0, 0, needed).0 <= limit, "{limit}: {needed}");
            assert!(-bounds(0, 0, needed - 1).0 > limit, "{limit}: {needed}");
        }
        assert_eq!(alike_pairs_needed(0.0, 0.95), None);
    }

    /// The share of intervals that hold the true difference, over drawn pairs.
    #[test]
    fn it_holds_the_difference_as_often_as_it_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        for (one, other, of) in
            [(0.02, 0.02, 100), (0.1, 0.05, 60), (0.3, 0.1, 40), (0.0, 0.01, 200)]
        {
            let mut held = 0;
            for _ in 0..2000 {
                let (mut only_one, mut only_other) = (0, 0);
                for _ in 0..of {
                    let draw = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
                    only_one += u64::from(draw < one);
                    only_other += u64::from((one..one + other).contains(&draw));
                }
                let (lower, upper) = bounds(only_one, only_other, of);
                held += u64::from((lower..=upper).contains(&(other - one)));
            }
            assert!(held >= 1900, "{one} {other} {of}: {held} of 2000");
        }
    }

    proptest! {
        #[test]
        fn the_interval_holds_what_was_seen_and_mirrors(a in 0_u64..50, b in 0_u64..50, rest in 0_u64..500) {
            let of = (a + b + rest).max(1);
            let (lower, upper) = bounds(a, b, of);
            let seen = Disagreement { only_one: a, only_other: b, of }.difference().unwrap();
            prop_assert!(lower <= seen && seen <= upper);
            let (mirrored_lower, mirrored_upper) = bounds(b, a, of);
            prop_assert_eq!((lower, upper), (-mirrored_upper, -mirrored_lower));
        }
    }
}
