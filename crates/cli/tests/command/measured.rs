//! `run`, and what becomes of what it writes.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use streamgauge_sim::{FaultKind, FaultRule, RawServer, RawStep, SimConfig};

use crate::process::{measure, only_run, quick, run, server};

fn faulty(every: u64, kind: FaultKind) -> SimConfig {
    SimConfig { faults: vec![FaultRule { every, kind }], ..quick() }
}

#[test]
fn a_run_writes_a_record_that_proves_itself() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let finished = measure(&url, folder.path(), &["--warmup", "2", "--name", "first"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let dir = only_run(folder.path());
    assert!(finished.stdout.ends_with(&format!("{}\n", dir.join("record.json").display())));
    assert!(dir.file_name().unwrap().to_str().unwrap().starts_with("first-"));

    let record: Value =
        serde_json::from_slice(&fs::read(dir.join("record.json")).unwrap()).unwrap();
    assert_eq!(record["evidence_mode"], "simulated");
    assert_eq!(record["load"]["succeeded"], 8);
    assert_eq!(record["load"]["warmup"], 2);
    assert_eq!(record["cases"].as_array().unwrap().len(), 8);
    let text = record.to_string();
    assert!(!text.contains("127.0.0.1") && !text.contains(folder.path().to_str().unwrap()));

    let verified = run(["verify", dir.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    let rebuilt = run(["record", dir.to_str().unwrap()]);
    assert_eq!(rebuilt.code, Some(0), "{}", rebuilt.stdout);

    let old = run(["record", "--record-version", "1", dir.to_str().unwrap()]);
    let path = folder.path().join("old.json");
    fs::write(&path, &old.stdout).unwrap();
    let verified = run(["verify", path.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    assert_eq!(old.stdout.matches("\"samples\"").count(), 7);
}

#[test]
fn the_cases_of_a_long_run_stand_in_a_file_of_their_own() {
    let (_server, url) = server(SimConfig { ttft: Duration::ZERO, ..quick() });
    let folder = tempfile::tempdir().unwrap();
    let long = ["--requests", "10001", "--concurrency", "64", "--output-tokens", "1"];
    let out = folder.path().to_str().unwrap();
    let finished =
        run(["run", "--base-url", &url, "--input-tokens", "30", "--out", out].iter().chain(&long));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let dir = only_run(folder.path());
    let cases = fs::read_to_string(dir.join("cases.jsonl")).unwrap();
    assert_eq!(cases.lines().count(), 10_001);
    assert_eq!(run(["verify", dir.to_str().unwrap()]).code, Some(0));
    fs::write(dir.join("cases.jsonl"), cases.replacen("succeeded", "failed", 1) + "\n").unwrap();
    assert_eq!(run(["verify", dir.to_str().unwrap()]).code, Some(1));
}

#[test]
fn a_record_that_is_not_what_the_journal_gives_is_found() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    measure(&url, folder.path(), &[]);
    let dir = only_run(folder.path());
    let path = dir.join("record.json");
    let original = fs::read_to_string(&path).unwrap();
    fs::write(&path, original.replacen("\"reads\": ", "\"reads\": 1", 1)).unwrap();
    for command in ["record", "verify"] {
        let finished = run([command, dir.to_str().unwrap()]);
        assert_eq!(finished.code, Some(1));
        assert!(finished.stdout.contains("\\\"reads\\\""), "{}", finished.stdout);
    }

    // Without the record, `record` writes the very bytes that `run` wrote.
    fs::remove_file(&path).unwrap();
    assert_eq!(run(["record", dir.to_str().unwrap()]).code, Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), original);
}

#[test]
fn a_journal_that_was_cut_off_gives_an_aborted_record() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    measure(&url, folder.path(), &[]);
    let dir = only_run(folder.path());
    fs::remove_file(dir.join("record.json")).unwrap();
    let journal = fs::read_to_string(dir.join("observations.jsonl")).unwrap();
    let cut: String = journal.split_inclusive('\n').take(6).collect();
    fs::write(dir.join("observations.jsonl"), &cut[..cut.len() - 10]).unwrap();
    let finished = run(["record", dir.to_str().unwrap()]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("cut off"), "{}", finished.stderr);
    let record: Value =
        serde_json::from_slice(&fs::read(dir.join("record.json")).unwrap()).unwrap();
    assert_eq!(record["status"], "aborted");
    assert_eq!(record["load"]["succeeded"], 4);
    assert_eq!(record["load"]["not_sent"], 4);
    assert_eq!(record["counts"]["declared"], 8);
}

#[test]
fn failures_decide_the_exit_code_and_are_shown() {
    let status = FaultKind::Status { code: 503, retry_after_s: None };
    for (config, code, line) in [
        (faulty(4, status), 3, "2 × http_status, for example: status 503"),
        (faulty(1, status), 4, "8 × http_status, for example: status 503"),
    ] {
        let (_server, url) = server(config);
        let folder = tempfile::tempdir().unwrap();
        let finished = measure(&url, folder.path(), &[]);
        assert_eq!(finished.code, Some(code), "{}", finished.stdout);
        // What failed stands before all figures.
        let first = finished.stdout.lines().nth(2).unwrap();
        assert!(first.starts_with(line), "{first}");
        assert_eq!(finished.stdout.contains("95 % interval"), code == 3, "{}", finished.stdout);
        let verified = run(["verify", only_run(folder.path()).to_str().unwrap()]);
        assert_eq!(verified.code, Some(0), "{}", verified.stdout);
        // Beside what programs read it stands on stderr.
        for format in ["json", "vllm"] {
            let folder = tempfile::tempdir().unwrap();
            let finished = measure(&url, folder.path(), &["--format", format]);
            assert_eq!(finished.code, Some(code), "{}", finished.stderr);
            assert!(finished.stderr.contains("× http_status, for example: status 503"));
        }
    }
}

#[test]
fn a_run_shows_what_has_a_value_and_says_what_has_none() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let measure = |more: &[&str]| {
        let out = folder.path().to_str().unwrap();
        let args = ["run", "--base-url", &url, "--out", out, "--concurrency", "4"];
        let load = ["--requests", "64", "--output-tokens", "4", "--no-length-probes"];
        let finished = run(args.iter().chain(&load).chain(more));
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        finished
    };
    let finished = measure(&[]);
    let shown = &finished.stdout;
    assert!(!shown.lines().any(|line| line.starts_with("Inter-token latency")), "{shown}");
    let reason = "Inter-token latency (ITL): The server did not count the tokens of every event";
    assert!(finished.prose().contains(reason), "{shown}");
    assert!(finished.prose().contains("--steady-window prints its figures"), "{shown}");
    let prose = shown.lines().skip_while(|line| !line.starts_with("Without a value"));
    for line in prose.filter(|line| line.contains(' ')) {
        assert!(line.chars().count() <= 80, "{line}");
    }

    let shown = measure(&["--steady-window"]).stdout;
    let window = shown.split_once("In the steady window, from ").unwrap().1;
    assert!(window.contains("Time to first output (TTFT), ms"), "{shown}");
    assert!(!shown.contains("steady window, ms"), "{shown}");

    let shown = measure(&["--intervals", "off"]).stdout;
    let chunks = shown.lines().find(|line| line.starts_with("Chunk interval, ms")).unwrap();
    assert!(chunks.contains('–'), "a mean without a median: {chunks}");
}

#[test]
fn an_error_rate_that_never_stops_a_run_is_said_before_it() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    for (requests, warned) in [("19", true), ("20", false)] {
        let out = folder.path().to_str().unwrap();
        let args = ["run", "--base-url", &url, "--out", out, "--requests", requests];
        let more = ["--max-error-rate", "0.5", "--output-tokens", "2", "--no-length-probes"];
        let finished = run(args.iter().chain(&more));
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let said = format!("and there are {requests}: it never stops anything");
        assert_eq!(finished.stderr.contains(&said), warned, "{}", finished.stderr);
    }
}

