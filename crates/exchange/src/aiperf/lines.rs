//! `profile_export.jsonl`: one request a line, with its own metrics.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use streamgauge_schema::{Completion, ImportedRequest, Timestamp};

use super::keys::{
    INPUT_SEQUENCE_LENGTH, INTER_CHUNK_LATENCY, OUTPUT_SEQUENCE_LENGTH, QUANTITIES,
    REQUEST_LATENCY, TIME_TO_FIRST_TOKEN, TOTALS,
};
use crate::error::ImportError;
use crate::found::{Found, FoundLoad, Outcomes, Quantity, QuantitySpec, Samples, Total, TotalSpec};
use crate::json::read_lines;
use crate::texts::message;
use crate::times::{in_unit, micros, no_less_than_0};
use crate::tool::Tool;

/// One line of the file.
#[derive(Debug, Deserialize)]
struct Line {
    metadata: Metadata,
    metrics: Option<BTreeMap<String, Measured>>,
    error: Option<Failure>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    request_start_ns: u64,
    request_end_ns: u64,
    benchmark_phase: Option<String>,
    was_cancelled: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Measured {
    /// A number, or a list of them.
    value: Value,
    unit: String,
}

#[derive(Debug, Deserialize)]
struct Failure {
    code: Option<i64>,
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
}

/// A profiled request, with the number of its line.
struct Request {
    number: usize,
    line: Line,
    completion: Completion,
}

/// Reads the file; `None` where no line is of a profiled request.
pub(super) fn read(bytes: &[u8]) -> Result<Option<Found>, ImportError> {
    let lines: Vec<(usize, Line)> = read_lines(Tool::Aiperf, bytes)?;
    let all = lines.len();
    let is_profiled = |line: &Line| line.metadata.benchmark_phase.as_deref() != Some("warmup");
    let mut requests: Vec<Request> = lines
        .into_iter()
        .filter(|(_, line)| is_profiled(line))
        .map(|(number, line)| Request { number, completion: completion(&line), line })
        .collect();
    // Lines are written as requests end.
    requests.sort_by_key(|request| (request.line.metadata.request_start_ns, request.number));
    let start_ns = requests.iter().map(|request| request.line.metadata.request_start_ns).min();
    let end_ns = requests.iter().map(|request| request.line.metadata.request_end_ns).max();
    let (Some(start_ns), Some(end_ns)) = (start_ns, end_ns) else { return Ok(None) };
    requests.iter().try_for_each(check_times)?;
    let mut limitations = vec![
        "The file does not tell how requests were sent: the cell is named imported where \
         nobody names it."
            .to_owned(),
    ];
    if all > requests.len() {
        limitations.push(format!("Lines of the warm-up, left out: {}.", all - requests.len()));
    }
    let outcomes = outcomes(&requests);
    let label = |ns: u64| Timestamp::from_unix_micros(i64::try_from(ns / 1000).unwrap_or(i64::MAX));
    let duration_s = end_ns.saturating_sub(start_ns) as f64 / 1e9;
    Ok(Some(Found {
        version: None,
        model: None,
        began_at: Some(label(start_ns)),
        ended_at: Some(label(end_ns)),
        load: FoundLoad { words: "Not told".to_owned(), ..FoundLoad::default() },
        outcomes,
        quantities: QUANTITIES
            .iter()
            .map(|spec| quantity(spec, &requests))
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?,
        totals: totals(&requests, outcomes, duration_s)?,
        requests: imported(&requests, start_ns)?,
        conditions: vec![("Request settings", "Not told".to_owned())],
        limitations,
    }))
}

fn completion(line: &Line) -> Completion {
    if line.metadata.was_cancelled == Some(true) {
        Completion::Cancelled
    } else if line.error.is_some() {
        Completion::Failed
    } else {
        Completion::Succeeded
    }
}

fn outcomes(requests: &[Request]) -> Outcomes {
    let count = |completion| {
        requests.iter().filter(|request| request.completion == completion).count() as u64
    };
    Outcomes {
        succeeded: count(Completion::Succeeded),
        failed: count(Completion::Failed),
        cancelled: count(Completion::Cancelled),
    }
}

fn check_times(request: &Request) -> Result<(), ImportError> {
    let Metadata { request_start_ns: start, request_end_ns: end, .. } = &request.line.metadata;
    if start <= end {
        return Ok(());
    }
    Err(ImportError::Contradiction {
        place: place(request),
        contradiction: format!("request_start_ns is {start}, request_end_ns is {end}"),
    })
}

fn place(request: &Request) -> String {
    format!("line {}", request.number)
}

/// The values of a metric of one request, in the unit of the quantity; none where it has none.
fn values(request: &Request, spec: &QuantitySpec) -> Result<Vec<f64>, ImportError> {
    let Some(measured) = request.line.metrics.as_ref().and_then(|metrics| metrics.get(spec.key))
    else {
        return Ok(Vec::new());
    };
    let place = place(request);
    let values: Vec<f64> = match &measured.value {
        Value::Array(values) => values.iter().filter_map(Value::as_f64).collect(),
        value => value.as_f64().into_iter().collect(),
    };
    let each = values.into_iter().map(|value| {
        let member = || format!("metrics.{}.value", spec.key);
        let value = in_unit(value, &measured.unit, spec.unit, &place, || {
            format!("metrics.{}.unit", spec.key)
        })?;
        no_less_than_0(value, &place, member)
    });
    each.collect()
}

fn value(request: &Request, key: &str) -> Result<Option<f64>, ImportError> {
    let spec = QUANTITIES.iter().find(|spec| spec.key == key);
    let Some(spec) = spec else { return Ok(None) };
    Ok(values(request, spec)?.first().copied())
}

fn quantity(
    spec: &'static QuantitySpec,
    requests: &[Request],
) -> Result<Option<Quantity>, ImportError> {
    let mut samples = Samples::default();
    let succeeded = requests.iter().filter(|it| it.completion == Completion::Succeeded);
    for request in succeeded {
        let values = values(request, spec)?;
        samples.missing += u64::from(values.is_empty());
        samples.values.extend(values);
    }
    let samples = Some(samples).filter(|samples| !samples.values.is_empty());
    Ok(samples.map(|samples| Quantity {
        spec,
        samples: Some(samples),
        stated: Vec::new(),
        stated_count: None,
    }))
}

/// What the tool makes of its requests, made of them here, as this file has only them.
fn totals(
    requests: &[Request],
    outcomes: Outcomes,
    duration_s: f64,
) -> Result<Vec<Total>, ImportError> {
    let sum = |key| -> Result<Option<f64>, ImportError> {
        let mut sum = 0.0;
        for request in requests.iter().filter(|it| it.completion == Completion::Succeeded) {
            let Some(tokens) = value(request, key)? else { return Ok(None) };
            sum += tokens;
        }
        Ok(Some(sum))
    };
    let (input, output) = (sum(INPUT_SEQUENCE_LENGTH)?, sum(OUTPUT_SEQUENCE_LENGTH)?);
    let rate = |count: Option<f64>| count.filter(|_| duration_s > 0.0).map(|it| it / duration_s);
    let total = |spec: &'static TotalSpec| {
        let value = match spec.key {
            "benchmark_duration" => Some(duration_s),
            "request_throughput" => rate(Some(outcomes.succeeded as f64)),
            "output_token_throughput" => rate(output),
            _ => rate(input.zip(output).map(|(input, output)| input + output)),
        };
        Total { spec, value }
    };
    Ok(TOTALS.iter().map(total).collect())
}

