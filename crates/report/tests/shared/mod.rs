//! Records to make pages of, whole and damaged.

#![allow(dead_code, reason = "no test needs all of it")]

use serde_json::Value;
use streamgauge_report::Requests;
use streamgauge_schema::{Document, JournalLine, RequestLine, RunRecord, RunRecordV2};

pub(crate) const RECORD_V1: &[u8] =
    include_bytes!("../../../schema/tests/records/serving-performance-v1.json");
pub(crate) const RECORD_V2: &[u8] = include_bytes!("../../../schema/tests/run/record.json");
pub(crate) const JOURNAL: &str = include_str!("../../../schema/tests/run/observations.jsonl");

pub(crate) fn record_v1() -> RunRecord {
    match Document::read(RECORD_V1).unwrap() {
        Document::Run(record) => record,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn record_v2() -> RunRecordV2 {
    match Document::read(RECORD_V2).unwrap() {
        Document::Run(RunRecord::V2(record)) => *record,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn lines() -> impl Iterator<Item = RequestLine> {
    JOURNAL.lines().filter_map(|line| match serde_json::from_str(line).unwrap() {
        JournalLine::Request(line) => Some(*line),
        _ => None,
    })
}

pub(crate) fn requests(record: &RunRecordV2) -> Requests {
    let mut requests = Requests::of(record);
    lines().for_each(|line| requests.add(&line));
    requests
}

/// A record whose texts try to be more than text, as far as its types let them.
pub(crate) fn hostile(record: &RunRecordV2) -> RunRecordV2 {
    const TEXT: &str = "<script>alert('x') <b> \" onload='y' &amp; {{ 7 }} <!-- -->";
    let mut value = serde_json::to_value(record).unwrap();
    for pointer in
        ["/deployment/model", "/deployment/hardware", "/limitations/0", "/conditions/0/value"]
    {
        *value.pointer_mut(pointer).unwrap() = Value::from(TEXT);
    }
    for metric in value["metrics"].as_array_mut().unwrap() {
        metric["definition"] = Value::from(TEXT);
        metric["population"] = Value::from(TEXT);
    }
    serde_json::from_value(value).unwrap()
}

/// A document in which some values are others of their kind, or none.
pub(crate) fn damaged(document: &[u8], seed: u64) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(document).unwrap();
    let mut chance = seed | 1;
    damage(&mut value, &mut chance);
    serde_json::to_vec(&value).unwrap()
}

fn damage(value: &mut Value, chance: &mut u64) {
    *chance =
        chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let drawn = *chance >> 40;
    let hit = drawn.is_multiple_of(23);
    match value {
        Value::Number(number) if hit && number.is_u64() => {
            *value = Value::from([0, 1, 1_000_000_007, u64::MAX][drawn as usize / 23 % 4]);
        }
        Value::Number(_) if hit => {
            *value =
                Value::from([0.0, -1.5, 1e-300, 1e300, f64::MAX, 5e-324][drawn as usize / 23 % 6]);
        }
        Value::Array(items) if hit && drawn.is_multiple_of(3) => items.clear(),
        Value::Array(items) => items.iter_mut().for_each(|item| damage(item, chance)),
        Value::Object(members) => members.values_mut().for_each(|member| damage(member, chance)),
        Value::Bool(flag) if hit => *flag = !*flag,
        _ => {}
    }
}

/// What a page says to someone who reads it without its marks: an element of text a line.
pub(crate) fn prose(page: &str) -> String {
    let body = page.split_once("<body>").unwrap().1;
    let mut out = String::new();
    let mut rest = body;
    while let Some((text, after)) = rest.split_once('<') {
        let (tag, next) = after.split_once('>').unwrap();
        out.push_str(text);
        let name = tag.trim_start_matches('/').split([' ', '>']).next().unwrap();
        let ends = matches!(
            name,
            "p" | "li"
                | "h1"
                | "h2"
                | "h3"
                | "tr"
                | "dt"
                | "dd"
                | "caption"
                | "summary"
                | "text"
                | "title"
                | "desc"
        );
        out.push_str(match name {
            "td" | "th" if tag.starts_with('/') => " | ",
            _ if ends => "\n",
            _ => "",
        });
        rest = next;
    }
    let lines = out.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "|");
    lines.collect::<Vec<_>>().join("\n")
}
