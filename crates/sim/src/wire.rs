//! What is played in place of a proper response: the script of each fault of the wire. Pure.

use bytes::Bytes;

use crate::faults::WireFault;
use crate::gzip::gzip;
use crate::script::RawStep;

/// A write of a script that goes on without an end: as much as a socket takes well.
const REPEATED_BYTES: usize = 16 * 1024;
/// The body of a large error, at least.
const LARGE_BYTES: usize = 10 << 20;
/// Where redirects lead: a name that is reserved for hosts that there are not.
const ELSEWHERE: &str = "http://elsewhere.invalid/v1/chat/completions";
/// Clears the screen, sets the window's title, writes the clipboard, turns the text around: as JSON
/// escapes it, and as it is.
const STEERING: &str =
    "\\u001b[2J\\u001b]0;owned\\u0007\\u001b]52;c;b3duZWQ=\\u0007\\u202e\u{9b}31m\u{202e}";

/// The answer that the request would have got, in the pieces that go in one write each.
#[derive(Debug)]
pub(crate) struct Proper {
    pub(crate) content_type: &'static str,
    pub(crate) pieces: Vec<Bytes>,
}

/// What is sent, and the status that it has, if any.
#[derive(Debug, PartialEq)]
pub(crate) struct Script {
    pub(crate) status: Option<u16>,
    pub(crate) steps: Vec<RawStep>,
}

impl Script {
    /// What a fault makes of an answer.
    pub(crate) fn new(fault: WireFault, proper: &Proper) -> Self {
        let status = match fault {
            WireFault::Escapes { code }
            | WireFault::Html { code }
            | WireFault::Large { code }
            | WireFault::Redirect { code } => Some(code),
            WireFault::EndlessContinue | WireFault::GarbageHead => None,
            _ => Some(200),
        };
        Self { status, steps: steps(fault, proper) }
    }
}

fn steps(fault: WireFault, proper: &Proper) -> Vec<RawStep> {
    let cut = |after_bytes: u64| {
        let mut bytes = proper.chunked();
        bytes.truncate(usize::try_from(after_bytes).unwrap_or(usize::MAX));
        RawStep::Write(bytes)
    };
    match fault {
        WireFault::ChunkLength => vec![RawStep::Write(proper.with_second_chunk("1"))],
        WireFault::ChunkSize => vec![RawStep::Write(proper.with_second_chunk("size"))],
        WireFault::Close { after_bytes } => vec![cut(after_bytes)],
        WireFault::Continue => {
            let interim =
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </>\r\n\r\n";
            vec![write(interim), RawStep::Write(proper.chunked())]
        }
        WireFault::Drip { pause } => vec![RawStep::Drip { bytes: proper.chunked(), pause }],
        WireFault::EndlessContinue => vec![endless("HTTP/1.1 100 Continue\r\n\r\n")],
        WireFault::EndlessHead => {
            vec![write("HTTP/1.1 200 OK\r\n"), endless("x-more: and more\r\n")]
        }
        WireFault::EndlessLine => {
            vec![write(&head(200, "text/event-stream", "")), write("data: "), endless("more ")]
        }
        WireFault::EndlessStream => {
            let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"more \"}}]}\n\n";
            vec![write(&head(200, "text/event-stream", "")), endless(event)]
        }
        WireFault::Escapes { code } => {
            let body = format!("{{\"error\":{{\"message\":\"no {STEERING} service\"}}}}");
            vec![write(&(head(code, "application/json", &length(body.len())) + &body))]
        }
        WireFault::GarbageBody => {
            let mut bytes = head(200, "text/event-stream", "").into_bytes();
            bytes.extend(0..=u8::MAX);
            vec![RawStep::Write(bytes)]
        }
        WireFault::GarbageHead => vec![RawStep::Write((0..=u8::MAX).rev().collect())],
        WireFault::Gzip => {
            let body = gzip(&proper.pieces.concat());
            let headers = format!("content-encoding: gzip\r\n{}", length(body.len()));
            let mut bytes = head(200, proper.content_type, &headers).into_bytes();
            bytes.extend(body);
            vec![RawStep::Write(bytes)]
        }
        WireFault::Html { code } => {
            let page = "<!doctype html>\n<title>Sorry</title>\n<h1>The gateway is sorry</h1>\n";
            vec![write(&(head(code, "text/html", &length(page.len())) + page))]
        }
        WireFault::Http10 => {
            let head = format!("HTTP/1.0 200 OK\r\ncontent-type: {}\r\n\r\n", proper.content_type);
            vec![RawStep::Write([head.as_bytes(), &proper.pieces.concat()].concat())]
        }
        WireFault::Large { code } => {
            let line = "The server is sorry.\n";
            let bytes = line.repeat(REPEATED_BYTES / line.len()).into_bytes();
            let times = LARGE_BYTES.div_ceil(bytes.len());
            let head = head(code, "text/plain", &length(bytes.len() * times));
            vec![write(&head), RawStep::Repeat { bytes, times: Some(times as u64) }]
        }
        WireFault::Redirect { code } => {
            let headers = format!("location: {ELSEWHERE}\r\n{}", length(0));
            vec![write(&head(code, "text/plain", &headers))]
        }
        WireFault::Reset { after_bytes } => vec![cut(after_bytes), RawStep::Reset],
        WireFault::Stall { after_bytes } => vec![cut(after_bytes), RawStep::Hold],
    }
}

