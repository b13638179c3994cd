//! From a plan's file to what is carried out: arguments for every run, the schedule, the gates.

use std::path::Path;

use anyhow::Context;
use clap::Command;
use streamgauge_client::{Endpoint, Proxy};
use streamgauge_metrics::{MatchingCondition, prompts_needed};
use streamgauge_schema::{
    Activation, Gates, GatesFault, Identifier, Load, QualificationArm, QualificationPhase,
    QualificationPlan, QualificationSide, QualificationTurnover, Visit,
};
use toml::Spanned;

use super::arm::{ArmKeys, check_arms};
use super::file::PlanFile;
use super::flags::{Place, Table, arguments, merged, of_turnover, turnover};
use super::schedule::{Schedule, ScheduleArgs};
use crate::args::run::RunArgs;
use crate::console;
use crate::flags::{Flags, Merged, Source, command, from_folder};
use crate::gates::{needs_grader, read_gates, unknown_metric};
use crate::input::read_text;
use crate::planning::{Asked, key_variable, never_said, never_stops};

/// What the table of turnover runs is called.
const TURNOVER: &str = "[turnover]";
/// Flags of an address; all others of an arm belong to its build.
const OF_ADDRESS: [&str; 9] = [
    "api-key-env",
    "base-url",
    "ca-file",
    "client-cert",
    "client-key",
    "header",
    "insecure",
    "proxy",
    "proxy-from-env",
];

/// A plan that is ready to be carried out.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) plan: QualificationPlan,
    pub(crate) cells: Vec<PlannedCell>,
    /// The turnover runs, if there are any.
    turnover: Option<PlannedCell>,
    /// The programs' own folder.
    pub(crate) folder: std::path::PathBuf,
}

/// One cell, for both arms.
#[derive(Debug)]
pub(crate) struct PlannedCell {
    pub(crate) name: Identifier,
    pub(crate) load: Load,
    baseline: ArmCell,
    candidate: ArmCell,
}

/// One cell of one arm.
#[derive(Debug)]
pub(crate) struct ArmCell {
    pub(crate) asked: Asked,
    args: RunArgs,
    /// The same at the other arm's address.
    swapped: RunArgs,
    /// The line of arguments that they were made of, without secrets.
    line: Vec<String>,
}

impl Resolved {
    /// Reads a plan and everything that it names; nothing is contacted.
    pub(crate) fn read(path: &Path, args: &ScheduleArgs) -> anyhow::Result<Self> {
        Self::parse(path, read_text(path)?, args)
    }

    /// The same from a text; the path is for errors, and for what its paths lead from.
    pub(crate) fn parse(path: &Path, text: String, args: &ScheduleArgs) -> anyhow::Result<Self> {
        let (source, mut file) = PlanFile::parse(path, text)?;
        let schedule = Schedule::of(&source, &file, args)?;
        let name = file.name(&source)?;
        let gates = gates(&source, &file)?;
        check_metrics(&source, &file, &gates)?;
        let allow_differing = allowed(&source, &file)?;
        let baseline = ArmKeys::take(&source, &mut file.baseline)?;
        let candidate = ArmKeys::take(&source, &mut file.candidate)?;
        check_arms(&source, &baseline, &candidate, &schedule)?;
        let Planned { cells, turnover, repeats } =
            planned(&source, &file, gates.max_failure_ratio())?;
        check_graded(&source, &file, &gates, &cells)?;
        let allow_insecure = allow_insecure(&source, &file, &cells)?;
        if schedule.swap_after_blocks.is_some() {
            check_hardware(&source, &cells)?;
        }
        let arm = |keys: ArmKeys, of: fn(&PlannedCell) -> &ArmCell| -> anyhow::Result<_> {
            let url = cells.first().and_then(|cell| of(cell).args.server.base_url.first());
            Ok(QualificationArm {
                base_url: Endpoint::parse(url.context("an arm has an address")?)?.to_string(),
                activation: keys.activation,
                ready: keys.ready,
                arguments: cells.iter().map(|cell| of(cell).line.clone()).collect(),
                turnover_arguments: turnover.iter().flat_map(|it| of(it).line.clone()).collect(),
            })
        };
        let plan = QualificationPlan {
            qualification_version: QualificationPlan::VERSION,
            name,
            instrument_version: env!("CARGO_PKG_VERSION").to_owned(),
            source: std::path::absolute(path)?.display().to_string(),
            options: args.words(),
            aa_blocks: schedule.aa_blocks,
            planned_blocks: schedule.planned_blocks,
            max_time_ms: schedule.max_time_ms,
            swap_after_blocks: schedule.swap_after_blocks,
            gates,
            allow_differing,
            allow_insecure,
            nonce_seed: getrandom::u64().context("no random number for the prompts")?,
            cells: cells.iter().map(|cell| cell.name.clone()).collect(),
            turnover: turnover
                .as_ref()
                .map(|cell| QualificationTurnover { cell: cell.name.clone(), repeats }),
            baseline: arm(baseline, |cell| &cell.baseline)?,
            candidate: arm(candidate, |cell| &cell.candidate)?,
        };
        Ok(Self { plan, cells, turnover, folder: source.folder().to_owned() })
    }

