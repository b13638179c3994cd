//! Ollama generate: one JSON object a line, each with a piece of the text.

use crate::dialect::ollama::Line;
use crate::dialect::{Rules, Shape};
use crate::framing::Framing;
use crate::json::Value;
use crate::tally::Tally;

/// The rules of `/api/generate`.
#[derive(Debug)]
pub(crate) struct OllamaGenerate;

impl Rules for OllamaGenerate {
    const FRAMING: Framing = Framing::Lines;

    type Members<'a> = Line<'a>;

    fn collect<'a>(line: &mut Line<'a>, key: &str, value: Value<'a>) {
        line.collect(key, value);
    }

    fn recognises(line: &Line<'_>, _: Shape<'_>) -> bool {
        line.tells_done() && line.response.is_some_and(|response| response.text().is_some())
    }

    fn read(&mut self, line: &Line<'_>, _: Shape<'_>, tally: &mut Tally) {
        Line::read_texts(line.response, line.thinking, line.tool_calls, tally);
        line.read_facts(tally);
    }
}
