//! Measures a server from within another program, for whoever wants the figures and no command.
//!
//! A plan is a document, and `streamgauge run --dry-run` prints one. The requests follow from it
//! alone; the client carries it out and hands over a journal line for each request as it ends; the
//! record is a function of plan and journal. Here the server is the simulated one.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;
use std::sync::Arc;

use streamgauge_client::{Access, Collected, RunSetup, run};
use streamgauge_metrics::{RunInput, build_record};
use streamgauge_schema::{Plan, PromptSource, RunRecordV2, read_typed};
use streamgauge_sim::{SimConfig, spawn_thread};
use streamgauge_workload::{Lengths, Prompts, Requests, RequestsSpec, Schedule, SyntheticPrompts};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = spawn_thread(SimConfig::default(), ([127, 0, 0, 1], 0).into())?;
    let mut plan: Plan = read_typed(include_bytes!("run_in_process.json"))?;
    plan.target.base_url = format!("http://{}", server.addr());

    let record = measure(&plan).await?;
    println!("{} of {} requests succeeded", record.load.succeeded, record.load.offered);
    for id in ["ttft_p50_ms", "tpot_p50_ms", "completion_throughput_tps"] {
        let metric = record.metrics.iter().find(|metric| metric.id.as_str() == id);
        let value = metric.and_then(|metric| metric.value).expect("every request succeeded");
        println!("{id:26} {value:8.2}");
        // This server waits 50 ms before its first token and 10 ms before each further one.
        assert!(id != "ttft_p50_ms" || value >= 50.0);
    }
    assert_eq!(record.load.succeeded, 8);
    // The server's own account of the same run.
    assert_eq!(server.shutdown().len(), 8);
    Ok(())
}

/// Carries out a plan and makes its record, with nothing on disk.
async fn measure(plan: &Plan) -> Result<RunRecordV2, Box<dyn Error>> {
    let requests = requests_of(plan)?;
    // Sending `true` would stop the run.
    let (_stop, stopped) = tokio::sync::watch::channel(false);
    let request_of = |stage, index| requests.request(stage, index);
    let access = Access::default();
    let schedule = Schedule::new(&plan.load, None)?;
    let setup = RunSetup {
        plan,
        conditions: Vec::new(),
        schedule: &schedule,
        access: &access,
        captures: None,
        scrapes: None,
        keep_texts: false,
        so_far: None,
        start: None,
        inflight: Arc::default(),
        stop: stopped,
    };
    let (trailer, run) = run(setup, request_of, Collected::default()).await?;
    Ok(build_record(&RunInput {
        plan,
        header: &run.header.expect("a run begins with its header"),
        requests: &run.requests,
        trailer: Some(&trailer),
        grades: None,
        evidence: Vec::new(),
    })?)
}

fn requests_of(plan: &Plan) -> Result<Requests, Box<dyn Error>> {
    let PromptSource::Synthetic { words, seed, .. } = plan.workload.source else {
        return Err("this program brings no dataset".into());
    };
    let requests = Requests::new(RequestsSpec {
        dialect: plan.target.dialect,
        model: plan.target.model.clone(),
        settings: plan.request.clone(),
        prompts: Prompts::Synthetic(SyntheticPrompts::new(words, seed)?),
        target_input_tokens: plan.workload.target_input_tokens,
        lengths: Lengths::assumed(),
        suite_version: plan.workload.suite_version.clone(),
        requests: plan.load.requests,
        repetitions: plan.workload.repetitions.unwrap_or(1),
        warmup: plan.load.warmup,
    })?;
    // The plan announces the digest of the prompts, and these are the same prompts.
    assert_eq!(requests.describe(), plan.workload);
    Ok(requests)
}
