//! A search: its probes, and what they show.

use super::number::{count, figure};
use super::table::table;
use crate::args::Format;
use crate::commands::run::search::Report;

/// The probes in the order of their load, and the answer.
pub(crate) fn search(report: &Report, format: Format) -> String {
    let mut probes: Vec<_> = report.probes.iter().collect();
    probes.sort_by(|a, b| a.load.total_cmp(&b.load));
    let rows = probes.into_iter().map(|probe| {
        [
            load_figure(probe.load),
            probe
                .attained_ratio
                .map_or_else(|| "–".to_owned(), |ratio| format!("{:.2} %", ratio * 100.0)),
            match (probe.held, probe.reason) {
                (true, _) => "held".to_owned(),
                (false, None) => "FAILED".to_owned(),
                (false, Some(reason)) => format!("FAILED: {reason}"),
            },
        ]
    });
    let rows = table(format, [report.load, "good", "goals"], rows);
    let load = report.load;
    let mut answer = match (report.highest_held, report.lowest_failed) {
        _ if !report.complete => "The search did not come to its end.".to_owned(),
        (Some(held), Some(failed)) => format!(
            "The goals held up to {} {load}, and failed at {}.",
            load_figure(held),
            load_figure(failed)
        ),
        (Some(held), None) => {
            format!("The goals held up to {} {load}, the most that was tried.", load_figure(held))
        }
        (None, _) => "The goals held at no load that was tried.".to_owned(),
    };
    if !report.held_above_a_failure.is_empty() {
        let loads: Vec<String> =
            report.held_above_a_failure.iter().map(|load| load_figure(*load)).collect();
        answer += &format!(
            " They also held at {}, above a load at which they failed: the limit is within the \
             noise of these probes.",
            loads.join(", ")
        );
    }
    format!("{rows}\n\n{answer}")
}

/// Clients are counted, rates are figures.
fn load_figure(load: f64) -> String {
    if load.fract() == 0.0 { count(load as u64) } else { figure(Some(load)) }
}
