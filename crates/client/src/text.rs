//! Texts that came from outside, made safe to store and show.

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
        // Marks that turn the direction of writing can forge what a terminal shows.
        let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if character.is_control() || turns {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}
