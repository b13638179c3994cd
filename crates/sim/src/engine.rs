//! The timing model: which events a response holds and when each is due.
//!
//! Pure: times count from the receipt of the request, and nothing here reads a clock. Without
//! jitter the k-th output event (from 0) is due at `ttft + words · prefill_per_word + k ·
//! interval`, words that came from a cache left out; under jitter each of the two parts of that sum,
//! and each interval, is multiplied by its own factor. The due times are absolute: a late event makes
//! no later one late. Finish reason, usage and end mark are due with the last output event; a response
//! that is not streamed, head included, too.

use std::ops::Range;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;

use crate::answer::{Answer, FinishReason, Tokens};
use crate::chat::{ChatRequest, StreamUsage};
use crate::config::{Jitter, RoleChunk, SimConfig};
use crate::faults::{FaultKind, FaultPoint};
use crate::seeded::{Purpose, generator, normal, unit};

/// A response as it is to be sent.
#[derive(Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) answer: Answer,
    /// When the head is due; `None`: `end` comes in place of it.
    pub(crate) head: Option<Duration>,
    /// In order of sending; due times never decrease.
    pub(crate) steps: Vec<Step>,
    /// What follows the last step.
    pub(crate) end: End,
}

/// One event of the body.
#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) due: Duration,
    pub(crate) event: Event,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    /// `[DONE]`.
    Done,
    Finish(FinishReason),
    /// Tokens of the answer, by their places in their channel.
    Output {
        channel: Channel,
        places: Range<usize>,
    },
    Role,
    Usage,
    /// A response that is not streamed.
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Content,
    Reasoning,
}

/// How a response ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The body ends as HTTP wants it; by fault: before its end mark.
    Body {
        by_fault: bool,
    },
    Close,
    Hang,
    Reset,
}

impl Answer {
    /// The tokens of one channel.
    pub(crate) fn tokens(&self, channel: Channel) -> &Tokens {
        match channel {
            Channel::Content => &self.content,
            Channel::Reasoning => &self.reasoning,
        }
    }

    /// How many tokens an event carries.
    pub(crate) fn tokens_of(&self, event: &Event) -> u64 {
        match event {
            Event::Output { places, .. } => places.len() as u64,
            Event::Whole => (self.reasoning.len() + self.content.len()) as u64,
            Event::Done | Event::Finish(_) | Event::Role | Event::Usage => 0,
        }
    }
}

impl Plan {
    /// The fault-free response. `key` names the request for the jitter.
    pub(crate) fn new(
        config: &SimConfig,
        request: &ChatRequest,
        answer: Answer,
        key: &str,
    ) -> Self {
        let mut pace = Pace::new(config, request, key);
        let first = pace.first();
        let finish = answer.finish;
        let mut outputs = Vec::new();
        let mut last = first;
        for channel in [Channel::Reasoning, Channel::Content] {
            let (count, size) = (answer.tokens(channel).len(), config.tokens_per_event as usize);
            for begin in (0..count).step_by(size) {
                if !outputs.is_empty() {
                    last += pace.interval();
                }
                let places = begin..(begin + size).min(count);
                outputs.push(Step { due: last, event: Event::Output { channel, places } });
            }
        }
        let end = End::Body { by_fault: false };
        if !request.stream {
            let steps = vec![Step { due: last, event: Event::Whole }];
            return Self { answer, head: Some(last), steps, end };
        }
        let role_due = match config.role_chunk {
            RoleChunk::AtOnce => Duration::ZERO,
            RoleChunk::WithFirstToken => first,
        };
        let mut steps = vec![Step { due: role_due, event: Event::Role }];
        steps.append(&mut outputs);
        let usage = (request.usage != StreamUsage::Never).then_some(Event::Usage);
        let closing = [Some(Event::Finish(finish)), usage, Some(Event::Done)];
        steps.extend(closing.into_iter().flatten().map(|event| Step { due: last, event }));
        Self { answer, head: Some(Duration::ZERO), steps, end }
    }

    /// When the first output of a request's response is due, whatever the answer is.
    pub(crate) fn first_output(config: &SimConfig, request: &ChatRequest, key: &str) -> Duration {
        Pace::new(config, request, key).first()
    }

    /// The same response under a fault. A fault that replaces the response is no matter of a plan, and
    /// neither is one of the answer.
    pub(crate) fn with_fault(mut self, fault: FaultKind) -> Self {
        match fault {
            FaultKind::Close(at) => self.cut(at, End::Close),
            FaultKind::EndEarly { after_outputs } => {
                let end = if self.is_whole() { End::Close } else { End::Body { by_fault: true } };
                self.cut(FaultPoint::AfterOutputs(after_outputs), end);
            }
            FaultKind::Reset(at) => self.cut(at, End::Reset),
            FaultKind::Stall { at, resume_after: None } => self.cut(at, End::Hang),
            FaultKind::Stall { at, resume_after: Some(pause) } => {
                let from = self.fault_index(at);
                for step in &mut self.steps[from..] {
                    step.due += pause;
                }
                if at == FaultPoint::BeforeHead {
                    self.head = self.head.map(|due| due + pause);
                }
            }
            FaultKind::Cross
            | FaultKind::ChangeWord { .. }
            | FaultKind::DropWords { .. }
            | FaultKind::LengthLimited { .. }
            | FaultKind::OtherModel
            | FaultKind::Restart { .. }
            | FaultKind::Status { .. }
            | FaultKind::ThinkTags
            | FaultKind::Wire(_) => {}
        }
        self
    }

    fn cut(&mut self, at: FaultPoint, end: End) {
        self.steps.truncate(self.fault_index(at));
        if at == FaultPoint::BeforeHead {
            self.head = None;
        }
        self.end = end;
    }

    /// The first step that a fault at this point touches.
    fn fault_index(&self, at: FaultPoint) -> usize {
        let FaultPoint::AfterOutputs(count) = at else { return 0 };
        let roles = self.steps.iter().take_while(|step| step.event == Event::Role).count();
        let outputs =
            self.steps.iter().filter(|step| matches!(step.event, Event::Output { .. })).count();
        roles + usize::try_from(count).unwrap_or(usize::MAX).min(outputs)
    }

    /// Whether the response is not streamed.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.steps[..], [Step { event: Event::Whole, .. }])
    }
}

/// Draws the durations of one request.
struct Pace {
    interval: Duration,
    jitter: Jitter,
    prefill: Duration,
    rng: ChaCha8Rng,
    ttft: Duration,
}

impl Pace {
    fn new(config: &SimConfig, request: &ChatRequest, key: &str) -> Self {
        let words = request.prompt_words - request.cached_words.unwrap_or(0);
        Self {
            interval: config.interval,
            jitter: config.jitter,
            prefill: config.prefill_per_word * u32::try_from(words).unwrap_or(u32::MAX),
            rng: generator(config.seed, Purpose::Timing, key),
            ttft: config.ttft,
        }
    }

    fn first(&mut self) -> Duration {
        self.varied(self.ttft) + self.varied(self.prefill)
    }

    fn interval(&mut self) -> Duration {
        self.varied(self.interval)
    }

    fn varied(&mut self, duration: Duration) -> Duration {
        match self.jitter {
            Jitter::LogNormal { sigma } => duration.mul_f64((sigma * normal(&mut self.rng)).exp()),
            Jitter::None => duration,
            Jitter::Uniform { ratio } => {
                duration.mul_f64(1.0 + ratio * (2.0 * unit(&mut self.rng) - 1.0))
            }
        }
    }
}

#[cfg(test)]
mod tests;
