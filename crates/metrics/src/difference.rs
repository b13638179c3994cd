//! The difference between two sides with its uncertainty, from one number a run.
//!
//! Runs are the unit, never requests: what differs from run to run is what a difference of builds
//! has to be told from.

use crate::student::{t_beyond, two_sided};

/// Blocks, or runs of a side, that an interval needs: with fewer the noise is not known.
pub(crate) const FEWEST: usize = 3;
/// Tails are known to all digits down to here.
const LEAST_TAIL: f64 = 1e-12;

/// A mean difference, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Difference {
    /// The candidate's mean minus the baseline's.
    pub(crate) mean: f64,
    /// `None` with too few runs.
    pub(crate) noise: Option<Noise>,
}

/// What a difference is uncertain by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Noise {
    /// Standard deviation of what one block, or one pair of runs, says.
    pub(crate) deviation: f64,
    /// Standard error of the mean difference.
    error: f64,
    /// Degrees of freedom that the deviation is known with.
    pub(crate) degrees: f64,
}

impl Difference {
    /// Of runs in blocks: the n-th of one side belongs to the n-th of the other. `None` without
    /// runs or when their numbers differ.
    pub(crate) fn paired(baseline: &[f64], candidate: &[f64]) -> Option<Self> {
        if baseline.len() != candidate.len() {
            return None;
        }
        let differences: Vec<f64> =
            baseline.iter().zip(candidate).map(|(old, new)| new - old).collect();
        let count = differences.len() as f64;
        let noise = (differences.len() >= FEWEST).then(|| {
            let deviation = variance(&differences).sqrt();
            Noise { deviation, error: deviation / count.sqrt(), degrees: count - 1.0 }
        });
        Some(Self { mean: mean(&differences)?, noise })
    }

    /// Of two samples of runs (Welch): whatever drifts between the sides is in the difference, and
    /// whatever drifts within them is in the noise. `None` when a side has no run.
    pub(crate) fn unpaired(baseline: &[f64], candidate: &[f64]) -> Option<Self> {
        let mean = mean(candidate)? - mean(baseline)?;
        let enough = baseline.len().min(candidate.len()) >= FEWEST;
        Some(Self { mean, noise: enough.then(|| welch(baseline, candidate)) })
    }

    /// The ends of the interval of this level; `None` with too few runs, and for a level that leaves
    /// nothing out, or everything.
    pub(crate) fn interval(&self, level: f64) -> Option<(f64, f64)> {
        let noise = self.noise?;
        let tail = Some((1.0 - level) / 2.0).filter(|tail| (LEAST_TAIL..0.5).contains(tail))?;
        let reach = t_beyond(tail, noise.degrees) * noise.error;
        Some((self.mean - reach, self.mean + reach))
    }

    /// The chance of a mean difference at least this far from 0 if there were none; `None` with too
    /// few runs, and for numbers too large to subtract. Runs that all agree leave no chance.
    pub(crate) fn p_value(&self) -> Option<f64> {
        let noise = self.noise?;
        Some(match (self.mean, noise.error) {
            (0.0, _) => 1.0,
            (_, 0.0) => 0.0,
            (mean, error) => {
                let t = Some(mean / error).filter(|t| !t.is_nan())?;
                two_sided(t, noise.degrees)
            }
        })
    }
}

