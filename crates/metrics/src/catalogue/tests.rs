//! The catalogue as a whole, and figures of small runs.

use std::collections::BTreeSet;

use streamgauge_schema::{Document, RequestLine, RunRecord};

use super::*;
use crate::sample_run::{measured, plan, refused, succeeded};
use crate::server::Untold;

const GOLDEN: &[u8] = include_bytes!("../../tests/records/serving-performance-v1.json");

fn metric(id: &str, offered: u64, lines: &[RequestLine]) -> Metric {
    let metrics = metrics_of(&measured(&plan(offered, 2), lines)).unwrap();
    metrics.into_iter().find(|metric| metric.id.as_str() == id).unwrap()
}

#[test]
fn ids_are_unique_and_follow_the_convention() {
    let ids: BTreeSet<&str> = catalogue().iter().map(|spec| spec.id.as_str()).collect();
    assert_eq!(ids.len(), catalogue().len());
    for spec in catalogue().iter().filter(|spec| !spec.in_version_1) {
        let suffix = match spec.unit {
            Unit::Count => "_count",
            Unit::Milliseconds => "_ms",
            Unit::Ratio => "_ratio",
            Unit::Tokens => "_tok",
            _ => "_per_s",
        };
        assert!(spec.id.as_str().ends_with(suffix), "{}", spec.id);
    }
}

#[test]
fn the_seven_keep_the_words_of_the_golden_record() {
    let Document::Run(RunRecord::V1(golden)) = Document::read(GOLDEN).unwrap() else {
        panic!("a version 1 record");
    };
    let ours: Vec<_> = catalogue()
        .iter()
        .filter(|spec| spec.in_version_1)
        .map(|spec| (&spec.id, &spec.label, &spec.definition, spec.unit))
        .collect();
    let golden: Vec<_> =
        golden.metrics.iter().map(|m| (&m.id, &m.label, &m.definition, m.unit)).collect();
    assert_eq!(ours, golden);
}

#[test]
fn golden_durations_give_the_golden_figures() {
    let Document::Run(golden) = Document::read(GOLDEN).unwrap() else {
        panic!("a run record");
    };
    let lines: Vec<RequestLine> = (0..)
        .zip(golden.cases().unwrap())
        .map(|(index, case)| RequestLine {
            elapsed_us: case.duration_ms.and_then(|ms| ms.to_micros()).unwrap(),
            ..succeeded(index, 0, &[], 0)
        })
        .collect();
    for id in ["completion_median_ms", "completion_p95_ms"] {
        let ours = metric(id, 8, &lines).to_v1();
        let golden = golden.metrics().into_iter().find(|m| m.id.as_str() == id).unwrap();
        assert_eq!(ours.value.map(f64::to_bits), golden.value.map(f64::to_bits), "{id}");
        assert_eq!(ours, golden);
    }
}

#[test]
fn failures_are_in_the_golden_populations_alone() {
    let lines = [succeeded(0, 0, &[100, 200], 2), refused(1, 0, 4)];
    let cases = [
        ("completion_median_ms", Some(102.0), 2, 1),
        ("e2e_p50_ms", Some(200.0), 1, 0),
        ("first_generated_median_ms", Some(100.0), 1, 2),
        ("ttft_p50_ms", Some(100.0), 1, 0),
    ];
    for (id, value, samples, missing) in cases {
        let found = metric(id, 3, &lines);
        assert_eq!((found.value, found.samples, found.missing), (value, samples, missing), "{id}");
    }
}

#[test]
fn a_missing_value_is_null_and_counted() {
    let mut reasoning_only = succeeded(0, 0, &[100, 200], 2);
    reasoning_only.observation.as_mut().unwrap().first_content_us = None;
    let found = metric("ttfc_p50_ms", 1, &[reasoning_only.clone()]);
    assert_eq!((found.value, found.samples, found.missing), (None, 0, 1));
    assert_eq!(found.interval, None);
    let found = metric("ttfc_p50_ms", 2, &[reasoning_only, succeeded(1, 0, &[300, 400], 2)]);
    assert_eq!((found.value, found.samples, found.missing), (Some(300.0), 1, 1));
}

