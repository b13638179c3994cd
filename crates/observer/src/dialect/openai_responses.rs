//! OpenAI responses: every event names its type, and most of them repeat what the deltas said.

use streamgauge_schema::CountScope;

use crate::dialect::openai::reported;
use crate::dialect::{Rules, Shape, kind};
use crate::json::{Text, Value};
use crate::tally::Tally;
use crate::usage::{Report, Reported};

/// The rules of `/v1/responses`.
#[derive(Debug)]
pub(crate) struct OpenaiResponses;

/// The members of an event that matter. A whole answer is a response itself.
#[derive(Debug, Default)]
pub(crate) struct Event<'a> {
    delta: Option<Value<'a>>,
    kind: Option<Value<'a>>,
    response: Option<Value<'a>>,
    whole: Response<'a>,
}

/// The state of the answer.
#[derive(Clone, Copy, Debug, Default)]
struct Response<'a> {
    incomplete_details: Option<Value<'a>>,
    model: Option<Value<'a>>,
    object: Option<Value<'a>>,
    output: Option<Value<'a>>,
    status: Option<Value<'a>>,
    usage: Option<Value<'a>>,
}

/// An answer has one choice: the items of its output are parts of it.
const CHOICE: u64 = 0;

impl Rules for OpenaiResponses {
    type Members<'a> = Event<'a>;

    fn collect<'a>(event: &mut Event<'a>, key: &str, value: Value<'a>) {
        match key {
            "delta" => event.delta = Some(value),
            "response" => event.response = Some(value),
            "type" => event.kind = Some(value),
            key => event.whole.collect(key, value),
        }
    }

    fn recognises(event: &Event<'_>, shape: Shape<'_>) -> bool {
        match shape {
            Shape::Event(_) => kind(event.kind, shape).starts_with("response."),
            Shape::Whole => {
                let object = event.whole.object.and_then(Value::text);
                object.is_some_and(|object| object.decode() == "response")
            }
        }
    }

    fn read(&mut self, event: &Event<'_>, shape: Shape<'_>, tally: &mut Tally) {
        if shape == Shape::Whole {
            event.whole.read_output(tally);
            let status = event.whole.status.and_then(Value::text).map(Text::decode);
            event.whole.close(&status.unwrap_or_default(), tally);
            return event.whole.read_facts(tally);
        }
        let kind = kind(event.kind, shape);
        if let Some(delta) = event.delta.and_then(Value::text) {
            read_delta(&kind, delta, tally);
        }
        let response = event.response.map(Response::of).unwrap_or_default();
        if let Some(status @ ("completed" | "failed" | "incomplete")) =
            kind.strip_prefix("response.")
        {
            response.close(status, tally);
            tally.end();
        }
        response.read_facts(tally);
    }
}

fn read_delta(kind: &str, delta: Text<'_>, tally: &mut Tally) {
    match kind {
        "response.output_text.delta" => tally.content(CHOICE, delta),
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
            tally.reasoning(CHOICE, delta);
        }
        "response.refusal.delta" => tally.refusal(CHOICE, delta),
        "response.custom_tool_call_input.delta"
        | "response.function_call_arguments.delta"
        | "response.mcp_call_arguments.delta"
            if !delta.is_empty() =>
        {
            tally.tool_call(CHOICE);
        }
        _ => {}
    }
}

impl<'a> Response<'a> {
    fn of(value: Value<'a>) -> Self {
        let mut response = Self::default();
        value.members().for_each(|(key, value)| response.collect(&key.decode(), value));
        response
    }

    fn collect(&mut self, key: &str, value: Value<'a>) {
        let member = match key {
            "incomplete_details" => &mut self.incomplete_details,
            "model" => &mut self.model,
            "object" => &mut self.object,
            "output" => &mut self.output,
            "status" => &mut self.status,
            "usage" => &mut self.usage,
            _ => return,
        };
        *member = Some(value);
    }

    /// Reads model and usage.
    fn read_facts(&self, tally: &mut Tally) {
        if let Some(name) = self.model.and_then(Value::text) {
            tally.model(name);
        }
        if let Some(usage) = self.usage {
            tally.usage(&usage_report(usage), CountScope::Request);
        }
    }

    /// Reads a status with which the answer is over; any other says nothing.
    fn close(&self, status: &str, tally: &mut Tally) {
        match status {
            "completed" => tally.finish(CHOICE, status),
            "failed" => {
                tally.finish(CHOICE, status);
                tally.fail();
            }
            "incomplete" => {
                let details = self.incomplete_details;
                let reason = details.and_then(|details| details.member("reason"));
                if let Some(reason) = reason.and_then(Value::some_text) {
                    tally.finish(CHOICE, &reason.decode());
                }
            }
            _ => {}
        }
    }

    /// Reads the items of a whole answer.
    fn read_output(&self, tally: &mut Tally) {
        for item in self.output.into_iter().flat_map(Value::elements) {
            let parts = ["content", "summary"].into_iter().filter_map(|name| item.member(name));
            for part in parts.flat_map(Value::elements) {
                read_part(part, tally);
            }
            let called = ["arguments", "input"].into_iter().filter_map(|name| item.member(name));
            if called.filter_map(Value::some_text).next().is_some() {
                tally.tool_call(CHOICE);
            }
        }
    }
}

fn read_part(part: Value<'_>, tally: &mut Tally) {
    let text = |name| part.member(name).and_then(Value::text);
    let kind = text("type").map(Text::decode).unwrap_or_default();
    match (&*kind, text("text"), text("refusal")) {
        ("output_text", Some(text), _) => tally.content(CHOICE, text),
        ("reasoning_text" | "summary_text", Some(text), _) => tally.reasoning(CHOICE, text),
        ("refusal", _, Some(text)) => tally.refusal(CHOICE, text),
        _ => {}
    }
}

fn usage_report(usage: Value<'_>) -> Report {
    let mut report = Report::default();
    for (key, value) in usage.members() {
        match &*key.decode() {
            "input_tokens" => report.prompt_tokens = Reported::of(value),
            "input_tokens_details" => {
                report.cached_tokens = reported(Some(value), "cached_tokens");
            }
            "output_tokens" => report.completion_tokens = Reported::of(value),
            "output_tokens_details" => {
                report.reasoning_tokens = reported(Some(value), "reasoning_tokens");
            }
            _ => {}
        }
    }
    report
}
