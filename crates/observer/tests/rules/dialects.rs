//! What each dialect says, in streams and in whole answers, and how it is told from the others.

use super::*;

fn observe_as(dialect: Option<Dialect>, head: Option<Head>, body: &str) -> Observed {
    let config = ObserverConfig { dialect, ..config() };
    observe_with(config, head, &[(5, body)], End::Clean)
}

/// A stream of events, each with this name; of lines, if the name is `None`.
fn stream(name: Option<&str>, events: &[&str]) -> String {
    let event = |data: &&str| match name {
        Some("") => format!("data: {data}\n\n"),
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("{data}\n"),
    };
    events.iter().map(event).collect()
}

/// Streams that say `Oak` with `tree` reasoned before where the dialect can, and 9 and 4 tokens.
const STREAMS: [(Dialect, Option<&str>, &[&str]); 8] = [
    (
        Dialect::AnthropicMessages,
        Some("x"),
        &[
            r#"{"type":"message_start","message":{"model":"m","content":[{"type":"text","text":"no"}],"usage":{"input_tokens":9,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"no"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"tree"}}"#,
            r#"{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"Oak"}}"#,
            r#"{"type":"content_block_delta","index":7,"delta":{"type":"signature_delta","text":"no"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"stop"},"usage":{"output_tokens":4}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    ),
    (
        Dialect::OllamaChat,
        None,
        &[
            r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"tree"},"done":false}"#,
            r#"{"model":"m","message":{"role":"assistant","content":"Oak"},"done":false,"done_reason":"no","eval_count":1}"#,
            r#"{"model":"m","message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":4}"#,
        ],
    ),
    (
        Dialect::OllamaGenerate,
        None,
        &[
            r#"{"model":"m","response":"","thinking":"tree","done":false}"#,
            r#"{"model":"m","response":"Oak","done":false}"#,
            r#"{"model":"m","response":"","done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":4}"#,
        ],
    ),
    (
        Dialect::OpenaiChat,
        Some(""),
        &[
            r#"{"model":"m","choices":[{"index":0,"text":"no","delta":{"reasoning":"tree"}}]}"#,
            r#"{"model":"m","choices":[{"index":0,"delta":{"content":"Oak"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}"#,
            DONE,
        ],
    ),
    (
        Dialect::OpenaiCompletions,
        Some(""),
        &[
            r#"{"object":"text_completion","model":"m","choices":[{"index":0,"text":"Oak","delta":{"content":"no","reasoning":"tree"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}"#,
            DONE,
        ],
    ),
    (
        Dialect::OpenaiResponses,
        Some("x"),
        &[
            r#"{"type":"response.created","response":{"model":"m","usage":null}}"#,
            r#"{"type":"response.reasoning_text.delta","output_index":0,"delta":"tree"}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"delta":"Oak"}"#,
            r#"{"type":"response.output_text.done","output_index":1,"delta":"no","text":"Oak"}"#,
            r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"stop"},"usage":{"input_tokens":9,"output_tokens":4}}}"#,
        ],
    ),
    (
        Dialect::SglangGenerate,
        Some(""),
        &[
            r#"{"text":"O","meta_info":{"finish_reason":null,"prompt_tokens":9,"completion_tokens":2}}"#,
            r#"{"text":"Oak","meta_info":{"finish_reason":{"type":"stop","matched":2},"prompt_tokens":9,"completion_tokens":4}}"#,
            DONE,
        ],
    ),
    (
        Dialect::TgiGenerate,
        Some(""),
        &[
            r#"{"index":1,"token":{"id":3,"text":"Oak","special":false},"generated_text":null,"details":null}"#,
            r#"{"index":2,"token":{"id":2,"text":"</s>","special":true},"generated_text":"Oak","details":{"finish_reason":"stop","generated_tokens":4,"input_length":9}}"#,
        ],
    ),
];

