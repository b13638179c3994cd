//! The page of a search for the highest load: its probes, and what follows from them.

use askama::Template;
use streamgauge_schema::{EvidenceMode, ProbeFault, RunRecordV2, SearchProbe, SearchReport};

use super::glossary::Glossary;
use super::shell::{Shell, fill};
use super::sweep::{CellRow, Cells, Column, load_figure};
use super::verdict::{Tone, Verdict};
use crate::error::PageError;
use crate::number::{NONE, share, tick};
use crate::plot::{Plot, probes};
use crate::words::{counted, searched};

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    shell: Shell,
    heading: String,
    is_simulated: bool,
    verdict: Verdict,
    goals: Vec<String>,
    probes: Vec<ProbeRow>,
    unit: &'static str,
    plots: Vec<Plot>,
    columns: Vec<Column>,
    rows: Vec<CellRow>,
    glossary: Glossary,
}

/// One probe.
struct ProbeRow {
    load: String,
    good: String,
    goals: String,
    tone: Tone,
    run: String,
}

/// The page of a search, with the records of those of its probes that are at hand.
///
/// # Errors
/// [`PageError`], which no report that reads should cause.
pub fn search_page(report: &SearchReport, runs: &[RunRecordV2]) -> Result<String, PageError> {
    let mut glossary = Glossary::default();
    let mut plots: Vec<Plot> = probes("probes", report)?.into_iter().collect();
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    if !runs.is_empty() {
        let load = |run: &RunRecordV2| {
            let probe = report.probes.iter().find(|probe| probe.run_id == run.run_id);
            probe.map_or(f64::INFINITY, |probe| probe.load)
        };
        let mut sorted: Vec<&RunRecordV2> = runs.iter().collect();
        sorted.sort_by(|a, b| load(a).total_cmp(&load(b)));
        let cells = Cells::of(&sorted, &mut glossary)?;
        plots.extend(cells.plots);
        (columns, rows) = (cells.columns, cells.rows);
    }
    let heading = format!("Highest load in {} at which goals hold", searched(report.load));
    fill(&SearchPage {
        shell: Shell::titled(format!("{heading} · search report")),
        heading,
        is_simulated: runs.iter().any(|run| run.evidence_mode == EvidenceMode::Simulated),
        verdict: verdict(report),
        goals: report
            .goals
            .iter()
            .map(|goal| {
                format!(
                    "{} at most {} ms",
                    goal.quantity.as_str().to_uppercase(),
                    tick(goal.limit_ms)
                )
            })
            .collect(),
        probes: rows_of(report),
        unit: searched(report.load),
        plots,
        columns,
        rows,
        glossary,
    })
}

fn verdict(report: &SearchReport) -> Verdict {
    let unit = searched(report.load);
    let (tone, word, text) = match (report.highest_held, report.lowest_failed) {
        (Some(held), Some(failed)) => (
            Tone::Good,
            format!("{} {unit}", load_figure(held)),
            format!("The goals held up to there, and failed at {}.", load_figure(failed)),
        ),
        (Some(held), None) => (
            Tone::Open,
            format!("At least {} {unit}", load_figure(held)),
            "The goals held at the most that was tried.".to_owned(),
        ),
        (None, Some(_)) => {
            (Tone::Bad, "None".to_owned(), "The goals held at no load that was tried.".to_owned())
        }
        (None, None) => {
            (Tone::Open, "Unknown".to_owned(), "No load was tried to its end.".to_owned())
        }
    };
    let mut reasons = Vec::new();
    if !report.complete {
        reasons.push("The search did not come to its end.".to_owned());
    }
    if !report.held_above_a_failure.is_empty() {
        let loads = report.held_above_a_failure.iter().map(|load| load_figure(*load));
        reasons.push(format!(
            "They also held at {}, above a load at which they failed: the limit is within the noise \
             of these probes.",
            loads.collect::<Vec<_>>().join(", ")
        ));
    }
    // A file may say anything.
    let sum =
        |of: fn(&SearchProbe) -> u64| report.probes.iter().map(of).fold(0, u64::saturating_add);
    for (number, what) in [
        (
            sum(|probe| probe.without_value),
            "without a value that a goal limits; each counts as a miss",
        ),
        (sum(|probe| probe.other_model), "answered by another model than the expected one"),
    ] {
        if number > 0 {
            reasons.push(format!("{} {what}.", counted(number, "request was", "requests were")));
        }
    }
    Verdict { tone, word, text, reasons }
}

fn rows_of(report: &SearchReport) -> Vec<ProbeRow> {
    let mut sorted: Vec<_> = report.probes.iter().collect();
    sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
    let rows = sorted.into_iter().map(|probe| ProbeRow {
        load: load_figure(probe.load),
        good: probe.attained_ratio.map_or_else(|| NONE.to_owned(), share),
        goals: match (probe.held, probe.reason) {
            (true, _) => "held".to_owned(),
            (false, None) => "failed".to_owned(),
            (false, Some(fault)) => format!("failed: {}", why(fault)),
        },
        tone: if probe.held { Tone::Good } else { Tone::Bad },
        run: probe.run_id.to_string(),
    });
    rows.collect()
}

fn why(fault: ProbeFault) -> &'static str {
    match fault {
        ProbeFault::Cut => "requests were cut off after the grace",
        ProbeFault::NoValues => "no request has every value that a goal limits",
        ProbeFault::NoneEnded => "no request counts",
        ProbeFault::NotOffered => "requests were never sent",
        ProbeFault::NothingSucceeded => "nothing succeeded",
    }
}
