//! Event-stream framing as the WHATWG standard says: bytes in, events out.
//!
//! Each byte fed is searched once for a line end, and copied only when its line or its event is
//! torn over reads. What is buffered never exceeds the two limits.

use memchr::{memchr, memchr2};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Comments of one block are kept up to this many bytes: only a failure is ever read from them.
const MAX_COMMENT_BYTES: usize = 4096;

/// How much one line and one event may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseLimits {
    /// Longest line in bytes, its line end not counted.
    pub max_line_bytes: usize,
    /// Longest data of one event in bytes.
    pub max_event_bytes: usize,
}

/// What a stream held next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SseItem<'a> {
    /// A block with data was closed by a blank line.
    Event(SseEvent<'a>),
    /// A block named `error` was closed without any data. The standard dispatches nothing, but some
    /// servers report a failure so.
    BareError {
        /// The block's comments, joined by line feeds.
        comments: &'a [u8],
        /// Byte offset of the block in the stream.
        offset: u64,
    },
    /// A line whose field name event streams do not have. The standard ignores it.
    UnknownField {
        /// The whole line, without its end.
        line: &'a [u8],
        /// Byte offset of the line in the stream.
        offset: u64,
    },
    /// A line or an event passed its limit; nothing more is read.
    Oversized {
        /// Which limit it was.
        what: Oversized,
        /// Byte offset of the line or block in the stream.
        offset: u64,
    },
}

/// One dispatched event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The value of the last `event` line; empty without one.
    pub name: &'a [u8],
    /// The values of the `data` lines, joined by line feeds; never empty.
    pub data: &'a [u8],
    /// Byte offset of the block in the stream.
    pub offset: u64,
}

/// Which limit was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oversized {
    /// `max_event_bytes`.
    Event,
    /// `max_line_bytes`.
    Line,
}

/// Decodes an event stream, however its bytes are cut into reads.
///
/// ```
/// use streamgauge_observer::{SseDecoder, SseItem, SseLimits};
///
/// let limits = SseLimits { max_line_bytes: 1024, max_event_bytes: 1024 };
/// let mut decoder = SseDecoder::new(limits);
/// let mut seen = Vec::new();
/// for mut read in [&b"data: A\r\n"[..], b"data: B\r", b"\ndata: C\r\n", b"\r\n"] {
///     while let Some(item) = decoder.next(&mut read) {
///         let SseItem::Event(event) = item else { panic!("{item:?}") };
///         seen.push(event.data.to_vec());
///     }
/// }
/// assert_eq!(seen, [b"A\nB\nC"]);
/// ```
#[derive(Debug)]
pub struct SseDecoder {
    limits: SseLimits,
    /// Bytes taken from the reads so far.
    position: u64,
    /// Bytes of the leading byte order mark that have matched; its length once that is decided.
    bom: usize,
    /// The last line ended with CR, so that a line feed which comes next belongs to it.
    after_cr: bool,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    block: Block,
    /// What the last item was made of, to be cleared when the next one is asked for.
    lent: Lent,
    fields_seen: bool,
    stopped: bool,
}