/// The same as whole answers; where there is no count of the prompt, none is given.
const ANSWERS: [(Dialect, &str); 8] = [
    (
        Dialect::AnthropicMessages,
        r#"{"type":"message","model":"m","content":[{"type":"thinking","thinking":"tree"},{"type":"text","text":"Oak"}],"stop_reason":"stop","usage":{"input_tokens":9,"output_tokens":4}}"#,
    ),
    (
        Dialect::OllamaChat,
        r#"{"model":"m","message":{"content":"Oak","thinking":"tree"},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":4}"#,
    ),
    (
        Dialect::OllamaGenerate,
        r#"{"model":"m","response":"Oak","thinking":"tree","done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":4}"#,
    ),
    (
        Dialect::OpenaiChat,
        r#"{"model":"m","choices":[{"message":{"content":"Oak","reasoning":"tree"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4}}"#,
    ),
    (
        Dialect::OpenaiCompletions,
        r#"{"model":"m","choices":[{"text":"Oak","finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4}}"#,
    ),
    (
        Dialect::OpenaiResponses,
        r#"{"object":"response","model":"m","status":"incomplete","incomplete_details":{"reason":"stop"},"output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"tree"}]},{"type":"message","content":[{"type":"output_text","text":"Oak"}]}],"usage":{"input_tokens":9,"output_tokens":4}}"#,
    ),
    (
        Dialect::SglangGenerate,
        r#"{"text":"Oak","meta_info":{"finish_reason":{"type":"stop"},"prompt_tokens":9,"completion_tokens":4}}"#,
    ),
    (
        Dialect::TgiGenerate,
        r#"{"generated_text":"Oak","details":{"finish_reason":"stop","generated_tokens":4,"input_length":9}}"#,
    ),
];

fn check_texts(dialect: Dialect, observed: &Observed, reasons: bool) {
    let Observed { observation, extraction, .. } = observed;
    assert_eq!(observation.dialect, dialect);
    assert!(observation.succeeded(), "{dialect}: {:?}", observation.error);
    assert_eq!(extraction.content_text.0, "Oak", "{dialect}");
    assert_eq!(extraction.reasoning_text.0, if reasons { "tree" } else { "" }, "{dialect}");
    assert_eq!(extraction.finish_reasons, ["stop"], "{dialect}");
    let usage = extraction.usage.unwrap_or_default();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(9), Some(4)), "{dialect}");
    let has_model = !matches!(dialect, Dialect::SglangGenerate | Dialect::TgiGenerate);
    assert_eq!(extraction.returned_models.len(), usize::from(has_model), "{dialect}");
    assert_eq!(observation.anomalies, [], "{dialect}");
}

#[test]
fn streams_of_every_dialect_are_read_whether_it_was_named_or_not() {
    for (dialect, name, events) in STREAMS {
        let stream = stream(name, events);
        let declared = if name.is_some() { "text/event-stream" } else { "application/x-ndjson" };
        for head in [None, content_type(declared)] {
            for asked in [Some(dialect), None] {
                let observed = observe_as(asked, head.clone(), &stream);
                let reasons = !matches!(dialect, Dialect::SglangGenerate | Dialect::TgiGenerate);
                check_texts(dialect, &observed, reasons);
                assert_eq!(observed.observation.events, events.len() as u64, "{dialect}");
                assert_eq!(observed.extraction.ending, Some(Ending::Complete), "{dialect}");
                assert!(observed.extraction.done_seen, "{dialect}");
            }
        }
    }
}

#[test]
fn whole_answers_of_every_dialect_are_read_whether_it_was_named_or_not() {
    for (dialect, answer) in ANSWERS {
        for asked in [Some(dialect), None] {
            let observed = observe_as(asked, content_type("application/json"), answer);
            let reasons = answer.contains("tree");
            check_texts(dialect, &observed, reasons);
            let Observed { observation, extraction, .. } = observed;
            assert_eq!((observation.body, observation.events), (BodyKind::Json, 1), "{dialect}");
            assert_eq!(observation.first_output_us, None, "{dialect}");
            assert_eq!((extraction.generated_events, extraction.done_seen), (0, false));
        }
    }
}

