//! A server's own metrics, in the text format of Prometheus: of the families that are known the samples,
//! of everything else nothing.
//!
//! Invariant: what is returned holds no text of the server, is bounded, and so is every value in it. A line of a known family is read strictly; of others only the beginning is looked at, as
//! the format goes on to grow.

use std::collections::BTreeMap;

use streamgauge_schema::{Digest, ServerFamily, ServerSample};

/// Most samples that are kept of one answer: a server has one series of a family for each engine.
const MAX_SAMPLES: usize = 1024;
/// Greatest value that is kept: counts above it are not exact.
const MAX_VALUE: f64 = (1_u64 << 53) as f64;
/// Digits of a series' digest: enough to tell some hundreds apart.
const SERIES_DIGITS: usize = 8;
/// Labels that tell ranks apart which all report the same figure (SGLang's, when every scheduler reports).
const OF_REPLICAS: [&str; 3] = ["moe_ep_rank", "pp_rank", "tp_rank"];
/// A label whose values split a figure that also stands there whole, under the empty value (SGLang's).
const SPLITS: &str = "priority";

/// Why an answer is not a server's metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the metrics {problem}")]
pub struct ExpositionFault {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// Reads the samples of the families that are known, sorted by family and series.
///
/// Series that differ only by a rank whose peers all report the same count once, with the greatest value;
/// a part of a series that also stands there whole is left out, as is a value that is no number, negative,
/// or above 2^53.
///
/// ```
/// use streamgauge_observer::read_server_metrics;
/// use streamgauge_schema::ServerFamily;
///
/// let text = b"# TYPE vllm:num_requests_running gauge\n\
///     vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n\
///     process_cpu_seconds_total 12.5\n";
/// let samples = read_server_metrics(text)?;
/// assert_eq!(samples.len(), 1);
/// assert_eq!((samples[0].family, samples[0].value), (ServerFamily::VllmRequestsRunning, 3.0));
/// # Ok::<(), streamgauge_observer::ExpositionFault>(())
/// ```
///
/// # Errors
/// When a line begins like no sample and no comment, a sample of a known family is malformed or ends
/// without a line feed, or there are more series than any server has.
pub fn read_server_metrics(text: &[u8]) -> Result<Vec<ServerSample>, ExpositionFault> {
    let mut found: BTreeMap<(ServerFamily, String), f64> = BTreeMap::new();
    // The last value of an answer that was cut off may be short of some digits.
    let whole_lines = text.iter().filter(|byte| **byte == b'\n').count();
    for (line, number) in text.split(|byte| *byte == b'\n').zip(1..) {
        let fault = |problem| ExpositionFault { line: number, problem };
        let Some((family, series, value)) = sample(line).map_err(fault)? else { continue };
        if number > whole_lines {
            return Err(fault("was cut off: it has no line feed"));
        }
        let known = found.entry((family, series)).or_insert(value);
        *known = known.max(value);
        if found.len() > MAX_SAMPLES {
            return Err(fault("is of more series than any server has"));
        }
    }
    let sample = |((family, series), value)| ServerSample { family, series, value };
    Ok(found.into_iter().map(sample).collect())
}

type Found = (ServerFamily, String, f64);

/// The sample in a line; `None` where there is none to be kept.
fn sample(line: &[u8]) -> Result<Option<Found>, &'static str> {
    let line = line.trim_ascii();
    match line.first() {
        None | Some(b'#') => return Ok(None),
        Some(b'{') if has_quoted_name(line) => return Ok(None),
        Some(_) => {}
    }
    let length = line.iter().position(|byte| !is_of_name(*byte)).unwrap_or(line.len());
    let (name, rest) = line.split_at(length);
    if name.first().is_none_or(u8::is_ascii_digit)
        || !matches!(rest.first(), Some(b'{' | b' ' | b'\t'))
    {
        return Err("is neither a comment nor a sample");
    }
    let name = std::str::from_utf8(name).map_err(|_| "is no text")?;
    let Ok(family) = name.parse::<ServerFamily>() else { return Ok(None) };
    let rest = std::str::from_utf8(rest).map_err(|_| "is no text")?.trim_ascii_start();
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(labels) => labels_of(labels)?,
        None => (BTreeMap::new(), rest),
    };
    let value = value_of(rest)?;
    let is_part = labels.get(SPLITS).is_some_and(|value| !value.is_empty());
    let is_kept = (0.0..=MAX_VALUE).contains(&value) && !is_part;
    Ok(is_kept.then(|| (family, series(&labels), value)))
}

/// Whether the name stands among the labels, in quotation marks; none of the known ones needs them.
fn has_quoted_name(line: &[u8]) -> bool {
    let rest = line.get(1..).unwrap_or_default().trim_ascii_start().strip_prefix(b"\"");
    let Some(Ok(rest)) = rest.map(std::str::from_utf8) else { return false };
    quoted(rest).is_ok_and(|(_, rest)| rest.trim_ascii_start().starts_with([',', '}']))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':')
}

/// The labels behind an opening brace, and what follows the closing one.
fn labels_of(mut text: &str) -> Result<(BTreeMap<&str, String>, &str), &'static str> {
    let mut labels = BTreeMap::new();
    loop {
        text = text.trim_ascii_start();
        if let Some(rest) = text.strip_prefix('}') {
            return Ok((labels, rest));
        }
        let (name, rest) = text.split_once('=').ok_or("has a label without a value")?;
        let name = name.trim_ascii();
        if name.is_empty() || !name.bytes().all(is_of_name) {
            return Err("has a label whose name is none");
        }
        let rest = rest.trim_ascii_start().strip_prefix('"').ok_or("has a label without quotes")?;
        let (value, rest) = quoted(rest)?;
        if labels.insert(name, value).is_some() {
            return Err("has a label twice");
        }
        let rest = rest.trim_ascii_start();
        text = match rest.strip_prefix(',') {
            Some(rest) => rest,
            None if rest.starts_with('}') => rest,
            None => return Err("has labels without a comma between them"),
        };
    }
}

/// A value up to its closing quotation mark, and what follows that.
fn quoted(text: &str) -> Result<(String, &str), &'static str> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                _ => return Err("has an unknown escape in a label"),
            },
            _ => value.push(character),
        }
    }
    Err("has a label without its end")
}

/// The value of a sample; a time may stand behind it, and an exemplar behind a hash sign.
fn value_of(text: &str) -> Result<f64, &'static str> {
    let sample = text.split('#').next().unwrap_or_default();
    let mut words = sample.split_ascii_whitespace();
    let value = words.next().ok_or("has no value")?;
    let time = words.next().map_or(Ok(0.0), str::parse::<f64>);
    if time.is_err() || words.next().is_some() {
        return Err("has more behind its value than a time");
    }
    value.parse().map_err(|_| "has a value that is no number")
}

/// Tells series apart, whatever the order of their labels.
fn series(labels: &BTreeMap<&str, String>) -> String {
    let told = labels.iter().filter(|(name, _)| !OF_REPLICAS.contains(name) && **name != SPLITS);
    let parts = told.flat_map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes(), b"\0"]);
    Digest::of_parts(parts).prefix(SERIES_DIGITS)
}

#[cfg(test)]
mod tests;