    /// Each load, with the number of its runs up to the last look.
    pub(crate) fn loads(&self) -> Vec<(&Load, u64)> {
        let turnovers = 2 * self.plan.turnover_repeats();
        let visits = self.plan.visits().len() as u64 - turnovers;
        let cells = self.cells.iter().map(|cell| (&cell.load, visits));
        cells.chain(self.turnover.iter().map(|cell| (&cell.load, turnovers))).collect()
    }

    /// The environment's variables that hold the keys of both arms: no program that is started needs them.
    pub(crate) fn key_variables(&self) -> Vec<&str> {
        let arms = self.cells.iter().flat_map(|cell| [&cell.baseline, &cell.candidate]);
        let mut variables: Vec<&str> = arms.map(|arm| key_variable(&arm.args.server)).collect();
        variables.sort_unstable();
        variables.dedup();
        variables
    }

    /// The cells of a visit.
    pub(crate) fn cells_of(&self, visit: Visit) -> &[PlannedCell] {
        match visit.phase {
            QualificationPhase::Aa | QualificationPhase::Blocks => &self.cells,
            QualificationPhase::Turnover => self.turnover.as_slice(),
        }
    }
}

impl Resolved {
    /// What is likely a mistake in a plan.
    pub(crate) fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let any = |is: fn(&RunArgs) -> bool| {
            let arms = self.cells.iter().flat_map(|cell| [&cell.baseline, &cell.candidate]);
            arms.map(|arm| &arm.args).any(is)
        };
        if self.plan.baseline.activation != (Activation::None {}) && any(|run| run.load.warmup == 0)
        {
            advice.push(
                "warmup is 0: the first requests after an activation meet a cold server, and count"
                    .to_owned(),
            );
        }
        if any(|run| run.prompts.dataset.is_some() && !run.prompts.nonce) {
            advice.push(
                "every run sends the prompts of the dataset again, and a server that caches prompts \
                 answers from its cache; `nonce = true` keeps them apart"
                    .to_owned(),
            );
        }
        let idle = |cell: &&PlannedCell| {
            never_stops(cell.load.requests, cell.baseline.args.limits.max_error_rate)
        };
        let idle = self.cells.iter().filter(idle);
        advice.extend(
            idle.map(|cell| format!("cell {}: {}", cell.name, never_said(cell.load.requests))),
        );
        advice.extend(self.too_few_prompts());
        advice
    }

    /// Cells of which the right answers could not pass their gate whatever both builds answer.
    fn too_few_prompts(&self) -> Option<String> {
        let alpha = self.plan.gates.alpha() / self.plan.planned_blocks.len().max(1) as f64;
        let needed = prompts_needed(&self.plan.gates, alpha)?;
        let is_small =
            |cell: &&PlannedCell| cell.baseline.asked.is_graded() && cell.load.requests < needed;
        let small = self.cells.iter().filter(is_small);
        let named: Vec<String> =
            small.map(|cell| format!("{} ({})", cell.name, cell.load.requests)).collect();
        (!named.is_empty()).then(|| {
            format!(
                "too few graded prompts for the gate on right answers (pass_ratio) to pass, even where \
                 both builds answer every one alike: it takes {needed}, and these cells have fewer: {}; \
                 give them more prompts, or the gate a wider limit",
                console::listed(named.into_iter())
            )
        })
    }
}

impl PlannedCell {
    /// What is asked of an arm.
    pub(crate) fn of(&self, side: QualificationSide) -> &ArmCell {
        match side {
            QualificationSide::Baseline => &self.baseline,
            QualificationSide::Candidate => &self.candidate,
        }
    }
}

impl ArmCell {
    /// The arguments of its runs, at its own address or at the other arm's.
    pub(crate) fn args(&self, swapped: bool) -> &RunArgs {
        if swapped { &self.swapped } else { &self.args }
    }
}

/// Where arms exchange their addresses, a machine is no arm's own.
fn check_hardware(source: &Source, cells: &[PlannedCell]) -> anyhow::Result<()> {
    let differ =
        |cell: &PlannedCell| cell.baseline.asked.hardware() != cell.candidate.asked.hardware();
    match cells.iter().any(differ) {
        true => Err(source.fault_of_all(
            "--swap-addresses: the deployment files name different hardware, which is neither arm's \
             own when their addresses are exchanged; leave `hardware` out of them",
        )),
        false => Ok(()),
    }
}

