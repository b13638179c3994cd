//! What kind of body a response has, decided by its head and by its first bytes.

use memchr::memchr2;
use streamgauge_schema::BodyKind;

use crate::dialect::{Shape, reader, recognise};
use crate::framing::Framing;
use crate::head::Declared;
use crate::json::Value;

/// The field names, and the comment, that an event stream can begin with.
const STREAM_BEGINNINGS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How the bytes of a body are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// No stream: kept whole and judged at its end.
    Document,
    /// Neither a type nor an API is known; the first bytes will tell.
    Guessed,
    /// A stream of lines, unless its first byte is that of a list or a page.
    Lines,
    /// The status is not 2xx: kept for the server's message.
    Refused,
    /// The type is not that of a stream; the first bytes will tell.
    Sniffed,
    /// A stream.
    Stream,
    /// The type is that of an event stream, but no line of one has come. Read as a stream, and kept in
    /// case that it turns out to be something else.
    Unproven,
}

/// What a body turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No stream.
    Document,
    /// A stream.
    Stream(Framing),
    /// An event stream or a document.
    Unproven,
}

/// The bytes that are kept while it is open what they are.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) route: Route,
    pub(crate) kept: Vec<u8>,
    limit: usize,
    /// Leading bytes of `kept` that say nothing.
    skipped: usize,
    /// Leading bytes of `kept` in which no first line ends.
    searched: usize,
}

impl Body {
    /// A body of which nothing was seen, and of which at most `limit` bytes are kept.
    pub(crate) fn new(route: Route, limit: usize) -> Self {
        Self { route, kept: Vec::new(), limit, skipped: 0, searched: 0 }
    }

    /// Keeps as much of `bytes` as the limit allows. False if any of it is lost.
    pub(crate) fn keep(&mut self, bytes: &[u8]) -> bool {
        let room = self.limit - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        bytes.len() <= room
    }

    /// Decides what the body is where its route leaves that open. `None` while it does not show.
    pub(crate) fn decide(&mut self) -> Option<Found> {
        if self.route == Route::Lines {
            if BYTE_ORDER_MARK.starts_with(&self.kept) {
                return None;
            }
            return Some(match first_byte(&self.kept)? {
                b'<' | b'[' => Found::Document,
                _ => Found::Stream(Framing::Lines),
            });
        }
        if self.begins_like_stream()? {
            return Some(Found::Stream(Framing::EventStream));
        }
        match (self.route, first_byte(&self.kept)) {
            (Route::Guessed, Some(b'{')) => self.decide_by_first_line(),
            (Route::Guessed, _) => Some(Found::Unproven),
            _ => Some(Found::Document),
        }
    }

    /// A first line that is an event of a dialect that has lines tells them from a whole object.
    fn decide_by_first_line(&mut self) -> Option<Found> {
        let searched = std::mem::replace(&mut self.searched, self.kept.len());
        let end = searched + memchr2(b'\n', b'\r', &self.kept[searched..])?;
        let dialect = text(&self.kept[..end]).and_then(|line| recognise(line, Shape::Event(b"")));
        let framing = dialect.map(|dialect| reader(dialect).framing());
        Some(match framing {
            Some(Framing::Lines) => Found::Stream(Framing::Lines),
            _ => Found::Unproven,
        })
    }

    /// Decides by the bytes kept so far whether they begin like an event stream. `None` while they
    /// may still do.
    pub(crate) fn begins_like_stream(&mut self) -> Option<bool> {
        if self.skipped == 0 && self.kept.starts_with(BYTE_ORDER_MARK) {
            self.skipped = BYTE_ORDER_MARK.len();
        }
        let rest = &self.kept[self.skipped..];
        self.skipped += rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        let rest = &self.kept[self.skipped..];
        if STREAM_BEGINNINGS.iter().any(|field| rest.starts_with(field)) {
            return Some(true);
        }
        let undecided = STREAM_BEGINNINGS.iter().any(|field| field.starts_with(rest))
            || (self.skipped == 0 && BYTE_ORDER_MARK.starts_with(rest));
        if undecided { None } else { Some(false) }
    }
}

