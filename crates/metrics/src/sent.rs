//! One measured request, as far as figures need it: a run can have millions.

use streamgauge_schema::{Completion, FailureClass, Goal, GoalQuantity, Observation, RequestLine};

use crate::answer::Answer;
use crate::gaps::{GapRange, Gaps};
use crate::graded::Graded;
use crate::inflight::Span;
use crate::request::{Decode, final_content_us, millis, prefill_tokens, prompt_tokens};

/// A count or a stamp that may be missing, in eight bytes. The greatest number stands for none: in
/// microseconds it would be 584,000 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaybeU64(u64);

impl MaybeU64 {
    pub(crate) const NONE: Self = Self(u64::MAX);

    pub(crate) fn get(self) -> Option<u64> {
        (self != Self::NONE).then_some(self.0)
    }
}

impl From<Option<u64>> for MaybeU64 {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Self::NONE, |value| Self(value.min(u64::MAX - 1)))
    }
}

/// A request that was sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) index: u64,
    pub(crate) completion: Completion,
    pub(crate) failure: Option<FailureClass>,
    /// Whether the times of its response are known by the run's time basis. If not, it has no
    /// latency, and its span ends by the clock that read it.
    pub(crate) is_timed: bool,
    /// Whether an attempt at it failed and was made again by policy.
    pub(crate) is_retried: bool,
    pub(crate) started_us: u64,
    pub(crate) elapsed_us: u64,
    pub(crate) output_tokens: OutputTokens,
    /// How its answer ended; nothing is said of one that has none.
    pub(crate) answer: Answer,
    /// What its grader made of it; `None` where nothing graded it.
    pub(crate) graded: Option<Graded>,
    /// Gaps between its output events.
    pub(crate) output_gaps: GapRange,
    scheduled_us: MaybeU64,
    queued_us: MaybeU64,
    connect_us: MaybeU64,
    prompt_tokens: MaybeU64,
    output_events: MaybeU64,
    first_output_us: MaybeU64,
    last_output_us: MaybeU64,
    first_generated_us: MaybeU64,
    final_content_us: MaybeU64,
    /// Whether what was done until the first output is the prefill of its prompt tokens.
    is_prefilled: bool,
    /// Completion tokens but for the first, where they have a rate.
    later_tokens: MaybeU64,
}

impl Sent {
    /// The request with all its times.
    pub(crate) fn timed(line: &RequestLine, gaps: &mut Gaps) -> Self {
        let sent = Self::untimed(line);
        let Some(seen) = &line.observation else { return Self { is_timed: true, ..sent } };
        Self {
            is_timed: true,
            output_gaps: gaps.add(line.index, seen),
            output_events: Some(seen.output_events).into(),
            first_output_us: seen.first_output_us.into(),
            last_output_us: seen.last_output_us.into(),
            first_generated_us: seen.first_generated_us.into(),
            final_content_us: final_content_us(seen).into(),
            is_prefilled: prefill_tokens(line).is_some(),
            later_tokens: Decode::of(line).ok().map(|decode| decode.later_tokens).into(),
            ..sent
        }
    }

    /// The request without the times of its response.
    pub(crate) fn untimed(line: &RequestLine) -> Self {
        Self {
            index: line.index,
            completion: line.completion,
            failure: line.failure.as_ref().map(|failure| failure.class),
            is_timed: false,
            is_retried: !line.retried.is_empty(),
            started_us: line.started_us,
            elapsed_us: line.elapsed_us,
            output_tokens: OutputTokens::of(line),
            answer: line.observation.as_ref().map(Answer::of).unwrap_or_default(),
            graded: None,
            output_gaps: GapRange::default(),
            scheduled_us: line.scheduled_us.into(),
            queued_us: line.queued_us.into(),
            connect_us: line.connect_us.into(),
            prompt_tokens: prompt_tokens(line).into(),
            output_events: MaybeU64::NONE,
            first_output_us: MaybeU64::NONE,
            last_output_us: MaybeU64::NONE,
            first_generated_us: MaybeU64::NONE,
            final_content_us: MaybeU64::NONE,
            is_prefilled: false,
            later_tokens: MaybeU64::NONE,
        }
    }

