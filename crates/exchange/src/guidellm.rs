//! Results of GuideLLM: `benchmarks.json`, with a benchmark for each load.

mod keys;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use streamgauge_schema::{Completion, ImportedRequest};

use self::keys::{QUANTITIES, TOTALS, estimator};
use crate::error::ImportError;
use crate::found::{Found, FoundLoad, Outcomes, Quantity, QuantitySpec, Samples, Total, TotalSpec};
use crate::json::read_file;
use crate::stat::Stat;
use crate::texts::message;
use crate::times::{label, micros, no_less_than_0};
use crate::tool::Tool;

#[derive(Debug, Deserialize)]
struct File {
    benchmarks: Vec<Benchmark>,
    args: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Benchmark {
    metrics: Metrics,
    requests: Option<ByStatus<Option<Vec<Request>>>>,
    config: Option<Value>,
    start_time: Option<f64>,
    end_time: Option<f64>,
    duration: Option<f64>,
}

/// The statistics of each quantity, by the status of requests. Other members of `metrics` are left alone.
#[derive(Debug, Deserialize)]
struct Metrics {
    request_totals: ByStatus<u64>,
    requests_per_second: Option<ByStatus<Option<Distribution>>>,
    output_tokens_per_second: Option<ByStatus<Option<Distribution>>>,
    request_concurrency: Option<ByStatus<Option<Distribution>>>,
    request_latency: Option<ByStatus<Option<Distribution>>>,
    time_to_first_token_ms: Option<ByStatus<Option<Distribution>>>,
    time_to_first_output_token_ms: Option<ByStatus<Option<Distribution>>>,
    inter_token_latency_ms: Option<ByStatus<Option<Distribution>>>,
    time_per_output_token_ms: Option<ByStatus<Option<Distribution>>>,
    prompt_token_count: Option<ByStatus<Option<Distribution>>>,
    output_token_count: Option<ByStatus<Option<Distribution>>>,
}

#[derive(Debug, Deserialize)]
struct ByStatus<T> {
    successful: T,
    incomplete: T,
    errored: T,
}

#[derive(Debug, Deserialize)]
struct Distribution {
    mean: f64,
    std_dev: f64,
    min: f64,
    max: f64,
    count: u64,
    percentiles: BTreeMap<String, f64>,
}

#[derive(Debug, Deserialize)]
struct Request {
    request_start_time: Option<f64>,
    request_end_time: Option<f64>,
    request_latency: Option<f64>,
    time_to_first_token_ms: Option<f64>,
    time_to_first_output_token_ms: Option<f64>,
    inter_token_latency_ms: Option<f64>,
    time_per_output_token_ms: Option<f64>,
    prompt_tokens: Option<u64>,
    output_tokens: Option<u64>,
    info: Option<Info>,
}

#[derive(Debug, Deserialize)]
struct Info {
    error: Option<String>,
}

/// Reads every benchmark of a file.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Found>, ImportError> {
    let file: File = read_file(Tool::Guidellm, bytes)?;
    let model = file.args.as_ref().and_then(|args| args.get("model")?.as_str()).map(str::to_owned);
    let each = file.benchmarks.iter().zip(0..);
    each.map(|(benchmark, at)| one(&format!("benchmarks[{at}]"), benchmark, model.clone()))
        .collect()
}

fn one(place: &str, benchmark: &Benchmark, model: Option<String>) -> Result<Found, ImportError> {
    let totals = &benchmark.metrics.request_totals;
    let outcomes = Outcomes {
        succeeded: totals.successful,
        failed: totals.errored,
        cancelled: totals.incomplete,
    };
    let (requests, successful) = requests(place, benchmark, outcomes)?;
    let mut limitations = Vec::new();
    if requests.is_empty() && has_requests(benchmark) {
        limitations.push(
            "The file keeps a sample of the single requests, which are left out: the figures are those \
             that it states of all."
                .to_owned(),
        );
    }
    let labels = [benchmark.start_time, benchmark.end_time].map(|time| time.map(label));
    Ok(Found {
        version: None,
        model: model.or_else(|| model_of(benchmark)),
        began_at: labels[0],
        ended_at: labels[1],
        load: load(benchmark.config.as_ref()),
        outcomes,
        quantities: quantities(place, benchmark, successful)?,
        totals: self::totals(place, benchmark)?,
        requests,
        conditions: vec![("Request settings", "Not told".to_owned())],
        limitations,
    })
}

