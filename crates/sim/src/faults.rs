//! Faults as data: which request fails, how, and after how much output; and which is answered wrong.
//! Those of `wire` spoil what HTTP carries an answer in.
//!
//! A fault comes from the first of these that says anything: the request's header `x-sim-fault`,
//! its body member `"sim": {"fault": "…"}`, the [`FaultRule`]s of the configuration. The texts of
//! the first two are those that [`FaultKind`] parses, or `none`, which switches the rules off for
//! that request.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::error::FaultSyntaxError;

pub use connection::{ConnectionFault, ConnectionRule};
pub use wire::WireFault;

pub(crate) mod connection;
mod wire;

/// A fault that strikes every n-th chat completion request, counted from 1 over the life of the
/// server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultRule {
    /// The requests whose ordinal is a multiple of this; at least 1.
    pub every: u64,
    /// What happens to them.
    pub kind: FaultKind,
}

/// How a request fails, or is answered wrong.
///
/// The text form, for `x-sim-fault` and for command lines, is given with each variant; `AT` is
/// `head` or a number of output events. Without streaming a number means after the head and before
/// the body, whatever the number.
///
/// ```
/// use streamgauge_sim::{FaultKind, FaultPoint};
///
/// let fault: FaultKind = "reset:3".parse()?;
/// assert_eq!(fault, FaultKind::Reset(FaultPoint::AfterOutputs(3)));
/// assert_eq!(fault.to_string(), "reset:3");
/// # Ok::<(), streamgauge_sim::FaultSyntaxError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// `change:K`: the word at this place of the answer, from 0, is another one. Struck by rule at some
    /// requests, a server is one that does not answer the same each time.
    ChangeWord {
        /// The place; beyond the end nothing is changed.
        place: u32,
    },
    /// `close:AT`: the connection is closed in good order (FIN), the response unfinished.
    Close(FaultPoint),
    /// `cross`: the request and the next one without a fault of its own, or with this one, get each
    /// other's answers. Where none comes before its first output is due, it keeps its own.
    Cross,
    /// `drop:N`: so many words of the answer are left out, in one piece, from a seeded place after
    /// its first word.
    DropWords {
        /// Words left out: at least 1, at most all but the first.
        count: u32,
    },
    /// `end:K`: the body ends in good order without finish reason, usage and end mark. Without
    /// streaming, as `close`.
    EndEarly {
        /// Output events before the end.
        after_outputs: u64,
    },
    /// `length:K`: an answer of more words than that ends after K of them, by finish reason
    /// `length`.
    LengthLimited {
        /// Words before the end.
        after_words: u32,
    },
    /// `model`: the response names a model that was not asked for: the name with `-other` behind it.
    OtherModel,
    /// `reset:AT`: the connection is torn down (RST).
    Reset(FaultPoint),
    /// `restart:MS`: every connection is closed, and for so many milliseconds nobody listens.
    Restart {
        /// How long the server is away.
        pause: Duration,
    },
    /// `stall:AT` or `stall:AT:MS`: nothing more is sent, for good or for that many milliseconds.
    Stall {
        /// Where the server falls silent.
        at: FaultPoint,
        /// How late everything after that point is; `None`: it never comes.
        resume_after: Option<Duration>,
    },
    /// `status:CODE` or `status:CODE:RETRY_AFTER_S`: an error status with an error body in place of
    /// the answer.
    Status {
        /// The status, 400 to 599.
        code: u16,
        /// Seconds for a `Retry-After` header.
        retry_after_s: Option<u64>,
    },
    /// `think`: some thinking between `<think>` and `</think>` stands in the content before the answer.
    ThinkTags,
    /// A fault of the wire, by its own text.
    Wire(WireFault),
}

/// Where in a response a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPoint {
    /// After the head, the role chunk and this many output events; at the latest before the finish
    /// reason.
    AfterOutputs(u64),
    /// Before the first byte of the response.
    BeforeHead,
}

