//! A percentile bootstrap over the requests of one run. It says how far a figure would move with
//! other requests in the same run, and nothing about another run: no gate uses it.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use streamgauge_schema::{Identifier, Interval};

use crate::quantile::{quantile, sorted_quantile};
use crate::statistic::Statistic;

/// How often the requests are drawn anew.
const RESAMPLES: usize = 2_000;
/// How sure the interval is.
const LEVEL: f64 = 0.95;
/// Fewest values for a mean, and values that must lie beyond a quantile on average.
const FEWEST: usize = 20;
const BEYOND: f64 = 10.0;

/// The 95 % percentile bootstrap of a statistic of samples sorted by `total_cmp`. Its method is
/// `bootstrap_within_this_run_only`. The same samples and seed give the same interval.
///
/// `None` with fewer than 20 values, or where fewer than ten lie beyond the quantile: the bootstrap
/// repeats what it has, and would promise too much.
///
/// Takes 2,000 times as long as the statistic itself.
///
/// ```
/// use streamgauge_metrics::{Statistic, bootstrap_interval};
/// let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
/// let interval = bootstrap_interval(&sorted, Statistic::P50, 7).unwrap();
/// assert_eq!(interval.method.as_str(), "bootstrap_within_this_run_only");
/// assert!(interval.lower < Some(50.0) && interval.upper > Some(51.0));
/// assert_eq!(bootstrap_interval(&sorted, Statistic::P99, 7), None);
/// ```
#[must_use]
pub fn bootstrap_interval(sorted: &[f64], statistic: Statistic, seed: u64) -> Option<Interval> {
    let beyond = statistic.quantile().map_or(BEYOND, |q| (1.0 - q) * sorted.len() as f64);
    if sorted.len() < FEWEST || beyond.round() < BEYOND {
        return None;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = vec![0.0; sorted.len()];
    let mut figures = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        drawn.fill_with(|| sorted[below(sorted.len(), &mut rng)]);
        figures.push(match statistic.quantile() {
            Some(q) => quantile(&drawn, q)?,
            None => drawn.iter().sum::<f64>() / drawn.len() as f64,
        });
    }
    figures.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - LEVEL) / 2.0;
    Some(Interval {
        level: LEVEL,
        method: Identifier::new("bootstrap_within_this_run_only").expect("letters and '_'"),
        lower: sorted_quantile(&figures, tail),
        upper: sorted_quantile(&figures, 1.0 - tail),
    })
}

/// A place below `count`, each as likely as another but for one part in 2^64 / `count`.
fn below(count: usize, rng: &mut ChaCha8Rng) -> usize {
    ((u128::from(rng.next_u64()) * count as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies with a long tail, sorted.
    fn samples(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let unit = |rng: &mut ChaCha8Rng| below(1 << 52, rng) as f64 / (1_u64 << 52) as f64;
        let mut samples: Vec<f64> =
            (0..count).map(|_| -(1.0 - unit(&mut rng)).ln() * 100.0).collect();
        samples.sort_unstable_by(f64::total_cmp);
        samples
    }

    #[test]
    fn a_seed_repeats_the_interval() {
        let sorted = samples(40, 1);
        let interval = |seed| bootstrap_interval(&sorted, Statistic::Mean, seed).unwrap();
        assert_eq!(interval(1), interval(1));
        assert_ne!(interval(1), interval(2));
    }

    /// Of exponential values with mean 100, the standard error of the mean of n is 100 / √n.
    #[test]
    fn it_is_as_wide_as_the_normal_interval() {
        let sorted = samples(500, 2);
        let interval = bootstrap_interval(&sorted, Statistic::Mean, 3).unwrap();
        let width = interval.upper.unwrap() - interval.lower.unwrap();
        let expected = 2.0 * 1.96 * 100.0 / 500_f64.sqrt();
        assert!((width / expected - 1.0).abs() < 0.2, "{width} for {expected}");
        let mean = Statistic::Mean.of_sorted(&sorted);
        assert!(interval.lower < mean && mean < interval.upper);
    }

    #[test]
    fn too_few_values_give_none() {
        let cases = [
            (Statistic::Mean, 19, false),
            (Statistic::Mean, 20, true),
            (Statistic::P50, 19, false),
            (Statistic::P50, 20, true),
            (Statistic::P95, 189, false),
            (Statistic::P95, 200, true),
            (Statistic::P99, 940, false),
            (Statistic::P99, 1_000, true),
        ];
        for (statistic, count, stands) in cases {
            let found = bootstrap_interval(&samples(count, 4), statistic, 5);
            assert_eq!(found.is_some(), stands, "{statistic:?} of {count}");
        }
    }

    #[test]
    fn equal_values_leave_no_doubt() {
        let interval = bootstrap_interval(&[7.0; 30], Statistic::P50, 1).unwrap();
        assert_eq!((interval.lower, interval.upper), (Some(7.0), Some(7.0)));
    }
}
