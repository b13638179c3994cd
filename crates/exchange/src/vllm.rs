//! Results of `vllm bench serve --save-result`, with or without `--save-detailed`.

pub(crate) mod keys;
mod single;

use serde::Deserialize;
use serde_json::Value;

use self::keys::{QUANTITIES, TOTALS};
use self::single::Single;
use crate::error::ImportError;
use crate::flat::{quantities, totals};
use crate::found::{Found, FoundLoad, Outcomes};
use crate::json::{read_file, without_mark};
use crate::scalars::Scalars;
use crate::times::{date_label, no_less_than_0};
use crate::tool::Tool;

/// Where a value stands, in errors.
const PLACE: &str = "the file";

/// The members that are read. Statistics of latencies are looked up by name.
#[derive(Debug, Deserialize)]
struct File {
    date: Option<String>,
    backend: Option<String>,
    endpoint_type: Option<String>,
    label: Option<String>,
    model_id: Option<String>,
    tokenizer_id: Option<String>,
    num_prompts: Option<u64>,
    /// A number, or `inf` as a text.
    request_rate: Option<Value>,
    burstiness: Option<f64>,
    max_concurrency: Option<u64>,
    ramp_up_strategy: Option<String>,
    duration: f64,
    completed: u64,
    failed: Option<u64>,
    total_input_tokens: u64,
    total_output_tokens: u64,
    input_lens: Option<Vec<u64>>,
    output_lens: Option<Vec<u64>>,
    ttfts: Option<Vec<f64>>,
    itls: Option<Vec<Vec<f64>>>,
    latencies: Option<Vec<f64>>,
    start_times: Option<Vec<f64>>,
    errors: Option<Vec<Option<String>>>,
}

/// Reads a result file; `--append-result` puts several into one, one a line.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Found>, ImportError> {
    let runs = pieces(without_mark(bytes));
    runs.into_iter().map(read_one).collect()
}

/// The objects of the file. One that is no object fails when it is read.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let lines: Vec<&[u8]> =
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
    let is_object = |line: &&[u8]| {
        let line = line.trim_ascii();
        line.starts_with(b"{") && line.ends_with(b"}")
    };
    if lines.len() > 1 && lines.iter().all(is_object) { lines } else { vec![bytes] }
}

fn read_one(bytes: &[u8]) -> Result<Found, ImportError> {
    let file: File = read_file(Tool::Vllm, bytes)?;
    let members: Scalars = read_file(Tool::Vllm, bytes)?;
    no_less_than_0(file.duration, PLACE, || "duration".to_owned())?;
    let single = Single::of(&file)?;
    let outcomes = outcomes(&file)?;
    let ended_at = file.date.as_deref().and_then(date_label);
    let began_at = ended_at.map(|ended| {
        let micros = (file.duration.min(1e9) * 1e6) as i64;
        streamgauge_schema::Timestamp::from_unix_micros(ended.unix_micros() - micros)
    });
    let mut limitations = Vec::new();
    if ended_at.is_some() {
        limitations.push(
            "The file's date names no time zone and is when it was written: it is read as UTC and \
             stands for the end."
                .to_owned(),
        );
    }
    limitations.extend(unaccounted(&file, outcomes));
    limitations.extend(single.as_ref().and_then(Single::limitation));
    Ok(Found {
        version: None,
        model: file.model_id.clone(),
        began_at,
        ended_at,
        load: load(&file),
        outcomes,
        quantities: quantities(&QUANTITIES, &members, outcomes, |key| {
            single.as_ref()?.samples(key)
        })?,
        totals: totals(&TOTALS, &members, outcomes)?,
        conditions: conditions(&file),
        requests: single.map(|single| single.requests).unwrap_or_default(),
        limitations,
    })
}

/// `failed` came late; before it the number of prompts tells.
fn outcomes(file: &File) -> Result<Outcomes, ImportError> {
    let succeeded = file.completed;
    let listed = file.errors.as_ref().map(|errors| errors.len() as u64);
    let failed = match (file.failed, listed.or(file.num_prompts)) {
        (Some(failed), _) => failed,
        (None, Some(declared)) if declared >= succeeded => declared - succeeded,
        (None, declared) => {
            let declared = declared.map_or("missing".to_owned(), |declared| declared.to_string());
            return Err(ImportError::Contradiction {
                place: PLACE.to_owned(),
                contradiction: format!(
                    "completed is {succeeded}, failed is missing and num_prompts is {declared}: how \
                     many failed is not told"
                ),
            });
        }
    };
    Ok(Outcomes { succeeded, failed, cancelled: 0 })
}

/// Prompts of which the file tells neither success nor failure.
fn unaccounted(file: &File, outcomes: Outcomes) -> Option<String> {
    let (prompts, ended) = (file.num_prompts?, outcomes.succeeded.saturating_add(outcomes.failed));
    (prompts > ended).then(|| {
        format!(
            "num_prompts is {prompts}, and completed and failed come to {ended}: what became of the others \
             is not told, and they are in no figure."
        )
    })
}

fn load(file: &File) -> FoundLoad {
    let rate_per_s = file.request_rate.as_ref().and_then(Value::as_f64);
    let is_told = file.request_rate.as_ref().is_some_and(|rate| !rate.is_null());
    let rate = match rate_per_s {
        Some(rate) => format!("{rate:?} a second"),
        None if is_told => "unlimited".to_owned(),
        None => "not told".to_owned(),
    };
    let under_way =
        file.max_concurrency.map_or("no limit".to_owned(), |most| format!("at most {most}"));
    let burstiness = file.burstiness.map_or("not told".to_owned(), |it| format!("{it:?}"));
    let prompts = file.num_prompts.map_or("not told".to_owned(), |prompts| prompts.to_string());
    let ramp = file.ramp_up_strategy.as_ref().map_or("", |_| ", ramped up");
    FoundLoad {
        is_told,
        concurrency: file.max_concurrency,
        rate_per_s,
        words: format!(
            "Rate {rate}{ramp}, burstiness {burstiness}, {under_way} under way, prompts {prompts}"
        ),
    }
}

fn conditions(file: &File) -> Vec<(&'static str, String)> {
    let backend = file.backend.as_ref().or(file.endpoint_type.as_ref());
    let settings = backend.map_or("Not told".to_owned(), |backend| {
        format!("Backend {backend}; sampling, output cap and prompts not told")
    });
    let tokenizer = file.tokenizer_id.as_ref().map(|it| ("Tokenizer", it.clone()));
    let label = file.label.as_ref().map(|it| ("Label", it.clone()));
    [("Request settings", settings)].into_iter().chain(tokenizer).chain(label).collect()
}
