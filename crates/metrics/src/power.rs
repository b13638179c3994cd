//! Planning: what a number of blocks can detect, and how many a limit needs.
//!
//! A plan answers for one interval of level `1 − alpha`, from the noise of earlier blocks. The
//! chance that such an interval ends short of a value is a tail of the noncentral t distribution,
//! integrated to nine digits; there is no normal approximation in it. What a plan cannot know is
//! whether the noise stays what it was: of few blocks it is known badly, see [`BlockNoise::upper`].

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::change::{Change, Limit, logarithms, published};
use crate::difference::{FEWEST, variance};
use crate::student::{noncentral_beyond, t_beyond};

/// More blocks than anybody takes.
const MOST_BLOCKS: u64 = 10_000;

/// The noise of blocks: the standard deviation of the logarithm of candidate over baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockNoise {
    deviation: f64,
    degrees: f64,
}

/// How sure a plan is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sureness {
    /// The interval's level is one minus this: what the gates say, divided by the looks.
    pub alpha: f64,
    /// The chance that the blocks decide.
    pub power: f64,
}

impl BlockNoise {
    /// The noise that earlier blocks showed: an A/A, or another comparison. `None` where the change
    /// has too few blocks to know it.
    #[must_use]
    pub fn of(change: &Change) -> Option<Self> {
        let (deviation, degrees) = (change.log_noise()?, change.degrees_of_freedom()?);
        Some(Self { deviation, degrees })
    }

    /// The noise that blocks of such runs would show, from the figures of earlier runs of one build:
    /// a block has the noise of two. What drifted over those runs counts as noise, of which blocks
    /// would be free, so that this errs to the safe side. `None` with fewer than three runs, or where
    /// a figure is not a positive number.
    ///
    /// ```
    /// use streamgauge_metrics::BlockNoise;
    /// let noise = BlockNoise::of_runs(&[100.0, 103.0, 98.0, 101.0, 99.0]).unwrap();
    /// assert!((noise.percent() - 2.74).abs() < 0.01);
    /// assert_eq!(BlockNoise::of_runs(&[100.0, 103.0]), None);
    /// ```
    #[must_use]
    pub fn of_runs(figures: &[f64]) -> Option<Self> {
        let logarithms = logarithms(figures).filter(|runs| runs.len() >= FEWEST)?;
        let deviation = (2.0 * variance(&logarithms)).sqrt();
        Some(Self { deviation, degrees: (logarithms.len() - 1) as f64 })
    }

    /// The most that the noise is with a chance of `level`: so many blocks say no more. `None` when
    /// the level is not between 0 and 1.
    #[must_use]
    pub fn upper(self, level: f64) -> Option<Self> {
        let tail = Some(1.0 - level).filter(|tail| *tail > 0.0 && *tail < 1.0)?;
        let least = ChiSquared::new(self.degrees).ok()?.inverse_cdf(tail);
        Some(Self { deviation: self.deviation * (self.degrees / least).sqrt(), ..self })
    }

    /// Degrees of freedom that it is known with.
    #[must_use]
    pub fn degrees_of_freedom(self) -> f64 {
        self.degrees
    }

    /// The noise in percent.
    #[must_use]
    pub fn percent(self) -> f64 {
        published(self.deviation.exp_m1() * 100.0)
    }

    /// The smallest change, in percent upwards, that so many blocks tell from none: their interval
    /// leaves 0 out with the chance that is asked for. `None` with fewer than three blocks.
    ///
    /// ```
    /// use streamgauge_metrics::{BlockNoise, Change, Sureness};
    /// use streamgauge_schema::ComparisonMethod::Blocks;
    /// let earlier = Change::between(
    ///     Blocks,
    ///     &[100.0, 102.0, 99.0, 101.0, 100.0],
    ///     &[103.0, 99.0, 104.0, 98.0, 101.0],
    /// );
    /// let noise = BlockNoise::of(&earlier.unwrap()).unwrap();
    /// let sureness = Sureness { alpha: 0.05, power: 0.8 };
    /// let (five, ten) = (noise.detectable_percent(5, sureness), noise.detectable_percent(10, sureness));
    /// assert!(five > ten && ten > Some(0.0));
    /// ```
    #[must_use]
    pub fn detectable_percent(self, blocks: u64, sureness: Sureness) -> Option<f64> {
        let detectable = self.deviation * reach(blocks, sureness)?;
        Some(published(detectable.exp_m1() * 100.0))
    }

