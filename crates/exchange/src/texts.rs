//! Texts from files of others: what may be published, and what is shown of the rest.

use streamgauge_schema::{PublicText, is_steering};

use crate::error::ImportError;

/// Longest message that is kept of a failure, in characters.
const MOST_CHARS: usize = 500;

/// A text of our own for a record.
pub(crate) fn public(text: impl Into<String>) -> Result<PublicText, ImportError> {
    let text = text.into();
    PublicText::new(text.as_str()).map_err(|fault| ImportError::Unpublishable { text, fault })
}

/// A message without control characters, cut where it is longer than a message should be. Of a
/// traceback the last line says what happened.
pub(crate) fn message(text: &str) -> String {
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    line.chars().filter(|character| !is_steering(*character)).take(MOST_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_plain_line() {
        let traceback =
            "Traceback (most recent call last):\n  File \"x.py\"\nTimeoutError: \u{1b}[1mlate\n\n";
        assert_eq!(message(traceback), "TimeoutError: [1mlate");
        assert_eq!(message(" \n"), "");
        assert_eq!(message(&"x".repeat(9_000)).len(), MOST_CHARS);
    }
}
