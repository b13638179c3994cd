//! Records of small invented runs.

mod arrivals;
mod clocks;
mod conditions;
mod goals;
mod graded;
mod journal;
mod limitations;
mod loads;
mod numbers;
mod pauses;
mod replicas;
mod shards;
mod turnovers;

use proptest::prelude::*;
use streamgauge_schema::{
    Anomaly, AnomalyKind, CaseOutcome, Completion, Condition, Document, EndReason, EvidenceMode,
    FailureClass, FailureStage, Metric, Observation, PromptSource, RunRecord, Spread, Stage,
};

use super::*;
use crate::sample_run::{
    due, header, observation, open_loop, plan, refused, silent, succeeded, timed_out,
};
use crate::verify::verify;

/// A plan with its journal.
struct Run {
    plan: Plan,
    lines: Vec<RequestLine>,
    ended: bool,
}

impl Run {
    /// Two clients: one long request, two short ones after each other.
    fn of_three() -> Self {
        let lines = vec![
            succeeded(0, 100, &[200, 300, 400, 1000], 10),
            succeeded(1, 110, &[90, 190], 5),
            succeeded(2, 310, &[110, 210], 7),
        ];
        Self { plan: plan(3, 2), lines, ended: true }
    }

    fn build(&self) -> Result<RunRecordV2, RecordError> {
        self.graded(None)
    }

    fn graded(&self, grades: Option<&Grades>) -> Result<RunRecordV2, RecordError> {
        let header = header(&self.plan);
        let load = &self.plan.load;
        let finished =
            self.lines.len() as u64 == load.requests + load.warmup || load.duration_ms.is_some();
        let trailer = self.ended.then(|| JournalTrailer {
            reason: if finished { EndReason::Finished } else { EndReason::Interrupted },
            completed_at: Timestamp::from_unix_micros(1_790_000_009_000_000),
            lines: self.lines.len() as u64,
            listed_models: None,
        });
        build_record(&RunInput {
            plan: &self.plan,
            header: &header,
            requests: &self.lines,
            trailer: trailer.as_ref(),
            grades,
            evidence: Vec::new(),
        })
    }

    fn record(&self) -> RunRecordV2 {
        self.build().unwrap()
    }
}

fn bytes(record: &RunRecordV2) -> Vec<u8> {
    Document::Run(RunRecord::V2(Box::new(record.clone()))).file_bytes().unwrap()
}

fn metric<'a>(record: &'a RunRecordV2, id: &str) -> &'a Metric {
    record.metrics.iter().find(|metric| metric.id.as_str() == id).unwrap()
}

fn says(record: &RunRecordV2, part: &str) -> bool {
    record.limitations.iter().any(|limitation| limitation.as_str().contains(part))
}

fn condition<'a>(record: &'a RunRecordV2, label: &str) -> Option<&'a str> {
    let found = record.conditions.iter().find(|condition| condition.label.as_str() == label)?;
    Some(found.value.as_str())
}

/// Reads a record back, and holds it to every rule that it determines itself.
fn assert_sound(record: &RunRecordV2) {
    let document = Document::read(&bytes(record)).unwrap();
    assert_eq!(document, Document::Run(RunRecord::V2(Box::new(record.clone()))));
    assert_keeps_all_rules(&document);
}

