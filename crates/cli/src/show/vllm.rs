//! The block that `vllm bench serve` ends with, which scripts read by its labels.
//!
//! Invariant: a line is there only where its figure is the one that vLLM's client would have found;
//! which are is said by the export of a record under vLLM's keys.

use anyhow::Context;
use serde_json::{Map, Value};
use streamgauge_exchange::VllmResult;

/// Columns of the block.
const WIDTH: usize = 50;
/// Columns of a label, and of a value after one blank.
const LABEL: usize = 40;
const VALUE: usize = 10;

/// What stands above the latencies, by vLLM's keys.
const TOTALS: [(&str, &str); 10] = [
    ("Successful requests:", "completed"),
    ("Failed requests:", "failed"),
    ("Maximum request concurrency:", "max_concurrency"),
    ("Request rate configured (RPS):", "request_rate"),
    ("Benchmark duration (s):", "duration"),
    ("Total input tokens:", "total_input_tokens"),
    ("Total generated tokens:", "total_output_tokens"),
    ("Request throughput (req/s):", "request_throughput"),
    ("Output token throughput (tok/s):", "output_throughput"),
    ("Total token throughput (tok/s):", "total_token_throughput"),
];
/// The latencies: heading, word in labels, word in keys.
const LATENCIES: [(&str, &str, &str); 4] = [
    ("Time to First Token", "TTFT", "ttft"),
    ("Time per Output Token (excl. 1st token)", "TPOT", "tpot"),
    ("Inter-token Latency", "ITL", "itl"),
    ("End-to-end Latency", "E2EL", "e2el"),
];
/// Statistics of each, by their words in labels and keys.
const STATISTICS: [(&str, &str); 3] = [("Mean", "mean"), ("Median", "median"), ("P99", "p99")];

/// The block of a result.
pub(crate) fn vllm(result: &VllmResult) -> anyhow::Result<String> {
    let keys: Map<String, Value> =
        serde_json::from_slice(&result.bytes).context("the export is a JSON object")?;
    let mut lines = vec![format!("{:=^WIDTH$}", " Serving Benchmark Result ")];
    lines.extend(TOTALS.iter().filter_map(|(label, key)| line(label, keys.get(*key)?)));
    for (heading, label, key) in LATENCIES {
        let figures = STATISTICS.iter().filter_map(|(word, statistic)| {
            line(&format!("{word} {label} (ms):"), keys.get(&format!("{statistic}_{key}_ms"))?)
        });
        let figures: Vec<String> = figures.collect();
        if !figures.is_empty() {
            lines.push(format!("{heading:-^WIDTH$}"));
            lines.extend(figures);
        }
    }
    lines.push("=".repeat(WIDTH));
    Ok(lines.join("\n"))
}

/// A line; none without a value.
fn line(label: &str, value: &Value) -> Option<String> {
    let value = match value {
        Value::Number(number) if number.is_f64() => format!("{:.2}", number.as_f64()?),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(format!("{label:<LABEL$} {value:<VALUE$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_values_stand_where_scripts_look_for_them() {
        let bytes = br#"{"completed": 64, "failed": 0, "max_concurrency": 8, "duration": 12.3456, "request_rate": 0.3,
            "total_input_tokens": null, "request_throughput": 5.184, "mean_ttft_ms": 123456.789,
            "median_ttft_ms": 200.0, "p99_ttft_ms": 201.005, "mean_tpot_ms": null}"#;
        let result = VllmResult { bytes: bytes.to_vec(), left_out: Vec::new() };
        let expected = [
            "============ Serving Benchmark Result ============",
            "Successful requests:                     64        ",
            "Failed requests:                         0         ",
            "Maximum request concurrency:             8         ",
            "Request rate configured (RPS):           0.30      ",
            "Benchmark duration (s):                  12.35     ",
            "Request throughput (req/s):              5.18      ",
            "---------------Time to First Token----------------",
            "Mean TTFT (ms):                          123456.79 ",
            "Median TTFT (ms):                        200.00    ",
            "P99 TTFT (ms):                           201.00    ",
            "==================================================",
        ];
        assert_eq!(vllm(&result).unwrap().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_rate_that_is_not_limited_has_no_line() {
        let bytes = br#"{"completed": 1, "request_rate": "inf"}"#.to_vec();
        let block = vllm(&VllmResult { bytes, left_out: Vec::new() }).unwrap();
        assert!(!block.contains("Request rate"), "{block}");
    }

    #[test]
    fn headings_are_centred_as_vllm_does() {
        let keys: Vec<String> =
            LATENCIES.map(|(_, _, key)| format!("\"mean_{key}_ms\": 1.0")).into();
        let bytes = format!("{{{}}}", keys.join(", ")).into_bytes();
        let block = vllm(&VllmResult { bytes, left_out: Vec::new() }).unwrap();
        for heading in [
            "-----Time per Output Token (excl. 1st token)------",
            "---------------Inter-token Latency----------------",
            "----------------End-to-end Latency----------------",
        ] {
            assert!(block.lines().any(|line| line == heading), "{block}");
        }
    }
}