#[test]
fn an_unreachable_server_is_told_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let finished = measure("http://127.0.0.1:1", folder.path(), &[]);
    assert_eq!(finished.code, Some(4));
    assert!(
        finished.stderr.contains("cannot connect to http://127.0.0.1:1"),
        "{}",
        finished.stderr
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn json_output_is_one_document() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let finished = measure(&url, folder.path(), &["--format", "json"]);
    let record: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(record["schema_version"], 2);
    let finished = run([
        "run",
        "--base-url",
        &url,
        "--out",
        folder.path().to_str().unwrap(),
        "--requests",
        "2",
    ]
    .iter()
    .chain(&["--concurrency", "1,2", "--output-tokens", "2", "--format", "json"]));
    let records: Value = serde_json::from_str(&finished.stdout).unwrap();
    let cells: Vec<_> =
        records.as_array().unwrap().iter().map(|record| &record["load"]["cell"]).collect();
    assert_eq!(cells, ["c1", "c2"]);
}

#[test]
fn two_runs_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let [baseline, candidate] = ["baseline", "candidate"].map(|side| folder.path().join(side));
    let (_server, url) = server(quick());
    for side in [&baseline, &candidate] {
        measure(&url, side, &[]);
    }
    let out = folder.path().join("comparison.json");
    let paths = [baseline.to_str().unwrap(), candidate.to_str().unwrap()];
    let finished = run(["compare", paths[0], paths[1], "--out", out.to_str().unwrap()]);
    assert!(finished.prose().contains("noise between runs was not considered"), "{finished:?}");
    let verified = run(["verify", out.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);

    // Other conditions are no comparison.
    let other = folder.path().join("other");
    measure(&url, &other, &["--temperature", "1"]);
    let finished = run(["compare", paths[0], other.to_str().unwrap()]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("request_settings"), "{}", finished.stderr);
    let allowed = run([
        "compare",
        paths[0],
        other.to_str().unwrap(),
        "--allow-differing",
        "request_settings",
    ]);
    assert_ne!(allowed.code, Some(2), "{}", allowed.stderr);
}