fn has_requests(benchmark: &Benchmark) -> bool {
    let lists = benchmark.requests.iter();
    let mut lists = lists.flat_map(|lists| [&lists.successful, &lists.incomplete, &lists.errored]);
    lists.any(|list| list.as_ref().is_some_and(|list| !list.is_empty()))
}

/// The single requests in the order of their starts, and the successful ones; none of both where the
/// file has but a sample of them.
fn requests<'a>(
    place: &str,
    benchmark: &'a Benchmark,
    outcomes: Outcomes,
) -> Result<(Vec<ImportedRequest>, Option<&'a [Request]>), ImportError> {
    let Some(lists) = &benchmark.requests else { return Ok((Vec::new(), None)) };
    let list = |list: &'a Option<Vec<Request>>| list.as_deref().unwrap_or_default();
    let by_status = [
        ("successful", Completion::Succeeded, list(&lists.successful), outcomes.succeeded),
        ("incomplete", Completion::Cancelled, list(&lists.incomplete), outcomes.cancelled),
        ("errored", Completion::Failed, list(&lists.errored), outcomes.failed),
    ];
    if by_status.iter().any(|(_, _, list, count)| list.len() as u64 != *count) {
        return Ok((Vec::new(), None));
    }
    let starts = by_status.iter().flat_map(|(_, _, list, _)| list.iter());
    let first_start = starts.filter_map(|it| it.request_start_time).fold(f64::INFINITY, f64::min);
    let mut requests = Vec::new();
    for (status, completion, list, _) in by_status {
        for (at, request) in list.iter().enumerate() {
            let place = format!("{place}.requests.{status}[{at}]");
            requests.push(imported(&place, request, completion, first_start)?);
        }
    }
    requests.sort_by_key(|request| request.started_us);
    for (request, index) in requests.iter_mut().zip(0..) {
        request.index = index;
    }
    Ok((requests, Some(list(&lists.successful))))
}

fn imported(
    place: &str,
    request: &Request,
    completion: Completion,
    first_start: f64,
) -> Result<ImportedRequest, ImportError> {
    let checked = |value: Option<f64>, member: &str| {
        value.map(|value| no_less_than_0(value, place, || member.to_owned())).transpose()
    };
    let start = checked(request.request_start_time, "request_start_time")?;
    let end = checked(request.request_end_time, "request_end_time")?;
    let latency = checked(request.request_latency, "request_latency")?;
    let span = start.zip(end).map(|(start, end)| end - start);
    let elapsed = latency.or(checked(span, "request_end_time - request_start_time")?);
    let first = checked(request.time_to_first_token_ms, "time_to_first_token_ms")?;
    let error = request.info.as_ref().and_then(|info| info.error.as_deref());
    Ok(ImportedRequest {
        index: 0,
        completion,
        message: (completion != Completion::Succeeded).then(|| message(error.unwrap_or_default())),
        started_us: start.map(|start| micros(start - first_start)),
        elapsed_us: elapsed.map(micros),
        first_output_us: first.map(|ms| micros(ms / 1e3)),
        intervals_us: None,
        prompt_tokens: request.prompt_tokens,
        completion_tokens: request.output_tokens,
    })
}

/// A quantity of one request, in the unit of records.
fn value(request: &Request, key: &str) -> Option<f64> {
    match key {
        "request_latency" => request.request_latency.map(|seconds| seconds * 1e3),
        "time_to_first_token_ms" => request.time_to_first_token_ms,
        "time_to_first_output_token_ms" => request.time_to_first_output_token_ms,
        "inter_token_latency_ms" => request.inter_token_latency_ms,
        "time_per_output_token_ms" => request.time_per_output_token_ms,
        "prompt_token_count" => request.prompt_tokens.map(|tokens| tokens as f64),
        "output_token_count" => request.output_tokens.map(|tokens| tokens as f64),
        _ => None,
    }
}

/// What the file states of the successful requests.
fn stated<'a>(metrics: &'a Metrics, key: &str) -> Option<&'a Distribution> {
    let by_status = match key {
        "requests_per_second" => &metrics.requests_per_second,
        "output_tokens_per_second" => &metrics.output_tokens_per_second,
        "request_concurrency" => &metrics.request_concurrency,
        "request_latency" => &metrics.request_latency,
        "time_to_first_token_ms" => &metrics.time_to_first_token_ms,
        "time_to_first_output_token_ms" => &metrics.time_to_first_output_token_ms,
        "inter_token_latency_ms" => &metrics.inter_token_latency_ms,
        "time_per_output_token_ms" => &metrics.time_per_output_token_ms,
        "prompt_token_count" => &metrics.prompt_token_count,
        "output_token_count" => &metrics.output_token_count,
        _ => &None,
    };
    // Of no value the tool writes zeros.
    by_status.as_ref()?.successful.as_ref().filter(|found| found.count > 0)
}

