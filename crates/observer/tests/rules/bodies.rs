//! Bodies that are no stream, and heads that decide what a body is.

use super::*;

const ANSWER: &str = r#"{"model":"m","choices":[{"index":0,"message":{"content":"Pine cone","tool_calls":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}"#;
const EMPTY: &str = r#"{"choices":[{"index":0,"message":{"content":""},"finish_reason":"stop"}]}"#;

#[test]
fn a_whole_answer_has_texts_and_counts_but_no_times() {
    let reads = [(29_000, &ANSWER[..40]), (30_000, &ANSWER[40..])];
    let folded = ANSWER.replace(",", ",\r\n");
    let folded_reads = [(29_000, &folded[..41]), (30_000, &folded[41..])];
    for reads in [reads, folded_reads] {
        for head in [None, content_type("application/json"), content_type("text/event-stream")] {
            let Observed { observation, extraction, .. } =
                observe_with(config(), head, &reads, End::Clean);
            assert!(observation.succeeded());
            assert_eq!((observation.body, observation.events), (BodyKind::Json, 1));
            assert_eq!((observation.first_event_us, observation.first_output_us), (None, None));
            assert_eq!((observation.arrivals_us, observation.output_events), (vec![], 0));
            assert_eq!(observation.elapsed_us, 30_000_000);
            assert_eq!(observation.anomalies, []);
            assert_eq!(extraction.content_text.0, "Pine cone");
            assert_eq!(extraction.usage.unwrap().completion_tokens, Some(3));
            assert_eq!((extraction.ending, extraction.done_seen), (Some(Ending::Complete), false));
            assert_eq!(extraction.body_kind, Some(BodyKind::Json));
        }
    }
    assert!(!observe_reads(&[(1, EMPTY)]).observation.succeeded());
}

#[test]
fn what_a_body_is_decides_its_failure() {
    use BodyKind::{Html, Json, Other, Stream};
    use FailureClass::{ErrorEvent, IdleTimeout, NotEventStream, PrematureEof, Reset};
    let error = r#"{"error":{"message":"model is not loaded"}}"#;
    let list = r#"[{"error":{"message":"model is not loaded"}}]"#;
    let told = Some("model is not loaded");
    for (declared, body, end, class, kind, message) in [
        ("application/json", error, End::Clean, ErrorEvent, Json, told),
        ("text/event-stream", error, End::Clean, ErrorEvent, Json, told),
        ("text/event-stream", list, End::Clean, NotEventStream, Json, told),
        ("application/json", list, End::Clean, NotEventStream, Json, told),
        ("text/html", "<h1>Sign in</h1>", End::Clean, NotEventStream, Html, None),
        ("text/event-stream", "<h1>Sign in</h1>", End::Clean, NotEventStream, Html, None),
        ("text/plain", "ok\n", End::Clean, NotEventStream, Other, None),
        ("text/plain", "", End::Clean, NotEventStream, Other, None),
        ("text/event-stream", "ok\n", End::Clean, PrematureEof, Stream, None),
        ("text/event-stream", "", End::Clean, PrematureEof, Stream, None),
        ("text/event-stream", "", End::Timeout, IdleTimeout, Stream, None),
        ("application/json", "{\"choices\":[", End::Clean, NotEventStream, Json, None),
        ("application/json", "{\"choices\":[", End::Incomplete, PrematureEof, Json, None),
        ("application/json", "", End::Reset, Reset, Json, None),
    ] {
        let observed = observe_with(config(), content_type(declared), &[(1, body)], end);
        let failure = observed.observation.error.unwrap();
        assert_eq!(failure.class, class, "{declared} {body}");
        assert_eq!(failure.message.as_deref(), message, "{declared} {body}");
        assert_eq!(observed.observation.body, kind, "{declared} {body}");
        assert_eq!(
            observed.observation.anomalies.len(),
            usize::from(body == "ok\n" && kind == Stream)
        );
    }
}

#[test]
fn a_stream_of_another_type_is_read_as_a_stream() {
    for declared in ["text/plain", "application/json", ""] {
        for start in ["", "\u{feff}", "\r\n\n", ": hi\n\n", "event: x\n"] {
            let stream = format!("{start}data: {TEXT}\n\ndata: {STOP}\n\n");
            for size in [1, 4, stream.len()] {
                let mut observer = Observer::new(config());
                observer.head(content_type(declared).unwrap());
                for read in stream.as_bytes().chunks(size) {
                    observer.feed(read, Duration::ZERO);
                }
                let observation = observer.finish(End::Clean, Duration::ZERO).observation;
                assert!(observation.succeeded(), "{declared} {start:?} {size}");
                assert_eq!(observation.body, BodyKind::Stream);
            }
        }
    }
}

