//! A column of a table, whatever the table is written in.

use std::borrow::Cow;

use streamgauge_schema::is_steering;

/// What a text begins with that a spreadsheet takes for a formula.
const FORMULA: [char; 4] = ['=', '+', '-', '@'];

/// A column: its name, and the function by which a row gives its value.
#[derive(Debug)]
pub(crate) struct Column<F> {
    /// Its name, which ends with its unit where it has one.
    pub(crate) name: &'static str,
    pub(crate) value: F,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Float(f64),
    Missing,
    Text(String),
    Uint(u64),
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Uint(value)
    }
}

/// The text of a cell, before quotation marks are put where the format needs them.
pub(crate) fn csv_cell(value: &Value) -> Cow<'_, str> {
    match value {
        // The shortest digits that read back.
        Value::Float(value) => Cow::Owned(format!("{value}")),
        Value::Missing => Cow::Borrowed(""),
        Value::Text(text) => harmless(text),
        Value::Uint(value) => Cow::Owned(value.to_string()),
    }
}

/// A text that no program takes for a formula, and that steers no terminal.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_formula = text.trim_start().starts_with(FORMULA);
    if !is_formula && !text.chars().any(is_steering) {
        return Cow::Borrowed(text);
    }
    let mut out = String::from(if is_formula { "'" } else { "" });
    for character in text.chars() {
        if is_steering(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_a_formula() {
        let cases = [
            ("plain", "plain"),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("  =1", "'  =1"),
            ("\t=1", "'\\t=1"),
            ("a\nb\u{1b}[1m", "a\\nb\\u{1b}[1m"),
            ("1 - 2", "1 - 2"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(csv_cell(&Value::from(text)), expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_read_back() {
        let cases = [
            (Value::from(0.1), "0.1"),
            (Value::from(21.182677917950876), "21.182677917950876"),
            (Value::from(1e-7), "0.0000001"),
            (Value::from(3.0), "3"),
            (Value::from(u64::MAX), "18446744073709551615"),
            (Value::Missing, ""),
        ];
        for (value, expected) in cases {
            assert_eq!(csv_cell(&value), expected);
        }
    }
}
