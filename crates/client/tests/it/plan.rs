//! Plans and runs for the tests.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use streamgauge_client::{Access, Collected, RunError, RunSetup, run};
use streamgauge_schema::{
    CacheState, Deployment, Dialect, Digest, EvidenceMode, Identifier, Instrumentation,
    JournalTrailer, KernelStamps, Limits, Load, LoadShape, Plan, PromptSource, PublicText, Request,
    RequestLine, RequestSettings, Route, Stage, Target, TimeBasis, TokenAccounting, Workload,
};
use streamgauge_workload::Schedule;
use tokio::sync::watch;

/// A plan of so many requests, so many at once.
pub(crate) fn plan(base_url: &str, requests: u64, concurrency: u64) -> Plan {
    let name = Identifier::new("test").unwrap();
    let text = |text: &str| PublicText::new(text).unwrap();
    Plan {
        plan_version: 1,
        name: name.clone(),
        instrument_version: "0".to_owned(),
        target: Target {
            base_url: base_url.to_owned(),
            replicas: Vec::new(),
            dialect: Dialect::OpenaiChat,
            endpoint_path: "/v1/chat/completions".to_owned(),
            model: "sim-model".to_owned(),
            expect_model: "sim-model".to_owned(),
            private_ca: false,
            route: Route::default(),
        },
        request: RequestSettings {
            max_tokens: 4,
            ignore_eos: false,
            temperature: None,
            seed: None,
            header_names: Vec::new(),
            extra_body: BTreeMap::new(),
        },
        workload: Workload {
            source: PromptSource::Synthetic { words: 20, seed: 0, prefix: None, nonce: None },
            target_input_tokens: None,
            suite_version: name.clone(),
            suite_sha256: Digest::of(b""),
            dataset_sha256: Digest::of(b""),
            repeated_prompts: 0,
            repetitions: None,
            length_basis: None,
        },
        load: Load {
            cell: name.clone(),
            shape: LoadShape::ClosedLoop { concurrency },
            requests,
            duration_ms: None,
            warmup: 0,
        },
        goals: Vec::new(),
        grading: None,
        limits: Limits {
            connect_timeout_ms: 5_000,
            idle_timeout_ms: 5_000,
            timeout_ms: 30_000,
            grace_ms: 5_000,
            max_error_ratio: None,
        },
        max_failure_ratio: 0.0,
        retries: None,
        instrument: Instrumentation {
            kernel_stamps: KernelStamps::Off,
            time_basis: TimeBasis::Read,
            keep_arrivals: true,
            workers: 1,
            resend: true,
            calibration: None,
            server_metrics: None,
        },
        deployment: Deployment::named(name, text("sim-model"), text("test")),
        image: None,
        evidence_mode: EvidenceMode::Simulated,
        cache_state: CacheState::Unknown,
        token_accounting: TokenAccounting::Unknown,
        conditions: Vec::new(),
    }
}

/// A small request with usage; `extra` is added to the body, as `,"member":value`.
pub(crate) fn request(stage: Stage, index: u64, extra: &str) -> Request {
    let body = format!(
        r#"{{"model":"sim-model","stream":true,"stream_options":{{"include_usage":true}},"max_tokens":4,"messages":[{{"role":"user","content":"{stage} {index}"}}]{extra}}}"#
    );
    Request {
        index,
        prompt_sha256: Digest::of(body.as_bytes()),
        dataset_id: None,
        body: body.into_bytes(),
    }
}

/// A run that keeps no captures.
pub(crate) fn setup<'a>(
    plan: &'a Plan,
    schedule: &'a Schedule,
    access: &'a Access,
    stop: watch::Receiver<bool>,
) -> RunSetup<'a> {
    RunSetup {
        plan,
        conditions: Vec::new(),
        schedule,
        access,
        captures: None,
        scrapes: None,
        keep_texts: false,
        so_far: None,
        start: None,
        inflight: Arc::default(),
        stop,
    }
}

/// The schedule of a plan that is no trace.
pub(crate) fn schedule(plan: &Plan) -> Schedule {
    Schedule::new(&plan.load, None).unwrap()
}

/// A receiver that never turns true.
pub(crate) fn never_stopped() -> watch::Receiver<bool> {
    watch::channel(false).1
}

/// Carries out a plan and returns its request lines, by index, and its trailer.
pub(crate) async fn lines(plan: &Plan) -> (Vec<RequestLine>, JournalTrailer) {
    lines_with(plan, &Access::default(), |stage, index| request(stage, index, "")).await
}

/// As [`lines`], with access and requests of one's own.
pub(crate) async fn lines_with(
    plan: &Plan,
    access: &Access,
    request_of: impl Fn(Stage, u64) -> Request,
) -> (Vec<RequestLine>, JournalTrailer) {
    carry_out(plan, &schedule(plan), access, request_of).await.unwrap()
}

/// As [`lines_with`], with a schedule of one's own, and what keeps a run from being carried out.
pub(crate) async fn carry_out(
    plan: &Plan,
    schedule: &Schedule,
    access: &Access,
    request_of: impl Fn(Stage, u64) -> Request,
) -> Result<(Vec<RequestLine>, JournalTrailer), RunError<Infallible>> {
    let setup = setup(plan, schedule, access, never_stopped());
    let (trailer, run) = run(setup, request_of, Collected::default()).await?;
    let mut lines = run.requests;
    lines.sort_by_key(|line| (line.stage, line.index));
    Ok((lines, trailer))
}
