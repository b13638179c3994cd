//! Failures within a stream, endings, and transfers that break.

use super::*;

fn check(reads: &[(u64, &str)], class: FailureClass, message: &str, code: Option<&str>) {
    let observation = observe_reads(reads).observation;
    let error = observation.error.as_ref().expect("the stream reports a failure");
    assert_eq!(error.class, class, "{reads:?}");
    assert_eq!(error.message.as_deref(), Some(message), "{reads:?}");
    assert_eq!(error.code.as_deref(), code, "{reads:?}");
    assert!(!observation.succeeded());
}

#[test]
fn an_error_within_a_stream_fails_the_request_whatever_its_form() {
    let data = r#"{"error":{"message":"took too long","code":504}}"#;
    for start in [
        format!("data: {data}\n\n"),
        format!("event: error\ndata: {data}\n\n"),
        format!("error: {data}\n\n"),
        format!("{data}\n\n"),
        format!(
            r#"data: {{"choices":[],"error":{{"message":"took too long","code":504}}}}{}"#,
            "\n\n"
        ),
    ] {
        let read = format!("{start}data: [DONE]\n\n");
        check(&[(1, &read)], FailureClass::ErrorEvent, "took too long", Some("504"));
        let observation = observe_reads(&[(1, &read)]).observation;
        assert_eq!(observation.http_status, 200, "{start}");
        assert_eq!((observation.first_output_us, observation.output_events), (None, 0));
    }
    for line in ["error: worker lost", "error:worker lost"] {
        check(&[(1, &format!("{line}\n\n"))], FailureClass::ErrorEvent, "worker lost", None);
    }
    check(&[(1, "event: error\n: worker lost\n\n")], FailureClass::ErrorEvent, "worker lost", None);
}

#[test]
fn what_came_before_an_error_is_kept_but_no_success() {
    let error = r#"{"error":{"message":"engine died"}}"#;
    let observed = observe_events(&[(1, TEXT), (2, TEXT), (3, TEXT), (4, error), (5, DONE)]);
    let observation = &observed.observation;
    assert_eq!(observation.error.as_ref().unwrap().event, Some(3));
    assert_eq!((observation.output_events, observation.succeeded()), (3, false));
    assert_eq!(observed.extraction.content_text.0, "texttexttext");
}

#[test]
fn an_error_line_that_the_body_ends_counts() {
    for line in [r#"{"error":"out"}"#, r#"error: {"message":"out"}"#] {
        let read = format!("data: {TEXT}\n\n{line}");
        check(&[(1, &read)], FailureClass::ErrorEvent, "out", None);
    }
    let torn = format!("data: {TEXT}\n\n{{\"error\":\"ou");
    let error = observe_reads(&[(1, &torn)]).observation.error.unwrap();
    assert_eq!(error.class, FailureClass::PrematureEof);
}

#[test]
fn the_first_failure_is_the_one_reported() {
    let read = "data: {\"error\":\"first\"}\n\ndata: {\"error\":\"second\"}\n\n";
    check(&[(1, read)], FailureClass::ErrorEvent, "first", None);
}

#[test]
fn endings_are_told_apart() {
    let null = r#"{"choices":[{"index":0,"delta":{},"finish_reason":null}]}"#;
    let none = r#"{"choices":[]}"#;
    for (events, expected) in [
        (&[TEXT][..], Ending::Truncated),
        (&[TEXT, DONE], Ending::CompleteNoReason),
        (&[TEXT, null, DONE], Ending::CompleteNoReason),
        (&[TEXT, none, DONE], Ending::CompleteNoReason),
        (&[TEXT, STOP], Ending::Complete),
        (&[TEXT, STOP, DONE], Ending::Complete),
    ] {
        let events: Vec<(u64, &str)> = events.iter().map(|event| (1, *event)).collect();
        let observation = observe_events(&events).observation;
        assert_eq!(observation.ending, Some(expected), "{events:?}");
        assert_eq!(observation.succeeded(), expected != Ending::Truncated);
    }
}

#[test]
fn a_broken_transfer_fails_unless_the_end_mark_came() {
    let finished = format!("data: {TEXT}\n\ndata: {STOP}\n\n");
    let done = format!("{finished}data: [DONE]\n\n");
    for (end, class) in [
        (End::Incomplete, FailureClass::PrematureEof),
        (End::Reset, FailureClass::Reset),
        (End::Timeout, FailureClass::IdleTimeout),
    ] {
        let cut = observe_with(config(), None, &[(1, &finished)], end);
        assert_eq!(cut.observation.error.unwrap().class, class);
        assert_eq!(cut.observation.ending, Some(Ending::Truncated));
        assert_eq!(cut.extraction.error, Some(class.as_str()));
        let whole = observe_with(config(), None, &[(1, &done)], end);
        assert!(whole.observation.succeeded(), "{end:?}");
    }
}
