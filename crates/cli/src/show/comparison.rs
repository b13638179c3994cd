//! A comparison of any version for people and for CI: the verdict first, what decided it, the gates,
//! and what a reader must know.

mod discordant;
mod findings;
mod junit;
mod markdown;
mod terminal;
#[cfg(test)]
mod tests;

use streamgauge_metrics::{Compared, Standings, level_in_percent, standings};
use streamgauge_schema::{
    Build, ComparedFigure, Comparison, ComparisonMethod, ComparisonV2, Equivalence, GateStanding,
    Interval, PublicText, StoodGate, Turnover,
};

use self::findings::{FindingRow, findings};
use super::page::Page;
use crate::args::Format;

pub(crate) use discordant::discordant;
pub(crate) use junit::junit;
pub(crate) use markdown::short;

/// What `promotion` and `human_decision` of a comparison say until somebody decides.
const UNDECIDED: &str = "undecided";
/// What stands for an image that was not declared.
const UNKNOWN: &str = "unknown";

/// A comparison in a format that people read.
pub(crate) fn comparison(compared: Compared<'_>, page: Page) -> String {
    let view = View::of(compared);
    match page.format {
        Format::Markdown => markdown::markdown(&view),
        Format::Json | Format::Table => terminal::terminal(&view, page),
    }
}

/// The verdict on a comparison and what decided it, for a terminal.
pub(crate) fn verdict(compared: Compared<'_>, page: Page) -> String {
    terminal::verdict(&View::of(compared), page)
}

/// Percentage points.
const POINTS: &str = "points";

/// What all formats show.
struct View {
    /// How it was judged: `point` or `interval`.
    rule: &'static str,
    standings: Standings,
    /// What the table shows beside each gate, in their order.
    figures: Vec<Figures>,
    baseline: String,
    candidate: String,
    /// What was held against what, and how surely.
    design: String,
    /// What the gate on turnover runs comes from, where the candidate has such runs.
    turnover: Option<String>,
    findings: Vec<FindingRow>,
    /// What was decided already, where the comparison itself says so.
    decided: Vec<String>,
    limitations: Vec<String>,
}

/// The figures behind a gate.
#[derive(Clone, Copy)]
struct Figures {
    baseline: Option<f64>,
    candidate: Option<f64>,
    noise_percent: Option<f64>,
    equivalence: Option<Equivalence>,
}

/// Gates that stand the same way for the same reason.
struct NotPassed {
    /// What they are: a cell with its metrics, or the turnover.
    what: String,
    verdict: GateStanding,
    reason: String,
}

impl View {
    fn of(compared: Compared<'_>) -> Self {
        let standings = standings(compared);
        match compared {
            Compared::V1(comparison) => Self::of_points(comparison, standings),
            Compared::V2(comparison) => Self::of_intervals(comparison, standings),
        }
    }

    fn of_points(comparison: &Comparison, standings: Standings) -> Self {
        let figures = comparison.cells.iter().flat_map(|(_, cell)| {
            cell.metrics.iter().map(|(_, metric)| Figures {
                baseline: metric.baseline,
                candidate: metric.candidate,
                noise_percent: None,
                equivalence: None,
            })
        });
        let turnovers = [&comparison.candidate_turnover, &comparison.candidate_turnover_repeat];
        let decided =
            [("promotion", &comparison.promotion), ("human decision", &comparison.human_decision)];
        Self {
            rule: "point",
            standings,
            figures: figures.collect(),
            baseline: image(&comparison.baseline_image),
            candidate: image(&comparison.candidate_image),
            design: "one run a side and cell".to_owned(),
            turnover: turnover(turnovers.into_iter().flatten()),
            findings: Vec::new(),
            decided: decided
                .iter()
                .filter(|(_, text)| text.as_str() != UNDECIDED)
                .map(|(what, text)| format!("{what}: {text}"))
                .collect(),
            limitations: vec![comparison.qualification.to_string()],
        }
    }

