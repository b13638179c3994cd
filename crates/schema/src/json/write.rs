//! The one writer of canonical bytes: what Python's `json.dumps(value, indent=2)` gives, with or
//! without `sort_keys=True`, and one final line feed.

use std::fmt::Write as _;

use serde::Serialize;

use super::tree::Json;
use crate::error::CanonicalError;

/// The order in which members are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Members in the order given: the file bytes of comparisons.
    AsGiven,
    /// Members sorted by code point: digest bytes, and the file bytes of run records.
    Sorted,
}

/// The bytes over which every digest is taken: sorted keys and one final line feed.
///
/// ```
/// let bytes = streamgauge_schema::digest_bytes(&std::collections::HashMap::from([("p95", 1e16)]))?;
/// assert_eq!(bytes, b"{\n  \"p95\": 1e+16\n}\n");
/// # Ok::<(), streamgauge_schema::CanonicalError>(())
/// ```
///
/// # Errors
/// Refuses NaN and infinities, and keys that are not texts or numbers.
pub fn digest_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    file_bytes(value, Layout::Sorted)
}

/// The bytes of a file in the given layout, with one final line feed.
///
/// # Errors
/// Refuses NaN and infinities, and keys that are not texts or numbers.
pub fn file_bytes<T: Serialize + ?Sized>(
    value: &T,
    layout: Layout,
) -> Result<Vec<u8>, CanonicalError> {
    let mut out = String::new();
    write_value(&mut out, &Json::from_value(value)?, layout, 0);
    out.push('\n');
    Ok(out.into_bytes())
}

fn write_value(out: &mut String, value: &Json, layout: Layout, depth: usize) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Int(number) => write_display(out, number),
        Json::Uint(number) => write_display(out, number),
        Json::Float(number) => write_float(out, *number),
        Json::String(text) => write_string(out, text),
        Json::Array(items) => {
            write_block(out, ['[', ']'], items, depth, |out, item| {
                write_value(out, item, layout, depth + 1);
            });
        }
        Json::Object(members) => {
            let mut ordered: Vec<&(String, Json)> = members.iter().collect();
            if layout == Layout::Sorted {
                // UTF-8 sorts by code point.
                ordered.sort_by(|a, b| a.0.cmp(&b.0));
            }
            write_block(out, ['{', '}'], &ordered, depth, |out, (key, item)| {
                write_string(out, key);
                out.push_str(": ");
                write_value(out, item, layout, depth + 1);
            });
        }
    }
}

fn write_block<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: &[T],
    depth: usize,
    mut write_item: impl FnMut(&mut String, &T),
) {
    out.push(open);
    for (position, item) in items.iter().enumerate() {
        out.push_str(if position == 0 { "\n" } else { ",\n" });
        indent(out, depth + 1);
        write_item(out, item);
    }
    if !items.is_empty() {
        out.push('\n');
        indent(out, depth);
    }
    out.push(close);
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

fn write_display(out: &mut String, value: impl std::fmt::Display) {
    write!(out, "{value}").expect("writing to a String never fails");
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    // Runs of plain characters, nearly all of most texts, are copied whole.
    while let Some(at) = rest.bytes().position(|b| !is_plain(b)) {
        out.push_str(&rest[..at]);
        let mut characters = rest[at..].chars();
        if let Some(character) = characters.next() {
            write_escaped(out, character);
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

fn write_escaped(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write_display(out, format_args!("\\u{unit:04x}"));
            }
        }
    }
}

/// Shortest digits that read back; exponent form below 1e-4 and from 1e16 up.
fn write_float(out: &mut String, value: f64) {
    let scientific = format!("{value:e}");
    let (mantissa, exponent) =
        scientific.split_once('e').expect("Rust's LowerExp always writes an exponent");
    let exponent: i32 = exponent.parse().expect("Rust's LowerExp writes a decimal exponent");
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        write_display(out, format_args!("{mantissa}e{sign}{:02}", exponent.unsigned_abs()));
        return;
    }
    let start = out.len();
    write_display(out, value);
    if !out[start..].contains('.') {
        out.push_str(".0");
    }
}
