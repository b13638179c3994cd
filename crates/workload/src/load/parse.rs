//! How clients and rates are written: one number, or stages of a number or a ramp and a length.

use std::str::FromStr;

use streamgauge_schema::{ClientStage, RateStage};

use super::{Clients, Part, Rates, Staged};
use crate::load_error::LoadError;

/// Milliseconds of each unit. `ms` ends like `s`, but leaves no number before it then.
const UNITS: [(&str, f64); 4] = [("ms", 1.0), ("s", 1e3), ("m", 6e4), ("h", 3.6e6)];

impl FromStr for Clients {
    type Err = LoadError;

    /// # Errors
    /// Names the part that is neither a number of clients nor a stage.
    fn from_str(text: &str) -> Result<Self, LoadError> {
        parse(text, "a whole number of clients").map(Self)
    }
}

impl FromStr for Rates {
    type Err = LoadError;

    /// # Errors
    /// Names the part that is neither a rate nor a stage.
    fn from_str(text: &str) -> Result<Self, LoadError> {
        parse(text, "a number of requests per second").map(Self)
    }
}

impl Staged for ClientStage {
    type Number = u64;

    fn new(from_clients: u64, to_clients: u64, duration_ms: u64) -> Self {
        Self { from_clients, to_clients, duration_ms }
    }
}

impl Staged for RateStage {
    type Number = f64;

    fn new(from_per_s: f64, to_per_s: f64, duration_ms: u64) -> Self {
        Self { from_per_s, to_per_s, duration_ms: Some(duration_ms), requests: 0 }
    }
}

fn parse<S: Staged<Number: FromStr>>(
    text: &str,
    number_is: &'static str,
) -> Result<Part<S>, LoadError> {
    let number = number::<S>(text, number_is);
    if number.is_ok() || !(text.contains([',', ':']) || text.contains("..")) {
        return number.map(Part::Constant);
    }
    let stages = text.split(',').map(|stage| parse_stage(stage, number_is));
    stages.collect::<Result<_, _>>().map(Part::Stages)
}

fn parse_stage<S: Staged<Number: FromStr>>(
    stage: &str,
    number_is: &'static str,
) -> Result<S, LoadError> {
    let Some((ramp, length)) = stage.split_once(':') else {
        return Err(wrong(stage, "a stage with its length, such as 10:30s"));
    };
    let (from, to) = ramp.split_once("..").unwrap_or((ramp, ramp));
    let length = duration_ms(length)?;
    Ok(S::new(number::<S>(from, number_is)?, number::<S>(to, number_is)?, length))
}

fn number<S: Staged<Number: FromStr>>(
    text: &str,
    number_is: &'static str,
) -> Result<S::Number, LoadError> {
    text.trim().parse().map_err(|_| wrong(text, number_is))
}

/// A length of whole milliseconds.
fn duration_ms(text: &str) -> Result<u64, LoadError> {
    let parsed = UNITS.iter().find_map(|(unit, millis)| {
        let number: f64 = text.trim().strip_suffix(unit)?.parse().ok()?;
        Some(number * millis)
    });
    match parsed {
        Some(millis) if millis >= 1.0 && millis.fract() == 0.0 => Ok(millis as u64),
        _ => Err(wrong(text, "a length of at least 1ms, in ms, s, m or h, such as 30s")),
    }
}

fn wrong(found: &str, wanted: &'static str) -> LoadError {
    LoadError::Syntax { found: found.to_owned(), wanted }
}
