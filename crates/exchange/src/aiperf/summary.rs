//! `profile_export_aiperf.json`: one block of statistics for each metric.

use serde::Deserialize;
use serde_json::{Map, Value};
use streamgauge_schema::{Timestamp, Unit};

use super::PLACE;
use super::keys::{INTER_CHUNK_LATENCY, QUANTITIES, TOTALS};
use crate::error::ImportError;
use crate::found::{Found, FoundLoad, Outcomes, Quantity, QuantitySpec, Total, TotalSpec};
use crate::json::read_file;
use crate::stat::Stat;
use crate::times::{in_unit, iso_label, no_less_than_0};
use crate::tool::Tool;

/// The words of a block of statistics, in the order of a record. The mean is called `avg`.
const STATS: [(&str, &str); 8] = [
    ("p50", "p50"),
    ("p90", "p90"),
    ("p95", "p95"),
    ("p99", "p99"),
    ("avg", "mean"),
    ("std", "std"),
    ("min", "min"),
    ("max", "max"),
];

/// The members that every such file has.
#[derive(Debug, Deserialize)]
struct File {
    request_count: Option<Count>,
    error_request_count: Option<Count>,
    request_latency: Block,
    aiperf_version: Option<String>,
    start_time: Option<String>,
    end_time: Option<String>,
    was_cancelled: Option<bool>,
    input_config: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Count {
    avg: f64,
}

#[derive(Debug, Deserialize)]
struct Block {
    count: Option<u64>,
}

/// Reads the file.
pub(super) fn read(bytes: &[u8]) -> Result<Found, ImportError> {
    let file: File = read_file(Tool::Aiperf, bytes)?;
    let members: Map<String, Value> = read_file(Tool::Aiperf, bytes)?;
    let outcomes = outcomes(&file)?;
    let label = |text: &Option<String>| text.as_deref().and_then(iso_label);
    let (began_at, ended_at): (Option<Timestamp>, _) =
        (label(&file.start_time), label(&file.end_time));
    let cancelled = file.was_cancelled == Some(true);
    let mut limitations = Vec::new();
    if cancelled {
        limitations.push("The file says that the run was interrupted.".to_owned());
    }
    if members.contains_key(INTER_CHUNK_LATENCY) {
        limitations.push(
            "Percentiles of inter-chunk latency are the tool's own estimates from a sketch (t-digest) in \
             its newer versions; its file of single requests has every value."
                .to_owned(),
        );
    }
    Ok(Found {
        version: file.aiperf_version.clone(),
        model: file.input_config.as_ref().and_then(model),
        began_at,
        ended_at,
        load: load(file.input_config.as_ref()),
        outcomes,
        requests: Vec::new(),
        quantities: QUANTITIES
            .iter()
            .map(|spec| quantity(spec, &members))
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?,
        totals: TOTALS
            .iter()
            .map(|spec| total(spec, &members))
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?,
        conditions: vec![("Request settings", "Not told".to_owned())],
        limitations,
    })
}

fn outcomes(file: &File) -> Result<Outcomes, ImportError> {
    let count = |count: &Option<Count>, key: &str| match count {
        None => Ok(None),
        Some(Count { avg }) if avg.fract() == 0.0 && (0.0..1e15).contains(avg) => {
            Ok(Some(*avg as u64))
        }
        Some(Count { avg }) => Err(ImportError::Value {
            place: PLACE.to_owned(),
            member: format!("{key}.avg"),
            value: format!("{avg:?}"),
            rule: "it is a whole number of requests",
        }),
    };
    let succeeded = count(&file.request_count, "request_count")?.or(file.request_latency.count);
    let succeeded = succeeded.ok_or_else(|| ImportError::Contradiction {
        place: PLACE.to_owned(),
        contradiction: "request_count is missing: how many succeeded is not told".to_owned(),
    })?;
    let failed = count(&file.error_request_count, "error_request_count")?.unwrap_or(0);
    Ok(Outcomes { succeeded, failed, cancelled: 0 })
}

/// The first model that the configuration names; its layout has changed between versions.
fn model(config: &Value) -> Option<String> {
    let names = ["/endpoint/model_names/0", "/models/items/0/name", "/models/0", "/model"];
    names.iter().find_map(|path| config.pointer(path)?.as_str()).map(str::to_owned)
}

fn load(config: Option<&Value>) -> FoundLoad {
    let number = |paths: &[&str]| {
        let found = |path: &&str| config.and_then(|config| config.pointer(path)?.as_f64());
        paths.iter().find_map(found)
    };
    let concurrency = number(&["/loadgen/concurrency", "/phases/profiling/concurrency"]);
    let rate_per_s = number(&["/loadgen/request_rate", "/phases/profiling/request_rate"]);
    let concurrency = concurrency.filter(|it| it.fract() == 0.0 && *it >= 1.0).map(|it| it as u64);
    let rate = rate_per_s.map_or("not told".to_owned(), |rate| format!("{rate:?} a second"));
    let most = concurrency.map_or("not told".to_owned(), |most| most.to_string());
    let is_told = concurrency.is_some() || rate_per_s.is_some();
    FoundLoad {
        is_told,
        concurrency,
        rate_per_s,
        words: format!("Rate {rate}, concurrency {most}"),
    }
}

/// A statistic of a metric's block, in a unit of records.
fn stated(
    members: &Map<String, Value>,
    (key, word): (&str, &str),
    unit: Unit,
) -> Result<Option<f64>, ImportError> {
    let Some(block) = members.get(key) else { return Ok(None) };
    let Some(value) = block.get(word).and_then(Value::as_f64) else { return Ok(None) };
    let named = block.get("unit").and_then(Value::as_str).unwrap_or_default();
    let value = in_unit(value, named, unit, PLACE, || format!("{key}.unit"))?;
    no_less_than_0(value, PLACE, || format!("{key}.{word}")).map(Some)
}

fn quantity(
    spec: &'static QuantitySpec,
    members: &Map<String, Value>,
) -> Result<Option<Quantity>, ImportError> {
    let mut found = Vec::new();
    for (word, name) in STATS {
        // NumPy's standard deviation, whatever the tool's manual calls it.
        let stat = Stat::of_key(name, Stat::PopulationStddev);
        if let (Some(stat), Some(value)) = (stat, stated(members, (spec.key, word), spec.unit)?) {
            found.push((stat, value));
        }
    }
    let count = members.get(spec.key).and_then(|block| block.get("count")?.as_u64());
    let has_some = !found.is_empty();
    Ok(has_some.then_some(Quantity { spec, samples: None, stated: found, stated_count: count }))
}

fn total(
    spec: &'static TotalSpec,
    members: &Map<String, Value>,
) -> Result<Option<Total>, ImportError> {
    let value = stated(members, (spec.key, "avg"), spec.unit)?;
    Ok(value.map(|value| Total { spec, value: Some(value) }))
}
