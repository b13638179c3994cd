//! `controlled-output-v1`: an answer is a word, repeated as often as wanted, so that a scheduler that
//! loses or repeats steps is found.

use streamgauge_schema::{CheckFault, ControlledOutput, Grade, OutputPolicy};

use crate::canary::{self, Canaries};
use crate::error::GraderError;
use crate::findings::{Findings, check, same};

pub(crate) const RULES: &str = "After the marker, where there is one, the answer consists of the word, \
    the wanted number of times, and white space. The words reported are those that are the wanted one, \
    wherever they stand. The policy observe reports them and fails nothing.";

#[derive(Debug)]
pub(crate) struct ControlledOutputGrader {
    canary: Option<String>,
    count: u64,
    policy: OutputPolicy,
    word: String,
}

impl ControlledOutputGrader {
    pub(crate) fn new(wanted: &ControlledOutput) -> Result<Self, GraderError> {
        let ControlledOutput { canary, count, policy, word } = wanted.clone();
        if word.is_empty() || word.contains(char::is_whitespace) {
            return Err(GraderError::Word { word });
        }
        if let Some(marker) = &canary {
            canary::validate(marker)?;
        }
        Ok(Self { canary, count, policy, word })
    }

    pub(crate) fn check(&self, text: &str, canaries: &Canaries) -> Findings {
        let mut checks = Vec::new();
        let mut words_of = text;
        if let Some(own) = &self.canary {
            // Words are counted whatever became of the marker.
            words_of = text.strip_prefix(own.as_str()).unwrap_or(text);
            checks.push(check(canary::CHECK, canaries.check(own, text).map(drop)));
        }
        let (words, exact) = self.count(words_of);
        if self.policy == OutputPolicy::Strict {
            let fault = if words == 0 { Err(CheckFault::Missing) } else { same(exact) };
            checks.push(check(Grade::WORDS_CHECK, fault));
        }
        Findings { checks, words: Some(words), fenced_would_pass: None }
    }

    /// The wanted words, and whether they are all there is.
    fn count(&self, text: &str) -> (u64, bool) {
        let (mut wanted, mut others) = (0, 0);
        // As most answers begin: the word and one space, again and again. It is what the loop below finds
        // too, which looks at every character.
        let mut rest = text;
        while let Some(left) = rest.strip_prefix(&self.word).and_then(|rest| rest.strip_prefix(' '))
        {
            wanted += 1;
            rest = left;
        }
        for word in rest.split_whitespace() {
            *if word == self.word { &mut wanted } else { &mut others } += 1;
        }
        (wanted, wanted == self.count && others == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grader(canary: Option<&str>, policy: OutputPolicy) -> ControlledOutputGrader {
        let wanted = ControlledOutput {
            canary: canary.map(str::to_owned),
            count: 3,
            policy,
            word: "apple".to_owned(),
        };
        ControlledOutputGrader::new(&wanted).unwrap()
    }

    #[test]
    fn words_are_counted_and_nothing_else_may_stand() {
        use CheckFault::{Differs, Missing};
        let cases = [
            ("apple apple apple", 3, None),
            ("apple apple\napple \n", 3, None),
            ("apple apple", 2, Some(Differs)),
            ("apple apple apple apple", 4, Some(Differs)),
            ("apple apple apple.", 2, Some(Differs)),
            ("apple pear apple apple", 3, Some(Differs)),
            ("apple  apple \u{a0}apple", 3, None),
            ("apple apple applepie apple", 3, Some(Differs)),
            ("appleapple apple apple", 2, Some(Differs)),
            ("Apple apple apple", 2, Some(Differs)),
            ("", 0, Some(Missing)),
        ];
        for (text, words, fault) in cases {
            let found = grader(None, OutputPolicy::Strict).check(text, &Canaries::none());
            assert_eq!((found.words, found.checks[0].fault), (Some(words), fault), "{text:?}");
            let observed = grader(None, OutputPolicy::Observe).check(text, &Canaries::none());
            assert_eq!((observed.words, observed.all_passed()), (Some(words), true), "{text:?}");
        }
    }

    #[test]
    fn a_marker_stands_before_the_words_and_is_none_of_them() {
        let strict = grader(Some("K1A"), OutputPolicy::Strict);
        let found = |text| {
            let found = strict.check(text, &Canaries::none());
            (found.words, found.checks.iter().map(|check| check.fault).collect::<Vec<_>>())
        };
        assert_eq!(found("K1A apple apple apple"), (Some(3), vec![None, None]));
        assert_eq!(
            found("apple apple apple"),
            (Some(3), vec![Some(CheckFault::Missing), None]),
            "the count holds although the marker is missing"
        );
        let both = vec![Some(CheckFault::Missing), Some(CheckFault::Differs)];
        assert_eq!(found("K9Z apple apple apple"), (Some(3), both), "another word stands there");
    }
}
