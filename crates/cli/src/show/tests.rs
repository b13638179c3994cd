//! Every page in every format, word by word, at 80 columns.

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum;
use streamgauge_client::RunDir;
use streamgauge_exchange::{OutputEdges, vllm_result};
use streamgauge_grade::{GivenAnswer, RepeatedAnswers, determinism as held};
use streamgauge_schema::{
    CaseOutcome, Digest, Document, Goal, GoalQuantity, Identifier, Metric, OutputPolicy,
    ProbeFault, SearchProbe, SearchReport, SearchSchema, SearchedLoad, Turnover, TurnoverFailure,
    TurnoverFailureClass, TurnoverReport,
};

use super::*;
use crate::args::Format;
use crate::calibration::Level;
use crate::grading::Wrong;
use crate::measure::Measured;
use crate::notices::FailureGroup;
use crate::rebuild::{read_plan, rebuild};

fn name(text: &str) -> Identifier {
    Identifier::new(text).unwrap()
}

/// A page in all formats that people read.
fn in_each_format(shown: impl Fn(Page) -> String) -> String {
    let formats = Format::value_variants().iter().filter(|format| **format != Format::Json);
    let pages = formats.map(|format| {
        let page = Page { format: *format, columns: 80 };
        format!("--- {} ---\n{}", format.to_possible_value().unwrap().get_name(), shown(page))
    });
    pages.collect::<Vec<_>>().join("\n\n")
}

/// The sample run of the schema, as a command has it that measured it.
fn sample() -> Measured {
    let dir = RunDir::at(Path::new("../schema/tests/run"));
    let record = rebuild(&dir).unwrap().record;
    let group = |class: &str, count, example: &str| FailureGroup {
        class: class.to_owned(),
        count,
        example: example.to_owned(),
    };
    let failures = vec![
        group("http_status", 1, "status 503: overloaded"),
        group("connect (warm-up)", 2, "connection refused"),
    ];
    Measured { dir, record, failures, other_model: 0, wrong: Vec::new(), interrupted: false }
}

#[test]
fn a_run() {
    let measured = sample();
    let shown = in_each_format(|page| run(&measured, SteadyWindow::Figures, page));
    insta::assert_snapshot!("run", shown);
    let shape = read_plan(&measured.dir).unwrap().load.shape;
    let edges = OutputEdges::default();
    let result = vllm_result(&measured.record, Some(&edges), Some(&shape)).unwrap();
    insta::assert_snapshot!("run_vllm", vllm(&result).unwrap());
}

#[test]
fn a_run_of_which_nothing_succeeded() {
    let mut measured = sample();
    measured.record.load.succeeded = 0;
    let shown = in_each_format(|page| run(&measured, SteadyWindow::Line, page));
    insta::assert_snapshot!("run_without_success", shown);
}

#[test]
fn answers_that_did_not_pass() {
    let mut measured = sample();
    let record = &mut measured.record;
    let metric = Metric {
        id: name("pass_ratio"),
        value: Some(0.6),
        interval: None,
        ..record.metrics[0].clone()
    };
    record.metrics.push(metric);
    record.evaluator_sha256 = Some(Digest::of(b"a grader"));
    record.counts.declared = 5;
    record.counts.outcomes =
        [(CaseOutcome::Pass, 3), (CaseOutcome::Fail, 1), (CaseOutcome::Error, 1)].into();
    measured.wrong = vec![
        Wrong { index: 1, id: Some("sum-1".to_owned()), why: "/total: 4, 5 expected".to_owned() },
        Wrong { index: 3, id: None, why: "cut by its length limit".to_owned() },
    ];
    let shown = in_each_format(|page| answers(&measured.record, &measured.wrong, page).unwrap());
    insta::assert_snapshot!("answers", shown);
}

#[test]
fn a_turnover() {
    let failure = |request_index, failure_class, words, canary_passed| TurnoverFailure {
        request_index,
        failure_class,
        words,
        finish_reasons: Vec::new(),
        canary_passed,
    };
    let failures = vec![
        failure(0, TurnoverFailureClass::ControlledOutputFailed, Some(31), Some(true)),
        failure(4, TurnoverFailureClass::RequestCanaryFailed, Some(32), Some(false)),
        failure(5, TurnoverFailureClass::RequestError, None, None),
        failure(38, TurnoverFailureClass::RequestError, None, None),
        failure(39, TurnoverFailureClass::RequestError, None, None),
    ];
    let (sample, mut measured) = (sample(), sample());
    let mut text = String::new();
    for (policy, unsent, failures) in [
        (OutputPolicy::Strict, 0, Vec::new()),
        (OutputPolicy::Strict, 2, failures.clone()),
        (OutputPolicy::Observe, 0, failures),
    ] {
        let failed = failures.len() as u64;
        measured.record.load.not_sent = unsent;
        measured.record.limitations.truncate(1);
        let groups = &sample.failures[..usize::from(failed > 0)];
        measured.failures = groups.to_vec();
        measured.record.turnover = Some(TurnoverReport {
            policy,
            count: 32,
            waves: 4,
            outcome: Turnover {
                requests: 40,
                exact_output_passed: 40 - failed,
                failed,
                responses_received: 40 - failed,
                performance_eligible: failed == 0,
                failures,
            },
        });
        text += &in_each_format(|page| turnover(&measured, page));
        text += "\n\n";
    }
    insta::assert_snapshot!("turnover", text);
}

