//! Results of SGLang's `bench_serving`: one run a line, with or without `--output-details`.

mod keys;

use serde::Deserialize;
use serde_json::Value;
use streamgauge_schema::{Completion, ImportedRequest};

use self::keys::{QUANTITIES, TOTALS};
use crate::error::ImportError;
use crate::flat::{quantities, totals};
use crate::found::{Found, FoundLoad, Outcomes, Samples};
use crate::json::read_lines;
use crate::scalars::Scalars;
use crate::texts::message;
use crate::times::{micros, no_less_than_0};
use crate::tool::Tool;

/// The members that are read. Statistics of latencies are looked up by name.
#[derive(Debug, Deserialize)]
struct Line {
    backend: String,
    dataset_name: Option<String>,
    /// A number, or null where the file has `Infinity`, or the word `trace`.
    request_rate: Option<Value>,
    max_concurrency: Option<u64>,
    /// What the server said of itself.
    server_info: Option<Value>,
    num_prompts: Option<u64>,
    completed: u64,
    duration: f64,
    input_lens: Option<Vec<u64>>,
    output_lens: Option<Vec<u64>>,
    ttfts: Option<Vec<f64>>,
    itls: Option<Vec<Vec<f64>>>,
    errors: Option<Vec<Option<String>>>,
}

/// Reads the runs of a file.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Found>, ImportError> {
    let lines: Vec<(usize, Line)> = read_lines(Tool::Sglang, bytes)?;
    let members: Vec<(usize, Scalars)> = read_lines(Tool::Sglang, bytes)?;
    let each = lines.iter().zip(&members);
    each.map(|((number, line), (_, members))| one(&format!("line {number}"), line, members))
        .collect()
}

fn one(place: &str, line: &Line, members: &Scalars) -> Result<Found, ImportError> {
    no_less_than_0(line.duration, place, || "duration".to_owned())?;
    let requests = requests(place, line)?;
    let declared = if requests.is_empty() { line.num_prompts } else { Some(requests.len() as u64) };
    let mut limitations = Vec::new();
    let failed = match declared {
        Some(declared) if declared >= line.completed => declared - line.completed,
        Some(declared) => {
            return Err(contradiction(
                place,
                format!("completed is {}, of {declared} requests", line.completed),
            ));
        }
        None => {
            limitations.push(
                "The file does not tell how many requests there were: those that failed are not \
                 counted here."
                    .to_owned(),
            );
            0
        }
    };
    if !requests.is_empty() {
        limitations.push(
            "The file tells of no single request when it began or ended: how many were under way at \
             once is not known."
                .to_owned(),
        );
    }
    let outcomes = Outcomes { succeeded: line.completed, failed, cancelled: 0 };
    let ttft_ms = ttft_ms(&requests, line);
    let samples = |key: &str| {
        let values = ttft_ms.as_ref().filter(|_| key == "ttft")?;
        Some(Samples::of(values.iter().copied()))
    };
    Ok(Found {
        version: None,
        model: model(line),
        began_at: None,
        ended_at: None,
        load: load(line),
        outcomes,
        quantities: quantities(&QUANTITIES, members, outcomes, samples)?,
        totals: totals(&TOTALS, members, outcomes)?,
        conditions: conditions(line),
        limitations,
        requests,
    })
}

/// The name that the server goes by, else the model that it loaded.
fn model(line: &Line) -> Option<String> {
    let info = line.server_info.as_ref()?;
    let name = ["served_model_name", "model_path"].iter().find_map(|key| info.get(key)?.as_str());
    name.map(str::to_owned)
}

fn load(line: &Line) -> FoundLoad {
    let rate_per_s = line.request_rate.as_ref().and_then(Value::as_f64);
    let rate = match line.request_rate.as_ref().and_then(Value::as_str) {
        Some(word) => format!("by {word}"),
        None => rate_per_s.map_or("unlimited".to_owned(), |rate| format!("{rate:?} a second")),
    };
    let under_way =
        line.max_concurrency.map_or("no limit".to_owned(), |most| format!("at most {most}"));
    FoundLoad {
        is_told: true,
        concurrency: line.max_concurrency,
        rate_per_s,
        words: format!("Rate {rate}, {under_way} under way"),
    }
}

fn conditions(line: &Line) -> Vec<(&'static str, String)> {
    let settings = format!("Backend {}; sampling and output cap not told", line.backend);
    let dataset = line.dataset_name.as_ref().map(|it| ("Dataset", it.clone()));
    [("Request settings", settings)].into_iter().chain(dataset).collect()
}

/// The single requests of `--output-details`: parallel lists, one entry a request. The end of a
/// request stands in none of them.
fn requests(place: &str, line: &Line) -> Result<Vec<ImportedRequest>, ImportError> {
    let (Some(input), Some(output), Some(ttfts), Some(itls), Some(errors)) =
        (&line.input_lens, &line.output_lens, &line.ttfts, &line.itls, &line.errors)
    else {
        return Ok(Vec::new());
    };
    let lengths = [
        ("input_lens", input.len()),
        ("output_lens", output.len()),
        ("ttfts", ttfts.len()),
        ("itls", itls.len()),
    ];
    if let Some((name, length)) = lengths.into_iter().find(|(_, length)| *length != errors.len()) {
        let requests = errors.len();
        let said = format!("{name} has {length} entries, errors has {requests}");
        return Err(contradiction(place, said));
    }
    let each = (0..errors.len()).map(|at| {
        let ttft = no_less_than_0(ttfts[at], place, || format!("ttfts[{at}]"))?;
        for (gap, value) in itls[at].iter().enumerate() {
            no_less_than_0(*value, place, || format!("itls[{at}][{gap}]"))?;
        }
        let error = errors[at].as_deref().filter(|error| !error.is_empty());
        let succeeded = error.is_none() && (ttft > 0.0 || output[at] > 0);
        let is_timed = succeeded && ttft > 0.0;
        Ok(ImportedRequest {
            index: at as u64,
            completion: if succeeded { Completion::Succeeded } else { Completion::Failed },
            message: (!succeeded).then(|| message(error.unwrap_or_default())),
            started_us: None,
            elapsed_us: None,
            first_output_us: is_timed.then(|| micros(ttft)),
            intervals_us: is_timed.then(|| itls[at].iter().map(|gap| micros(*gap)).collect()),
            prompt_tokens: Some(input[at]),
            completion_tokens: succeeded.then_some(output[at]),
        })
    });
    let requests: Vec<ImportedRequest> = each.collect::<Result<_, ImportError>>()?;
    let succeeded = requests.iter().filter(|it| it.completion == Completion::Succeeded).count();
    if succeeded as u64 != line.completed {
        let (completed, of) = (line.completed, requests.len());
        let said = format!(
            "completed is {completed}, and {succeeded} of the {of} single requests have a TTFT or \
             tokens and no error"
        );
        return Err(contradiction(place, said));
    }
    Ok(requests)
}

/// The times to the first output of the successful requests; `None` without single requests.
fn ttft_ms(requests: &[ImportedRequest], line: &Line) -> Option<Vec<Option<f64>>> {
    let ttfts = line.ttfts.as_ref().filter(|_| !requests.is_empty())?;
    let succeeded = requests.iter().zip(ttfts);
    let succeeded = succeeded.filter(|(request, _)| request.completion == Completion::Succeeded);
    Some(succeeded.map(|(request, ttft)| request.first_output_us.map(|_| ttft * 1e3)).collect())
}

fn contradiction(place: &str, contradiction: String) -> ImportError {
    ImportError::Contradiction { place: place.to_owned(), contradiction }
}
