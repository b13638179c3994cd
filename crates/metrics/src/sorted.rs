//! Samples in rising order, wherever they lie: figures need their number and single ones by rank.

/// Samples in rising order, by `total_cmp`.
pub(crate) trait Sorted {
    /// How many.
    fn count(&self) -> usize;

    /// The one that so many are below; `None` beyond the last.
    fn at(&self, place: usize) -> Option<f64>;
}

impl Sorted for [f64] {
    fn count(&self) -> usize {
        self.len()
    }

    fn at(&self, place: usize) -> Option<f64> {
        self.get(place).copied()
    }
}

/// Sorted spans of time, given as milliseconds. A run can have tens of millions of them, and nearly
/// all fit into four bytes.
#[derive(Debug, Default)]
pub(crate) struct SortedMicros {
    short_us: Vec<u32>,
    long_us: Vec<u64>,
}

impl FromIterator<u64> for SortedMicros {
    fn from_iter<I: IntoIterator<Item = u64>>(us: I) -> Self {
        let mut sorted = Self::default();
        for us in us {
            match u32::try_from(us) {
                Ok(us) => sorted.short_us.push(us),
                Err(_) => sorted.long_us.push(us),
            }
        }
        sorted.short_us.sort_unstable();
        sorted.long_us.sort_unstable();
        sorted
    }
}

impl From<Vec<u32>> for SortedMicros {
    fn from(mut short_us: Vec<u32>) -> Self {
        short_us.sort_unstable();
        Self { short_us, long_us: Vec::new() }
    }
}

impl Sorted for SortedMicros {
    fn count(&self) -> usize {
        self.short_us.len() + self.long_us.len()
    }

    fn at(&self, place: usize) -> Option<f64> {
        let us = match place.checked_sub(self.short_us.len()) {
            None => u64::from(*self.short_us.get(place)?),
            Some(place) => *self.long_us.get(place)?,
        };
        Some(us as f64 / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_spans_follow_short_ones() {
        let most = u64::from(u32::MAX);
        let sorted: SortedMicros = [most + 1, 7, u64::MAX, most, 0].into_iter().collect();
        let values: Vec<f64> = (0..6).map_while(|place| sorted.at(place)).collect();
        let expected = [0, 7, most, most + 1, u64::MAX].map(|us| us as f64 / 1000.0);
        assert_eq!(values, expected);
        assert_eq!(sorted.count(), 5);
    }
}
