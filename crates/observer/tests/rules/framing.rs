//! Bytes to events: characters, lines, comments and limits.

use super::*;

#[test]
fn characters_survive_any_cut() {
    let text = "静かな🌊の家族👨‍👩‍👧é";
    let stream = format!("data: {}\n\ndata: {STOP}\n\n", delta(&format!(r#""content":"{text}""#)));
    for cut in 0..=stream.len() {
        let mut observer = Observer::new(config());
        observer.feed(&stream.as_bytes()[..cut], Duration::ZERO);
        observer.feed(&stream.as_bytes()[cut..], Duration::ZERO);
        let observed = observer.finish(End::Clean, Duration::ZERO);
        assert_eq!(observed.extraction.content_text.0, text, "cut at {cut}");
        assert_eq!(observed.extraction.malformed_events, 0, "cut at {cut}");
    }
}

#[test]
fn long_lines_are_read_and_the_limit_has_a_name() {
    const KIB: usize = 1024;
    for length in [127 * KIB, 129 * KIB, KIB * KIB, 8 * KIB * KIB] {
        let content = "x".repeat(length);
        let data = delta(&format!(r#""content":"{content}""#));
        let observed = observe_events(&[(1, &data), (2, STOP)]);
        assert!(observed.observation.succeeded());
        assert_eq!(observed.extraction.content_text.0.len(), length);
    }
    let data = delta(&format!(r#""content":"{}""#, "x".repeat(17 * KIB * KIB)));
    let observation = observe_events(&[(1, TEXT), (2, &data), (3, STOP)]).observation;
    assert_eq!(observation.error.unwrap().class, FailureClass::OversizedLine);
    assert_eq!((observation.ending, observation.elapsed_us), (Some(Ending::Truncated), 2_000));
}

#[test]
fn more_output_events_than_allowed_end_the_reading() {
    const LAST: &str = r#"{"message":{"content":"d"},"done":true,"done_reason":"stop"}"#;
    let chunks = ["a", "b", "c"].map(|text| delta(&format!(r#""content":"{text}""#)));
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    let lines = r#"{"message":{"content":"a"},"done":false}"#.to_owned() + "\n" + LAST + "\n";
    for (dialect, stream, max_output_events, outputs) in [
        (Dialect::OpenaiChat, format!("{events}data: {STOP}\n\n"), 3, Ok(3)),
        (Dialect::OpenaiChat, format!("{events}data: {STOP}\n\n"), 2, Err(2)),
        (Dialect::OpenaiChat, format!("{events}{events}"), 0, Err(0)),
        (Dialect::OllamaChat, lines.clone(), 2, Ok(2)),
        // The event over the limit is also the last one.
        (Dialect::OllamaChat, lines, 1, Err(1)),
    ] {
        let mut observer =
            Observer::new(ObserverConfig { max_output_events, ..ObserverConfig::new(dialect) });
        let progress = observer.feed(stream.as_bytes(), Duration::from_millis(1));
        let observed = observer.finish(End::Clean, Duration::from_millis(9)).observation;
        let told = match observed.error.map(|error| error.class) {
            None => Ok(observed.output_events),
            Some(class) => {
                assert_eq!(class, FailureClass::OversizedStream);
                assert_eq!((progress, observed.elapsed_us), (Progress::Over, 1_000));
                assert_eq!(observed.ending, Some(Ending::Truncated));
                Err(observed.output_events)
            }
        };
        assert_eq!(told, outputs, "{dialect}, {max_output_events} at most");
        assert_eq!(observed.arrivals_us.len() as u64, observed.output_events);
    }
}

#[test]
fn one_bad_event_leaves_its_neighbours() {
    let observed = observe_events(&[
        (1, TEXT),
        (2, ": OPENROUTER PROCESSING"),
        (3, TEXT),
        (4, STOP),
        (5, DONE),
    ]);
    let offset = format!("data: {TEXT}\n\n").len() as u64;
    assert_eq!(anomaly(&observed, AnomalyKind::InvalidJson), Some((1, offset)));
    assert!(observed.observation.succeeded());
    assert_eq!(observed.extraction.content_text.0, "texttext");
    assert_eq!(observed.extraction.error, Some("invalid_json"));
}

#[test]
fn comments_are_nothing() {
    let plain = format!("data: {TEXT}\n\ndata: {STOP}\n\ndata: [DONE]\n\n");
    let commented = format!(
        ":\n\n: x\n\n:\n: y\ndata: {TEXT}\n: z\n\n: a\n\n: b\ndata: {STOP}\n\n: c\ndata: [DONE]\n\n"
    );
    let observed = observe_reads(&[(1, ":\n\n"), (2, ": x\n\n"), (3, &commented)]);
    assert_eq!(observed.extraction, observe_reads(&[(1, &plain)]).extraction);
    assert_eq!(observed.observation.first_event_us, Some(3_000));
    assert_eq!(observed.observation.anomalies, []);
}

#[test]
fn line_ends_of_any_kind_dispatch() {
    let plain = format!("data: {TEXT}\n\ndata: {STOP}\n\ndata: [DONE]\n\n");
    let expected = observe_reads(&[(1, &plain)]).extraction;
    for line_end in ["\r\n", "\r"] {
        let stream = plain.replace('\n', line_end);
        assert_eq!(observe_reads(&[(1, &stream)]).extraction, expected, "{line_end:?}");
    }
}

#[test]
fn a_first_event_without_choices_is_no_failure() {
    let filter = r#"{"choices":[],"prompt_filter_results":[{"prompt_index":0}],"model":""}"#;
    let observation =
        observe_events(&[(10, filter), (90, TEXT), (95, STOP), (96, DONE)]).observation;
    assert!(observation.succeeded());
    assert_eq!(observation.first_output_us, Some(90_000));
}

#[test]
fn unknown_fields_are_counted_where_they_first_stand() {
    let read = format!("data: {TEXT}\n\nfoo: 1\nbar\n\n");
    let observed = observe_reads(&[(1, &read)]);
    let offset = format!("data: {TEXT}\n\n").len() as u64;
    assert_eq!(anomaly(&observed, AnomalyKind::UnknownField), Some((2, offset)));
}