#[test]
fn without_a_type_the_name_of_the_event_tells_it() {
    for (dialect, events) in [
        (
            Dialect::AnthropicMessages,
            [
                ("content_block_delta", r#"{"delta":{"type":"text_delta","text":"Oak"}}"#),
                ("message_delta", r#"{"type":null,"delta":{"stop_reason":"stop"}}"#),
                ("message_stop", "{}"),
            ],
        ),
        (
            Dialect::OpenaiResponses,
            [
                ("response.output_text.delta", r#"{"delta":"Oak"}"#),
                ("response.output_text.done", r#"{"type":5,"delta":"Oak"}"#),
                ("response.completed", "{}"),
            ],
        ),
    ] {
        let stream: String =
            events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect();
        for asked in [Some(dialect), None] {
            let observed = observe_as(asked, None, &stream);
            assert_eq!(observed.observation.dialect, dialect);
            assert_eq!(observed.extraction.content_text.0, "Oak");
            assert_eq!(observed.extraction.ending, Some(Ending::Complete));
        }
    }
}

#[test]
fn tool_calls_count_from_their_first_arguments_in_every_dialect() {
    for (dialect, name, start, arguments) in [
        (
            Dialect::AnthropicMessages,
            Some(""),
            r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":""}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
        ),
        (
            Dialect::OllamaChat,
            None,
            r#"{"message":{"tool_calls":[{"function":{"name":"f"}}]},"done":false}"#,
            r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}"#,
        ),
        (
            Dialect::OpenaiChat,
            Some(""),
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"function_call":{"arguments":"{"}}}]}"#,
        ),
        (
            Dialect::OpenaiResponses,
            Some(""),
            r#"{"type":"response.function_call_arguments.delta","delta":""}"#,
            r#"{"type":"response.mcp_call_arguments.delta","delta":"{"}"#,
        ),
    ] {
        let observed = observe_as(Some(dialect), None, &stream(name, &[start, arguments]));
        let Observed { observation, extraction, .. } = observed;
        assert_eq!(extraction.first_output_event, Some(1), "{dialect}");
        assert_eq!(extraction.tool_call_events, 1, "{dialect}");
        assert_eq!((observation.output_events, observation.generated_events), (1, 0), "{dialect}");
    }
}