/// What no record of this version has would be noticed after the first block.
fn check_metrics(source: &Source, file: &PlanFile, gates: &Gates) -> anyhow::Result<()> {
    let mut gates = gates.gates().iter();
    match gates.find_map(|gate| unknown_metric(&gate.metric)) {
        Some(problem) => Err(source.fault(place_of_gates(file), &problem)),
        None => Ok(()),
    }
}

/// So would gates on right answers where nothing grades them.
fn check_graded(
    source: &Source,
    file: &PlanFile,
    gates: &Gates,
    cells: &[PlannedCell],
) -> anyhow::Result<()> {
    let Some(gate) = gates.gates().iter().find(|gate| needs_grader(&gate.metric)) else {
        return Ok(());
    };
    let ungraded = |cell: &&PlannedCell| !cell.baseline.asked.is_graded();
    match cells.iter().find(ungraded) {
        Some(cell) => {
            let problem = format!(
                "{} is a metric of graded runs, and cell {} has no dataset whose lines have \"expect\"",
                gate.metric, cell.name
            );
            Err(source.fault(place_of_gates(file), &problem))
        }
        None => Ok(()),
    }
}

/// Whether runs may leave their server unverified; where one does, the plan must say so.
fn allow_insecure(source: &Source, file: &PlanFile, cells: &[PlannedCell]) -> anyhow::Result<bool> {
    let is_insecure =
        |cell: &PlannedCell| [&cell.baseline, &cell.candidate].map(|arm| arm.args.server.insecure);
    let is_needed = cells.iter().flat_map(is_insecure).any(|it| it);
    match &file.allow_insecure {
        Some(allowed) if *allowed.get_ref() && !is_needed => {
            Err(source.fault(allowed.span(), "allow_insecure does nothing: no arm is `insecure`"))
        }
        Some(allowed) if *allowed.get_ref() => Ok(true),
        _ if is_needed => Err(source.fault_of_all(
            "insecure: no gate is judged by runs that do not verify their server; name its authority \
             with `ca-file`, or say `allow_insecure = true`, which the comparison will hold",
        )),
        _ => Ok(false),
    }
}

/// Where the gates stand, or the name of their file.
fn place_of_gates(file: &PlanFile) -> std::ops::Range<usize> {
    let named = file.gates.as_ref().map(Spanned::span);
    named.or_else(|| file.gate.as_ref().map(Spanned::span)).unwrap_or_default()
}

fn gates(source: &Source, file: &PlanFile) -> anyhow::Result<Gates> {
    let PlanFile { gates, gate, alpha, max_failure_ratio, .. } = file;
    if let Some(path) = gates {
        if gate.is_some() || alpha.is_some() || max_failure_ratio.is_some() {
            return Err(source.fault(
                path.span(),
                "gates names a file: [[gate]], alpha and max_failure_ratio belong into it",
            ));
        }
        let path = from_folder(source.folder(), path.get_ref());
        return read_gates(&path);
    }
    let golden = Gates::default();
    let place_of = |fault: &GatesFault| match fault {
        GatesFault::Alpha { .. } => alpha.as_ref().map(Spanned::span),
        GatesFault::MaxFailureRatio { .. } => max_failure_ratio.as_ref().map(Spanned::span),
        _ => gate.as_ref().map(Spanned::span),
    };
    let value = |stated: &Option<Spanned<f64>>, default| {
        stated.as_ref().map_or(default, |stated| *stated.get_ref())
    };
    Gates::new(
        value(alpha, golden.alpha()),
        value(max_failure_ratio, golden.max_failure_ratio()),
        gate.as_ref().map_or_else(|| golden.gates().to_vec(), |gate| gate.get_ref().clone()),
    )
    .map_err(|fault| source.fault(place_of(&fault).unwrap_or_default(), &fault.to_string()))
}

fn allowed(source: &Source, file: &PlanFile) -> anyhow::Result<Vec<Identifier>> {
    let one = |name: &Spanned<String>| {
        let fault =
            |problem: String| source.fault(name.span(), &format!("allow_differing: {problem}"));
        let condition: MatchingCondition =
            name.get_ref().parse().map_err(|error| fault(format!("{error}")))?;
        Identifier::new(condition.as_str()).context("conditions are named by identifiers")
    };
    file.allow_differing.iter().map(one).collect()
}

/// What is measured: the cells, and the turnover with its repeats.
struct Planned {
    cells: Vec<PlannedCell>,
    turnover: Option<PlannedCell>,
    repeats: u64,
}

