//! Quantiles against tables, against exact rational arithmetic, and by their properties.

use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;

use super::*;

#[test]
fn tables() {
    let cases: [(&[f64], f64, Option<f64>); 10] = [
        (&[], 0.5, None),
        (&[7.0], 0.0, Some(7.0)),
        (&[7.0], 0.99, Some(7.0)),
        (&[1.0, 2.0], 0.5, Some(1.5)),
        (&[5.0, 1.0, 3.0], 0.5, Some(3.0)),
        (&[10.0, 20.0, 30.0, 40.0, 50.0], 0.9, Some(46.0)),
        (&[10.0, 20.0], 1.0, Some(20.0)),
        (&[10.0, 20.0], -0.1, None),
        (&[10.0, 20.0], 1.1, None),
        (&[10.0, 20.0], f64::NAN, None),
    ];
    for (samples, q, expected) in cases {
        assert_eq!(quantile(samples, q), expected, "{samples:?} at {q}");
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        assert_eq!(sorted_quantile(&sorted, q), expected, "{samples:?} at {q}");
    }
}

#[test]
fn the_p95_of_ten_is_not_the_maximum() {
    let samples: Vec<f64> = (1..=10).map(f64::from).collect();
    assert_eq!(quantile(&samples, 0.95), Some(9.549999999999999));
}

#[test]
fn rounding_does_not_leave_the_neighbours() {
    // 0.1 + (0.7 − 0.1) is 0.7 only up to rounding.
    let samples = [0.1, 0.7, 0.7, 0.7];
    for q in [0.2, 0.3333333333333333, 0.4, 0.9999999999999999, 1.0] {
        let value = quantile(&samples, q).unwrap();
        assert!((0.1..=0.7).contains(&value), "{value} at {q}");
    }
}

/// Type 7 of sorted samples without rounding, from the rank as it is computed, and the neighbour
/// above. The rank itself is the one rounded product `(n − 1)·q`.
fn exact(sorted: &[f64], q: f64) -> (BigRational, f64) {
    let rational = |x: f64| BigRational::from_float(x).unwrap();
    let rank = (sorted.len() - 1) as f64 * q;
    let below = rank.floor() as usize;
    let (lo, hi) = (sorted[below], sorted[(below + 1).min(sorted.len() - 1)]);
    let share = rational(rank) - rational(rank.floor());
    (rational(lo) + (rational(hi) - rational(lo)) * share, hi)
}

/// How far `value` is from `exact`, in halves of the distance from `near` to the float above it.
fn half_units(value: f64, exact: &BigRational, near: f64) -> BigRational {
    let rational = |x: f64| BigRational::from_float(x).unwrap();
    let off = rational(value) - exact;
    let off = if off < BigRational::from_integer(BigInt::from(0)) { -off } else { off };
    off * BigRational::from_integer(BigInt::from(2)) / rational(near.next_up() - near)
}

/// Milliseconds with three decimals, as records hold them.
fn samples() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((0_u64..1_000_000_000).prop_map(|us| us as f64 / 1000.0), 1..200)
}

proptest! {
    #[test]
    fn agrees_with_exact_arithmetic(mut samples in samples(), q in 0.0..=1.0) {
        let value = quantile(&samples, q).unwrap();
        samples.sort_unstable_by(f64::total_cmp);
        let (exact, hi) = exact(&samples, q);
        // Difference, product and sum are rounded once each, by at most half a unit of `hi`.
        prop_assert!(half_units(value, &exact, hi) <= BigRational::from_integer(BigInt::from(3)));
    }

    #[test]
    fn the_median_is_rounded_once(mut samples in samples()) {
        let value = median(&samples).unwrap();
        samples.sort_unstable_by(f64::total_cmp);
        let (exact, _) = exact(&samples, 0.5);
        let half_unit = BigRational::from_integer(BigInt::from(1));
        prop_assert!(half_units(value, &exact, value) <= half_unit);
    }

    #[test]
    fn order_does_not_matter(samples in samples(), q in 0.0..=1.0) {
        let mut sorted = samples.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let value = quantile(&samples, q).map(f64::to_bits);
        prop_assert_eq!(value, sorted_quantile(&sorted, q).map(f64::to_bits));
        sorted.reverse();
        prop_assert_eq!(value, quantile(&sorted, q).map(f64::to_bits));
    }

    #[test]
    fn quantiles_rise_with_their_rank(samples in samples(), a in 0.0..=1.0, b in 0.0..=1.0) {
        let max = samples.iter().copied().max_by(f64::total_cmp);
        prop_assert!(median(&samples) <= quantile(&samples, 0.95));
        prop_assert!(quantile(&samples, 0.95) <= max);
        prop_assert!(quantile(&samples, f64::min(a, b)) <= quantile(&samples, f64::max(a, b)));
    }
}
