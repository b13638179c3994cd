// Invented requests and their figures, for the examples in the documentation of the catalogue.

use streamgauge_metrics::{RunCollector, RunInput, build_record};
use streamgauge_schema::{
    CheckFault, Digest, EndReason, Grade, GradeCheck, GraderIdentity, GraderName, Grades, Grading,
    JournalHeader, JournalLine, JournalTrailer, LoadShape, Observation, Plan, RequestLine,
    ScrapeLine, ServerFamily, ServerSample, Stage, Timestamp, read_typed,
};

const PLAN: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/tests/run/plan.json"));
const JOURNAL: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/tests/run/observations.jsonl"));

/// A request from 0 that succeeded, with content at these milliseconds and so many tokens.
pub fn request(outputs_ms: &[u64], tokens: u64) -> RequestLine {
    let lines = JOURNAL.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut line = lines
        .filter_map(|line| match line {
            JournalLine::Request(line) if line.stage == Stage::Measured => Some(line),
            _ => None,
        })
        .find(|line| line.observation.as_ref().is_some_and(Observation::succeeded))
        .unwrap();
    let last_us = outputs_ms.last().unwrap() * 1000;
    (line.started_us, line.last_attempt_started_us, line.elapsed_us) = (0, 0, last_us);
    (line.headers_us, line.observer_lag_us) = (Some(0), None);
    (line.output_lags_us, line.end_lag_us) = (None, None);
    let seen = line.observation.as_mut().unwrap();
    let (first, last) = (Some(outputs_ms[0] * 1000), Some(last_us));
    (seen.elapsed_us, seen.not_generated) = (last_us, Vec::new());
    (seen.output_events, seen.generated_events) =
        (outputs_ms.len() as u64, outputs_ms.len() as u64);
    (seen.first_event_us, seen.first_output_us, seen.last_output_us) = (first, first, last);
    (seen.first_generated_us, seen.last_generated_us) = (first, last);
    (seen.first_reasoning_us, seen.first_content_us, seen.first_tool_call_us) = (None, first, None);
    let gaps = outputs_ms.windows(2).map(|pair| (pair[1] - pair[0]) * 1000);
    seen.arrivals_us = first.into_iter().chain(gaps).collect();
    let usage = seen.usage.as_mut().unwrap();
    (usage.prompt_tokens, usage.completion_tokens) = (Some(512), Some(tokens));
    *line
}

/// The value of a metric in the record of these requests of a closed loop.
pub fn figure(id: &str, requests: &[RequestLine]) -> Option<f64> {
    figure_where(id, requests, |_| {})
}

/// The value of a metric in the record of these requests, where the plan says something else.
#[allow(dead_code, reason = "not every example needs another plan")]
pub fn figure_where(
    id: &str,
    requests: &[RequestLine],
    says: impl FnOnce(&mut Plan),
) -> Option<f64> {
    value(id, &numbered(requests), None, says)
}

/// The same, with graders that passed these answers and not the others.
#[allow(dead_code, reason = "not every example grades")]
pub fn graded_figure(id: &str, requests: &[RequestLine], passed: &[bool]) -> Option<f64> {
    let grader = GraderIdentity { name: GraderName::Numeric, sha256: Digest::of(b"numeric") };
    let lines = numbered(requests);
    let receipts = lines.iter().zip(passed).map(|(line, passed)| Grade {
        prompt_sha256: line.prompt_sha256,
        grader: grader.name,
        grader_sha256: grader.sha256,
        passed: *passed,
        untruncated_final: true,
        checks: vec![GradeCheck {
            name: "number".into(),
            fault: (!passed).then_some(CheckFault::Differs),
        }],
        words: None,
        fenced_would_pass: None,
    });
    let receipts = receipts.collect();
    let grading = Grading { expectations_sha256: Digest::of(b"file"), graders: vec![grader] };
    value(id, &lines, Some(&Grades { grades_version: 1, grading, receipts }), |_| {})
}

