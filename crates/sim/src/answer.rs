//! What the server answers: a pure function of seed, prompt and token limits.
//!
//! One token is one word with the white space before it, so any number of leading tokens joins to
//! sane text. An answer is the text that the request's member `sim.answer` holds, or the one that the
//! configuration knows for its prompt. Otherwise the last user message may hold instructions, in any
//! case of letters:
//!
//! - `begin with the marker M`: the answer begins with M and one space.
//! - `repeat the word W N times` (or `exactly N times`): W, N times, with one space between.
//! - `return JSON with fields {…}`: that JSON object, as it is written there.
//! - `what is A + B` (or `-`, `*`), of whole numbers: the result.
//!
//! M and W are taken without quotes around them and without punctuation after them. Without any but
//! the first the answer is seeded pseudo-words.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::config::SimConfig;
use crate::seeded::{Purpose, generator};
use rand_core::Rng;

/// No answer is longer, whatever is asked for.
pub(crate) const MAX_ANSWER_TOKENS: u32 = 131_072;

/// The part of a request that an answer depends on.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    /// The whole answer, where the request itself gives it.
    pub(crate) answer: Option<String>,
    /// The text of the last user message.
    pub(crate) instruction: String,
    /// The contents of all messages, one after another.
    pub(crate) text: String,
}

/// How long an answer may become.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Go on to the limit instead of ending where the answer would; without a limit it has no
    /// effect.
    pub(crate) ignore_eos: bool,
    /// Reasoning included; 1 to [`MAX_ANSWER_TOKENS`].
    pub(crate) max_tokens: Option<u32>,
}

/// An answer, as tokens.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) content: Tokens,
    pub(crate) finish: FinishReason,
    pub(crate) reasoning: Tokens,
}

/// Tokens one after another in one text, so that an answer costs two allocations and not one a
/// token.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tokens {
    /// Where each token ends in the text.
    ends: Vec<usize>,
    text: String,
}

impl Tokens {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text of all tokens.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text of some tokens, by their places.
    pub(crate) fn slice(&self, places: Range<usize>) -> &str {
        &self.text[self.start(places.start)..self.start(places.end)]
    }

    /// Adds one token: the white space before a word, and the word.
    pub(crate) fn push(&mut self, space: &str, word: &str) {
        self.text.push_str(space);
        self.text.push_str(word);
        self.ends.push(self.text.len());
    }

    fn start(&self, place: usize) -> usize {
        if place == 0 { 0 } else { self.ends[place - 1] }
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        if length < self.len() {
            self.text.truncate(self.start(length));
            self.ends.truncate(length);
        }
    }
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishReason {
    Length,
    Stop,
}

/// Composes the answer. An instructed answer that fits its limit exactly ends with `stop`;
/// pseudo-words have no end of their own, so under a limit they end with `length`.
pub(crate) fn compose(config: &SimConfig, prompt: &Prompt, limits: Limits) -> Answer {
    let mut rng = generator(config.seed, Purpose::Answer, &prompt.text);
    let limit = limits.max_tokens.unwrap_or(config.answer_tokens).min(MAX_ANSWER_TOKENS);
    let reasoning_tokens = (f64::from(limit) * config.reasoning_ratio).round() as usize;
    let mut reasoning = Tokens::default();
    extend_with_words(&mut reasoning, reasoning_tokens, &mut rng);

    let mut content = Tokens::default();
    let instructed = match given(config, prompt) {
        Some(text) => {
            tokens(text).into_iter().for_each(|token| content.push("", token));
            true
        }
        None => follow(&prompt.instruction, &mut content),
    };
    let endless = limits.max_tokens.is_some() && (limits.ignore_eos || !instructed);
    let budget = match limits.max_tokens {
        None if instructed => MAX_ANSWER_TOKENS,
        _ => limit,
    } as usize
        - reasoning_tokens;

    let cut = content.len() > budget;
    content.truncate(budget);
    if endless || !instructed {
        extend_with_words(&mut content, budget, &mut rng);
    }
    let finish = if endless || cut { FinishReason::Length } else { FinishReason::Stop };
    Answer { content, finish, reasoning }
}

/// The answer that the request gives, or that is known for its prompt.
fn given<'a>(config: &'a SimConfig, prompt: &'a Prompt) -> Option<&'a str> {
    let known = |text: &str| config.answers.get(text);
    let asked = prompt.instruction.as_str();
    let behind_first_line = || asked.split_once('\n').and_then(|(_, rest)| known(rest));
    prompt.answer.as_ref().or_else(|| known(asked).or_else(behind_first_line)).map(String::as_str)
}

/// Follows the instructions; false when none but the first says what to answer.
fn follow(instruction: &str, content: &mut Tokens) -> bool {
    if let Some(marker) = marker(instruction) {
        content.push("", marker);
    }
    repeat(instruction, content)
        || copy_json(instruction, content)
        || calculate(instruction, content)
}

/// The words after `phrase`, wherever it first occurs with at least one word after it.
fn after<'a>(text: &'a str, phrase: &[&str]) -> Option<Vec<&'a str>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let found = words.windows(phrase.len() + 1).position(|window| {
        window.iter().zip(phrase).all(|(word, wanted)| word.eq_ignore_ascii_case(wanted))
    })?;
    Some(words[found + phrase.len()..].to_vec())
}

