//! What OpenAI's chat completions and its older completions have in common, with the many servers
//! that speak the like.

use streamgauge_schema::CountScope;

use crate::count::count;
use crate::dialect::Shape;
use crate::json::{Cursor, Text, Value};
use crate::tally::Tally;
use crate::usage::{Report, Reported};

/// Where the content of a choice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `text` of the choice.
    Choice,
    /// `content` of its `delta`; in a whole answer, of its `message`.
    Delta,
}

/// The members of a chunk that matter.
#[derive(Debug, Default)]
pub(crate) struct Chunk<'a> {
    choices: Option<Value<'a>>,
    /// Objects among the choices.
    objects: u64,
    /// The first of them, which is mostly the only one.
    first: Choice<'a>,
    model: Option<Value<'a>>,
    object: Option<Value<'a>>,
    timings: Option<Value<'a>>,
    usage: Option<Value<'a>>,
    x_groq: Option<Value<'a>>,
}

#[derive(Debug, Default)]
struct Choice<'a> {
    index: u64,
    delta: Delta<'a>,
    finish_reason: Option<Text<'a>>,
    text: Option<Value<'a>>,
    usage: Option<Value<'a>>,
}

#[derive(Clone, Copy, Debug, Default)]
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

impl<'a> Chunk<'a> {
    /// Passes over the value of a member, and collects the first choice on the way.
    #[inline]
    pub(super) fn pass(&mut self, key: &str, value: &mut Cursor<'a>, shape: Shape<'_>) -> bool {
        if key != "choices" {
            return value.pass();
        }
        self.objects = 0;
        walk_choices(value, shape, |choice| {
            if self.objects == 0 {
                self.first = choice;
            }
            self.objects += 1;
        })
    }

    #[inline]
    pub(super) fn collect(&mut self, key: &str, value: Value<'a>) {
        let member = match key {
            "choices" => &mut self.choices,
            "model" => &mut self.model,
            "object" => &mut self.object,
            "timings" => &mut self.timings,
            "usage" => &mut self.usage,
            "x_groq" => &mut self.x_groq,
            _ => return,
        };
        *member = Some(value);
    }

    /// Where its choices have their content; `None` if it does not show.
    pub(super) fn place(&self) -> Option<Place> {
        let object = self.object.and_then(Value::text).map(Text::decode).unwrap_or_default();
        if object.starts_with("chat.completion") {
            return Some(Place::Delta);
        }
        if object == "text_completion" {
            return Some(Place::Choice);
        }
        let has = |name: &str| {
            let mut choices = self.choices.into_iter().flat_map(Value::elements);
            choices.any(|choice| choice.member(name).is_some())
        };
        if has("delta") || has("message") {
            return Some(Place::Delta);
        }
        has("text").then_some(Place::Choice)
    }

    pub(super) fn read(&self, place: Place, shape: Shape<'_>, tally: &mut Tally) {
        if let Some(name) = self.model.and_then(Value::text) {
            tally.model(name);
        }
        if let Some(timings) = self.timings {
            tally.timings(timings);
        }
        let mut scope = CountScope::Request;
        let mut report = [self.usage, self.x_groq.and_then(|groq| groq.member("usage"))]
            .into_iter()
            .flatten()
            .map(usage_report)
            .find(Report::says_anything);
        let mut read = |choice: &Choice<'_>| {
            choice.read(place, tally);
            scope = match choice.finish_reason {
                Some(_) => CountScope::Choice,
                None if scope == CountScope::Choice => CountScope::Choice,
                None => CountScope::Running,
            };
            report =
                report.or_else(|| choice.usage.map(usage_report).filter(Report::says_anything));
        };
        match (self.objects, self.choices) {
            (2.., Some(choices)) => {
                walk_choices(&mut choices.cursor(), shape, |choice| read(&choice));
            }
            (1, _) => read(&self.first),
            _ => {}
        }
        if let Some(report) = report {
            tally.usage(&report, scope);
        }
    }
}

/// Passes over a list of choices and hands out those that are objects.
fn walk_choices<'a>(
    choices: &mut Cursor<'a>,
    shape: Shape<'_>,
    mut each: impl FnMut(Choice<'a>),
) -> bool {
    choices.walk_elements(|position, element| {
        if !element.is_at_object() {
            return element.pass();
        }
        let mut choice = Choice { index: position, ..Choice::default() };
        let passed = choice.walk(element, shape);
        each(choice);
        passed
    })
}

