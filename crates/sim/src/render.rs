//! Chat completion responses: the bytes of events and bodies. The tokens are counted as they go by.
//!
//! What all events of a response have in common is written out once, and all of them share one
//! buffer, so that an event costs no allocation of its own.

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;

use crate::answer::{Answer, FinishReason};
use crate::chat::{ChatRequest, StreamUsage};
use crate::engine::{Channel, Event};

/// Some events of usual length.
const BUFFER_BYTES: usize = 2048;

/// Writes the events of one response, in their order.
#[derive(Debug)]
pub(crate) struct Renderer {
    buffer: BytesMut,
    continuous_usage: bool,
    /// Every chunk up to its choices.
    opening: Bytes,
    usage: Counts,
}

#[derive(Clone, Copy, Debug)]
struct Counts {
    completion: u64,
    prompt: u64,
    /// Prompt tokens from a cache; `None` without one.
    cached: Option<u64>,
    reasoning: u64,
}

impl Renderer {
    /// For the model that is said to answer; `created` is in seconds since the Unix epoch.
    pub(crate) fn new(request: &ChatRequest, model: &str, ordinal: u64, created: u64) -> Self {
        let object = if request.stream { "chat.completion.chunk" } else { "chat.completion" };
        let id = format!("chatcmpl-sim-{ordinal}");
        let head = Head { id: &id, object, created, model };
        let mut opening = BytesMut::from(if request.stream { "data: " } else { "" });
        write_json(&mut opening, &head);
        opening.truncate(opening.len() - 1);
        opening.put_slice(br#","choices":["#);
        Self {
            buffer: BytesMut::new(),
            continuous_usage: request.usage == StreamUsage::Continuous,
            opening: opening.freeze(),
            usage: Counts {
                completion: 0,
                prompt: request.prompt_words,
                cached: request.cached_words,
                reasoning: 0,
            },
        }
    }

    /// Writes one event: for a stream with its framing, else the whole body.
    pub(crate) fn render(&mut self, answer: &Answer, event: &Event) {
        if self.buffer.capacity() == 0 {
            self.buffer.reserve(BUFFER_BYTES);
        }
        match event {
            Event::Done => self.buffer.put_slice(b"data: [DONE]\n\n"),
            Event::Finish(reason) => self.chunk(Delta::default(), Some(*reason)),
            Event::Output { channel, places } => {
                let text = answer.tokens(*channel).slice(places.clone());
                self.count(*channel, places.len() as u64);
                self.chunk(Delta::output(*channel, text), None);
            }
            Event::Role => self.chunk(
                Delta { content: Some(""), role: Some("assistant"), ..Delta::default() },
                None,
            ),
            Event::Usage => {
                self.buffer.put_slice(&self.opening);
                self.close(Some(self.usage.report()));
                self.buffer.put_slice(b"\n\n");
            }
            Event::Whole => self.whole(answer),
        }
    }

    /// Takes what was written since the last time.
    pub(crate) fn take(&mut self) -> Bytes {
        self.buffer.split().freeze()
    }

    fn whole(&mut self, answer: &Answer) {
        for channel in [Channel::Reasoning, Channel::Content] {
            self.count(channel, answer.tokens(channel).len() as u64);
        }
        let reasoning = answer.reasoning.text();
        let message = Delta {
            content: Some(answer.content.text()),
            reasoning_content: (!reasoning.is_empty()).then_some(reasoning),
            role: Some("assistant"),
        };
        let finish_reason = Some(answer.finish.name());
        self.buffer.put_slice(&self.opening);
        let choice = Choice { delta: None, finish_reason, index: 0, message: Some(message) };
        write_json(&mut self.buffer, &choice);
        self.close(Some(self.usage.report()));
    }

    fn count(&mut self, channel: Channel, tokens: u64) {
        self.usage.completion += tokens;
        if channel == Channel::Reasoning {
            self.usage.reasoning += tokens;
        }
    }

    fn chunk(&mut self, delta: Delta<'_>, finish: Option<FinishReason>) {
        let finish_reason = finish.map(FinishReason::name);
        self.buffer.put_slice(&self.opening);
        let choice = Choice { delta: Some(delta), finish_reason, index: 0, message: None };
        write_json(&mut self.buffer, &choice);
        self.close(self.continuous_usage.then(|| self.usage.report()));
        self.buffer.put_slice(b"\n\n");
    }

    /// Ends the list of choices and the object.
    fn close(&mut self, usage: Option<Usage>) {
        self.buffer.put_u8(b']');
        if let Some(usage) = usage {
            self.buffer.put_slice(br#","usage":"#);
            write_json(&mut self.buffer, &usage);
        }
        self.buffer.put_u8(b'}');
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
            prompt_tokens_details: self.cached.map(|cached_tokens| PromptDetails { cached_tokens }),
            total_tokens: self.prompt + self.completion,
        }
    }
}

fn write_json(buffer: &mut BytesMut, value: &impl Serialize) {
    serde_json::to_writer(buffer.writer(), value)
        .expect("texts and whole numbers always serialise, and a buffer takes them");
}

#[derive(Serialize)]
struct Head<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Serialize)]
struct PromptDetails {
    cached_tokens: u64,
}

