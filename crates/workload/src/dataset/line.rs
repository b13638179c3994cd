//! One line of a dataset: its members, checked one by one.

use std::collections::HashSet;

use streamgauge_schema::{Json, JsonPath};

use super::{DatasetLine, Prompt};
use crate::error::MemberFault;

/// The members that a line may have.
pub(crate) const MEMBERS: [&str; 5] = ["id", "prompt", "messages", "max_tokens", "expect"];
/// Characters of a value that an error shows.
const SHOWN_CHARS: usize = 60;

/// What is wrong with a line, before anybody knows which line it is.
#[derive(Debug)]
pub(super) enum LineFault {
    Member { path: JsonPath, fault: MemberFault },
    NotJson { column: usize, message: String },
    NotObject { found: String },
    NotUtf8 { valid_bytes: usize },
}

pub(super) fn parse(line: &[u8], number: usize) -> Result<DatasetLine, LineFault> {
    let text = std::str::from_utf8(line)
        .map_err(|error| LineFault::NotUtf8 { valid_bytes: error.valid_up_to() })?;
    let members = match serde_json::from_str(text).map_err(|error| not_json(&error))? {
        Json::Object(members) => members,
        other => return Err(LineFault::NotObject { found: shown(&other) }),
    };
    check_known(&members)?;
    check_distinct(&members, &JsonPath::root())?;

    let mut line = Members(members);
    let id = match line.take("id") {
        Some(Json::String(id)) if !id.is_empty() => id,
        Some(other) => return Err(wrong(at("id"), &other, "a non-empty text")),
        None => return Err(missing(at("id"), "an id")),
    };
    let prompt = match (line.take("prompt"), line.take("messages")) {
        (Some(_), Some(_)) => {
            return Err(member(at("messages"), MemberFault::SecondPrompt));
        }
        (Some(Json::String(text)), None) if !text.is_empty() => Prompt::Text(text),
        (Some(other), None) => {
            return Err(wrong(at("prompt"), &other, "a non-empty text"));
        }
        (None, Some(messages)) => {
            check_messages(&messages, &at("messages"))?;
            Prompt::Messages(messages)
        }
        (None, None) => return Err(missing(at("prompt"), "a prompt or messages")),
    };
    let max_tokens = match line.take("max_tokens") {
        None => None,
        Some(Json::Uint(count)) if count > 0 => Some(count),
        Some(other) => {
            return Err(wrong(at("max_tokens"), &other, "a whole number of at least 1"));
        }
    };
    Ok(DatasetLine { id, line: number, prompt, max_tokens, expect: line.take("expect") })
}

struct Members(Vec<(String, Json)>);

impl Members {
    fn take(&mut self, name: &str) -> Option<Json> {
        let place = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.swap_remove(place).1)
    }
}

fn check_known(members: &[(String, Json)]) -> Result<(), LineFault> {
    match members.iter().find(|(name, _)| !MEMBERS.contains(&name.as_str())) {
        Some((name, _)) => {
            Err(member(at(name), MemberFault::Unknown { nearest: nearest_member(name) }))
        }
        None => Ok(()),
    }
}

/// Of a name that stands twice, readers take one value or the other.
fn check_distinct(members: &[(String, Json)], owner: &JsonPath) -> Result<(), LineFault> {
    let mut seen = HashSet::new();
    match members.iter().find(|(name, _)| !seen.insert(name)) {
        Some((name, _)) => Err(member(owner.clone().key(name), MemberFault::Twice)),
        None => Ok(()),
    }
}

fn check_messages(messages: &Json, path: &JsonPath) -> Result<(), LineFault> {
    let list = match messages {
        Json::Array(list) if !list.is_empty() => list,
        other => return Err(wrong(path.clone(), other, "a list with at least one message")),
    };
    for (place, message) in list.iter().enumerate() {
        let path = path.clone().index(place);
        match message {
            Json::Object(members) => check_distinct(members, &path)?,
            other => return Err(wrong(path, other, "an object")),
        }
        match message.member("role") {
            Some(Json::String(role)) if !role.is_empty() => {}
            Some(other) => return Err(wrong(path.key("role"), other, "a non-empty text")),
            None => return Err(missing_in_message(path.key("role"), "a role")),
        }
        match message.member("content") {
            Some(Json::Array(_) | Json::Null | Json::String(_)) => {}
            Some(other) => return Err(wrong(path.key("content"), other, "a text, a list or null")),
            None => return Err(missing_in_message(path.key("content"), "content")),
        }
    }
    Ok(())
}

fn at(name: &str) -> JsonPath {
    JsonPath::root().key(name)
}

fn member(path: JsonPath, fault: MemberFault) -> LineFault {
    LineFault::Member { path, fault }
}

fn missing(path: JsonPath, required: &'static str) -> LineFault {
    member(path, MemberFault::Missing { owner: "line", required })
}

fn missing_in_message(path: JsonPath, required: &'static str) -> LineFault {
    member(path, MemberFault::Missing { owner: "message", required })
}

fn wrong(path: JsonPath, found: &Json, rule: &'static str) -> LineFault {
    member(path, MemberFault::Value { found: shown(found), rule })
}

fn not_json(error: &serde_json::Error) -> LineFault {
    let text = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    let message = text.strip_suffix(&suffix).unwrap_or(&text).to_owned();
    LineFault::NotJson { column: error.column(), message }
}

/// A value as JSON, cut when it is long.
fn shown(value: &Json) -> String {
    let text = serde_json::to_string(value).expect("a tree is written to memory");
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The known name that is at most two edits away.
fn nearest_member(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    MEMBERS
        .into_iter()
        .map(|known| (edits(&name, known), known))
        .filter(|(edits, known)| *edits <= 2 && *edits < known.len())
        .min()
        .map(|(_, known)| known)
}

/// Levenshtein's distance in bytes.
fn edits(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (done, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = done + 1;
        for (place, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[to.len()]
}