/// A word without quotes around it and punctuation after it; `None` if nothing is left.
fn bare(word: &str) -> Option<&str> {
    let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?']).trim_matches(['"', '\'', '`']);
    (!word.is_empty()).then_some(word)
}

fn marker(instruction: &str) -> Option<&str> {
    let rest = after(instruction, &["begin", "with", "the", "marker"])?;
    bare(rest.first()?)
}

/// Follows the second instruction, if there is one.
fn repeat(instruction: &str, content: &mut Tokens) -> bool {
    let Some((word, count)) = repetition(instruction) else { return false };
    for _ in 0..count {
        content.push(if content.is_empty() { "" } else { " " }, word);
    }
    true
}

/// A word, and how often it is to be repeated.
fn repetition(instruction: &str) -> Option<(&str, usize)> {
    let rest = after(instruction, &["repeat", "the", "word"])?;
    let (word, count, times) = match rest[..] {
        [word, exactly, count, times, ..] if exactly.eq_ignore_ascii_case("exactly") => {
            (word, count, times)
        }
        [word, count, times, ..] => (word, count, times),
        _ => return None,
    };
    if !bare(times)?.eq_ignore_ascii_case("times") {
        return None;
    }
    // One more than the limit, so that a longer answer is seen to be cut.
    let count = count.parse::<usize>().ok()?.min(MAX_ANSWER_TOKENS as usize + 1);
    Some((bare(word)?, count))
}

/// Follows the third instruction, if there is one.
fn copy_json(instruction: &str, content: &mut Tokens) -> bool {
    let Some(object) = json_object(instruction) else { return false };
    let separator = if content.is_empty() { "" } else { " " };
    for (index, token) in tokens(object.get()).into_iter().enumerate() {
        content.push(if index == 0 { separator } else { "" }, token);
    }
    true
}

/// Follows the fourth instruction, if there is one.
fn calculate(instruction: &str, content: &mut Tokens) -> bool {
    let Some(result) = calculation(instruction) else { return false };
    content.push(if content.is_empty() { "" } else { " " }, &result.to_string());
    true
}

fn calculation(instruction: &str) -> Option<i64> {
    let [one, sign, other, ..] = after(instruction, &["what", "is"])?[..] else { return None };
    let (one, other): (i64, i64) = (one.parse().ok()?, bare(other)?.parse().ok()?);
    match sign {
        "+" => one.checked_add(other),
        "-" => one.checked_sub(other),
        "*" => one.checked_mul(other),
        _ => None,
    }
}

fn json_object(instruction: &str) -> Option<&RawValue> {
    const PHRASE: &str = "return json with fields";
    let found = instruction.to_ascii_lowercase().find(PHRASE)?;
    let rest = instruction[found + PHRASE.len()..].trim_start();
    if !rest.starts_with('{') {
        return None;
    }
    serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>().next()?.ok()
}

/// Cuts before each run of white space that follows a word.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let (mut begin, mut previous_is_space) = (0, true);
    for (place, character) in text.char_indices() {
        if character.is_whitespace() && !previous_is_space {
            tokens.push(&text[begin..place]);
            begin = place;
        }
        previous_is_space = character.is_whitespace();
    }
    tokens.push(&text[begin..]);
    tokens
}

