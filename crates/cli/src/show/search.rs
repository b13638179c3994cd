//! A search: its probes, and what they show.

use streamgauge_schema::{ProbeFault, SearchProbe, SearchReport, SearchedLoad};

use super::number::{count, figure};
use super::page::Page;
use super::table::table;

/// The probes in the order of their load, and the answer.
pub(crate) fn search(report: &SearchReport, page: Page) -> String {
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
                (false, Some(reason)) => format!("FAILED: {}", probe_fault(reason)),
            },
        ]
    });
    let load = searched(report.load);
    let rows = table(page.format, [load, "good", "goals"], rows);
    let mut answer = match (report.highest_held, report.lowest_failed) {
        (Some(held), Some(failed)) => format!(
            "The goals held up to {} {load}, and failed at {}.",
            load_figure(held),
            load_figure(failed)
        ),
        (Some(held), None) => {
            format!("The goals held up to {} {load}, the most that was tried.", load_figure(held))
        }
        (None, Some(_)) => "The goals held at no load that was tried.".to_owned(),
        (None, None) => "No load was tried to its end.".to_owned(),
    };
    if !report.complete {
        answer = format!("The search did not come to its end. {answer}");
    }
    if !report.held_above_a_failure.is_empty() {
        let loads: Vec<String> =
            report.held_above_a_failure.iter().map(|load| load_figure(*load)).collect();
        answer += &format!(
            " They also held at {}, above a load at which they failed: the limit is within the \
             noise of these probes.",
            loads.join(", ")
        );
    }
    let lacking = total(report, |probe| probe.without_value);
    if lacking > 0 {
        answer += &format!(
            " Succeeded requests without a value that a goal limits, which count as misses: {}.",
            count(lacking)
        );
    }
    let other = total(report, |probe| probe.other_model);
    if other > 0 {
        answer += &format!(
            " Responses that named another model than the expected one: {}; what was measured is \
             not established.",
            count(other)
        );
    }
    format!("{rows}\n\n{}", page.prose(&answer, ""))
}

/// A number of all probes together. The numbers come from a file, which may hold any.
fn total(report: &SearchReport, of: fn(&SearchProbe) -> u64) -> u64 {
    report.probes.iter().map(of).fold(0, u64::saturating_add)
}

/// What was varied, in words.
pub(crate) fn searched(load: SearchedLoad) -> &'static str {
    match load {
        SearchedLoad::Clients => "clients",
        SearchedLoad::RequestsPerS => "requests per second",
    }
}

/// Why a probe did not hold, in words.
pub(crate) fn probe_fault(fault: ProbeFault) -> &'static str {
    match fault {
        ProbeFault::Cut => "requests were cut off after the grace",
        ProbeFault::NoValues => "no request has every value that a goal limits",
        ProbeFault::NoneEnded => "no request counts",
        ProbeFault::NotOffered => "requests were never sent, so that the load was not offered",
        ProbeFault::NothingSucceeded => "nothing succeeded",
    }
}

/// Clients are counted, rates are figures.
pub(crate) fn load_figure(load: f64) -> String {
    if load.fract() == 0.0 && (0.0..1e15).contains(&load) {
        count(load as u64)
    } else {
        figure(Some(load))
    }
}

#[cfg(test)]
mod tests {
    use streamgauge_schema::{Goal, GoalQuantity, Identifier, SearchSchema};

    use super::*;
    use crate::args::Format;

    fn probe(load: f64, number: u64) -> SearchProbe {
        SearchProbe {
            load,
            attained_ratio: Some(0.5),
            without_value: number,
            other_model: number,
            held: false,
            reason: Some(ProbeFault::NoValues),
            run_id: Identifier::new("sim-model-119f8a2564a2").unwrap(),
        }
    }

    #[test]
    fn numbers_of_a_file_add_up_whatever_they_are() {
        let report = SearchReport {
            schema: SearchSchema::V1,
            load: SearchedLoad::Clients,
            goals: vec![Goal { quantity: GoalQuantity::Tpot, limit_ms: 40.0 }],
            attainment: 0.95,
            complete: true,
            highest_held: None,
            lowest_failed: Some(1e300),
            held_above_a_failure: vec![-1.0],
            probes: vec![probe(1e300, u64::MAX), probe(-1.0, u64::MAX)],
        };
        let page = Page { format: Format::Table, columns: 80 };
        let shown = search(&report, page).split_whitespace().collect::<Vec<_>>().join(" ");
        for said in [
            "count as misses: 18,446,744,073,709,551,615.",
            "than the expected one: 18,446,744,073,709,551,615;",
            "They also held at -1.000,",
        ] {
            assert!(shown.contains(said), "{shown}");
        }
    }
}
