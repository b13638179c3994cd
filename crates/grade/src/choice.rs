//! `choice-v1`: which of several labels an answer names.

use streamgauge_schema::{CheckFault, Choice};

use crate::error::GraderError;
use crate::findings::same;
use crate::thinking::behind_thinking;

pub(crate) const RULES: &str = "Of the labels, whatever their case, the answer names the one that it \
    consists of, marks around it aside; else the one that it begins with, where a closing bracket, a \
    colon, a comma, a point or the end of the line follows; else the one that stands last behind the \
    word answer, with or without is, or a colon. That label is the expected one. Reasoning in think \
    tags is no answer.";

/// Whether a character stands around a label and means nothing.
fn is_mark(c: char) -> bool {
    c.is_whitespace() || "*_`\"'()[]{}.:$".contains(c)
}

#[derive(Debug)]
pub(crate) struct ChoiceGrader {
    labels: Vec<String>,
    correct: usize,
}

impl ChoiceGrader {
    pub(crate) fn new(wanted: &Choice) -> Result<Self, GraderError> {
        let labels: Vec<String> = wanted.of.iter().map(|label| label.to_lowercase()).collect();
        let is_label = |label: &String| !label.is_empty() && label.trim_matches(is_mark) == label;
        if labels.len() < 2 || !labels.iter().all(is_label) {
            return Err(GraderError::Choice(
                "\"of\" needs two labels or more, without punctuation around them",
            ));
        }
        let twice = |at: usize| labels[..at].contains(&labels[at]);
        if (0..labels.len()).any(twice) {
            return Err(GraderError::Choice(
                "\"of\" has a label twice, upper and lower case aside",
            ));
        }
        let correct = wanted.of.iter().position(|label| *label == wanted.correct);
        let correct = correct.ok_or(GraderError::Choice("\"correct\" is none of \"of\""))?;
        Ok(Self { labels, correct })
    }

    pub(crate) fn check(&self, text: &str) -> Result<(), CheckFault> {
        same(self.named(text).ok_or(CheckFault::Missing)? == self.correct)
    }

    /// The label that the answer names, by its position.
    fn named(&self, text: &str) -> Option<usize> {
        let text = behind_thinking(text).trim().to_lowercase();
        let bare = text.trim_matches(is_mark);
        let whole = || self.labels.iter().position(|label| label == bare);
        whole().or_else(|| self.at_the_start(&text)).or_else(|| self.behind_answer(&text))
    }

    fn at_the_start(&self, text: &str) -> Option<usize> {
        self.label_before(text, |rest| {
            let rest = rest.trim_start_matches(['*', '_', '`', '"', '\'']);
            rest.starts_with([')', ']', ':', ',', '.', '\n', '\r'])
        })
    }

    fn behind_answer(&self, text: &str) -> Option<usize> {
        const WORD: &str = "answer";
        let whole_word = |rest: &str| !rest.starts_with(char::is_alphanumeric);
        text.rmatch_indices(WORD).find_map(|(at, _)| {
            let rest = text[at + WORD.len()..].trim_start_matches(['*', '_']).trim_start();
            let rest = rest.strip_prefix("is").unwrap_or(rest);
            let rest = rest.trim_start_matches([':', '=', ' ', '\n']);
            self.label_before(rest, whole_word)
        })
    }

    /// The longest label at the start of a text, marks before it aside, behind which `ends` holds.
    fn label_before(&self, text: &str, ends: impl Fn(&str) -> bool) -> Option<usize> {
        let text = text.trim_start_matches(is_mark);
        let fits = |&at: &usize| text.strip_prefix(self.labels[at].as_str()).is_some_and(&ends);
        (0..self.labels.len()).filter(fits).max_by_key(|&at| self.labels[at].len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grader(of: &[&str], correct: &str) -> Result<ChoiceGrader, GraderError> {
        let of = of.iter().map(|&label| label.to_owned()).collect();
        ChoiceGrader::new(&Choice { correct: correct.to_owned(), of })
    }

    #[test]
    fn the_label_that_an_answer_names() {
        let grader = grader(&["A", "B", "C", "D"], "B").unwrap();
        let cases = [
            ("B", Some(1)),
            (" b.\n", Some(1)),
            ("(B)", Some(1)),
            ("**B**", Some(1)),
            ("B) because Paris lies there", Some(1)),
            ("B: Paris", Some(1)),
            ("**B**: Paris", Some(1)),
            ("C\nIt is not B.", Some(2)),
            ("The answer is B.", Some(1)),
            ("The answer is (c)", Some(2)),
            ("Answer: D", Some(3)),
            ("**Answer:** D", Some(3)),
            ("At first the answer is A. No: the answer is B", Some(1)),
            ("A cat is an animal", None),
            ("The answer is banana", None),
            ("Between A and B it is hard to say", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(grader.named(text), expected, "{text:?}");
        }
        assert_eq!(grader.check("(B)"), Ok(()));
        assert_eq!(grader.check("A"), Err(CheckFault::Differs));
        assert_eq!(grader.check("I cannot say"), Err(CheckFault::Missing));
    }

    #[test]
    fn labels_that_begin_alike_are_told_apart() {
        let grader = grader(&["1", "10"], "10").unwrap();
        assert_eq!(grader.named("10. It is so"), Some(1));
        assert_eq!(grader.named("the answer is 10"), Some(1));
    }

    #[test]
    fn labels_that_allow_no_single_answer_are_refused() {
        for (of, correct) in [
            (&["A"][..], "A"),
            (&["A", "a"], "A"),
            (&["A", "B"], "C"),
            (&["A", ""], "A"),
            (&["(A)", "B"], "B"),
        ] {
            assert!(grader(of, correct).is_err(), "{of:?}");
        }
    }
}