/// What a request orders for itself: a fault, or by `none` that no rule applies to it.
pub(crate) fn parse_order(text: &str) -> Result<Option<FaultKind>, FaultSyntaxError> {
    if text == "none" { Ok(None) } else { text.parse().map(Some) }
}

/// The fault that the rules hold for the request with this ordinal.
pub(crate) fn by_rule(rules: &[FaultRule], ordinal: u64) -> Option<FaultKind> {
    rules.iter().find(|rule| ordinal.is_multiple_of(rule.every)).map(|rule| rule.kind)
}

impl FromStr for FaultKind {
    type Err = FaultSyntaxError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| FaultSyntaxError { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<FaultKind> {
    let parts: Vec<&str> = text.split(':').collect();
    if let Some(fault) = WireFault::parse(&parts) {
        return Some(FaultKind::Wire(fault));
    }
    let point = |part: &str| match part {
        "head" => Some(FaultPoint::BeforeHead),
        count => count.parse().ok().map(FaultPoint::AfterOutputs),
    };
    Some(match parts[..] {
        ["change", place] => FaultKind::ChangeWord { place: place.parse().ok()? },
        ["close", at] => FaultKind::Close(point(at)?),
        ["cross"] => FaultKind::Cross,
        ["drop", count] => {
            let count = count.parse().ok().filter(|count| *count > 0)?;
            FaultKind::DropWords { count }
        }
        ["end", count] => FaultKind::EndEarly { after_outputs: count.parse().ok()? },
        ["length", count] => FaultKind::LengthLimited { after_words: count.parse().ok()? },
        ["model"] => FaultKind::OtherModel,
        ["reset", at] => FaultKind::Reset(point(at)?),
        ["restart", ms] => FaultKind::Restart { pause: millis(ms)? },
        ["stall", at] => FaultKind::Stall { at: point(at)?, resume_after: None },
        ["stall", at, ms] => FaultKind::Stall { at: point(at)?, resume_after: Some(millis(ms)?) },
        ["status", code] => FaultKind::Status { code: error_status(code)?, retry_after_s: None },
        ["status", code, seconds] => FaultKind::Status {
            code: error_status(code)?,
            retry_after_s: Some(seconds.parse().ok()?),
        },
        ["think"] => FaultKind::ThinkTags,
        _ => return None,
    })
}

fn millis(text: &str) -> Option<Duration> {
    Some(Duration::from_millis(text.parse::<u32>().ok()?.into()))
}

fn error_status(text: &str) -> Option<u16> {
    text.parse().ok().filter(|code| (400..600).contains(code))
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChangeWord { place } => write!(f, "change:{place}"),
            Self::Close(at) => write!(f, "close:{at}"),
            Self::Cross => f.write_str("cross"),
            Self::DropWords { count } => write!(f, "drop:{count}"),
            Self::EndEarly { after_outputs } => write!(f, "end:{after_outputs}"),
            Self::LengthLimited { after_words } => write!(f, "length:{after_words}"),
            Self::OtherModel => f.write_str("model"),
            Self::Reset(at) => write!(f, "reset:{at}"),
            Self::Restart { pause } => write!(f, "restart:{}", pause.as_millis()),
            Self::Stall { at, resume_after: None } => write!(f, "stall:{at}"),
            Self::Stall { at, resume_after: Some(pause) } => {
                write!(f, "stall:{at}:{}", pause.as_millis())
            }
            Self::Status { code, retry_after_s: None } => write!(f, "status:{code}"),
            Self::Status { code, retry_after_s: Some(seconds) } => {
                write!(f, "status:{code}:{seconds}")
            }
            Self::ThinkTags => f.write_str("think"),
            Self::Wire(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for FaultPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AfterOutputs(count) => write!(f, "{count}"),
            Self::BeforeHead => f.write_str("head"),
        }
    }
}

#[cfg(test)]
mod tests;
