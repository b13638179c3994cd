//! An answer read as JSON: one value, and no member twice.

use serde_json::{Map, Number, Value};
use streamgauge_schema::{CheckFault, Json};

/// The answer as one JSON value, white space around it aside.
pub(crate) fn read(text: &str) -> Result<Value, CheckFault> {
    let tree: Json = serde_json::from_str(text).map_err(|_| CheckFault::NotJson)?;
    value_of(tree).ok_or(CheckFault::NotJson)
}

/// The value of a tree; `None` when an object in it has a member twice, as readers then disagree
/// about its value.
pub(crate) fn value_of(tree: Json) -> Option<Value> {
    Some(match tree {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::Int(value) => Value::Number(value.into()),
        Json::Uint(value) => Value::Number(value.into()),
        Json::Float(value) => Value::Number(Number::from_f64(value)?),
        Json::String(text) => Value::String(text),
        Json::Array(items) => items.into_iter().map(value_of).collect::<Option<_>>()?,
        Json::Object(members) => {
            let mut map = Map::new();
            for (key, value) in members {
                if map.insert(key, value_of(value)?).is_some() {
                    return None;
                }
            }
            Value::Object(map)
        }
    })
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
