//! Numbers for people: three digits, separated thousands, and a dash where there is none.

/// Digits that a report shows of a figure.
const DIGITS: usize = 3;
/// Powers of ten whose digits a reader can still take in; what lies beyond has an exponent.
const PLAIN: std::ops::Range<i32> = -6..15;
/// What stands where there is no figure.
pub(crate) const NONE: &str = "—";

/// A figure with three significant digits, or all digits before the point, and separated thousands;
/// a dash when there is none.
pub(crate) fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), known)
}

/// A figure that is there.
pub(crate) fn known(value: f64) -> String {
    // Rounding may add a digit before the point, so it comes first.
    let rounded = format!("{value:.*e}", DIGITS - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    if value == 0.0 {
        return "0".to_owned();
    }
    if !PLAIN.contains(&exponent) {
        return rounded.replace('-', "−");
    }
    let decimals = usize::try_from(DIGITS as i32 - 1 - exponent).unwrap_or(0);
    separated(&format!("{value:.decimals$}"))
}

/// A figure without the zeros that end it, for the ticks of an axis.
pub(crate) fn tick(value: f64) -> String {
    let text = known(value);
    match text.split_once('.') {
        Some((whole, part)) if !text.contains('e') => match part.trim_end_matches('0') {
            "" => whole.to_owned(),
            part => format!("{whole}.{part}"),
        },
        _ => text,
    }
}

/// A count with separated thousands.
pub(crate) fn count(value: u64) -> String {
    separated(&value.to_string())
}

/// A share, 0 to 1, in percent.
pub(crate) fn share(value: f64) -> String {
    format!("{} %", tick(value * 100.0))
}

/// A change in percent with its sign and two decimals, without the unit.
pub(crate) fn change(value: f64) -> String {
    let text = if value.abs() < 1e6 { format!("{value:+.2}") } else { format!("{value:+.2e}") };
    text.replace('-', "−")
}

/// A p-value; one too small to be told from 0 is said to be small.
pub(crate) fn p_value(value: Option<f64>) -> String {
    match value {
        None => NONE.to_owned(),
        Some(value) if value < 0.0001 => "< 0.0001".to_owned(),
        Some(value) => format!("{value:.4}"),
    }
}

/// So many of so many.
pub(crate) fn of(part: u64, whole: u64) -> String {
    format!("{} of {}", count(part), count(whole))
}

fn separated(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("−", digits));
    let (whole, part) = digits.split_once('.').map_or((digits, None), |(w, p)| (w, Some(p)));
    let mut out = sign.to_owned();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(part) = part {
        out.push('.');
        out.push_str(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_digits() {
        for (value, expected) in [
            (None, "—"),
            (Some(0.0), "0"),
            (Some(-0.0), "0"),
            (Some(0.123_456), "0.123"),
            (Some(9.997), "10.0"),
            (Some(99.98), "100"),
            (Some(999.96), "1,000"),
            (Some(-14_939.953), "−14,940"),
            (Some(2.5), "2.50"),
            (Some(0.000_004_56), "0.00000456"),
            (Some(4.56e-7), "4.56e−7"),
            (Some(f64::MAX), "1.80e308"),
        ] {
            assert_eq!(figure(value), expected);
        }
    }

    #[test]
    fn ticks_end_without_zeros_and_shares_are_in_percent() {
        for (value, expected) in
            [(0.0, "0"), (2.5, "2.5"), (200.0, "200"), (1000.0, "1,000"), (0.05, "0.05")]
        {
            assert_eq!(tick(value), expected);
        }
        assert_eq!([share(1.0), share(0.025), share(0.333_33)], ["100 %", "2.5 %", "33.3 %"]);
        assert_eq!([change(-5.1908), change(0.0), change(1e9)], ["−5.19", "+0.00", "+1.00e9"]);
        assert_eq!([p_value(None), p_value(Some(1e-9))], ["—", "< 0.0001"]);
        assert_eq!(of(60, 1064), "60 of 1,064");
    }
}
