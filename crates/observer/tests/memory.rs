//! Memory: nothing is allocated per event in steady state, and a hostile stream gains nothing.

use std::time::Duration;

use allocation_counter::measure;
use streamgauge_observer::{Observer, ObserverConfig, Progress};
use streamgauge_schema::{Dialect, End, Ending, Head};

/// About 300 bytes around one token, as public servers send it.
const EVENT: &str = "data: {\"id\":\"chatcmpl-5b0c2f9d1e7a4c38b6d0a1f2e3c4d5b6\",\"object\":\"chat.completion.chunk\",\"created\":1764470000,\"model\":\"example-8b-instruct\",\"system_fingerprint\":\"fp_0a1b2c3d4e\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" to\\nken\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n";

/// Bytes of a hostile stream.
const FED: usize = 2 * 1024 * 1024;

/// One event of each other dialect, as its servers send it.
const OTHER_EVENTS: [(Dialect, &str); 7] = [
    (
        Dialect::AnthropicMessages,
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" to\\nken\"}}\n\n",
    ),
    (
        Dialect::OllamaChat,
        "{\"model\":\"m\",\"created_at\":\"2026-03-04T05:06:07Z\",\"message\":{\"role\":\"assistant\",\"content\":\" to\\nken\"},\"done\":false}\n",
    ),
    (
        Dialect::OllamaGenerate,
        "{\"model\":\"m\",\"created_at\":\"2026-03-04T05:06:07Z\",\"response\":\" to\\nken\",\"done\":false}\r\n",
    ),
    (
        Dialect::OpenaiCompletions,
        "data: {\"object\":\"text_completion\",\"choices\":[{\"text\":\" to\\nken\",\"index\":0,\"logprobs\":null,\"finish_reason\":null}],\"model\":\"m\",\"usage\":null}\n\n",
    ),
    (
        Dialect::OpenaiResponses,
        "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":9,\"output_index\":0,\"delta\":\" to\\nken\",\"logprobs\":[]}\n\n",
    ),
    (
        Dialect::SglangGenerate,
        "data: {\"text\":\" to\\nken\",\"meta_info\":{\"id\":\"a\",\"finish_reason\":null,\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n",
    ),
    (
        Dialect::TgiGenerate,
        "data:{\"index\":1,\"token\":{\"id\":41,\"text\":\" to\\nken\",\"logprob\":-0.25,\"special\":false},\"generated_text\":null,\"details\":null}\n\n",
    ),
];

#[test]
fn no_event_allocates() {
    const EVENTS: u64 = 10_000;
    for (dialect, event) in [(Dialect::OpenaiChat, EVENT)].into_iter().chain(OTHER_EVENTS) {
        for read_bytes in [event.len(), 100, 1000] {
            for keep_texts in [true, false] {
                let mut config = ObserverConfig::new(dialect);
                config.keep_texts = keep_texts;
                let mut observer = Observer::new(config);
                let body = event.repeat(100);
                let mut feed = |times: u64| {
                    for _ in 0..times / 100 {
                        for read in body.as_bytes().chunks(read_bytes) {
                            observer.feed(read, Duration::ZERO);
                        }
                    }
                };
                feed(1000);
                let counted = measure(|| feed(EVENTS));
                // Arrivals and texts grow by doubling: a few times in all, whatever the number.
                assert!(
                    counted.count_total <= 24,
                    "{dialect} {read_bytes} {keep_texts}: {counted:?}"
                );
            }
        }
    }
}

/// Feeds `make(0)`, `make(1)`, … until all is fed or the observer wants no more; gives the bytes
/// that the observer holds then.
fn held_after(head: Option<Head>, make: impl Fn(u64) -> String) -> u64 {
    let config = ObserverConfig {
        max_line_bytes: 8 * 1024,
        max_event_bytes: 8 * 1024,
        max_text_bytes: 8 * 1024,
        max_output_events: 8 * 1024,
        ..ObserverConfig::new(Dialect::OpenaiChat)
    };
    let mut observer = Observer::new(config);
    if let Some(head) = head {
        observer.head(head);
    }
    let mut fed = 0;
    let mut held = 0;
    for number in 0.. {
        let read = make(number);
        let mut progress = Progress::More;
        held += measure(|| progress = observer.feed(read.as_bytes(), Duration::ZERO)).bytes_current;
        fed += read.len();
        if fed > FED || progress == Progress::Over {
            break;
        }
    }
    drop(observer.finish(End::Clean, Duration::ZERO));
    u64::try_from(held).unwrap_or(0)
}