fn quantities(
    place: &str,
    benchmark: &Benchmark,
    successful: Option<&[Request]>,
) -> Result<Vec<Quantity>, ImportError> {
    let mut quantities = Vec::new();
    for spec in &QUANTITIES {
        let found = stated(&benchmark.metrics, spec.key);
        let samples = successful
            .map(|requests| Samples::of(requests.iter().map(|request| value(request, spec.key))))
            .filter(|samples| !samples.values.is_empty());
        if let Some(samples) = &samples {
            for value in &samples.values {
                no_less_than_0(*value, place, || format!("requests.successful, {}", spec.key))?;
            }
        }
        let stated = found.map(|found| statistics(place, spec, found)).transpose()?;
        if samples.is_some() || stated.is_some() {
            quantities.push(Quantity {
                spec,
                samples,
                stated: stated.unwrap_or_default(),
                stated_count: found.map(|found| found.count),
            });
        }
    }
    Ok(quantities)
}

/// Percentiles are those of the tool's own estimator, which says so in its name.
fn statistics(
    place: &str,
    spec: &QuantitySpec,
    found: &Distribution,
) -> Result<Vec<(Stat, f64)>, ImportError> {
    let scale = if spec.key == "request_latency" { 1e3 } else { 1.0 };
    let percentile =
        |word: &str| found.percentiles.get(word).map(|value| (estimator(word), *value));
    let percentiles = ["p50", "p90", "p95", "p99"].into_iter().filter_map(percentile);
    let others = [
        (Stat::Mean, found.mean),
        (Stat::PopulationStddev, found.std_dev),
        (Stat::Min, found.min),
        (Stat::Max, found.max),
    ];
    let each = percentiles.chain(others).map(|(stat, value)| {
        let value = no_less_than_0(value, place, || format!("metrics.{}", spec.key))?;
        Ok((stat, value * scale))
    });
    each.collect()
}

fn totals(place: &str, benchmark: &Benchmark) -> Result<Vec<Total>, ImportError> {
    let total = |spec: &'static TotalSpec| {
        let value = match spec.key {
            "duration" => benchmark.duration,
            key => stated(&benchmark.metrics, key).map(|found| found.mean),
        };
        let value = value.map(|value| no_less_than_0(value, place, || spec.key.to_owned()));
        Ok(value.transpose()?.map(|value| Total { spec, value: Some(value) }))
    };
    TOTALS.iter().map(total).filter_map(Result::transpose).collect()
}

/// The strategy of a benchmark, as far as its configuration names it.
fn load(config: Option<&Value>) -> FoundLoad {
    let strategy = config.and_then(|config| config.get("strategy"));
    let Some(strategy) = strategy else {
        return FoundLoad { words: "Not told".to_owned(), ..FoundLoad::default() };
    };
    let name = strategy.get("type_").and_then(Value::as_str).unwrap_or("not told");
    let number = |keys: &[&str]| keys.iter().find_map(|key| strategy.get(key)?.as_f64());
    let rate_per_s = number(&["rate"]);
    let streams =
        number(&["streams", "max_concurrency"]).filter(|it| it.fract() == 0.0 && *it >= 1.0);
    let concurrency = match name {
        "synchronous" => Some(1),
        _ => streams.map(|streams| streams as u64),
    };
    let rate = rate_per_s.map_or("not told".to_owned(), |rate| format!("{rate:?} a second"));
    let most = concurrency.map_or("not told".to_owned(), |most| most.to_string());
    FoundLoad {
        is_told: rate_per_s.is_some() || concurrency.is_some() || name == "throughput",
        concurrency,
        rate_per_s,
        words: format!("Strategy {name}, rate {rate}, streams {most}"),
    }
}

fn model_of(benchmark: &Benchmark) -> Option<String> {
    let backend = benchmark.config.as_ref()?.get("backend")?;
    ["model", "model_name"].iter().find_map(|key| backend.get(key)?.as_str()).map(str::to_owned)
}
