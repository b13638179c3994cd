//! Ollama chat: one JSON object a line, each with a piece of a message.

use crate::dialect::ollama::Line;
use crate::dialect::{Rules, Shape};
use crate::framing::Framing;
use crate::json::Value;
use crate::tally::Tally;

/// The rules of `/api/chat`.
#[derive(Debug)]
pub(crate) struct OllamaChat;

impl Rules for OllamaChat {
    const FRAMING: Framing = Framing::Lines;

    type Members<'a> = Line<'a>;

    fn collect<'a>(line: &mut Line<'a>, key: &str, value: Value<'a>) {
        line.collect(key, value);
    }

    fn recognises(line: &Line<'_>, _: Shape<'_>) -> bool {
        line.tells_done() && line.message.is_some_and(Value::is_object)
    }

    fn read(&mut self, line: &Line<'_>, _: Shape<'_>, tally: &mut Tally) {
        let [mut content, mut thinking, mut tool_calls] = [None; 3];
        for (key, value) in line.message.into_iter().flat_map(Value::members) {
            let member = match &*key.decode() {
                "content" => &mut content,
                "thinking" => &mut thinking,
                "tool_calls" => &mut tool_calls,
                _ => continue,
            };
            *member = Some(value);
        }
        Line::read_texts(content, thinking, tool_calls, tally);
        line.read_facts(tally);
    }
}
