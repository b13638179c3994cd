//! An answer read as JSON: one value, and no member twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use streamgauge_schema::{CheckFault, Json};

/// The answer as one JSON value, white space around it aside.
pub(crate) fn read(text: &str) -> Result<Value, CheckFault> {
    let read: Result<Unique, _> = serde_json::from_str(text);
    read.map(|unique| unique.0).map_err(|_| CheckFault::NotJson)
}

/// An expectation's own value; `None` when an object in it has a member twice.
pub(crate) fn value_of(tree: &Json) -> Option<Value> {
    read(&serde_json::to_string(tree).ok()?).ok()
}

/// A value in which no object has a member twice, as readers then disagree about its value.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without a member twice")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number.map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Unique(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members: Vec<(String, Value)> = Vec::new();
        while let Some((key, Unique(value))) = map.next_entry()? {
            members.push((key, value));
        }
        let count = members.len();
        let object: Map<String, Value> = members.into_iter().collect();
        if object.len() == count {
            Ok(Value::Object(object))
        } else {
            Err(A::Error::custom("a member twice"))
        }
    }
}

/// What stands in the only Markdown fence of an answer; `None` without one, or with several.
pub(crate) fn in_single_fence(text: &str) -> Option<&str> {
    let mut parts = text.split("```");
    let (_, fenced, _) = (parts.next()?, parts.next()?, parts.next()?);
    // The first line names the language.
    let (language, body) = fenced.split_once('\n')?;
    let named = language.trim().chars().all(char::is_alphanumeric);
    (parts.next().is_none() && named).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_without_a_member_twice() {
        for text in ["{\"a\": 1}", " [1, {\"a\": 1}, {\"a\": 2}] \n", "12"] {
            assert!(read(text).is_ok(), "{text}");
        }
        for text in ["", "{\"a\": 1, \"a\": 1}", "[{\"a\": {\"b\": 1, \"b\": 2}}]", "{} {}", "a: 1"]
        {
            assert_eq!(read(text), Err(CheckFault::NotJson), "{text}");
        }
        assert_eq!(read(&"[".repeat(100_000)), Err(CheckFault::NotJson), "deep nesting");
    }

    #[test]
    fn a_single_fence_is_found() {
        let cases = [
            ("```json\n{}\n```", Some("{}\n")),
            ("Here:\n```\n{}\n```\nDone.", Some("{}\n")),
            ("```json\n{}\n``` and ```json\n{}\n```", None),
            ("```json\n{}", None),
            ("``` not a language\n{}\n```", None),
            ("{}", None),
        ];
        for (text, expected) in cases {
            assert_eq!(in_single_fence(text), expected, "{text:?}");
        }
    }
}
