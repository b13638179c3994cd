//! What a response said, without what was sent in secret: a server can give it back in any text.

use streamgauge_schema::{Extraction, Observation};

use crate::secret::Redactor;
use crate::text::bounded;

/// The texts of a response with what was sent in secret made unreadable, each of the length that it had.
pub(crate) fn masked(redactor: &Redactor, mut said: Extraction) -> Extraction {
    if redactor.is_idle() {
        return said;
    }
    let mask = |text: &mut String| redactor.mask_text(text);
    [&mut said.content_text, &mut said.reasoning_text, &mut said.refusal_text]
        .into_iter()
        .for_each(|text| mask(&mut text.0));
    let texts = said.finish_reasons.iter_mut().chain(&mut said.returned_models);
    texts.chain(&mut said.usage_invalid).chain(&mut said.error_message).for_each(mask);
    for choice in said.choices.iter_mut().flatten() {
        mask(&mut choice.content_text.0);
        mask(&mut choice.reasoning_text.0);
        choice.finish_reason.iter_mut().for_each(mask);
    }
    said
}

/// The observation with no text of the server's that gives back what was sent in secret, and none of its
/// error's that is too long for a line.
pub(crate) fn redacted(redactor: &Redactor, mut observation: Observation) -> Observation {
    if let Some(error) = &mut observation.error {
        for text in [&mut error.message, &mut error.code].into_iter().flatten() {
            *text = bounded(&redactor.redact(text));
        }
    }
    if redactor.is_idle() {
        return observation;
    }
    let texts = observation.returned_models.iter_mut().chain(&mut observation.finish_reasons);
    for text in texts.chain(&mut observation.usage_invalid) {
        *text = redactor.redact(text);
    }
    observation.server_timings = observation
        .server_timings
        .into_iter()
        .map(|(name, value)| (redactor.redact(&name), value))
        .collect();
    observation
}
