//! Quantiles against tables.

use super::*;

#[test]
fn tables() {
    let cases: [(&[f64], f64, Option<f64>); 9] = [
        (&[], 0.5, None),
        (&[7.0], 0.0, Some(7.0)),
        (&[7.0], 0.99, Some(7.0)),
        (&[1.0, 2.0], 0.5, Some(1.5)),
        (&[5.0, 1.0, 3.0], 0.5, Some(3.0)),
        (&[10.0, 20.0, 30.0, 40.0, 50.0], 0.9, Some(46.0)),
        (&[10.0, 20.0], 1.0, Some(20.0)),
        (&[10.0, 20.0], -0.1, None),
        (&[10.0, 20.0], f64::NAN, None),
    ];
    for (samples, q, expected) in cases {
        assert_eq!(quantile(samples, q), expected, "{samples:?} at {q}");
    }
}
