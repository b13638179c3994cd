//! Medians and quantiles: one estimator, used for every figure.
//!
//! The median is the mean of the two middle values. A quantile is linear between the neighbours of
//! rank `(n − 1)·q` (Hyndman–Fan type 7), and at `q = 0.5` it is the median function itself.
//! Samples are ordered by `total_cmp`, so their order of arrival never matters.

mod counting;

use crate::sorted::Sorted;

pub(crate) use counting::at_places;
pub use counting::quantiles_of_u32;

/// The median of samples in any order; `None` when there are none.
///
/// ```
/// use streamgauge_metrics::median;
/// assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
/// assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
/// assert_eq!(median(&[]), None);
/// ```
#[must_use]
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

/// The `q`-quantile of samples in any order; `None` when there are none, or when `q` lies outside
/// 0 to 1.
///
/// Takes time linear in the number of samples. Where several quantiles of the same samples are
/// wanted, sort once and use [`sorted_quantile`], which gives the same bits.
///
/// ```
/// use streamgauge_metrics::quantile;
/// assert_eq!(quantile(&[30.0, 10.0, 20.0], 0.75), Some(25.0));
/// assert_eq!(quantile(&[30.0, 10.0, 20.0], 1.5), None);
/// ```
#[must_use]
pub fn quantile(samples: &[f64], q: f64) -> Option<f64> {
    let rank = Rank::of(samples.len(), q)?;
    let mut samples = samples.to_vec();
    let (_, lo, above) = samples.select_nth_unstable_by(rank.below, f64::total_cmp);
    let lo = *lo;
    let hi = above.iter().copied().min_by(f64::total_cmp).unwrap_or(lo);
    Some(rank.between(lo, hi))
}

/// The `q`-quantile of samples that are already sorted by `total_cmp`; `None` as in [`quantile`].
#[must_use]
pub fn sorted_quantile(sorted: &[f64], q: f64) -> Option<f64> {
    quantile_of(sorted, q)
}

/// The `q`-quantile of samples, wherever they lie.
pub(crate) fn quantile_of(sorted: &(impl Sorted + ?Sized), q: f64) -> Option<f64> {
    let rank = Rank::of(sorted.count(), q)?;
    let lo = sorted.at(rank.below)?;
    let hi = sorted.at(rank.below + 1).unwrap_or(lo);
    Some(rank.between(lo, hi))
}

/// Where a quantile lies among sorted samples.
pub(crate) struct Rank {
    /// Place of the neighbour below.
    pub(crate) below: usize,
    /// How far it is from there to the neighbour above.
    part: Part,
}

/// A share of the distance between two neighbours.
enum Part {
    /// None: the value below is the quantile.
    Zero,
    /// Half, as the median has it: `(a + b) / 2`.
    Half,
    /// This share of it.
    Share(f64),
}

impl Rank {
    pub(crate) fn of(count: usize, q: f64) -> Option<Self> {
        if count == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let last = count - 1;
        if q == 0.5 {
            let part = if last.is_multiple_of(2) { Part::Zero } else { Part::Half };
            return Some(Self { below: last / 2, part });
        }
        let rank = last as f64 * q;
        let below = rank.floor();
        Some(Self { below: below as usize, part: Part::Share(rank - below) })
    }

    fn between(&self, lo: f64, hi: f64) -> f64 {
        match self.part {
            Part::Zero => lo,
            Part::Half => (lo + hi) / 2.0,
            Part::Share(share) => (lo + (hi - lo) * share).clamp(lo, hi),
        }
    }
}

#[cfg(test)]
mod tests;