    /// The fewest blocks by which a candidate that is as good as the baseline passes the limit with
    /// the chance that is asked for. `None` when more than 10,000 would be needed, as a limit of 0
    /// always does.
    #[must_use]
    pub fn blocks_needed(self, limit: Limit, sureness: Sureness) -> Option<u64> {
        let room = (limit.worst_percent() / 100.0).ln_1p().abs();
        let enough = |blocks| decides(blocks, room / self.deviation, sureness) == Some(true);
        let (mut from, mut to) = (FEWEST as u64, MOST_BLOCKS);
        if room == 0.0 || !enough(to) {
            return None;
        }
        while from < to {
            let middle = from + (to - from) / 2;
            if enough(middle) {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        Some(from)
    }
}

/// Whether the interval of so many blocks leaves 0 out, on the side of a true change of so many
/// standard deviations of a block, with the chance that is asked for.
fn decides(blocks: u64, change: f64, Sureness { alpha, power }: Sureness) -> Option<bool> {
    let possible = alpha > 0.0 && alpha < 1.0 && power > 0.0 && power < 1.0;
    if blocks < FEWEST as u64 || !possible {
        return None;
    }
    let degrees = (blocks - 1) as f64;
    let t = t_beyond(alpha / 2.0, degrees);
    Some(noncentral_beyond(t, degrees, change * (blocks as f64).sqrt()) >= power)
}

/// How many standard deviations of a block a change must measure to be told from none.
fn reach(blocks: u64, sureness: Sureness) -> Option<f64> {
    let (mut from, mut to) = (0.0, 1.0);
    while !decides(blocks, to, sureness)? {
        (from, to) = (to, to * 2.0);
    }
    // Forty halvings leave nine digits.
    for _ in 0..40 {
        let middle = f64::midpoint(from, to);
        if decides(blocks, middle, sureness)? {
            to = middle;
        } else {
            from = middle;
        }
    }
    Some(to)
}

#[cfg(test)]
mod tests {
    use streamgauge_schema::Direction;

    use super::*;

    const USUAL: Sureness = Sureness { alpha: 0.05, power: 0.8 };

    fn noise(deviation: f64) -> BlockNoise {
        BlockNoise { deviation, degrees: 4.0 }
    }

    /// The pairs by which a paired t test finds a difference with power 0.8, in standard deviations, as
    /// R's `power.t.test(type = "paired")` gives them: 33.4 and 14.3, rounded up.
    #[test]
    fn sample_sizes_of_a_named_source() {
        for (standardised, blocks) in [(0.5_f64, 34), (0.8, 15)] {
            let smallest = (3..200).find(|n| reach(*n, USUAL).unwrap() <= standardised);
            assert_eq!(smallest, Some(blocks), "{standardised}");
        }
    }

    #[test]
    fn blocks_for_a_limit() {
        let limit = |percent, direction| Limit::new(percent, direction).unwrap();
        let lower = limit(5.0, Direction::LowerIsBetter);
        // Three percent an arm.
        let typical = noise(0.03 * std::f64::consts::SQRT_2);
        let needed = typical.blocks_needed(lower, USUAL).unwrap();
        assert!(typical.detectable_percent(needed, USUAL) <= Some(5.0));
        assert!(typical.detectable_percent(needed - 1, USUAL) > Some(5.0));
        assert_eq!(needed, 9);
        // A rate may fall by less on the logarithmic scale than a latency may rise.
        let rate = limit(30.0, Direction::HigherIsBetter);
        let latency = limit(30.0, Direction::LowerIsBetter);
        let wild = noise(0.5);
        assert!(wild.blocks_needed(rate, USUAL) < wild.blocks_needed(latency, USUAL));
        assert_eq!(noise(0.0).blocks_needed(lower, USUAL), Some(3));
        assert_eq!(noise(10.0).blocks_needed(lower, USUAL), None);
        assert_eq!(typical.blocks_needed(limit(0.0, Direction::LowerIsBetter), USUAL), None);
    }

    #[test]
    fn surer_takes_more() {
        let typical = noise(0.04);
        let at = |alpha, power| typical.detectable_percent(8, Sureness { alpha, power }).unwrap();
        assert!(at(0.05, 0.8) < at(0.05, 0.9) && at(0.05, 0.8) < at(0.005, 0.8));
        for sureness in [(0.0, 0.8), (0.05, 1.0), (0.05, 0.0), (f64::NAN, 0.5)] {
            let (alpha, power) = sureness;
            assert_eq!(typical.detectable_percent(8, Sureness { alpha, power }), None);
        }
        assert_eq!(typical.detectable_percent(2, USUAL), None);
    }

    /// A block of two runs has the noise of both.
    #[test]
    fn noise_of_earlier_runs() {
        let runs = [100.0, 104.0, 97.0, 101.0];
        let noise = BlockNoise::of_runs(&runs).unwrap();
        assert_eq!(noise.degrees, 3.0);
        let rescaled = BlockNoise::of_runs(&runs.map(|figure| figure / 1_000.0)).unwrap();
        assert!((noise.deviation - rescaled.deviation).abs() < 1e-12);
        for runs in [&[1.0, 2.0][..], &[1.0, 0.0, 2.0], &[]] {
            assert_eq!(BlockNoise::of_runs(runs), None);
        }
    }

    /// Of 4 degrees of freedom, 5 % of the chi-squared distribution lie below 0.710723.
    #[test]
    fn few_blocks_know_the_noise_badly() {
        let upper = noise(0.04).upper(0.95).unwrap();
        assert!((upper.deviation / 0.04 - (4.0_f64 / 0.710_723).sqrt()).abs() < 1e-5);
        for level in [0.0, 1.0, 1.5, f64::NAN] {
            assert_eq!(noise(0.04).upper(level), None);
        }
    }
}