/// The text of a whole body, without byte order mark and surrounding white space. `None` if it is
/// not UTF-8.
pub(crate) fn text(body: &[u8]) -> Option<&str> {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    std::str::from_utf8(body).ok().map(|text| text.trim_matches([' ', '\t', '\r', '\n']))
}

/// The first byte of a whole body that is not white space.
pub(crate) fn first_byte(body: &[u8]) -> Option<u8> {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    body.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// What a body is that is no stream.
pub(crate) fn kind(body: &[u8], declared: Declared) -> BodyKind {
    if declared == Declared::Compressed {
        return BodyKind::Other;
    }
    let text = text(body).unwrap_or_default();
    let is_page = text.starts_with('<') && !text.starts_with("<?");
    let is_json = text.starts_with(['{', '[']) && Value::parse(text).is_some();
    match declared {
        Declared::Html => BodyKind::Html,
        _ if is_page => BodyKind::Html,
        Declared::Json => BodyKind::Json,
        _ if is_json => BodyKind::Json,
        _ => BodyKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_a_stream() {
        for (start, expected) in [
            ("data: x", Some(true)),
            ("\u{feff}\r\n\nevent:", Some(true)),
            (": hi", Some(true)),
            ("retry:1", Some(true)),
            ("", None),
            ("\n\n", None),
            ("dat", None),
            ("data x", Some(false)),
            ("ok", Some(false)),
            ("{\"data:\":1}", Some(false)),
            (" data: x", Some(false)),
            ("\n\u{feff}data:", Some(false)),
        ] {
            let mut body = Body::new(Route::Sniffed, 100);
            let mut decided = None;
            for byte in start.as_bytes() {
                body.keep(&[*byte]);
                decided = decided.or_else(|| body.begins_like_stream());
            }
            assert_eq!(decided, expected, "{start:?}");
        }
    }

    #[test]
    fn the_first_line_tells_lines_from_a_whole_object() {
        use Found::{Document, Stream, Unproven};
        const LINE: &str = r#"{"message":{"content":"a"},"done":false}"#;
        for (route, body, expected) in [
            (Route::Guessed, "data: x", Some(Stream(Framing::EventStream))),
            (Route::Guessed, LINE, None),
            (Route::Guessed, &format!("{LINE}\r\n"), Some(Stream(Framing::Lines))),
            (Route::Guessed, "{\n\"done\"", Some(Unproven)),
            (Route::Guessed, "{\"choices\":[]}\n", Some(Unproven)),
            (Route::Guessed, "<h1>", Some(Unproven)),
            (Route::Guessed, "", None),
            (Route::Lines, " \r\n", None),
            (Route::Lines, "\u{feff}", None),
            (Route::Lines, "\u{feff}[", Some(Document)),
            (Route::Lines, "\n{", Some(Stream(Framing::Lines))),
            (Route::Lines, "<h1>", Some(Document)),
            (Route::Lines, "\n[", Some(Document)),
        ] {
            let mut kept = Body::new(route, 1000);
            let mut found = None;
            for byte in body.as_bytes() {
                kept.keep(&[*byte]);
                found = found.or_else(|| kept.decide());
            }
            assert_eq!(found, expected, "{body:?}");
        }
    }

    #[test]
    fn bodies_are_told_apart() {
        for (body, declared, expected) in [
            ("{}", Declared::Other, BodyKind::Json),
            (" [1]\n", Declared::Other, BodyKind::Json),
            ("{", Declared::Other, BodyKind::Other),
            ("{", Declared::Json, BodyKind::Json),
            ("<h1>no</h1>", Declared::EventStream, BodyKind::Html),
            ("<h1>no</h1>", Declared::Json, BodyKind::Html),
            ("<?xml version='1.0'?><Error/>", Declared::Other, BodyKind::Other),
            ("", Declared::Html, BodyKind::Html),
            ("ok", Declared::Other, BodyKind::Other),
        ] {
            assert_eq!(kind(body.as_bytes(), declared), expected, "{body:?}");
        }
    }
}