#[test]
fn a_limit_is_passed_under_any_cut() {
    let comment = format!(":{}", "x".repeat(360));
    let line_ends = format!("data: {TEXT}\n\ndata: {TEXT}\r\n\r\ndata: {STOP}\n\n");
    for (body, expected) in [(comment, Some(FailureClass::OversizedLine)), (line_ends, None)] {
        for declared in ["application/json", "text/event-stream"] {
            for cut in 0..=body.len() {
                let limits =
                    ObserverConfig { max_line_bytes: 300, max_event_bytes: 400, ..config() };
                let reads = [(1, &body[..cut]), (2, &body[cut..])];
                let observed = observe_with(limits, content_type(declared), &reads, End::Clean);
                let found = observed.observation.error.map(|error| error.class);
                assert_eq!(found, expected, "{declared}, cut at {cut}");
            }
        }
    }
}

#[test]
fn a_status_other_than_2xx_wins_over_any_body() {
    let stream = format!("data: {TEXT}\n\ndata: {STOP}\n\ndata: [DONE]\n\n");
    for (status, body, message) in [
        (401, r#"{"error":{"message":"no valid key was given"}}"#, Some("no valid key was given")),
        (404, r#"{"detail":"Not Found"}"#, Some("Not Found")),
        (500, stream.as_str(), None),
        (503, "<html>busy</html>", None),
        (302, "", None),
    ] {
        let head = Head { status, retry_after: Some("7".to_owned()), ..Head::default() };
        let observed = observe_with(config(), Some(head), &[(1, body)], End::Clean);
        let observation = observed.observation;
        let error = observation.error.as_ref().unwrap();
        assert_eq!((observation.http_status, error.class), (status, FailureClass::HttpStatus));
        assert_eq!(error.message.as_deref(), message);
        assert_eq!((observation.events, observation.ending), (0, None));
        assert_eq!((observation.bytes, observation.elapsed_us), (body.len() as u64, 1_000));
        assert_eq!(observation.retry_after_s, Some(7.0));
        assert_eq!(observed.extraction.body_kind, None);
    }
}

#[test]
fn a_body_that_nobody_asked_to_be_compressed_is_named() {
    let head = Head {
        content_type: Some("text/event-stream".to_owned()),
        content_encoding: Some("gzip".to_owned()),
        ..Head::default()
    };
    let observed =
        observe_with(config(), Some(head), &[(1, "\u{1f}\u{8b}data: x\n\n")], End::Clean);
    assert_eq!(observed.observation.error.as_ref().unwrap().class, FailureClass::NotEventStream);
    assert_eq!(anomaly(&observed, AnomalyKind::UnaskedEncoding), Some((1, 0)));
}

#[test]
fn without_texts_kept_everything_else_is_the_same() {
    let stream = format!("data: {TEXT}\n\ndata: {STOP}\n\n");
    let reads = [(1, stream.as_str())];
    let without = ObserverConfig { keep_texts: false, ..config() };
    let without = observe_with(without, None, &reads, End::Clean);
    assert_eq!(without.observation, observe_reads(&reads).observation);
    assert_eq!(without.extraction.content_text.0, "");
    let short = ObserverConfig { max_text_bytes: 3, ..config() };
    let short = observe_with(short, None, &reads, End::Clean);
    assert_eq!(short.extraction.content_text.0, "tex");
    assert_eq!(anomaly(&short, AnomalyKind::OverLimit), Some((1, 0)));
}

#[test]
fn a_body_without_a_message_is_shown_by_its_beginning() {
    let page = "<h1>Sign in</h1>\n";
    let long = "no ".repeat(1_000);
    let failed = |status, encoding: Option<&str>, body: &str| {
        let head = Head {
            status,
            content_type: Some("text/plain".to_owned()),
            content_encoding: encoding.map(str::to_owned),
            ..Head::default()
        };
        observe_with(config(), Some(head), &[(1, body)], End::Clean).head_of_body
    };
    assert_eq!(failed(503, None, page).as_deref(), Some(page));
    assert_eq!(failed(200, None, page).as_deref(), Some(page));
    assert_eq!(failed(500, None, &long).map(|head| head.len()), Some(2 * 1024));
    assert_eq!(failed(503, None, r#"{"error":"no"}"#), None, "it is the message");
    assert_eq!(failed(503, None, ""), None);
    assert_eq!(failed(503, Some("gzip"), "\u{1f}\u{8b}"), None);
    assert_eq!(failed(200, None, "data: {}\n\n"), None, "a stream is none of these");
}

#[test]
fn what_a_response_holds_grows_with_what_is_kept_and_not_with_what_passes() {
    let mut observer =
        Observer::new(ObserverConfig { keep_arrivals: false, keep_texts: false, ..config() });
    let event = format!("data: {TEXT}\n\n");
    let at = Duration::from_millis(1);
    observer.feed(event.as_bytes(), at);
    let before = observer.held_bytes();
    for _ in 0..10_000 {
        observer.feed(event.as_bytes(), at);
    }
    assert_eq!(observer.held_bytes(), before);
    observer.feed("data: ".as_bytes(), at);
    observer.feed(&[b'a'; 1 << 20], at);
    assert!(observer.held_bytes() >= 1 << 20);
}
