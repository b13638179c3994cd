//! `frozen-evidence-fields-v1`: members of a JSON answer against values that were frozen with the
//! document that the answer is about.

mod pointer;
mod rule;

use serde_json::Value;
use streamgauge_schema::{CheckFault, FieldCheck, GradeCheck};

use crate::error::GraderError;
use crate::findings::{Findings, check};
use crate::json_answer::{in_single_fence, read};
use pointer::Pointer;
use rule::Rule;

pub(crate) const RULES: &str = "The whole answer is one JSON value without a member twice, and at each \
    JSON pointer (RFC 6901) stands a value that its rule admits. Numbers are equal by value, objects \
    whatever the order of their members; a set is a list with the same values, each as often; a text \
    matches where the regular expression does anywhere in it. A single Markdown fence is looked into, \
    reported, and changes nothing.";

#[derive(Debug)]
pub(crate) struct FieldsGrader {
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    pointer: Pointer,
    rule: Rule,
}

impl FieldsGrader {
    pub(crate) fn new(wanted: &[FieldCheck]) -> Result<Self, GraderError> {
        if wanted.is_empty() {
            return Err(GraderError::NoChecks);
        }
        let field = |wanted: &FieldCheck| {
            let pointer = Pointer::new(&wanted.pointer)?;
            Ok(Field { rule: Rule::new(&wanted.is, &wanted.pointer)?, pointer })
        };
        Ok(Self { fields: wanted.iter().map(field).collect::<Result<_, _>>()? })
    }

    pub(crate) fn check(&self, text: &str) -> Findings {
        match read(text) {
            Ok(answer) => Findings { checks: self.checks(&answer), ..Findings::default() },
            Err(fault) => {
                let unread = |field: &Field| check(field.pointer.as_str(), Err(fault));
                Findings {
                    checks: self.fields.iter().map(unread).collect(),
                    words: None,
                    fenced_would_pass: self.fenced_would_pass(text),
                }
            }
        }
    }

    fn fenced_would_pass(&self, text: &str) -> Option<bool> {
        let answer = read(in_single_fence(text)?);
        Some(answer.is_ok_and(|answer| self.checks(&answer).iter().all(GradeCheck::passed)))
    }

    fn checks(&self, answer: &Value) -> Vec<GradeCheck> {
        let result = |field: &Field| {
            let value = field.pointer.find(answer).ok_or(CheckFault::Missing);
            check(field.pointer.as_str(), value.and_then(|value| field.rule.check(value)))
        };
        self.fields.iter().map(result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamgauge_schema::read_typed;

    fn grader(wanted: &str) -> FieldsGrader {
        FieldsGrader::new(&read_typed::<Vec<FieldCheck>>(wanted.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn each_pointer_is_a_check_of_its_own() {
        let grader = grader(
            r#"[{"pointer": "/name", "is": {"equals": "Ada"}},
                {"pointer": "/born/year", "is": {"number": {"value": 1815}}},
                {"pointer": "/born/city", "is": {"contains": "London"}}]"#,
        );
        let faults = |text| -> Vec<_> {
            grader.check(text).checks.into_iter().map(|check| check.fault).collect()
        };
        let cases = [
            (r#"{"name": "Ada", "born": {"city": "in London", "year": 1815.0}}"#, [None; 3]),
            (
                r#"{"name": "ada", "born": {"year": "1815"}}"#,
                [Some(CheckFault::Differs), Some(CheckFault::WrongKind), Some(CheckFault::Missing)],
            ),
            ("Ada, 1815, London", [Some(CheckFault::NotJson); 3]),
        ];
        for (text, expected) in cases {
            assert_eq!(faults(text), expected, "{text}");
        }
    }

    #[test]
    fn a_fence_is_reported_and_passes_nothing() {
        let grader = grader(r#"[{"pointer": "/a", "is": {"equals": 1}}]"#);
        let cases = [
            ("```json\n{\"a\": 1}\n```", false, Some(true)),
            ("```json\n{\"a\": 2}\n```", false, Some(false)),
            ("{\"a\": 1}", true, None),
            ("no JSON", false, None),
        ];
        for (text, passes, fenced) in cases {
            let found = grader.check(text);
            assert_eq!((found.all_passed(), found.fenced_would_pass), (passes, fenced), "{text}");
        }
    }

    #[test]
    fn an_expectation_that_checks_nothing_is_refused() {
        assert!(matches!(FieldsGrader::new(&[]), Err(GraderError::NoChecks)));
    }
}
