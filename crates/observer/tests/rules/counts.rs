//! Token counts, and what is odd about them.

use super::*;

const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":37}}"#;

#[test]
fn tokens_are_those_reported_not_those_asked_for() {
    let chunk = r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"completion_tokens":37}}"#;
    let observation = observe_events(&[(80, TEXT), (120, chunk), (121, DONE)]).observation;
    assert_eq!(observation.usage.unwrap().completion_tokens, Some(37));
    assert_eq!(observation.first_output_us, Some(80_000));
    assert_eq!(observation.last_output_us, Some(80_000));
}

#[test]
fn usage_without_any_text_is_kept_and_no_success() {
    let observation =
        observe_events(&[(10, ROLE), (20, STOP), (30, USAGE), (31, DONE)]).observation;
    assert_eq!(observation.first_output_us, None);
    assert_eq!(observation.usage.unwrap().completion_tokens, Some(37));
    assert_eq!((observation.ending, &observation.error), (Some(Ending::Complete), &None));
    assert!(!observation.succeeded());
}

#[test]
fn usage_comes_with_or_without_choices_asked_or_not() {
    let bare = r#"{"usage":{"prompt_tokens":5,"completion_tokens":37}}"#;
    let null = r#"{"choices":null,"usage":{"prompt_tokens":5,"completion_tokens":37}}"#;
    for chunk in [USAGE, bare, null] {
        for usage_asked in [true, false] {
            let read = format!("data: {TEXT}\n\ndata: {chunk}\n\n");
            let config = ObserverConfig { usage_asked, ..config() };
            let observed = observe_with(config, None, &[(1, &read)], End::Clean);
            assert_eq!(observed.extraction.usage.unwrap().completion_tokens, Some(37));
            let offset = format!("data: {TEXT}\n\n").len() as u64;
            let expected = (!usage_asked).then_some((1, offset));
            assert_eq!(anomaly(&observed, AnomalyKind::UnaskedUsage), expected, "{chunk}");
        }
    }
}

#[test]
fn reasoning_that_was_billed_but_not_streamed_is_hidden() {
    let billed = r#"{"choices":[],"usage":{"completion_tokens":90,"completion_tokens_details":{"reasoning_tokens":80}}}"#;
    let reasoning = delta(r#""reasoning":"a""#);
    let marked = delta(r#""content":"<think>a""#);
    for (first, hidden) in [(TEXT, true), (reasoning.as_str(), false), (marked.as_str(), false)] {
        let observed = observe_events(&[(1, first), (2, billed)]);
        let offset = format!("data: {first}\n\n").len() as u64;
        let expected = hidden.then_some((1, offset));
        assert_eq!(anomaly(&observed, AnomalyKind::HiddenReasoning), expected, "{first}");
    }
}

#[test]
fn two_choices_share_one_stream_and_one_count() {
    let choice = |index: u64, text: &str| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"{text}"}}}}]}}"#)
    };
    let finish = |index: u64| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"stop"}}]}}"#)
    };
    let usage =
        |tokens: u64| format!(r#"{{"choices":[],"usage":{{"completion_tokens":{tokens}}}}}"#);
    for (reports, ambiguous, falling, tokens) in [
        (vec![usage(7)], false, None, 7),
        (vec![usage(7), usage(7)], false, None, 7),
        (vec![usage(4), usage(9)], true, None, 9),
        (vec![usage(9), usage(4)], true, Some(1), 4),
    ] {
        let mut events = vec![choice(1, "b"), choice(0, "a"), finish(0), finish(1)];
        events.extend(reports);
        events.push(DONE.to_owned());
        let events: Vec<(u64, &str)> =
            events.iter().enumerate().map(|(n, event)| (n as u64 + 1, event.as_str())).collect();
        let observed = observe_events(&events);
        let observation = &observed.observation;
        assert_eq!((observation.choices, observation.first_output_us), (2, Some(1_000)));
        assert_eq!(observation.usage.unwrap().completion_tokens, Some(tokens));
        assert_eq!(observation.usage_ambiguous, ambiguous);
        let found = anomaly(&observed, AnomalyKind::FallingCounter).map(|(count, _)| count);
        assert_eq!(found, falling);
        assert_eq!(observed.extraction.content_text.0, "a");
    }
}

#[test]
fn numbers_of_the_last_timings_are_handed_out() {
    let members: String = (0..40).map(|n| format!(r#""n{n:02}":{n},"#)).collect();
    let first = r#"{"choices":[],"timings":{"old":1}}"#;
    let last = format!(r#"{{"choices":[],"timings":{{{members}"a":"x","b":null,"c":1.5}}}}"#);
    let timings = observe_events(&[(1, first), (2, &last)]).observation.server_timings;
    assert_eq!(timings.len(), 32);
    assert_eq!(timings.first_key_value(), Some((&"c".to_owned(), &1.5)));
    assert_eq!(timings.last_key_value(), Some((&"n30".to_owned(), &30.0)));
}
