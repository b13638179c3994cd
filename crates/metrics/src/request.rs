//! The values that one request gives: latencies, rates and the gaps between its events.
//!
//! A value that a request does not have is absent, never 0. Latencies are in milliseconds, computed
//! from the stored microseconds as `us / 1000`, and count from the request's start.

use streamgauge_schema::{AnomalyKind, Completion, Millis, Observation, RequestLine};

/// Why a request has no TPOT and no decode rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RateAbsence {
    /// Several choices report different usage.
    #[error("the choices report different usage")]
    AmbiguousUsage,
    /// Tokens were billed for reasoning that was not streamed.
    #[error("reasoning was billed but not streamed")]
    HiddenReasoning,
    /// The server's count of completion tokens is 0 although there was output.
    #[error("usage counts no tokens although there was output")]
    NoTokens,
    /// The server reported no count of completion tokens.
    #[error("no usage was reported")]
    NoUsage,
    /// The request did not succeed.
    #[error("the request did not succeed")]
    NotSucceeded,
    /// More than one choice shares the stream.
    #[error("more than one choice was streamed")]
    SeveralChoices,
    /// All output arrived in one instant.
    #[error("all output arrived in one instant")]
    SingleInstant,
    /// Fewer than two tokens were generated.
    #[error("fewer than two tokens were generated")]
    SingleToken,
}

/// Time to the first output on any channel (TTFT), in milliseconds.
#[must_use]
pub fn ttft_ms(line: &RequestLine) -> Option<f64> {
    stamp(line, |seen| seen.first_output_us)
}

/// Time to the first reasoning or content, in milliseconds.
#[must_use]
pub fn first_generated_ms(line: &RequestLine) -> Option<f64> {
    stamp(line, |seen| seen.first_generated_us)
}

/// Time to the first final content (TTFC), in milliseconds. Absent when a think tag in the content
/// shows that the channel holds more than the final answer.
#[must_use]
pub fn ttfc_ms(line: &RequestLine) -> Option<f64> {
    stamp(line, final_content_us)
}

/// Full duration of the request (E2E), in milliseconds, whatever became of it.
#[must_use]
pub fn e2e_ms(line: &RequestLine) -> f64 {
    millis(line.elapsed_us)
}

/// Time per output token after the first (TPOT), in milliseconds:
/// `(last output − first output) / (completion tokens − 1)`.
///
/// # Errors
/// The reason why the request has none.
pub fn tpot_ms(line: &RequestLine) -> Result<f64, RateAbsence> {
    Decode::of(line).map(|decode| decode.tpot_ms())
}

/// Tokens a second after the first output:
/// `(completion tokens − 1) / (elapsed − first output)`.
///
/// # Errors
/// The reason why the request has none.
pub fn decode_rate_tok_per_s(line: &RequestLine) -> Result<f64, RateAbsence> {
    Decode::of(line)?.tok_per_s(line.elapsed_us).ok_or(RateAbsence::SingleInstant)
}

/// How long after its due time the request started, in milliseconds; `None` where no schedule said
/// when it was due.
///
/// With it, each latency has a second reading: what whoever came at the due time would have seen is
/// the delay and the latency from the start together. See [`ttft_from_schedule_ms`].
#[must_use]
pub fn queue_delay_ms(line: &RequestLine) -> Option<f64> {
    delay_us(line).map(millis)
}

/// Time from the due time to the first output on any channel, in milliseconds; `None` where no
/// schedule said when the request was due.
#[must_use]
pub fn ttft_from_schedule_ms(line: &RequestLine) -> Option<f64> {
    let delay_us = delay_us(line)?;
    stamp(line, |seen| seen.first_output_us.map(|us| us.saturating_add(delay_us)))
}

/// Time from the due time to the end of the request, in milliseconds, whatever became of it; `None`
/// where no schedule said when the request was due.
#[must_use]
pub fn e2e_from_schedule_ms(line: &RequestLine) -> Option<f64> {
    delay_us(line).map(|us| millis(line.elapsed_us.saturating_add(us)))
}

/// Tokens of the prompt by the server's count; `None` when it gave none, or several that differ.
#[must_use]
pub fn prompt_tokens(line: &RequestLine) -> Option<u64> {
    let seen = line.observation.as_ref().filter(|seen| !seen.usage_ambiguous)?;
    seen.usage?.prompt_tokens
}

