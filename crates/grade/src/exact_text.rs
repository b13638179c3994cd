//! `exact-text-v1`: an answer is a text.

use streamgauge_schema::CheckFault;

use crate::findings::same;

pub(crate) const RULES: &str = "Without the white space around it, the answer is the expected text, \
    code point for code point.";

pub(crate) fn check(wanted: &str, text: &str) -> Result<(), CheckFault> {
    match text.trim() {
        "" if !wanted.is_empty() => Err(CheckFault::Missing),
        text => same(text == wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_around_it_is_forgiven() {
        let cases = [
            ("Paris", Ok(())),
            (" Paris\n", Ok(())),
            ("paris", Err(CheckFault::Differs)),
            ("Paris.", Err(CheckFault::Differs)),
            ("Par is", Err(CheckFault::Differs)),
            (" \n", Err(CheckFault::Missing)),
        ];
        for (text, expected) in cases {
            assert_eq!(check("Paris", text), expected, "{text:?}");
        }
    }
}
