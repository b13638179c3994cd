//! What a simulated server is told: its timing, its answers and its faults.
//!
//! The members are plain; [`Sim::start`](crate::Sim::start) checks them once.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::SimError;
use crate::faults::{ConnectionRule, FaultKind, FaultRule};

const HOUR: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);

/// Everything that decides how a server behaves. The same configuration gives the same answers and
/// the same due times.
///
/// ```
/// use std::time::Duration;
/// use streamgauge_sim::SimConfig;
///
/// let slower = SimConfig { interval: Duration::from_micros(11_200), ..SimConfig::default() };
/// assert_eq!(slower.ttft, Duration::from_millis(50));
/// ```
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// How many requests the account remembers; beyond it the oldest are forgotten. Default 65,536;
    /// at 0 only the totals are kept.
    pub account_limit: usize,
    /// Tokens of an answer whose length neither the request nor an instruction decides. Default
    /// 128; at least 1.
    pub answer_tokens: u32,
    /// Answers to prompts that the server knows, by the text of the last user message, or by what
    /// follows its first line, as a line of its own may keep a prompt apart from others. Default none.
    pub answers: BTreeMap<String, String>,
    /// Whether the connection is closed after each stream although its head promised to keep it, as
    /// llama.cpp does. Default `false`.
    pub close_after_stream: bool,
    /// Faults by the ordinal of the connection; the first rule that applies wins. Default none.
    pub connection_faults: Vec<ConnectionRule>,
    /// What the counter of generated tokens at `/metrics` adds for each token. Default 1; with any other
    /// value, 0 to 2, the server counts wrong.
    pub counter_ratio: f64,
    /// Whether the account keeps the write time of every output event. Default `false`.
    pub event_times: bool,
    /// How many events that are due may share a write. Default 1: each is a write of its own; at least
    /// 1.
    pub events_per_write: u32,
    /// Faults by request ordinal; the first rule that applies wins. Default none.
    pub faults: Vec<FaultRule>,
    /// From one output event to the next. Default 10 ms; at most an hour.
    pub interval: Duration,
    /// How time to first token and intervals vary. Default [`Jitter::None`].
    pub jitter: Jitter,
    /// Whether the kernel is asked when each request arrived, which makes a read a little dearer.
    /// Default `false`.
    pub kernel_stamps: bool,
    /// The largest request body that is read. Default 64 MiB.
    pub max_body_bytes: usize,
    /// The one model that is served. Default `sim-model`.
    pub model: String,
    /// Added to `ttft` for each word of the prompt. Default zero; at most a second.
    pub prefill_per_word: Duration,
    /// Whether the beginnings of prompts are cached, as of servers that keep prefixes: usage then says
    /// how many words began an earlier prompt too, and these take no prefill. Default `false`; with it,
    /// what is due when depends on the requests before.
    pub prompt_cache: bool,
    /// Share of the token limit that is spent on reasoning before the answer. Default 0; 0 to 1.
    pub reasoning_ratio: f64,
    /// When the chunk that only names the role is sent. Default [`RoleChunk::WithFirstToken`].
    pub role_chunk: RoleChunk,
    /// Seeds the answers and the jitter. Default 0.
    pub seed: u64,
    /// Tokens in each output event (the last of a channel may hold fewer), as under speculative
    /// decoding. Default 1; at least 1.
    pub tokens_per_event: u32,
    /// From the receipt of a request to its first output event, prefill apart. Default 50 ms; at
    /// most an hour.
    pub ttft: Duration,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            account_limit: 65_536,
            answer_tokens: 128,
            answers: BTreeMap::new(),
            close_after_stream: false,
            connection_faults: Vec::new(),
            counter_ratio: 1.0,
            event_times: false,
            events_per_write: 1,
            faults: Vec::new(),
            interval: Duration::from_millis(10),
            jitter: Jitter::None,
            kernel_stamps: false,
            max_body_bytes: 64 << 20,
            model: "sim-model".to_owned(),
            prefill_per_word: Duration::ZERO,
            prompt_cache: false,
            reasoning_ratio: 0.0,
            role_chunk: RoleChunk::WithFirstToken,
            seed: 0,
            tokens_per_event: 1,
            ttft: Duration::from_millis(50),
        }
    }
}

/// By what factor each planned duration is multiplied; drawn anew for the time to first token and
/// for every interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Jitter {
    /// exp(σ·z) with z standard normal: the median factor is 1, the tail is on the slow side.
    LogNormal {
        /// Standard deviation of the factor's logarithm, 0 to 2.
        sigma: f64,
    },
    /// Always 1.
    None,
    /// Uniform between 1 − ratio and 1 + ratio.
    Uniform {
        /// Half the width, 0 to 1.
        ratio: f64,
    },
}

/// When a stream's first chunk, which names the role and holds no output, is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleChunk {
    /// As soon as the request was received.
    AtOnce,
    /// Immediately before the first token.
    WithFirstToken,
}

