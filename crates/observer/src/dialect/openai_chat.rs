//! OpenAI chat completions, and the many servers that speak the like.

use crate::count::count;
use crate::dialect::{Rules, Shape};
use crate::json::{Members, Text, Value};
use crate::tally::Tally;
use crate::usage::{Report, Scope};

/// The rules of `/v1/chat/completions`.
#[derive(Debug)]
pub(crate) struct OpenaiChat;

/// The members of a chunk that matter.
#[derive(Debug, Default)]
pub(crate) struct Chunk<'a> {
    choices: Option<Value<'a>>,
    model: Option<Value<'a>>,
    timings: Option<Value<'a>>,
    usage: Option<Value<'a>>,
    x_groq: Option<Value<'a>>,
}

#[derive(Debug, Default)]
struct Choice<'a> {
    index: u64,
    delta: Option<Value<'a>>,
    finish_reason: Option<Text<'a>>,
    usage: Option<Value<'a>>,
}

#[derive(Debug, Default)]
struct Delta<'a> {
    content: Option<Value<'a>>,
    function_call: Option<Value<'a>>,
    reasoning: Option<Value<'a>>,
    reasoning_content: Option<Value<'a>>,
    reasoning_details: Option<Value<'a>>,
    refusal: Option<Value<'a>>,
    thinking_blocks: Option<Value<'a>>,
    tool_calls: Option<Value<'a>>,
}

impl Rules for OpenaiChat {
    type Members<'a> = Chunk<'a>;

    fn collect<'a>(chunk: &mut Chunk<'a>, key: &str, value: Value<'a>) {
        match key {
            "choices" => chunk.choices = Some(value),
            "model" => chunk.model = Some(value),
            "timings" => chunk.timings = Some(value),
            "usage" => chunk.usage = Some(value),
            "x_groq" => chunk.x_groq = Some(value),
            _ => {}
        }
    }

    fn read(&mut self, chunk: &Chunk<'_>, shape: Shape, tally: &mut Tally) {
        if let Some(name) = chunk.model.and_then(Value::text) {
            tally.model(name);
        }
        if let Some(timings) = chunk.timings {
            tally.timings(timings);
        }
        let mut scope = Scope::Request;
        let mut report = [chunk.usage, chunk.x_groq.and_then(|groq| groq.member("usage"))]
            .into_iter()
            .flatten()
            .map(usage_report)
            .find(Report::says_anything);
        if let Some(choices) = chunk.choices {
            choices.objects(|position, members| {
                let choice = Choice::of(members, position, shape);
                choice.read(tally);
                scope = match choice.finish_reason {
                    Some(_) => Scope::Choice,
                    None if scope == Scope::Choice => Scope::Choice,
                    None => Scope::Running,
                };
                report =
                    report.or_else(|| choice.usage.map(usage_report).filter(Report::says_anything));
            });
        }
        if let Some(report) = report {
            tally.usage(&report, scope);
        }
    }
}

impl<'a> Choice<'a> {
    fn of(members: &mut Members<'a>, position: u64, shape: Shape) -> Self {
        let delta_name = match shape {
            Shape::Event => "delta",
            Shape::Whole => "message",
        };
        let mut choice = Self { index: position, ..Self::default() };
        for (key, value) in members {
            match &*key.decode() {
                "index" => choice.index = value.number().and_then(count).unwrap_or(position),
                "finish_reason" => choice.finish_reason = value.some_text(),
                "usage" => choice.usage = Some(value),
                key if key == delta_name => choice.delta = Some(value),
                _ => {}
            }
        }
        choice.finish_reason = choice.finish_reason.filter(|reason| reason.decode() != "null");
        choice
    }

    fn read(&self, tally: &mut Tally) {
        tally.choice(self.index);
        if let Some(delta) = self.delta {
            Delta::of(delta).read(self.index, tally);
        }
        if let Some(reason) = self.finish_reason {
            tally.finish(self.index, reason);
        }
    }
}

