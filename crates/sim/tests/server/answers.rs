//! What streams and bodies hold.

use serde_json::json;
use streamgauge_sim::{RoleChunk, SimConfig};

use crate::client::{Client, quick, read_json, start, streaming};

#[tokio::test]
async fn a_stream_is_role_output_finish_usage_end_mark() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    let stream = client
        .stream(&streaming("Begin with the marker M1. Repeat the word go 2 times.", 10))
        .await;
    let expected = [
        "role assistant",
        "content `M1`",
        "content ` go`",
        "content ` go`",
        "finish stop",
        "usage 3 of 14",
        "[DONE]",
    ];
    assert_eq!(stream.outline(), expected);
    assert!(stream.end.is_ok());
    assert!(
        stream
            .chunks()
            .iter()
            .all(|chunk| chunk["id"] == "chatcmpl-sim-1" && chunk["model"] == "sim-model")
    );
}

#[tokio::test]
async fn reasoning_comes_first_in_events_of_several_tokens() {
    let config = SimConfig {
        reasoning_ratio: 0.5,
        role_chunk: RoleChunk::AtOnce,
        tokens_per_event: 2,
        ..quick()
    };
    let server = start(config).await;
    let mut client = Client::connect(server.addr()).await;
    let stream = client.stream(&streaming("repeat the word a 4 times", 6)).await;
    let reasoning = stream.text("reasoning_content");
    assert_eq!(reasoning.split(' ').count(), 3);
    let expected = [
        "role assistant",
        "reasoning",
        "reasoning",
        "content `a a`",
        "content ` a`",
        "finish length",
        "usage 6 of 12",
    ];
    for (event, expected) in stream.outline().iter().zip(expected) {
        assert!(event.starts_with(expected), "{event} is not {expected}");
    }
    let usage = stream.chunks().pop().unwrap()["usage"].take();
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 3);
}

#[tokio::test]
async fn usage_is_reported_as_asked() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    let options = [
        (json!(null), 0),
        (json!({"include_usage": false, "continuous_usage_stats": true}), 0),
        (json!({"include_usage": true}), 1),
        (json!({"include_usage": true, "continuous_usage_stats": true}), 5),
    ];
    for (options, reports) in options {
        let mut body = streaming("hello", 2);
        body["stream_options"] = options.clone();
        let chunks = client.stream(&body).await.chunks();
        assert_eq!(
            chunks.iter().filter(|chunk| chunk["usage"].is_object()).count(),
            reports,
            "{options}"
        );
    }
}

#[tokio::test]
async fn without_streaming_one_body_holds_the_answer_and_usage() {
    let server = start(quick()).await;
    let mut client = Client::connect(server.addr()).await;
    let body = json!({"model": "sim-model", "messages": [
        {"role": "system", "content": "three words here"},
        {"role": "user", "content": "return JSON with fields {\"city\": \"Bern\"}"},
    ]});
    let response = client.chat(&[("x-request-id", "mine")], &body).await.unwrap();
    assert_eq!(response.headers()["x-request-id"], "mine");
    let (status, answer) = read_json(response).await;
    assert_eq!((status, &answer["object"]), (200, &json!("chat.completion")));
    assert_eq!(
        answer["choices"][0]["message"],
        json!({"role": "assistant", "content": "{\"city\": \"Bern\"}"})
    );
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        answer["usage"],
        json!({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11})
    );
    let account = server.account().pop().unwrap();
    assert_eq!((account.id.as_str(), account.streamed), ("mine", false));
    assert_eq!((account.events, account.output_events, account.completion_tokens), (1, 0, 2));
}

#[tokio::test]
async fn servers_with_one_seed_give_one_text_in_any_order_of_requests() {
    let mut texts = Vec::new();
    for (seed, prompts) in [(1, ["x", "y"]), (1, ["y", "x"]), (2, ["x", "y"])] {
        let server = start(SimConfig { seed, ..quick() }).await;
        let mut client = Client::connect(server.addr()).await;
        let mut answers = Vec::new();
        for prompt in prompts {
            answers.push((prompt, client.stream(&streaming(prompt, 6)).await.text("content")));
        }
        answers.sort();
        texts.push(answers);
    }
    assert_eq!(texts[0], texts[1]);
    assert_ne!(texts[0], texts[2]);
}