/// Appends pseudo-words until `tokens` holds `length`.
pub(crate) fn extend_with_words(tokens: &mut Tokens, length: usize, rng: &mut impl Rng) {
    const CONSONANTS: &[u8] = b"bdfgklmnprstvz";
    const VOWELS: &[u8] = b"aeiou";
    while tokens.len() < length {
        if !tokens.is_empty() {
            tokens.text.push(' ');
        }
        for _ in 0..=rng.next_u32() % 3 {
            for letters in [CONSONANTS, VOWELS] {
                tokens.text.push(letters[rng.next_u32() as usize % letters.len()].into());
            }
        }
        tokens.push("", "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(instruction: &str) -> Prompt {
        let text = instruction.to_owned();
        Prompt { answer: None, instruction: text.clone(), text }
    }

    fn composed(
        config: &SimConfig,
        instruction: &str,
        max_tokens: Option<u32>,
        ignore_eos: bool,
    ) -> Answer {
        let prompt = asked(instruction);
        compose(config, &prompt, Limits { ignore_eos, max_tokens })
    }

    #[test]
    fn instructions_are_followed() {
        let cases = [
            ("Repeat the word blue 4 times.", "blue blue blue blue"),
            ("Please repeat the word \"red\" exactly 2 times, no more", "red red"),
            ("repeat the word x 1 times", "x"),
            ("repeat the word x 0 times", ""),
            ("Begin with the marker [M-7]. Then repeat the word go 2 times.", "[M-7] go go"),
            (
                r#"Return JSON with fields {"a": 1,  "b": [true, "x y"]} only."#,
                r#"{"a": 1,  "b": [true, "x y"]}"#,
            ),
            (r#"begin with the marker Q, return json with fields {"a":1}"#, r#"Q {"a":1}"#),
            ("return json with fields {\"a\":\n1}", "{\"a\":\n1}"),
            ("What is 17 + 25?", "42"),
            ("Begin with the marker Q. What is -3 * 4", "Q -12"),
        ];
        for (instruction, expected) in cases {
            let answer = composed(&SimConfig::default(), instruction, None, false);
            assert_eq!(answer.content.text(), expected, "{instruction}");
            assert_eq!(answer.finish, FinishReason::Stop);
        }
    }

    #[test]
    fn a_given_answer_comes_before_all_instructions() {
        let prompt = "repeat the word w 2 times";
        let config = SimConfig {
            answers: [(prompt.to_owned(), "it is known".to_owned())].into(),
            ..SimConfig::default()
        };
        let limits = Limits { ignore_eos: false, max_tokens: Some(5) };
        let own = Prompt { answer: Some("my  own".to_owned()), ..asked(prompt) };
        let marked = asked("[one of its own]\nrepeat the word w 2 times");
        for (prompt, expected) in [
            (own, "my  own"),
            (asked(prompt), "it is known"),
            (marked, "it is known"),
            (asked("another\nrepeat the word w 3 times"), "w w w"),
        ] {
            let answer = compose(&config, &prompt, limits);
            assert_eq!((answer.content.text(), answer.finish), (expected, FinishReason::Stop));
        }
    }

    #[test]
    fn what_is_no_instruction_gives_words() {
        let texts = [
            "",
            "begin with the marker",
            "begin with the marker \"\"",
            "repeat the word x",
            "repeat the word x many times",
            "repeat the word x 3 lines",
            "repeat the word x 99999999999999999999999 times",
            "return JSON with fields a and b",
            "return JSON with fields {\"a\": ",
            "what is one + 2",
            "what is 9223372036854775807 + 1",
            "what is 6 / 2",
        ];
        for text in texts {
            let answer = composed(&SimConfig::default(), text, None, false);
            assert_eq!(answer.content.len(), 128, "{text}");
            assert!(
                answer.content.text().bytes().all(|byte| byte == b' ' || byte.is_ascii_lowercase()),
                "{text}"
            );
        }
    }

    #[test]
    fn limits_decide_length_and_finish_reason() {
        use FinishReason::{Length, Stop};
        let repeat = "repeat the word w 10 times";
        let marker = "begin with the marker M";
        // instruction, reasoning ratio, max_tokens, ignore_eos; reasoning tokens, content tokens,
        // finish reason
        let cases = [
            ("hello", 0.0, None, false, 0, 128, Stop),
            ("hello", 0.0, None, true, 0, 128, Stop),
            ("hello", 0.0, Some(5), false, 0, 5, Length),
            ("hello", 0.0, Some(500), false, 0, 500, Length),
            ("hello", 0.25, None, false, 32, 96, Stop),
            ("hello", 0.25, Some(8), false, 2, 6, Length),
            ("hello", 1.0, Some(8), false, 8, 0, Length),
            (repeat, 0.0, Some(10), false, 0, 10, Stop),
            (repeat, 0.0, Some(9), false, 0, 9, Length),
            (repeat, 0.0, Some(12), true, 0, 12, Length),
            (repeat, 0.5, Some(30), false, 15, 10, Stop),
            ("repeat the word w 400 times", 0.5, None, false, 64, 400, Stop),
            ("repeat the word w 900000 times", 0.0, None, false, 0, 131_072, Length),
            (marker, 0.0, Some(3), false, 0, 3, Length),
            (marker, 0.0, None, false, 0, 128, Stop),
            (marker, 1.0, None, false, 128, 0, Length),
        ];
        for (instruction, reasoning_ratio, max_tokens, ignore_eos, reasoning, content, finish) in
            cases
        {
            let config = SimConfig { reasoning_ratio, ..SimConfig::default() };
            let answer = composed(&config, instruction, max_tokens, ignore_eos);
            let found = (answer.reasoning.len(), answer.content.len(), answer.finish);
            assert_eq!(
                found,
                (reasoning, content, finish),
                "{instruction} {max_tokens:?} {ignore_eos}"
            );
        }
    }

    #[test]
    fn any_number_of_leading_tokens_is_sane_text() {
        let answer = composed(&SimConfig::default(), "begin with the marker M", None, false);
        for length in 1..=answer.content.len() {
            let text = answer.content.slice(0..length);
            assert_eq!(text.split(' ').count(), length);
            assert_eq!(text.split_whitespace().count(), length);
        }
        assert!(answer.content.text().starts_with("M "));
    }

    #[test]
    fn the_answer_depends_on_seed_and_prompt_alone() {
        let seeded = |seed| SimConfig { seed, ..SimConfig::default() };
        let base = composed(&seeded(1), "hello", None, false);
        assert_eq!(base, composed(&seeded(1), "hello", None, false));
        assert_ne!(base, composed(&seeded(2), "hello", None, false));
        assert_ne!(base, composed(&seeded(1), "hallo", None, false));
    }
}
