//! JSON as Python's `json` writes it: `NaN` and `Infinity` are no JSON, and stand in files of some
//! tools where there is no number.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use streamgauge_schema::{ReadError, read_typed};

use crate::error::ImportError;
use crate::tool::Tool;

/// The words that are no JSON, and what is read in their place. A minus before `Infinity` goes with it.
const WORDS: [(&[u8], &[u8]); 3] =
    [(b"-Infinity", b"null     "), (b"Infinity", b"null    "), (b"NaN", b"null")];

/// Reads a file, with its words that are no numbers as null.
pub(crate) fn read_file<T: DeserializeOwned>(tool: Tool, bytes: &[u8]) -> Result<T, ImportError> {
    read(bytes).map_err(|source| ImportError::Shape { tool, source })
}

/// Reads each line that is not blank, with its number from 1.
pub(crate) fn read_lines<T: DeserializeOwned>(
    tool: Tool,
    bytes: &[u8],
) -> Result<Vec<(usize, T)>, ImportError> {
    let lines = bytes.split(|byte| *byte == b'\n').zip(1..);
    let lines = lines.filter(|(line, _)| !line.trim_ascii().is_empty());
    let read = lines.map(|(line, number)| match read(line) {
        Ok(value) => Ok((number, value)),
        // Read again behind as many lines as there are, so that the error names the place.
        Err(_) => {
            let behind = [&vec![b'\n'; number - 1], line].concat();
            read_file(tool, &behind).map(|value| (number, value))
        }
    });
    read.collect()
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ReadError> {
    read_typed(&with_nulls(without_mark(bytes)))
}

/// The text without a byte order mark.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// The text with `null` where a word stands that is no JSON; strings are left alone.
fn with_nulls(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut out: Vec<u8> = Vec::new();
    let (mut copied, mut at, mut in_string) = (0, 0, false);
    while at < bytes.len() {
        let rest = &bytes[at..];
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'-' | b'I' | b'N' if !in_string => {
                if let Some((word, null)) = WORDS.iter().find(|(word, _)| rest.starts_with(word)) {
                    out.extend_from_slice(&bytes[copied..at]);
                    out.extend_from_slice(null);
                    at += word.len();
                    copied = at;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(bytes);
    }
    out.extend_from_slice(&bytes[copied..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn words_that_are_no_json_are_null() {
        let cases = [
            (r#"{"a": Infinity, "b": -Infinity, "c": NaN}"#, r#"{"a":null,"b":null,"c":null}"#),
            (r#"{"NaN": "Infinity \" NaN", "b": -1}"#, r#"{"NaN":"Infinity \" NaN","b":-1}"#),
            (r#"["\\", NaN]"#, r#"["\\",null]"#),
        ];
        for (text, expected) in cases {
            let value: Value = read(text.as_bytes()).unwrap();
            assert_eq!(value.to_string(), expected, "{text}");
        }
        assert!(matches!(with_nulls(b"[1, 2]"), Cow::Borrowed(_)));
    }

    #[test]
    fn an_error_names_the_line_of_the_file() {
        let error = read_lines::<Value>(Tool::Sglang, b"{}\n\n{\"a\" 1}\n").unwrap_err();
        let ImportError::Shape { source: ReadError::NotJson { message }, .. } = error else {
            panic!("{error:?}")
        };
        assert!(message.contains("line 3"), "{message}");
        let lines = read_lines::<Value>(Tool::Sglang, b"{}\n\n[]").unwrap();
        assert_eq!(lines.into_iter().map(|(line, _)| line).collect::<Vec<_>>(), [1, 3]);
    }
}