    fn of_intervals(comparison: &ComparisonV2, standings: Standings) -> Self {
        let figures = comparison.cells.iter().flat_map(|(_, cell)| {
            let answers = cell.correctness.as_ref().map(|it| Figures {
                baseline: mean(&it.baseline),
                candidate: mean(&it.candidate),
                noise_percent: None,
                equivalence: None,
            });
            let metrics = cell.metrics.iter().map(|(_, metric)| Figures {
                baseline: metric.baseline_mean,
                candidate: metric.candidate_mean,
                noise_percent: metric.noise_percent,
                equivalence: metric.equivalence,
            });
            answers.into_iter().chain(metrics)
        });
        Self {
            rule: "interval",
            standings,
            figures: figures.collect(),
            baseline: build(&comparison.baseline),
            candidate: build(&comparison.candidate),
            design: design(comparison),
            turnover: comparison.turnover.as_ref().map(|it| it.reason.to_string()),
            findings: findings(comparison),
            decided: Vec::new(),
            limitations: comparison.limitations.iter().map(|it| it.text.to_string()).collect(),
        }
    }

    /// The gates with their figures, a list for each cell.
    fn cells(&self) -> Vec<(&str, Vec<(&StoodGate, Figures)>)> {
        let mut cells: Vec<(&str, Vec<(&StoodGate, Figures)>)> = Vec::new();
        for (gate, figures) in self.standings.gates.iter().zip(&self.figures) {
            match cells.last_mut() {
                Some((cell, rows)) if *cell == gate.cell.as_str() => rows.push((gate, *figures)),
                _ => cells.push((gate.cell.as_str(), vec![(gate, *figures)])),
            }
        }
        cells
    }

    /// What did not pass, what decided the verdict first; alike reasons of a cell once.
    fn not_passed(&self) -> Vec<NotPassed> {
        let mut found: Vec<NotPassed> = Vec::new();
        let turnover = self.standings.turnover.zip(self.turnover.clone());
        if let Some((verdict, reason)) = turnover.filter(|(it, _)| *it != GateStanding::Pass) {
            found.push(NotPassed { what: "turnover".to_owned(), verdict, reason });
        }
        let mut last: Option<&StoodGate> = None;
        for gate in self.standings.gates.iter().filter(|it| it.verdict != GateStanding::Pass) {
            let alike = |other: &StoodGate| {
                (&other.cell, other.verdict, &other.reason)
                    == (&gate.cell, gate.verdict, &gate.reason)
            };
            match found.last_mut().filter(|_| last.is_some_and(alike)) {
                Some(found) => found.what.push_str(&format!(", {}", gate.metric)),
                None => found.push(NotPassed {
                    what: format!("{} {}", gate.cell, gate.metric),
                    verdict: gate.verdict,
                    reason: gate.reason.to_string(),
                }),
            }
            last = Some(gate);
        }
        found.sort_by_key(|it| (it.verdict != self.standings.outcome, severity(it.verdict)));
        found
    }
}

/// What failed comes before what could not be judged, and that before what noise left open.
fn severity(verdict: GateStanding) -> u8 {
    match verdict {
        GateStanding::Fail => 0,
        GateStanding::Ineligible => 1,
        GateStanding::NotEvaluated => 2,
        GateStanding::Inconclusive => 3,
        GateStanding::Pass => 4,
    }
}

/// The unit of a gate's change and limit: right answers fall by percentage points.
fn unit(gate: &StoodGate) -> &'static str {
    if gate.metric.as_str() == "pass_ratio" { POINTS } else { "%" }
}

/// A verdict in words; one that judges against the candidate in capitals.
fn word(verdict: GateStanding) -> &'static str {
    match verdict {
        GateStanding::Fail => "FAIL",
        GateStanding::Inconclusive => "inconclusive",
        GateStanding::Ineligible => "ineligible",
        GateStanding::NotEvaluated => "not evaluated",
        GateStanding::Pass => "pass",
    }
}

