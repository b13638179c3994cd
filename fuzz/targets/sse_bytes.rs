//! Any bytes through the decoder of event streams: whole, and cut at the place that the first byte
//! says, they hold the same items.
#![no_main]

use libfuzzer_sys::fuzz_target;
use streamgauge_observer::{SseDecoder, SseItem, SseLimits};

fn decode(reads: &[&[u8]]) -> Vec<(Vec<u8>, Vec<u8>, u64)> {
    let mut decoder = SseDecoder::new(SseLimits { max_line_bytes: 200, max_event_bytes: 150 });
    let mut items = Vec::new();
    for read in reads {
        let mut rest = *read;
        while let Some(item) = decoder.next(&mut rest) {
            items.push(match item {
                SseItem::Event(event) => (event.name.to_vec(), event.data.to_vec(), event.offset),
                SseItem::BareError { comments, offset } => {
                    (b"error".to_vec(), comments.to_vec(), offset)
                }
                SseItem::UnknownField { line, offset } => (Vec::new(), line.to_vec(), offset),
                SseItem::Oversized { what, offset } => {
                    (format!("{what:?}").into_bytes(), Vec::new(), offset)
                }
            });
        }
    }
    items
}

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else { return };
    let (head, tail) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    assert_eq!(decode(&[head, tail]), decode(&[bytes]));
});