#[test]
fn a_text_that_every_event_repeats_is_what_the_last_one_says() {
    let texts = ["", "<th", "<th", "<think", "Oak", "Oak leaf", "Oa"];
    let event = |text: &&str| format!(r#"{{"text":"{text}","meta_info":{{}}}}"#);
    let events: Vec<String> = texts.iter().map(event).collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let observed = observe_as(Some(Dialect::SglangGenerate), None, &stream(Some(""), &events));
    assert_eq!(observed.extraction.content_text.0, "Oa");
    assert_eq!(observed.extraction.generated_events, 5);
    assert_eq!(observed.extraction.first_content_event, Some(1));
    assert!(!observed.extraction.think_tag_in_content);
    let observed = observe_as(Some(Dialect::SglangGenerate), None, &stream(Some(""), &events[..4]));
    assert!(observed.extraction.think_tag_in_content);
}

#[test]
fn counts_of_each_choice_are_no_count_of_all() {
    let event = |index: u64, reason: &str| {
        format!(
            r#"{{"text":"a","index":{index},"meta_info":{{"completion_tokens":128,"finish_reason":{reason}}}}}"#
        )
    };
    let length = r#"{"type":"length","length":128}"#;
    let both = [event(0, "null"), event(1, "null"), event(1, length), event(0, length)];
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    for (events, ambiguous) in [(&both[..], true), (&both[3..], false)] {
        let stream = stream(Some(""), events);
        let observed = observe_as(Some(Dialect::SglangGenerate), None, &stream);
        assert!(observed.observation.succeeded());
        assert_eq!(observed.observation.usage_ambiguous, ambiguous);
    }
}

#[test]
fn a_failed_response_fails_the_request_and_keeps_its_facts() {
    let failed = r#"{"type":"response.failed","response":{"model":"m","error":{"code":"server_error","message":"stopped"},"usage":{"output_tokens":3}}}"#;
    let observed = observe_as(Some(Dialect::OpenaiResponses), None, &stream(Some(""), &[failed]));
    let error = observed.observation.error.unwrap();
    assert_eq!((error.class, error.event), (FailureClass::ErrorEvent, Some(0)));
    assert_eq!(error.message.as_deref(), Some("stopped"));
    assert_eq!(error.code.as_deref(), Some("server_error"));
    assert_eq!(observed.extraction.usage.unwrap().completion_tokens, Some(3));
    let whole = r#"{"object":"response","status":"failed","error":null}"#;
    let observed = observe_as(Some(Dialect::OpenaiResponses), None, whole);
    assert_eq!(observed.extraction.error, Some("error_event"));
}

#[test]
fn lines_are_framed_by_line_feeds_alone() {
    let line = |text: &str| format!(r#"{{"message":{{"content":"{text}"}},"done":false}}"#);
    let end = r#"{"message":{"content":""},"done":true,"done_reason":"stop"}"#;
    let body = format!(" \r\n{}\r\n\n{}\nnot JSON\n{end}", line("a\u{2028}"), line("b"));
    for asked in [Some(Dialect::OllamaChat), None] {
        let mut observer = Observer::new(ObserverConfig { dialect: asked, ..config() });
        observer.head(content_type("application/x-ndjson").unwrap());
        observer.feed(body.as_bytes(), Duration::from_millis(7));
        // The last line has no end, but it is whole: it came with the last read.
        let observed = observer.finish(End::Clean, Duration::from_millis(900));
        let Observed { observation, extraction, .. } = &observed;
        assert_eq!(extraction.content_text.0, "a\u{2028}b");
        assert_eq!((extraction.events_total, extraction.malformed_events), (4, 1));
        assert_eq!((extraction.ending, extraction.done_seen), (Some(Ending::Complete), true));
        assert_eq!(observation.elapsed_us, 7_000);
        assert_eq!(observation.bytes, body.len() as u64);
    }
    let cut = observe_as(Some(Dialect::OllamaChat), None, &body[..body.len() - 1]);
    assert_eq!(cut.extraction.error, Some("premature_eof"));
    assert_eq!((cut.extraction.events_total, cut.extraction.malformed_events), (3, 1));
}

#[test]
fn what_is_no_stream_of_lines_is_named() {
    let lines = stream(None, STREAMS[1].2);
    let events = stream(Some(""), STREAMS[1].2);
    for (declared, body, expected) in [
        ("application/x-ndjson", "<h1>Sign in</h1>\n", Some(FailureClass::NotEventStream)),
        ("application/x-ndjson", "\n[1]\n", Some(FailureClass::NotEventStream)),
        ("application/x-ndjson", "", Some(FailureClass::PrematureEof)),
        ("text/plain", &lines, Some(FailureClass::NotEventStream)),
        ("text/plain", &events, None),
        ("text/event-stream", &events, None),
    ] {
        let observed = observe_as(Some(Dialect::OllamaChat), content_type(declared), body);
        let found = observed.observation.error.map(|error| error.class);
        assert_eq!(found, expected, "{declared} {body}");
        let is_stream = expected != Some(FailureClass::NotEventStream);
        assert_eq!(observed.observation.body == BodyKind::Stream, is_stream, "{declared} {body}");
    }
}

#[test]
fn events_before_the_first_that_shows_a_dialect_are_kept() {
    let ping = r#"{"type":"ping","model":"router"}"#;
    let observed = observe_as(None, None, &stream(Some(""), &[ping, "nul", ping]));
    assert_eq!(observed.observation.dialect, Dialect::OpenaiChat);
    let (dialect, _, events) = STREAMS[0];
    let events: Vec<&str> = [ping, "nul"].into_iter().chain(events.iter().copied()).collect();
    let observed = observe_as(None, None, &stream(Some(""), &events));
    assert_eq!(observed.observation.dialect, dialect);
    assert_eq!(observed.extraction.returned_models, ["m", "router"]);
    assert_eq!(observed.extraction.first_malformed_event, Some(1));
    assert_eq!(observed.extraction.content_text.0, "Oak");
    // What was found is never given up again.
    let chat = STREAMS[3].2[1];
    let observed = observe_as(None, None, &stream(Some(""), &[events[2], chat]));
    assert_eq!(observed.extraction.content_text.0, "");
}
