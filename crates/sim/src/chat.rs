//! The chat completions API: requests in, events and bodies out.
//!
//! A prompt token is one word of the message contents, split at white space; a completion token is one word of the
//! answer or of its reasoning.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{FinishReason, Limits, MAX_ANSWER_TOKENS, Prompt};
use crate::api_error::ApiError;
use crate::engine::{Channel, Event};
use crate::faults::{FaultKind, parse_order};

/// A checked request.
#[derive(Clone, Debug)]
pub(crate) struct ChatRequest {
    pub(crate) limits: Limits,
    pub(crate) model: String,
    /// What the body member `sim` orders; `Some(None)`: no fault, whatever the rules say.
    pub(crate) order: Option<Option<FaultKind>>,
    pub(crate) prompt: Prompt,
    pub(crate) prompt_words: u64,
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
        let order = wire.sim.and_then(|sim| sim.fault).map(|text| parse_order(&text)).transpose();
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
            prompt: Prompt { instruction, text },
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSim {
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

/// Writes the events of one response, counting the tokens as they go by.
#[derive(Debug)]
pub(crate) struct Renderer {
    continuous_usage: bool,
    created: u64,
    id: String,
    model: String,
    usage: Counts,
}

#[derive(Clone, Copy, Debug)]
struct Counts {
    completion: u64,
    prompt: u64,
    reasoning: u64,
}

impl Renderer {
    /// `created` is in seconds since the Unix epoch.
    pub(crate) fn new(request: &ChatRequest, ordinal: u64, created: u64) -> Self {
        Self {
            continuous_usage: request.usage == StreamUsage::Continuous,
            created,
            id: format!("chatcmpl-sim-{ordinal}"),
            model: request.model.clone(),
            usage: Counts { completion: 0, prompt: request.prompt_words, reasoning: 0 },
        }
    }

    /// The bytes of an event: for a stream with its framing, else the whole body.
    pub(crate) fn render(&mut self, event: &Event) -> Bytes {
        match event {
            Event::Done => Bytes::from_static(b"data: [DONE]\n\n"),
            Event::Finish(reason) => self.chunk(Delta::default(), Some(*reason)),
            Event::Output { channel, text, tokens } => {
                self.count(*channel, (*tokens).into());
                self.chunk(Delta::output(*channel, text), None)
            }
            Event::Role => self.chunk(
                Delta { content: Some(""), role: Some("assistant"), ..Delta::default() },
                None,
            ),
            Event::Usage => self.framed(&[], Some(self.usage.report())),
            Event::Whole(answer) => {
                self.count(Channel::Reasoning, answer.reasoning.len() as u64);
                self.count(Channel::Content, answer.content.len() as u64);
                let (content, reasoning) = (answer.content.concat(), answer.reasoning.concat());
                let message = Delta {
                    content: Some(&content),
                    reasoning_content: (!reasoning.is_empty()).then_some(&reasoning),
                    role: Some("assistant"),
                };
                let choice = Choice {
                    delta: None,
                    finish_reason: Some(answer.finish.name()),
                    index: 0,
                    message: Some(message),
                };
                json(&self.response("chat.completion", &[choice], Some(self.usage.report())))
            }
        }
    }

    fn count(&mut self, channel: Channel, tokens: u64) {
        self.usage.completion += tokens;
        if channel == Channel::Reasoning {
            self.usage.reasoning += tokens;
        }
    }

    fn chunk(&self, delta: Delta<'_>, finish: Option<FinishReason>) -> Bytes {
        let choice = Choice {
            delta: Some(delta),
            finish_reason: finish.map(FinishReason::name),
            index: 0,
            message: None,
        };
        self.framed(&[choice], self.continuous_usage.then(|| self.usage.report()))
    }

    fn framed(&self, choices: &[Choice<'_>], usage: Option<Usage>) -> Bytes {
        let body = json(&self.response("chat.completion.chunk", choices, usage));
        [b"data: ", &body[..], b"\n\n"].concat().into()
    }

    fn response<'a>(
        &'a self,
        object: &'static str,
        choices: &'a [Choice<'a>],
        usage: Option<Usage>,
    ) -> Response<'a> {
        Response { choices, created: self.created, id: &self.id, model: &self.model, object, usage }
    }
}

impl FinishReason {
    fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Stop => "stop",
        }
    }
}

