//! Streams, and the items that they hold however they are cut.

use super::*;

const LIMITS: SseLimits = SseLimits { max_line_bytes: 24, max_event_bytes: 20 };

/// Writes every item as one line of text.
fn decode(reads: &[&[u8]]) -> Vec<String> {
    let mut decoder = SseDecoder::new(LIMITS);
    let mut items = Vec::new();
    for read in reads {
        let mut rest = *read;
        while let Some(item) = decoder.next(&mut rest) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            items.push(match item {
                SseItem::Event(SseEvent { name, data, offset }) => {
                    format!("{offset} event {:?} {:?}", text(name), text(data))
                }
                SseItem::BareError { comments, offset } => {
                    format!("{offset} error {:?}", text(comments))
                }
                SseItem::UnknownField { line, offset } => {
                    format!("{offset} unknown {:?}", text(line))
                }
                SseItem::Oversized { what, offset } => format!("{offset} oversized {what:?}"),
            });
        }
        assert!(rest.is_empty() || decoder.stopped);
    }
    items
}

fn check(stream: &[u8], expected: &[&str]) {
    assert_eq!(decode(&[stream]), expected, "in one read");
    for size in [1, 2, 3, 5, 7] {
        let reads: Vec<&[u8]> = stream.chunks(size).collect();
        assert_eq!(decode(&reads), expected, "in reads of {size}");
    }
    for cut in 0..=stream.len() {
        assert_eq!(decode(&[&stream[..cut], &stream[cut..]]), expected, "cut at {cut}");
    }
}

#[test]
fn every_line_end_closes_a_line() {
    check(
        b"data: a\n\ndata: b\r\rdata: c\r\n\r\n",
        &[r#"0 event "" "a""#, r#"9 event "" "b""#, r#"18 event "" "c""#],
    );
    check(b"data: a\r\ndata: b\rdata: c\n\n", &[r#"0 event "" "a\nb\nc""#]);
    check("data: a\u{2028}b\u{c}c\n\n".as_bytes(), &["0 event \"\" \"a\\u{2028}b\\u{c}c\""]);
}

#[test]
fn fields_are_named_exactly_and_lose_one_blank() {
    check(b"data:a\n\ndata:  b\n\n", &[r#"0 event "" "a""#, r#"8 event "" " b""#]);
    check(b"event: x\nevent:y\nid: 1\nretry: 2\ndata: a\n\n", &[r#"0 event "y" "a""#]);
    check(
        b"Data: a\n data: b\ndata : c\n\n",
        &[r#"0 unknown "Data: a""#, r#"8 unknown " data: b""#, r#"17 unknown "data : c""#],
    );
}

#[test]
fn only_blocks_with_data_are_events() {
    check(b"\n\n: hi\n\nid: 1\n\ndata\n\ndata:\n\nevent: ping\n\n", &[]);
    check(b"event: x\n\ndata: a\n\n", &[r#"10 event "" "a""#]);
    check(b"data\ndata\n\n", &[r#"0 event "" "\n""#]);
    check(b"data: a\n: note\ndata: b\n\n", &[r#"0 event "" "a\nb""#]);
    check(b"data: a\n\ndata: b\n", &[r#"0 event "" "a""#]);
}

#[test]
fn an_error_block_without_data_gives_its_comments() {
    check(b"event: error\n: lost\n:later\n\n", &[r#"0 error "lost\nlater""#]);
    check(b"event: error\n\n", &[r#"0 error """#]);
    check(b"event: error\nevent: x\n: lost\n\n", &[]);
}

#[test]
fn one_leading_byte_order_mark_is_dropped() {
    check(b"\xef\xbb\xbfdata: a\n\n", &[r#"3 event "" "a""#]);
    check(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", &[r#"3 unknown "\u{feff}data: a""#]);
    check(b"\xef\xbbdata: a\n\n", &["0 unknown \"\u{fffd}data: a\""]);
}

#[test]
fn a_limit_passed_ends_the_reading() {
    check(
        b"data: 678901234567890123\n\ndata: 6789012345678901234\n\n",
        &[r#"0 event "" "678901234567890123""#, "26 oversized Line"],
    );
    check(
        b"data: a\n\ndata: 0123456789\ndata: 123456789\ndata: z\n\n",
        &[r#"0 event "" "a""#, "9 oversized Event"],
    );
    check(b": 0123456789012345678901234567890123456789", &["0 oversized Line"]);
}

#[test]
fn a_bare_carriage_return_completes_its_event_at_once() {
    let mut decoder = SseDecoder::new(LIMITS);
    assert_eq!(decoder.next(&mut &b"data: a\r\n"[..]), None);
    assert!(matches!(decoder.next(&mut &b"\r"[..]), Some(SseItem::Event(_))));
    assert_eq!(decoder.next(&mut &b"\ndata: b"[..]), None);
    assert_eq!(decoder.unfinished_line(), b"data: b");
    assert_eq!(decoder.position(), 18);
}