fn welch(baseline: &[f64], candidate: &[f64]) -> Noise {
    let [old, new] = [baseline, candidate].map(|side| (variance(side), side.len() as f64));
    let squared = old.0 / old.1 + new.0 / new.1;
    let part = |(variance, count): (f64, f64)| (variance / count).powi(2) / (count - 1.0);
    // Welch and Satterthwaite; of sides without any variance it is 0 / 0.
    let degrees = squared * squared / (part(old) + part(new));
    let degrees = if degrees.is_finite() { degrees } else { old.1 + new.1 - 2.0 };
    Noise { deviation: (old.0 + new.0).sqrt(), error: squared.sqrt(), degrees }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// With one degree of freedom less than there are values.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let Some(mean) = mean(values) else { return 0.0 };
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Student, "The probable error of a mean", Biometrika 6 (1908): hours of sleep gained by ten
    /// patients under two drugs. R's manual of `t.test` has the same data as `sleep`.
    const ONE: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const OTHER: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 5e-7 * expected.abs().max(1.0)
    }

    #[test]
    fn students_own_data() {
        let paired = Difference::paired(&ONE, &OTHER).unwrap();
        let (lower, upper) = paired.interval(0.95).unwrap();
        assert!(close(paired.mean, 1.58), "{paired:?}");
        assert!(close(lower, 0.700_114_2) && close(upper, 2.459_885_8), "{lower} {upper}");
        assert!((paired.p_value().unwrap() - 0.002_832_9).abs() < 5e-8);
        assert_eq!(paired.noise.unwrap().degrees, 9.0);

        let unpaired = Difference::unpaired(&ONE, &OTHER).unwrap();
        let (lower, upper) = unpaired.interval(0.95).unwrap();
        assert!(close(unpaired.mean, 1.58), "{unpaired:?}");
        assert!(close(lower, -0.205_483_2) && close(upper, 3.365_483_2), "{lower} {upper}");
        assert!((unpaired.p_value().unwrap() - 0.079_394_1).abs() < 5e-8);
        assert!((unpaired.noise.unwrap().degrees - 17.776_474).abs() < 5e-7);
    }

    #[test]
    fn few_runs_have_no_interval() {
        for count in 1..FEWEST {
            for difference in [
                Difference::paired(&ONE[..count], &OTHER[..count]),
                Difference::unpaired(&ONE[..count], &OTHER),
                Difference::unpaired(&ONE, &OTHER[..count]),
            ] {
                let difference = difference.unwrap();
                assert_eq!((difference.interval(0.95), difference.p_value()), (None, None));
            }
        }
        assert_eq!(Difference::paired(&[], &[]), None);
        assert_eq!(Difference::paired(&ONE, &OTHER[..9]), None);
        assert_eq!(Difference::unpaired(&[], &OTHER), None);
        assert_eq!(Difference::unpaired(&ONE, &[]), None);
    }

    #[test]
    fn numbers_too_large_have_no_chance() {
        let huge = [1e308; 4];
        for of in [Difference::paired, Difference::unpaired] {
            for (one, other) in [([0.0; 4], huge), (huge, huge.map(|number| -number))] {
                let found = of(&one, &other).unwrap();
                assert!(found.p_value().is_none_or(f64::is_finite), "{found:?}");
            }
        }
    }

    #[test]
    fn a_level_leaves_something_out() {
        let paired = Difference::paired(&ONE, &OTHER).unwrap();
        for level in [1.0, 0.0, -1.0, 2.0, f64::NAN, 1.0_f64.next_down()] {
            assert_eq!(paired.interval(level), None, "{level}");
        }
        assert!(paired.interval(0.999_999_999).is_some());
    }

    #[test]
    fn runs_that_agree_leave_no_doubt() {
        let (one, other) = ([1.0; 4], [3.0; 4]);
        for of in [Difference::paired, Difference::unpaired] {
            let same = of(&one, &one).unwrap();
            assert_eq!((same.interval(0.95), same.p_value()), (Some((0.0, 0.0)), Some(1.0)));
            let differs = of(&one, &other).unwrap();
            assert_eq!((differs.interval(0.95), differs.p_value()), (Some((2.0, 2.0)), Some(0.0)));
        }
    }

    fn runs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        (3_usize..20).prop_flat_map(|count| {
            let side = || prop::collection::vec(-100.0_f64..100.0, count);
            (side(), side())
        })
    }

    proptest! {
        #[test]
        fn a_higher_level_is_wider((one, other) in runs()) {
            for of in [Difference::paired, Difference::unpaired] {
                let difference = of(&one, &other).unwrap();
                let (narrow, wide) =
                    (difference.interval(0.9).unwrap(), difference.interval(0.99).unwrap());
                prop_assert!(wide.0 <= narrow.0 && narrow.0 <= difference.mean);
                prop_assert!(difference.mean <= narrow.1 && narrow.1 <= wide.1);
                // The interval leaves 0 out where the chance is less than what the level leaves.
                let p = difference.p_value().unwrap();
                let excludes = narrow.0 > 0.0 || narrow.1 < 0.0;
                prop_assert!((p - 0.1).abs() < 1e-9 || excludes == (p < 0.1));
            }
        }

        #[test]
        fn what_all_runs_share_is_no_difference((one, other) in runs(), drift in -50.0_f64..50.0) {
            let drifted = |side: &[f64]| -> Vec<f64> {
                side.iter().enumerate().map(|(n, value)| value + drift * n as f64).collect()
            };
            let still = Difference::paired(&one, &other).unwrap();
            let moved = Difference::paired(&drifted(&one), &drifted(&other)).unwrap();
            prop_assert!((still.mean - moved.mean).abs() < 1e-9);
        }
    }
}
