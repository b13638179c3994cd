//! One measured request, as far as figures need it: a run can have millions.

use streamgauge_schema::{Completion, FailureClass, Goal, GoalQuantity, Observation, RequestLine};

use crate::answer::Answer;
use crate::gaps::{GapRange, Gaps};
use crate::graded::Graded;
use crate::inflight::Span;
use crate::numbers::{Number, Numbers};
use crate::request::{Decode, final_content_us, millis, prefill_tokens, prompt_tokens};

/// A request that was sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) started_us: u64,
    numbers: Numbers,
    gaps_from: usize,
    /// A plan holds at most [`Load::MAX_REQUESTS`](streamgauge_schema::Load::MAX_REQUESTS).
    index: u32,
    pub(crate) completion: Completion,
    pub(crate) failure: Option<FailureClass>,
    /// Whether the times of its response are known by the run's time basis. If not, it has no
    /// latency, and its span ends by the clock that read it.
    pub(crate) is_timed: bool,
    /// Whether an attempt at it failed and was made again by policy.
    pub(crate) is_retried: bool,
    /// Whether what was done until the first output is the prefill of its prompt tokens.
    is_prefilled: bool,
    /// Whether its completion tokens but for the first have a rate.
    has_rate: bool,
    /// How its answer ended; nothing is said of one that has none.
    pub(crate) answer: Answer,
    /// What its grader made of it; `None` where nothing graded it.
    pub(crate) graded: Option<Graded>,
}

impl Sent {
    /// The request with all its times.
    pub(crate) fn timed(line: &RequestLine, gaps: &mut Gaps) -> Self {
        let Some(seen) = &line.observation else {
            return Self { is_timed: true, ..Self::with(line, &[]) };
        };
        let (gaps_from, gap_count) = gaps.add(line.index, seen).parts();
        let times = [
            (Number::Gaps, Some(gap_count)),
            (Number::OutputEvents, Some(seen.output_events)),
            (Number::FirstOutput, seen.first_output_us),
            (Number::LastOutput, seen.last_output_us),
            (Number::FirstGenerated, seen.first_generated_us),
            (Number::FinalContent, final_content_us(seen)),
        ];
        Self {
            is_timed: true,
            gaps_from,
            is_prefilled: prefill_tokens(line).is_some(),
            has_rate: Decode::of(line).is_ok(),
            ..Self::with(line, &times)
        }
    }

    /// The request without the times of its response.
    pub(crate) fn untimed(line: &RequestLine) -> Self {
        Self::with(line, &[])
    }

    fn with(line: &RequestLine, times: &[(Number, Option<u64>)]) -> Self {
        let delay_us = line.scheduled_us.map(|due_us| line.started_us.saturating_sub(due_us));
        let known = [
            (Number::Elapsed, Some(line.elapsed_us)),
            (Number::OutputTokens, OutputTokens::of(line).number()),
            (Number::Delay, delay_us),
            (Number::Queued, line.queued_us),
            (Number::Connect, line.connect_us),
            (Number::PromptTokens, prompt_tokens(line)),
        ];
        Self {
            started_us: line.started_us,
            numbers: Numbers::of(&[known.as_slice(), times].concat()),
            gaps_from: 0,
            index: u32::try_from(line.index).unwrap_or(u32::MAX),
            completion: line.completion,
            failure: line.failure.as_ref().map(|failure| failure.class),
            is_timed: false,
            is_retried: !line.retried.is_empty(),
            is_prefilled: false,
            has_rate: false,
            answer: line.observation.as_ref().map(Answer::of).unwrap_or_default(),
            graded: None,
        }
    }

    /// Moves it to a later time, and its due time with it.
    pub(crate) fn move_on(&mut self, by_us: u64) {
        self.started_us = self.started_us.saturating_add(by_us);
    }

    /// Moves it to an earlier time, and its due time with it.
    pub(crate) fn move_back(&mut self, by_us: u64) {
        self.started_us = self.started_us.saturating_sub(by_us);
    }

    /// Its place in its stage.
    pub(crate) fn index(&self) -> u64 {
        u64::from(self.index)
    }

    /// From its start to its end.
    pub(crate) fn elapsed_us(&self) -> u64 {
        self.numbers.get(Number::Elapsed).unwrap_or(0)
    }

    pub(crate) fn output_tokens(&self) -> OutputTokens {
        OutputTokens::of_number(self.numbers.get(Number::OutputTokens))
    }

    /// Gaps between its output events.
    pub(crate) fn output_gaps(&self) -> GapRange {
        GapRange::new(self.gaps_from, self.numbers.get(Number::Gaps).unwrap_or(0))
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.completion == Completion::Succeeded
    }

    /// When it was under way.
    pub(crate) fn span(&self) -> Span {
        Span { from_us: self.started_us, to_us: self.started_us.saturating_add(self.elapsed_us()) }
    }

    pub(crate) fn scheduled_us(&self) -> Option<u64> {
        Some(self.started_us.saturating_sub(self.delay_us()?))
    }

    pub(crate) fn queued_us(&self) -> Option<u64> {
        self.numbers.get(Number::Queued)
    }

    pub(crate) fn prompt_tokens(&self) -> Option<u64> {
        self.numbers.get(Number::PromptTokens)
    }

    /// From its due time to its start.
    pub(crate) fn delay_us(&self) -> Option<u64> {
        self.numbers.get(Number::Delay)
    }

