//! Numbers for people: as many digits as a measurement can bear.

/// Digits that a measurement bears.
const DIGITS: usize = 4;
/// Digits that a look at a run under way needs.
const ROUGH_DIGITS: usize = 3;
/// What is larger is no figure of a measurement; its digits would only fill the line.
const LARGEST: f64 = 1e15;

/// Powers of ten whose digits a reader can still take in; what lies beyond has an exponent.
const PLAIN: std::ops::Range<i32> = -6..15;

/// A figure with four significant digits, or all digits before the point, and separated thousands;
/// `–` when there is none.
pub(crate) fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| with_digits(value, DIGITS))
}

/// A figure with three significant digits: for a look while more is to come.
pub(crate) fn rough(value: f64) -> String {
    with_digits(value, ROUGH_DIGITS)
}

fn with_digits(value: f64, digits: usize) -> String {
    if value.abs() >= LARGEST {
        return format!("{value:.*e}", digits - 1);
    }
    // Rounding may add a digit before the point, so it comes first.
    let rounded = format!("{value:.*e}", digits - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    if !PLAIN.contains(&exponent) {
        return rounded;
    }
    let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
    let text = format!("{value:.*}", if value == 0.0 { 0 } else { decimals.min(digits + 2) });
    if text.contains('.') { text } else { separated(&text) }
}

/// A count with separated thousands.
pub(crate) fn count(value: u64) -> String {
    separated(&value.to_string())
}

/// A change in percent with its sign.
pub(crate) fn percent(value: Option<f64>) -> String {
    let shown = |value: f64| {
        if value.abs() < 1e15 { format!("{value:+.2} %") } else { format!("{value:+.3e} %") }
    };
    value.map_or_else(|| "–".to_owned(), shown)
}

fn separated(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let mut out = sign.to_owned();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_four_digits() {
        for (value, expected) in [
            (None, "–"),
            (Some(0.0), "0"),
            (Some(0.123456), "0.1235"),
            (Some(9.9997), "10.00"),
            (Some(99.998), "100.0"),
            (Some(999.96), "1,000"),
            (Some(0.000123456), "0.000123"),
            (Some(2.5), "2.500"),
            (Some(21.182677917950876), "21.18"),
            (Some(496.0971620002965), "496.1"),
            (Some(14939.95374699989), "14,940"),
            (Some(1234567.0), "1,234,567"),
            (Some(f64::MAX), "1.798e308"),
            (Some(999_400_000_000_000.0), "999,400,000,000,000"),
            (Some(999_960_000_000_000.0), "1.000e15"),
            (Some(1e300), "1.000e300"),
            (Some(-f64::MAX), "-1.798e308"),
            (Some(0.00000456), "0.000005"),
            (Some(4.56e-7), "4.560e-7"),
            (Some(5e-324), "4.941e-324"),
        ] {
            assert_eq!(figure(value), expected);
        }
        for (value, expected) in [(200.06, "200"), (10.04, "10.0"), (0.0, "0"), (5_999.9, "6,000")]
        {
            assert_eq!(rough(value), expected);
        }
        assert_eq!(percent(Some(1e300)), "+1.000e300 %");
        assert_eq!(count(1000), "1,000");
        assert_eq!(percent(Some(-5.190841829382952)), "-5.19 %");
    }
}
