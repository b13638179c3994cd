//! Streams made up at random: of every dialect as servers write them, with some of what they should
//! not write; and bytes in which the bytes that matter are common.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use streamgauge_schema::{Dialect, Head};

/// Events of each dialect. `$N` is a small number, `$COUNT` a token count or none, `$REASON` a
/// finish reason or none, `$TEXT` what stands between quotation marks.
fn templates(dialect: Dialect) -> Vec<&'static str> {
    match dialect {
        Dialect::AnthropicMessages => vec![
            r#"{"type":"message_start","message":{"model":"m$N","usage":{"input_tokens":$COUNT,"cache_read_input_tokens":$COUNT,"output_tokens":$COUNT}}}"#,
            r#"{"type":"content_block_start","index":$N,"content_block":{"type":"text","text":"$TEXT"}}"#,
            r#"{"type":"content_block_delta","index":$N,"delta":{"type":"text_delta","text":"$TEXT"}}"#,
            r#"{"type":"content_block_delta","index":$N,"delta":{"type":"thinking_delta","thinking":"$TEXT"}}"#,
            r#"{"type":"content_block_delta","index":$N,"delta":{"type":"input_json_delta","partial_json":"$TEXT"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":$REASON},"usage":{"output_tokens":$COUNT}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        Dialect::OllamaChat => vec![
            r#"{"model":"m$N","message":{"content":"$TEXT"},"done":false}"#,
            r#"{"model":"m$N","message":{"content":"","thinking":"$TEXT"},"done":false}"#,
            r#"{"message":{"tool_calls":[{"function":{"arguments":{"a":$COUNT}}}]},"done":false}"#,
            r#"{"message":{"content":"$TEXT"},"done":true,"done_reason":$REASON,"prompt_eval_count":$COUNT,"eval_count":$COUNT}"#,
        ],
        Dialect::OllamaGenerate => vec![
            r#"{"model":"m$N","response":"$TEXT","done":false}"#,
            r#"{"response":"","thinking":"$TEXT","done":false}"#,
            r#"{"response":"$TEXT","done":true,"done_reason":$REASON,"prompt_eval_count":$COUNT,"eval_count":$COUNT}"#,
        ],
        Dialect::OpenaiChat => vec![
            r#"{"model":"m$N","choices":[{"index":$N,"delta":{"content":"$TEXT"},"finish_reason":$REASON}]}"#,
            r#"{"choices":[{"index":$N,"delta":{"content":"$TEXT"}}],"usage":{"completion_tokens":$COUNT}}"#,
            r#"{"choices":[{"index":$N,"delta":{"reasoning":"$TEXT","content":null}},{"index":$N,"delta":{"content":"$TEXT"}}]}"#,
            r#"{"choices":[{"index":$N,"delta":{"content":[{"type":"text","text":"$TEXT"}]}}]}"#,
            r#"{"choices":[{"index":$N,"delta":{"refusal":"$TEXT"}}]}"#,
            r#"{"choices":[{"index":$N,"delta":{"tool_calls":[{"function":{"arguments":"$TEXT"}}]}}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":$COUNT,"completion_tokens":$COUNT},"timings":{"n":$COUNT}}"#,
            "{\"choices\":\ndata: []}",
            " [DONE]",
        ],
        Dialect::OpenaiCompletions => vec![
            r#"{"model":"m$N","choices":[{"index":$N,"text":"$TEXT","finish_reason":$REASON}]}"#,
            r#"{"choices":[{"index":$N,"text":[{"type":"text","text":"$TEXT"}]}],"usage":{"completion_tokens":$COUNT}}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":$COUNT,"completion_tokens":$COUNT}}"#,
            "[DONE] ",
        ],
        Dialect::OpenaiResponses => vec![
            r#"{"type":"response.created","response":{"model":"m$N","usage":null}}"#,
            r#"{"type":"response.output_text.delta","delta":"$TEXT"}"#,
            r#"{"type":"response.output_text.done","text":"$TEXT"}"#,
            r#"{"type":"response.reasoning_summary_text.delta","delta":"$TEXT"}"#,
            r#"{"type":"response.refusal.delta","delta":"$TEXT"}"#,
            r#"{"type":"response.function_call_arguments.delta","delta":"$TEXT"}"#,
            r#"{"type":"response.completed","response":{"usage":{"input_tokens":$COUNT,"output_tokens":$COUNT}}}"#,
            r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":$REASON}}}"#,
            r#"{"type":"response.failed","response":{"error":{"message":"$TEXT"}}}"#,
        ],
        Dialect::SglangGenerate => vec![
            r#"{"text":"$TEXT","index":$N,"meta_info":{"finish_reason":null,"completion_tokens":$COUNT}}"#,
            r#"{"text":"$TEXT$TEXT","index":$N,"meta_info":{"completion_tokens":$COUNT,"cached_tokens":$COUNT}}"#,
            r#"{"text":"$TEXT","meta_info":{"finish_reason":{"type":$REASON},"completion_tokens":$COUNT}}"#,
            "[DONE]",
        ],
        Dialect::TgiGenerate => vec![
            r#"{"index":$N,"token":{"text":"$TEXT","special":false},"generated_text":null}"#,
            r#"{"index":$N,"token":{"text":"$TEXT","special":true},"details":null}"#,
            r#"{"token":{"text":"$TEXT"},"generated_text":"$TEXT","details":{"finish_reason":$REASON,"generated_tokens":$COUNT}}"#,
        ],
    }
}

