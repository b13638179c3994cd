//! What a client is to send: the plan of our client, and the same requests as bytes.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use hyper::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::json;
use streamgauge_schema::{Dialect, Identifier, Plan, RequestSettings, Stage};
use streamgauge_workload::{Lengths, Prompts, Requests, RequestsSpec, SyntheticPrompts};

use crate::hyper_loop;

const DIALECT: Dialect = Dialect::OpenaiChat;
const MODEL: &str = "sim-model";

/// When requests are sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Shape {
    /// By so many clients, each of which sends its next one when the last has ended.
    Closed { concurrency: u64 },
    /// So many a second, at times that do not depend on the server.
    Poisson { per_s: u64 },
}

/// Requests and when they are sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct LoadSpec {
    pub(crate) requests: u64,
    pub(crate) shape: Shape,
    /// Threads of our client.
    pub(crate) workers: u64,
    /// Output events of each answer.
    pub(crate) output_events: u64,
    pub(crate) prompt_words: u64,
    /// Whether our client keeps every arrival, or only what the intervals of a response come to.
    pub(crate) keep_arrivals: bool,
}

impl LoadSpec {
    /// How many clients a closed loop has.
    pub(crate) fn clients(&self) -> anyhow::Result<usize> {
        match self.shape {
            Shape::Closed { concurrency } => Ok(usize::try_from(concurrency)?),
            Shape::Poisson { .. } => bail!("the loops that discard what they read are closed"),
        }
    }

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
            repetitions: 1,
            warmup: 0,
        };
        Ok(Requests::new(spec)?)
    }

    /// The plan for our client; all that is not the row's is a default of the command.
    pub(crate) fn plan(&self, addr: SocketAddr, requests: &Requests) -> anyhow::Result<Plan> {
        let shape = match self.shape {
            Shape::Closed { concurrency } => json!({"closed_loop": {"concurrency": concurrency}}),
            Shape::Poisson { per_s } => json!({"open_loop": {
                "arrivals": {"poisson": {"seed": 0}},
                "max_concurrency": null,
                "stages": [{
                    "from_per_s": per_s,
                    "to_per_s": per_s,
                    "duration_ms": null,
                    "requests": self.requests,
                }],
            }}),
        };
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
                "shape": shape,
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
                "workers": self.workers,
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
        let raw = self.heads_and_bodies(addr)?.map(|(headers, body)| {
            let head = headers.map(|(name, value)| format!("{name}: {value}\r\n")).concat();
            let path = DIALECT.default_path();
            let head =
                format!("POST {path} HTTP/1.1\r\n{head}content-length: {}\r\n\r\n", body.len());
            [head.as_bytes(), &body].concat()
        });
        Ok(raw.collect())
    }

    /// The same for hyper, which writes the length itself.
    pub(crate) fn hyper_requests(&self, addr: SocketAddr) -> anyhow::Result<hyper_loop::Requests> {
        let each = self.heads_and_bodies(addr)?.map(|(headers, body)| {
            let headers = headers.into_iter().map(|(name, value)| {
                Ok((HeaderName::from_static(name), HeaderValue::try_from(value)?))
            });
            Ok((headers.collect::<anyhow::Result<_>>()?, body.into()))
        });
        let each = each.collect::<anyhow::Result<_>>()?;
        Ok(hyper_loop::Requests { path: DIALECT.default_path(), each })
    }

    fn heads_and_bodies(
        &self,
        addr: SocketAddr,
    ) -> anyhow::Result<impl Iterator<Item = (Headers, Vec<u8>)>> {
        let requests = self.requests()?;
        let agent = concat!("streamgauge/", env!("CARGO_PKG_VERSION"));
        Ok((0..self.requests).map(move |index| {
            let headers = [
                ("host", addr.to_string()),
                ("accept", "text/event-stream, application/json".to_owned()),
                ("accept-encoding", "identity".to_owned()),
                ("user-agent", agent.to_owned()),
                ("content-type", "application/json".to_owned()),
                ("x-request-id", request_id(index)),
            ];
            (headers, requests.request(Stage::Measured, index).body)
        }))
    }
}

/// Names and values.
type Headers = [(&'static str, String); 6];

/// The name that a measured request bears in the server's account.
pub(crate) fn request_id(index: u64) -> String {
    format!("{}-{index}", Stage::Measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_and_the_bytes_speak_of_the_same_requests() {
        let addr = ([127, 0, 0, 1], 8000).into();
        for (shape, inflight) in
            [(Shape::Closed { concurrency: 2 }, Some(2)), (Shape::Poisson { per_s: 100 }, None)]
        {
            let load = LoadSpec {
                requests: 3,
                shape,
                workers: 1,
                output_events: 5,
                prompt_words: 24,
                keep_arrivals: true,
            };
            let requests = load.requests().unwrap();
            let plan = load.plan(addr, &requests).unwrap();
            assert_eq!(plan.load.shape.max_inflight(), inflight);
            let body = requests.request(Stage::Measured, 2).body;
            let raw = load.raw_requests(addr).unwrap();
            assert_eq!(raw.len() as u64, plan.load.requests);
            let text = String::from_utf8(raw[2].clone()).unwrap();
            assert!(text.contains("x-request-id: measured-2\r\n"), "{text}");
            assert!(text.ends_with(std::str::from_utf8(&body).unwrap()));
            let (headers, bytes) = &load.hyper_requests(addr).unwrap().each[2];
            assert_eq!((headers.len(), &bytes[..]), (6, &body[..]));
        }
    }
}
