//! Invented runs for tests: a plan, and requests of which only what matters is said.

use std::collections::BTreeMap;

use streamgauge_schema::{
    Arrivals, BodyKind, CacheState, CheckFault, Completion, CountScope, CountSource, Deployment,
    Dialect, Digest, Ending, EvidenceMode, Failure, FailureClass, Grade, GradeCheck,
    GraderIdentity, GraderName, Grades, Grading, Identifier, Instrumentation, JournalHeader,
    KernelStamps, LengthBasis, Limits, Load, LoadShape, Observation, Plan, PromptSource,
    PublicText, RateStage, RequestLine, RequestSettings, Route, Stage, Target, TimeBasis,
    Timestamp, TokenAccounting, Usage, UsageSources, Workload,
};

use crate::answer::is_untruncated;
use crate::measured::{Gathered, Measured};

/// A request of the closed loop that succeeded, with output events at `outputs_ms`.
pub(crate) fn succeeded(
    index: u64,
    started_ms: u64,
    outputs_ms: &[u64],
    tokens: u64,
) -> RequestLine {
    let outputs: Vec<u64> = outputs_ms.iter().map(|ms| ms * 1000).collect();
    let elapsed_us = outputs.last().copied().unwrap_or(0);
    RequestLine {
        stage: Stage::Measured,
        index,
        prompt_sha256: Digest::of(&index.to_le_bytes()),
        dataset_id: None,
        completion: Completion::Succeeded,
        failure: None,
        scheduled_us: None,
        queued_us: None,
        started_us: started_ms * 1000,
        last_attempt_started_us: started_ms * 1000,
        attempts: 1,
        retried: Vec::new(),
        headers_us: outputs.first().copied(),
        elapsed_us,
        connect_us: None,
        stale_connections: 0,
        observer_lag_us: None,
        unusable_stamps: 0,
        output_lags_us: None,
        end_lag_us: None,
        observation: Some(observation(&outputs, tokens)),
    }
}

/// A request that the server refused.
pub(crate) fn refused(index: u64, started_ms: u64, elapsed_ms: u64) -> RequestLine {
    RequestLine {
        completion: Completion::Failed,
        failure: Some(Failure { class: FailureClass::Connect, message: "refused".into() }),
        elapsed_us: elapsed_ms * 1000,
        headers_us: None,
        observation: None,
        ..succeeded(index, started_ms, &[], 0)
    }
}

/// The request with another end: both its line and its observation say so.
pub(crate) fn ended(mut line: RequestLine, elapsed_us: u64) -> RequestLine {
    line.elapsed_us = elapsed_us;
    if let Some(seen) = &mut line.observation {
        seen.elapsed_us = elapsed_us;
    }
    line
}

/// The request, ended by a time limit.
pub(crate) fn timed_out(line: RequestLine) -> RequestLine {
    let failure = Failure { class: FailureClass::IdleTimeout, message: "no bytes".into() };
    RequestLine { completion: Completion::TimedOut, failure: Some(failure), ..line }
}

/// A response that ended well after so long without any output, whatever it billed.
pub(crate) fn silent(index: u64, started_ms: u64, elapsed_ms: u64, billed: u64) -> RequestLine {
    let failure = Failure { class: FailureClass::NoOutput, message: "no output".into() };
    let line = ended(succeeded(index, started_ms, &[], billed), elapsed_ms * 1000);
    RequestLine { completion: Completion::Failed, failure: Some(failure), ..line }
}

/// What was observed of a stream with content at `outputs_us`.
pub(crate) fn observation(outputs_us: &[u64], tokens: u64) -> Observation {
    let first = outputs_us.first().copied();
    let last = outputs_us.last().copied();
    let counted = CountSource { event: outputs_us.len() as u64, scope: CountScope::Request };
    let gaps = outputs_us.windows(2).map(|pair| pair[1] - pair[0]);
    Observation {
        dialect: Dialect::OpenaiChat,
        http_status: 200,
        retry_after_s: None,
        body: BodyKind::Stream,
        ending: Some(Ending::Complete),
        done_seen: true,
        error: None,
        first_event_us: first,
        first_output_us: first,
        last_output_us: last,
        output_events: outputs_us.len() as u64,
        first_generated_us: first,
        last_generated_us: last,
        generated_events: outputs_us.len() as u64,
        first_reasoning_us: None,
        first_content_us: first,
        first_tool_call_us: None,
        arrivals_us: first.into_iter().chain(gaps).collect(),
        token_counts: None,
        chunk_intervals: None,
        whole_body_output: false,
        not_generated: Vec::new(),
        elapsed_us: last.unwrap_or(0),
        choices: 1,
        choice_timelines: Vec::new(),
        finish_reasons: vec!["stop".into()],
        usage: Some(Usage {
            prompt_tokens: Some(512),
            completion_tokens: Some(tokens),
            reasoning_tokens: None,
            cached_tokens: None,
        }),
        usage_sources: Some(UsageSources {
            prompt_tokens: Some(counted),
            completion_tokens: Some(counted),
            reasoning_tokens: None,
            cached_tokens: None,
        }),
        usage_ambiguous: false,
        usage_invalid: Vec::new(),
        returned_models: vec!["sample-model".into()],
        think_tag_in_content: false,
        think_markup_in_content: false,
        anomalies: Vec::new(),
        server_timings: BTreeMap::new(),
        bytes: 1000,
        events: outputs_us.len() as u64 + 2,
        reads: outputs_us.len() as u64 + 1,
        coalesced_reads: 0,
    }
}

