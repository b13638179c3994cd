//! The single requests of `--save-detailed`: parallel lists, one entry a request.

use streamgauge_schema::{Completion, ImportedRequest};

use super::{File, PLACE};
use crate::error::ImportError;
use crate::found::Samples;
use crate::texts::message;
use crate::times::{micros, no_less_than_0};

/// What the lists say, in their order.
#[derive(Debug)]
pub(super) struct Single {
    pub(super) requests: Vec<ImportedRequest>,
    ttft_ms: Samples,
    tpot_ms: Samples,
    itl_ms: Samples,
    latency_ms: Samples,
    /// Requests whose duration the file does not tell.
    without_elapsed: usize,
}

/// The lists that every detailed file has.
struct Lists<'a> {
    input_lens: &'a [u64],
    output_lens: &'a [u64],
    ttfts: &'a [f64],
    itls: &'a [Vec<f64>],
    errors: &'a [Option<String>],
}

impl Single {
    /// `None` where the file is not detailed.
    pub(super) fn of(file: &File) -> Result<Option<Self>, ImportError> {
        let lists =
            match (&file.input_lens, &file.output_lens, &file.ttfts, &file.itls, &file.errors) {
                (Some(input_lens), Some(output_lens), Some(ttfts), Some(itls), Some(errors)) => {
                    Lists { input_lens, output_lens, ttfts, itls, errors }
                }
                _ => return Ok(None),
            };
        check_lengths(file, &lists)?;
        check_times(file, &lists)?;
        let succeeded: Vec<bool> =
            (0..lists.errors.len()).map(|at| has_succeeded(&lists, at)).collect();
        let count = succeeded.iter().filter(|succeeded| **succeeded).count() as u64;
        if count != file.completed {
            return Err(contradiction(format!(
                "completed is {}, and {count} of the {} single requests have a TTFT or tokens and \
                 no error",
                file.completed,
                succeeded.len()
            )));
        }
        check_tokens(file, &lists, &succeeded)?;
        Ok(Some(Self::of_lists(file, &lists, &succeeded)))
    }

    fn of_lists(file: &File, lists: &Lists<'_>, succeeded: &[bool]) -> Self {
        let starts = file.start_times.as_deref().unwrap_or_default();
        let first_start = starts.iter().copied().fold(f64::INFINITY, f64::min);
        let places = || (0..succeeded.len()).filter(|at| succeeded[*at]);
        let latency = |at: usize| {
            let own = file.latencies.as_ref().map(|latencies| latencies[at]);
            own.unwrap_or_else(|| lists.ttfts[at] + lists.itls[at].iter().sum::<f64>())
        };
        let is_timed = |at: &usize| lists.ttfts[*at] > 0.0;
        let tpot = |at: usize| {
            let later = lists.output_lens[at].checked_sub(1).filter(|later| *later > 0)?;
            Some((latency(at) - lists.ttfts[at]) / later as f64 * 1e3)
        };
        let requests: Vec<ImportedRequest> = (0..succeeded.len())
            .map(|at| {
                let timed = succeeded[at] && is_timed(&at);
                ImportedRequest {
                    index: at as u64,
                    completion: if succeeded[at] {
                        Completion::Succeeded
                    } else {
                        Completion::Failed
                    },
                    message: (!succeeded[at])
                        .then(|| message(lists.errors[at].as_deref().unwrap_or_default())),
                    started_us: starts.get(at).map(|start| micros(start - first_start)),
                    elapsed_us: timed.then(|| micros(latency(at))),
                    first_output_us: timed.then(|| micros(lists.ttfts[at])),
                    intervals_us: timed.then(|| intervals(lists.ttfts[at], &lists.itls[at])),
                    prompt_tokens: Some(lists.input_lens[at]),
                    completion_tokens: succeeded[at].then(|| lists.output_lens[at]),
                }
            })
            .collect();
        Self {
            without_elapsed: requests.iter().filter(|it| it.elapsed_us.is_none()).count(),
            requests,
            ttft_ms: Samples::of(places().map(|at| is_timed(&at).then(|| lists.ttfts[at] * 1e3))),
            tpot_ms: Samples::of(places().map(|at| tpot(at).filter(|_| is_timed(&at)))),
            itl_ms: Samples {
                values: places().flat_map(|at| &lists.itls[at]).map(|gap| gap * 1e3).collect(),
                missing: places().filter(|at| lists.itls[*at].is_empty()).count() as u64,
            },
            latency_ms: Samples::of(places().map(|at| is_timed(&at).then(|| latency(at) * 1e3))),
        }
    }

