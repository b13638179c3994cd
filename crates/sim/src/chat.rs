//! Chat completion requests: what of them counts here, checked. Members that are not named are
//! passed over.

use serde::Deserialize;
use serde_json::Value;

use crate::answer::{Limits, MAX_ANSWER_TOKENS, Prompt};
use crate::api_error::ApiError;
use crate::faults::{FaultKind, parse_order};

/// A checked request.
#[derive(Clone, Debug)]
pub(crate) struct ChatRequest {
    pub(crate) limits: Limits,
    pub(crate) model: String,
    /// What the body member `sim` orders; `Some(None)`: no fault, whatever the rules say.
    pub(crate) order: Option<Option<FaultKind>>,
    pub(crate) prompt: Prompt,
    /// Words of all message contents, split at white space: the prompt tokens.
    pub(crate) prompt_words: u64,
    /// Those of them that came from a cache; `None` without one.
    pub(crate) cached_words: Option<u64>,
    pub(crate) stream: bool,
    pub(crate) usage: StreamUsage,
}

/// When a stream reports usage. A response that is not streamed always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamUsage {
    /// `include_usage`.
    AtEnd,
    /// `include_usage` with `continuous_usage_stats`: in every chunk too.
    Continuous,
    Never,
}

impl ChatRequest {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let wire: WireRequest = serde_json::from_slice(body)
            .map_err(|error| ApiError::bad_request(None, error.to_string()))?;
        if wire.n.is_some_and(|n| n != 1) {
            return Err(ApiError::bad_request(
                Some("n"),
                "only one choice is simulated".to_owned(),
            ));
        }
        let sim = wire.sim.unwrap_or_default();
        let order = sim.fault.map(|text| parse_order(&text)).transpose();
        let contents: Vec<String> = wire.messages.iter().map(WireMessage::text).collect();
        let last_user =
            wire.messages.iter().zip(&contents).rfind(|(message, _)| message.role == "user");
        let instruction = last_user.map(|(_, text)| text.clone()).unwrap_or_default();
        let text = contents.join("\n");
        let options = wire.stream_options.unwrap_or_default();
        Ok(Self {
            limits: Limits {
                ignore_eos: wire.ignore_eos.unwrap_or_default(),
                max_tokens: wire
                    .max_completion_tokens
                    .or(wire.max_tokens)
                    .map(token_limit)
                    .transpose()?,
            },
            model: wire.model,
            order: order
                .map_err(|error| ApiError::bad_request(Some("sim.fault"), error.to_string()))?,
            prompt_words: text.split_whitespace().count() as u64,
            cached_words: None,
            prompt: Prompt { answer: sim.answer, instruction, text },
            stream: wire.stream.unwrap_or_default(),
            usage: match (options.include_usage, options.continuous_usage_stats) {
                (Some(true), Some(true)) => StreamUsage::Continuous,
                (Some(true), _) => StreamUsage::AtEnd,
                _ => StreamUsage::Never,
            },
        })
    }
}

fn token_limit(asked: u64) -> Result<u32, ApiError> {
    u32::try_from(asked).ok().filter(|limit| (1..=MAX_ANSWER_TOKENS).contains(limit)).ok_or_else(
        || {
            ApiError::bad_request(
                Some("max_tokens"),
                format!("max_tokens is {asked}, expected 1 to {MAX_ANSWER_TOKENS}"),
            )
        },
    )
}

#[derive(Deserialize)]
struct WireRequest {
    ignore_eos: Option<bool>,
    max_completion_tokens: Option<u64>,
    max_tokens: Option<u64>,
    messages: Vec<WireMessage>,
    model: String,
    n: Option<u64>,
    sim: Option<WireSim>,
    stream: Option<bool>,
    stream_options: Option<WireStreamOptions>,
}

#[derive(Deserialize)]
struct WireMessage {
    #[serde(default)]
    content: Value,
    role: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSim {
    answer: Option<String>,
    fault: Option<String>,
}

#[derive(Default, Deserialize)]
struct WireStreamOptions {
    continuous_usage_stats: Option<bool>,
    include_usage: Option<bool>,
}

impl WireMessage {
    /// A string, or the texts of a list of parts.
    fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts: Vec<&str> =
                    parts.iter().filter_map(|part| part["text"].as_str()).collect();
                texts.join("\n")
            }
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read() {
        let body =
            br#"{"model": "m", "temperature": 0, "ignore_eos": true, "sim": {"fault": "none", "answer": "x"},
            "max_tokens": 9, "max_completion_tokens": 7,
            "stream": true, "stream_options": {"include_usage": true},
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "an earlier question"},
                {"role": "user", "content": [
                    {"type": "text", "text": "two words"},
                    {"type": "image_url"},
                    {"type": "text", "text": "x"}
                ]},
                {"role": "assistant", "content": null}
            ]}"#;
        let request = ChatRequest::parse(body).unwrap();
        assert_eq!(request.prompt.instruction, "two words\nx");
        assert_eq!(request.prompt.answer.as_deref(), Some("x"));
        assert_eq!(request.prompt_words, 8);
        assert_eq!((request.limits.max_tokens, request.limits.ignore_eos), (Some(7), true));
        assert_eq!(
            (request.stream, request.usage, request.order),
            (true, StreamUsage::AtEnd, Some(None))
        );
    }

    #[test]
    fn a_bad_request_is_named() {
        let cases = [
            ("{", None, "EOF while parsing an object at line 1 column 1"),
            (r#"{"model":"m"}"#, None, "missing field `messages` at line 1 column 13"),
            (r#"{"model":"m","messages":[],"n":2}"#, Some("n"), "only one choice is simulated"),
            (
                r#"{"model":"m","messages":[],"max_tokens":0}"#,
                Some("max_tokens"),
                "max_tokens is 0, expected 1 to 131072",
            ),
        ];
        for (body, param, message) in cases {
            let expected = ApiError::bad_request(param, message.to_owned());
            assert_eq!(ChatRequest::parse(body.as_bytes()).unwrap_err(), expected);
        }
        let order = br#"{"model":"m","messages":[],"sim":{"fault":"explode"}}"#;
        assert!(
            ChatRequest::parse(order).unwrap_err().message.starts_with("`explode` is no fault")
        );
        let unknown = br#"{"model":"m","messages":[],"sim":{"fautl":"reset:1"}}"#;
        assert!(
            ChatRequest::parse(unknown).unwrap_err().message.starts_with("unknown field `fautl`")
        );
    }
}