/// A plan of so many requests in a closed loop.
pub(crate) fn plan(requests: u64, concurrency: u64) -> Plan {
    let text = |text: &str| PublicText::new(text).unwrap();
    let name = |name: &str| Identifier::new(name).unwrap();
    Plan {
        plan_version: 1,
        name: name("sample"),
        instrument_version: "streamgauge 0.1.0".into(),
        target: Target {
            base_url: "http://10.0.0.1:8000".into(),
            replicas: Vec::new(),
            dialect: Dialect::OpenaiChat,
            endpoint_path: "/v1/chat/completions".into(),
            model: "sample-model".into(),
            expect_model: "sample-model".into(),
            private_ca: false,
            route: Route::default(),
        },
        request: RequestSettings {
            max_tokens: 128,
            ignore_eos: false,
            temperature: Some(0.0),
            seed: None,
            header_names: vec!["x-team".into()],
            extra_body: BTreeMap::new(),
        },
        workload: Workload {
            source: PromptSource::Synthetic { words: 384, seed: 7, prefix: None, nonce: None },
            target_input_tokens: Some(512),
            suite_version: name("synthetic-words-v1"),
            suite_sha256: Digest::of(b"suite"),
            dataset_sha256: Digest::of(b"dataset"),
            repeated_prompts: 0,
            repetitions: None,
            length_basis: Some(LengthBasis::Assumed {}),
        },
        load: Load {
            cell: name("c2"),
            shape: LoadShape::ClosedLoop { concurrency },
            requests,
            duration_ms: None,
            warmup: 0,
        },
        goals: Vec::new(),
        grading: None,
        limits: Limits {
            connect_timeout_ms: 10_000,
            idle_timeout_ms: 60_000,
            timeout_ms: 600_000,
            grace_ms: 30_000,
            max_error_ratio: None,
        },
        max_failure_ratio: 0.0,
        retries: None,
        instrument: Instrumentation {
            kernel_stamps: KernelStamps::Sampled,
            time_basis: TimeBasis::Read,
            keep_arrivals: true,
            workers: 1,
            resend: true,
            calibration: None,
            server_metrics: None,
        },
        deployment: Deployment::named(name("sample-deployment"), text("Sample model"), text("c2")),
        image: None,
        evidence_mode: EvidenceMode::ActualInference,
        cache_state: CacheState::Unknown,
        token_accounting: TokenAccounting::Unknown,
        conditions: Vec::new(),
    }
}

/// A plan of so many requests at constant distances, `max_concurrency` of them under way at most.
pub(crate) fn open_loop(requests: u64, per_s: f64, max_concurrency: Option<u64>) -> Plan {
    let mut plan = plan(requests, 1);
    let stage = RateStage { from_per_s: per_s, to_per_s: per_s, duration_ms: None, requests };
    plan.load.shape = LoadShape::OpenLoop {
        arrivals: Arrivals::Constant {},
        max_concurrency,
        stages: vec![stage],
    };
    plan
}

/// The request, due so early and held back so long by the limit of requests under way.
pub(crate) fn due(line: RequestLine, scheduled_ms: u64, queued_ms: Option<u64>) -> RequestLine {
    let (scheduled_us, queued_us) = (Some(scheduled_ms * 1000), queued_ms.map(|ms| ms * 1000));
    RequestLine { scheduled_us, queued_us, ..line }
}

/// The measured part of a run whose lines are not held to anything.
pub(crate) fn measured(plan: &Plan, lines: &[RequestLine]) -> Measured {
    let mut gathered = Gathered::default();
    lines.iter().for_each(|line| gathered.push_timed(line));
    gathered.close(plan, plan.load.requests, None)
}

/// What grades answers that are to end with a number.
pub(crate) fn grading() -> Grading {
    let numeric = GraderIdentity { name: GraderName::Numeric, sha256: Digest::of(b"numeric") };
    Grading { expectations_sha256: Digest::of(b"dataset"), graders: vec![numeric] }
}

/// The receipt of a request's answer, whose only check held or did not.
pub(crate) fn receipt(line: &RequestLine, holds: bool) -> Grade {
    let seen = line.observation.as_ref();
    let untruncated = seen.is_none_or(is_untruncated);
    let GraderIdentity { name, sha256 } = grading().graders[0];
    Grade {
        prompt_sha256: line.prompt_sha256,
        grader: name,
        grader_sha256: sha256,
        passed: holds && untruncated,
        untruncated_final: untruncated,
        checks: vec![GradeCheck {
            name: "number".into(),
            fault: (!holds).then_some(CheckFault::Differs),
        }],
        words: None,
        fenced_would_pass: None,
    }
}

/// Receipts, with what gave them.
pub(crate) fn grades(receipts: Vec<Grade>) -> Grades {
    Grades { grades_version: 1, grading: grading(), receipts }
}

/// The journal header of a run of `plan`.
pub(crate) fn header(plan: &Plan) -> JournalHeader {
    JournalHeader {
        journal_version: 1,
        plan_sha256: Digest::of_value(plan).unwrap(),
        started_at: Timestamp::from_unix_micros(1_790_000_000_000_000),
        started_monotonic_ns: None,
        listed_models: None,
        conditions: Vec::new(),
        shard: None,
    }
}