/// The value of a metric in the record of these requests, where the server was asked for its own metrics
/// before them, each second while they were under way, and after them. Answers are written as "running 2
/// waiting 1 cache 0.5 length 2.5 drafts 9 accepted 7 output 64 prompt 512", or as a part of that.
#[allow(dead_code, reason = "not every example asks the server")]
pub fn server_figure(id: &str, requests: &[RequestLine], told: &[&str]) -> Option<f64> {
    let second = 1_000_000;
    let mut lines = numbered(requests);
    for line in &mut lines {
        (line.started_us, line.last_attempt_started_us) = (second, second);
    }
    let end_us = lines.iter().map(|line| second + line.elapsed_us).max().unwrap();
    let plan = plan_of(&lines, |plan| plan.instrument.server_metrics = Some("/metrics".into()));
    let header = header_of(&plan);
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(0),
        lines: lines.len() as u64,
        listed_models: None,
    };
    let mut run = RunCollector::new(&plan, &header).unwrap();
    lines.iter().for_each(|line| run.add(line).unwrap());
    for (place, told_then) in told.iter().enumerate() {
        let is_last = place + 1 == told.len();
        let at_us = if is_last { end_us } else { place as u64 * second };
        run.add_scrape(&scrape(at_us, told_then)).unwrap();
    }
    let record = run.close(Some(&trailer)).unwrap().into_record(Vec::new()).unwrap();
    record.metrics.into_iter().find(|metric| metric.id.as_str() == id).unwrap().value
}

fn scrape(at_us: u64, told: &str) -> ScrapeLine {
    let sample = |pair: &[&str]| {
        let family = match pair[0] {
            "accepted" => ServerFamily::VllmSpecAccepted,
            "cache" => ServerFamily::VllmKvCacheUsage,
            "drafts" => ServerFamily::VllmSpecDraft,
            "length" => ServerFamily::SglangSpecAcceptLength,
            "output" => ServerFamily::VllmGenerationTokens,
            "prompt" => ServerFamily::VllmPromptTokens,
            "running" => ServerFamily::VllmRequestsRunning,
            "waiting" => ServerFamily::VllmRequestsWaiting,
            other => panic!("{other}"),
        };
        ServerSample { family, series: "0".into(), value: pair[1].parse().unwrap() }
    };
    let words: Vec<&str> = told.split_whitespace().collect();
    let samples = words.chunks_exact(2).map(sample).collect();
    ScrapeLine { asked_us: at_us, answered_us: at_us, failure: None, samples }
}

/// The requests, each with a place and a prompt of its own.
fn numbered(requests: &[RequestLine]) -> Vec<RequestLine> {
    let numbered = |(index, line): (u64, &RequestLine)| RequestLine {
        index,
        prompt_sha256: Digest::of(&index.to_le_bytes()),
        ..line.clone()
    };
    (0..).zip(requests).map(numbered).collect()
}

fn value(
    id: &str,
    requests: &[RequestLine],
    grades: Option<&Grades>,
    says: impl FnOnce(&mut Plan),
) -> Option<f64> {
    let plan = plan_of(requests, says);
    let header = header_of(&plan);
    let input = RunInput {
        plan: &plan,
        header: &header,
        requests,
        trailer: None,
        grades,
        evidence: Vec::new(),
    };
    let record = build_record(&input).unwrap();
    record.metrics.into_iter().find(|metric| metric.id.as_str() == id).unwrap().value
}

fn plan_of(requests: &[RequestLine], says: impl FnOnce(&mut Plan)) -> Plan {
    let mut plan: Plan = read_typed(PLAN).unwrap();
    (plan.load.requests, plan.load.warmup) = (requests.len() as u64, 0);
    plan.load.shape = LoadShape::ClosedLoop { concurrency: 1 };
    says(&mut plan);
    plan
}

fn header_of(plan: &Plan) -> JournalHeader {
    JournalHeader {
        journal_version: 1,
        plan_sha256: Digest::of_value(plan).unwrap(),
        started_at: Timestamp::from_unix_micros(0),
        started_monotonic_ns: None,
        listed_models: None,
        conditions: Vec::new(),
        shard: None,
    }
}

/// A load with due times, of which one request is under way at once.
pub fn one_at_once(plan: &mut Plan) {
    plan.load.shape = LoadShape::Trace { max_concurrency: Some(1), span_ms: 700 };
}
