//! Faults of the wire: what is sent is no proper HTTP response, or one that no client asked for.

use std::fmt;
use std::time::Duration;

/// How the bytes of a response are spoiled, or what is sent in place of them. The connection ends
/// with the response, and all of it is sent when the first output would be due.
///
/// The text form is given with each variant; `Nb` is a number of bytes of the whole response, head
/// and framing included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFault {
    /// `chunk:length`: the second chunk of the body is longer than it says.
    ChunkLength,
    /// `chunk:size`: the size of the second chunk is no number.
    ChunkSize,
    /// `close:Nb`: the connection is closed in good order (FIN) after so many bytes.
    Close {
        /// Bytes that are sent.
        after_bytes: u64,
    },
    /// `continue`: the response comes after two interim ones (100 and 103).
    Continue,
    /// `drip:MS`: the response is sent byte by byte, so many milliseconds apart.
    Drip {
        /// From one byte to the next.
        pause: Duration,
    },
    /// `endless:continue`: interim responses (100) without an end.
    EndlessContinue,
    /// `endless:head`: headers without an end.
    EndlessHead,
    /// `endless:line`: a stream whose first line has no end.
    EndlessLine,
    /// `endless:stream`: a stream of output events without an end.
    EndlessStream,
    /// `escapes:CODE`: an error status whose message steers a terminal.
    Escapes {
        /// The status, 400 to 599.
        code: u16,
    },
    /// `garbage:body`: a proper head, and a body of all bytes there are.
    GarbageBody,
    /// `garbage:head`: bytes that are no HTTP.
    GarbageHead,
    /// `gzip`: the answer is compressed.
    Gzip,
    /// `html:CODE`: a page in place of the answer.
    Html {
        /// The status, 200 to 599.
        code: u16,
    },
    /// `http10`: the answer in HTTP/1.0, which ends with its connection.
    Http10,
    /// `large:CODE`: an error status with a body of 10 MiB.
    Large {
        /// The status, 400 to 599.
        code: u16,
    },
    /// `redirect:CODE`: the client is sent to a host that there is not.
    Redirect {
        /// The status, 300 to 399.
        code: u16,
    },
    /// `reset:Nb`: the connection is torn down (RST) after so many bytes.
    Reset {
        /// Bytes that are sent.
        after_bytes: u64,
    },
    /// `stall:Nb`: nothing more is sent after so many bytes.
    Stall {
        /// Bytes that are sent.
        after_bytes: u64,
    },
}

impl WireFault {
    /// The fault of a text that was split at its colons.
    pub(super) fn parse(parts: &[&str]) -> Option<Self> {
        let bytes = |text: &str| text.strip_suffix('b')?.parse::<u64>().ok();
        let code = |text: &str, from: u16, to: u16| {
            text.parse().ok().filter(|code| (from..=to).contains(code))
        };
        Some(match *parts {
            ["chunk", "length"] => Self::ChunkLength,
            ["chunk", "size"] => Self::ChunkSize,
            ["close", at] => Self::Close { after_bytes: bytes(at)? },
            ["continue"] => Self::Continue,
            ["drip", ms] => {
                Self::Drip { pause: Duration::from_millis(ms.parse::<u32>().ok()?.into()) }
            }
            ["endless", "continue"] => Self::EndlessContinue,
            ["endless", "head"] => Self::EndlessHead,
            ["endless", "line"] => Self::EndlessLine,
            ["endless", "stream"] => Self::EndlessStream,
            ["escapes", status] => Self::Escapes { code: code(status, 400, 599)? },
            ["garbage", "body"] => Self::GarbageBody,
            ["garbage", "head"] => Self::GarbageHead,
            ["gzip"] => Self::Gzip,
            ["html", status] => Self::Html { code: code(status, 200, 599)? },
            ["http10"] => Self::Http10,
            ["large", status] => Self::Large { code: code(status, 400, 599)? },
            ["redirect", status] => Self::Redirect { code: code(status, 300, 399)? },
            ["reset", at] => Self::Reset { after_bytes: bytes(at)? },
            ["stall", at] => Self::Stall { after_bytes: bytes(at)? },
            _ => return None,
        })
    }
}

impl fmt::Display for WireFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChunkLength => f.write_str("chunk:length"),
            Self::ChunkSize => f.write_str("chunk:size"),
            Self::Close { after_bytes } => write!(f, "close:{after_bytes}b"),
            Self::Continue => f.write_str("continue"),
            Self::Drip { pause } => write!(f, "drip:{}", pause.as_millis()),
            Self::EndlessContinue => f.write_str("endless:continue"),
            Self::EndlessHead => f.write_str("endless:head"),
            Self::EndlessLine => f.write_str("endless:line"),
            Self::EndlessStream => f.write_str("endless:stream"),
            Self::Escapes { code } => write!(f, "escapes:{code}"),
            Self::GarbageBody => f.write_str("garbage:body"),
            Self::GarbageHead => f.write_str("garbage:head"),
            Self::Gzip => f.write_str("gzip"),
            Self::Html { code } => write!(f, "html:{code}"),
            Self::Http10 => f.write_str("http10"),
            Self::Large { code } => write!(f, "large:{code}"),
            Self::Redirect { code } => write!(f, "redirect:{code}"),
            Self::Reset { after_bytes } => write!(f, "reset:{after_bytes}b"),
            Self::Stall { after_bytes } => write!(f, "stall:{after_bytes}b"),
        }
    }
}
