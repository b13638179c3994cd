//! What is taken of many values to make one figure.

use crate::quantile::sorted_quantile;

/// A statistic of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The sum divided by the number.
    Mean,
    /// The median.
    P50,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
}

impl Statistic {
    /// Its value for samples sorted by `total_cmp`; `None` when there are none.
    ///
    /// ```
    /// use streamgauge_metrics::Statistic;
    /// assert_eq!(Statistic::P50.of_sorted(&[1.0, 2.0, 6.0]), Some(2.0));
    /// assert_eq!(Statistic::Mean.of_sorted(&[1.0, 2.0, 6.0]), Some(3.0));
    /// ```
    #[must_use]
    pub fn of_sorted(self, sorted: &[f64]) -> Option<f64> {
        match self.quantile() {
            Some(q) => sorted_quantile(sorted, q),
            None => mean_of_sorted(sorted),
        }
    }

    /// The quantile that it is, 0 to 1; `None` for the mean.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::P50 => Some(0.5),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
        }
    }

    /// Its name at the end of a label.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "median",
            Self::P95 => "p95",
            Self::P99 => "p99",
        }
    }

    /// Its name at the beginning of a definition.
    pub(crate) fn phrase(self) -> &'static str {
        match self {
            Self::Mean => "Mean",
            Self::P50 => "Median",
            Self::P95 => "95th percentile",
            Self::P99 => "99th percentile",
        }
    }
}

/// Summing from the least up makes the mean independent of the order of arrival. Rounding may carry
/// it past the extremes by a bit, which no mean is.
fn mean_of_sorted(sorted: &[f64]) -> Option<f64> {
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    Some(mean.clamp(least, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means() {
        let cases: [(&[f64], Option<f64>); 4] = [
            (&[], None),
            (&[2.0], Some(2.0)),
            (&[1.0, 2.0, 6.0], Some(3.0)),
            (&[0.1, 0.1, 0.1], Some(0.1)),
        ];
        for (sorted, expected) in cases {
            assert_eq!(Statistic::Mean.of_sorted(sorted), expected, "{sorted:?}");
        }
    }
}