#[test]
fn a_search() {
    let probe = |load, attained_ratio, reason: Option<ProbeFault>| SearchProbe {
        load,
        attained_ratio,
        without_value: 0,
        other_model: u64::from(reason.is_some()),
        held: reason.is_none() && attained_ratio >= Some(0.95),
        reason,
        run_id: name("sim-model-119f8a2564a2"),
    };
    let found = |probes: Vec<SearchProbe>, complete, highest_held, lowest_failed| SearchReport {
        schema: SearchSchema::V1,
        load: SearchedLoad::RequestsPerS,
        goals: vec![Goal { quantity: GoalQuantity::Ttft, limit_ms: 500.0 }],
        attainment: 0.95,
        complete,
        highest_held,
        lowest_failed,
        held_above_a_failure: Vec::new(),
        probes,
    };
    let faults = [
        ProbeFault::Cut,
        ProbeFault::NoValues,
        ProbeFault::NoneEnded,
        ProbeFault::NotOffered,
        ProbeFault::NothingSucceeded,
    ];
    let each = faults
        .iter()
        .zip(8_u32..)
        .map(|(fault, load)| probe(f64::from(load), Some(0.5), Some(*fault)));
    let held = vec![probe(1.0, Some(1.0), None), probe(2.5, Some(0.97), None)];
    let mut failed = held.clone();
    failed.push(probe(4.0, None, None));
    failed.extend(each);
    let text = [
        found(failed, true, Some(2.5), Some(4.0)),
        found(held, true, Some(2.5), None),
        found(vec![probe(1.0, Some(0.1), None)], true, None, Some(1.0)),
        found(Vec::new(), false, None, None),
    ]
    .map(|report| in_each_format(|page| search(&report, page)));
    insta::assert_snapshot!("search", text.join("\n\n"));
}

#[test]
fn a_decision() {
    let bytes = include_bytes!("../../../schema/tests/records/decision-v1.json");
    let Document::Decision(found) = Document::read(bytes).unwrap() else { panic!("a decision") };
    let page = Page { format: Format::Table, columns: 80 };
    let shown = [decision(&found, page), decision_in_markdown(&found)];
    insta::assert_snapshot!("decision", shown.join("\n\n"));
}

#[test]
fn answers_held_against_each_other() {
    let answer = |content: &str| {
        Some(GivenAnswer {
            reasoning: String::new(),
            content: content.to_owned(),
            finish_reasons: vec!["stop".to_owned()],
            event_ends: None,
        })
    };
    let run = |of: &str, prompts: [[Option<GivenAnswer>; 2]; 4]| RepeatedAnswers {
        run_id: name(of),
        cell: name("c1"),
        temperature: Some(0.0),
        repetitions: 2,
        prompts: (0_u8..).zip(prompts).map(|(n, it)| (Digest::of(&[n]), it.into())).collect(),
    };
    let old = run(
        "old-119f8a2564a2",
        [
            [answer("four"), answer("four")],
            [answer("five"), answer("five")],
            [answer("six"), answer("seven")],
            [answer("eight"), None],
        ],
    );
    let new = run(
        "new-119f8a2564a2",
        [
            [answer("four"), answer("four")],
            [answer("fire"), answer("fire")],
            [answer("six"), answer("six")],
            [answer("eight"), answer("eight")],
        ],
    );
    let names = BTreeMap::from([(Digest::of(&[1]), "line-1".to_owned())]);
    let text = [None, Some(&new)].map(|candidate| {
        let report = held(&old, candidate);
        in_each_format(|page| determinism(&report, &names, page.format))
    });
    insta::assert_snapshot!("determinism", text.join("\n\n"));
}

#[test]
fn a_calibration() {
    let spread =
        |median: f64| serde_json::json!({"median": median, "p99": 3.0 * median, "max": 9.0});
    let level = |streams: u64, lag| Level {
        row: serde_json::from_value(serde_json::json!({
            "streams": streams, "events": 1000 * streams, "arrival_error_ms": spread(0.0125),
            "send_error_ms": spread(0.02), "observer_lag_ms": lag, "cpu_us_per_event": 8.25,
            "events_per_s": 49.7 * streams as f64,
        }))
        .unwrap(),
        ttft_error_ms: serde_json::from_value(spread(0.03)).unwrap(),
        interval_error_ms: serde_json::from_value(spread(0.04)).unwrap(),
    };
    let levels =
        [level(1, serde_json::Value::Null), level(1000, spread(0.01)), level(32, spread(0.5))];
    insta::assert_snapshot!(
        "calibration",
        in_each_format(|page| calibration(&levels, page.format))
    );
}

#[test]
fn what_was_measured_and_what_was_read_are_told_alike() {
    let measured = sample();
    let shown = in_each_format(|page| record(&measured.record, &measured.dir.record(), page));
    insta::assert_snapshot!("record", shown);
}
