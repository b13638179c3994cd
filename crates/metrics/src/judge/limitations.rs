//! Why a comparison says less than it seems to: sentences that follow from it.

use streamgauge_schema::{
    Build, CellComparisonV2, ComparedRun, ComparisonMethod, ComparisonV2, CountFinding,
    EvidenceMode, FindingName, FindingVerdict, Limitation, LimitationKind,
};

use super::findings::verdicts;
use super::said::{list, said};

/// Replaces the limitations that follow from the comparison; what was stated by whoever compared
/// stays.
pub(super) fn state(comparison: &mut ComparisonV2) {
    comparison.limitations.retain(|limitation| limitation.kind == LimitationKind::Stated);
    let stated = std::mem::take(&mut comparison.limitations);
    let found = [
        simulated(comparison),
        identity(comparison),
        hardware(comparison),
        unpaired(comparison),
        not_alternating(comparison),
        overlapping(comparison),
        instrument(comparison),
        not_judged_first(comparison),
        repeated(comparison),
        pooled(comparison),
    ];
    let limitation =
        |(kind, text): (LimitationKind, String)| Limitation { kind, text: said(&text) };
    let allowed = comparison.allowed_differences.iter().map(|difference| {
        let text = format!(
            "{} of cell {} differs, and was allowed to: what it does is in the difference.",
            difference.condition, difference.cell
        );
        (LimitationKind::AllowedDifference, text)
    });
    comparison.limitations =
        found.into_iter().flatten().chain(allowed).map(limitation).chain(stated).collect();
}

type Found = Option<(LimitationKind, String)>;

fn cells(comparison: &ComparisonV2) -> impl Iterator<Item = &CellComparisonV2> {
    comparison.cells.iter().map(|(_, cell)| cell)
}

fn runs(comparison: &ComparisonV2) -> impl Iterator<Item = &ComparedRun> {
    cells(comparison).flat_map(|cell| cell.baseline_runs.iter().chain(&cell.candidate_runs))
}

fn simulated(comparison: &ComparisonV2) -> Found {
    let simulated = runs(comparison).any(|run| run.evidence_mode == EvidenceMode::Simulated);
    simulated.then(|| {
        let text = "A simulated server answered: the figures describe no model and no deployment.";
        (LimitationKind::Simulated, text.to_owned())
    })
}

fn identity(comparison: &ComparisonV2) -> Found {
    let (old, new) = (&comparison.baseline, &comparison.candidate);
    let unknown = match [old, new].map(is_identified) {
        [true, true] => None,
        [false, true] => Some("the baseline"),
        [true, false] => Some("the candidate"),
        [false, false] => Some("baseline and candidate"),
    };
    if let Some(unknown) = unknown {
        let text = format!(
            "What {unknown} served is not identified: neither image, revision, runtime version nor \
             variant is known. The sides may be the same build."
        );
        return Some((LimitationKind::UnknownIdentity, text));
    }
    let same = Build { hardware: None, ..old.clone() } == Build { hardware: None, ..new.clone() };
    same.then(|| {
        let text = "As far as is known both sides are the same build: a difference between them is \
                    noise, order or machine.";
        (LimitationKind::SameIdentity, text.to_owned())
    })
}

/// Whether more is known than what many builds have in common.
fn is_identified(build: &Build) -> bool {
    [&build.image, &build.revision, &build.runtime_version, &build.variant]
        .iter()
        .any(|member| member.is_some())
}

fn hardware(comparison: &ComparisonV2) -> Found {
    let (old, new) = (&comparison.baseline.hardware, &comparison.candidate.hardware);
    (old != new).then(|| {
        let text = "The sides name different machines: build and machine are confounded.";
        (LimitationKind::HardwareDiffers, text.to_owned())
    })
}

fn unpaired(comparison: &ComparisonV2) -> Found {
    (comparison.method == ComparisonMethod::Unpaired).then(|| {
        let text = "The runs were not taken in blocks. What drifted between the sides counts as a \
                    difference of the builds, what drifted within them as noise; the same number of \
                    runs in blocks decides more, and more safely.";
        (LimitationKind::Unpaired, text.to_owned())
    })
}

fn not_alternating(comparison: &ComparisonV2) -> Found {
    let repeats = |cell: &CellComparisonV2| {
        let blocks = cell.baseline_runs.iter().zip(&cell.candidate_runs);
        let order: Vec<bool> = blocks.map(|(old, new)| old.started_at < new.started_at).collect();
        order.windows(2).any(|pair| pair[0] == pair[1])
    };
    let blocks = comparison.method == ComparisonMethod::Blocks;
    (blocks && cells(comparison).any(repeats)).then(|| {
        let text = "The order within the blocks does not alternate from one to the next: a drift \
                    adds to the difference instead of cancelling out.";
        (LimitationKind::BlocksNotAlternating, text.to_owned())
    })
}

fn overlapping(comparison: &ComparisonV2) -> Found {
    let mut spans: Vec<_> =
        runs(comparison).map(|run| (run.started_at, run.completed_at)).collect();
    spans.sort_unstable();
    spans.windows(2).any(|pair| pair[1].0 < pair[0].1).then(|| {
        let text =
            "Runs were under way at the same time: on shared machines each slowed the other.";
        (LimitationKind::OverlappingRuns, text.to_owned())
    })
}

fn instrument(comparison: &ComparisonV2) -> Found {
    let mut measured = runs(comparison).map(|run| (&run.instrument, run.time_basis));
    let first = measured.next();
    measured.any(|other| Some(other) != first).then(|| {
        let text = "Not all runs were measured by the same version of the instrument on the same \
                    clock: a difference may be the instrument's.";
        (LimitationKind::InstrumentDiffers, text.to_owned())
    })
}

fn not_judged_first(comparison: &ComparisonV2) -> Found {
    let is_open = |name: FindingName| {
        let found = cells(comparison).flat_map(verdicts);
        found.into_iter().any(|found| found == (name, FindingVerdict::NotEvaluated))
    };
    let open = list(FindingName::ALL.iter().copied().filter(|name| is_open(*name)));
    (!open.is_empty()).then(|| {
        let text = format!(
            "Not judged before speed, because the records or the number of runs do not say: {open}."
        );
        (LimitationKind::NotJudgedFirst, text)
    })
}

/// Repetitions of a prompt are not independent: a build that answers it wrong once is likely to do so
/// again.
fn repeated(comparison: &ComparisonV2) -> Found {
    let pairs = || {
        let of = |cell: &CellComparisonV2| cell.correctness.as_ref().and_then(|it| it.pairs);
        cells(comparison).filter_map(of).filter(|pairs| pairs.runs > 1)
    };
    let runs = pairs().map(|pairs| pairs.runs).max()?;
    let unsteady: u64 = pairs().map(|pairs| pairs.unsteady).fold(0, u64::saturating_add);
    let text = format!(
        "Each prompt was sent up to {runs} times to a side and counts once, by the pair of runs that its \
         digest draws: repetitions are not independent. Prompts that were right at times and wrong at \
         others: {unsteady}."
    );
    Some((LimitationKind::PromptsRepeated, text))
}

fn pooled(comparison: &ComparisonV2) -> Found {
    let tested = |finding: &CountFinding| finding.p_value.is_some();
    cells(comparison).any(|cell| cell.counts.iter().any(tested)).then(|| {
        let text = "Failures and other counts are judged over the requests of all runs together, as \
                    if they were independent, which under queueing they are not.";
        (LimitationKind::RequestsPooled, text.to_owned())
    })
}
