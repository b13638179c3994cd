//! Texts of records as Markdown that says what they say, and nothing else: no table broken, no
//! markup, no link, and nobody mentioned.

use std::fmt::Write as _;

use crate::console::printable;

/// What ends a mention, a reference or a link before it begins, and is not seen.
const NOTHING_SEEN: &str = "&#8203;";

/// A text in a line of prose, at the beginning of an item of a list, or in a cell of a table.
///
/// Everything that Markdown may read as markup is written as a character reference, which is never
/// read as markup. References to people and issues, and addresses, are found in what was made of
/// it, so that something must stand within them.
pub(crate) fn prose(text: &str) -> String {
    let text = printable(text);
    let text = text.trim_start();
    let mut out = String::new();
    for (at, character) in text.char_indices() {
        let before = &text[..at];
        let next = text[at + character.len_utf8()..].chars().next();
        match character {
            '\n' => out.push(' '),
            '@' | '#' => write_reference(&mut out, character, NOTHING_SEEN),
            '.' if before.to_ascii_lowercase().ends_with("www") => {
                write_reference(&mut out, character, NOTHING_SEEN);
            }
            '/' if before.ends_with(':') => write_reference(&mut out, character, NOTHING_SEEN),
            _ if is_markup(before, character, next) => write_reference(&mut out, character, ""),
            _ => out.push(character),
        }
    }
    out
}

/// Whether a character may be read as markup where it stands. Names and figures stay legible in the
/// source: `e2e_p50_ms`, `+8.10 %`.
fn is_markup(before: &str, character: char, next: Option<char>) -> bool {
    let alphanumeric = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    match character {
        '(' | ',' | ';' | ':' | '/' | '%' | '?' | '\'' | '"' => false,
        '_' => !alphanumeric(before.chars().next_back()) || !alphanumeric(next),
        // At the beginning these make an item of a list, or a line across the page.
        '-' | '+' => before.is_empty() && !alphanumeric(next),
        '.' | ')' => {
            let numbered = !before.is_empty() && before.bytes().all(|b| b.is_ascii_digit());
            numbered && !alphanumeric(next)
        }
        _ => character.is_ascii_punctuation(),
    }
}

fn write_reference(out: &mut String, character: char, and: &str) {
    let _ = write!(out, "&#{};{and}", u32::from(character));
}

/// A name as code, in a line of prose or in a cell of a table.
pub(crate) fn code(text: &str) -> String {
    // Names are identifiers. Whatever else comes is prose.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !text.is_empty() && text.chars().all(plain) { format!("`{text}`") } else { prose(text) }
}

/// A table: the first `left` columns are aligned to the left, the others to the right.
pub(crate) fn table<const N: usize>(
    header: [&str; N],
    left: usize,
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let rule = (0..N).map(|column| if column < left { ":--" } else { "--:" });
    let mut lines = vec![
        format!("| {} |", header.join(" | ")),
        format!("| {} |", rule.collect::<Vec<_>>().join(" | ")),
    ];
    lines.extend(rows.into_iter().map(|row| format!("| {} |", row.join(" | "))));
    lines.join("\n")
}
