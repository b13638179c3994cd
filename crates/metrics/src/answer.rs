//! How an answer ended by the words of its response, in a few bytes: each API has words of its own.

use streamgauge_schema::{Ending, Observation};

/// Finish reasons that a limit on the answer's length has, of all APIs.
const LENGTH: [&str; 4] =
    ["length", "max_output_tokens", "max_tokens", "model_context_window_exceeded"];
/// Those of an answer that the model refused or that a filter cut.
const REFUSAL: [&str; 2] = ["content_filter", "refusal"];
/// Those of an answer that came to its own end.
const STOP: [&str; 6] = ["completed", "end_turn", "eos", "eos_token", "stop", "stop_sequence"];
/// Those of an answer that calls tools.
const TOOL_CALL: [&str; 3] = ["function_call", "tool_calls", "tool_use"];

/// What a finish reason says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Finish {
    /// It came to its own end.
    Stop,
    /// It calls tools.
    ToolCall,
    /// Another reason, or one that is not known here.
    Other,
    /// A limit cut it.
    Length,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What the finish reasons say: of several choices, what is said of one counts in the order of
    /// [`Finish`], the last first. `None` when none was given.
    pub(crate) finish: Option<Finish>,
    /// The stream was complete, but some choice had no finish reason.
    pub(crate) lacks_reason: bool,
    /// A finish reason or the output itself says that the model refused.
    pub(crate) refused: bool,
}

impl Answer {
    pub(crate) fn of(seen: &Observation) -> Self {
        let reasons = || seen.finish_reasons.iter().map(String::as_str);
        // Output that is neither generated nor a tool call is a refusal: there is no other channel.
        let has_refusal =
            seen.output_events > seen.generated_events && seen.first_tool_call_us.is_none();
        Self {
            finish: reasons().map(Finish::of).max(),
            lacks_reason: seen.ending == Some(Ending::CompleteNoReason),
            refused: has_refusal || reasons().any(|reason| REFUSAL.contains(&reason)),
        }
    }
}

impl Answer {
    /// Whether it ended by itself: no limit of its length cut it.
    pub(crate) fn is_untruncated(self) -> bool {
        self.finish != Some(Finish::Length)
    }
}

/// Whether a response that succeeded ended by itself: no limit of its length cut the answer, in any
/// choice. An answer that was cut passes no grader.
///
/// The finish reasons of all APIs that mean such a limit are known: `length`, `max_tokens`,
/// `max_output_tokens` and `model_context_window_exceeded`.
#[must_use]
pub fn is_untruncated(seen: &Observation) -> bool {
    Answer::of(seen).is_untruncated()
}

impl Finish {
    fn of(reason: &str) -> Self {
        let words: [(&[&str], Self); 3] =
            [(&LENGTH, Self::Length), (&STOP, Self::Stop), (&TOOL_CALL, Self::ToolCall)];
        let known = words.iter().find(|(words, _)| words.contains(&reason));
        known.map_or(Self::Other, |(_, finish)| *finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::observation;

    fn answer(change: impl Fn(&mut Observation)) -> Answer {
        let mut seen = observation(&[10, 20], 5);
        change(&mut seen);
        Answer::of(&seen)
    }

    #[test]
    fn reasons() {
        let cases: [(&[&str], Option<Finish>, bool); 9] = [
            (&[], None, false),
            (&["stop"], Some(Finish::Stop), false),
            (&["tool_use"], Some(Finish::ToolCall), false),
            (&["length"], Some(Finish::Length), false),
            (&["max_tokens"], Some(Finish::Length), false),
            (&["content_filter"], Some(Finish::Other), true),
            (&["abort"], Some(Finish::Other), false),
            (&["stop", "length", "stop"], Some(Finish::Length), false),
            (&["stop", "refusal"], Some(Finish::Other), true),
        ];
        for (reasons, finish, refused) in cases {
            let found = answer(|seen| {
                seen.finish_reasons = reasons.iter().copied().map(str::to_owned).collect();
            });
            assert_eq!((found.finish, found.refused), (finish, refused), "{reasons:?}");
        }
    }

    #[test]
    fn a_refusal_is_output_on_no_other_channel() {
        let refusal = |seen: &mut Observation| {
            (seen.generated_events, seen.not_generated) = (0, vec![0, 1]);
            (seen.first_generated_us, seen.last_generated_us) = (None, None);
            seen.first_content_us = None;
        };
        assert!(answer(refusal).refused);
        let tool_call = |seen: &mut Observation| {
            refusal(seen);
            seen.first_tool_call_us = seen.first_output_us;
        };
        assert!(!answer(tool_call).refused);
        assert!(!answer(|_| ()).refused);
    }

    #[test]
    fn a_missing_reason_is_seen_by_the_ending() {
        assert!(!answer(|_| ()).lacks_reason);
        assert!(answer(|seen| seen.ending = Some(Ending::CompleteNoReason)).lacks_reason);
    }
}
