//! Tables for other programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::process::{measure, only_run, quick, run, server};

/// Rows by the names of their columns. No cell of these tables has a line feed, so that a line is a
/// row; what a cell has between quotation marks may hold commas.
fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines().map(cells);
    let header = lines.next().unwrap();
    lines
        .map(|row| {
            assert_eq!(row.len(), header.len());
            header.iter().cloned().zip(row).collect()
        })
        .collect()
}

fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let cell = cells.last_mut().unwrap();
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cell.push(other),
        }
    }
    cells
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_row_for_each_request_and_for_each_metric() {
    let folder = tempfile::tempdir().unwrap();
    let (_sim, url) = server(quick());
    let more = ["--warmup", "2", "--name", "tabled"];
    assert_eq!(measure(&url, folder.path(), &more).code, Some(0));
    let dir = only_run(folder.path());
    let shown = dir.to_str().unwrap();
    let record = read(&dir.join("record.json"));

    let finished = run(["report", "--csv", "requests", shown]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let requests = rows(&finished.stdout);
    assert_eq!(requests.len(), 10);
    let journal = fs::read_to_string(dir.join("observations.jsonl")).unwrap();
    let lines = journal.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line.get("request").cloned()
    });
    for (row, line) in requests.iter().zip(lines) {
        assert_eq!(row["run_id"], record["run_id"].as_str().unwrap());
        assert_eq!(row["started_us"], line["started_us"].to_string());
        assert_eq!(row["completion_tokens"], "4");
        let first = line["observation"]["first_output_us"].as_u64().unwrap();
        assert_eq!(row["ttft_ms"].parse(), Ok(first as f64 / 1e3));
        // A closed loop has no due times.
        assert_eq!((row["scheduled_us"].as_str(), row["queue_delay_ms"].as_str()), ("", ""));
    }
    assert_eq!(requests.iter().filter(|row| row["stage"] == "warmup").count(), 2);

    let file = folder.path().join("metrics.csv");
    let args = ["report", "--csv", "metrics", shown, "-o", file.to_str().unwrap()];
    assert_eq!(run(args).stdout.trim(), file.to_str().unwrap());
    let metrics = rows(&fs::read_to_string(&file).unwrap());
    let expected = record["metrics"].as_array().unwrap();
    assert_eq!(metrics.len(), expected.len());
    for (row, metric) in metrics.iter().zip(expected) {
        assert_eq!(row["metric_id"], metric["id"].as_str().unwrap());
        assert_eq!(row["value"].parse().ok(), metric["value"].as_f64());
        assert_eq!(row["definition"], metric["definition"].as_str().unwrap());
    }
    let again = run(args);
    assert_eq!(again.code, Some(2), "what exists is not written over");
}

#[test]
fn parquet_is_written_where_the_program_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let (_sim, url) = server(quick());
    assert_eq!(measure(&url, folder.path(), &[]).code, Some(0));
    let dir = only_run(folder.path());
    let file = folder.path().join("requests.parquet");
    let args = ["report", "--parquet", dir.to_str().unwrap(), "-o", file.to_str().unwrap()];
    let finished = run(args);
    if cfg!(feature = "parquet") {
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        assert!(fs::read(&file).unwrap().starts_with(b"PAR1"));
        let nowhere = run(&args[..3]);
        assert!(nowhere.stderr.contains("--parquet needs -o FILE"), "{}", nowhere.stderr);
    } else {
        assert_eq!(finished.code, Some(2));
        assert!(finished.stderr.contains("--features parquet"), "{}", finished.stderr);
    }
}

#[test]
fn imported_requests_keep_empty_what_is_not_ours_to_derive() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/tests/samples");
    let sample = |name: &str| samples.join(name).to_str().unwrap().to_owned();
    assert_eq!(run(["import", "vllm", &sample("vllm-detailed.json"), "-o", out]).code, Some(0));
    let dir = only_run(folder.path());
    let finished = run(["report", "--csv", "requests", dir.to_str().unwrap()]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let requests = rows(&finished.stdout);
    assert_eq!(requests.len(), 4);
    let first = &requests[0];
    assert_eq!((&*first["first_output_us"], &*first["last_output_us"]), ("200000", "242000"));
    assert_eq!((&*first["ttft_ms"], &*first["completion_tokens"]), ("", "4"));
    assert_eq!((&*requests[2]["completion"], &*requests[2]["elapsed_us"]), ("failed", ""));

    fs::create_dir(folder.path().join("more")).unwrap();
    let more = folder.path().join("more");
    let more = more.to_str().unwrap();
    assert_eq!(run(["import", "vllm", &sample("vllm.json"), "-o", more]).code, Some(0));
    let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../schema/tests/records/serving-performance-v1.json");
    for (path, expected) in [
        (more, "the file that it was imported from has no single requests"),
        (golden.to_str().unwrap(), "is a record of version 1"),
        (dir.join("record.json").to_str().unwrap(), "no single requests"),
    ] {
        let finished = run(["report", "--csv", "requests", path]);
        assert_eq!(finished.code, Some(2), "{path}");
        assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    }
    // Metrics need no more than a record.
    let finished = run(["report", "--csv", "metrics", golden.to_str().unwrap(), more]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(rows(&finished.stdout).len() > 7);
}
