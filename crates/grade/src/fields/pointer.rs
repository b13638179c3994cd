//! JSON pointers (RFC 6901).

use serde_json::Value;

use crate::error::GraderError;

/// A pointer, taken apart.
#[derive(Debug)]
pub(crate) struct Pointer {
    text: String,
    steps: Vec<String>,
}

impl Pointer {
    pub(crate) fn new(text: &str) -> Result<Self, GraderError> {
        let fault = || GraderError::Pointer { pointer: text.to_owned() };
        let steps = match text.strip_prefix('/') {
            None if text.is_empty() => Vec::new(),
            None => return Err(fault()),
            Some(steps) => {
                let steps = steps.split('/').map(unescape);
                steps.collect::<Option<_>>().ok_or_else(fault)?
            }
        };
        Ok(Self { text: text.to_owned(), steps })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The value that it points at.
    pub(crate) fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.steps.iter().try_fold(value, |value, step| match value {
            Value::Array(items) => items.get(index(step)?),
            value => value.get(step),
        })
    }
}

fn unescape(step: &str) -> Option<String> {
    let mut parts = step.split('~');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        plain.push(match part.chars().next()? {
            '0' => '~',
            '1' => '/',
            _ => return None,
        });
        plain.push_str(&part[1..]);
    }
    Some(plain)
}

/// An index has no leading zero and no sign.
fn index(step: &str) -> Option<usize> {
    let canonical = step == "0" || step.starts_with(|c: char| matches!(c, '1'..='9'));
    if canonical { step.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_find_what_the_standard_says() {
        let text = r#"{"foo": ["bar", "baz"], "": 0, "a/b": 1, "m~n": 8, "01": 3}"#;
        let document: Value = serde_json::from_str(text).unwrap();
        let found = |pointer| {
            let found = Pointer::new(pointer).unwrap();
            found.find(&document).map(|value| serde_json::to_string(value).unwrap())
        };
        let cases = [
            ("/foo/0", Some("\"bar\"")),
            ("/foo/1", Some("\"baz\"")),
            ("/", Some("0")),
            ("/a~1b", Some("1")),
            ("/m~0n", Some("8")),
            ("/01", Some("3")),
            ("/foo/01", None),
            ("/foo/+1", None),
            ("/foo/2", None),
            ("/foo/-", None),
            ("/bar", None),
            ("/foo/0/x", None),
        ];
        for (pointer, expected) in cases {
            assert_eq!(found(pointer).as_deref(), expected, "{pointer}");
        }
        assert!(found("").is_some_and(|whole| whole.starts_with('{')));
        for pointer in ["foo", "/a~", "/a~2b", "/~é"] {
            assert!(Pointer::new(pointer).is_err(), "{pointer}");
        }
    }
}