#[test]
fn a_dataset_is_read_and_its_faults_are_named() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("prompts.jsonl");
    fs::write(&dataset, "{\"id\": \"a\", \"prompt\": \"one\"}\n{\"id\": \"b\", \"prompt\": 2}\n")
        .unwrap();
    let runs = folder.path().join("runs");
    let dataset = dataset.to_str().unwrap();
    let finished = measure(&url, &runs, &["--dataset", dataset, "--nonce"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("prompts.jsonl: line 2"), "{}", finished.stderr);
    fs::write(dataset, "{\"id\": \"a\", \"prompt\": \"one\"}\n").unwrap();
    let refused = measure(&url, &runs, &["--dataset", dataset]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("8 requests are more than its one line"), "{}", refused.stderr);
    let finished = measure(&url, &runs, &["--dataset", dataset, "--nonce"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

#[test]
fn runs_of_the_same_plan_and_second_do_not_meet() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let codes = std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..3).map(|_| scope.spawn(|| measure(&url, folder.path(), &[]).code)).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(codes, [Some(0); 3]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn a_run_whose_journal_was_changed_is_not_compared() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    measure(&url, folder.path(), &[]);
    let dir = only_run(folder.path());
    let journal = dir.join("observations.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("\"connect_us\":", "\"connect_us\":1", 1)).unwrap();
    let path = dir.to_str().unwrap();
    let finished = run(["compare", path, path]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("does not verify"), "{}", finished.stderr);
}

#[test]
fn what_a_server_echoes_of_a_key_is_taken_out() {
    const KEY: &str = "canary0123456789key";
    let event = format!(
        r#"{{"model":"{KEY}","choices":[{{"delta":{{"content":"Hi"}},"finish_reason":"{KEY}"}}],"timings":{{"{KEY}":1}}}}"#
    );
    let body = format!(
        "data: {event}\n\ndata: {{\"error\":{{\"code\":\"{KEY}\",\"message\":\"{KEY}\"}}}}\n\n"
    );
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{body}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let steps = vec![RawStep::Write(answer.into_bytes()), RawStep::Close];
    let server = runtime.block_on(RawServer::start(steps)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = crate::process::streamgauge()
        .args(["run", "--model", "m", "--requests", "1", "--out", folder.path().to_str().unwrap()])
        .args(["--base-url", &format!("http://{}", server.addr())])
        .env("OPENAI_API_KEY", KEY)
        .output()
        .unwrap();
    let mut written = [output.stdout, output.stderr].concat();
    for entry in fs::read_dir(only_run(folder.path())).unwrap() {
        written.extend(fs::read(entry.unwrap().path()).unwrap());
    }
    let written = String::from_utf8(written).unwrap();
    assert!(written.contains("[redacted]") && !written.contains("canary"), "{written}");
}

#[test]
fn keys_reach_the_server_and_no_file() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = crate::process::streamgauge()
        .args(["run", "--base-url", &url, "--out", out, "--requests", "2", "--output-tokens", "2"])
        .args(["--header", "X-Team: canary-header-value"])
        .env("OPENAI_API_KEY", "canary-key-value")
        .output()
        .unwrap();
    assert!(output.status.success());
    let mut written = [output.stdout, output.stderr].concat();
    for entry in fs::read_dir(only_run(folder.path())).unwrap() {
        written.extend(fs::read(entry.unwrap().path()).unwrap());
    }
    let written = String::from_utf8(written).unwrap();
    assert!(!written.contains("canary"), "a secret was written");
    assert!(written.contains("\"x-team\""), "the plan names the header");
}