#[test]
fn a_hostile_stream_stays_within_the_limits() {
    // Line, event and comment buffers, texts, 1,024 choices, 64 models, times and token counts of
    // 8,192 output events: each may have doubled once.
    const LIMIT: u64 = 640 * 1024;
    let chunk = |number: u64, choice: &str| {
        format!(
            "data: {{\"model\":\"m{number}\",\"choices\":[{{\"index\":{number},{choice}}}]}}\n\n"
        )
    };
    let refused = || Head { status: 500, ..Head::default() };
    for (what, held) in [
        ("a line without end", held_after(None, |_| "x".repeat(1000))),
        ("data lines without end", held_after(None, |_| "data: x\n".repeat(100))),
        ("comments without end", held_after(None, |_| ": x\n".repeat(100))),
        ("unknown lines without end", held_after(None, |_| "{\"error\":\"x\"}\n".repeat(100))),
        ("line feeds", held_after(Some(Head::default()), |_| "\n".repeat(1000))),
        ("a document without end", held_after(Some(Head::default()), |_| "x".repeat(1000))),
        ("a refusal without end", held_after(Some(refused()), |_| "x".repeat(1000))),
        ("choices and models", held_after(None, |number| chunk(number, "\"delta\":{}"))),
        (
            "long reasons",
            held_after(None, |number| {
                chunk(number % 1024, &format!("\"finish_reason\":\"{}\"", "r".repeat(5000)))
            }),
        ),
        (
            "output events",
            held_after(None, |number| {
                chunk(0, "\"delta\":{\"refusal\":\"x\"}").replace(
                    "\"choices\"",
                    &format!("\"usage\":{{\"completion_tokens\":{}}},\"choices\"", number + 1),
                )
            }),
        ),
        ("errors", held_after(None, |number| format!("data: {{\"error\":\"{number}\"}}\n\n"))),
        ("rubbish events", held_after(None, |number| format!("data: {number}\n\n"))),
    ] {
        assert!(held < LIMIT, "{what}: {held} bytes");
    }
}

/// Half a mebibyte of what costs a reader most, over and over the same.
fn hostile(event: impl Fn(&str) -> String) -> Vec<u8> {
    const BYTES: usize = 512 * 1024;
    let choices: String =
        (0..40).map(|n| format!("{{\"index\":{},\"delta\":{{}}}},", n * 77)).collect();
    let block: String = [
        format!("{{\"choices\":[{choices}{{}}],\"model\":\"{}\"}}", "m".repeat(2000)),
        format!("{{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}", "a\\u00e9".repeat(1000)),
        format!("{{\"a\":{}{}}}", "[".repeat(3000), "]".repeat(3000)),
        format!("{{\"a\":{}}}", "[{\"b\":".repeat(700)),
        format!("{{\"timings\":{{\"a\":\"{}\"}}}}", "t".repeat(7000)),
        "{\"error\":{\"message\":\"again\"}}".to_owned(),
        "\"\\ud83d".to_owned(),
        "{}".to_owned(),
    ]
    .iter()
    .map(|data| event(data))
    .collect();
    block.repeat(BYTES / block.len() + 1).into_bytes()
}

/// Mebibytes that are fed in all: as many as `HOSTILE_MIB` says, else 64.
fn hostile_mebibytes() -> usize {
    let asked = std::env::var("HOSTILE_MIB").ok();
    asked.map_or(64, |mebibytes| mebibytes.parse().expect("HOSTILE_MIB is a whole number"))
}

#[test]
fn a_stream_without_end_is_read_in_the_memory_of_its_beginning() {
    const LIMIT: u64 = 1024 * 1024;
    let block = |data: &str| format!(": c\n\nnope: {data}\ndata: {data}\n\n\r\n");
    let line = |data: &str| format!("{data}\n \r\n");
    for (dialect, bytes) in
        [(Dialect::OpenaiChat, hostile(block)), (Dialect::OllamaChat, hostile(line))]
    {
        let mut observer = Observer::new(ObserverConfig {
            max_line_bytes: 16 * 1024,
            max_event_bytes: 16 * 1024,
            max_text_bytes: 16 * 1024,
            ..ObserverConfig::new(dialect)
        });
        let times = hostile_mebibytes() * 1024 * 1024 / 2 / bytes.len() + 1;
        let held = measure(|| {
            for _ in 0..times {
                assert_eq!(observer.feed(&bytes, Duration::ZERO), Progress::More);
            }
        });
        assert!(held.bytes_max < LIMIT, "{dialect}: {} bytes", held.bytes_max);
        let observed = observer.finish(End::Clean, Duration::ZERO);
        assert_eq!(observed.observation.bytes, (times * bytes.len()) as u64);
        assert_eq!(observed.observation.ending, Some(Ending::Truncated));
    }
}
