//! Against a real language-model server that reports its own times, llama.cpp's, at the address in
//! `STREAMGAUGE_REAL_URL`. Without one the test says that it was skipped. `STREAMGAUGE_COMMAND` names
//! another build of the command than the test's own, such as an optimised one.

#![expect(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
#![expect(clippy::print_stderr, reason = "what was measured is worth reading")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const REQUESTS: usize = 32;
/// A busy machine delays single reads; the counts that are printed are the finding.
const ENOUGH: usize = 24;

/// What one request came to, beside what the server says of itself.
struct Timed {
    ttft_minus_prompt_ms: f64,
    decode_over_predicted: f64,
}

fn run(url: &str, out: &Path, concurrency: &str, more: &[&str]) -> PathBuf {
    let requests = REQUESTS.to_string();
    let own = || env!("CARGO_BIN_EXE_streamgauge").to_owned();
    let output = Command::new(std::env::var("STREAMGAUGE_COMMAND").unwrap_or_else(|_| own()))
        .args(["run", "--base-url", url, "--requests", &requests, "--concurrency", concurrency])
        .args(["--output-tokens", "64", "--ignore-eos", "--input-tokens", "100"])
        .args(more)
        .arg("--out")
        .arg(out)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    PathBuf::from(stdout.lines().last().unwrap()).parent().unwrap().to_owned()
}

fn timed(dir: &Path) -> Vec<Timed> {
    let journal = std::fs::read_to_string(dir.join("observations.jsonl")).unwrap();
    journal
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter_map(|line| line.get("request").cloned())
        .map(|request| {
            let observation = &request["observation"];
            let ms = |stamp: &str| observation[stamp].as_f64().unwrap() / 1000.0;
            let server = |name: &str| observation["server_timings"][name].as_f64().unwrap();
            Timed {
                ttft_minus_prompt_ms: ms("first_output_us") - server("prompt_ms"),
                decode_over_predicted: (ms("last_output_us") - ms("first_output_us"))
                    / server("predicted_ms"),
            }
        })
        .collect()
}

#[test]
fn figures_agree_with_the_servers_own_clock() {
    let Ok(url) = std::env::var("STREAMGAUGE_REAL_URL") else {
        eprintln!("skipped: STREAMGAUGE_REAL_URL names no server");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let alone = timed(&run(&url, folder.path(), "1", &[]));
    assert_eq!(alone.len(), REQUESTS);
    let count = |holds: &dyn Fn(&Timed) -> bool| alone.iter().filter(|one| holds(one)).count();
    let not_before = count(&|one| one.ttft_minus_prompt_ms > 0.0);
    let close = count(&|one| (1.0..=6.0).contains(&one.ttft_minus_prompt_ms));
    let decode = count(&|one| (one.decode_over_predicted - 1.0).abs() <= 0.01);
    eprintln!(
        "one at a time: TTFT - prompt_ms within 1 to 6 ms for {close} of {REQUESTS}; \
         last - first output within 1 % of predicted_ms for {decode} of {REQUESTS}"
    );
    assert_eq!(not_before, REQUESTS, "no output can be seen before the server made it");
    assert!(decode >= ENOUGH, "{decode} of {REQUESTS}");

    let together = run(&url, folder.path(), "4", &["--warmup", "4", "--server-metrics"]);
    let record: Value =
        serde_json::from_slice(&std::fs::read(together.join("record.json")).unwrap()).unwrap();
    eprintln!(
        "four at a time: {} succeeded, {} resends, {} stale connections",
        record["load"]["succeeded"],
        record["instrument"]["resends"],
        record["instrument"]["stale_connections"],
    );
    assert_eq!(record["load"]["succeeded"], REQUESTS);
    let value = |id: &str| {
        let metrics = record["metrics"].as_array().unwrap();
        metrics.iter().find(|metric| metric["id"] == id).unwrap()["value"].as_f64()
    };
    let [by_server, by_usage] = ["server_output_tokens_tok", "usage_output_tokens_tok"].map(value);
    eprintln!("output tokens by the server's counter {by_server:?}, by usage {by_usage:?}");
    // A server that was not told to count tells nothing.
    assert!(by_server.is_none() || by_server == by_usage);
}
