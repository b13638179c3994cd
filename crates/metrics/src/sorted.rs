//! Samples in rising order, wherever they lie: figures need their number, their sums, and single
//! ones by rank.

use crate::statistic::sums_of_sorted;

/// Samples in rising order, by `total_cmp`.
pub(crate) trait Sorted {
    /// How many.
    fn count(&self) -> usize;

    /// The one that so many are below; `None` beyond the last.
    fn at(&self, place: usize) -> Option<f64>;

    /// What all of them together give.
    fn sums(&self) -> Sums;
}

/// What all samples together give; of none nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    pub(crate) mean: f64,
    /// The sample standard deviation; `None` of fewer than two.
    pub(crate) stddev: Option<f64>,
}

/// From the sum of the squared distances from the mean.
pub(crate) fn stddev_of(squares: f64, count: usize) -> Option<f64> {
    (count > 1).then(|| (squares / (count - 1) as f64).sqrt())
}

impl Sorted for [f64] {
    fn count(&self) -> usize {
        self.len()
    }

    fn at(&self, place: usize) -> Option<f64> {
        self.get(place).copied()
    }

    fn sums(&self) -> Sums {
        sums_of_sorted(self)
    }
}

impl Sorted for Vec<f64> {
    fn count(&self) -> usize {
        self.len()
    }

    fn at(&self, place: usize) -> Option<f64> {
        self.as_slice().at(place)
    }

    fn sums(&self) -> Sums {
        self.as_slice().sums()
    }
}

/// Samples that each stand so many times, as the tokens of one event do.
#[derive(Debug)]
pub(crate) struct Weighted {
    /// Rising, each with the number of samples up to it and with it.
    values: Vec<(f64, u64)>,
    sums: Sums,
}

impl Weighted {
    /// Of values with their numbers, in any order.
    pub(crate) fn new(mut values: Vec<(f64, u64)>) -> Self {
        values.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let count: u64 = values.iter().map(|(_, times)| times).sum();
        let sum: f64 = values.iter().map(|(value, times)| value * *times as f64).sum();
        let mean = if count == 0 { 0.0 } else { sum / count as f64 };
        let squared = |(value, times): &(f64, u64)| (value - mean) * (value - mean) * *times as f64;
        let stddev = stddev_of(values.iter().map(squared).sum(), count as usize);
        let mut up_to = 0;
        for (_, times) in &mut values {
            up_to += *times;
            *times = up_to;
        }
        Self { values, sums: Sums { mean, stddev } }
    }
}

impl Sorted for Weighted {
    fn count(&self) -> usize {
        self.values.last().map_or(0, |(_, up_to)| *up_to as usize)
    }

    fn at(&self, place: usize) -> Option<f64> {
        let holds = self.values.partition_point(|(_, up_to)| *up_to <= place as u64);
        self.values.get(holds).map(|(value, _)| *value)
    }

    fn sums(&self) -> Sums {
        self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistic::Statistic;

    #[test]
    fn weights_are_repetitions() {
        let weighted = Weighted::new(vec![(4.0, 1), (1.0, 3), (2.0, 2)]);
        let plain = [1.0, 1.0, 1.0, 2.0, 2.0, 4.0];
        let values: Vec<f64> = (0..9).map_while(|place| weighted.at(place)).collect();
        assert_eq!((values.as_slice(), weighted.count()), (&plain[..], 6));
        for statistic in Statistic::ALL {
            assert_eq!(statistic.of(&weighted), statistic.of_sorted(&plain), "{statistic:?}");
        }
        assert_eq!(Statistic::Mean.of(&Weighted::new(Vec::new())), None);
    }
}
