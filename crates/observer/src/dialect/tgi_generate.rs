//! TGI's own generate: one token an event, and the whole text again with the last one.

use streamgauge_schema::CountScope;

use crate::dialect::openai::reported;
use crate::dialect::{Rules, Shape};
use crate::json::Value;
use crate::tally::Tally;
use crate::usage::Report;

/// The rules of `/generate_stream`.
#[derive(Debug)]
pub(crate) struct TgiGenerate;

/// The members of an event that matter; its `index` counts tokens.
#[derive(Debug, Default)]
pub(crate) struct Event<'a> {
    details: Option<Value<'a>>,
    generated_text: Option<Value<'a>>,
    token: Option<Value<'a>>,
}

/// An answer has one choice.
const CHOICE: u64 = 0;

impl Rules for TgiGenerate {
    type Members<'a> = Event<'a>;

    fn collect<'a>(event: &mut Event<'a>, key: &str, value: Value<'a>) {
        match key {
            "details" => event.details = Some(value),
            "generated_text" => event.generated_text = Some(value),
            "token" => event.token = Some(value),
            _ => {}
        }
    }

    fn recognises(event: &Event<'_>, shape: Shape<'_>) -> bool {
        match shape {
            Shape::Event(_) => event.token.is_some_and(Value::is_object),
            Shape::Whole => event.generated_text.is_some(),
        }
    }

    fn read(&mut self, event: &Event<'_>, shape: Shape<'_>, tally: &mut Tally) {
        let generated = event.generated_text.and_then(Value::text);
        let token =
            event.token.filter(|token| !token.member("special").is_some_and(Value::is_true));
        let text = match shape {
            Shape::Event(_) => token.and_then(|token| token.member("text")).and_then(Value::text),
            Shape::Whole => generated,
        };
        if let Some(text) = text {
            tally.content(CHOICE, text);
        }
        let details = event.details;
        let reason = details.and_then(|details| details.member("finish_reason"));
        if let Some(reason) = reason.and_then(Value::some_text) {
            tally.finish(CHOICE, &reason.decode());
        }
        let report = Report {
            completion_tokens: reported(details, "generated_tokens"),
            prompt_tokens: reported(details, "input_length"),
            ..Report::default()
        };
        tally.usage(&report, CountScope::Request);
        if generated.is_some() {
            tally.end();
        }
    }
}
