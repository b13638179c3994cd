//! What a client is to send: the plan of our client, and the same requests as bytes.

use std::net::SocketAddr;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::json;
use streamgauge_schema::{Dialect, Identifier, Plan, RequestSettings, Stage};
use streamgauge_workload::{Lengths, Prompts, Requests, RequestsSpec, SyntheticPrompts};

const DIALECT: Dialect = Dialect::OpenaiChat;
const MODEL: &str = "sim-model";

/// A closed loop.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct LoadSpec {
    pub(crate) requests: u64,
    pub(crate) concurrency: u64,
    /// Output events of each answer.
    pub(crate) output_events: u64,
    pub(crate) prompt_words: u64,
    /// Whether our client keeps every arrival, or only what the intervals of a response come to.
    pub(crate) keep_arrivals: bool,
}

impl LoadSpec {
    fn settings(&self) -> RequestSettings {
        RequestSettings {
            max_tokens: self.output_events,
            ignore_eos: false,
            temperature: Some(0.0),
            seed: None,
            header_names: Vec::new(),
            extra_body: [].into(),
        }
    }

    /// The requests, as the command would make them.
    pub(crate) fn requests(&self) -> anyhow::Result<Requests> {
        let spec = RequestsSpec {
            dialect: DIALECT,
            model: MODEL.to_owned(),
            settings: self.settings(),
            prompts: Prompts::Synthetic(SyntheticPrompts::new(self.prompt_words, 0)?),
            target_input_tokens: None,
            lengths: Lengths::assumed(),
            suite_version: Identifier::new("load-table").context("a name")?,
            requests: self.requests,
            warmup: 0,
        };
        Ok(Requests::new(spec)?)
    }

    /// The plan for our client; all that is not the row's is a default of the command.
    pub(crate) fn plan(&self, addr: SocketAddr, requests: &Requests) -> anyhow::Result<Plan> {
        let plan = json!({
            "plan_version": 1,
            "name": "load-table",
            "instrument_version": env!("CARGO_PKG_VERSION"),
            "target": {
                "base_url": format!("http://{addr}"),
                "dialect": DIALECT,
                "endpoint_path": DIALECT.default_path(),
                "model": MODEL,
                "expect_model": MODEL,
                "private_ca": false,
            },
            "request": self.settings(),
            "workload": requests.describe(),
            "load": {
                "cell": "load",
                "shape": {"closed_loop": {"concurrency": self.concurrency}},
                "requests": self.requests,
                "duration_ms": null,
                "warmup": 0,
            },
            "goals": [],
            "limits": {
                "connect_timeout_ms": 10_000,
                "idle_timeout_ms": 120_000,
                "timeout_ms": 600_000,
                "grace_ms": 30_000,
                "max_error_ratio": null,
            },
            "max_failure_ratio": 0.0,
            "instrument": {
                "kernel_stamps": "sampled",
                "time_basis": "read",
                "keep_arrivals": self.keep_arrivals,
                "workers": 1,
                "resend": true,
                "calibration": null,
            },
            "deployment": {
                "id": "load-table", "model": MODEL, "profile": "load",
                "concurrency": null, "context_limit": null, "hardware": null, "node_count": null,
                "quantization": null, "revision": null, "runtime": null, "runtime_version": null,
                "source_url": null, "variant": null, "weights_verified": null,
            },
            "image": null,
            "evidence_mode": "simulated",
            "cache_state": "unknown",
            "token_accounting": "unknown",
            "conditions": [],
        });
        serde_json::from_value(plan).context("the plan of the load table")
    }

    /// The requests as they go over the wire: the head that our client sends, and its body.
    pub(crate) fn raw_requests(&self, addr: SocketAddr) -> anyhow::Result<Vec<Vec<u8>>> {
        let requests = self.requests()?;
        let path = DIALECT.default_path();
        let agent = env!("CARGO_PKG_VERSION");
        let raw = (0..self.requests).map(|index| {
            let body = requests.request(Stage::Measured, index).body;
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: {addr}\r\n\
                 accept: text/event-stream, application/json\r\naccept-encoding: identity\r\n\
                 user-agent: streamgauge/{agent}\r\ncontent-type: application/json\r\n\
                 x-request-id: {}\r\ncontent-length: {}\r\n\r\n",
                request_id(index),
                body.len(),
            );
            [head.as_bytes(), &body].concat()
        });
        Ok(raw.collect())
    }
}

/// The name that a measured request bears in the server's account.
pub(crate) fn request_id(index: u64) -> String {
    format!("{}-{index}", Stage::Measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_and_the_bytes_speak_of_the_same_requests() {
        let load = LoadSpec {
            requests: 3,
            concurrency: 2,
            output_events: 5,
            prompt_words: 24,
            keep_arrivals: true,
        };
        let addr = ([127, 0, 0, 1], 8000).into();
        let requests = load.requests().unwrap();
        let plan = load.plan(addr, &requests).unwrap();
        assert_eq!(plan.load.shape.max_inflight(), Some(2));
        let raw = load.raw_requests(addr).unwrap();
        assert_eq!(raw.len() as u64, plan.load.requests);
        let text = String::from_utf8(raw[2].clone()).unwrap();
        assert!(text.contains("x-request-id: measured-2\r\n"), "{text}");
        assert!(
            text.ends_with(
                std::str::from_utf8(&requests.request(Stage::Measured, 2).body).unwrap()
            )
        );
    }
}
