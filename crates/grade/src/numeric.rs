//! `numeric-v1`: the last number of an answer, as word problems are graded.

use std::sync::LazyLock;

use regex::Regex;
use streamgauge_schema::CheckFault;

use crate::findings::same;
use crate::number::Nearby;
use crate::thinking::behind_thinking;

pub(crate) const RULES: &str = "The last number of the answer is near enough to the expected one. A \
    number is digits with an optional sign, groups of three parted by commas, decimals after a point, \
    and an exponent. A sign straight behind a letter, a digit or a closing bracket is a minus between \
    two things and not part of the number. A number that is part of a word is none, and an answer that \
    ends with a quotient or a power has no number. Reasoning in think tags is no answer.";

/// Sign, digits (in groups or not), decimals, exponent. `\u{2212}` is the minus sign that models write.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    const WHOLE: &str = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)";
    Regex::new(&format!(r"[-+\u{{2212}}]?(?:{WHOLE}(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"))
        .expect("the pattern is constant")
});

pub(crate) fn check(wanted: &Nearby, text: &str) -> Result<(), CheckFault> {
    same(wanted.admits(last_number(text).ok_or(CheckFault::Missing)?))
}

/// Words are looked at from the end, as no number holds white space.
fn last_number(text: &str) -> Option<f64> {
    let with_digits = |word: &&str| word.bytes().any(|byte| byte.is_ascii_digit());
    let words = behind_thinking(text).rsplit(char::is_whitespace);
    let (place, number) = words.filter(with_digits).find_map(last_in_word)?;
    (place == Place::Alone).then_some(number)
}

/// Where a number stands in its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing is made of it.
    Alone,
    /// It is divided, divides, or is an exponent: by itself it is not what is meant.
    Part,
}

fn last_in_word(word: &str) -> Option<(Place, f64)> {
    let numbers = NUMBER.find_iter(word).filter_map(|found| {
        let number = number_at(word, found.range())?;
        let before = word[..found.start()].trim_end_matches(['{', '(']);
        // Of a unit, such as m/s^2, it is no part of the answer.
        let operand = before.strip_suffix(['/', '^']).map(|rest| rest.chars().next_back());
        match operand {
            Some(Some(c)) if c.is_ascii_digit() || matches!(c, ')' | '}') => {
                Some((Place::Part, number))
            }
            Some(Some(c)) if c.is_alphabetic() => None,
            _ => Some((Place::Alone, number)),
        }
    });
    numbers.last()
}

/// The number that stands there, unless it is part of a word.
fn number_at(text: &str, range: std::ops::Range<usize>) -> Option<f64> {
    let before = text[..range.start].chars().next_back();
    let mut digits = &text[range.clone()];
    let signed = digits.starts_with(['-', '+', '\u{2212}']);
    if signed && before.is_some_and(|c| c.is_alphanumeric() || matches!(c, ')' | ']')) {
        digits = digits.trim_start_matches(['-', '+', '\u{2212}']);
    } else if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    if text[range.end..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && !unit(text, range.end)
    {
        return None;
    }
    let plain: String = digits
        .chars()
        .filter(|&c| c != ',')
        .map(|c| if c == '\u{2212}' { '-' } else { c })
        .collect();
    plain.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Whether letters straight behind a number are a unit, such as `12kg`: letters alone, up to the end
/// of the word.
fn unit(text: &str, at: usize) -> bool {
    let word = text[at..].split(|c: char| !(c.is_alphanumeric() || c == '_')).next();
    word.is_some_and(|word| word.chars().all(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_the_answer() {
        let cases = [
            ("18", Some(18.0)),
            ("9 + 9 = 18.", Some(18.0)),
            ("It costs $1,234.50 in all", Some(1234.5)),
            ("#### -7", Some(-7.0)),
            ("\u{2212}3.5 degrees", Some(-3.5)),
            ("so \\boxed{42}", Some(42.0)),
            ("**12%**", Some(12.0)),
            ("12kg", Some(12.0)),
            ("1.5e3", Some(1500.0)),
            ("2E-2 s", Some(0.02)),
            (".5", Some(0.5)),
            ("pages 3-5", Some(5.0)),
            ("x-5", Some(5.0)),
            ("(1)-2", Some(2.0)),
            ("1, 2, 3", Some(3.0)),
            ("1,2", Some(2.0)),
            ("12,345,678", Some(12_345_678.0)),
            ("the model K2B has 7 layers; see v3", Some(7.0)),
            ("1/2", None),
            ("the answer 7 is 1/2", None),
            ("1 \u{d7} 10^6", None),
            ("10^{-3}", None),
            ("5 m/s^2", Some(5.0)),
            ("60 km/h", Some(60.0)),
            ("<think>18</think>none", None),
            ("<think>18", None),
            ("<think>1</think> 18", Some(18.0)),
            ("forty-two", None),
            ("", None),
            ("1e999", None),
            ("-", None),
        ];
        for (text, expected) in cases {
            assert_eq!(last_number(text), expected, "{text:?}");
        }
    }
}
