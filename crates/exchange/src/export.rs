//! A record under the flat keys of vLLM's result files, which dashboards read.
//!
//! Invariant: a key holds a figure only where it is the one that vLLM's own client would have
//! written, but for the larger of 1 ms and 1 percent; every other key is null, with a reason.

mod native;
mod own;

use std::collections::BTreeMap;

use streamgauge_schema::{
    CanonicalError, EvidenceMode, Json, LoadShape, RunRecordV2, digest_bytes,
};

use crate::edges::OutputEdges;
use crate::tool::Tool;

/// Statistics that are written of each latency, by their words here and there.
const STATS: [(&str, &str); 6] = [
    ("mean", "mean"),
    ("p50", "median"),
    ("stddev", "std"),
    ("p90", "p90"),
    ("p95", "p95"),
    ("p99", "p99"),
];

/// A record that cannot be exported.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A number cannot be written.
    #[error("the result cannot be written")]
    Canonical(#[from] CanonicalError),
    /// It was imported from another tool, whose figures are not vLLM's either.
    #[error(
        "record {run_id} was imported from a tool whose figures are not vLLM's: none of its keys \
         can be written"
    )]
    NotVllm {
        /// The record.
        run_id: String,
    },
}

/// A result file as `vllm bench serve --save-result` writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VllmResult {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// The keys that are null, and why.
    pub left_out: Vec<LeftOut>,
}

/// Keys that are null, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The keys; `*` stands for the statistics.
    pub keys: &'static str,
    /// Why vLLM's client might have written another figure.
    pub reason: String,
}

/// Writes a record under vLLM's keys. With `edges`, which the journal of the run gives, it is known
/// whether events without output came first or last, and the latencies that they would move are
/// written where they did not; without it they are null. With `shape`, which the plan of the run
/// gives, a load of one rate is written too: a record says it in words alone.
///
/// # Errors
/// When the record was imported from another tool than vLLM, or a number cannot be written.
pub fn vllm_result(
    record: &RunRecordV2,
    edges: Option<&OutputEdges>,
    shape: Option<&LoadShape>,
) -> Result<VllmResult, ExportError> {
    let mut members = Members::default();
    if record.evidence_mode == EvidenceMode::Imported {
        let word = format!("{}_", Tool::Vllm.as_str());
        if !record.metrics.iter().any(|metric| metric.id.as_str().starts_with(&word)) {
            return Err(ExportError::NotVllm { run_id: record.run_id.to_string() });
        }
        native::write(record, &mut members);
    } else {
        own::write(record, edges, shape, &mut members);
    }
    members.text("streamgauge_run_id", record.run_id.as_str());
    Ok(VllmResult { bytes: digest_bytes(&members.by_key)?, left_out: members.left_out })
}

/// The members of the file so far.
#[derive(Debug, Default)]
struct Members {
    by_key: BTreeMap<String, Json>,
    left_out: Vec<LeftOut>,
}

impl Members {
    fn text(&mut self, key: &str, text: &str) {
        self.by_key.insert(key.to_owned(), Json::String(text.to_owned()));
    }

    fn count(&mut self, key: &str, count: u64) {
        self.by_key.insert(key.to_owned(), Json::Uint(count));
    }

    fn number(&mut self, key: &str, value: Option<f64>) {
        self.by_key.insert(key.to_owned(), value.map_or(Json::Null, Json::Float));
    }

    fn null(&mut self, key: &str) {
        self.by_key.insert(key.to_owned(), Json::Null);
    }

    fn leave_out(&mut self, keys: &'static str, reason: impl Into<String>) {
        self.left_out.push(LeftOut { keys, reason: reason.into() });
    }

    /// What both kinds of records say of their run.
    fn head(&mut self, record: &RunRecordV2) {
        let completed = record.completed_at.compact();
        let date = completed.trim_end_matches('Z').replacen('T', "-", 1);
        self.text("date", &date);
        self.text("model_id", record.deployment.model.as_str());
        self.count("num_prompts", record.load.offered);
        self.count("completed", record.load.succeeded);
        self.count("failed", record.load.failed.saturating_add(record.load.timed_out));
        for key in ["label", "tokenizer_id", "burstiness"] {
            self.null(key);
        }
    }
}
