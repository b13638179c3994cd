//! A record that was imported from vLLM: its figures go back under the keys that they came from.

use streamgauge_schema::{RunRecordV2, Unit};

use super::Members;
use crate::stat::Stat;
use crate::tool::Tool;
use crate::vllm::keys::{QUANTITIES, TOTALS};

pub(super) fn write(record: &RunRecordV2, members: &mut Members) {
    members.head(record);
    let settings = ["backend", "endpoint_type", "request_rate", "max_concurrency"];
    settings.into_iter().for_each(|key| members.null(key));
    members.leave_out(
        "backend, endpoint_type, request_rate, max_concurrency, burstiness, tokenizer_id, label",
        "the record says them in words, in its conditions",
    );
    for spec in &TOTALS {
        let id = format!("{}_{}", Tool::Vllm.as_str(), spec.id);
        let metric = record.metrics.iter().find(|metric| metric.id.as_str() == id);
        let value = metric.and_then(|metric| metric.value);
        match value {
            Some(value) if matches!(spec.unit, Unit::Count | Unit::Tokens) => {
                members.count(spec.key, value as u64);
            }
            other => members.number(spec.key, other),
        }
    }
    for metric in &record.metrics {
        let Some(key) = key_of(metric.id.as_str()) else { continue };
        members.number(&key, metric.value);
    }
}

/// The flat key of a latency: `p99_ttft_ms` of `vllm_ttft_p99_ms`. Extremes, and the deviation that
/// divides by one less than the number, have none.
fn key_of(id: &str) -> Option<String> {
    let rest = id.strip_prefix(Tool::Vllm.as_str())?.strip_prefix('_')?.strip_suffix("_ms")?;
    let (quantity, word) = rest.rsplit_once('_')?;
    let spec = QUANTITIES.iter().find(|spec| spec.id == quantity)?;
    let word = match Stat::of_word(word)? {
        Stat::Percentile(rank) if rank == "50" => "median".to_owned(),
        Stat::PopulationStddev => "std".to_owned(),
        Stat::Mean | Stat::Percentile(_) => word.to_owned(),
        Stat::Max | Stat::Min | Stat::SampleStddev | Stat::Type1(_) => return None,
    };
    Some(format!("{word}_{}_ms", spec.key))
}
