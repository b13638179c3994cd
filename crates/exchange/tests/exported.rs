//! Records under vLLM's keys.

#![expect(clippy::unwrap_used, reason = "helpers of tests, for which a panic is the report")]

use std::path::Path;

use serde_json::{Value, json};
use streamgauge_exchange::{
    ExportError, ImportOptions, OutputEdges, SourceFile, Tool, import, vllm_result,
};
use streamgauge_metrics::RunInput;
use streamgauge_metrics::build_record;
use streamgauge_schema::{
    Arrivals, Completion, Identifier, JournalHeader, JournalLine, JournalTrailer, LoadShape, Plan,
    RateStage, RequestLine, RunRecordV2, Stage, Timestamp, read_typed,
};

/// The sample run of the schema, in parts that can be changed.
struct Run {
    plan: Plan,
    header: JournalHeader,
    requests: Vec<RequestLine>,
    trailer: JournalTrailer,
}

fn run() -> Run {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/tests/run");
    let plan = read_typed(&std::fs::read(folder.join("plan.json")).unwrap()).unwrap();
    let journal = std::fs::read_to_string(folder.join("observations.jsonl")).unwrap();
    let (mut header, mut requests, mut trailer) = (None, Vec::new(), None);
    for line in journal.lines() {
        match serde_json::from_str(line).unwrap() {
            JournalLine::Header(line) => header = Some(line),
            JournalLine::Request(line) => requests.push(*line),
            JournalLine::Begun(_) => panic!("the run is whole"),
            JournalLine::Resumed(_) => panic!("the run was not taken up"),
            JournalLine::Trailer(line) => trailer = Some(line),
        }
    }
    Run { plan, header: header.unwrap(), requests, trailer: trailer.unwrap() }
}

impl Run {
    fn record(&self) -> RunRecordV2 {
        let Self { plan, header, requests, trailer } = self;
        let evidence = Vec::new();
        let trailer = Some(trailer);
        build_record(&RunInput { plan, header, requests, trailer, grades: None, evidence }).unwrap()
    }

    fn edges(&self) -> OutputEdges {
        let mut edges = OutputEdges::default();
        self.requests.iter().for_each(|line| edges.add(line));
        edges
    }

    fn succeeded(&mut self) -> impl Iterator<Item = &mut RequestLine> {
        let is_it = |line: &&mut RequestLine| {
            line.stage == Stage::Measured && line.completion == Completion::Succeeded
        };
        self.requests.iter_mut().filter(is_it)
    }

