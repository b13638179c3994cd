//! Anthropic messages: every event names its type, and only deltas bring text.

use streamgauge_schema::CountScope;

use crate::count;
use crate::dialect::{Rules, Shape, kind};
use crate::json::{Text, Value};
use crate::tally::Tally;
use crate::usage::{Report, Reported};

/// The rules of `/v1/messages`.
#[derive(Debug, Default)]
pub(crate) struct AnthropicMessages {
    prompt: PromptParts,
}

/// The members of an event that matter. A whole answer is a message itself.
#[derive(Debug, Default)]
pub(crate) struct Event<'a> {
    delta: Option<Value<'a>>,
    kind: Option<Value<'a>>,
    message: Option<Value<'a>>,
    whole: Message<'a>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Message<'a> {
    content: Option<Value<'a>>,
    model: Option<Value<'a>>,
    stop_reason: Option<Value<'a>>,
    usage: Option<Value<'a>>,
}

/// The last valid count of each part of the prompt: read anew, written to the cache, read from it.
#[derive(Debug, Default)]
struct PromptParts([Option<u64>; 3]);

/// Types that no other dialect has; `ping` and `error` are not among them.
const KINDS: [&str; 6] = [
    "content_block_delta",
    "content_block_start",
    "content_block_stop",
    "message_delta",
    "message_start",
    "message_stop",
];

/// An answer has one choice: its content blocks are parts of it.
const CHOICE: u64 = 0;

impl Rules for AnthropicMessages {
    type Members<'a> = Event<'a>;

    fn collect<'a>(event: &mut Event<'a>, key: &str, value: Value<'a>) {
        match key {
            "delta" => event.delta = Some(value),
            "message" => event.message = Some(value),
            "type" => event.kind = Some(value),
            key => event.whole.collect(key, value),
        }
    }

    fn recognises(event: &Event<'_>, shape: Shape<'_>) -> bool {
        let kind = kind(event.kind, shape);
        match shape {
            Shape::Event(_) => KINDS.contains(&&*kind),
            Shape::Whole => kind == "message" && event.whole.content.is_some(),
        }
    }

    fn read(&mut self, event: &Event<'_>, shape: Shape<'_>, tally: &mut Tally) {
        if shape == Shape::Whole {
            event.whole.read_content(tally);
            finish(event.whole.stop_reason, tally);
            return self.read_facts(&event.whole, CountScope::Request, tally);
        }
        match &*kind(event.kind, shape) {
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    read_delta(delta, tally);
                }
            }
            "message_delta" => {
                finish(event.delta.and_then(|delta| delta.member("stop_reason")), tally);
                self.read_usage(event.whole.usage, CountScope::Request, tally);
            }
            "message_start" => {
                let message = event.message.map(Message::of).unwrap_or_default();
                self.read_facts(&message, CountScope::Running, tally);
            }
            "message_stop" => tally.end(),
            _ => {}
        }
    }
}

impl AnthropicMessages {
    fn read_facts(&mut self, message: &Message<'_>, scope: CountScope, tally: &mut Tally) {
        if let Some(name) = message.model.and_then(Value::text) {
            tally.model(name);
        }
        self.read_usage(message.usage, scope, tally);
    }

    fn read_usage(&mut self, usage: Option<Value<'_>>, scope: CountScope, tally: &mut Tally) {
        let mut report = Report::default();
        let [mut input, mut created, mut read] = [None; 3];
        for (key, value) in usage.into_iter().flat_map(Value::members) {
            let member = match &*key.decode() {
                "cache_creation_input_tokens" => &mut created,
                "cache_read_input_tokens" => &mut read,
                "input_tokens" => &mut input,
                "output_tokens" => &mut report.completion_tokens,
                _ => continue,
            };
            *member = Reported::of(value);
        }
        report.cached_tokens = read;
        report.prompt_tokens = self.prompt.take([input, created, read]);
        tally.usage(&report, scope);
    }
}

impl PromptParts {
    /// The whole prompt after a report on its parts. One part that is no count spoils the report.
    fn take(&mut self, parts: [Option<Reported>; 3]) -> Option<Reported> {
        let mut counts = self.0;
        for (count, part) in counts.iter_mut().zip(parts) {
            match part {
                Some(Reported::Invalid) => return part,
                Some(Reported::Count(tokens)) => *count = Some(tokens),
                None => {}
            }
        }
        self.0 = counts;
        // Without the first part it is not known how long the prompt was.
        if counts[0].is_none() || parts.iter().all(Option::is_none) {
            return None;
        }
        let sum = counts.into_iter().flatten().try_fold(0, u64::checked_add);
        let sum = sum.filter(|sum| *sum <= count::MAX);
        Some(sum.map_or(Reported::Invalid, Reported::Count))
    }
}

impl<'a> Message<'a> {
    fn of(value: Value<'a>) -> Self {
        let mut message = Self::default();
        value.members().for_each(|(key, value)| message.collect(&key.decode(), value));
        message
    }

    fn collect(&mut self, key: &str, value: Value<'a>) {
        let member = match key {
            "content" => &mut self.content,
            "model" => &mut self.model,
            "stop_reason" => &mut self.stop_reason,
            "usage" => &mut self.usage,
            _ => return,
        };
        *member = Some(value);
    }

    /// Reads the blocks of a whole answer.
    fn read_content(&self, tally: &mut Tally) {
        for block in self.content.into_iter().flat_map(Value::elements) {
            let text = |name| block.member(name).and_then(Value::text);
            let kind = text("type").map(Text::decode).unwrap_or_default();
            match (&*kind, text("text"), text("thinking")) {
                ("text", Some(text), _) => tally.content(CHOICE, text),
                ("thinking", _, Some(text)) => tally.reasoning(CHOICE, text),
                ("tool_use", ..) if block.member("input").is_some_and(Value::is_object) => {
                    tally.tool_call(CHOICE);
                }
                _ => {}
            }
        }
    }
}

fn read_delta(delta: Value<'_>, tally: &mut Tally) {
    let text = |name| delta.member(name).and_then(Value::some_text);
    let kind = text("type").map(Text::decode).unwrap_or_default();
    match (&*kind, text("text"), text("thinking"), text("partial_json")) {
        ("text_delta", Some(text), ..) => tally.content(CHOICE, text),
        ("thinking_delta", _, Some(text), _) => tally.reasoning(CHOICE, text),
        ("input_json_delta", .., Some(_)) => tally.tool_call(CHOICE),
        _ => {}
    }
}

fn finish(stop_reason: Option<Value<'_>>, tally: &mut Tally) {
    if let Some(reason) = stop_reason.and_then(Value::some_text) {
        tally.finish(CHOICE, &reason.decode());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_is_the_sum_of_its_parts() {
        use Reported::{Count, Invalid};
        let mut prompt = PromptParts::default();
        for (parts, expected) in [
            ([None, Some(Count(5)), None], None),
            ([Some(Count(3)), Some(Count(200)), Some(Count(1800))], Some(Count(2003))),
            ([None, None, None], None),
            ([Some(Count(4)), None, None], Some(Count(2004))),
            ([Some(Count(9)), Some(Invalid), None], Some(Invalid)),
            ([None, None, Some(Count(0))], Some(Count(204))),
            ([Some(Count(count::MAX)), None, None], Some(Invalid)),
        ] {
            assert_eq!(prompt.take(parts), expected, "{parts:?}");
        }
    }
}