impl SimConfig {
    pub(crate) fn check(&self) -> Result<(), SimError> {
        let durations = [
            ("interval", self.interval, HOUR, "at most an hour"),
            ("prefill_per_word", self.prefill_per_word, SECOND, "at most a second"),
            ("ttft", self.ttft, HOUR, "at most an hour"),
        ];
        for (field, duration, longest, expected) in durations {
            within(field, duration <= longest, format!("{duration:?}"), expected)?;
        }
        let counts = [
            ("answer_tokens", self.answer_tokens),
            ("events_per_write", self.events_per_write),
            ("tokens_per_event", self.tokens_per_event),
        ];
        for (field, count) in counts {
            within(field, count >= 1, count.to_string(), "at least 1")?;
        }
        for rule in &self.faults {
            within("faults.every", rule.every >= 1, rule.every.to_string(), "at least 1")?;
            match rule.kind {
                FaultKind::Stall { resume_after: Some(pause), .. } => {
                    within(
                        "faults.resume_after",
                        pause <= HOUR,
                        format!("{pause:?}"),
                        "at most an hour",
                    )?;
                }
                FaultKind::Status { code, .. } => {
                    within(
                        "faults.code",
                        (400..600).contains(&code),
                        code.to_string(),
                        "400 to 599",
                    )?;
                }
                FaultKind::DropWords { count } => {
                    within("faults.count", count >= 1, count.to_string(), "at least 1")?;
                }
                FaultKind::Restart { pause } => {
                    within("faults.pause", pause <= HOUR, format!("{pause:?}"), "at most an hour")?;
                }
                FaultKind::ChangeWord { .. }
                | FaultKind::Close(_)
                | FaultKind::Cross
                | FaultKind::EndEarly { .. }
                | FaultKind::LengthLimited { .. }
                | FaultKind::OtherModel
                | FaultKind::Reset(_)
                | FaultKind::Stall { resume_after: None, .. }
                | FaultKind::ThinkTags
                | FaultKind::Wire(_) => {}
            }
        }
        for rule in &self.connection_faults {
            let every = rule.every.to_string();
            within("connection_faults.every", rule.every >= 1, every, "at least 1")?;
        }
        let ratio = self.reasoning_ratio;
        within("reasoning_ratio", (0.0..=1.0).contains(&ratio), ratio.to_string(), "0 to 1")?;
        let ratio = self.counter_ratio;
        within("counter_ratio", (0.0..=2.0).contains(&ratio), ratio.to_string(), "0 to 2")?;
        match self.jitter {
            Jitter::LogNormal { sigma } => {
                within("jitter.sigma", (0.0..=2.0).contains(&sigma), sigma.to_string(), "0 to 2")
            }
            Jitter::None => Ok(()),
            Jitter::Uniform { ratio } => {
                within("jitter.ratio", (0.0..=1.0).contains(&ratio), ratio.to_string(), "0 to 1")
            }
        }
    }
}

fn within(
    field: &'static str,
    holds: bool,
    value: String,
    expected: &'static str,
) -> Result<(), SimError> {
    if holds { Ok(()) } else { Err(SimError::Setting { field, value, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::FaultPoint;

    #[test]
    fn a_value_outside_its_range_is_named() {
        let base = SimConfig::default;
        let hours = Duration::from_secs(7200);
        let at = FaultPoint::BeforeHead;
        let faulty = |every, kind| SimConfig { faults: vec![FaultRule { every, kind }], ..base() };
        let cases = [
            ("answer_tokens", SimConfig { answer_tokens: 0, ..base() }),
            ("counter_ratio", SimConfig { counter_ratio: -1.0, ..base() }),
            ("events_per_write", SimConfig { events_per_write: 0, ..base() }),
            ("faults.code", faulty(1, FaultKind::Status { code: 200, retry_after_s: None })),
            ("faults.count", faulty(1, FaultKind::DropWords { count: 0 })),
            ("faults.every", faulty(0, FaultKind::Reset(at))),
            ("faults.resume_after", faulty(1, FaultKind::Stall { at, resume_after: Some(hours) })),
            ("interval", SimConfig { interval: hours, ..base() }),
            ("jitter.ratio", SimConfig { jitter: Jitter::Uniform { ratio: 1.5 }, ..base() }),
            ("jitter.sigma", SimConfig { jitter: Jitter::LogNormal { sigma: f64::NAN }, ..base() }),
            ("prefill_per_word", SimConfig { prefill_per_word: hours, ..base() }),
            ("reasoning_ratio", SimConfig { reasoning_ratio: -0.1, ..base() }),
            ("tokens_per_event", SimConfig { tokens_per_event: 0, ..base() }),
            ("ttft", SimConfig { ttft: hours, ..base() }),
        ];
        for (expected, config) in cases {
            match config.check() {
                Err(SimError::Setting { field, .. }) => assert_eq!(field, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
        assert!(SimConfig { account_limit: 0, ..base() }.check().is_ok());
    }
}
