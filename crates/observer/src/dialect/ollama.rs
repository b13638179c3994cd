//! What Ollama's chat and generate have in common: the line that closes a stream.

use streamgauge_schema::CountScope;

use crate::dialect::openai::have_arguments;
use crate::json::Value;
use crate::tally::Tally;
use crate::usage::{Report, Reported};

/// The members of a line that matter.
#[derive(Debug, Default)]
pub(crate) struct Line<'a> {
    done: Option<Value<'a>>,
    done_reason: Option<Value<'a>>,
    eval_count: Option<Value<'a>>,
    pub(super) message: Option<Value<'a>>,
    model: Option<Value<'a>>,
    prompt_eval_count: Option<Value<'a>>,
    pub(super) response: Option<Value<'a>>,
    pub(super) thinking: Option<Value<'a>>,
    pub(super) tool_calls: Option<Value<'a>>,
}

/// An answer has one choice.
const CHOICE: u64 = 0;

impl<'a> Line<'a> {
    pub(super) fn collect(&mut self, key: &str, value: Value<'a>) {
        let member = match key {
            "done" => &mut self.done,
            "done_reason" => &mut self.done_reason,
            "eval_count" => &mut self.eval_count,
            "message" => &mut self.message,
            "model" => &mut self.model,
            "prompt_eval_count" => &mut self.prompt_eval_count,
            "response" => &mut self.response,
            "thinking" => &mut self.thinking,
            "tool_calls" => &mut self.tool_calls,
            _ => return,
        };
        *member = Some(value);
    }

    /// Whether it says that the stream goes on or is over.
    pub(super) fn tells_done(&self) -> bool {
        self.done.is_some_and(Value::is_boolean)
    }

    /// Reads the texts of the line, which the two dialects have in different places.
    pub(super) fn read_texts(
        content: Option<Value<'a>>,
        thinking: Option<Value<'a>>,
        tool_calls: Option<Value<'a>>,
        tally: &mut Tally,
    ) {
        if let Some(text) = thinking.and_then(Value::some_text) {
            tally.reasoning(CHOICE, text);
        }
        if let Some(text) = content.and_then(Value::some_text) {
            tally.content(CHOICE, text);
        }
        if tool_calls.is_some_and(have_arguments) {
            tally.tool_call(CHOICE);
        }
    }

    /// Reads the model and, of the closing line, what only that one says.
    pub(super) fn read_facts(&self, tally: &mut Tally) {
        if let Some(name) = self.model.and_then(Value::text) {
            tally.model(name);
        }
        if !self.done.is_some_and(Value::is_true) {
            return;
        }
        if let Some(reason) = self.done_reason.and_then(Value::some_text) {
            tally.finish(CHOICE, &reason.decode());
        }
        let report = Report {
            completion_tokens: self.eval_count.and_then(Reported::of),
            prompt_tokens: self.prompt_eval_count.and_then(Reported::of),
            ..Report::default()
        };
        tally.usage(&report, CountScope::Request);
        tally.end();
    }
}
