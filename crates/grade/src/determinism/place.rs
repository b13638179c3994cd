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
    let place = |part, text: &str| AnswerPlace {
        part,
        character: text.chars().count() as u64,
        output_event: answer.event_behind(part, text.len()),
        repetition,
    };
    let in_text = texts
        .into_iter()
        .find_map(|(part, text, other)| (text != other).then(|| place(part, common(text, other))));
    in_text.or_else(|| {
        let at_end = || place(AnswerPart::FinishReasons, &answer.content);
        (answer.finish_reasons != other.finish_reasons).then(at_end)
    })
}

/// What two texts begin with in common.
fn common<'a>(text: &'a str, other: &str) -> &'a str {
    let same = text.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    &text[..same.map(|(same, _)| same.len_utf8()).sum()]
}

impl GivenAnswer {
    /// The event, among those with output, that brought what follows so many bytes of a part; behind its
    /// end, the event after the last one that brought some of it.
    fn event_behind(&self, part: AnswerPart, bytes: usize) -> Option<u64> {
        let ends = self.event_ends.as_ref()?;
        let (column, length) = match part {
            AnswerPart::Reasoning => (0, self.reasoning.len()),
            AnswerPart::Content | AnswerPart::FinishReasons => (1, self.content.len()),
        };
        let end = |end: &[u32; 2]| end[column] as usize;
        let event = if bytes < length {
            ends.partition_point(|it| end(it) <= bytes)
        } else {
            ends.partition_point(|it| end(it) < length) + usize::from(length > 0)
        };
        Some(event as u64)
    }
}
