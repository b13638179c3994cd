//! Framing by lines: every line that is not blank is an event.
//!
//! As with event streams, each byte is searched once for a line end, and copied only when its line
//! is torn over reads.

use memchr::memchr;

use crate::sse::{Oversized, SseLimits};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a stream held next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineItem<'a> {
    /// A line that is not blank, without its end.
    Line {
        text: &'a [u8],
        /// Byte offset of the line in the stream.
        offset: u64,
    },
    /// A line passed a limit; nothing more is read.
    Oversized(Oversized),
}

/// Decodes lines, however their bytes are cut into reads.
#[derive(Debug)]
pub(crate) struct LineDecoder {
    limits: SseLimits,
    /// Bytes taken from the reads so far.
    position: u64,
    /// The beginning of a line whose end has not come.
    torn: Vec<u8>,
    /// `torn` was lent with the last item, to be cleared when the next one is asked for.
    lent: bool,
}

impl LineDecoder {
    pub(crate) fn new(limits: SseLimits) -> Self {
        Self { limits, position: 0, torn: Vec::new(), lent: false }
    }

    /// Takes bytes from the front of `read` up to the end of the next line that is not blank.
    /// `None` when all of `read` was taken without completing one.
    pub(crate) fn next<'a, 'b: 'a>(&'a mut self, read: &mut &'b [u8]) -> Option<LineItem<'a>> {
        self.return_torn();
        loop {
            let end = memchr(b'\n', read);
            let line_bytes = self.torn.len() + end.unwrap_or(read.len());
            if line_bytes > self.limits.max_line_bytes {
                return Some(LineItem::Oversized(Oversized::Line));
            }
            let offset = self.position - self.torn.len() as u64;
            let (line, rest) = read.split_at(end.unwrap_or(read.len()));
            if end.is_none() {
                self.torn.extend_from_slice(line);
                self.position += line.len() as u64;
                *read = rest;
                return None;
            }
            self.position += line.len() as u64 + 1;
            *read = &rest[1..];
            if self.torn.is_empty() {
                if let Some(item) = item(line, offset, self.limits) {
                    return Some(item);
                }
                continue;
            }
            self.torn.extend_from_slice(line);
            self.lent = true;
            if !is_blank(&self.torn, offset) {
                return item(&self.torn, offset, self.limits);
            }
            self.return_torn();
        }
    }

    /// The line that the end of the stream left open, if it is not blank.
    pub(crate) fn last(&self) -> Option<LineItem<'_>> {
        let torn: &[u8] = if self.lent { &[] } else { &self.torn };
        item(torn, self.position - torn.len() as u64, self.limits)
    }

    /// Bytes of memory that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        self.torn.capacity()
    }

    /// Bytes taken from the reads so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    fn return_torn(&mut self) {
        if self.lent {
            self.torn.clear();
            self.lent = false;
        }
    }
}

fn item(line: &[u8], offset: u64, limits: SseLimits) -> Option<LineItem<'_>> {
    let text = without_mark(line, offset);
    if is_blank(line, offset) {
        return None;
    }
    Some(if text.len() > limits.max_event_bytes {
        LineItem::Oversized(Oversized::Event)
    } else {
        LineItem::Line { text, offset }
    })
}

fn is_blank(line: &[u8], offset: u64) -> bool {
    without_mark(line, offset).iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// The line without the byte order mark that a stream may begin with.
fn without_mark(line: &[u8], offset: u64) -> &[u8] {
    let text = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| offset == 0);
    text.unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SseLimits = SseLimits { max_line_bytes: 12, max_event_bytes: 10 };

    fn decode(reads: &[&[u8]]) -> Vec<String> {
        let mut decoder = LineDecoder::new(LIMITS);
        let mut items = Vec::new();
        let write = |item: LineItem<'_>| match item {
            LineItem::Line { text, offset } => {
                format!("{offset} {:?}", String::from_utf8_lossy(text))
            }
            LineItem::Oversized(what) => format!("oversized {what:?}"),
        };
        for read in reads {
            let mut rest = *read;
            while let Some(item) = decoder.next(&mut rest) {
                items.push(write(item));
                if matches!(item, LineItem::Oversized(_)) {
                    return items;
                }
            }
        }
        items.extend(decoder.last().map(|item| format!("last {}", write(item))));
        items
    }

    fn check(stream: &[u8], expected: &[&str]) {
        for size in 1..=stream.len().max(1) {
            let reads: Vec<&[u8]> = stream.chunks(size).collect();
            assert_eq!(decode(&reads), expected, "in reads of {size}");
        }
    }

    #[test]
    fn lines_that_are_not_blank_are_events() {
        check(b"", &[]);
        check(b"a\nb\r\n", &[r#"0 "a""#, r#"2 "b\r""#]);
        check(b"\n \t\r\na\n\n", &[r#"5 "a""#]);
        check(b"a\rb\x0cc\n", &[r#"0 "a\rb\u{c}c""#]);
        check(b"a\nb", &[r#"0 "a""#, r#"last 2 "b""#]);
        check(b"a\n \r", &[r#"0 "a""#]);
        check(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", &[r#"0 "a""#, r#"5 "\u{feff}b""#]);
        check(b"\xef\xbb\xbf\na\n", &[r#"4 "a""#]);
    }

    #[test]
    fn a_limit_passed_ends_the_reading() {
        check(b"0123456789\n01234567890\n", &[r#"0 "0123456789""#, "oversized Event"]);
        check(b"a\n0123456789012\nb\n", &[r#"0 "a""#, "oversized Line"]);
        check(b"0123456789012", &["oversized Line"]);
        check(b"01234567890", &["last oversized Event"]);
    }
}
