//! Where two answers part.

use streamgauge_schema::{AnswerPart, AnswerPlace};

use super::GivenAnswer;

/// The first place at which `other`, given in this repetition, is not `answer`; `None` when they are
/// the same.
pub(super) fn parting(
    answer: &GivenAnswer,
    other: &GivenAnswer,
    repetition: u64,
) -> Option<AnswerPlace> {
    let texts = [
        (AnswerPart::Reasoning, &answer.reasoning, &other.reasoning),
        (AnswerPart::Content, &answer.content, &other.content),
    ];
    let place = |part, character| AnswerPlace {
        part,
        character,
        output_event: answer.event_of(part, character),
        repetition,
    };
    let in_text = texts
        .into_iter()
        .find_map(|(part, text, other)| (text != other).then(|| place(part, common(text, other))));
    in_text.or_else(|| {
        let at_end = || place(AnswerPart::FinishReasons, length(&answer.content));
        (answer.finish_reasons != other.finish_reasons).then(at_end)
    })
}

/// How many characters two texts begin with in common.
fn common(text: &str, other: &str) -> u64 {
    text.chars().zip(other.chars()).take_while(|(a, b)| a == b).count() as u64
}

fn length(text: &str) -> u64 {
    text.chars().count() as u64
}

impl GivenAnswer {
    /// The event, among those with output, that brought this character of a part; behind its end, the
    /// event after the last one that brought some of it.
    fn event_of(&self, part: AnswerPart, character: u64) -> Option<u64> {
        let ends = self.event_ends.as_ref()?;
        let (column, text) = match part {
            AnswerPart::Reasoning => (0, &self.reasoning),
            AnswerPart::Content | AnswerPart::FinishReasons => (1, &self.content),
        };
        let length = length(text);
        let event = if character < length {
            ends.partition_point(|end| end[column] <= character)
        } else {
            ends.partition_point(|end| end[column] < length) + usize::from(length > 0)
        };
        Some(event as u64)
    }
}