fn planned(source: &Source, file: &PlanFile, max_failure_ratio: f64) -> anyhow::Result<Planned> {
    let run = command("run");
    let table = |title: String, place, flags| Table::check(source, &run, title, place, flags);
    let common = table("[run]".to_owned(), Place::Run, &file.run)?;
    let arms = [("[baseline]", &file.baseline), ("[candidate]", &file.candidate)]
        .map(|(title, flags)| table(title.to_owned(), Place::Arm, flags));
    let [baseline, candidate] = arms;
    let (baseline, candidate) = (baseline?, candidate?);
    let none = Flags::new();
    let tables: Vec<&Flags> =
        if file.cell.is_empty() { vec![&none] } else { file.cell.iter().collect() };
    let mut cells: Vec<PlannedCell> = Vec::new();
    for (number, flags) in (1..).zip(tables) {
        let title = format!("[[cell]] {number}");
        let cell = table(title.clone(), Place::Cell, flags)?;
        let of_arm =
            |arm| merged(source, &[&common, &cell, arm]).with_max_failures(max_failure_ratio);
        let of = |own, other| arm_cell(&run, &of_arm(own), &of_arm(other));
        let cell = PlannedCell::new(of(&baseline, &candidate)?, of(&candidate, &baseline)?)
            .map_err(|error| source.fault_of_all(&format!("{title}: {error:#}")))?;
        if cells.iter().any(|known| known.name == cell.name) {
            return Err(source.fault_of_all(&format!(
                "{title} is a second cell {}; give one of them another load, or a name with `cell = \
                 \"…\"`",
                cell.name
            )));
        }
        cells.push(cell);
    }
    let mut planned = Planned { cells, turnover: None, repeats: 0 };
    if let Some(flags) = &file.turnover {
        let command = command("turnover");
        let own = Table::check(source, &command, TURNOVER.to_owned(), Place::Turnover, flags)?;
        let of_arm = |arm| {
            let merged = of_turnover(source, &command, &common, [&own, arm]);
            merged.with_max_failures(max_failure_ratio)
        };
        let (old, new) = (of_arm(&baseline), of_arm(&candidate));
        planned.repeats = turnover(&old, &command)?.asked.repeats;
        let of = |own, other| turnover_of_arm(&command, own, other);
        let cell = PlannedCell::new(of(&old, &new)?, of(&new, &old)?)
            .map_err(|error| source.fault_of_all(&format!("{TURNOVER}: {error:#}")))?;
        planned.turnover = Some(cell);
    }
    Ok(planned)
}

/// The turnover runs of one arm.
fn turnover_of_arm(
    command: &Command,
    own: &Merged<'_>,
    other: &Merged<'_>,
) -> anyhow::Result<ArmCell> {
    let arguments = |merged: &Merged<'_>| {
        let args = turnover(merged, command)?;
        args.as_run().map_err(|error| own.explained(&error))
    };
    let args = arguments(own)?;
    let asked = Asked::read(&args).map_err(|error| own.explained(&error))?;
    let swapped = arguments(&own.with_from(&OF_ADDRESS, other))?;
    let line = own.line(command)?.into_iter().map(|word| without_secret(word, &asked)).collect();
    Ok(ArmCell { swapped, line, asked, args })
}

fn arm_cell(run: &Command, own: &Merged<'_>, other: &Merged<'_>) -> anyhow::Result<ArmCell> {
    let args = arguments(own, run)?;
    let asked = Asked::read(&args).map_err(|error| own.explained(&error))?;
    Ok(ArmCell {
        swapped: arguments(&own.with_from(&OF_ADDRESS, other), run)?,
        line: own.line(run)?.into_iter().map(|word| without_secret(word, &asked)).collect(),
        asked,
        args,
    })
}

/// Of a header only the name, of a query only the names in it, and of a proxy no user.
fn without_secret(word: String, asked: &Asked) -> String {
    if word.starts_with("--endpoint-path=") {
        return format!("--endpoint-path={}", asked.endpoint_path());
    }
    if let Some(url) = word.strip_prefix("--proxy=") {
        let shown = Proxy::parse(url).map_or_else(|_| "…".to_owned(), |proxy| proxy.to_string());
        return format!("--proxy={shown}");
    }
    match word.strip_prefix("--header=").and_then(|header| header.split_once(':')) {
        Some((name, _)) => format!("--header={name}: …"),
        None => word,
    }
}

impl PlannedCell {
    fn new(baseline: ArmCell, candidate: ArmCell) -> anyhow::Result<Self> {
        let mut loads = baseline.asked.loads(&baseline.args)?;
        match (loads.pop(), loads.is_empty()) {
            (Some(load), true) => Ok(Self { name: load.cell.clone(), load, baseline, candidate }),
            _ => anyhow::bail!("it gives several cells; write a [[cell]] for each"),
        }
    }
}