/// Prompt tokens a second until the first output (effective prefill rate): whatever the server did
/// until then is in it, waiting too, and tokens that came from a cache count like the others. `None`
/// without a count of prompt tokens, without a first output, and where reasoning was billed but not
/// streamed, as output then began before it was seen.
#[must_use]
pub fn prefill_rate_tok_per_s(line: &RequestLine) -> Option<f64> {
    let first_us = line.observation.as_ref()?.first_output_us.filter(|us| *us > 0)?;
    Some(prefill_tokens(line)? as f64 / (first_us as f64 / 1e6))
}

/// Gaps between consecutive output events, in milliseconds. One event can hold several tokens, so
/// these are chunk intervals and no per-token latencies.
pub fn chunk_intervals_ms(seen: &Observation) -> impl Iterator<Item = f64> {
    seen.arrivals_us.iter().skip(1).map(|us| millis(*us))
}

/// Gaps between consecutive events with reasoning or content, in milliseconds. Events that held
/// only a refusal or tool-call arguments are passed over.
pub fn generated_intervals_ms(seen: &Observation) -> impl Iterator<Item = f64> {
    generated_gaps_us(seen).map(millis)
}

pub(crate) fn generated_gaps_us(seen: &Observation) -> impl Iterator<Item = u64> {
    let mut skipped = seen.not_generated.iter().map(|place| *place as usize).peekable();
    let mut since_last = None;
    seen.arrivals_us.iter().enumerate().filter_map(move |(place, us)| {
        let gap = since_last.map(|gap: u64| gap.saturating_add(*us));
        if skipped.next_if_eq(&place).is_some() {
            since_last = gap;
            return None;
        }
        since_last = Some(0);
        gap
    })
}

/// When the first content came, where nothing shows that it holds more than the final answer.
pub(crate) fn final_content_us(seen: &Observation) -> Option<u64> {
    seen.first_content_us.filter(|_| !seen.think_tag_in_content)
}

/// Prompt tokens of a response whose first output is the end of their prefill.
pub(crate) fn prefill_tokens(line: &RequestLine) -> Option<u64> {
    let seen = line.observation.as_ref().filter(|seen| !has_hidden_reasoning(seen))?;
    seen.first_output_us?;
    prompt_tokens(line)
}

fn has_hidden_reasoning(seen: &Observation) -> bool {
    seen.anomalies.iter().any(|anomaly| anomaly.kind == AnomalyKind::HiddenReasoning)
}

fn delay_us(line: &RequestLine) -> Option<u64> {
    Some(line.started_us.saturating_sub(line.scheduled_us?))
}

/// What TPOT and decode rate have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decode {
    pub(crate) first_us: u64,
    /// Above `first_us`.
    pub(crate) last_us: u64,
    /// Completion tokens but for the first.
    pub(crate) later_tokens: u64,
}

impl Decode {
    pub(crate) fn tpot_ms(self) -> f64 {
        millis(self.last_us - self.first_us) / self.later_tokens as f64
    }

    /// `None` when the request ended in the instant of its first output.
    pub(crate) fn tok_per_s(self, elapsed_us: u64) -> Option<f64> {
        let us = elapsed_us.checked_sub(self.first_us).filter(|us| *us > 0)?;
        Some(self.later_tokens as f64 / (us as f64 / 1e6))
    }

    pub(crate) fn of(line: &RequestLine) -> Result<Self, RateAbsence> {
        let seen = line.observation.as_ref().filter(|_| line.completion == Completion::Succeeded);
        let seen = seen.ok_or(RateAbsence::NotSucceeded)?;
        if seen.usage_ambiguous {
            return Err(RateAbsence::AmbiguousUsage);
        }
        let tokens = seen.usage.and_then(|usage| usage.completion_tokens);
        let tokens = tokens.ok_or(RateAbsence::NoUsage)?;
        // What succeeded had output.
        if tokens == 0 {
            return Err(RateAbsence::NoTokens);
        }
        if seen.choices > 1 {
            return Err(RateAbsence::SeveralChoices);
        }
        if has_hidden_reasoning(seen) {
            return Err(RateAbsence::HiddenReasoning);
        }
        if tokens < 2 {
            return Err(RateAbsence::SingleToken);
        }
        match (seen.first_output_us, seen.last_output_us) {
            (Some(first_us), Some(last_us)) if first_us < last_us => {
                Ok(Self { first_us, last_us, later_tokens: tokens - 1 })
            }
            _ => Err(RateAbsence::SingleInstant),
        }
    }
}

fn stamp(line: &RequestLine, of: impl Fn(&Observation) -> Option<u64>) -> Option<f64> {
    line.observation.as_ref().and_then(of).map(millis)
}

pub(crate) fn millis(us: u64) -> f64 {
    Millis::from_micros(us).value()
}

#[cfg(test)]
mod tests;
