//! The ShareGPT layout: conversations, of each of which the first human turn is a prompt.

use serde_json::value::RawValue;
use streamgauge_schema::{Json, JsonPath, Position};

use super::line::{LineFault, member, reason, shown};
use super::{DatasetLine, Prompt, Reader};
use crate::error::{DatasetError, MemberFault};

/// The member by which the layout is known.
pub(super) const CONVERSATIONS: &str = "conversations";
/// Who asks.
const ASKING: [&str; 2] = ["human", "user"];

/// Takes a file that is one JSON array.
pub(super) fn read_array(text: &[u8], file: &str, reader: &mut Reader) -> Result<(), DatasetError> {
    let named = || file.to_owned();
    let text = std::str::from_utf8(text).map_err(|error| {
        let before = &text[..error.valid_up_to()];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let position = Position { line, column: before.len() - line_start + 1 };
        DatasetError::NotUtf8 { file: named(), position }
    })?;
    let elements: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| {
        let position = Position { line: error.line(), column: error.column() };
        DatasetError::NotJson { file: named(), position, message: reason(&error) }
    })?;
    for (index, element) in elements.into_iter().enumerate() {
        let base = JsonPath::root().index(index);
        let value = serde_json::from_str(element.get()).map_err(|error| {
            let position = place(text, &base, &base);
            DatasetError::NotJson { file: named(), position, message: reason(&error) }
        })?;
        take(value, index + 1, &base, reader).map_err(|(path, fault)| {
            let position = place(text, &path, &base);
            DatasetError::Member { file: named(), position, path, fault }
        })?;
    }
    Ok(())
}

/// Where a value begins; of a missing one, where its element does.
fn place(text: &str, path: &JsonPath, element: &JsonPath) -> Position {
    let position = Position::of(text, path).or_else(|| Position::of(text, element));
    position.unwrap_or(Position { line: 1, column: 1 })
}

/// Takes a line that is one conversation.
pub(super) fn read(value: Json, number: usize, reader: &mut Reader) -> Result<(), LineFault> {
    if !matches!(value, Json::Object(_)) {
        return Err(LineFault::NotObject { found: shown(&value) });
    }
    take(value, number, &JsonPath::root(), reader).map_err(|(path, fault)| member(path, fault))
}

type Fault = (JsonPath, MemberFault);

fn take(value: Json, number: usize, base: &JsonPath, reader: &mut Reader) -> Result<(), Fault> {
    let Some(prompt) = first_question(&value, base)? else {
        reader.skipped += 1;
        return Ok(());
    };
    let mut id = match value.member("id") {
        Some(Json::String(id)) => id.clone(),
        Some(Json::Uint(id)) => id.to_string(),
        _ => String::new(),
    };
    while id.is_empty() || reader.line_of_id.contains_key(&id) {
        id.push_str(&format!("#{number}"));
    }
    reader.line_of_id.insert(id.clone(), number);
    let prompt = Prompt::Text(prompt);
    reader.lines.push(DatasetLine { id, line: number, prompt, max_tokens: None, expect: None });
    Ok(())
}

/// What the first human turn says; `None` when there is none, or nothing in it.
fn first_question(value: &Json, base: &JsonPath) -> Result<Option<String>, Fault> {
    let Json::Object(_) = value else { return Err(fault(base.clone(), value, "an object")) };
    let path = base.clone().key(CONVERSATIONS);
    let turns = match value.member(CONVERSATIONS) {
        Some(Json::Array(turns)) => turns,
        Some(other) => return Err(fault(path, other, "a list")),
        None => return Err(missing(path, "conversation", CONVERSATIONS)),
    };
    for (place, turn) in turns.iter().enumerate() {
        let path = path.clone().index(place);
        let Json::Object(_) = turn else { return Err(fault(path, turn, "an object")) };
        let from = text(turn, "from", &path)?;
        let value = text(turn, "value", &path)?;
        if ASKING.contains(&from) {
            return Ok((!value.is_empty()).then(|| value.to_owned()));
        }
    }
    Ok(None)
}

fn text<'a>(turn: &'a Json, name: &'static str, path: &JsonPath) -> Result<&'a str, Fault> {
    match turn.member(name) {
        Some(Json::String(text)) => Ok(text),
        Some(other) => Err(fault(path.clone().key(name), other, "a text")),
        None => Err(missing(path.clone().key(name), "turn", name)),
    }
}

fn fault(path: JsonPath, found: &Json, rule: &'static str) -> Fault {
    (path, MemberFault::Value { found: shown(found), rule })
}

fn missing(path: JsonPath, owner: &'static str, required: &'static str) -> Fault {
    (path, MemberFault::Missing { owner, required })
}
