//! What is taken of many values to make one figure.

use crate::quantile::quantile_of;
use crate::sorted::{Sorted, Sums, stddev_of};

/// A statistic of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The greatest.
    Max,
    /// The sum divided by the number.
    Mean,
    /// The least.
    Min,
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The sample standard deviation, which divides by one less than the number.
    StandardDeviation,
}

impl Statistic {
    /// All of them, in the order of a record.
    pub const ALL: [Self; 8] = [
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::Mean,
        Self::StandardDeviation,
        Self::Min,
        Self::Max,
    ];

    /// Its value for samples sorted by `total_cmp`; `None` when there are none, and of one sample no
    /// standard deviation.
    ///
    /// ```
    /// use streamgauge_metrics::Statistic;
    /// assert_eq!(Statistic::P50.of_sorted(&[1.0, 2.0, 6.0]), Some(2.0));
    /// assert_eq!(Statistic::Mean.of_sorted(&[1.0, 2.0, 6.0]), Some(3.0));
    /// assert_eq!(Statistic::StandardDeviation.of_sorted(&[1.0, 3.0, 5.0]), Some(2.0));
    /// assert_eq!(Statistic::StandardDeviation.of_sorted(&[1.0]), None);
    /// ```
    #[must_use]
    pub fn of_sorted(self, sorted: &[f64]) -> Option<f64> {
        self.of(sorted)
    }

    /// Its value for samples, wherever they lie.
    pub(crate) fn of(self, samples: &(impl Sorted + ?Sized)) -> Option<f64> {
        let last = samples.count().checked_sub(1)?;
        match self {
            Self::Max => samples.at(last),
            Self::Mean => Some(samples.sums().mean),
            Self::Min => samples.at(0),
            Self::P50 | Self::P90 | Self::P95 | Self::P99 => quantile_of(samples, self.quantile()?),
            Self::StandardDeviation => samples.sums().stddev,
        }
    }

    /// The quantile that it is, 0 to 1; `None` for what is none. The extremes are none either: of a
    /// sample they say nothing about what it is taken from.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.9),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
            Self::Max | Self::Mean | Self::Min | Self::StandardDeviation => None,
        }
    }

    /// Its word in the id of a metric.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::StandardDeviation => "stddev",
        }
    }

    /// Its name at the end of a label.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::P50 => "median",
            Self::StandardDeviation => "standard deviation",
            _ => self.word(),
        }
    }

    /// Its name at the beginning of a definition.
    pub(crate) fn phrase(self) -> &'static str {
        match self {
            Self::Max => "Maximum",
            Self::Mean => "Mean",
            Self::Min => "Minimum",
            Self::P50 => "Median",
            Self::P90 => "90th percentile",
            Self::P95 => "95th percentile",
            Self::P99 => "99th percentile",
            Self::StandardDeviation => "Sample standard deviation",
        }
    }
}

/// Summing from the least up makes sums independent of the order of arrival. Rounding may carry a
/// mean past the extremes by a bit, which no mean is.
pub(crate) fn sums_of_sorted(sorted: &[f64]) -> Sums {
    let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else { return Sums::default() };
    let mean = (sorted.iter().sum::<f64>() / sorted.len() as f64).clamp(*least, *most);
    let squares = sorted.iter().map(|value| (value - mean) * (value - mean)).sum();
    Sums { mean, stddev: stddev_of(squares, sorted.len()) }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use proptest::prelude::*;

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

    /// NIST/SEMATECH, Statistical Reference Datasets: NumAcc1 and NumAcc2 as certified; the others by
    /// hand.
    #[test]
    fn standard_deviations() {
        let num_acc_2: Vec<f64> =
            (0..1_001).map(|n| [1.2, 1.1, 1.3][(n > 0) as usize * (1 + n % 2)]).collect();
        let cases: [(Vec<f64>, Option<f64>); 6] = [
            (vec![], None),
            (vec![7.0], None),
            (vec![7.0, 7.0, 7.0], Some(0.0)),
            (vec![10_000_001.0, 10_000_002.0, 10_000_003.0], Some(1.0)),
            (num_acc_2, Some(0.1)),
            (vec![2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], Some((32.0_f64 / 7.0).sqrt())),
        ];
        for (mut values, expected) in cases {
            values.sort_unstable_by(f64::total_cmp);
            let found = Statistic::StandardDeviation.of_sorted(&values);
            let off = found.zip(expected).map_or(0.0, |(found, expected)| found - expected);
            assert!(found.is_some() == expected.is_some() && off.abs() < 1e-14, "{found:?}");
        }
    }

    #[test]
    fn extremes() {
        let values = [-1.0, 2.0, 6.0];
        assert_eq!(Statistic::Min.of_sorted(&values), Some(-1.0));
        assert_eq!(Statistic::Max.of_sorted(&values), Some(6.0));
        assert_eq!(Statistic::Max.of_sorted(&[]), None);
    }

    proptest! {
        #[test]
        fn they_lie_in_order(mut values in prop::collection::vec(0.0..1e6_f64, 1..200)) {
            values.sort_unstable_by(f64::total_cmp);
            let of = |statistic: Statistic| statistic.of_sorted(&values).unwrap();
            use Statistic::{Max, Mean, Min, P50, P90, P95, P99};
            prop_assert!([Min, P50, P90, P95, P99, Max].map(of).is_sorted());
            prop_assert!((of(Min)..=of(Max)).contains(&of(Mean)));
        }

        #[test]
        fn the_variance_is_near_the_exact_one(mut values in prop::collection::vec(0_u32..1_000_000, 2..60)) {
            values.sort_unstable();
            let floats: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            let stddev = Statistic::StandardDeviation.of_sorted(&floats).unwrap();
            let whole = |number: u64| BigRational::from_integer(BigInt::from(number));
            let n = values.len() as u64;
            let sum = whole(values.iter().map(|value| u64::from(*value)).sum());
            let squares = values.iter().map(|value| u64::from(*value).pow(2)).sum();
            let exact = (whole(n) * whole(squares) - &sum * &sum) / whole(n * (n - 1));
            let square = BigRational::from_float(stddev).unwrap().pow(2);
            let room = &exact * BigRational::from_float(1e-13).unwrap();
            prop_assert!(square <= &exact + &room && square >= &exact - &room);
        }
    }
}