impl Proper {
    /// The whole response, its body in chunks.
    fn chunked(&self) -> Vec<u8> {
        self.with_sizes(|_, piece| format!("{:x}", piece.len()))
    }

    /// The same, but for what stands as the size of the second chunk.
    fn with_second_chunk(&self, size: &str) -> Vec<u8> {
        self.with_sizes(|index, piece| match index {
            1 => size.to_owned(),
            _ => format!("{:x}", piece.len()),
        })
    }

    fn with_sizes(&self, size: impl Fn(usize, &Bytes) -> String) -> Vec<u8> {
        let chunked = "transfer-encoding: chunked\r\n";
        let mut bytes = head(200, self.content_type, chunked).into_bytes();
        for (index, piece) in self.pieces.iter().enumerate() {
            bytes.extend(size(index, piece).as_bytes());
            bytes.extend(b"\r\n");
            bytes.extend(piece);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
        bytes
    }
}

/// A head with further header lines, each with its line end.
fn head(status: u16, content_type: &str, headers: &str) -> String {
    format!(
        "HTTP/1.1 {status} Simulated\r\ncontent-type: {content_type}\r\nconnection: close\r\n\
         {headers}\r\n"
    )
}

fn length(bytes: usize) -> String {
    format!("content-length: {bytes}\r\n")
}

fn write(text: &str) -> RawStep {
    RawStep::Write(text.as_bytes().to_vec())
}

fn endless(text: &str) -> RawStep {
    let bytes = text.repeat(REPEATED_BYTES / text.len()).into_bytes();
    RawStep::Repeat { bytes, times: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proper() -> Proper {
        let pieces =
            vec![Bytes::from_static(b"data: 1\n\n"), Bytes::from_static(b"data: [DONE]\n\n")];
        Proper { content_type: "text/event-stream", pieces }
    }

    fn written(fault: WireFault) -> Vec<u8> {
        let steps = Script::new(fault, &proper()).steps;
        let bytes = steps.into_iter().map(|step| match step {
            RawStep::Write(bytes) | RawStep::Drip { bytes, .. } => bytes,
            RawStep::Repeat { bytes, times } => bytes.repeat(times.unwrap_or(1) as usize),
            _ => Vec::new(),
        });
        bytes.collect::<Vec<_>>().concat()
    }

    #[test]
    fn a_cut_leaves_the_beginning_of_the_whole() {
        let whole = written(WireFault::Close { after_bytes: u64::MAX });
        assert!(whole.ends_with(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"));
        for after_bytes in [0, 1, 30, whole.len() - 1] {
            let cut = written(WireFault::Reset { after_bytes: after_bytes as u64 });
            assert_eq!(cut, whole[..after_bytes]);
        }
    }

    #[test]
    fn declared_lengths_are_those_of_the_bodies() {
        for fault in [
            WireFault::Escapes { code: 400 },
            WireFault::Gzip,
            WireFault::Html { code: 502 },
            WireFault::Large { code: 500 },
            WireFault::Redirect { code: 307 },
        ] {
            let bytes = written(fault);
            let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let declared = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            assert_eq!(declared.unwrap().parse(), Ok(bytes.len() - end), "{fault}");
        }
    }

    #[test]
    fn only_the_second_chunk_is_spoiled() {
        let whole = String::from_utf8(written(WireFault::Close { after_bytes: u64::MAX })).unwrap();
        let spoiled = String::from_utf8(written(WireFault::ChunkSize)).unwrap();
        assert_eq!(spoiled, whole.replace("\r\ne\r\n", "\r\nsize\r\n"));
    }
}
