//! One line of a dataset: its members, checked one by one.

use std::collections::HashSet;

use streamgauge_schema::{Expectation, Json, JsonPath, ReadError, Segment, read_typed};

use super::{DatasetLine, Prompt};
use crate::error::MemberFault;
use crate::schedule::Schedule;

/// The members that a line may have.
pub(crate) const MEMBERS: [&str; 7] =
    ["id", "prompt", "messages", "input_tokens", "max_tokens", "expect", "at_ms"];
/// Members that are sooner compared with each other than put into a set.
const FEW_MEMBERS: usize = 8;
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

/// A line's request, and when it is due, in microseconds.
pub(super) type Parsed = (DatasetLine, Option<u64>);

pub(super) fn parse(line: Json, number: usize) -> Result<Parsed, LineFault> {
    let members = match line {
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
    let prompt = prompt(&mut line)?;
    let max_tokens = count(&mut line, "max_tokens")?;
    let at_us = line.take("at_ms").map(|value| micros(&value)).transpose()?;
    let expect = line.take("expect").map(|value| expectation(&value)).transpose()?;
    Ok((DatasetLine { id, line: number, prompt, max_tokens, expect }, at_us))
}

/// The value of a line.
pub(super) fn value(line: &[u8]) -> Result<Json, LineFault> {
    let text = std::str::from_utf8(line)
        .map_err(|error| LineFault::NotUtf8 { valid_bytes: error.valid_up_to() })?;
    serde_json::from_str(text)
        .map_err(|error| LineFault::NotJson { column: error.column(), message: reason(&error) })
}

fn prompt(line: &mut Members) -> Result<Prompt, LineFault> {
    let kinds = ["prompt", "messages", "input_tokens"].into_iter();
    let mut given = kinds.filter(|name| line.0.iter().any(|(key, _)| key == name));
    let Some(kind) = given.next() else {
        return Err(missing(at("prompt"), "a prompt, messages or input_tokens"));
    };
    if let Some(second) = given.next() {
        return Err(member(at(second), MemberFault::SecondPrompt { first: kind }));
    }
    if let Some(input_tokens) = count(line, "input_tokens")? {
        return Ok(Prompt::Synthetic { input_tokens });
    }
    match (kind, line.take(kind)) {
        ("messages", Some(messages)) => {
            check_messages(&messages, &at("messages"))?;
            Ok(Prompt::Messages(messages))
        }
        (_, Some(Json::String(text))) if !text.is_empty() => Ok(Prompt::Text(text)),
        (_, other) => Err(wrong(at(kind), &other.unwrap_or(Json::Null), "a non-empty text")),
    }
}

/// What an answer is held against; a fault is named by its own member.
fn expectation(value: &Json) -> Result<Expectation, LineFault> {
    // The reader takes a second member for a broken text.
    if !matches!(value, Json::Object(members) if members.len() == 1) {
        return Err(wrong(at("expect"), value, "an object with one member, the grader's"));
    }
    let text = serde_json::to_vec(value).expect("what was read can be written");
    read_typed(&text).map_err(|error| match error {
        ReadError::Shape { path, message, .. } => {
            let join = |path: JsonPath, segment: &Segment| match segment {
                Segment::Index(index) => path.index(*index),
                Segment::Key(key) => path.key(key),
            };
            let path = path.segments().iter().fold(at("expect"), join);
            member(path, MemberFault::Expectation { message })
        }
        other => member(at("expect"), MemberFault::Expectation { message: other.to_string() }),
    })
}

/// A member that is a whole number of at least 1.
fn count(line: &mut Members, name: &'static str) -> Result<Option<u64>, LineFault> {
    match line.take(name) {
        None => Ok(None),
        Some(Json::Uint(count)) if count > 0 => Ok(Some(count)),
        Some(other) => Err(wrong(at(name), &other, "a whole number of at least 1")),
    }
}

/// The microseconds of an `at_ms`.
fn micros(value: &Json) -> Result<u64, LineFault> {
    let millis = match value {
        Json::Uint(millis) => *millis as f64,
        Json::Float(millis) => *millis,
        _ => f64::NAN,
    };
    if !(0.0..=Schedule::MAX_SPAN_MS as f64).contains(&millis) {
        let rule = "a number of milliseconds from 0, where the run begins, to 31536000000";
        return Err(wrong(at("at_ms"), value, rule));
    }
    Ok((millis * 1000.0).round() as u64)
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
    let twice = if members.len() <= FEW_MEMBERS {
        let before = |place: usize, name: &str| members[..place].iter().any(|(key, _)| key == name);
        members.iter().enumerate().find(|(place, (name, _))| before(*place, name)).map(|(_, m)| m)
    } else {
        let mut seen = HashSet::new();
        members.iter().find(|(name, _)| !seen.insert(name))
    };
    match twice {
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

pub(super) fn at(name: &str) -> JsonPath {
    JsonPath::root().key(name)
}

pub(super) fn member(path: JsonPath, fault: MemberFault) -> LineFault {
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

/// What a JSON reader says, without the place.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// A value as JSON, cut when it is long.
pub(super) fn shown(value: &Json) -> String {
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
