//! Exact tests of counts: Fisher's for two groups, McNemar's for pairs.
//!
//! `statrs` 0.19 has Fisher's test too, but its two-sided value is wrong for large tables (20,999 of
//! 24,576 against 20,500 of 24,576: it says 0.5, and it is 6·10⁻¹⁰), so the sum is done here.

use statrs::distribution::{Binomial, DiscreteCDF};
use streamgauge_schema::Tally;

/// Tables whose chance exceeds that of the one seen by no more than this share count as equally
/// rare: they differ by rounding alone.
const AS_RARE: f64 = 1e-9;
/// More requests than anybody counts; the sum takes steps in proportion to the root of this.
const MOST: u64 = 1_000_000_000_000;

/// Fisher's exact test, two-sided: the chance of a table at least as rare as this one if the two
/// groups had the same share and only chance divided them; 0 when that is less than the smallest
/// float. `None` when a group is empty, counts more than it has, or has more than 10^12.
///
/// ```
/// use streamgauge_metrics::fisher_exact;
/// use streamgauge_schema::Tally;
/// // Fisher's lady tasting tea: 3 of 4 right in one group, 1 of 4 in the other.
/// let p = fisher_exact(Tally { count: 3, of: 4 }, Tally { count: 1, of: 4 }).unwrap();
/// assert!((p - 34.0 / 70.0).abs() < 1e-15);
/// assert_eq!(fisher_exact(Tally { count: 0, of: 0 }, Tally { count: 1, of: 4 }), None);
/// ```
#[must_use]
pub fn fisher_exact(one: Tally, other: Tally) -> Option<f64> {
    let sound = |group: &Tally| (1..=MOST).contains(&group.of) && group.count <= group.of;
    if ![one, other].iter().all(sound) {
        return None;
    }
    let table = Table { groups: [one.of, other.of], counted: one.count + other.count };
    Some(table.as_rare_as(one.count))
}

/// All tables with these margins: which share of the counted fell into the first group is chance.
struct Table {
    groups: [u64; 2],
    counted: u64,
}

impl Table {
    /// Chances are taken relative to the most likely table, and by the ratio of neighbours, which
    /// is exact but for rounding.
    fn as_rare_as(&self, seen: u64) -> f64 {
        let mode = self.mode();
        let (mut all, mut rare) = (1.0, 0.0);
        let seen = self.weight(mode, seen) * (1.0 + AS_RARE);
        if seen >= 1.0 {
            rare = 1.0;
        }
        for end in [self.least(), self.most()] {
            for weight in self.from(mode, end) {
                all += weight;
                if weight <= seen {
                    rare += weight;
                }
            }
        }
        rare / all
    }

    /// The weight of one table; 0 where it is less than the smallest float.
    fn weight(&self, mode: u64, count: u64) -> f64 {
        let steps = mode.abs_diff(count);
        let on_the_way = self.from(mode, count).zip(1..=steps);
        let last = on_the_way.last().filter(|(_, step)| *step == steps);
        if steps == 0 { 1.0 } else { last.map_or(0.0, |(weight, _)| weight) }
    }

    fn least(&self) -> u64 {
        self.counted.saturating_sub(self.groups[1])
    }

    fn most(&self) -> u64 {
        self.counted.min(self.groups[0])
    }

    /// The most likely count of the first group.
    fn mode(&self) -> u64 {
        let [one, other] = self.groups.map(u128::from);
        let mode = (one + 1) * (u128::from(self.counted) + 1) / (one + other + 2);
        u64::try_from(mode).unwrap_or(u64::MAX).clamp(self.least(), self.most())
    }

    /// The weights of the tables after `mode` on the way to `end`, in units of the mode's; as far as
    /// they are more than 0.
    fn from(&self, mode: u64, end: u64) -> impl Iterator<Item = f64> {
        let steps = mode.abs_diff(end);
        (0..steps).scan(1.0, move |weight, step| {
            *weight *= if end > mode {
                self.ratio(mode + step)
            } else {
                1.0 / self.ratio(mode - step - 1)
            };
            Some(*weight).filter(|weight| *weight > 0.0)
        })
    }

    /// How much likelier `count + 1` is than `count`.
    fn ratio(&self, count: u64) -> f64 {
        let [one, other] = self.groups;
        let in_other = (other + count + 1 - self.counted) as f64;
        (one - count) as f64 * (self.counted - count) as f64 / ((count + 1) as f64 * in_other)
    }
}

