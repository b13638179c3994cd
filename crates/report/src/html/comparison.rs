//! The page of a comparison: the verdict, the gates, both sides' latencies, and what it does not say.

use std::collections::BTreeMap;

use askama::Template;
use streamgauge_metrics::{Compared, level_in_percent, standings};
use streamgauge_schema::{
    Build, ComparisonMethod, ComparisonV2, Identifier, LimitationKind, PublicText,
};

use super::findings::{FindingRow, findings};
use super::gates::{GateCell, gate_cells};
use super::glossary::Glossary;
use super::shell::{Shell, fill};
use super::verdict::Verdict;
use crate::error::PageError;
use crate::number::NONE;
use crate::plot::{Colour, Curve, Plot, ecdf};
use crate::requests::Requests;
use crate::words::counted;

#[derive(Template)]
#[template(path = "comparison.html")]
struct ComparisonPage {
    shell: Shell,
    heading: String,
    is_simulated: bool,
    verdict: Verdict,
    design: String,
    sides: Vec<SideRow>,
    cells: Vec<GateCell>,
    plots: Vec<Plot>,
    /// How many of the compared runs the plots are of.
    found: String,
    findings: Vec<FindingRow>,
    turnover: Option<String>,
    limitations: Vec<String>,
    glossary: Glossary,
}

/// What a build may declare.
type Declared = fn(&Build) -> &Option<PublicText>;

/// What a build may declare beside its model, what tells builds apart first.
const DECLARED: [(&str, Declared); 7] = [
    ("Variant", |build| &build.variant),
    ("Quantization", |build| &build.quantization),
    ("Image", |build| &build.image),
    ("Revision", |build| &build.revision),
    ("Runtime", |build| &build.runtime),
    ("Runtime version", |build| &build.runtime_version),
    ("Hardware", |build| &build.hardware),
];

/// What a comparison by the point rule says of an image that nobody declared.
const UNDECLARED: &str = "unknown";

/// Something that both sides have.
struct SideRow {
    label: &'static str,
    baseline: String,
    candidate: String,
}

/// The page of a comparison of any version, with the requests of those of its runs that are at hand, by
/// the ids of their records.
///
/// # Errors
/// [`PageError`], which no comparison that reads should cause.
pub fn comparison_page(
    compared: Compared<'_>,
    runs: &BTreeMap<Identifier, Requests>,
) -> Result<String, PageError> {
    let standings = standings(compared);
    let mut glossary = Glossary::default();
    let cells = gate_cells(compared, &standings, &mut glossary)?;
    let (verdict, rule) = match compared {
        Compared::V1(_) => (Verdict::of_gates(&standings, "point", compared), one_run_a_side()),
        Compared::V2(comparison) => {
            (Verdict::of_gates(&standings, "interval", compared), design(comparison))
        }
    };
    let (plots, found) = match compared {
        Compared::V1(_) => (Vec::new(), String::new()),
        Compared::V2(comparison) => curves(comparison, runs)?,
    };
    let heading = heading(compared);
    fill(&ComparisonPage {
        shell: Shell::titled(format!("{heading} · comparison report")),
        heading,
        is_simulated: is_simulated(compared),
        verdict,
        design: rule,
        sides: sides(compared),
        cells,
        plots,
        found,
        findings: findings(compared),
        turnover: turnover(compared),
        limitations: limitations(compared),
        glossary,
    })
}

fn is_simulated(compared: Compared<'_>) -> bool {
    let Compared::V2(comparison) = compared else { return false };
    comparison.limitations.iter().any(|it| it.kind == LimitationKind::Simulated)
}

fn one_run_a_side() -> String {
    "One run of each side in each cell; noise between runs was not considered.".to_owned()
}

/// The sides by what tells them apart.
fn heading(compared: Compared<'_>) -> String {
    let (old, new) = match compared {
        Compared::V1(it) if it.baseline_image == it.candidate_image => {
            if it.baseline_image.as_str() == UNDECLARED {
                return "Candidate against baseline".to_owned();
            }
            return format!("{}: candidate against baseline", it.candidate_image);
        }
        Compared::V1(it) => return format!("{} against {}", it.candidate_image, it.baseline_image),
        Compared::V2(it) => (&it.baseline, &it.candidate),
    };
    if old.model != new.model {
        return format!("{} against {}", new.model, old.model);
    }
    let declared = DECLARED.iter().map(|(_, of)| (of(old), of(new)));
    let parted = declared.filter_map(|(old, new)| old.as_ref().zip(new.as_ref()));
    match parted.into_iter().find(|(old, new)| old != new) {
        Some((one, other)) => format!("{}: {other} against {one}", new.model),
        None => format!("{}: candidate against baseline", new.model),
    }
}

