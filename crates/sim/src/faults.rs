//! Faults as data: which request fails, how, and after how much output; and which is answered wrong.
//!
//! A fault comes from the first of these that says anything: the request's header `x-sim-fault`,
//! its body member `"sim": {"fault": "…"}`, the [`FaultRule`]s of the configuration. The texts of
//! the first two are those that [`FaultKind`] parses, or `none`, which switches the rules off for
//! that request.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::error::FaultSyntaxError;

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
        ["stall", at] => FaultKind::Stall { at: point(at)?, resume_after: None },
        ["stall", at, ms] => {
            let resume_after = Some(Duration::from_millis(ms.parse::<u32>().ok()?.into()));
            FaultKind::Stall { at: point(at)?, resume_after }
        }
        ["status", code] => FaultKind::Status { code: error_status(code)?, retry_after_s: None },
        ["status", code, seconds] => FaultKind::Status {
            code: error_status(code)?,
            retry_after_s: Some(seconds.parse().ok()?),
        },
        ["think"] => FaultKind::ThinkTags,
        _ => return None,
    })
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
            Self::Stall { at, resume_after: None } => write!(f, "stall:{at}"),
            Self::Stall { at, resume_after: Some(pause) } => {
                write!(f, "stall:{at}:{}", pause.as_millis())
            }
            Self::Status { code, retry_after_s: None } => write!(f, "status:{code}"),
            Self::Status { code, retry_after_s: Some(seconds) } => {
                write!(f, "status:{code}:{seconds}")
            }
            Self::ThinkTags => f.write_str("think"),
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
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_text_that_reads_back() {
        let pause = Some(Duration::from_millis(250));
        let cases = [
            ("change:4", FaultKind::ChangeWord { place: 4 }),
            ("close:head", FaultKind::Close(FaultPoint::BeforeHead)),
            ("close:0", FaultKind::Close(FaultPoint::AfterOutputs(0))),
            ("cross", FaultKind::Cross),
            ("drop:3", FaultKind::DropWords { count: 3 }),
            ("end:2", FaultKind::EndEarly { after_outputs: 2 }),
            ("length:5", FaultKind::LengthLimited { after_words: 5 }),
            ("model", FaultKind::OtherModel),
            ("think", FaultKind::ThinkTags),
            ("reset:head", FaultKind::Reset(FaultPoint::BeforeHead)),
            ("reset:7", FaultKind::Reset(FaultPoint::AfterOutputs(7))),
            ("stall:1", FaultKind::Stall { at: FaultPoint::AfterOutputs(1), resume_after: None }),
            (
                "stall:head:250",
                FaultKind::Stall { at: FaultPoint::BeforeHead, resume_after: pause },
            ),
            ("status:503", FaultKind::Status { code: 503, retry_after_s: None }),
            ("status:429:2", FaultKind::Status { code: 429, retry_after_s: Some(2) }),
        ];
        for (text, fault) in cases {
            assert_eq!(parse_order(text), Ok(Some(fault)));
            assert_eq!(fault.to_string(), text);
        }
        assert_eq!(parse_order("none"), Ok(None));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "reset",
            "reset:-1",
            "end:head",
            "cross:1",
            "drop",
            "drop:0",
            "length:-1",
            "model:",
            "think:1",
            "status:200",
            "status:600",
            "stall:1:2:3",
            "close:1:2",
        ] {
            assert_eq!(parse_order(text), Err(FaultSyntaxError { text: text.to_owned() }));
        }
    }

    #[test]
    fn the_first_rule_that_divides_the_ordinal_wins() {
        let reset = FaultKind::Reset(FaultPoint::BeforeHead);
        let status = FaultKind::Status { code: 500, retry_after_s: None };
        let rules = [FaultRule { every: 4, kind: reset }, FaultRule { every: 2, kind: status }];
        let expected = [None, Some(status), None, Some(reset), None, Some(status)];
        for (ordinal, fault) in (1..).zip(expected) {
            assert_eq!(by_rule(&rules, ordinal), fault, "request {ordinal}");
        }
    }
}
