//! When things happened: first and last output, intervals, the end.

use streamgauge_schema::{IntervalSummary, Observation};

use super::*;

#[test]
fn an_event_without_text_is_no_output() {
    for members in [r#""role":"assistant""#, r#""content":null"#, r#""content":"""#, ""] {
        let observed =
            observe_events(&[(5, &delta(members)), (214, TEXT), (220, STOP), (221, DONE)]);
        let observation = observed.observation;
        assert_eq!(observation.first_event_us, Some(5_000), "{members}");
        assert_eq!(observation.first_output_us, Some(214_000), "{members}");
        assert_eq!(observation.first_content_us, Some(214_000), "{members}");
    }
}

#[test]
fn an_empty_chunk_between_prefill_slices_starts_nothing() {
    let events = [
        (900, delta(r#""content":"""#)),
        (2200, delta(r#""content":"a""#)),
        (2220, delta(r#""content":"b""#)),
        (2240, delta(r#""content":"c""#)),
    ];
    let events: Vec<(u64, &str)> = events.iter().map(|(at, e)| (*at, e.as_str())).collect();
    let observation = observe_events(&events).observation;
    assert_eq!(observation.first_output_us, Some(2_200_000));
    assert_eq!(observation.arrivals_us, [2_200_000, 20_000, 20_000]);
}

#[test]
fn chunks_have_intervals_whatever_number_of_tokens_they_hold() {
    let events: Vec<(u64, &str)> = (1..=10).map(|n| (n * 100, TEXT)).collect();
    let observation = observe_events(&events).observation;
    assert_eq!(observation.arrivals_us, [100_000; 10]);
    assert_eq!((observation.output_events, observation.generated_events), (10, 10));
    assert_eq!(observation.last_output_us, Some(1_000_000));
}

#[test]
fn one_blank_is_text_and_nothing_is_not() {
    for (value, counts) in [("null", false), (r#""""#, false), (r#"" ""#, true), ("5", false)] {
        for channel in ["content", "reasoning", "reasoning_content", "refusal"] {
            let members = format!(r#""{channel}":{value}"#);
            let observation = observe_events(&[(1, &delta(&members))]).observation;
            assert_eq!(observation.first_output_us.is_some(), counts, "{members}");
        }
    }
}

#[test]
fn reasoning_is_output_on_whatever_member_it_comes() {
    for members in [
        r#""reasoning":"a""#,
        r#""reasoning_content":"a""#,
        r#""reasoning_details":[{"type":"reasoning.text","text":"a"}]"#,
        r#""reasoning_details":[{"type":"reasoning.summary","summary":"a"}]"#,
        r#""thinking_blocks":[{"type":"thinking","thinking":"a"}]"#,
        r#""content":[{"type":"thinking","thinking":"a"}]"#,
        r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]"#,
        r#""reasoning":"","reasoning_details":[],"thinking_blocks":[{"type":"thinking","thinking":"a"}]"#,
        r#""reasoning_content":"a","reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a"}]"#,
    ] {
        let observed = observe_events(&[(100, &delta(members)), (4100, TEXT)]);
        let observation = observed.observation;
        assert_eq!(observation.first_output_us, Some(100_000), "{members}");
        assert_eq!(observation.first_reasoning_us, Some(100_000), "{members}");
        assert_eq!(observation.first_content_us, Some(4_100_000), "{members}");
        assert_eq!(observed.extraction.reasoning_text.0, "a", "{members}");
    }
}

#[test]
fn texts_end_somewhere_at_each_output_event() {
    let events = [
        (10, delta(r#""role":"assistant""#)),
        (20, delta(r#""reasoning":"hé""#)),
        (30, delta(r#""reasoning":"m","content":"a""#)),
        (40, delta(r#""tool_calls":[{"index":0,"function":{"arguments":"{"}}]"#)),
        (50, delta(r#""content":" b""#)),
    ];
    let events: Vec<(u64, &str)> = events.iter().map(|(at, event)| (*at, event.as_str())).collect();
    let observed = observe_events(&events);
    assert_eq!(observed.extraction.output_ends, [[3, 0], [4, 1], [4, 1], [4, 3]]);
    assert_eq!(observed.observation.output_events, 4);
    let reads: Vec<(u64, String)> =
        events.iter().map(|(at, data)| (*at, format!("data: {data}\n\n"))).collect();
    let reads: Vec<(u64, &str)> = reads.iter().map(|(at, read)| (*at, read.as_str())).collect();
    for (keep_texts, keep_arrivals) in [(false, true), (true, false)] {
        let config = ObserverConfig { keep_texts, keep_arrivals, ..config() };
        let observed = observe_with(config, None, &reads, End::Clean);
        assert_eq!(observed.extraction.output_ends, [[0; 2]; 0]);
    }
}

#[test]
fn an_answer_cut_within_its_reasoning_succeeds_without_content() {
    let observed =
        observe_events(&[(100, &delta(r#""reasoning":"a""#)), (200, LENGTH), (201, DONE)]);
    let observation = observed.observation;
    assert!(observation.succeeded());
    assert_eq!(observation.first_output_us, Some(100_000));
    assert_eq!(observation.first_content_us, None);
    assert_eq!(observation.finish_reasons, ["length"]);
}

#[test]
fn a_tool_call_is_output_but_not_generated_text() {
    let call = r#""tool_calls":[{"index":0,"function":{"arguments":"{\"a"}}]"#;
    let name = r#""tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]"#;
    let observed = observe_events(&[
        (50, &delta(name)),
        (80, &delta(call)),
        (90, &delta(call)),
        (95, STOP),
        (96, DONE),
    ]);
    let observation = observed.observation;
    assert!(observation.succeeded());
    assert_eq!(observation.first_output_us, Some(80_000));
    assert_eq!(observation.first_tool_call_us, Some(80_000));
    assert_eq!((observation.first_generated_us, observation.first_content_us), (None, None));
    assert_eq!(observation.not_generated, [0, 1]);
    assert_eq!(observed.extraction.tool_call_events, 2);
}

#[test]
fn events_of_one_read_share_its_time() {
    let read = format!("data: {ROLE}\n\ndata: {TEXT}\n\n");
    let observed = observe_reads(&[(70, &read)]);
    let observation = observed.observation;
    assert_eq!((observation.events, observation.reads), (2, 1));
    assert_eq!(observation.coalesced_reads, 1);
    assert_eq!(observation.first_event_us, Some(70_000));
    assert_eq!(observation.first_output_us, Some(70_000));
    assert_eq!(observed.extraction.first_output_event, Some(1));
    assert_eq!(observed.extraction.content_text.0, "text");
}

#[test]
fn bytes_of_the_same_time_are_one_read() {
    let event = format!("data: {TEXT}\n\n");
    let at = Duration::from_millis;
    let mut observer = Observer::new(config());
    for (at_ms, read) in [(5, &event[..9]), (5, &event[9..]), (5, &event), (6, &event), (6, "")] {
        observer.feed(read.as_bytes(), at(at_ms));
    }
    let observation = observer.finish(End::Clean, at(6)).observation;
    assert_eq!((observation.reads, observation.coalesced_reads), (2, 1));
    assert_eq!(observation.arrivals_us, [5_000, 0, 1_000]);
}

#[test]
fn a_proxy_that_holds_a_stream_back_is_seen() {
    let event = format!("data: {TEXT}\n\n");
    let length = event.len() as u64;
    let two = event.repeat(2);
    let five = event.repeat(5);
    for (reads, expected) in [
        (vec![&event; 40], None),
        (vec![&two; 20], None),
        (vec![&five], None),
        (vec![&five; 2], Some((10, 0))),
        (vec![&event, &five, &event, &five, &event], Some((10, length))),
        (vec![&event, &event, &event, &event, &event, &five], None),
    ] {
        let reads: Vec<(u64, &str)> =
            reads.iter().enumerate().map(|(at, read)| (at as u64, read.as_str())).collect();
        let observed = observe_reads(&reads);
        assert_eq!(anomaly(&observed, AnomalyKind::CoalescedStream), expected, "{}", reads.len());
    }
}

#[test]
fn each_of_several_choices_has_its_own_times() {
    let choice = |index: u64, members: &str| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{{members}}}}}]}}"#)
    };
    let events = [
        (10, choice(2, r#""role":"assistant""#)),
        (20, choice(0, r#""reasoning":"a","content":"b""#)),
        (30, choice(1, r#""refusal":"c""#)),
        (
            40,
            r#"{"choices":[{"index":0,"delta":{"content":"d"}},{"index":1,"delta":{"content":"e"}}]}"#
                .to_owned(),
        ),
        (50, choice(1, r#""tool_calls":[{"function":{"arguments":"{"}}]"#)),
    ];
    let events: Vec<(u64, &str)> = events.iter().map(|(at, event)| (*at, event.as_str())).collect();
    let observation = observe_events(&events).observation;
    let timelines: Vec<_> = observation
        .choice_timelines
        .iter()
        .map(|line| (line.index, line.first_output_us, line.last_output_us, line.output_events))
        .collect();
    assert_eq!(
        timelines,
        [
            (0, Some(20_000), Some(40_000), 2),
            (1, Some(30_000), Some(50_000), 3),
            (2, None, None, 0)
        ]
    );
    assert_eq!((observation.choices, observation.output_events), (3, 4));
    assert_eq!(observation.first_output_us, Some(20_000));
    let alone = observe_events(&events[1..2]).observation;
    assert_eq!(alone.choice_timelines, []);
}

#[test]
fn the_last_text_and_the_end_of_the_stream_are_two_times() {
    let observation = observe_events(&[(80, TEXT), (100, STOP), (120, DONE)]).observation;
    assert_eq!(observation.last_output_us, Some(80_000));
    assert_eq!(observation.elapsed_us, 120_000);
}

#[test]
fn a_clock_that_goes_back_stands_still() {
    let observation = observe_events(&[(80, TEXT), (50, TEXT), (90, TEXT)]).observation;
    assert_eq!(observation.arrivals_us, [80_000, 0, 10_000]);
}

#[test]
fn the_end_mark_ends_the_reading_while_the_connection_stays_open() {
    let mut observer = Observer::new(config());
    let read = |data: &str| format!("data: {data}\n\n").into_bytes();
    let at = Duration::from_millis;
    assert_eq!(observer.feed(&read(TEXT), at(900)), Progress::More);
    assert_eq!(observer.feed(&read(STOP), at(950)), Progress::More);
    assert_eq!(observer.feed(&read(DONE), at(1000)), Progress::Over);
    assert_eq!(observer.feed(&read(TEXT), at(2000)), Progress::Over);
    let observed = observer.finish(End::Timeout, at(31_000));
    let observation = &observed.observation;
    assert!(observation.succeeded());
    assert_eq!(observation.elapsed_us, 1_000_000);
    assert_eq!((observation.events, observation.output_events), (3, 1));
    let length = read(TEXT).len() as u64;
    let offset = observation.bytes;
    assert_eq!(anomaly(&observed, AnomalyKind::BytesAfterEnd), Some((length, offset)));
}

#[test]
fn the_line_feed_of_the_last_blank_line_is_no_byte_after_the_end() {
    for reads in [&[(1, "data: [DONE]\r\n\r\n")][..], &[(1, "data: [DONE]\r\n\r"), (2, "\n")]] {
        let observed = observe_reads(reads);
        assert_eq!(observed.observation.elapsed_us, 1_000);
        assert_eq!(anomaly(&observed, AnomalyKind::BytesAfterEnd), None);
    }
}

#[test]
fn intervals_are_summed_up_where_arrivals_are_not_kept() {
    let tool = delta(r#""tool_calls":[{"index":0,"function":{"arguments":"{}"}}]"#);
    let events = [(10, TEXT), (30, TEXT), (35, tool.as_str()), (60, TEXT), (61, STOP)];
    let reads: Vec<(u64, String)> =
        events.iter().map(|(at, data)| (*at, format!("data: {data}\n\n"))).collect();
    let reads: Vec<(u64, &str)> = reads.iter().map(|(at, read)| (*at, read.as_str())).collect();
    let observe = |keep_arrivals| {
        observe_with(ObserverConfig { keep_arrivals, ..config() }, None, &reads, End::Clean)
    };
    let (kept, summed) = (observe(true).observation, observe(false).observation);
    assert_eq!(kept.chunk_intervals, None);
    let expected = IntervalSummary { count: 2, min_us: 20_000, max_us: 30_000, sum_us: 50_000 };
    assert_eq!(summed.chunk_intervals, Some(expected));
    let empty = Observation {
        arrivals_us: Vec::new(),
        not_generated: Vec::new(),
        chunk_intervals: Some(expected),
        ..kept
    };
    assert_eq!(summed, empty);
    let alone = observe_with(
        ObserverConfig { keep_arrivals: false, ..config() },
        None,
        &reads[..1],
        End::Clean,
    );
    assert_eq!(alone.observation.chunk_intervals, None);
}