    /// Moves it to a later time.
    pub(crate) fn move_on(&mut self, by_us: u64) {
        self.started_us = self.started_us.saturating_add(by_us);
        let scheduled_us = self.scheduled_us().map(|us| us.saturating_add(by_us));
        self.scheduled_us = scheduled_us.into();
    }

    /// Moves it to an earlier time.
    pub(crate) fn move_back(&mut self, by_us: u64) {
        self.started_us = self.started_us.saturating_sub(by_us);
        let scheduled_us = self.scheduled_us().map(|us| us.saturating_sub(by_us));
        self.scheduled_us = scheduled_us.into();
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.completion == Completion::Succeeded
    }

    /// When it was under way.
    pub(crate) fn span(&self) -> Span {
        Span { from_us: self.started_us, to_us: self.started_us.saturating_add(self.elapsed_us) }
    }

    pub(crate) fn scheduled_us(&self) -> Option<u64> {
        self.scheduled_us.get()
    }

    pub(crate) fn queued_us(&self) -> Option<u64> {
        self.queued_us.get()
    }

    pub(crate) fn prompt_tokens(&self) -> Option<u64> {
        self.prompt_tokens.get()
    }

    /// From its due time to its start.
    pub(crate) fn delay_us(&self) -> Option<u64> {
        Some(self.started_us.saturating_sub(self.scheduled_us()?))
    }

    /// The part of its delay for which no limit of requests under way is the reason.
    pub(crate) fn lateness_us(&self) -> Option<u64> {
        Some(self.delay_us()?.saturating_sub(self.queued_us().unwrap_or(0)))
    }

    /// How many gaps lie between its output events, and how long they are together; this is known
    /// even where the single ones were not kept.
    pub(crate) fn gap_sum(&self) -> Option<(u64, u64)> {
        let count = self.output_events.get()?.checked_sub(1).filter(|count| *count > 0)?;
        Some((count, self.last_output_us.get()?.checked_sub(self.first_output_us.get()?)?))
    }

    pub(crate) fn connect_us(&self) -> Option<u64> {
        self.connect_us.get()
    }

    pub(crate) fn output_events(&self) -> Option<u64> {
        self.output_events.get()
    }

    pub(crate) fn ttft_us(&self) -> Option<u64> {
        self.first_output_us.get()
    }

    pub(crate) fn first_generated_us(&self) -> Option<u64> {
        self.first_generated_us.get()
    }

    pub(crate) fn ttfc_us(&self) -> Option<u64> {
        self.final_content_us.get()
    }

    pub(crate) fn e2e_us(&self) -> Option<u64> {
        self.is_timed.then_some(self.elapsed_us)
    }

    pub(crate) fn tpot_ms(&self) -> Option<f64> {
        self.decode().map(|decode| decode.tpot_ms())
    }

    pub(crate) fn decode_rate_tok_per_s(&self) -> Option<f64> {
        self.decode()?.tok_per_s(self.elapsed_us)
    }

    pub(crate) fn prefill_rate_tok_per_s(&self) -> Option<f64> {
        let first_us = self.ttft_us().filter(|us| *us > 0 && self.is_prefilled)?;
        Some(self.prompt_tokens()? as f64 / (first_us as f64 / 1e6))
    }

    pub(crate) fn ttft_from_schedule_us(&self) -> Option<u64> {
        Some(self.first_output_us.get()?.saturating_add(self.delay_us()?))
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
        Some(Decode {
            first_us: self.first_output_us.get()?,
            last_us: self.last_output_us.get()?,
            later_tokens: self.later_tokens.get()?,
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