impl Counts {
    fn report(self) -> Usage {
        let details = CompletionDetails { reasoning_tokens: self.reasoning };
        Usage {
            completion_tokens: self.completion,
            completion_tokens_details: (self.reasoning > 0).then_some(details),
            prompt_tokens: self.prompt,
            total_tokens: self.prompt + self.completion,
        }
    }
}

fn json(value: &Response<'_>) -> Bytes {
    serde_json::to_vec(value).expect("texts and whole numbers always serialise").into()
}

#[derive(Serialize)]
struct Response<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [Choice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<Delta<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Delta<'a>>,
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

impl<'a> Delta<'a> {
    fn output(channel: Channel, text: &'a str) -> Self {
        match channel {
            Channel::Content => Self { content: Some(text), ..Self::default() },
            Channel::Reasoning => Self { reasoning_content: Some(text), ..Self::default() },
        }
    }
}

#[derive(Serialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;

    #[test]
    fn a_request_is_read() {
        let body = br#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":9,
            "max_completion_tokens":7,"ignore_eos":true,"temperature":0,"sim":{"fault":"none"},"messages":[
            {"role":"system","content":"be brief"},
            {"role":"user","content":"an earlier question"},
            {"role":"user","content":[{"type":"text","text":"two words"},{"type":"image_url"},{"type":"text","text":"x"}]},
            {"role":"assistant","content":null}]}"#;
        let request = ChatRequest::parse(body).unwrap();
        assert_eq!(request.prompt.instruction, "two words\nx");
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

    #[test]
    fn events_are_written_as_the_api_has_them() {
        let body = br#"{"model":"m","stream":true,"messages":[{"role":"user","content":"a b"}],
            "stream_options":{"include_usage":true,"continuous_usage_stats":true}}"#;
        let mut renderer = Renderer::new(&ChatRequest::parse(body).unwrap(), 4, 1_700_000_000);
        let output =
            |channel, text: &str| Event::Output { channel, text: text.to_owned(), tokens: 2 };
        let whole = Answer {
            content: vec!["x".to_owned(), " y".to_owned()],
            finish: FinishReason::Stop,
            reasoning: vec!["r".to_owned()],
        };
        let chunk = |rest: &str| {
            let head = r#"{"id":"chatcmpl-sim-4","object":"chat.completion.chunk","created":1700000000,"model":"m","#;
            format!("data: {head}{rest}\n\n")
        };
        let usage = |completion: u64, details: &str| {
            let total = completion + 2;
            format!(
                r#""usage":{{"prompt_tokens":2,"completion_tokens":{completion},"total_tokens":{total}{details}}}}}"#
            )
        };
        let reasoned = r#","completion_tokens_details":{"reasoning_tokens":2}"#;
        let choice = |inner: &str| format!(r#""choices":[{{"index":0,{inner}}}],"#);
        let cases = [
            (
                Event::Role,
                chunk(
                    &(choice(r#""delta":{"role":"assistant","content":""},"finish_reason":null"#)
                        + &usage(0, "")),
                ),
            ),
            (
                output(Channel::Reasoning, "q\""),
                chunk(
                    &(choice(r#""delta":{"reasoning_content":"q\""},"finish_reason":null"#)
                        + &usage(2, reasoned)),
                ),
            ),
            (
                output(Channel::Content, "a b"),
                chunk(
                    &(choice(r#""delta":{"content":"a b"},"finish_reason":null"#)
                        + &usage(4, reasoned)),
                ),
            ),
            (
                Event::Finish(FinishReason::Length),
                chunk(&(choice(r#""delta":{},"finish_reason":"length""#) + &usage(4, reasoned))),
            ),
            (Event::Usage, chunk(&(r#""choices":[],"#.to_owned() + &usage(4, reasoned)))),
            (Event::Done, "data: [DONE]\n\n".to_owned()),
        ];
        for (event, expected) in cases {
            assert_eq!(renderer.render(&event), expected.as_bytes(), "{event:?}");
        }
        let mut renderer = Renderer::new(&ChatRequest::parse(body).unwrap(), 4, 1_700_000_000);
        let body: Value = serde_json::from_slice(&renderer.render(&Event::Whole(whole))).unwrap();
        assert_eq!(body["object"], "chat.completion");
        let message =
            serde_json::json!({"role": "assistant", "content": "x y", "reasoning_content": "r"});
        assert_eq!(body["choices"][0]["message"], message);
        assert_eq!(body["choices"][0]["finish_reason"], "stop");
        assert_eq!(body["usage"]["completion_tokens"], 3);
        assert_eq!(body["usage"]["completion_tokens_details"]["reasoning_tokens"], 1);
    }
}
