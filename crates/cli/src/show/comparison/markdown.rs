//! A comparison as Markdown, for a pull request or the summary of a step.

use streamgauge_schema::{Equivalence, GateStanding, StoodGate};

use super::findings::{p_value, sides};
use super::{Figures, POINTS, View, change, ends, unit, word};
use crate::show::markdown::{code, prose, table};
use crate::show::number::figure;

/// A blank at which no line is broken.
const UNBROKEN: &str = "\u{a0}";

pub(super) fn markdown(view: &View) -> String {
    let mut parts = vec![heading(view)];
    parts.extend(not_passed(view));
    parts.push(gates(view));
    parts.extend(turnover(view));
    parts.push(sides_and_design(view));
    parts.extend(findings(view));
    parts.extend(list("Already decided, as the comparison says", &view.decided));
    parts.extend(list("What this does not say", &view.limitations));
    parts.join("\n\n")
}

/// A comparison in few lines, for where the whole does not fit.
pub(crate) fn short(compared: streamgauge_metrics::Compared<'_>) -> String {
    let view = View::of(compared);
    let passed = view.standings.gates.iter().filter(|it| it.verdict == GateStanding::Pass).count();
    let count = view.standings.gates.len();
    format!("{}\n\n{passed} of {count} gates passed; the tables did not fit here.", heading(&view))
}

/// A verdict with a sign that is found at a glance.
fn marked(verdict: GateStanding) -> String {
    let sign = match verdict {
        GateStanding::Fail => "❌",
        GateStanding::Inconclusive | GateStanding::Ineligible | GateStanding::NotEvaluated => "⚠️",
        GateStanding::Pass => "✅",
    };
    format!("{sign} {}", word(verdict))
}

fn heading(view: &View) -> String {
    format!("### {} by the {} rule", marked(view.standings.outcome), view.rule)
}

fn not_passed(view: &View) -> Option<String> {
    let lines = view.not_passed().into_iter().map(|it| {
        format!("- {}: **{}**: {}", prose(&it.what), word(it.verdict), prose(&it.reason))
    });
    let lines: Vec<String> = lines.collect();
    match (lines.is_empty(), view.standings.gates.len()) {
        (false, _) => Some(lines.join("\n")),
        (true, 0) => Some("There is no gate.".to_owned()),
        (true, 1) => Some("The one gate passed.".to_owned()),
        (true, count) => Some(format!("All {count} gates passed.")),
    }
}

fn gates(view: &View) -> String {
    let gates = view.cells().into_iter().flat_map(|(_, rows)| rows);
    if view.rule == "interval" {
        let header = [
            "verdict",
            "cell",
            "metric",
            "baseline",
            "candidate",
            "change, %",
            "interval, %",
            "noise, %",
            "limit, %",
            "same ± limit",
        ];
        table(header, 3, gates.map(|(gate, figures)| interval_row(gate, figures)))
    } else {
        let header =
            ["verdict", "cell", "metric", "baseline", "candidate", "change, %", "limit, %"];
        table(header, 3, gates.map(|(gate, figures)| point_row(gate, figures)))
    }
}

fn point_row(gate: &StoodGate, figures: Figures) -> [String; 7] {
    [
        marked(gate.verdict),
        code(gate.cell.as_str()),
        metric(gate),
        figure(figures.baseline),
        figure(figures.candidate),
        percent(gate.delta_percent),
        gate.limit_percent.to_string(),
    ]
}

fn interval_row(gate: &StoodGate, figures: Figures) -> [String; 10] {
    let [verdict, cell, metric, baseline, candidate, change, limit] = point_row(gate, figures);
    let interval = gate.pass_interval.as_ref();
    let same = match figures.equivalence {
        None => figure(None),
        Some(Equivalence::Outside) => "no".to_owned(),
        Some(Equivalence::Undecided) => "open".to_owned(),
        Some(Equivalence::Within) => "yes".to_owned(),
    };
    [
        verdict,
        cell,
        metric,
        baseline,
        candidate,
        change,
        interval.map_or_else(|| figure(None), |interval| ends(interval).replace(' ', UNBROKEN)),
        percent(figures.noise_percent).replace('+', ""),
        limit,
        same,
    ]
}

/// A gate's metric, with the unit of its change where that is not percent.
fn metric(gate: &StoodGate) -> String {
    let name = code(gate.metric.as_str());
    if unit(gate) == POINTS { format!("{name}, {POINTS}") } else { name }
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| figure(None), change)
}

fn turnover(view: &View) -> Option<String> {
    let verdict = view.standings.turnover.filter(|it| *it == GateStanding::Pass)?;
    Some(format!("Turnover: {}: {}", marked(verdict), prose(view.turnover.as_deref()?)))
}

fn sides_and_design(view: &View) -> String {
    format!(
        "**Baseline**: {}  \n**Candidate**: {}  \n{}",
        prose(&view.baseline),
        prose(&view.candidate),
        prose(&view.design)
    )
}

/// What was judged before speed, folded: what differs stands among the reasons.
fn findings(view: &View) -> Option<String> {
    let rows = view.findings.iter().map(|row| {
        [
            sides(row.verdict).to_owned(),
            code(&row.cell),
            code(row.name),
            prose(&row.baseline),
            prose(&row.candidate),
            prose(&p_value(row.p_value)),
        ]
    });
    let header = ["sides", "cell", "judged before speed", "baseline", "candidate", "p"];
    let table = table(header, 3, rows);
    let summary = "What was judged before speed";
    (!view.findings.is_empty())
        .then(|| format!("<details><summary>{summary}</summary>\n\n{table}\n\n</details>"))
}

fn list(heading: &str, items: &[String]) -> Option<String> {
    let items: Vec<String> = items.iter().map(|item| format!("- {}", prose(item))).collect();
    (!items.is_empty()).then(|| format!("**{heading}**\n\n{}", items.join("\n")))
}
