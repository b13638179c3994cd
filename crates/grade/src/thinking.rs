//! Reasoning that a server left in its answer.

const BEGIN: &str = "<think>";
const END: &str = "</think>";

/// The answer behind its reasoning: what follows the last end of one, up to where another begins.
pub(crate) fn behind_thinking(text: &str) -> &str {
    let answer = text.rfind(END).map_or(text, |at| &text[at + END.len()..]);
    answer.find(BEGIN).map_or(answer, |at| &answer[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_no_reasoning_is_the_answer() {
        let cases = [
            ("18", "18"),
            ("<think>1</think> 18", " 18"),
            ("1</think>18", "18"),
            ("<think>18", ""),
            ("18<think>1</think>", ""),
            ("", ""),
        ];
        for (text, answer) in cases {
            assert_eq!(behind_thinking(text), answer, "{text:?}");
        }
    }
}