#[test]
fn prompt_tokens_are_what_the_server_counted() {
    let id = "prompt_tokens_p50_tok";
    let mut lines = vec![succeeded(0, 0, &[100], 2), succeeded(1, 0, &[100], 2), refused(2, 0, 4)];
    let found = metric(id, 3, &lines);
    assert_eq!((found.value, found.samples, found.missing), (Some(512.0), 2, 0));

    lines[0].observation.as_mut().unwrap().usage.as_mut().unwrap().prompt_tokens = Some(531);
    assert_eq!(metric(id, 3, &lines).value, Some(521.5));
    lines[0].observation.as_mut().unwrap().usage_ambiguous = true;
    let found = metric(id, 3, &lines);
    assert_eq!((found.value, found.samples, found.missing), (Some(512.0), 1, 1));
    lines[1].observation.as_mut().unwrap().usage = None;
    let found = metric(id, 3, &lines);
    assert_eq!((found.value, found.samples, found.missing), (None, 0, 2));
}

#[test]
fn throughput_divides_by_the_whole_batch() {
    let id = "completion_throughput_tps";
    let mut lines = vec![succeeded(0, 200, &[100, 2_000], 30), refused(1, 2_300, 900)];
    let found = metric(id, 2, &lines);
    assert_eq!((found.value, found.samples, found.missing), (Some(10.0), 2, 0));
    assert_eq!(metric("batch_duration_seconds", 2, &lines).value, Some(3.0));
    assert_eq!(metric("request_throughput_per_s", 2, &lines).value, Some(1.0 / 3.0));

    lines[0].observation.as_mut().unwrap().usage_ambiguous = true;
    let found = metric(id, 2, &lines);
    assert_eq!((found.value, found.samples, found.missing), (None, 0, 1));
    assert!(found.definition.as_str().ends_with("None: usage is missing for 1 of 1 responses."));

    let seen = lines[0].observation.as_mut().unwrap();
    seen.usage_ambiguous = false;
    for (tokens, value, missing) in [(0, None, 1), (1, Some(1.0 / 3.0), 0), (30, Some(10.0), 0)] {
        lines[0].observation.as_mut().unwrap().usage.as_mut().unwrap().completion_tokens =
            Some(tokens);
        let found = metric(id, 2, &lines);
        assert_eq!((found.value, found.missing), (value, missing), "{tokens} tokens");
    }
    let seen = lines[0].observation.as_mut().unwrap();
    (seen.output_events, seen.whole_body_output) = (0, true);
    assert_eq!(metric(id, 2, &lines).value, Some(10.0));

    for id in [id, "batch_duration_seconds", "request_throughput_per_s"] {
        assert_eq!(metric(id, 2, &[]).value, None, "{id}");
    }
    assert_eq!(metric(id, 1, &[succeeded(0, 0, &[], 0)]).value, None);
}

#[test]
fn tokens_come_back_from_throughput_and_duration() {
    for tokens in (1..2_000_000).step_by(9_973) {
        for elapsed_ms in [1, 3, 37_153, 86_399_999] {
            let lines = [succeeded(0, 17, &[elapsed_ms], tokens)];
            let run = measured(&plan(1, 1), &lines);
            let seconds = Part::whole(&run).seconds().unwrap();
            let Source::Run { figure, .. } = throughput::COMPLETION_THROUGHPUT.source else {
                panic!("one figure for the run");
            };
            let rate = figure(Part::whole(&run)).value.unwrap();
            assert_eq!((rate * seconds).round() / seconds, rate);
            assert_eq!((rate * seconds).round(), tokens as f64);
        }
    }
}

#[test]
fn a_figure_of_the_server_has_room_to_say_why_it_is_absent() {
    for spec in catalogue().iter().filter(|spec| spec.presence == Presence::ServerMetrics) {
        assert_eq!(spec.direction, Direction::Neutral, "{}: nothing is gated by it", spec.id);
        for untold in [Untold::Fell, Untold::NoEnds, Untold::NotAnswered, Untold::NotOffered] {
            let said = PublicText::new(format!("{} {}", spec.definition, untold.remark()));
            assert!(said.is_ok(), "{}", spec.id);
        }
    }
}
