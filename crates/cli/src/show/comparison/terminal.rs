//! A comparison for a terminal: usual names fit into a hundred columns.

use comfy_table::{CellAlignment, Table, presets};
use streamgauge_schema::{Equivalence, FindingVerdict, GateStanding, StoodGate};

use super::findings::p_value;
use super::{Figures, POINTS, View, change, ends, unit, word};
use crate::show::number::figure;
use crate::show::page::Page;

/// Gaps before the columns of a comparison by intervals: what together still fits.
const INTERVAL_GAPS: [u16; 8] = [0, 2, 2, 2, 2, 1, 1, 2];
/// What stands below the words of a list.
const BEHIND: &str = "              ";

pub(super) fn terminal(view: &View, page: Page) -> String {
    let mut parts = vec![verdict(view, page), sides(view, page), gates(view)];
    parts.extend(equivalence(view, page));
    parts.extend(turnover(view, page));
    parts.extend(judged_before_speed(view, page));
    if !view.decided.is_empty() {
        let decided: Vec<String> = view.decided.iter().map(|it| page.prose(it, "  ")).collect();
        parts.push(decided.join("\n"));
    }
    if !view.limitations.is_empty() {
        parts.push(page.list("What this does not say:", &view.limitations));
    }
    parts.join("\n\n")
}

fn sides(view: &View, page: Page) -> String {
    let lines = [
        page.labelled("baseline   ", &view.baseline),
        page.labelled("candidate  ", &view.candidate),
        page.prose(&view.design, ""),
    ];
    lines.join("\n")
}

pub(super) fn verdict(view: &View, page: Page) -> String {
    let head = format!("Verdict by the {} rule: {}", view.rule, word(view.standings.outcome));
    let reasons = view.not_passed().into_iter();
    let reasons = reasons.map(|it| format!("  {}: {}: {}", it.what, word(it.verdict), it.reason));
    let reasons: Vec<String> = reasons.map(|text| page.prose(&text, "    ")).collect();
    match (reasons.is_empty(), view.standings.gates.len()) {
        (false, _) => format!("{head}\n{}", reasons.join("\n")),
        (true, 0) => format!("{head}\n  there is no gate"),
        (true, 1) => format!("{head}\n  the one gate passed"),
        (true, count) => format!("{head}\n  all {count} gates passed"),
    }
}

fn gates(view: &View) -> String {
    let intervals = view.rule == "interval";
    let header: Vec<&str> = match intervals {
        true => vec![
            "changes in %",
            "baseline",
            "candidate",
            "change",
            "interval",
            "noise",
            "limit",
            "verdict",
        ],
        false => vec!["changes in %", "baseline", "candidate", "change", "limit", "verdict"],
    };
    let columns = header.len();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for (place, (cell, rows)) in view.cells().into_iter().enumerate() {
        if place > 0 {
            table.add_row([""]);
        }
        table.add_row([cell]);
        for (gate, figures) in rows {
            table.add_row(row(gate, figures, intervals));
        }
    }
    let gaps = if intervals { &INTERVAL_GAPS[..] } else { &[0, 2, 2, 2, 2, 2] };
    for ((place, column), gap) in table.column_iter_mut().enumerate().zip(gaps) {
        column.set_padding((*gap, 0));
        let is_text = place == 0 || place + 1 == columns;
        let alignment = if is_text { CellAlignment::Left } else { CellAlignment::Right };
        column.set_cell_alignment(alignment);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

fn row(gate: &StoodGate, figures: Figures, intervals: bool) -> Vec<String> {
    let percent = |value: Option<f64>| value.map_or_else(|| figure(None), change);
    let mut row = vec![
        label(gate),
        figure(figures.baseline),
        figure(figures.candidate),
        percent(gate.delta_percent),
    ];
    if intervals {
        row.push(gate.pass_interval.as_ref().map_or_else(|| figure(None), ends));
        row.push(percent(figures.noise_percent).replace('+', ""));
    }
    row.push(gate.limit_percent.to_string());
    row.push(word(gate.verdict).to_owned());
    row
}

/// A gate's metric, with the unit of its change where that is not percent.
fn label(gate: &StoodGate) -> String {
    let metric = &gate.metric;
    if unit(gate) == POINTS { format!("{metric}, {POINTS}") } else { metric.to_string() }
}

/// For which metrics the builds are the same, and for which they differ by more than the limit.
fn equivalence(view: &View, page: Page) -> Option<String> {
    let words = [
        ("same      ", Equivalence::Within),
        ("different ", Equivalence::Outside),
        ("open      ", Equivalence::Undecided),
    ];
    let lines = words.into_iter().filter_map(|(words, which)| {
        let gates = view.standings.gates.iter().zip(&view.figures);
        let of = gates.filter(|(_, figures)| figures.equivalence == Some(which));
        listed(page, words, of.map(|(gate, _)| (gate.cell.as_str(), gate.metric.as_str())))
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| {
        format!("Whether both builds are the same, within ± the limit:\n{}", lines.join("\n"))
    })
}

fn turnover(view: &View, page: Page) -> Option<String> {
    let passed = view.standings.turnover == Some(GateStanding::Pass);
    let text = view.turnover.as_ref().filter(|_| passed)?;
    Some(page.prose(&format!("turnover: pass: {text}"), "  "))
}

fn judged_before_speed(view: &View, page: Page) -> Option<String> {
    let of = |verdict| view.findings.iter().filter(move |row| row.verdict == verdict);
    let mut lines: Vec<String> = of(FindingVerdict::Differs)
        .map(|row| {
            let (sides, p) = (format!("{} against {}", row.baseline, row.candidate), row.p_value);
            let text =
                format!("  DIFFER      {} {}: {sides}, p {}", row.cell, row.name, p_value(p));
            page.prose(&text, BEHIND)
        })
        .collect();
    let words =
        [("alike     ", FindingVerdict::Alike), ("not judged", FindingVerdict::NotEvaluated)];
    lines.extend(words.into_iter().filter_map(|(words, verdict)| {
        let found = of(verdict).map(|row| (row.cell.as_str(), row.name));
        listed(page, words, found)
    }));
    (!lines.is_empty()).then(|| format!("Judged before speed:\n{}", lines.join("\n")))
}

/// `  words  c1, c2: a, b; c8: a`; `None` where nothing is listed.
fn listed<'a>(
    page: Page,
    words: &str,
    found: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<String> {
    let mut cells: Vec<(String, Vec<&str>)> = Vec::new();
    let mut last = None;
    for (cell, name) in found {
        match cells.last_mut().filter(|_| last == Some(cell)) {
            Some((_, names)) => names.push(name),
            None => cells.push((cell.to_owned(), vec![name])),
        }
        last = Some(cell);
    }
    cells.dedup_by(|(cell, names), (before, same)| {
        let alike = names == same;
        if alike {
            before.push_str(&format!(", {cell}"));
        }
        alike
    });
    let cells: Vec<String> =
        cells.into_iter().map(|(cell, names)| format!("{cell}: {}", names.join(", "))).collect();
    let text = format!("  {words}  {}", cells.join("; "));
    (!cells.is_empty()).then(|| page.prose(&text, BEHIND))
}
