//! Values of arguments that are more than a word or a number.

use std::str::FromStr;

use streamgauge_client::is_path;
use streamgauge_schema::{Goal, GoalQuantity, Identifier};
use streamgauge_workload::{Clients, LoadError, Rates};

/// What is asked of the sampling: a temperature, or nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Temperature(pub(crate) Option<f64>);

/// What makes a cell, for each cell.
#[derive(Clone, Debug)]
pub(crate) struct Sweep<T> {
    pub(crate) cells: Vec<T>,
    /// It is one cell of stages with lengths of their own.
    pub(crate) staged: bool,
}

/// Reads the path of a server's own metrics.
pub(crate) fn parse_metrics_path(text: &str) -> Result<String, String> {
    match is_path(text) {
        true => Ok(text.to_owned()),
        false => Err("a path begins with a slash, as /metrics, and has no query".to_owned()),
    }
}

/// Reads a temperature, or the word `none`.
pub(crate) fn parse_temperature(text: &str) -> Result<Temperature, String> {
    match text {
        "none" => Ok(Temperature(None)),
        number => number
            .parse()
            .map(|number| Temperature(Some(number)))
            .map_err(|_| "a temperature is a number, or the word none".to_owned()),
    }
}

/// How several addresses share the requests.
#[derive(Clone, Debug)]
pub(crate) struct Weights(pub(crate) Vec<u64>);

/// Reads `2,1`.
pub(crate) fn parse_weights(text: &str) -> Result<Weights, String> {
    let weight = |word: &str| word.trim().parse().ok().filter(|weight| *weight > 0);
    let weights: Option<Vec<u64>> = text.split(',').map(weight).collect();
    weights.map(Weights).ok_or_else(|| "weights are whole numbers from 1, as in 2,1".to_owned())
}

/// Reads a name.
pub(crate) fn parse_identifier(text: &str) -> Result<Identifier, String> {
    Identifier::new(text).ok_or_else(|| {
        "a name is letters, digits, '.', '_' and '-', beginning with a letter or digit".to_owned()
    })
}

/// Reads `1,8,32`, or stages as `1..64:60s,64:5m`.
pub(crate) fn parse_clients(text: &str) -> Result<Sweep<Clients>, LoadError> {
    sweep(text)
}

/// Reads `2,4.5`, or stages as `10:30s,10..50:1m`.
pub(crate) fn parse_rates(text: &str) -> Result<Sweep<Rates>, LoadError> {
    sweep(text)
}

/// Stages follow each other in one cell; bare numbers are a cell each.
fn sweep<T: FromStr<Err = LoadError>>(text: &str) -> Result<Sweep<T>, LoadError> {
    let staged = text.contains(':');
    let cells = match staged {
        true => vec![text.parse()?],
        false => text.split(',').map(str::parse).collect::<Result<_, _>>()?,
    };
    Ok(Sweep { cells, staged })
}

/// Reads `ttft:500`.
pub(crate) fn parse_goal(text: &str) -> Result<Goal, String> {
    let form = || format!("{text:?} is no goal such as ttft:500, in milliseconds");
    let (quantity, limit) = text.split_once(':').ok_or_else(form)?;
    let quantity = match quantity {
        // As `vllm bench serve` calls it.
        "e2el" => GoalQuantity::E2e,
        ours => ours.parse().map_err(|error| format!("{error}"))?,
    };
    let limit_ms: f64 = limit.parse().map_err(|_| {
        let has_unit = limit.starts_with(|first: char| first.is_ascii_digit())
            && limit.ends_with(|last: char| last.is_ascii_alphabetic());
        if has_unit { format!("{}; leave out the unit", form()) } else { form() }
    })?;
    if limit_ms > 0.0 && limit_ms.is_finite() {
        Ok(Goal { quantity, limit_ms })
    } else {
        Err(format!("{text:?}: the limit must be above 0 ms"))
    }
}
