//! Texts that came from outside, made safe to store and show.

use streamgauge_schema::is_steering;

/// Longest message that is kept, in characters.
const MAX_CHARS: usize = 300;

/// A text with control characters escaped, cut to a bounded length.
///
/// ```
/// assert_eq!(streamgauge_client::bounded("\u{1b}[31mred\n"), r"\u{1b}[31mred\n");
/// ```
#[must_use]
pub fn bounded(text: &str) -> String {
    let mut out = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == MAX_CHARS {
            out.push('…');
            break;
        }
        if is_steering(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}
