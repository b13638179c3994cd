//! How much a figure changed from the baseline to the candidate, in percent, and how well that is
//! known.
//!
//! Figures are compared by the logarithms of their ratios: a figure that doubles and one that halves
//! are as far from equal, and noise is about as large in percent at every level.

use streamgauge_schema::{
    ComparedFigure, ComparisonMethod, Direction, Equivalence, GateVerdict, MetricComparisonV2,
};

use crate::difference::Difference;

/// Digits that a published percentage or chance keeps.
const DIGITS: usize = 9;

/// The change of a figure over several runs of each side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Of the logarithms.
    difference: Difference,
    means: [f64; 2],
}

impl Change {
    /// The change from the figures of each run. In blocks, the n-th figure of one side belongs to
    /// the n-th of the other.
    ///
    /// `None` when a side has no run, a figure is not a positive number, or, in blocks, the sides
    /// have different numbers of runs.
    ///
    /// ```
    /// use streamgauge_metrics::Change;
    /// use streamgauge_schema::ComparisonMethod::Blocks;
    /// let change = Change::between(Blocks, &[100.0, 104.0, 98.0], &[110.0, 114.4, 107.8]).unwrap();
    /// assert_eq!(change.delta_percent(), 10.0);
    /// assert_eq!(change.interval_percent(0.95), Some((10.0, 10.0)));
    /// // Two blocks say how much, but not how surely.
    /// let change = Change::between(Blocks, &[100.0, 104.0], &[110.0, 114.4]).unwrap();
    /// assert_eq!(change.interval_percent(0.95), None);
    /// ```
    #[must_use]
    pub fn between(method: ComparisonMethod, baseline: &[f64], candidate: &[f64]) -> Option<Self> {
        let [old, new] = [logarithms(baseline)?, logarithms(candidate)?];
        let difference = match method {
            ComparisonMethod::Blocks => Difference::paired(&old, &new),
            ComparisonMethod::Unpaired => Difference::unpaired(&old, &new),
        };
        let mean = |side: &[f64]| (side.iter().sum::<f64>() / side.len() as f64).exp();
        Some(Self { difference: difference?, means: [mean(&old), mean(&new)] })
    }

    /// The change that a comparison recorded, again from its figures. `None` as in [`Self::between`],
    /// and where a run has no figure.
    #[must_use]
    pub fn recorded(method: ComparisonMethod, metric: &MetricComparisonV2) -> Option<Self> {
        let known = |side: &[ComparedFigure]| side.iter().map(|figure| figure.value).collect();
        let known: [Option<Vec<f64>>; 2] = [known(&metric.baseline), known(&metric.candidate)];
        let [Some(old), Some(new)] = known else { return None };
        Self::between(method, &old, &new)
    }

    /// Geometric means of the baseline's and of the candidate's figures.
    #[must_use]
    pub fn means(&self) -> [f64; 2] {
        self.means.map(published)
    }

    /// How much larger the candidate's figure is, in percent.
    #[must_use]
    pub fn delta_percent(&self) -> f64 {
        percent(self.difference.mean)
    }

    /// Standard deviation of what one block, or one pair of runs, says of the change, in percent;
    /// `None` with fewer than three blocks, or runs of a side.
    #[must_use]
    pub fn noise_percent(&self) -> Option<f64> {
        self.difference.noise.map(|noise| percent(noise.deviation))
    }

    /// Degrees of freedom that the noise is known with.
    #[must_use]
    pub fn degrees_of_freedom(&self) -> Option<f64> {
        self.difference.noise.map(|noise| published(noise.degrees))
    }

    /// The interval of this level, in percent; `None` with fewer than three blocks, or runs of a
    /// side.
    #[must_use]
    pub fn interval_percent(&self, level: f64) -> Option<(f64, f64)> {
        self.difference.interval(level).map(|(lower, upper)| (percent(lower), percent(upper)))
    }

    /// Standard deviation of the logarithms, from which plans are made.
    pub(crate) fn log_noise(&self) -> Option<f64> {
        self.difference.noise.map(|noise| noise.deviation)
    }
}

/// The most that a figure may get worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    percent: f64,
    direction: Direction,
}

impl Limit {
    /// A limit in percent for a figure with this direction; `None` for a figure that has no better
    /// and worse, and for a limit below 0 or of 100 and more.
    #[must_use]
    pub fn new(percent: f64, direction: Direction) -> Option<Self> {
        let judged = direction != Direction::Neutral && (0.0..100.0).contains(&percent);
        judged.then_some(Self { percent, direction })
    }