fn imported(requests: &[Request], start_ns: u64) -> Result<Vec<ImportedRequest>, ImportError> {
    requests.iter().zip(0..).map(|(request, index)| one(request, index, start_ns)).collect()
}

fn one(request: &Request, index: u64, start_ns: u64) -> Result<ImportedRequest, ImportError> {
    let metadata = &request.line.metadata;
    let first_output_us = value(request, TIME_TO_FIRST_TOKEN)?.map(millis_in_micros);
    // A failed request has no latency of its own, and has begun and ended all the same.
    let span_us = (metadata.request_end_ns - metadata.request_start_ns) / 1000;
    let latency_us = value(request, REQUEST_LATENCY)?.map(millis_in_micros);
    let tokens = |tokens: Option<f64>| tokens.map(|tokens| tokens as u64);
    Ok(ImportedRequest {
        index,
        completion: request.completion,
        message: request.line.error.as_ref().map(told),
        started_us: Some((metadata.request_start_ns - start_ns) / 1000),
        elapsed_us: Some(latency_us.unwrap_or(span_us)),
        first_output_us,
        intervals_us: if first_output_us.is_some() { intervals(request)? } else { None },
        prompt_tokens: tokens(value(request, INPUT_SEQUENCE_LENGTH)?),
        completion_tokens: tokens(value(request, OUTPUT_SEQUENCE_LENGTH)?),
    })
}

fn millis_in_micros(ms: f64) -> u64 {
    micros(ms / 1e3)
}

fn intervals(request: &Request) -> Result<Option<Vec<u64>>, ImportError> {
    let spec = QUANTITIES.iter().find(|spec| spec.key == INTER_CHUNK_LATENCY);
    let has_some =
        request.line.metrics.as_ref().is_some_and(|it| it.contains_key(INTER_CHUNK_LATENCY));
    let Some(spec) = spec.filter(|_| has_some) else { return Ok(None) };
    let gaps = values(request, spec)?;
    Ok(Some(gaps.into_iter().map(millis_in_micros).collect()))
}

/// What the tool says of a failure.
fn told(error: &Failure) -> String {
    let code = error.code.map(|code| code.to_string());
    let parts = [code.as_deref(), error.kind.as_deref(), error.message.as_deref()];
    message(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
}
