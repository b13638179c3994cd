//! SGLang's own generate: every event has the whole text so far, and counts of its choice.

use streamgauge_schema::CountScope;

use crate::count::count;
use crate::dialect::{Rules, Shape};
use crate::json::Value;
use crate::tally::Tally;
use crate::usage::{Report, Reported};

/// The rules of `/generate`.
#[derive(Debug)]
pub(crate) struct SglangGenerate;

/// The members of an event that matter.
#[derive(Debug, Default)]
pub(crate) struct Event<'a> {
    index: Option<Value<'a>>,
    meta_info: Option<Value<'a>>,
    text: Option<Value<'a>>,
}

impl Rules for SglangGenerate {
    type Members<'a> = Event<'a>;

    fn collect<'a>(event: &mut Event<'a>, key: &str, value: Value<'a>) {
        match key {
            "index" => event.index = Some(value),
            "meta_info" => event.meta_info = Some(value),
            "text" => event.text = Some(value),
            _ => {}
        }
    }

    fn recognises(event: &Event<'_>, _: Shape<'_>) -> bool {
        event.meta_info.is_some_and(Value::is_object)
    }

    fn read(&mut self, event: &Event<'_>, _: Shape<'_>, tally: &mut Tally) {
        let index = event.index.and_then(Value::number).and_then(count).unwrap_or(0);
        if event.text.or(event.meta_info).is_some() {
            tally.choice(index);
        }
        if let Some(text) = event.text.and_then(Value::text) {
            tally.content_so_far(index, text);
        }
        let mut report = Report::default();
        let mut finish_reason = None;
        for (key, value) in event.meta_info.into_iter().flat_map(Value::members) {
            match &*key.decode() {
                "cached_tokens" => report.cached_tokens = Reported::of(value),
                "completion_tokens" => report.completion_tokens = Reported::of(value),
                "finish_reason" => finish_reason = value.member("type").and_then(Value::some_text),
                "prompt_tokens" => report.prompt_tokens = Reported::of(value),
                _ => {}
            }
        }
        let mut scope = CountScope::Running;
        if let Some(reason) = finish_reason {
            tally.finish(index, &reason.decode());
            scope = CountScope::Choice;
        }
        tally.usage(&report, scope);
    }
}
