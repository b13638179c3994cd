//! What holds for every stream, written well or not.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use streamgauge_observer::{Observed, Observer, ObserverConfig};
use streamgauge_schema::{Dialect, End, Head};

/// Small limits, so that they are passed often.
fn config() -> ObserverConfig {
    ObserverConfig {
        max_line_bytes: 300,
        max_event_bytes: 400,
        max_text_bytes: 200,
        ..ObserverConfig::new(Dialect::OpenaiChat)
    }
}

/// Observes bytes cut at these places; every read comes some microseconds after the one before.
fn observe(bytes: &[u8], cuts: &[(Index, u64)], head: Option<Head>, end: End) -> Observed {
    let mut observer = Observer::new(config());
    if let Some(head) = head {
        observer.head(head);
    }
    let mut offsets: Vec<(usize, u64)> =
        cuts.iter().map(|(cut, wait_us)| (cut.index(bytes.len() + 1), *wait_us)).collect();
    offsets.sort_unstable();
    offsets.push((bytes.len(), 1));
    let mut at = Duration::ZERO;
    let mut start = 0;
    for (offset, wait_us) in offsets {
        at += Duration::from_micros(wait_us);
        observer.feed(&bytes[start..offset], at);
        start = offset;
    }
    observer.finish(end, at)
}

fn text() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "",
        " ",
        "a",
        "é",
        "🌊",
        "<",
        "<th",
        "ink>",
        "</think>",
        "[THI",
        "NK]",
        "◁",
        "think▷",
        r"\n",
        r#"\""#,
        r"\\",
        r"\u003c",
        r"\ud83d",
        r"\ude00",
        r"\ud83d\ude0a",
    ]);
    vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

fn data() -> impl Strategy<Value = String> {
    let delta = prop_oneof![
        4 => text().prop_map(|text| format!(r#""content":"{text}""#)),
        2 => text().prop_map(|text| format!(r#""reasoning":"{text}","content":null"#)),
        1 => text().prop_map(|text| format!(r#""content":[{{"type":"text","text":"{text}"}}]"#)),
        1 => text().prop_map(|text| format!(r#""refusal":"{text}""#)),
        1 => text().prop_map(|text| {
            format!(r#""tool_calls":[{{"function":{{"arguments":"{text}"}}}}]"#)
        }),
        1 => Just(String::new()),
    ];
    let finish = select(vec!["null", "null", "null", r#""""#, r#""stop""#, r#""error""#]);
    let count = select(vec!["0", "3", "7", "12.0", "1e1", "-1", "7.5", "\"3\"", "null"]);
    prop_oneof![
        12 => (delta, 0..3_u8, finish).prop_map(|(delta, index, finish)| format!(
            r#"{{"model":"m{index}","choices":[{{"index":{index},"delta":{{{delta}}},"finish_reason":{finish}}}]}}"#
        )),
        2 => count.prop_map(|count| format!(
            r#"{{"choices":[],"usage":{{"completion_tokens":{count}}},"timings":{{"n":{count}}}}}"#
        )),
        1 => Just(r#"{"error":{"message":"lost"}}"#.to_owned()),
        1 => Just("{\"choices\":\ndata: []}".to_owned()),
        1 => Just(" [DONE]".to_owned()),
        1 => select(vec!["nul", "[1]", ": ping", ""]).prop_map(str::to_owned),
    ]
}

/// Streams as servers write them, and some of what they should not write.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let block = prop_oneof![
        12 => data().prop_map(|data| format!("data: {data}\n\n")),
        1 => data().prop_map(|data| format!("event: error\ndata: {data}\n\n")),
        1 => data().prop_map(|data| format!("{data}\n\n")),
        1 => select(vec![": ping\n\n", "\n", "event: error\n: lost\n\n", "error: no\n", "id: 1\n"])
            .prop_map(str::to_owned),
    ];
    (vec((block, select(vec!["\n", "\r", "\r\n"])), 0..12), select(vec!["", "\u{feff}"])).prop_map(
        |(blocks, start)| {
            let blocks: String =
                blocks.iter().map(|(block, line_end)| block.replace('\n', line_end)).collect();
            format!("{start}{blocks}").into_bytes()
        },
    )
}

/// Bytes in which the bytes that matter are common.
fn rubbish() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        select(vec![
            "data", "event", "error", ":", " ", "\n", "\r", "{", "}", "[", "]", "\"", "\\",
            "\u{feff}", "data: {}", "[DONE]", "\n\n", "choices", ",", "1", "é",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        vec(any::<u8>(), 0..4),
        vec(select(vec![b'x', b'\n']), 0..300),
    ];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn cuts() -> impl Strategy<Value = Vec<(Index, u64)>> {
    vec((any::<Index>(), 0..5_u64), 0..16)
}

fn head() -> impl Strategy<Value = Option<Head>> {
    let content_type = select(vec!["text/event-stream", "application/json", "text/html", ""]);
    let head =
        (select(vec![200, 200, 200, 500]), content_type).prop_map(|(status, content_type)| Head {
            status,
            content_type: Some(content_type.to_owned()),
            ..Head::default()
        });
    proptest::option::of(head)
}

fn end() -> impl Strategy<Value = End> {
    select(vec![End::Clean, End::Clean, End::Incomplete, End::Reset, End::Timeout])
}

fn check_times(observed: &Observed) -> Result<(), TestCaseError> {
    let observation = &observed.observation;
    let stamps = [
        observation.first_event_us,
        observation.first_output_us,
        observation.last_output_us,
        Some(observation.elapsed_us),
    ];
    let stamps: Vec<u64> = stamps.into_iter().flatten().collect();
    prop_assert!(stamps.is_sorted(), "{:?}", stamps);
    let total: u64 = observation.arrivals_us.iter().sum();
    prop_assert_eq!(total, observation.last_output_us.unwrap_or(0));
    prop_assert_eq!(observation.arrivals_us.first().copied(), observation.first_output_us);
    prop_assert_eq!(observation.arrivals_us.len() as u64, observation.output_events);
    let others = observation.output_events - observation.generated_events;
    prop_assert_eq!(observation.not_generated.len() as u64, others);
    prop_assert!(observation.not_generated.is_sorted());
    for first in [observation.first_reasoning_us, observation.first_content_us] {
        prop_assert!(first.is_none() || first >= observation.first_generated_us);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn cuts_never_change_what_a_stream_says(
        bytes in stream(), cuts in cuts(), head in head(), end in end(),
    ) {
        let whole = observe(&bytes, &[], head.clone(), end);
        let torn = observe(&bytes, &cuts, head, end);
        prop_assert_eq!(&torn.extraction, &whole.extraction);
        prop_assert_eq!(&torn.observation.error, &whole.observation.error);
        prop_assert_eq!(&torn.observation.anomalies, &whole.observation.anomalies);
        check_times(&torn)?;
    }

    #[test]
    fn cuts_never_change_what_rubbish_says(
        bytes in rubbish(), cuts in cuts(), head in head(), end in end(),
    ) {
        let whole = observe(&bytes, &[], head.clone(), end);
        let torn = observe(&bytes, &cuts, head, end);
        prop_assert_eq!(&torn.extraction, &whole.extraction);
        prop_assert_eq!(&torn.observation.anomalies, &whole.observation.anomalies);
        check_times(&torn)?;
    }
}