fn assert_keeps_all_rules(document: &Document) {
    let verification = verify(document);
    let broken: Vec<&str> =
        verification.broken().map(|finding| finding.statement.as_str()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_whole_run() {
    let record = Run::of_three().record();
    assert_sound(&record);
    assert_eq!(record.status, RunStatus::Completed);
    assert!(record.run_id.as_str().starts_with("sample-"));
    assert_eq!(record.run_id.as_str().len(), "sample-".len() + RUN_ID_DIGITS);
    assert_eq!(record.completed_at.unix_micros(), 1_790_000_009_000_000);
    let load = &record.load;
    assert_eq!((load.offered, load.succeeded, load.performance_eligible), (3, 3, true));
    assert_eq!(record.performance.observed_peak_inflight, Some(2));
    assert_eq!(record.performance.actual_input_tokens_min, Some(512));

    let cases = [
        ("completion_throughput_tps", 22.0, 3),
        ("first_generated_median_ms", 110.0, 3),
        ("first_final_content_median_ms", 110.0, 3),
        ("completion_median_ms", 210.0, 3),
        ("stream_chunk_interval_median_ms", 100.0, 5),
        ("batch_duration_seconds", 1.0, 1),
        ("request_throughput_per_s", 3.0, 3),
        ("ttft_mean_ms", 400.0 / 3.0, 3),
        ("tpot_p50_ms", 25.0, 3),
        ("decode_rate_p50_tok_per_s", 40.0, 3),
        ("chunk_interval_p99_ms", 100.0 + 0.96 * 500.0, 5),
    ];
    for (id, value, samples) in cases {
        let found = metric(&record, id);
        let off = (found.value.unwrap() - value).abs();
        assert!(off < 1e-9, "{id}: {:?} instead of {value}", found.value);
        assert_eq!(found.samples, samples, "{id}");
    }
    let whole = record.windows.whole.unwrap();
    assert_eq!((whole.from_ms.value(), whole.to_ms.value()), (100.0, 1100.0));
    assert_eq!(whole.mean_inflight, 1.4);
    assert_eq!(record.windows.steady, None);

    let cases = record.cases.unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case.case_id.as_str()).collect();
    assert_eq!(names, ["request-01", "request-02", "request-03"]);
    assert_eq!(cases[0].title.as_str(), "Synthetic request 01");
    assert!(cases.iter().all(|case| case.outcome == CaseOutcome::Unverified));
}

#[test]
fn what_became_of_requests() {
    let mut run = Run::of_three();
    run.plan = plan(7, 2);
    run.plan.load.warmup = 1;
    run.plan.max_failure_ratio = 0.5;
    run.plan.workload.source = PromptSource::Dataset {
        path: "/data/private.jsonl".into(),
        records: 7,
        repeat: false,
        nonce: Some(3),
    };
    run.lines[1] = refused(1, 110, 4);
    run.lines.push(RequestLine { completion: Completion::Cancelled, ..run.lines[2].clone() });
    run.lines[2] = timed_out(run.lines[2].clone());
    run.lines[3].index = 4;
    run.lines.push(RequestLine { stage: Stage::Warmup, ..succeeded(0, 0, &[50, 60], 3) });
    run.ended = false;
    let record = run.record();
    assert_sound(&record);
    assert_eq!(record.status, RunStatus::Aborted);
    // The last line ends 1.1 s after the start.
    assert_eq!(record.completed_at.unix_micros(), 1_790_000_001_100_000);
    let load = &record.load;
    let parts = [load.succeeded, load.failed, load.timed_out, load.cancelled, load.not_sent];
    assert_eq!((load.offered, parts, load.warmup), (7, [1, 1, 1, 1, 3], 1));
    assert!(!load.performance_eligible);
    assert_eq!(record.performance.observed_peak_inflight, None);

    let cases = record.cases.as_ref().unwrap();
    let found: Vec<_> = cases.iter().map(|case| (case.outcome, &case.failure_stage)).collect();
    let not_run = (CaseOutcome::NotRun, &None);
    assert_eq!(
        found,
        [
            (CaseOutcome::Unverified, &None),
            (CaseOutcome::Error, &Some(FailureStage::Transport)),
            (CaseOutcome::Timeout, &Some(FailureStage::Deadline)),
            not_run,
            not_run,
            not_run,
            not_run,
        ]
    );
    assert!(cases.iter().all(|case| case.primary_outcome == CaseOutcome::Unverified));
    assert_eq!(cases[3].duration_ms, None);
    assert_eq!(cases[0].title.as_str(), "Dataset request 01");
    assert_eq!(record.counts.outcomes[&CaseOutcome::NotRun], 4);
    assert_eq!(metric(&record, "ttft_p50_ms").samples, 1);
    assert!(says(
        &record,
        "did not succeed: 6 of 7 (50 percent may fail); no gate on the figures passes"
    ));
    assert!(says(&record, "Requests cut under way: 1; never sent or lost under way: 3"));
}

#[test]
fn eligibility() {
    let cases = [(0.0, 1, false), (0.3, 1, false), (0.34, 1, true), (0.34, 0, true)];
    for (max_failure_ratio, failures, eligible) in cases {
        let mut run = Run::of_three();
        run.plan.max_failure_ratio = max_failure_ratio;
        if failures == 1 {
            run.lines[1] = refused(1, 110, 4);
        }
        let record = run.record();
        assert_eq!(record.load.performance_eligible, eligible, "{max_failure_ratio} {failures}");
        assert_eq!(record.status, RunStatus::Completed);
    }
}

#[test]
fn nothing_was_sent() {
    let run = Run { plan: plan(2, 1), lines: Vec::new(), ended: true };
    let record = run.record();
    assert_sound(&record);
    assert_eq!(record.status, RunStatus::Aborted);
    assert_eq!(record.windows.whole, None);
    assert!(record.metrics.iter().all(|metric| metric.value.is_none() && metric.samples == 0));
    assert!(!record.load.performance_eligible);
}

#[test]
fn a_steady_window_of_a_long_run() {
    let lines = (0..20).map(|n| succeeded(n, 100 * n, &[100, 200], 2)).collect();
    let record = Run { plan: plan(20, 2), lines, ended: true }.record();
    assert_sound(&record);
    let steady = record.windows.steady.unwrap();
    assert_eq!((steady.from_ms.value(), steady.to_ms.value()), (100.0, 1900.0));
    assert_eq!(steady.mean_inflight, 2.0);
}

#[test]
fn the_instrument_reports_itself() {
    let mut run = Run::of_three();
    run.lines[0].observer_lag_us = Some(vec![100, 300, 200]);
    run.lines[0].attempts = 2;
    run.lines[1].stale_connections = 3;
    run.lines[1].observation.as_mut().unwrap().coalesced_reads = 1;
    run.plan.load.warmup = 1;
    run.lines.push(RequestLine {
        stage: Stage::Warmup,
        observer_lag_us: Some(vec![900_000]),
        ..succeeded(0, 0, &[50, 60], 3)
    });
    let record = run.record();
    assert_sound(&record);
    let instrument = &record.instrument;
    let spread = Spread { median: 0.2, p99: 0.298, max: 0.3 };
    assert_eq!(instrument.observer_lag_ms, Some(spread));
    assert_eq!(instrument.dispatch_lateness_ms, None);
    let counts = [instrument.reads, instrument.coalesced_reads, instrument.stale_connections];
    assert_eq!((counts, instrument.resends), ([11, 1, 3], 1));
    assert!(instrument.client_limited.is_empty());
    assert!(!says(&record, "lag was not measured"));
    assert!(says(&record, "completed more than one event: 1 of 11"));
    assert!(says(&record, "found closed: 1;"));
}

#[test]
fn metrics_that_the_client_may_have_bent() {
    // Beyond 1 ms and beyond 1 percent of a latency: TTFT is 110 ms, TPOT 25 ms, E2E 210 ms.
    let cases = [
        (1_000, "tpot_p50_ms", false),
        (1_001, "tpot_p50_ms", true),
        (1_100, "ttft_p50_ms", false),
        (1_101, "ttft_p50_ms", true),
        (2_100, "e2e_p50_ms", false),
        (2_101, "e2e_p50_ms", true),
        (9_000, "decode_rate_p50_tok_per_s", false),
        (9_000, "batch_duration_seconds", false),
    ];
    for (lag_us, id, limited) in cases {
        let mut run = Run::of_three();
        run.lines[0].observer_lag_us = Some(vec![lag_us]);
        let record = run.record();
        let listed = record.instrument.client_limited.iter().any(|listed| listed.as_str() == id);
        assert_eq!(listed, limited, "{id} at {lag_us} us");
        assert_eq!(says(&record, "may have bent"), lag_us > 1_000);
    }
}

#[test]
fn lateness_of_a_schedule() {
    let run = Run { plan: open_loop(3, 10.0, Some(2)), ..Run::of_three() };
    let lines = run.lines.into_iter().zip([(95, 0), (95, 10), (245, 60)]);
    let lines = lines.map(|(line, (at, queued))| due(line, at, Some(queued))).collect();
    let record = Run { lines, ..run }.record();
    assert_sound(&record);
    // Only what the limit is not the reason of is the client's.
    let spread = Spread { median: 5.0, p99: 5.0, max: 5.0 };
    assert_eq!(record.instrument.dispatch_lateness_ms, Some(spread));
    assert!(!record.instrument.client_limited.is_empty());
}

#[test]
fn conditions_hold_nothing_private() {
    let mut run = Run::of_three();
    run.plan.image = Some(text("registry.example/server@sha256:0c06").unwrap());
    run.plan.target.expect_model = "/srv/models/secret".into();
    run.plan.request.extra_body =
        [("user".to_owned(), streamgauge_schema::Json::String("someone".into()))].into();
    run.plan.conditions =
        vec![Condition { label: text("Layout").unwrap(), value: text("TP4").unwrap() }];
    let record = run.record();
    let cases = [
        ("Expected model", Some("Withheld: a published text holds no file paths")),
        ("Models returned", Some("sample-model")),
        ("Input preparation", Some("Unique synthetic prompts of 384 words, seed 7")),
        ("Load shape", Some("Closed loop, concurrency 2; 3 requests after 0 of warm-up")),
        ("Runtime image", Some("registry.example/server@sha256:0c06")),
        ("Layout", Some("TP4")),
        ("TLS trust", None),
    ];
    for (label, value) in cases {
        assert_eq!(condition(&record, label), value, "{label}");
    }
    let text = String::from_utf8(bytes(&record)).unwrap();
    for private in ["10.0.0.1", "/srv/", "someone", "x-team", "/v1/chat"] {
        assert!(!text.contains(private), "{private}");
    }
}

#[test]
fn names_must_leave_room_for_the_digest() {
    let mut run = Run::of_three();
    run.plan.name = Identifier::new("n".repeat(107)).unwrap();
    assert_eq!(run.record().run_id.as_str().len(), 120);
    run.plan.name = Identifier::new("n".repeat(108)).unwrap();
    assert!(matches!(run.build(), Err(RecordError::NameTooLong { .. })));
}

#[test]
fn many_cases_stand_in_a_file() {
    let mut run = Run::of_three();
    run.plan = plan(10_001, 2);
    let record = run.record();
    assert_sound(&record);
    assert_eq!(record.cases, None);
    assert_eq!(record.counts.declared, 10_001);
    assert_eq!(to_v1(&record), Err(RecordError::CasesApart { declared: 10_001 }));
}

#[test]
fn version_1_has_the_seven_and_an_id_of_its_own() {
    let record = Run::of_three().record();
    let old = to_v1(&record).unwrap();
    assert_eq!(old.metrics.len(), 7);
    assert_ne!(old.run_id, record.run_id);
    let document = Document::Run(RunRecord::V1(Box::new(old)));
    assert_eq!(Document::read(&document.file_bytes().unwrap()).unwrap(), document);
    assert_keeps_all_rules(&document);
}

#[test]
fn the_clock_on_the_wall_may_have_been_set_back() {
    let mut run = Run::of_three();
    run.lines[2].started_us = 20_000_000;
    run.lines[2].last_attempt_started_us = 20_000_000;
    let record = run.record();
    assert_sound(&record);
    assert_eq!(record.completed_at.unix_micros(), 1_790_000_020_210_000);
}

#[test]
fn stages_of_failures() {
    let mut run = Run::of_three();
    run.lines[0] = refused(0, 100, 4);
    run.lines[1] = timed_out(refused(1, 110, 4));
    run.lines[2] = silent(2, 310, 210, 7);
    let cases = run.record().cases.unwrap();
    let stages: Vec<_> = cases.into_iter().map(|case| case.failure_stage).collect();
    let expected = [FailureStage::Transport, FailureStage::Deadline, FailureStage::Stream];
    assert_eq!(stages, expected.map(Some));
}

/// Requests with any stamps that an observer may give.
fn any_lines() -> impl Strategy<Value = Vec<RequestLine>> {
    let gaps = prop::collection::vec(0_u64..5_000, 0..12);
    let request = (0_u64..10_000, gaps, 0_u64..300, 0_u8..6);
    prop::collection::vec(request, 0..30).prop_map(|requests| {
        let line = |(index, (started_ms, gaps, tokens, fate))| {
            let mut outputs = Vec::new();
            let mut at = 0;
            for gap in gaps {
                at += gap;
                outputs.push(at);
            }
            let index = index as u64;
            match fate {
                0 => refused(index, started_ms, tokens),
                1 => timed_out(succeeded(index, started_ms, &outputs, tokens)),
                _ if outputs.is_empty() => silent(index, started_ms, tokens, tokens),
                _ => succeeded(index, started_ms, &outputs, tokens),
            }
        };
        requests.into_iter().enumerate().map(line).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_journal_gives_a_sound_record_whatever_its_order(
        lines in any_lines(),
        unsent in 0_u64..3,
        turn in 0_usize..30,
    ) {
        let requests = lines.len() as u64 + unsent;
        let mut run = Run { plan: plan(requests, 30), lines, ended: true };
        let record = run.record();
        assert_sound(&record);
        let turn = turn % run.lines.len().max(1);
        run.lines.rotate_left(turn);
        run.lines.reverse();
        prop_assert_eq!(bytes(&run.record()), bytes(&record));
    }
}
