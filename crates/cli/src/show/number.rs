//! Numbers for people: as many digits as a measurement can bear.

/// A figure with about four significant digits and separated thousands; `–` when there is none.
pub(crate) fn figure(value: Option<f64>) -> String {
    let Some(value) = value else { return "–".to_owned() };
    let decimals = match value.abs() {
        size if size >= 1000.0 || size == 0.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 1.0 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some(_) => text,
        None => separated(&text),
    }
}

/// A count with separated thousands.
pub(crate) fn count(value: u64) -> String {
    separated(&value.to_string())
}

/// A change in percent with its sign.
pub(crate) fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:+.2} %"))
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
            (Some(0.12345), "0.1235"),
            (Some(2.5), "2.500"),
            (Some(21.182677917950876), "21.18"),
            (Some(496.0971620002965), "496.1"),
            (Some(14939.95374699989), "14,940"),
            (Some(1234567.0), "1,234,567"),
        ] {
            assert_eq!(figure(value), expected);
        }
        assert_eq!(count(1000), "1,000");
        assert_eq!(percent(Some(-5.190841829382952)), "-5.19 %");
    }
}
