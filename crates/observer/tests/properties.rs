//! What holds for every stream, written well or not.

mod fixture;
mod generated;

use std::rc::Rc;
use std::time::Duration;

use fixture::{Fixture, cut, streams};
use generated::{asked, head, rubbish, stream};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use streamgauge_observer::{Observed, Observer, ObserverConfig};
use streamgauge_schema::{Anomaly, AnomalyKind, Dialect, End, Head};

/// Small limits, so that they are passed often.
fn config(dialect: Option<Dialect>) -> ObserverConfig {
    ObserverConfig {
        dialect,
        max_line_bytes: 300,
        max_event_bytes: 400,
        max_text_bytes: 200,
        max_output_events: 12,
        ..ObserverConfig::detecting()
    }
}

/// Offsets at which reads end, and by how many microseconds the next read comes later.
fn cuts() -> impl Strategy<Value = Vec<(Index, u64)>> {
    vec((any::<Index>(), 0..5_u64), 0..16)
}

/// How a response came.
#[derive(Clone, Debug)]
struct Way {
    head: Option<Head>,
    end: End,
}

fn way() -> impl Strategy<Value = Way> {
    let end = select(vec![End::Clean, End::Clean, End::Incomplete, End::Reset, End::Timeout]);
    (head(), end).prop_map(|(head, end)| Way { head, end })
}

/// Observes bytes cut at these places.
fn observe(dialect: Option<Dialect>, bytes: &[u8], cuts: &[(Index, u64)], way: &Way) -> Observed {
    let mut observer = Observer::new(config(dialect));
    if let Some(head) = &way.head {
        observer.head(head.clone());
    }
    let mut cuts: Vec<(usize, u64)> =
        cuts.iter().map(|(cut, wait_us)| (cut.index(bytes.len() + 1), *wait_us)).collect();
    cuts.sort_unstable();
    let mut at = Duration::ZERO;
    let waits_us = cuts.iter().map(|(_, wait_us)| *wait_us).chain([1]);
    for (read, wait_us) in cut_at(bytes, &cuts).into_iter().zip(waits_us) {
        at += Duration::from_micros(wait_us);
        observer.feed(read, at);
    }
    observer.finish(way.end, at)
}

fn cut_at<'a>(bytes: &'a [u8], cuts: &[(usize, u64)]) -> Vec<&'a [u8]> {
    cut(bytes, cuts.iter().map(|(offset, _)| *offset))
}

/// The anomalies that the bytes alone decide.
fn anomalies(observed: &Observed) -> Vec<Anomaly> {
    let mut anomalies = observed.observation.anomalies.clone();
    anomalies.retain(|anomaly| anomaly.kind != AnomalyKind::CoalescedStream);
    anomalies
}

/// The same was said; only times may differ, and how far the reading went unless the end mark
/// ended it.
fn check_alike(torn: &Observed, whole: &Observed) -> Result<(), TestCaseError> {
    prop_assert_eq!(&torn.extraction, &whole.extraction);
    prop_assert_eq!(torn.observation.dialect, whole.observation.dialect);
    prop_assert_eq!(&torn.observation.error, &whole.observation.error);
    prop_assert_eq!(&torn.observation.token_counts, &whole.observation.token_counts);
    if whole.extraction.done_seen {
        prop_assert_eq!(torn.observation.bytes, whole.observation.bytes);
    }
    prop_assert_eq!(anomalies(torn), anomalies(whole));
    check_times(torn)
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
    prop_assert!(observation.coalesced_reads <= observation.reads);
    if let Some(tokens) = &observation.token_counts {
        prop_assert_eq!(tokens.len() as u64, observation.output_events);
        let counted = observation.usage.and_then(|usage| usage.completion_tokens);
        prop_assert!(counted >= Some(tokens.iter().sum()));
        prop_assert!(!tokens.contains(&0));
    }
    check_choices(observed)
}

fn check_choices(observed: &Observed) -> Result<(), TestCaseError> {
    let observation = &observed.observation;
    let timelines = &observation.choice_timelines;
    prop_assert_eq!(timelines.is_empty(), observation.choices < 2);
    if !timelines.is_empty() {
        prop_assert_eq!(timelines.len() as u64, observation.choices);
        let first = timelines.iter().filter_map(|choice| choice.first_output_us).min();
        let last = timelines.iter().filter_map(|choice| choice.last_output_us).max();
        prop_assert_eq!((first, last), (observation.first_output_us, observation.last_output_us));
        let events: u64 = timelines.iter().map(|choice| choice.output_events).sum();
        prop_assert!(events >= observation.output_events);
    }
    Ok(())
}

