//! What a server says of itself while it is measured, held against what the client saw.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use streamgauge_sim::{FaultKind, FaultPoint, FaultRule, SimConfig};

use crate::process::{Finished, measure, only_run, quick, run, server};

/// A run that asks the server, and its record.
fn asked(config: SimConfig, folder: &Path, more: &[&str]) -> (Finished, Value) {
    let (_server, url) = server(config);
    let finished = measure(&url, folder, more);
    let record = fs::read(only_run(folder).join("record.json")).unwrap();
    (finished, serde_json::from_slice(&record).unwrap())
}

/// The value of a metric; `None` where the record does not hold it.
fn metric<'a>(record: &'a Value, id: &str) -> Option<&'a Value> {
    record["metrics"].as_array().unwrap().iter().find(|metric| metric["id"] == id)
}

fn value(record: &Value, id: &str) -> Option<f64> {
    metric(record, id).unwrap()["value"].as_f64()
}

fn limitations(record: &Value) -> String {
    record["limitations"].to_string()
}

#[test]
fn the_servers_counts_are_those_of_the_measured_requests() {
    let folder = tempfile::tempdir().unwrap();
    let (finished, record) = asked(quick(), folder.path(), &["--warmup", "3", "--server-metrics"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(value(&record, "server_output_tokens_tok"), Some(32.0));
    assert_eq!(value(&record, "usage_output_tokens_tok"), Some(32.0));
    assert_eq!(value(&record, "server_kv_cache_usage_peak_ratio"), None);
    assert!(!limitations(&record).contains("counter"), "{}", limitations(&record));
    assert!(finished.prose().contains("Output tokens by the server's counter, tok 32"));
    assert!(finished.prose().contains("The server tells no such counter, or it fell meanwhile."));

    let dir = only_run(folder.path());
    let path = dir.join("server-metrics.jsonl");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("sim-model"), "{text}");
    let dir = dir.to_str().unwrap();
    for command in ["record", "verify"] {
        let again = run([command, dir]);
        assert_eq!(again.code, Some(0), "{}", again.stdout);
    }

    // What was being written when everything ended is left out; it is no other evidence.
    let record_path = Path::new(dir).join("record.json");
    fs::remove_file(&record_path).unwrap();
    fs::write(&path, format!("{text}{{\"asked")).unwrap();
    assert_eq!(run(["record", dir]).code, Some(0));
    let torn: Value = serde_json::from_slice(&fs::read(&record_path).unwrap()).unwrap();
    assert_eq!(torn["metrics"], record["metrics"]);
    // Another count is.
    fs::write(&path, text.replacen("\"value\":", "\"value\":1", 1)).unwrap();
    for command in ["record", "verify"] {
        assert_eq!(run([command, dir]).code, Some(1));
    }
}

#[test]
fn a_server_that_counts_wrong_is_found() {
    for (ratio, by_server) in [(0.5, "16"), (1.25, "40")] {
        let folder = tempfile::tempdir().unwrap();
        let config = SimConfig { counter_ratio: ratio, ..quick() };
        let (finished, record) = asked(config, folder.path(), &["--server-metrics"]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let said = format!(
            "Output tokens by the server's own counter: {by_server}; by the usage of the measured \
             requests: 32, more than 1 percent off."
        );
        assert!(limitations(&record).contains(&said), "{}", limitations(&record));
        assert!(finished.prose().contains(&said));
    }
}

#[test]
fn requests_that_failed_leave_the_counts_uncertain() {
    let folder = tempfile::tempdir().unwrap();
    let faults = vec![FaultRule { every: 4, kind: FaultKind::Reset(FaultPoint::AfterOutputs(2)) }];
    let (_, record) =
        asked(SimConfig { faults, ..quick() }, folder.path(), &["--server-metrics=/metrics"]);
    let said = "cannot be held against usage (24). Requests that failed, have no usage or were sent again, \
                on which the server may have worked: 2.";
    assert!(limitations(&record).contains(said), "{}", limitations(&record));
}

#[test]
fn requests_are_counted_while_they_are_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let config = SimConfig { ttft: Duration::from_millis(900), ..quick() };
    let (_, record) = asked(config, folder.path(), &["--server-metrics"]);
    let running = metric(&record, "server_requests_running_peak_count").unwrap();
    assert!(running["samples"].as_u64() >= Some(1), "{running}");
    assert_eq!(value(&record, "server_requests_waiting_peak_count"), Some(0.0));
}

#[test]
fn a_server_that_tells_nothing_spoils_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let (finished, record) = asked(quick(), folder.path(), &["--server-metrics", "/nothing"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let first = "note: --server-metrics: the server did not answer the first question: GET /nothing: \
                 status 404: ";
    assert!(finished.stderr.starts_with(first), "{}", finished.stderr);
    assert_eq!(finished.stderr.matches("the first question").count(), 1, "{}", finished.stderr);
    let note = "note: --server-metrics found nothing: GET /nothing: status 404: ";
    assert!(finished.stderr.contains(note), "{}", finished.stderr);
    let said = "Questions for the server's own metrics without an answer: 2 of 2 (http_status 2).";
    assert!(limitations(&record).contains(said), "{}", limitations(&record));
    let output = metric(&record, "server_output_tokens_tok").unwrap();
    assert!(
        output["definition"]
            .as_str()
            .unwrap()
            .ends_with("None: no answer just before the first request, or after the last.")
    );
    assert_eq!(run(["verify", only_run(folder.path()).to_str().unwrap()]).code, Some(0));
}

#[test]
fn a_server_that_nobody_asks_has_no_figures() {
    let folder = tempfile::tempdir().unwrap();
    let (_, record) = asked(quick(), folder.path(), &[]);
    assert_eq!(metric(&record, "server_output_tokens_tok"), None);
    assert!(!only_run(folder.path()).join("server-metrics.jsonl").exists());
}

#[test]
fn a_file_of_flags_may_name_the_path_or_not() {
    let (_server, url) = server(quick());
    for (line, expected) in [
        ("server-metrics = true", Some("/metrics")),
        ("server-metrics = \"/other\"", Some("/other")),
        ("server-metrics = false", None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("run.toml");
        fs::write(&config, format!("base-url = \"{url}\"\nrequests = 2\n{line}\n")).unwrap();
        let planned = run(["run", "--config", config.to_str().unwrap(), "--dry-run"]);
        assert_eq!(planned.code, Some(0), "{}", planned.stderr);
        let plan: Value = serde_json::from_str(&planned.stdout).unwrap();
        assert_eq!(plan["instrument"]["server_metrics"].as_str(), expected, "{line}");
        let told =
            expected.map(|path| format!("the server's own metrics at {path}, once a second"));
        assert!(told.is_none_or(|told| planned.stderr.contains(&told)), "{}", planned.stderr);
    }
    let refused = run(["run", "--base-url", &url, "--server-metrics", "metrics?a=b"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("a path begins with a slash, as /metrics"),
        "{}",
        refused.stderr
    );
}