impl<'a> Delta<'a> {
    fn of(value: Value<'a>) -> Self {
        let mut delta = Self::default();
        for (key, value) in value.members() {
            let member = match &*key.decode() {
                "content" => &mut delta.content,
                "function_call" => &mut delta.function_call,
                "reasoning" => &mut delta.reasoning,
                "reasoning_content" => &mut delta.reasoning_content,
                "reasoning_details" => &mut delta.reasoning_details,
                "refusal" => &mut delta.refusal,
                "thinking_blocks" => &mut delta.thinking_blocks,
                "tool_calls" => &mut delta.tool_calls,
                _ => continue,
            };
            *member = Some(value);
        }
        delta
    }

    fn read(&self, index: u64, tally: &mut Tally) {
        self.read_reasoning(&mut |text| tally.reasoning(index, text));
        if let Some(content) = self.content {
            read_texts(content, &mut |text| tally.content(index, text));
        }
        if let Some(text) = self.refusal.and_then(Value::text) {
            tally.refusal(text);
        }
        let calls = self.tool_calls.into_iter().flat_map(Value::elements);
        let functions = calls.filter_map(|call| call.member("function"));
        if functions.chain(self.function_call).any(has_arguments) {
            tally.tool_call();
        }
    }

    /// Hands out the reasoning of the first source that has any: they repeat each other.
    fn read_reasoning(&self, each: &mut dyn FnMut(Text<'a>)) {
        let mut plain = [self.reasoning_content, self.reasoning].into_iter().flatten();
        if let Some(text) = plain.find_map(Value::some_text) {
            return each(text);
        }
        for (list, kinds) in [
            (self.reasoning_details, REASONING_DETAILS),
            (self.thinking_blocks, THINKING_PARTS),
            (self.content, THINKING_PARTS),
        ] {
            let mut found = false;
            for part in list.into_iter().flat_map(Value::elements) {
                read_part(part, kinds, &mut |text| {
                    found |= !text.is_empty();
                    each(text);
                });
            }
            if found {
                return;
            }
        }
    }
}

/// Types of parts, and the member that holds the text of each.
type Kinds = &'static [(&'static str, &'static str)];

const REASONING_DETAILS: Kinds = &[("reasoning.text", "text"), ("reasoning.summary", "summary")];
const TEXT_PARTS: Kinds = &[("text", "text")];
const THINKING_PARTS: Kinds = &[("thinking", "thinking")];

/// Hands out a text that is a string or a list of parts.
fn read_texts<'a>(value: Value<'a>, each: &mut dyn FnMut(Text<'a>)) {
    match value.text() {
        Some(text) => each(text),
        None => value.elements().for_each(|part| read_part(part, TEXT_PARTS, each)),
    }
}

/// Hands out the text of a part, if it is of one of these kinds.
fn read_part<'a>(part: Value<'a>, kinds: Kinds, each: &mut dyn FnMut(Text<'a>)) {
    let Some(kind) = part.member("type").and_then(Value::text) else { return };
    let kind = kind.decode();
    let named = kinds.iter().find(|(name, _)| *name == kind);
    if let Some(value) = named.and_then(|(_, member)| part.member(member)) {
        read_texts(value, each);
    }
}

fn has_arguments(function: Value<'_>) -> bool {
    let arguments = function.member("arguments");
    arguments.is_some_and(|value| value.some_text().is_some() || value.is_object())
}

fn usage_report(usage: Value<'_>) -> Report<'_> {
    let mut report = Report::default();
    let [mut details_reasoning, mut details_cached, mut cache_hit] = [None; 3];
    for (key, value) in usage.members() {
        let member = match &*key.decode() {
            "cached_tokens" => &mut report.cached_tokens,
            "completion_tokens" => &mut report.completion_tokens,
            "completion_tokens_details" => &mut details_reasoning,
            "prompt_cache_hit_tokens" => &mut cache_hit,
            "prompt_tokens" => &mut report.prompt_tokens,
            "prompt_tokens_details" => &mut details_cached,
            "reasoning_tokens" => &mut report.reasoning_tokens,
            _ => continue,
        };
        *member = Some(value).filter(|value| !value.is_null());
    }
    report.reasoning_tokens =
        detail(details_reasoning, "reasoning_tokens").or(report.reasoning_tokens);
    report.cached_tokens =
        detail(details_cached, "cached_tokens").or(report.cached_tokens).or(cache_hit);
    report
}

fn detail<'a>(details: Option<Value<'a>>, name: &str) -> Option<Value<'a>> {
    details?.member(name).filter(|value| !value.is_null())
}