#[derive(Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::answer::Tokens;

    fn renderer(stream: bool, stream_options: Value) -> Renderer {
        let messages = json!([{"role": "user", "content": "a b"}]);
        let body = json!({
            "model": "m", "messages": messages, "stream": stream, "stream_options": stream_options,
        });
        let request = ChatRequest::parse(body.to_string().as_bytes()).unwrap();
        Renderer::new(&request, "m", 4, 1_700_000_000)
    }

    fn tokens(texts: &[&str]) -> Tokens {
        let mut tokens = Tokens::default();
        texts.iter().for_each(|text| tokens.push("", text));
        tokens
    }

    fn answer(content: &[&str], reasoning: &[&str]) -> Answer {
        let finish = FinishReason::Stop;
        Answer { content: tokens(content), finish, reasoning: tokens(reasoning) }
    }

    fn output(channel: Channel) -> Event {
        Event::Output { channel, places: 0..2 }
    }

    fn rendered(renderer: &mut Renderer, answer: &Answer, event: &Event) -> Bytes {
        renderer.render(answer, event);
        renderer.take()
    }

    #[test]
    fn a_chunk_is_one_data_line_and_an_empty_line() {
        let mut renderer = renderer(true, json!(null));
        let answer = answer(&["q\n", "\""], &[]);
        let expected = concat!(
            r#"data: {"id":"chatcmpl-sim-4","object":"chat.completion.chunk","created":1700000000,"#,
            r#""model":"m","choices":[{"index":0,"delta":{"content":"q\n\""},"#,
            "\"finish_reason\":null}]}\n\n",
        );
        let event = output(Channel::Content);
        assert_eq!(rendered(&mut renderer, &answer, &event), expected.as_bytes());
        assert_eq!(rendered(&mut renderer, &answer, &Event::Done), b"data: [DONE]\n\n"[..]);

        renderer.render(&answer, &event);
        renderer.render(&answer, &Event::Done);
        assert_eq!(renderer.take(), [expected, "data: [DONE]\n\n"].concat());
    }

    #[test]
    fn continuous_usage_counts_what_has_gone_by() {
        let options = json!({"include_usage": true, "continuous_usage_stats": true});
        let mut renderer = renderer(true, options);
        let answer = answer(&["a", " b"], &["r", " s"]);
        let cases = [
            (Event::Role, json!({"role": "assistant", "content": ""}), json!(null), 0, 0),
            (output(Channel::Reasoning), json!({"reasoning_content": "r s"}), json!(null), 2, 2),
            (output(Channel::Content), json!({"content": "a b"}), json!(null), 4, 2),
            (Event::Finish(FinishReason::Length), json!({}), json!("length"), 4, 2),
        ];
        for (event, delta, finish, completion, reasoning) in cases {
            let chunk = chunk(&rendered(&mut renderer, &answer, &event));
            let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
            assert_eq!(chunk["choices"], json!([choice]));
            assert_eq!(chunk["usage"], usage(completion, reasoning));
        }
        let last = chunk(&rendered(&mut renderer, &answer, &Event::Usage));
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
        let answer = answer(&["x", " y"], &["r"]);
        let body = rendered(&mut renderer(false, json!(null)), &answer, &Event::Whole);
        let body: Value = serde_json::from_slice(&body).unwrap();
        let message = json!({"role": "assistant", "content": "x y", "reasoning_content": "r"});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        assert_eq!(body["object"], "chat.completion");
        assert_eq!(body["choices"], json!([choice]));
        assert_eq!(body["usage"], usage(3, 1));
    }
}