fn sides(compared: Compared<'_>) -> Vec<SideRow> {
    let text = |value: &Option<PublicText>| {
        value.as_ref().map_or_else(|| NONE.to_owned(), ToString::to_string)
    };
    let row = |label, baseline, candidate| SideRow { label, baseline, candidate };
    match compared {
        Compared::V1(it) => {
            vec![row("Image", it.baseline_image.to_string(), it.candidate_image.to_string())]
        }
        Compared::V2(it) => {
            let (old, new) = (&it.baseline, &it.candidate);
            let model = row("Model", old.model.to_string(), new.model.to_string());
            let known = DECLARED.iter().filter(|(_, of)| of(old).is_some() || of(new).is_some());
            let rows = known.map(|(label, of)| row(*label, text(of(old)), text(of(new))));
            std::iter::once(model).chain(rows).collect()
        }
    }
}

/// How many runs, and how surely.
fn design(comparison: &ComparisonV2) -> String {
    let counts = comparison
        .cells
        .iter()
        .map(|(_, cell)| (cell.baseline_runs.len() as u64).max(cell.candidate_runs.len() as u64));
    let runs = counts.max().unwrap_or(0);
    let runs = match comparison.method {
        ComparisonMethod::Blocks => format!(
            "{} of one run of each side, one straight after the other",
            counted(runs, "block", "blocks")
        ),
        ComparisonMethod::Unpaired => {
            format!("Up to {} a side, not taken in blocks", counted(runs, "run", "runs"))
        }
    };
    let look = comparison.looks.as_ref().map_or_else(String::new, |looks| {
        format!("; this is look {} of {} that were planned", looks.look, looks.planned_blocks.len())
    });
    let fail = comparison
        .fail_level
        .map_or_else(String::new, |level| format!(", those of a fail {}", level_in_percent(level)));
    let pass = level_in_percent(comparison.pass_level);
    format!("{runs}{look}. Intervals of a pass have a level of {pass}{fail}.")
}

/// Both curves of each cell in one plot, over all requests of a side's runs, and how many runs that is.
fn curves(
    comparison: &ComparisonV2,
    runs: &BTreeMap<Identifier, Requests>,
) -> Result<(Vec<Plot>, String), PageError> {
    let of = |latencies: &Requests, which: usize| match which {
        0 => latencies.latencies.ttft_us.clone(),
        _ => latencies.latencies.e2e_us.clone(),
    };
    let (mut plots, mut found, mut all) = (Vec::new(), 0_u64, 0_u64);
    for (place, (name, cell)) in comparison.cells.iter().enumerate() {
        let sides = [&cell.baseline_runs, &cell.candidate_runs];
        let at_hand = sides.map(|side| {
            side.iter().filter_map(|run| runs.get(&run.run_id)).collect::<Vec<&Requests>>()
        });
        all += sides.iter().map(|side| side.len() as u64).sum::<u64>();
        found += at_hand.iter().map(|side| side.len() as u64).sum::<u64>();
        for (which, latency) in ["TTFT", "E2E"].into_iter().enumerate() {
            let pooled = at_hand
                .each_ref()
                .map(|side| side.iter().flat_map(|run| of(run, which)).collect::<Vec<u64>>());
            if pooled.iter().any(Vec::is_empty) {
                continue;
            }
            let [old, new] = &pooled;
            let sides = [("baseline", Colour::Muted, old), ("candidate", Colour::Second, new)];
            let curves = sides.map(|(side, colour, values_us)| Curve {
                name: format!("{latency}, {side}"),
                colour,
                values_us,
            });
            let title = format!("{latency} in cell {name}");
            plots.extend(ecdf(format!("curve-{place}-{which}"), &title, &curves)?);
        }
    }
    let said = match found {
        0 => "The journals of its runs were not at hand, so that no curves are shown.".to_owned(),
        _ => format!(
            "All requests of each side together, from {found} of {}.",
            counted(all, "run", "runs")
        ),
    };
    Ok((plots, said))
}

fn turnover(compared: Compared<'_>) -> Option<String> {
    match compared {
        Compared::V1(_) => None,
        Compared::V2(comparison) => comparison.turnover.as_ref().map(|it| it.reason.to_string()),
    }
}

fn limitations(compared: Compared<'_>) -> Vec<String> {
    match compared {
        Compared::V1(comparison) => vec![comparison.qualification.to_string()],
        Compared::V2(comparison) => {
            comparison.limitations.iter().map(|it| it.text.to_string()).collect()
        }
    }
}
