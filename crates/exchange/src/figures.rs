//! What was found as metrics of a record. Their ids begin with the tool's word: the meaning of an id
//! never changes, and no tool defines a figure exactly as another does.

use streamgauge_metrics::{Statistic, quantile_interval};
use streamgauge_schema::{Direction, Identifier, Metric, PublicText, Unit, WindowName};

use crate::error::ImportError;
use crate::found::{Found, Quantity, QuantitySpec, Samples, Total};
use crate::stat::Stat;
use crate::texts::public;
use crate::tool::Tool;

/// How far the file's own figure may lie from that of its single requests: both are sums and
/// quotients of the same binary fractions.
const ROUNDING: f64 = 1e-6;

/// The metrics of a run, each under the tool's word and with the tool's definition.
pub(crate) fn metrics(tool: Tool, found: &Found) -> Result<Vec<Metric>, ImportError> {
    let mut metrics = Vec::new();
    for quantity in &found.quantities {
        metrics.extend(of_quantity(tool, quantity, found.outcomes.succeeded)?);
    }
    for total in &found.totals {
        metrics.push(of_total(tool, total, found.outcomes.offered())?);
    }
    Ok(metrics)
}

/// Where the figures that the file states are not those of its single requests.
pub(crate) fn disagreements(found: &Found) -> Vec<String> {
    let mut texts = Vec::new();
    for quantity in &found.quantities {
        let Some(samples) = &quantity.samples else { continue };
        let sorted = sorted(samples);
        for (stat, stated) in &quantity.stated {
            let Some(own) = statistic_of(stat).and_then(|stat| stat.of_sorted(&sorted)) else {
                continue;
            };
            if (own - stated).abs() > ROUNDING * own.abs().max(1.0) {
                let (phrase, name) = (stat.phrase(), quantity.spec.name);
                texts.push(format!(
                    "{phrase} of {name}: the file states {stated:?}, its single requests give \
                     {own:?}; the latter stands here."
                ));
            }
        }
    }
    texts
}

fn of_quantity(
    tool: Tool,
    quantity: &Quantity,
    succeeded: u64,
) -> Result<Vec<Metric>, ImportError> {
    let spec = quantity.spec;
    if let Some(samples) = &quantity.samples {
        let sorted = sorted(samples);
        let each = Statistic::ALL.into_iter().map(|statistic| {
            let value = statistic.of_sorted(&sorted);
            let interval = statistic.quantile().and_then(|q| quantile_interval(&sorted, q));
            Ok(Metric {
                value,
                samples: sorted.len() as u64,
                missing: samples.missing,
                interval,
                ..bare(tool, spec, &statistic.into())?
            })
        });
        return each.collect();
    }
    let each = quantity.stated.iter().map(|(stat, value)| {
        Ok(Metric {
            value: Some(*value),
            samples: quantity.stated_count.unwrap_or(succeeded).max(1),
            ..bare(tool, spec, stat)?
        })
    });
    each.collect()
}

fn sorted(samples: &Samples) -> Vec<f64> {
    let mut sorted = samples.values.clone();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The statistic that is taken of samples here, where it is the one that the file states: percentiles
/// of a tool that has another estimator come as such.
fn statistic_of(stat: &Stat) -> Option<Statistic> {
    Statistic::ALL.into_iter().find(|statistic| Stat::from(*statistic) == *stat)
}

/// A metric without its value.
fn bare(tool: Tool, spec: &QuantitySpec, stat: &Stat) -> Result<Metric, ImportError> {
    let direction = if stat.is_spread() { Direction::Neutral } else { spec.direction };
    let id = format!("{}_{}_{}", spec.id, stat.word(), spec.unit.id_suffix());
    let label = format!("{} ({}), {}", spec.name, tool.as_str(), stat.label());
    let definition = format!("{} of {}", stat.phrase(), spec.meaning);
    metric(tool, &id, &label, definition, (spec.unit, direction))
}

fn of_total(tool: Tool, total: &Total, requests: u64) -> Result<Metric, ImportError> {
    let spec = total.spec;
    let kind = (spec.unit, spec.direction);
    let label = format!("{} ({})", spec.name, tool.as_str());
    let bare = metric(tool, spec.id, &label, spec.definition.to_owned(), kind)?;
    let samples = total.value.map_or(0, |_| requests.max(1));
    Ok(Metric { value: total.value, samples, ..bare })
}

fn metric(
    tool: Tool,
    id: &str,
    label: &str,
    definition: String,
    (unit, direction): (Unit, Direction),
) -> Result<Metric, ImportError> {
    let id = format!("{}_{id}", tool.as_str());
    Ok(Metric {
        id: Identifier::new(id.as_str()).ok_or(ImportError::NameTooLong { name: id })?,
        label: public(label)?,
        definition: public(definition)?,
        unit,
        value: None,
        samples: 0,
        direction,
        window: WindowName::Whole,
        population: population(tool)?,
        token_source: None,
        missing: 0,
        interval: None,
    })
}

fn population(tool: Tool) -> Result<PublicText, ImportError> {
    public(format!("requests that {tool} counts as successful"))
}