/// A stream fixture that is not so large that its cuts take long.
fn fixture() -> impl Strategy<Value = Rc<Fixture>> {
    let mut fixtures = streams();
    fixtures.retain(|fixture| fixture.bytes.len() < 64 * 1024);
    select(fixtures.into_iter().map(Rc::new).collect::<Vec<_>>())
}

/// Chunks of few patterns, so that one is often the one before with another text: for each the bytes
/// before its text, the text, and the bytes after it.
fn patterns() -> impl Strategy<Value = Vec<(&'static str, &'static str, &'static str)>> {
    let around = select(vec![
        (r#""choices":[{"index":0,"delta":{"content":""#, r#""}}]}"#),
        (r#""choices":[{"index":0,"delta":{"content":""#, r#""}}]}"#),
        (r#""choices":[{"index":1,"delta":{"content":""#, r#""}}],"model":"m"}"#),
        (r#""choices":[{"delta":{"reasoning":""#, r#"","content":null}}]}"#),
        (r#""choices":[{"delta":{"reasoning_content":""#, r#"","reasoning":"a"}}]}"#),
        (r#""choices":[{"delta":{"content":""#, r#""}}],"usage":{"completion_tokens":1}}"#),
        (r#""choices":[{"delta":{"content":""#, r#""},"finish_reason":"stop"}]}"#),
        (r#""choices":[{"delta":{"content":"a"},"finish_reason":""#, r#""}]}"#),
        (r#""choices":[{"delta":{"refusal":""#, r#""}}]}"#),
        (r#""model":""#, r#"","choices":[{"delta":{"content":"b"}}]}"#),
        (r#""error":""#, r#"","choices":[]}"#),
    ]);
    let text = select(vec!["a", "b", "a b", "", r"\u00e9", r#"\""#, "<think>", "\"", "\\", "é"]);
    let event = (around, text).prop_map(|((before, after), text)| (before, text, after));
    let run = (event, 1..4_usize).prop_map(|(event, times)| vec![event; times]);
    vec(run, 0..8).prop_map(|runs| runs.concat())
}

/// The chunks as a stream; `apart` writes no two neighbours alike.
fn written(chunks: &[(&str, &str, &str)], apart: bool) -> Vec<u8> {
    let event = |(place, (before, text, after)): (usize, &(&str, &str, &str))| {
        let space = if apart && place % 2 == 1 { " " } else { "" };
        format!("data: {{{space}{before}{text}{after}\n\n")
    };
    chunks.iter().enumerate().map(event).collect::<String>().into_bytes()
}

proptest! {
    #[test]
    fn an_event_says_what_it_says_whatever_came_before(chunks in patterns()) {
        let observe = |apart| {
            let config = ObserverConfig::new(Dialect::OpenaiChat);
            let mut observed = fixture::observe(config, &[&written(&chunks, apart)]);
            observed.observation.bytes = 0;
            observed.observation.anomalies.iter_mut().for_each(|found| found.first_offset = 0);
            observed
        };
        prop_assert_eq!(observe(false), observe(true));
    }

    #[test]
    fn cuts_never_change_what_a_stream_says(
        (dialect, bytes) in stream(), detected in any::<bool>(), cuts in cuts(), way in way(),
    ) {
        let dialect = (!detected).then_some(dialect);
        let whole = observe(dialect, &bytes, &[], &way);
        check_alike(&observe(dialect, &bytes, &cuts, &way), &whole)?;
    }

    #[test]
    fn cuts_never_change_what_rubbish_says(
        dialect in asked(), bytes in rubbish(), cuts in cuts(), way in way(),
    ) {
        let whole = observe(dialect, &bytes, &[], &way);
        check_alike(&observe(dialect, &bytes, &cuts, &way), &whole)?;
    }

    #[test]
    fn cuts_never_change_what_a_fixture_says(fixture in fixture(), cuts in vec(any::<Index>(), 0..40)) {
        let mut offsets: Vec<usize> =
            cuts.iter().map(|cut| cut.index(fixture.bytes.len() + 1)).collect();
        offsets.sort_unstable();
        let observed = fixture.observe(&cut(&fixture.bytes, offsets));
        prop_assert_eq!(fixture.differences(&observed), Vec::<String>::new());
        check_times(&observed)?;
    }
}