    /// The values of a quantity of the file.
    pub(super) fn samples(&self, key: &str) -> Option<Samples> {
        let samples = match key {
            "ttft" => &self.ttft_ms,
            "tpot" => &self.tpot_ms,
            "itl" => &self.itl_ms,
            "e2el" => &self.latency_ms,
            _ => return None,
        };
        Some(Samples { values: samples.values.clone(), missing: samples.missing })
    }

    /// What the lists do not tell.
    pub(super) fn limitation(&self) -> Option<String> {
        let (without, of) = (self.without_elapsed, self.requests.len());
        (without > 0).then(|| {
            format!(
                "Requests whose duration the file does not tell: {without} of {of}; how many were \
                 under way at once is then not known either."
            )
        })
    }
}

/// The tool has no member for it: one that failed has an error, or neither a first event nor a token.
fn has_succeeded(lists: &Lists<'_>, at: usize) -> bool {
    let has_error = lists.errors[at].as_deref().is_some_and(|error| !error.is_empty());
    !has_error && (lists.ttfts[at] > 0.0 || lists.output_lens[at] > 0)
}

/// The first plus all differences is exactly the last, in microseconds too.
fn intervals(ttft: f64, itls: &[f64]) -> Vec<u64> {
    let mut at = ttft;
    let mut before = micros(ttft);
    itls.iter()
        .map(|gap| {
            at += gap;
            let now = micros(at);
            let interval = now - before;
            before = now;
            interval
        })
        .collect()
}

fn check_lengths(file: &File, lists: &Lists<'_>) -> Result<(), ImportError> {
    let requests = lists.errors.len();
    let lengths = [
        ("input_lens", Some(lists.input_lens.len())),
        ("output_lens", Some(lists.output_lens.len())),
        ("ttfts", Some(lists.ttfts.len())),
        ("itls", Some(lists.itls.len())),
        ("latencies", file.latencies.as_ref().map(Vec::len)),
        ("start_times", file.start_times.as_ref().map(Vec::len)),
    ];
    for (name, length) in lengths {
        if let Some(length) = length.filter(|length| *length != requests) {
            return Err(contradiction(format!(
                "{name} has {length} entries, errors has {requests}"
            )));
        }
    }
    if let Some(failed) = file.failed
        && file.completed.checked_add(failed) != Some(requests as u64)
    {
        return Err(contradiction(format!(
            "completed is {}, failed is {failed}, and errors has {requests} entries",
            file.completed
        )));
    }
    Ok(())
}

/// The sums that the file states are those of its lists.
fn check_tokens(file: &File, lists: &Lists<'_>, succeeded: &[bool]) -> Result<(), ImportError> {
    let sum = |lens: &[u64]| {
        let counted = lens.iter().zip(succeeded).filter(|(_, succeeded)| **succeeded);
        counted.fold(0_u64, |sum, (len, _)| sum.saturating_add(*len))
    };
    for (total, stated, list, lens) in [
        ("total_input_tokens", file.total_input_tokens, "input_lens", lists.input_lens),
        ("total_output_tokens", file.total_output_tokens, "output_lens", lists.output_lens),
    ] {
        let found = sum(lens);
        if found != stated {
            return Err(contradiction(format!(
                "{total} is {stated}, {list} of the successful requests has {found} together"
            )));
        }
    }
    Ok(())
}

fn check_times(file: &File, lists: &Lists<'_>) -> Result<(), ImportError> {
    let flat = [
        ("ttfts", lists.ttfts),
        ("latencies", file.latencies.as_deref().unwrap_or_default()),
        ("start_times", file.start_times.as_deref().unwrap_or_default()),
    ];
    for (name, values) in flat {
        for (at, value) in values.iter().enumerate() {
            no_less_than_0(*value, PLACE, || format!("{name}[{at}]"))?;
        }
    }
    for (request, gaps) in lists.itls.iter().enumerate() {
        for (at, value) in gaps.iter().enumerate() {
            no_less_than_0(*value, PLACE, || format!("itls[{request}][{at}]"))?;
        }
    }
    Ok(())
}

fn contradiction(contradiction: String) -> ImportError {
    ImportError::Contradiction { place: PLACE.to_owned(), contradiction }
}
