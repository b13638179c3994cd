//! The evidence sets: documents of three kinds and three lengths, and facts that stand in them once.
//!
//! Invariant: the value of every question stands in its document, and so does the value that it could
//! be taken for; what is asked for has one reading.

mod field_book;
mod incident;
mod invoice;

use streamgauge_schema::{Expectation, FieldCheck, FieldRule, Json, NumberWithin};

use crate::draw::Draw;
use crate::line::{Case, Line};

/// How many characters of a kind of document fill how many tokens, as common tokenizers count them (the
/// README beside the files says which).
#[derive(Clone, Copy, Debug)]
struct Density {
    /// Tokens of what every document of the kind has: its head, what happens in it, what is asked.
    frame_tokens: usize,
    /// Characters of a hundred tokens of all that fills it up.
    chars_per_100_tokens: usize,
}

impl Density {
    /// Characters that fill up a document of so many tokens.
    const fn fill_chars(self, tokens: usize) -> usize {
        tokens.saturating_sub(self.frame_tokens) * self.chars_per_100_tokens / 100
    }
}

/// A document, and what is asked of it.
#[derive(Debug)]
struct Document {
    text: String,
    questions: Vec<Question>,
}

/// One member of the answer.
#[derive(Debug)]
struct Question {
    member: &'static str,
    /// What it is, as the prompt says it.
    asks: String,
    is: FieldRule,
    right: Json,
    /// The value that it could be taken for, or a number beside the right one.
    wrong: Json,
}

pub(crate) fn case(set: &str, place: u32, draw: &mut Draw) -> Case {
    let tokens = match set {
        "evidence-512" => 512,
        "evidence-4k" => 4 * 1024,
        _ => 16 * 1024,
    };
    let write = match place % 3 {
        0 => field_book::write,
        1 => incident::write,
        _ => invoice::write,
    };
    let document = write(draw, tokens);
    let check = |question: &Question| FieldCheck {
        pointer: format!("/{}", question.member),
        is: question.is.clone(),
    };
    Case {
        line: Line {
            id: format!("{set}-{:02}", place + 1),
            prompt: document.prompt(),
            expect: Expectation::Fields(document.questions.iter().map(check).collect()),
        },
        right: document.answer(None),
        wrong: document.wrong_answers(),
    }
}

impl Document {
    fn prompt(&self) -> String {
        let mut prompt = format!(
            "{}\n---\nAnswer from this document with one JSON object and nothing else, neither an \
             explanation nor a code fence. Its members:\n",
            self.text
        );
        for question in &self.questions {
            prompt.push_str(&format!("- \"{}\": {}\n", question.member, question.asks));
        }
        prompt
    }

    /// A right answer, but for the question with this place.
    fn answer(&self, wrong: Option<usize>) -> String {
        let member = |(place, question): (usize, &Question)| {
            let is_wrong = wrong == Some(place);
            let value = if is_wrong { &question.wrong } else { &question.right };
            (question.member.to_owned(), value.clone())
        };
        json(&Json::Object(self.questions.iter().enumerate().map(member).collect()))
    }

    fn wrong_answers(&self) -> Vec<String> {
        let right = self.answer(None);
        let mut wrong: Vec<String> =
            (0..self.questions.len()).map(|place| self.answer(Some(place))).collect();
        wrong.push(format!("```json\n{right}\n```"));
        wrong.push(format!("Here is what the document says:\n{right}"));
        wrong.push(right[..right.len() / 2].to_owned());
        wrong.push("{}".to_owned());
        wrong
    }
}

fn json(value: &Json) -> String {
    serde_json::to_string(value).expect("a tree of texts and numbers is JSON")
}

/// A question for a text, exactly as it stands in the document.
fn text(member: &'static str, asks: impl Into<String>, right: &str, wrong: &str) -> Question {
    let (right, wrong) = (Json::from(right), Json::from(wrong));
    Question { member, asks: asks.into(), is: FieldRule::Equals(right.clone()), right, wrong }
}

/// A question for a whole number.
fn count(member: &'static str, asks: impl Into<String>, right: u64, wrong: u64) -> Question {
    let (right, wrong) = (Json::Uint(right), Json::Uint(wrong));
    Question { member, asks: asks.into(), is: FieldRule::Equals(right.clone()), right, wrong }
}

/// A question for a number of so many decimals, given as a multiple of the last of them.
fn decimal(
    member: &'static str,
    asks: impl Into<String>,
    decimals: i32,
    [right, wrong]: [u64; 2],
) -> Question {
    let unit = 10_f64.powi(decimals);
    let [right, wrong] = [right, wrong].map(|number| number as f64 / unit);
    let near = NumberWithin { value: right, within: 0.4 / unit, within_ratio: 0.0 };
    Question {
        member,
        asks: asks.into(),
        is: FieldRule::Number(near),
        right: Json::Float(right),
        wrong: Json::Float(wrong),
    }
}

/// A number of so many decimals as people write it.
fn shown(number: u64, decimals: usize) -> String {
    let unit = 10_u64.pow(decimals as u32);
    format!("{}.{:0decimals$}", number / unit, number % unit)
}