    /// What a gate amounts to: fail when all of `fail` is beyond the limit, pass when all of `pass`
    /// is within it. The limit itself is within. Both are intervals of the change in percent, and
    /// `fail` is not the narrower one.
    ///
    /// ```
    /// use streamgauge_metrics::Limit;
    /// use streamgauge_schema::{Direction, GateVerdict};
    /// let limit = Limit::new(5.0, Direction::LowerIsBetter).unwrap();
    /// assert_eq!(limit.verdict((-1.0, 5.0), (-1.5, 5.5)), GateVerdict::Pass);
    /// assert_eq!(limit.verdict((5.2, 9.0), (5.1, 9.5)), GateVerdict::Fail);
    /// assert_eq!(limit.verdict((5.2, 9.0), (4.9, 9.5)), GateVerdict::Inconclusive);
    /// ```
    #[must_use]
    pub fn verdict(self, pass: (f64, f64), fail: (f64, f64)) -> GateVerdict {
        let limit = self.percent;
        let (failed, passed) = match self.direction {
            Direction::HigherIsBetter => (fail.1 < -limit, pass.0 >= -limit),
            _ => (fail.0 > limit, pass.1 <= limit),
        };
        match (failed, passed) {
            (true, _) => GateVerdict::Fail,
            (false, true) => GateVerdict::Pass,
            (false, false) => GateVerdict::Inconclusive,
        }
    }

    /// Whether the figure changed by no more than the limit in either direction.
    #[must_use]
    pub fn equivalence(self, (lower, upper): (f64, f64)) -> Equivalence {
        let limit = self.percent;
        if -limit <= lower && upper <= limit {
            Equivalence::Within
        } else if lower > limit || upper < -limit {
            Equivalence::Outside
        } else {
            Equivalence::Undecided
        }
    }

    /// The change that is still within it, in percent.
    pub(crate) fn worst_percent(self) -> f64 {
        match self.direction {
            Direction::HigherIsBetter => -self.percent,
            _ => self.percent,
        }
    }
}

/// `None` when a figure is not a positive number, or there is none.
pub(crate) fn logarithms(figures: &[f64]) -> Option<Vec<f64>> {
    let positive = |figure: &f64| (*figure > 0.0 && figure.is_finite()).then(|| figure.ln());
    let logarithms: Option<Vec<f64>> = figures.iter().map(positive).collect();
    logarithms.filter(|logarithms| !logarithms.is_empty())
}

fn percent(logarithm: f64) -> f64 {
    published(logarithm.exp_m1() * 100.0)
}