/// The ends of an interval in percent; one that is missing has no bound.
fn ends(interval: &Interval) -> String {
    let end = |value: Option<f64>| value.map_or_else(|| "∞".to_owned(), change);
    let lower = interval.lower.map_or_else(|| "−∞".to_owned(), change);
    format!("{lower} … {}", end(interval.upper))
}

/// A change in percent with its sign, under a heading that names the unit.
fn change(value: f64) -> String {
    // What is so large is no figure that anybody compares digit by digit.
    if value.abs() < 1e6 { format!("{value:+.2}") } else { format!("{value:+.2e}") }
}

/// The mean of the runs' figures.
fn mean(figures: &[ComparedFigure]) -> Option<f64> {
    let known: Vec<f64> = figures.iter().filter_map(|figure| figure.value).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

fn image(image: &PublicText) -> String {
    match image.as_str() {
        UNKNOWN => "an image that nobody declared".to_owned(),
        image => image.to_owned(),
    }
}

fn build(build: &Build) -> String {
    let named = |what: &str, text: &Option<_>| text.as_ref().map(|it| format!("{what} {it}"));
    let runtime = build.runtime.as_ref().map(|runtime| match &build.runtime_version {
        Some(version) => format!("{runtime} {version}"),
        None => runtime.to_string(),
    });
    let version = build.runtime_version.as_ref().filter(|_| runtime.is_none());
    let parts = [
        Some(build.model.to_string()),
        build.variant.as_ref().map(|variant| format!("variant {variant}")),
        build.image.as_ref().map(ToString::to_string),
        named("revision", &build.revision),
        runtime,
        version.map(|version| format!("version {version}")),
        build.quantization.as_ref().map(ToString::to_string),
        named("on", &build.hardware),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How many runs, and how surely.
fn design(comparison: &ComparisonV2) -> String {
    let counts = comparison
        .cells
        .iter()
        .map(|(_, cell)| [cell.baseline_runs.len(), cell.candidate_runs.len()]);
    let counts: Vec<[usize; 2]> = counts.collect();
    let range = |side: usize| {
        let least = counts.iter().map(|count| count[side]).min().unwrap_or(0);
        let most = counts.iter().map(|count| count[side]).max().unwrap_or(0);
        if least == most { least.to_string() } else { format!("{least} to {most}") }
    };
    let runs = match comparison.method {
        ComparisonMethod::Blocks => {
            let blocks = range(0);
            let noun = if blocks == "1" { "block" } else { "blocks" };
            format!("{blocks} {noun} of one run a side")
        }
        ComparisonMethod::Unpaired => {
            format!("{} and {} runs, not taken in blocks (Welch)", range(0), range(1))
        }
    };
    let look = comparison.looks.as_ref().map_or_else(String::new, |looks| {
        let planned: Vec<String> = looks.planned_blocks.iter().map(u64::to_string).collect();
        format!(" (look {}; looks were planned after {})", looks.look, planned.join(", "))
    });
    let fail = comparison
        .fail_level
        .map_or_else(String::new, |level| format!(", at {} to fail", level_in_percent(level)));
    let pass = level_in_percent(comparison.pass_level);
    format!("{runs}{look}; intervals at {pass} to pass{fail}")
}

fn turnover<'a>(turnovers: impl IntoIterator<Item = &'a Turnover>) -> Option<String> {
    let (mut runs, mut requests, mut exact) = (0_u64, 0_u64, 0_u64);
    for turnover in turnovers {
        runs += 1;
        requests = requests.saturating_add(turnover.requests);
        exact = exact.saturating_add(turnover.exact_output_passed);
    }
    let among = if runs == 1 { String::new() } else { format!(" of {runs} runs") };
    (runs > 0)
        .then(|| format!("{exact} of {requests} requests{among} had exactly the controlled output"))
}