    /// The keys of a file, and those that were left out with their reasons.
    fn exported(&self) -> (Value, Vec<(&'static str, String)>) {
        let result =
            vllm_result(&self.record(), Some(&self.edges()), Some(&self.plan.load.shape)).unwrap();
        let left_out = result.left_out.into_iter().map(|out| (out.keys, out.reason));
        (serde_json::from_slice(&result.bytes).unwrap(), left_out.collect())
    }
}

fn reason<'a>(left_out: &'a [(&'static str, String)], keys: &str) -> Option<&'a str> {
    left_out.iter().find(|(out, _)| out.contains(keys)).map(|(_, reason)| reason.as_str())
}

fn figure(record: &RunRecordV2, id: &str) -> Option<f64> {
    record.metrics.iter().find(|metric| metric.id.as_str() == id).unwrap().value
}

/// Every event has output, and the stream ends with the last one.
fn seamless() -> Run {
    let mut run = run();
    for line in run.succeeded() {
        let seen = line.observation.as_mut().unwrap();
        seen.first_event_us = seen.first_output_us;
        line.elapsed_us = seen.last_output_us.unwrap();
        seen.elapsed_us = line.elapsed_us;
    }
    run
}

#[test]
fn where_the_definitions_meet_the_figures_are_ours() {
    let run = seamless();
    let record = run.record();
    let (file, left_out) = run.exported();
    for (key, id) in [
        ("mean_ttft_ms", "ttft_mean_ms"),
        ("median_ttft_ms", "ttft_p50_ms"),
        ("p99_tpot_ms", "tpot_p99_ms"),
        ("median_e2el_ms", "e2e_p50_ms"),
        ("mean_itl_ms", "chunk_interval_mean_ms"),
        ("duration", "batch_duration_seconds"),
        ("request_throughput", "request_throughput_per_s"),
    ] {
        assert_eq!(file[key].as_f64(), figure(&record, id), "{key}");
        assert!(file[key].is_number(), "{key} is {}", file[key]);
    }
    for keys in ["*_ttft_ms", "*_tpot_ms", "*_e2el_ms"] {
        assert_eq!(reason(&left_out, keys), None, "{keys}");
    }
    // NumPy divides by the number.
    let ttft_ms: Vec<f64> = run
        .requests
        .iter()
        .filter(|line| line.stage == Stage::Measured && line.completion == Completion::Succeeded)
        .map(|line| line.observation.as_ref().unwrap().first_output_us.unwrap() as f64 / 1e3)
        .collect();
    let mean = ttft_ms.iter().sum::<f64>() / ttft_ms.len() as f64;
    let squares: f64 = ttft_ms.iter().map(|ms| (ms - mean).powi(2)).sum();
    let expected = (squares / ttft_ms.len() as f64).sqrt();
    assert!((file["std_ttft_ms"].as_f64().unwrap() - expected).abs() < 1e-9);
}

#[test]
fn an_event_that_moves_a_figure_takes_its_key_out() {
    let mut run = seamless();
    let line = run.succeeded().next().unwrap();
    let seen = line.observation.as_mut().unwrap();
    // A role alone, long before the first text.
    seen.first_event_us = Some(1_000);
    let (file, left_out) = run.exported();
    assert!(file["mean_ttft_ms"].is_null() && file["p99_ttft_ms"].is_null());
    let said = reason(&left_out, "*_ttft_ms").unwrap();
    assert!(said.starts_with("in 1 of ") && said.contains("from which vLLM counts"), "{said}");
    assert!(file["median_e2el_ms"].is_number());

    let mut run = seamless();
    let line = run.succeeded().next().unwrap();
    line.elapsed_us += 500_000;
    line.observation.as_mut().unwrap().elapsed_us = line.elapsed_us;
    let (file, left_out) = run.exported();
    assert!(file["median_e2el_ms"].is_null() && file["mean_ttft_ms"].is_number());
    assert!(reason(&left_out, "*_e2el_ms").unwrap().contains("to the last event with a choice"));
    assert!(reason(&left_out, "*_tpot_ms").is_some());
}

/// `evalscope#1101`: two tools give clearly different numbers for the same server. From the same raw
/// data the command says ours, what vLLM's client would have said, and why they part.
#[test]
fn where_two_tools_part_both_figures_are_said() {
    let mut run = seamless();
    let record = run.record();
    for line in run.succeeded() {
        let seen = line.observation.as_mut().unwrap();
        // A role alone 5 ms after the start, the first text 214 ms after it.
        (seen.first_event_us, seen.first_output_us) = (Some(5_000), Some(214_000));
        (seen.last_output_us, seen.elapsed_us) = (Some(914_000), 1_000_000);
    }
    let left_out = vllm_result(&record, Some(&run.edges()), None).unwrap().left_out;
    let reason = |keys| left_out.iter().find(|out| out.keys == keys).unwrap().reason.as_str();
    let said = reason("*_ttft_ms");
    assert!(said.ends_with("a median of 5.0 ms there, 214.0 here"), "{said}");
    let said = reason("*_e2el_ms");
    assert!(said.ends_with("a median between 914.0 and 1000.0 ms there, 1000.0 here"), "{said}");
}

#[test]
fn failed_requests_take_the_tokens_out() {
    let run = run();
    let record = run.record();
    assert!(record.load.succeeded < record.load.offered, "the sample has requests that failed");
    let (file, left_out) = run.exported();
    assert!(file["total_output_tokens"].is_null() && file["output_throughput"].is_null());
    assert!(reason(&left_out, "output_throughput").unwrap().contains("requests did not succeed"));
    assert_eq!(file["completed"].as_u64(), Some(record.load.succeeded));
}

#[test]
fn a_record_alone_says_less() {
    let run = seamless();
    let result = vllm_result(&run.record(), None, None).unwrap();
    let file: Value = serde_json::from_slice(&result.bytes).unwrap();
    assert!(file["mean_ttft_ms"].is_null() && file["mean_itl_ms"].is_number());
    let said: Vec<&str> = result.left_out.iter().map(|out| out.reason.as_str()).collect();
    assert!(said.iter().any(|reason| reason.contains("name the run directory")));
}

#[test]
fn a_load_of_one_rate_is_told_as_vllm_does() {
    let stage =
        |from_per_s, to_per_s| RateStage { from_per_s, to_per_s, duration_ms: None, requests: 3 };
    let open = |arrivals, max_concurrency, stages| LoadShape::OpenLoop {
        arrivals,
        max_concurrency,
        stages,
    };
    let poisson = Arrivals::Poisson { seed: 0 };
    let gamma = Arrivals::Gamma { burstiness: 0.5, seed: 0 };
    let closed = LoadShape::ClosedLoop { concurrency: 2 };
    let keys = ["request_rate", "max_concurrency", "burstiness"];
    let mut run = seamless();
    for (shape, expected, why) in [
        (closed, json!(["inf", 2, null]), None),
        (open(poisson, None, vec![stage(2.5, 2.5)]), json!([2.5, null, 1.0]), None),
        (open(gamma, Some(8), vec![stage(2.0, 2.0)]), json!([2.0, 8, 0.5]), None),
        (open(Arrivals::Constant {}, None, vec![stage(2.0, 2.0)]), json!([2.0, null, null]), None),
        (
            open(poisson, Some(8), vec![stage(1.0, 2.0)]),
            json!([null, null, null]),
            Some("changed with time"),
        ),
        (
            open(poisson, Some(8), vec![stage(1.0, 1.0), stage(2.0, 2.0)]),
            json!([null, null, null]),
            Some("changed with time"),
        ),
        (
            LoadShape::Trace { max_concurrency: Some(8), span_ms: 9 },
            json!([null, null, null]),
            Some("times of their own"),
        ),
    ] {
        run.plan.load.shape = shape;
        let mut record = seamless().record();
        record.load.shape = Identifier::new(run.plan.load.shape.name()).unwrap();
        let result = vllm_result(&record, None, Some(&run.plan.load.shape)).unwrap();
        let file: Value = serde_json::from_slice(&result.bytes).unwrap();
        assert_eq!(json!(keys.map(|key| &file[key])), expected, "{:?}", run.plan.load.shape);
        let said = result.left_out.iter().find(|out| out.keys.starts_with("request_rate"));
        match why {
            Some(why) => assert!(said.unwrap().reason.contains(why), "{said:?}"),
            None => assert_eq!(said, None),
        }
    }
}

#[test]
fn vllms_own_files_come_back_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let record = |tool: Tool, name: &str| {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let modified = Timestamp::from_unix_micros(0);
        let file = SourceFile { name, bytes: &bytes, modified };
        let options = ImportOptions::named(Identifier::new("there-and-back").unwrap());
        let run = import(tool, &file, &options).unwrap().remove(0);
        (run.record, bytes)
    };
    let (imported, bytes) = record(Tool::Vllm, "vllm.json");
    let original: Value = serde_json::from_slice(&bytes).unwrap();
    let back: Value =
        serde_json::from_slice(&vllm_result(&imported, None, None).unwrap().bytes).unwrap();
    let words = ["date", "model_id", "num_prompts", "completed", "failed", "duration"];
    let figures = original.as_object().unwrap().keys().filter(|key| {
        key.ends_with("_ms") || key.contains("throughput") || key.starts_with("total_")
    });
    for key in figures.map(String::as_str).chain(words) {
        assert_eq!(back[key], original[key], "{key}");
    }
    let (imported, _) = record(Tool::Aiperf, "aiperf.json");
    assert!(matches!(vllm_result(&imported, None, None), Err(ExportError::NotVllm { .. })));
}