/// A number with nine digits. Logarithms may differ in their last bit from one machine to another;
/// what is published, and judged, is the same on all of them. It also lets a change of exactly the
/// limit be within it, where rounding would carry it beyond.
pub(crate) fn published(number: f64) -> f64 {
    if !number.is_finite() {
        return number;
    }
    let text = format!("{number:.*e}", DIGITS - 1);
    // Zero has no sign: −0 would be a difference that is none.
    text.parse::<f64>().map_or(number, |rounded| rounded + 0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use streamgauge_schema::ComparisonMethod::{Blocks, Unpaired};

    use super::*;

    #[test]
    fn published_numbers() {
        let cases = [
            (5.000000000000004, 5.0),
            (-5.000000000000004, -5.0),
            (123_456_789.4, 123_456_789.0),
            (1.0 / 3.0, 0.333333333),
            (2e-310, 2e-310),
            (0.0, 0.0),
        ];
        for (number, expected) in cases {
            assert_eq!(published(number), expected);
        }
        assert!(published(-0.0).is_sign_positive());
        assert_eq!(published(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn what_cannot_be_compared() {
        for method in [Blocks, Unpaired] {
            for (baseline, candidate) in [
                (vec![], vec![]),
                (vec![1.0], vec![]),
                (vec![0.0, 1.0], vec![1.0, 1.0]),
                (vec![1.0, 1.0], vec![-1.0, 1.0]),
                (vec![1.0, f64::NAN], vec![1.0, 1.0]),
                (vec![1.0, f64::INFINITY], vec![1.0, 1.0]),
            ] {
                assert_eq!(Change::between(method, &baseline, &candidate), None);
            }
        }
        let (two, three) = ([1.0, 2.0], [1.0, 2.0, 3.0]);
        assert_eq!(Change::between(Blocks, &two, &three), None);
        assert!(Change::between(Unpaired, &two, &three).is_some());
    }

    /// By hand: the logarithms of 1.1, 1.2 and 1.3 have mean 0.179999 and deviation 0.083551; t with
    /// 2 degrees of freedom is 4.302653 at 95 %; 0.179999 ± 4.302653 · 0.083551 / √3.
    #[test]
    fn blocks_by_hand() {
        let change = Change::between(Blocks, &[100.0; 3], &[110.0, 120.0, 130.0]).unwrap();
        let (lower, upper) = change.interval_percent(0.95).unwrap();
        let near = |found: f64, expected: f64| (found - expected).abs() < 5e-3;
        assert!(near(change.delta_percent(), 19.72), "{change:?}");
        assert!(near(change.noise_percent().unwrap(), 8.714), "{change:?}");
        assert!(near(lower, -2.72) && near(upper, 47.337), "{lower} {upper}");
        assert_eq!(change.degrees_of_freedom(), Some(2.0));
        assert_eq!(change.means(), [100.0, 119.721577]);
    }

    #[test]
    fn limits() {
        use GateVerdict::{Fail, Inconclusive, Pass};
        let (lower, higher) = (Direction::LowerIsBetter, Direction::HigherIsBetter);
        let cases = [
            (lower, (-2.0, 5.0), (-3.0, 6.0), Pass),
            (lower, (-2.0, 5.0_f64.next_up()), (-3.0, 6.0), Inconclusive),
            (lower, (5.5, 7.0), (5.0, 8.0), Inconclusive),
            (lower, (5.5, 7.0), (5.0_f64.next_up(), 8.0), Fail),
            (lower, (-60.0, -50.0), (-70.0, -40.0), Pass),
            (higher, (-5.0, 2.0), (-6.0, 3.0), Pass),
            (higher, ((-5.0_f64).next_down(), 2.0), (-6.0, 3.0), Inconclusive),
            (higher, (-9.0, -6.0), (-10.0, -5.0), Inconclusive),
            (higher, (-9.0, -6.0), (-10.0, (-5.0_f64).next_down()), Fail),
            (higher, (50.0, 60.0), (40.0, 70.0), Pass),
        ];
        for (direction, pass, fail, expected) in cases {
            let limit = Limit::new(5.0, direction).unwrap();
            assert_eq!(limit.verdict(pass, fail), expected, "{direction} {pass:?} {fail:?}");
        }
        for (percent, direction) in
            [(5.0, Direction::Neutral), (-1.0, lower), (100.0, higher), (f64::NAN, lower)]
        {
            assert_eq!(Limit::new(percent, direction), None);
        }
    }

    #[test]
    fn equivalence_looks_both_ways() {
        use Equivalence::{Outside, Undecided, Within};
        let cases = [
            ((-5.0, 5.0), Within),
            ((-5.1, 5.0), Undecided),
            ((-9.0, 9.0), Undecided),
            ((5.0, 9.0), Undecided),
            ((5.1, 9.0), Outside),
            ((-9.0, -5.1), Outside),
        ];
        for direction in [Direction::LowerIsBetter, Direction::HigherIsBetter] {
            let limit = Limit::new(5.0, direction).unwrap();
            for (interval, expected) in cases {
                assert_eq!(limit.equivalence(interval), expected, "{interval:?}");
            }
        }
    }

    /// A change of exactly the limit, without any noise, is within it.
    #[test]
    fn the_limit_is_within() {
        let limit = Limit::new(5.0, Direction::LowerIsBetter).unwrap();
        for start in [100.0, 0.3, 77_777.7] {
            let baseline: Vec<f64> = (0..5).map(|n| start * f64::from(n + 1)).collect();
            let candidate: Vec<f64> = baseline.iter().map(|figure| figure * 1.05).collect();
            let interval = Change::between(Blocks, &baseline, &candidate).unwrap();
            let interval = interval.interval_percent(0.95).unwrap();
            assert_eq!(limit.verdict(interval, interval), GateVerdict::Pass, "{interval:?}");
        }
    }

    proptest! {
        #[test]
        fn the_sides_swapped_give_the_inverse(
            figures in prop::collection::vec((0.1_f64..1e6, 0.1_f64..1e6), 3..12)
        ) {
            let (old, new): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
            for method in [Blocks, Unpaired] {
                let forth = Change::between(method, &old, &new).unwrap();
                let back = Change::between(method, &new, &old).unwrap();
                let product = (1.0 + forth.delta_percent() / 100.0)
                    * (1.0 + back.delta_percent() / 100.0);
                prop_assert!((product - 1.0).abs() < 1e-6);
                prop_assert_eq!(forth.noise_percent(), back.noise_percent());
            }
        }

        #[test]
        fn a_unit_does_not_matter(
            figures in prop::collection::vec((0.1_f64..1e6, 0.1_f64..1e6), 3..12)
        ) {
            let (old, new): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
            let seconds = |side: &[f64]| -> Vec<f64> { side.iter().map(|ms| ms / 1000.0).collect() };
            for method in [Blocks, Unpaired] {
                let ms = Change::between(method, &old, &new).unwrap();
                let s = Change::between(method, &seconds(&old), &seconds(&new)).unwrap();
                prop_assert!((ms.delta_percent() - s.delta_percent()).abs() <= 1e-6
                    * (1.0 + ms.delta_percent().abs()));
            }
        }
    }
}
