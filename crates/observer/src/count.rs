//! Counts, read exactly from the text of a JSON number.

/// Largest count: that of a signed 64-bit integer.
pub(crate) const MAX: u64 = i64::MAX as u64;

/// The count that a JSON number stands for: a number without fraction, however it is written, from
/// 0 to 2^63 − 1. `None` for any other number.
pub(crate) fn count(number: &str) -> Option<u64> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    if whole == "0" && fraction.is_empty() {
        return Some(0);
    }
    if negative {
        return None;
    }
    // Too many digits for i64 is an exponent that no count has.
    let exponent = exponent.parse::<i64>().ok()?;
    let shift = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let mut value = 0_u64;
    let mut digits = whole.bytes().chain(fraction.bytes());
    let dropped = usize::try_from(shift.min(0).unsigned_abs()).ok()?;
    let kept = (whole.len() + fraction.len()).checked_sub(dropped)?;
    for digit in digits.by_ref().take(kept) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    if digits.any(|digit| digit != b'0') {
        return None;
    }
    for _ in 0..shift {
        value = value.checked_mul(10)?;
    }
    (value <= MAX).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn only_whole_numbers_are_counts() {
        for (number, expected) in [
            ("0", Some(0)),
            ("12", Some(12)),
            ("12.0", Some(12)),
            ("1.2e1", Some(12)),
            ("12E+0", Some(12)),
            ("1200e-2", Some(12)),
            ("0.12e2", Some(12)),
            ("7.5", None),
            ("75e-1", None),
            ("1e-1", None),
            ("0.5", None),
            ("-1", None),
            ("-0", Some(0)),
            ("-0.00e7", Some(0)),
            ("0e99999999999999999999", Some(0)),
            ("1e99999999999999999999", None),
            ("1e-99999999999999999999", None),
            ("1e-9223372036854775807", None),
            ("1e18", Some(1_000_000_000_000_000_000)),
            ("1e19", None),
            ("9007199254740993", Some(9_007_199_254_740_993)),
            ("9007199254740993.0", Some(9_007_199_254_740_993)),
            ("9.007199254740993e15", Some(9_007_199_254_740_993)),
            ("9223372036854775807", Some(9_223_372_036_854_775_807)),
            ("9223372036854775808", None),
            ("18446744073709551616", None),
        ] {
            assert_eq!(count(number), expected, "{number}");
        }
    }
}
