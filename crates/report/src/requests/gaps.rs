//! How many chunk intervals are how long, in classes that grow with the interval.

/// Classes to a factor of ten: neighbours differ by 1.2 percent.
const PER_DECADE: usize = 200;
/// From a microsecond to 10,000 seconds; what is longer is in the last class.
const CLASSES: usize = 10 * PER_DECADE + 1;

/// Counts of intervals.
#[derive(Clone, Debug)]
pub(crate) struct Gaps {
    /// Intervals of 0: events that one read completed.
    pub(crate) zero: u64,
    counts: Vec<u64>,
}

/// Intervals from one length to another, its end left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Class {
    pub(crate) from_us: f64,
    pub(crate) to_us: f64,
    pub(crate) count: u64,
}

impl Default for Gaps {
    fn default() -> Self {
        Self { zero: 0, counts: vec![0; CLASSES] }
    }
}

impl Gaps {
    pub(crate) fn add(&mut self, gap_us: u64) {
        match gap_us {
            0 => self.zero += 1,
            us => {
                let class = ((us as f64).log10() * PER_DECADE as f64) as usize;
                self.counts[class.min(CLASSES - 1)] += 1;
            }
        }
    }

    /// All intervals, those of 0 too.
    pub(crate) fn total(&self) -> u64 {
        self.zero + self.counts.iter().sum::<u64>()
    }

    /// From the first class with an interval to the last, as many to a class as leave at most `most`.
    pub(crate) fn classes(&self, most: usize) -> Vec<Class> {
        let Some(first) = self.counts.iter().position(|count| *count > 0) else {
            return Vec::new();
        };
        let last = self.counts.iter().rposition(|count| *count > 0).unwrap_or(first);
        let width = (last - first + 1).div_ceil(most.max(1));
        let bound = |class: usize| 10_f64.powf(class as f64 / PER_DECADE as f64);
        (first..=last)
            .step_by(width)
            .map(|from| Class {
                from_us: bound(from),
                to_us: bound(from + width),
                count: self.counts[from..].iter().take(width).sum(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interval_is_in_one_class() {
        let mut gaps = Gaps::default();
        for gap_us in [0, 0, 1, 9_990, 10_000, 10_010, 20_000, u64::MAX] {
            gaps.add(gap_us);
        }
        assert_eq!((gaps.zero, gaps.total()), (2, 8));
        for most in [1, 7, 60, 5000] {
            let classes = gaps.classes(most);
            assert!(classes.len() <= most, "{most}");
            assert_eq!(classes.iter().map(|class| class.count).sum::<u64>(), 6);
            assert!(classes.iter().all(|class| class.from_us < class.to_us));
        }
        assert_eq!(Gaps::default().classes(60), []);
    }
}