impl<'a> Choice<'a> {
    /// Passes over a choice and collects its members.
    fn walk(&mut self, cursor: &mut Cursor<'a>, shape: Shape<'_>) -> bool {
        let position = self.index;
        cursor.walk_members(|key, cursor| {
            if let ("delta", Shape::Event(_)) | ("message", Shape::Whole) = (key, shape) {
                self.delta = Delta::default();
                return self.delta.walk(cursor);
            }
            let Some(value) = cursor.value() else { return false };
            match key {
                "index" => self.index = value.number().and_then(count).unwrap_or(position),
                "finish_reason" => {
                    self.finish_reason =
                        value.some_text().filter(|reason| reason.decode() != "null");
                }
                "text" => self.text = Some(value),
                "usage" => self.usage = Some(value),
                _ => {}
            }
            true
        })
    }

    fn read(&self, place: Place, tally: &mut Tally) {
        tally.choice(self.index);
        let mut delta = self.delta;
        if place == Place::Choice {
            delta.content = self.text;
        }
        delta.read(self.index, tally);
        if let Some(reason) = self.finish_reason {
            tally.finish(self.index, &reason.decode());
        }
    }
}

impl<'a> Delta<'a> {
    /// Passes over a delta and collects its members.
    fn walk(&mut self, cursor: &mut Cursor<'a>) -> bool {
        cursor.walk_members(|key, cursor| {
            let Some(value) = cursor.value() else { return false };
            let member = match key {
                "content" => &mut self.content,
                "function_call" => &mut self.function_call,
                "reasoning" => &mut self.reasoning,
                "reasoning_content" => &mut self.reasoning_content,
                "reasoning_details" => &mut self.reasoning_details,
                "refusal" => &mut self.refusal,
                "thinking_blocks" => &mut self.thinking_blocks,
                "tool_calls" => &mut self.tool_calls,
                _ => return true,
            };
            *member = Some(value);
            true
        })
    }

    fn read(&self, index: u64, tally: &mut Tally) {
        self.read_reasoning(&mut |text| tally.reasoning(index, text));
        if let Some(content) = self.content {
            read_texts(content, &mut |text| tally.content(index, text));
        }
        if let Some(text) = self.refusal.and_then(Value::text) {
            tally.refusal(index, text);
        }
        if self.tool_calls.is_some_and(have_arguments)
            || self.function_call.is_some_and(has_arguments)
        {
            tally.tool_call(index);
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

/// Whether any tool call of a list has arguments.
pub(super) fn have_arguments(calls: Value<'_>) -> bool {
    calls.elements().filter_map(|call| call.member("function")).any(has_arguments)
}

fn has_arguments(function: Value<'_>) -> bool {
    let arguments = function.member("arguments");
    arguments.is_some_and(|value| value.some_text().is_some() || value.is_object())
}

fn usage_report(usage: Value<'_>) -> Report {
    let mut report = Report::default();
    let [mut completion_details, mut prompt_details] = [None; 2];
    let mut cache_hit = None;
    for (key, value) in usage.members() {
        match &*key.decode() {
            "cached_tokens" => report.cached_tokens = Reported::of(value),
            "completion_tokens" => report.completion_tokens = Reported::of(value),
            "completion_tokens_details" => completion_details = Some(value),
            "prompt_cache_hit_tokens" => cache_hit = Reported::of(value),
            "prompt_tokens" => report.prompt_tokens = Reported::of(value),
            "prompt_tokens_details" => prompt_details = Some(value),
            "reasoning_tokens" => report.reasoning_tokens = Reported::of(value),
            _ => {}
        }
    }
    report.reasoning_tokens =
        reported(completion_details, "reasoning_tokens").or(report.reasoning_tokens);
    report.cached_tokens =
        reported(prompt_details, "cached_tokens").or(report.cached_tokens).or(cache_hit);
    report
}

/// What a member of an object reports.
pub(super) fn reported(object: Option<Value<'_>>, name: &str) -> Option<Reported> {
    object?.member(name).and_then(Reported::of)
}