    /// The part of its delay for which no limit of requests under way is the reason.
    pub(crate) fn lateness_us(&self) -> Option<u64> {
        Some(self.delay_us()?.saturating_sub(self.queued_us().unwrap_or(0)))
    }

    /// How many gaps lie between its output events, and how long they are together; this is known
    /// even where the single ones were not kept.
    pub(crate) fn gap_sum(&self) -> Option<(u64, u64)> {
        let count =
            self.numbers.get(Number::OutputEvents)?.checked_sub(1).filter(|count| *count > 0)?;
        Some((
            count,
            self.numbers
                .get(Number::LastOutput)?
                .checked_sub(self.numbers.get(Number::FirstOutput)?)?,
        ))
    }

    pub(crate) fn connect_us(&self) -> Option<u64> {
        self.numbers.get(Number::Connect)
    }

    pub(crate) fn output_events(&self) -> Option<u64> {
        self.numbers.get(Number::OutputEvents)
    }

    pub(crate) fn ttft_us(&self) -> Option<u64> {
        self.numbers.get(Number::FirstOutput)
    }

    pub(crate) fn first_generated_us(&self) -> Option<u64> {
        self.numbers.get(Number::FirstGenerated)
    }

    pub(crate) fn ttfc_us(&self) -> Option<u64> {
        self.numbers.get(Number::FinalContent)
    }

    pub(crate) fn e2e_us(&self) -> Option<u64> {
        self.is_timed.then_some(self.elapsed_us())
    }

    pub(crate) fn tpot_ms(&self) -> Option<f64> {
        self.decode().map(|decode| decode.tpot_ms())
    }

    pub(crate) fn decode_rate_tok_per_s(&self) -> Option<f64> {
        self.decode()?.tok_per_s(self.elapsed_us())
    }

    pub(crate) fn prefill_rate_tok_per_s(&self) -> Option<f64> {
        let first_us = self.ttft_us().filter(|us| *us > 0 && self.is_prefilled)?;
        Some(self.prompt_tokens()? as f64 / (first_us as f64 / 1e6))
    }

    pub(crate) fn ttft_from_schedule_us(&self) -> Option<u64> {
        Some(self.numbers.get(Number::FirstOutput)?.saturating_add(self.delay_us()?))
    }

    pub(crate) fn e2e_from_schedule_us(&self) -> Option<u64> {
        Some(self.e2e_us()?.saturating_add(self.delay_us()?))
    }

    /// Its value of a quantity that can have a goal.
    fn quantity_ms(&self, quantity: GoalQuantity) -> Option<f64> {
        match quantity {
            GoalQuantity::E2e => self.e2e_us().map(millis),
            GoalQuantity::Tpot => self.tpot_ms(),
            GoalQuantity::Ttfc => self.ttfc_us().map(millis),
            GoalQuantity::Ttft => self.ttft_us().map(millis),
        }
    }

    /// Whether it has every quantity that a goal limits.
    pub(crate) fn has_quantities(&self, goals: &[Goal]) -> bool {
        goals.iter().all(|goal| self.quantity_ms(goal.quantity).is_some())
    }

    /// Whether it succeeded and kept every goal. A missing value is a miss.
    pub(crate) fn is_good(&self, goals: &[Goal]) -> bool {
        let kept = |goal: &Goal| {
            self.quantity_ms(goal.quantity).is_some_and(|value| value <= goal.limit_ms)
        };
        self.succeeded() && goals.iter().all(kept)
    }

    fn decode(&self) -> Option<Decode> {
        let tokens = self.output_tokens().counted().filter(|_| self.has_rate)?;
        Some(Decode {
            first_us: self.numbers.get(Number::FirstOutput)?,
            last_us: self.numbers.get(Number::LastOutput)?,
            later_tokens: tokens.checked_sub(1)?,
        })
    }
}

/// Whether there was any output, streamed or in one body.
pub(crate) fn has_output(seen: &Observation) -> bool {
    seen.output_events > 0 || seen.whole_body_output
}

/// What a request adds to the tokens of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputTokens {
    /// It produced no output: nothing.
    None,
    /// So many, by the server's own count.
    Counted(u64),
    /// It produced output that no unambiguous count belongs to.
    Unknown,
}

impl OutputTokens {
    /// What the server counted.
    pub(crate) fn counted(self) -> Option<u64> {
        match self {
            Self::Counted(tokens) => Some(tokens),
            Self::None | Self::Unknown => None,
        }
    }

    /// As one number: missing without output, 0 where nobody counted it.
    fn number(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Counted(tokens) => Some(tokens),
            Self::Unknown => Some(0),
        }
    }

    fn of_number(number: Option<u64>) -> Self {
        match number {
            None => Self::None,
            Some(0) => Self::Unknown,
            Some(tokens) => Self::Counted(tokens),
        }
    }

    pub(crate) fn of(line: &RequestLine) -> Self {
        let Some(seen) = line.observation.as_ref().filter(|seen| has_output(seen)) else {
            return Self::None;
        };
        let usage = seen.usage.filter(|_| !seen.usage_ambiguous);
        // Output has tokens: a count of 0 was never taken.
        let counted = usage.and_then(|usage| usage.completion_tokens).filter(|tokens| *tokens > 0);
        counted.map_or(Self::Unknown, Self::Counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_million_fit() {
        assert!(size_of::<Sent>() <= 88, "{}", size_of::<Sent>());
    }
}
