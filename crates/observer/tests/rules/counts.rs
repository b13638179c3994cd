//! Token counts, and what is odd about them.

use streamgauge_schema::{CountScope, CountSource, UsageSources};

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

/// A chunk with content and a count of the tokens so far.
fn counted(text: &str, tokens: &str) -> String {
    format!(
        r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}],"usage":{{"completion_tokens":{tokens}}}}}"#
    )
}

#[test]
fn tokens_of_each_event_are_known_exactly_when_the_server_counts_them_all() {
    for (chunks, expected) in [
        (vec![("", "0"), ("a", "1"), ("b", "4"), ("", "6"), ("c", "7")], Some(vec![1, 3, 3])),
        (vec![("a", "3")], Some(vec![3])),
        (vec![("a", "2.0")], Some(vec![2])),
        (vec![("a", "1"), ("b", "1")], None),
        (vec![("a", "0"), ("b", "1")], None),
        (vec![("a", "1"), ("b", "null"), ("c", "3")], None),
        (vec![("a", "1"), ("b", "2.5"), ("c", "3")], None),
        (vec![("a", "-1"), ("b", "2")], None),
        (vec![("a", "5"), ("", "4"), ("c", "6")], None),
        (vec![("a", "5"), ("", "4")], None),
        (vec![("", "5")], None),
    ] {
        let events: Vec<String> =
            chunks.iter().map(|(text, tokens)| counted(text, tokens)).collect();
        let mut events: Vec<(u64, &str)> =
            events.iter().enumerate().map(|(at, event)| (at as u64, event.as_str())).collect();
        events.push((90, STOP));
        let observation = observe_events(&events).observation;
        assert_eq!(observation.token_counts, expected, "{chunks:?}");
        if let Some(tokens) = expected {
            assert_eq!(tokens.len() as u64, observation.output_events, "{chunks:?}");
        }
    }
    let other =
        r#"{"choices":[{"index":1,"delta":{"content":"b"}}],"usage":{"completion_tokens":2}}"#;
    let observation = observe_events(&[(1, &counted("a", "1")), (2, other)]).observation;
    assert_eq!(observation.token_counts, None);
}

#[test]
fn final_counts_that_do_not_agree_are_odd() {
    let finish = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":37}}"#;
    let late = r#"{"choices":[{"index":0,"delta":{}}],"usage":{"completion_tokens":38}}"#;
    let second = USAGE.replace("37", "40");
    let lower = USAGE.replace("37", "2");
    for (events, expected) in [
        (vec![TEXT, finish, USAGE, DONE], None),
        (vec![TEXT, finish, &second, DONE], Some(1)),
        (vec![TEXT, finish, late, &second], Some(2)),
        (vec![TEXT, STOP, USAGE, &second], Some(1)),
        // Before the answer is over a count may still rise.
        (vec![&lower, TEXT, &lower, finish], None),
    ] {
        let events: Vec<(u64, &str)> = events.iter().map(|event| (1, *event)).collect();
        let observed = observe_events(&events);
        let found = anomaly(&observed, AnomalyKind::UsageDisagrees).map(|(count, _)| count);
        assert_eq!(found, expected, "{events:?}");
    }
}

#[test]
fn each_count_says_which_report_it_was_taken_from() {
    let running = r#"{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#;
    let ended = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":2}}"#;
    let whole = r#"{"choices":[],"usage":{"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}"#;
    let at = |event, scope| Some(CountSource { event, scope });
    for (events, prompt, completion, cached) in [
        (vec![running], at(0, CountScope::Running), at(0, CountScope::Running), None),
        (vec![running, ended], at(0, CountScope::Running), at(1, CountScope::Choice), None),
        (
            vec![running, ended, whole, DONE],
            at(0, CountScope::Running),
            at(2, CountScope::Request),
            at(2, CountScope::Request),
        ),
    ] {
        let timed: Vec<(u64, &str)> = events.iter().map(|event| (1, *event)).collect();
        let observation = observe_events(&timed).observation;
        let expected = UsageSources {
            prompt_tokens: prompt,
            completion_tokens: completion,
            reasoning_tokens: None,
            cached_tokens: cached,
        };
        assert_eq!(observation.usage_sources, Some(expected), "{events:?}");
    }
    assert_eq!(observe_events(&[(1, TEXT), (2, STOP)]).observation.usage_sources, None);
}