/// The lines of a block that is not closed yet.
#[derive(Debug, Default)]
struct Block {
    start: Option<u64>,
    name: Vec<u8>,
    /// The values of the `data` lines, joined, after as many bytes of the first line's beginning.
    data: Vec<u8>,
    field_bytes: usize,
    has_data: bool,
    comments: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lent {
    Nothing,
    Block,
    Line,
}

/// Where the bytes of an item lie: in the read, or in the decoder's own buffer.
enum Source<'b> {
    Read(&'b [u8]),
    Buffer,
}

enum Step<'b> {
    Event(Source<'b>),
    BareError,
    UnknownField(Source<'b>, u64),
    Oversized(Oversized, u64),
}

impl SseDecoder {
    /// A decoder at the beginning of a stream.
    #[must_use]
    pub fn new(limits: SseLimits) -> Self {
        Self {
            limits,
            position: 0,
            bom: 0,
            after_cr: false,
            line: Vec::new(),
            block: Block::default(),
            lent: Lent::Nothing,
            fields_seen: false,
            stopped: false,
        }
    }

    /// Bytes of memory that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        let Block { name, data, comments, .. } = &self.block;
        [&self.line, name, data, comments].map(Vec::capacity).iter().sum()
    }

    /// Takes bytes from the front of `read` up to the end of the next item. `None` when all of
    /// `read` was taken without completing one.
    #[inline]
    pub fn next<'a, 'b: 'a>(&'a mut self, read: &mut &'b [u8]) -> Option<SseItem<'a>> {
        if let [byte] = **read
            && self.only_continues_line(byte)
        {
            self.line.push(byte);
            self.position += 1;
            *read = &[];
            return None;
        }
        self.next_item(read)
    }

    /// Whether a byte that is alone in its read does no more than to prolong a line. A stream that
    /// comes byte by byte would else cost several times what its bytes need.
    #[inline]
    fn only_continues_line(&self, byte: u8) -> bool {
        let in_line = !self.line.is_empty() && self.line.len() < self.limits.max_line_bytes;
        in_line && self.lent == Lent::Nothing && !self.stopped && byte != b'\n' && byte != b'\r'
    }

    fn next_item<'a, 'b: 'a>(&'a mut self, read: &mut &'b [u8]) -> Option<SseItem<'a>> {
        match self.lent {
            Lent::Nothing => {}
            Lent::Block => self.block.clear(),
            Lent::Line => self.line.clear(),
        }
        self.lent = Lent::Nothing;
        let step = self.step(read)?;
        let offset = self.block.start.unwrap_or(self.position);
        Some(match step {
            Step::Event(source) => {
                self.lent = Lent::Block;
                let data = match source {
                    Source::Read(data) => data,
                    Source::Buffer => self.block.value(),
                };
                SseItem::Event(SseEvent { name: &self.block.name, data, offset })
            }
            Step::BareError => {
                self.lent = Lent::Block;
                SseItem::BareError { comments: &self.block.comments, offset }
            }
            Step::UnknownField(Source::Read(line), offset) => {
                SseItem::UnknownField { line, offset }
            }
            Step::UnknownField(Source::Buffer, offset) => {
                self.lent = Lent::Line;
                SseItem::UnknownField { line: &self.line, offset }
            }
            Step::Oversized(what, offset) => {
                self.stopped = true;
                SseItem::Oversized { what, offset }
            }
        })
    }

    /// Bytes taken from the reads so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether any line so far had a field name that event streams have.
    #[must_use]
    pub fn fields_seen(&self) -> bool {
        self.fields_seen
    }

    /// The beginning of a line whose end has not come. At the end of a stream the standard discards
    /// it, together with the block that it is in.
    #[must_use]
    pub fn unfinished_line(&self) -> &[u8] {
        if self.lent == Lent::Line { &[] } else { &self.line }
    }

    /// Takes a line feed off the front of `read` if it belongs to the line end before it.
    pub(crate) fn finish_line_end(&mut self, read: &mut &[u8]) {
        if self.after_cr && !read.is_empty() {
            self.after_cr = false;
            if read[0] == b'\n' {
                self.take(read, 1);
            }
        }
    }

    fn step<'b>(&mut self, read: &mut &'b [u8]) -> Option<Step<'b>> {
        if self.stopped {
            *read = &[];
            return None;
        }
        self.skip_byte_order_mark(read);
        loop {
            self.finish_line_end(read);
            if read.is_empty() {
                return None;
            }
            let Some(end) = memchr2(b'\n', b'\r', read) else {
                return self.keep_unfinished(read);
            };
            let start = self.position - self.line.len() as u64;
            if self.line.len() + end > self.limits.max_line_bytes {
                return Some(Step::Oversized(Oversized::Line, start));
            }
            let step = if self.line.is_empty() {
                if let Some(event) = self.whole_event(read, end) {
                    return Some(event);
                }
                let line = self.take(read, end);
                self.end_line(read);
                self.take_line(line, start, Source::Read(line))
            } else {
                let rest = self.take(read, end);
                self.end_line(read);
                self.line.extend_from_slice(rest);
                if self.adopt_line(start) {
                    continue;
                }
                let line = std::mem::take(&mut self.line);
                let step = self.take_line(&line, start, Source::Buffer);
                self.line = line;
                if !matches!(step, Some(Step::UnknownField(..))) {
                    self.line.clear();
                }
                step
            };
            if step.is_some() {
                return step;
            }
        }
    }

    /// The common case: `read` begins with a `data` line, the first of its block, and the blank
    /// line comes right after it.
    fn whole_event<'b>(&mut self, read: &mut &'b [u8], end: usize) -> Option<Step<'b>> {
        let value = read[..end].strip_prefix(b"data:")?;
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let blank = match read.get(end..end + 2)? {
            b"\r\n" => end + 2,
            _ => end + 1,
        };
        let closed = matches!(read.get(blank)?, b'\n' | b'\r');
        if !closed
            || self.block.has_data
            || value.is_empty()
            || value.len() > self.limits.max_event_bytes
        {
            return None;
        }
        self.fields_seen = true;
        self.block.start.get_or_insert(self.position);
        self.after_cr = read[blank] == b'\r';
        self.take(read, blank + 1);
        Some(Step::Event(Source::Read(value)))
    }

    /// A torn line that is the first data of its block becomes its data without another copy. False
    /// if it is anything else.
    fn adopt_line(&mut self, start: u64) -> bool {
        let Some(value) = self.line.strip_prefix(b"data:") else { return false };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if self.block.has_data || value.len() > self.limits.max_event_bytes {
            return false;
        }
        self.fields_seen = true;
        self.block.start.get_or_insert(start);
        self.block.has_data = true;
        self.block.field_bytes = self.line.len() - value.len();
        std::mem::swap(&mut self.block.data, &mut self.line);
        true
    }

    fn take_line<'b>(&mut self, line: &[u8], start: u64, source: Source<'b>) -> Option<Step<'b>> {
        if line.is_empty() {
            return self.close_block();
        }
        let block_start = *self.block.start.get_or_insert(start);
        let (name, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"" => {
                self.block.comment(value);
                return None;
            }
            b"data" => {
                let joined = self.block.value().len() + usize::from(self.block.has_data);
                if joined + value.len() > self.limits.max_event_bytes {
                    return Some(Step::Oversized(Oversized::Event, block_start));
                }
                self.block.data(value);
            }
            b"event" => {
                self.block.name.clear();
                self.block.name.extend_from_slice(value);
            }
            b"id" | b"retry" => {}
            _ => return Some(Step::UnknownField(source, start)),
        }
        self.fields_seen = true;
        None
    }

    fn close_block<'b>(&mut self) -> Option<Step<'b>> {
        if !self.block.value().is_empty() {
            return Some(Step::Event(Source::Buffer));
        }
        if self.block.name == b"error" {
            return Some(Step::BareError);
        }
        self.block.clear();
        None
    }

    fn keep_unfinished<'b>(&mut self, read: &mut &'b [u8]) -> Option<Step<'b>> {
        let start = self.position - self.line.len() as u64;
        if self.line.len() + read.len() > self.limits.max_line_bytes {
            return Some(Step::Oversized(Oversized::Line, start));
        }
        let rest = self.take(read, read.len());
        self.line.extend_from_slice(rest);
        None
    }

    fn skip_byte_order_mark(&mut self, read: &mut &[u8]) {
        while self.bom < BYTE_ORDER_MARK.len() && !read.is_empty() {
            if read[0] == BYTE_ORDER_MARK[self.bom] {
                self.bom += 1;
                self.take(read, 1);
            } else {
                self.line.extend_from_slice(&BYTE_ORDER_MARK[..self.bom]);
                self.bom = BYTE_ORDER_MARK.len();
            }
        }
    }

    /// Takes the line end at the front of `read`, except a line feed that may follow a CR.
    fn end_line(&mut self, read: &mut &[u8]) {
        self.after_cr = self.take(read, 1) == b"\r";
    }

    fn take<'b>(&mut self, read: &mut &'b [u8], count: usize) -> &'b [u8] {
        let (taken, rest) = read.split_at(count);
        *read = rest;
        self.position += count as u64;
        taken
    }
}

impl Block {
    fn value(&self) -> &[u8] {
        &self.data[self.field_bytes..]
    }

    fn data(&mut self, value: &[u8]) {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
    }

    fn comment(&mut self, value: &[u8]) {
        if !self.comments.is_empty() && self.comments.len() < MAX_COMMENT_BYTES {
            self.comments.push(b'\n');
        }
        let room = MAX_COMMENT_BYTES.saturating_sub(self.comments.len());
        self.comments.extend_from_slice(&value[..value.len().min(room)]);
    }

    fn clear(&mut self) {
        self.start = None;
        self.name.clear();
        self.data.clear();
        self.field_bytes = 0;
        self.has_data = false;
        self.comments.clear();
    }
}

#[cfg(test)]
mod tests;
