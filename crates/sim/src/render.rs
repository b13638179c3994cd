//! Chat completion responses: the bytes of events and bodies. The tokens are counted as they go by.

use bytes::Bytes;
use serde::Serialize;

use crate::answer::FinishReason;
use crate::chat::{ChatRequest, StreamUsage};
use crate::engine::{Channel, Event};

/// Writes the events of one response, in their order.
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
    use serde_json::{Value, json};

    use super::*;
    use crate::answer::Answer;

    fn renderer(stream_options: Value) -> Renderer {
        let messages = json!([{"role": "user", "content": "a b"}]);
        let body = json!({"model": "m", "messages": messages, "stream_options": stream_options});
        let request = ChatRequest::parse(body.to_string().as_bytes()).unwrap();
        Renderer::new(&request, 4, 1_700_000_000)
    }

    fn output(channel: Channel, text: &str) -> Event {
        Event::Output { channel, text: text.to_owned(), tokens: 2 }
    }

    #[test]
    fn a_chunk_is_one_data_line_and_an_empty_line() {
        let mut renderer = renderer(json!(null));
        let expected = concat!(
            r#"data: {"id":"chatcmpl-sim-4","object":"chat.completion.chunk","created":1700000000,"#,
            r#""model":"m","choices":[{"index":0,"delta":{"content":"q\n\""},"#,
            "\"finish_reason\":null}]}\n\n",
        );
        assert_eq!(renderer.render(&output(Channel::Content, "q\n\"")), expected.as_bytes());
        assert_eq!(renderer.render(&Event::Done), b"data: [DONE]\n\n"[..]);
    }

    #[test]
    fn continuous_usage_counts_what_has_gone_by() {
        let mut renderer = renderer(json!({"include_usage": true, "continuous_usage_stats": true}));
        let cases = [
            (Event::Role, json!({"role": "assistant", "content": ""}), json!(null), 0, 0),
            (output(Channel::Reasoning, "r"), json!({"reasoning_content": "r"}), json!(null), 2, 2),
            (output(Channel::Content, "a"), json!({"content": "a"}), json!(null), 4, 2),
            (Event::Finish(FinishReason::Length), json!({}), json!("length"), 4, 2),
        ];
        for (event, delta, finish, completion, reasoning) in cases {
            let chunk = chunk(&renderer.render(&event));
            let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
            assert_eq!(chunk["choices"], json!([choice]));
            assert_eq!(chunk["usage"], usage(completion, reasoning));
        }
        let last = chunk(&renderer.render(&Event::Usage));
        assert_eq!((&last["choices"], &last["usage"]), (&json!([]), &usage(4, 2)));
    }

    fn chunk(event: &[u8]) -> Value {
        serde_json::from_slice(event.strip_prefix(b"data: ").unwrap()).unwrap()
    }

    fn usage(completion: u64, reasoning: u64) -> Value {
        let mut usage = json!({
            "prompt_tokens": 2,
            "completion_tokens": completion,
            "total_tokens": completion + 2,
        });
        if reasoning > 0 {
            usage["completion_tokens_details"] = json!({"reasoning_tokens": reasoning});
        }
        usage
    }

    #[test]
    fn a_whole_answer_has_its_usage_unasked() {
        let answer = Answer {
            content: vec!["x".to_owned(), " y".to_owned()],
            finish: FinishReason::Stop,
            reasoning: vec!["r".to_owned()],
        };
        let body = renderer(json!(null)).render(&Event::Whole(answer));
        let body: Value = serde_json::from_slice(&body).unwrap();
        let message = json!({"role": "assistant", "content": "x y", "reasoning_content": "r"});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        assert_eq!(body["object"], "chat.completion");
        assert_eq!(body["choices"], json!([choice]));
        assert_eq!(body["usage"], usage(3, 1));
    }
}
