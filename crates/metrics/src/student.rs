//! Student's t distribution, central and not: the tails that intervals, tests and plans need.
//!
//! The central one is `statrs`'s. The noncentral one is integrated here over the spread that a few
//! values show, with more panels than double precision can tell apart.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::gamma::ln_gamma;

/// Panels of Simpson's rule; even.
const PANELS: u32 = 1_000;

/// The `t` beyond which `tail` of the distribution lies. `degrees` is above 0, `tail` in 0 to 0.5.
pub(crate) fn t_beyond(tail: f64, degrees: f64) -> f64 {
    // The lower tail, because `1 − tail` would lose digits.
    -central(degrees).inverse_cdf(tail)
}

/// The chance of a value at least as far from 0 as `t`, on either side.
pub(crate) fn two_sided(t: f64, degrees: f64) -> f64 {
    (2.0 * central(degrees).sf(t.abs())).min(1.0)
}

fn central(degrees: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees).expect("degrees of freedom come from counts and are positive")
}

/// The chance that the noncentral t of `degrees` and `noncentrality` lies beyond `t`.
///
/// It is the chance that a normal value with mean `noncentrality` lies beyond `t · s`, averaged over
/// the standard deviation `s` that so many values show of a true one of 1.
pub(crate) fn noncentral_beyond(t: f64, degrees: f64, noncentrality: f64) -> f64 {
    let normal = Normal::standard();
    let half = degrees / 2.0;
    let ln_scale = std::f64::consts::LN_2 + half * half.ln() - ln_gamma(half);
    let density = |s: f64| {
        let ln = ln_scale + (degrees - 1.0) * s.ln() - half * s * s;
        if s > 0.0 { ln.exp() } else { 0.0 }
    };
    let beyond = |s: f64| density(s) * normal.sf(t * s - noncentrality);
    // `s` has a standard deviation of about 1/√(2·degrees); ten of them leave nothing beyond.
    let reach = 10.0 / (2.0 * degrees).sqrt();
    simpson(beyond, (1.0 - reach).max(0.0), 1.0 + reach)
}

fn simpson(f: impl Fn(f64) -> f64, from: f64, to: f64) -> f64 {
    let width = (to - from) / f64::from(PANELS);
    let inner = (1..PANELS).map(|panel| {
        let weight = if panel % 2 == 1 { 4.0 } else { 2.0 };
        weight * f(from + width * f64::from(panel))
    });
    (f(from) + f(to) + inner.sum::<f64>()) * width / 3.0
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    /// Of 1, 2 and 4 degrees of freedom the inverse has a closed form.
    #[test]
    fn quantiles_agree_with_closed_forms() {
        for tail in [0.25_f64, 0.1, 0.025, 0.0025, 0.05 / 60.0, 0.000_25] {
            let a = 4.0 * tail * (1.0 - tail);
            let q = (a.sqrt().acos() / 3.0).cos() / a.sqrt();
            let expected = [
                (1.0, (PI * (0.5 - tail)).tan()),
                (2.0, 2.0 * (0.5 - tail) * (2.0 / a).sqrt()),
                (4.0, 2.0 * (q - 1.0).sqrt()),
            ];
            for (degrees, t) in expected {
                let found = t_beyond(tail, degrees);
                assert!((found / t - 1.0).abs() < 1e-12, "{degrees} {tail}: {found} for {t}");
            }
        }
    }

    /// NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2.
    #[test]
    fn quantiles_agree_with_a_printed_table() {
        let rows = [
            (3.0, [1.638, 2.353, 3.182, 4.541, 5.841, 10.215]),
            (5.0, [1.476, 2.015, 2.571, 3.365, 4.032, 5.894]),
            (9.0, [1.383, 1.833, 2.262, 2.821, 3.250, 4.297]),
            (12.0, [1.356, 1.782, 2.179, 2.681, 3.055, 3.930]),
            (30.0, [1.310, 1.697, 2.042, 2.457, 2.750, 3.385]),
            (100.0, [1.290, 1.660, 1.984, 2.364, 2.626, 3.174]),
        ];
        for (degrees, row) in rows {
            for (tail, expected) in [0.1, 0.05, 0.025, 0.01, 0.005, 0.001].into_iter().zip(row) {
                let found = t_beyond(tail, degrees);
                // The table cuts some digits instead of rounding them.
                assert!((found - expected).abs() < 0.0011, "{degrees} {tail}: {found}");
            }
        }
    }

    #[test]
    fn both_tails() {
        for degrees in [1.0, 2.7, 9.0, 400.0] {
            for tail in [0.4, 0.025, 1e-6] {
                let p = two_sided(-t_beyond(tail, degrees), degrees);
                assert!((p / (2.0 * tail) - 1.0).abs() < 1e-9, "{degrees} {tail}: {p}");
            }
            assert_eq!(two_sided(0.0, degrees), 1.0);
        }
    }

    #[test]
    fn without_noncentrality_it_is_the_central_one() {
        for degrees in [2.0, 3.0, 9.0, 60.0, 1_000.0] {
            for tail in [0.3, 0.025, 0.0005] {
                let found = noncentral_beyond(t_beyond(tail, degrees), degrees, 0.0);
                assert!((found - tail).abs() < 1e-9, "{degrees} {tail}: {found}");
            }
        }
    }

    /// The power of a two-sample t test as R's manual of `power.t.test` prints it: 20 in each group
    /// and a difference of one standard deviation have power 0.8689528; and a power of 0.9 takes
    /// 22.02110 in each group.
    #[test]
    fn powers_of_a_named_source() {
        for (group, power) in [(20.0_f64, 0.868_952_8), (22.021_10, 0.9)] {
            let degrees = 2.0 * (group - 1.0);
            let found = noncentral_beyond(t_beyond(0.025, degrees), degrees, (group / 2.0).sqrt());
            assert!((found - power).abs() < 1e-6, "{group}: {found}");
        }
    }
}