/// What can stand in any stream.
const ANYWHERE: [&str; 6] =
    [r#"{"error":{"message":"lost"}}"#, r#"{"type":"ping"}"#, "nul", "[1]", ": ping", ""];

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

fn data(dialect: Dialect) -> impl Strategy<Value = String> {
    let template = prop_oneof![12 => select(templates(dialect)), 1 => select(ANYWHERE.to_vec())];
    let count = select(vec!["0", "3", "7", "12.0", "1e1", "-1", "7.5", "\"3\"", "null"]);
    let reason = select(vec!["null", "null", r#""""#, r#""stop""#, r#""error""#]);
    (template, 0..3_u8, text(), count, reason).prop_map(
        |(template, number, text, count, reason)| {
            template
                .replace("$N", &number.to_string())
                .replace("$TEXT", &text)
                .replace("$COUNT", count)
                .replace("$REASON", reason)
        },
    )
}

fn event_stream(dialect: Dialect) -> impl Strategy<Value = Vec<u8>> {
    let name = select(vec!["", "", "", "event: message_stop\n", "event: response.completed\n"]);
    let block = prop_oneof![
        12 => (name, data(dialect)).prop_map(|(name, data)| format!("{name}data: {data}\n\n")),
        1 => data(dialect).prop_map(|data| format!("event: error\ndata: {data}\n\n")),
        1 => data(dialect).prop_map(|data| format!("{data}\n\n")),
        1 => select(vec![": ping\n\n", "\n", "event: error\n: lost\n\n", "error: no\n", "id: 1\n"])
            .prop_map(str::to_owned),
    ];
    (vec((block, select(vec!["\n", "\r", "\r\n"])), 0..16), select(vec!["", "\u{feff}"])).prop_map(
        |(blocks, start)| {
            let blocks: String =
                blocks.iter().map(|(block, line_end)| block.replace('\n', line_end)).collect();
            format!("{start}{blocks}").into_bytes()
        },
    )
}

fn lines(dialect: Dialect) -> impl Strategy<Value = Vec<u8>> {
    let line = (data(dialect), select(vec!["\n", "\n", "\r\n", "\n \n", ""]));
    let line = line.prop_map(|(data, end)| format!("{data}{end}"));
    vec(line, 0..16).prop_map(|lines| lines.concat().into_bytes())
}

/// A dialect, and a stream of it.
pub(crate) fn stream() -> impl Strategy<Value = (Dialect, Vec<u8>)> {
    select(Dialect::ALL.to_vec()).prop_flat_map(|dialect| {
        let bytes = match dialect {
            Dialect::OllamaChat | Dialect::OllamaGenerate => {
                prop_oneof![4 => lines(dialect), 1 => event_stream(dialect)].boxed()
            }
            _ => event_stream(dialect).boxed(),
        };
        (Just(dialect), bytes)
    })
}

/// Bytes in which the bytes that matter are common.
pub(crate) fn rubbish() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        select(vec![
            "data",
            "event",
            "error",
            ":",
            " ",
            "\n",
            "\r",
            "{",
            "}",
            "[",
            "]",
            "\"",
            "\\",
            "\u{feff}",
            "data: {}",
            "[DONE]",
            "\n\n",
            "choices",
            "message",
            "done",
            ",",
            "1",
            "é",
            "{\"done\":false,\"response\":\"a\"}\n",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        vec(any::<u8>(), 0..4),
        vec(select(vec![b'x', b'\n']), 0..300),
    ];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// A dialect, or none: then it is to be found out.
pub(crate) fn asked() -> impl Strategy<Value = Option<Dialect>> {
    proptest::option::of(select(Dialect::ALL.to_vec()))
}

/// The heads that decide what a body is, or none.
pub(crate) fn head() -> impl Strategy<Value = Option<Head>> {
    let content_type = select(vec![
        "text/event-stream",
        "text/event-stream",
        "application/x-ndjson",
        "application/json",
        "text/html",
        "",
    ]);
    let head =
        (select(vec![200, 200, 200, 500]), content_type).prop_map(|(status, content_type)| Head {
            status,
            content_type: Some(content_type.to_owned()),
            ..Head::default()
        });
    proptest::option::of(head)
}
