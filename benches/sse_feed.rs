//! What a stream costs per byte: framing alone, and the whole observer, beside two other readers of
//! event streams, and beside the limit of any of them, one search of the same bytes for line ends.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Duration;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use eventsource_stream::Eventsource;
use futures_util::{FutureExt, StreamExt, stream};
use sseer::event_stream::EventStream;
use streamgauge_observer::{Observed, Observer, ObserverConfig, SseDecoder, SseItem, SseLimits};
use streamgauge_schema::{Dialect, End};

const LIMIT: usize = 16 << 20;

/// A body, and how it is cut into reads.
struct Stream {
    name: &'static str,
    body: Vec<u8>,
    read_bytes: usize,
}

fn streams() -> [Stream; 5] {
    let token = |event: usize| TOKENS[event % TOKENS.len()].to_owned();
    let long_text = |_| "word ".repeat((1 << 20) / 5);
    let servers_event = chunk(0, TOKENS[0]).len();
    [
        Stream { name: "event_a_read", body: body(2_000, |_| 0, token), read_bytes: servers_event },
        Stream { name: "16_kib_reads", body: body(20_000, |_| 0, token), read_bytes: 16 << 10 },
        Stream {
            name: "unlike_events",
            body: body(20_000, |event| event, token),
            read_bytes: 16 << 10,
        },
        Stream { name: "mib_events", body: body(4, |_| 0, long_text), read_bytes: 64 << 10 },
        Stream { name: "byte_a_read", body: body(500, |_| 0, token), read_bytes: 1 },
    ]
}

/// Tokens of one length, so that a read can be one event.
const TOKENS: [&str; 7] = [" token", " given", " after", " every", " other", " brand", " words"];

/// A chat stream of `events` output events that ends as it should; what is the same in all chunks
/// of one answer, as most servers write it, is numbered by `pattern`.
fn body(
    events: usize,
    pattern: impl Fn(usize) -> usize,
    content: impl Fn(usize) -> String,
) -> Vec<u8> {
    let mut body: String =
        (0..events).map(|event| chunk(pattern(event), &content(event))).collect();
    body.push_str(
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n",
    );
    body.push_str("data: [DONE]\n\n");
    body.into_bytes()
}

/// One event as public servers send it: about 300 bytes around one token.
fn chunk(pattern: usize, content: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-5b0c2f9d1e7a4c38b6d0a1f2{pattern:08}\",\"object\":\
         \"chat.completion.chunk\",\"created\":1764470000,\"model\":\"example-8b-instruct\",\
         \"system_fingerprint\":\"fp_0a1b2c3d4e\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\
         \"{content}\"}},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null}}\n\n"
    )
}

fn search(stream: &Stream) -> usize {
    stream.body.chunks(stream.read_bytes).map(|read| memchr::memchr_iter(b'\n', read).count()).sum()
}

fn decode(stream: &Stream) -> usize {
    let mut decoder = SseDecoder::new(SseLimits { max_line_bytes: LIMIT, max_event_bytes: LIMIT });
    let mut events = 0;
    for mut read in stream.body.chunks(stream.read_bytes) {
        while let Some(item) = decoder.next(&mut read) {
            events += usize::from(matches!(black_box(item), SseItem::Event(_)));
        }
    }
    events
}

/// The same reads as the other readers want them: shared buffers, so that none pays for a copy.
fn reads(stream: &Stream) -> Vec<Bytes> {
    stream.body.chunks(stream.read_bytes).map(Bytes::copy_from_slice).collect()
}

/// Drives a stream of results whose reads are all there.
fn count<T, E>(events: impl stream::Stream<Item = Result<T, E>>) -> usize {
    let events = events.filter(|event| std::future::ready(black_box(event).is_ok()));
    events.count().now_or_never().expect("no read has to be waited for")
}

fn eventsource_stream(reads: &[Bytes]) -> usize {
    count(stream::iter(reads).map(Ok::<_, Infallible>).eventsource())
}

fn sseer(reads: &[Bytes]) -> usize {
    count(EventStream::new(stream::iter(reads.iter().cloned()).map(Ok::<_, Infallible>)))
}

fn observe(stream: &Stream) -> Observed {
    let mut observer = Observer::new(ObserverConfig::new(Dialect::OpenaiChat));
    let mut at = Duration::ZERO;
    for read in stream.body.chunks(stream.read_bytes) {
        at += Duration::from_micros(20);
        observer.feed(read, at);
    }
    observer.finish(End::Clean, at)
}

fn feeds(criterion: &mut Criterion) {
    for stream in streams() {
        let mut group = criterion.benchmark_group("sse_feed");
        group.throughput(Throughput::Bytes(stream.body.len() as u64));
        group.bench_function(BenchmarkId::new("search", stream.name), |bencher| {
            bencher.iter(|| search(black_box(&stream)));
        });
        group.bench_function(BenchmarkId::new("decoder", stream.name), |bencher| {
            bencher.iter(|| decode(black_box(&stream)));
        });
        let reads = reads(&stream);
        assert_eq!(eventsource_stream(&reads), decode(&stream), "{}", stream.name);
        group.bench_function(BenchmarkId::new("eventsource-stream", stream.name), |bencher| {
            bencher.iter(|| eventsource_stream(black_box(&reads)));
        });
        assert_eq!(sseer(&reads), decode(&stream), "{}", stream.name);
        group.bench_function(BenchmarkId::new("sseer", stream.name), |bencher| {
            bencher.iter(|| sseer(black_box(&reads)));
        });
        assert!(observe(&stream).observation.succeeded(), "{}", stream.name);
        group.bench_function(BenchmarkId::new("observer", stream.name), |bencher| {
            bencher.iter(|| observe(black_box(&stream)));
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .without_plots();
    targets = feeds
}
criterion_main!(benches);
