//! Texts that a comparison says, whatever the names in it are.

use streamgauge_schema::PublicText;

/// Longest published text, in characters.
const MAX_CHARS: usize = 240;

/// The text, cut where it is too long; or, where a name in it may not be published, that it is
/// withheld and why.
pub(crate) fn said(text: &str) -> PublicText {
    let cut: String = match text.char_indices().nth(MAX_CHARS) {
        None => text.to_owned(),
        Some(_) => text.chars().take(MAX_CHARS - 1).chain(['…']).collect(),
    };
    PublicText::new(cut).unwrap_or_else(|fault| {
        PublicText::new(format!("withheld: {fault}")).expect("faults are plain short texts")
    })
}

/// A change in percent with two decimals and its sign.
pub(super) fn percent(change: f64) -> String {
    if change.is_finite() { format!("{change:+.2} %") } else { "without bound".to_owned() }
}

/// The level of an interval in percent, with two decimals, or as many as tell it from 100.
///
/// ```
/// use streamgauge_metrics::level_in_percent;
/// assert_eq!(level_in_percent(1.0 - 0.05 / 3.0), "98.33 %");
/// assert_eq!(level_in_percent(1.0 - 0.00001 / 3.0), "99.9997 %");
/// ```
#[must_use]
pub fn level_in_percent(level: f64) -> String {
    /// Beyond these a number below 1 has no digits that tell it from 1.
    const MOST_DECIMALS: usize = 14;
    let with = |decimals| format!("{:.decimals$}", level * 100.0);
    let is_told = |text: &String| level >= 1.0 || !text.starts_with("100");
    let text = (2..MOST_DECIMALS).map(with).find(is_told).unwrap_or_else(|| with(MOST_DECIMALS));
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Names as a list.
pub(super) fn list<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    names.into_iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_two_decimals_or_what_tells_them_from_certainty() {
        let cases = [
            (0.95, "95 %"),
            (0.975, "97.5 %"),
            (1.0 - 0.05 / 6.0, "99.17 %"),
            (1.0 - 4e-5, "99.996 %"),
            (1.0 - 1e-9, "99.9999999 %"),
            (0.0, "0 %"),
            (1.0, "100 %"),
        ];
        for (given, expected) in cases {
            assert_eq!(level_in_percent(given), expected);
        }
    }

    #[test]
    fn any_text_can_be_said() {
        let cases = [
            ("plain", "plain".to_owned()),
            (&"é".repeat(240), "é".repeat(240)),
            (&"é".repeat(241), format!("{}…", "é".repeat(239))),
            (
                "run sk-abcdefghijklmnop1234",
                "withheld: a published text holds no credentials".to_owned(),
            ),
            ("", "withheld: a published text has 1 to 240 characters".to_owned()),
        ];
        for (text, expected) in cases {
            assert_eq!(said(text).as_str(), expected);
        }
    }
}
