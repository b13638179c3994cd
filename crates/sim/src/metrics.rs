//! What the server counts, as Prometheus reads it, under the names of vLLM's server.
//!
//! Tokens are counted when a request has ended, whatever became of it. Nothing ever waits here, and there
//! is no cache of which a share could be in use.

use std::fmt::Write;

use crate::account::AccountTotals;
use crate::config::SimConfig;

/// The text format's own.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The document of `GET /metrics`.
pub(crate) fn exposition(config: &SimConfig, totals: AccountTotals) -> String {
    let tokens = totals.completion_tokens as f64 * config.counter_ratio;
    let families = [
        ("num_requests_running", "gauge", "Requests under way.", totals.open as f64),
        ("num_requests_waiting", "gauge", "Requests that wait.", 0.0),
        ("prompt_tokens_total", "counter", "Tokens of prompts.", totals.prompt_tokens as f64),
        ("generation_tokens_total", "counter", "Tokens that were generated.", tokens),
    ];
    let model = escaped(&config.model);
    let mut text = String::new();
    for (name, kind, help, value) in families {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "# HELP vllm:{name} {help}\n# TYPE vllm:{name} {kind}\n\
             vllm:{name}{{engine=\"0\",model_name=\"{model}\"}} {value:?}\n"
        );
    }
    text
}

fn escaped(label: &str) -> String {
    label.replace('\\', r"\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_told_under_vllms_names() {
        let config = SimConfig { model: "a\"b\\".to_owned(), ..SimConfig::default() };
        let totals = AccountTotals {
            completion_tokens: 200,
            open: 3,
            prompt_tokens: 50,
            ..AccountTotals::default()
        };
        let labels = r#"{engine="0",model_name="a\"b\\"}"#;
        let told = |config: &SimConfig| -> Vec<String> {
            let text = exposition(config, totals);
            let samples = text.lines().filter(|line| !line.starts_with('#'));
            samples.map(str::to_owned).collect()
        };
        assert_eq!(
            told(&config),
            [
                format!("vllm:num_requests_running{labels} 3.0"),
                format!("vllm:num_requests_waiting{labels} 0.0"),
                format!("vllm:prompt_tokens_total{labels} 50.0"),
                format!("vllm:generation_tokens_total{labels} 200.0"),
            ]
        );
        let wrong = told(&SimConfig { counter_ratio: 0.5, ..config });
        assert_eq!(wrong[3], format!("vllm:generation_tokens_total{labels} 100.0"));
    }
}
