//! What a value of an answer has to be.

use regex::Regex;
use serde_json::{Number, Value};
use streamgauge_schema::{CheckFault, FieldRule, Json};

use crate::error::GraderError;
use crate::findings::same;
use crate::json_answer::value_of;
use crate::number::Nearby;

/// A rule, checked and ready.
#[derive(Debug)]
pub(crate) enum Rule {
    Contains(String),
    Equals(Value),
    Matches(Regex),
    Number(Nearby),
    OneOf(Vec<Value>),
    Set(Vec<Value>),
}

impl Rule {
    /// Makes one; `pointer` names it in errors.
    pub(crate) fn new(rule: &FieldRule, pointer: &str) -> Result<Self, GraderError> {
        Ok(match rule.clone() {
            FieldRule::Contains(text) => Self::Contains(text),
            FieldRule::Equals(value) => Self::Equals(expected(value)?),
            FieldRule::Matches(pattern) => {
                Self::Matches(Regex::new(&pattern).map_err(|source| GraderError::Pattern {
                    pointer: pointer.to_owned(),
                    source,
                })?)
            }
            FieldRule::Number(wanted) => Self::Number(Nearby::new(&wanted)?),
            FieldRule::OneOf(values) => Self::OneOf(all_expected(values)?),
            FieldRule::Set(values) => Self::Set(all_expected(values)?),
        })
    }

    pub(crate) fn check(&self, value: &Value) -> Result<(), CheckFault> {
        match self {
            Self::Contains(text) => same(text_of(value)?.contains(text.as_str())),
            Self::Equals(wanted) => same(equal(wanted, value)),
            Self::Matches(pattern) => same(pattern.is_match(text_of(value)?)),
            Self::Number(wanted) => {
                same(wanted.admits(value.as_f64().ok_or(CheckFault::WrongKind)?))
            }
            Self::OneOf(values) => same(values.iter().any(|wanted| equal(wanted, value))),
            Self::Set(wanted) => match value {
                Value::Array(items) => same(same_set(wanted, items)),
                _ => Err(CheckFault::WrongKind),
            },
        }
    }
}

fn expected(value: Json) -> Result<Value, GraderError> {
    value_of(&value).ok_or(GraderError::MemberTwice)
}

fn all_expected(values: Vec<Json>) -> Result<Vec<Value>, GraderError> {
    values.into_iter().map(expected).collect()
}

fn text_of(value: &Value) -> Result<&str, CheckFault> {
    value.as_str().ok_or(CheckFault::WrongKind)
}

/// Whether two lists have the same values, each as often.
fn same_set(wanted: &[Value], items: &[Value]) -> bool {
    let mut left: Vec<&Value> = items.iter().collect();
    let take = |value: &Value| {
        let at = left.iter().position(|item| equal(value, item));
        at.map(|at| left.swap_remove(at)).is_some()
    };
    wanted.len() == items.len() && wanted.iter().all(take)
}

/// Equality of values: an answer that writes 12.0 for 12 says the same number.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(key, value)| b.get(key).is_some_and(|other| equal(value, other));
            a.len() == b.len() && a.iter().all(same)
        }
        (Value::Number(a), Value::Number(b)) => match (a.as_i128(), b.as_i128()) {
            // Exactly: large whole numbers are not made floats, which would merge neighbours.
            (Some(a), Some(b)) => a == b,
            (Some(whole), None) => is_whole(b, whole),
            (None, Some(whole)) => is_whole(a, whole),
            (None, None) => a.as_f64() == b.as_f64(),
        },
        (a, b) => a == b,
    }
}

fn is_whole(float: &Number, whole: i128) -> bool {
    float.as_f64().is_some_and(|float| float.fract() == 0.0 && float as i128 == whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use CheckFault::{Differs, WrongKind};
    use streamgauge_schema::read_typed;

    #[test]
    fn rules_admit_what_they_say() {
        let cases = [
            (r#"{"equals": 12}"#, "12", Ok(())),
            (r#"{"equals": 12}"#, "12.0", Ok(())),
            (r#"{"equals": 12}"#, "1.2e1", Ok(())),
            (r#"{"equals": 12}"#, "\"12\"", Err(Differs)),
            (r#"{"equals": 9007199254740993}"#, "9007199254740992.0", Err(Differs)),
            (r#"{"equals": 9007199254740992}"#, "9007199254740992.0", Ok(())),
            (r#"{"equals": {"a": [1], "b": null}}"#, r#"{"b": null, "a": [1.0]}"#, Ok(())),
            (r#"{"equals": {"a": 1}}"#, r#"{"a": 1, "b": 2}"#, Err(Differs)),
            (r#"{"equals": [1, 2]}"#, "[2, 1]", Err(Differs)),
            (r#"{"equals": null}"#, "null", Ok(())),
            (r#"{"equals": null}"#, "false", Err(Differs)),
            (r#"{"number": {"value": 3.1, "within": 0.1}}"#, "3.15", Ok(())),
            (r#"{"number": {"value": 3, "within_ratio": 0.1}}"#, "3.4", Err(Differs)),
            (r#"{"number": {"value": 3}}"#, "\"3\"", Err(WrongKind)),
            (r#"{"one_of": ["red", "crimson"]}"#, "\"crimson\"", Ok(())),
            (r#"{"one_of": ["red", "crimson"]}"#, "\"blue\"", Err(Differs)),
            (r#"{"set": [1, 2, 2]}"#, "[2, 1, 2.0]", Ok(())),
            (r#"{"set": [1, 2, 2]}"#, "[1, 1, 2]", Err(Differs)),
            (r#"{"set": [1, 2]}"#, "[1, 2, 3]", Err(Differs)),
            (r#"{"set": [1]}"#, "1", Err(WrongKind)),
            (r#"{"matches": "^[A-Z]{2}\\d+$"}"#, "\"AB12\"", Ok(())),
            (r#"{"matches": "\\d"}"#, "\"none\"", Err(Differs)),
            (r#"{"matches": "\\d"}"#, "12", Err(WrongKind)),
            (r#"{"contains": "sea"}"#, "\"by the sea.\"", Ok(())),
            (r#"{"contains": "sea"}"#, "\"Sea\"", Err(Differs)),
        ];
        for (rule, value, expected) in cases {
            let wanted: FieldRule = read_typed(rule.as_bytes()).unwrap();
            let rule = Rule::new(&wanted, "/x").unwrap();
            assert_eq!(
                rule.check(&crate::json_answer::read(value).unwrap()),
                expected,
                "{wanted:?} of {value}"
            );
        }
    }

    #[test]
    fn expressions_that_take_unbounded_time_are_refused() {
        for pattern in ["(a", r"(a)\1", "(?=a)b"] {
            let error = Rule::new(&FieldRule::Matches(pattern.to_owned()), "/x").unwrap_err();
            assert!(error.to_string().contains("/x"), "{error}");
        }
    }
}