/// McNemar's exact test, two-sided, of pairs of which `only_one` had it on one side alone and
/// `only_other` on the other alone; pairs that agree say nothing. 1 when no pair disagrees.
///
/// ```
/// use streamgauge_metrics::mcnemar_exact;
/// // 1 prompt answered right by the baseline alone, 9 by the candidate alone.
/// assert!((mcnemar_exact(1, 9) - 22.0 / 1024.0).abs() < 1e-15);
/// assert_eq!(mcnemar_exact(3, 3), 1.0);
/// ```
#[must_use]
pub fn mcnemar_exact(only_one: u64, only_other: u64) -> f64 {
    let pairs = only_one.saturating_add(only_other);
    let fewer = Binomial::new(0.5, pairs).expect("one half is a chance");
    (2.0 * fewer.cdf(only_one.min(only_other))).min(1.0)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use proptest::prelude::*;

    use super::*;

    fn binomial(n: u64, k: u64) -> BigInt {
        (0..k).fold(BigInt::from(1), |product, i| product * (n - i) / (i + 1))
    }

    /// Fisher's test without rounding.
    fn exact([a, b, c, d]: [u64; 4]) -> BigRational {
        let (one, other, counted) = (a + b, c + d, a + c);
        let ways = |k: u64| binomial(one, k) * binomial(other, counted - k);
        let seen = ways(a);
        let tables = counted.saturating_sub(other)..=counted.min(one);
        let rare: BigInt = tables.map(ways).filter(|ways| *ways <= seen).sum();
        BigRational::new(rare, binomial(one + other, counted))
    }

    fn close(found: f64, exact: &BigRational) -> bool {
        let rational = |x: f64| BigRational::from_float(x).unwrap();
        let off = rational(found) - exact;
        let off = if off < rational(0.0) { -off } else { off };
        off <= exact * rational(1e-12)
    }

    fn fisher([a, b, c, d]: [u64; 4]) -> f64 {
        fisher_exact(Tally { count: a, of: a + b }, Tally { count: c, of: c + d }).unwrap()
    }

    #[test]
    fn small_tables_agree_with_exact_arithmetic() {
        for a in 0..7 {
            for b in 0..7 {
                for c in 0..7 {
                    for d in 0..7 {
                        if a + b > 0 && c + d > 0 {
                            let table = [a, b, c, d];
                            assert!(close(fisher(table), &exact(table)), "{table:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn large_tables_agree_with_exact_arithmetic() {
        let tables = [[0, 640, 10, 630], [400, 0, 0, 500], [900, 100, 850, 150], [1, 9, 11, 3]];
        for table in tables {
            assert!(close(fisher(table), &exact(table)), "{table:?}: {}", fisher(table));
        }
    }

    /// Fisher's own examples, as R's manual of `fisher.test` has them: the tasting of tea, and
    /// convictions of dizygotic and monozygotic twins.
    #[test]
    fn published_values() {
        for (table, p) in [([3, 1, 1, 3], 0.4857), ([2, 15, 10, 3], 0.000_536_7)] {
            let found = fisher(table);
            assert!((found / p - 1.0).abs() < 1e-4, "{table:?}: {found}");
        }
    }

    #[test]
    fn no_test_of_nothing() {
        let full = Tally { count: 2, of: 2 };
        for (one, other) in [((0, 0), (1, 2)), ((3, 2), (1, 2)), ((1, 2), (1, 0))] {
            let [one, other] = [one, other].map(|(count, of)| Tally { count, of });
            assert_eq!(fisher_exact(one, other), None);
        }
        assert_eq!(fisher_exact(full, full), Some(1.0));
        let most = Tally { count: u64::MAX, of: u64::MAX };
        assert_eq!(fisher_exact(most, full), None);
        // A million requests of each side are nothing.
        let million = |count| Tally { count, of: 1_000_000 };
        assert_eq!(fisher_exact(million(0), million(1_000_000)), Some(0.0));
        assert!(fisher_exact(million(1_000), million(1_100)).unwrap() < 0.04);
        assert_eq!(fisher([3_577, 0, 0, 3_577]), 0.0, "less than the smallest float");
    }

    #[test]
    fn mcnemar_agrees_with_exact_arithmetic() {
        for n in 0..60_u64 {
            for fewer in 0..=n {
                let least = fewer.min(n - fewer);
                let ways: BigInt = (0..=least).map(|k| binomial(n, k)).sum();
                let p = BigRational::new(ways * 2, BigInt::from(2).pow(n as u32));
                let one = BigRational::from_integer(BigInt::from(1));
                let p = if p > one { one } else { p };
                assert!(close(mcnemar_exact(fewer, n - fewer), &p), "{fewer} of {n}");
            }
        }
    }

    proptest! {
        #[test]
        fn sides_do_not_matter(table in prop::array::uniform4(1_u64..5_000)) {
            let [a, b, c, d] = table;
            let p = fisher(table);
            prop_assert!((0.0..=1.0).contains(&p));
            for same in [[c, d, a, b], [b, a, d, c]] {
                prop_assert!((fisher(same) - p).abs() <= 1e-9 * p + 1e-300);
            }
            prop_assert_eq!(mcnemar_exact(a, b), mcnemar_exact(b, a));
        }
    }
}
