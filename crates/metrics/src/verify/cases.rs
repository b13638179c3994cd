//! Rules of cases and counts: every declared request is counted once, in one outcome.

use streamgauge_schema::{Case, CaseOutcome, Counts, JsonPath, RunRecord, RunStatus};

use super::{Rules, at};

pub(super) fn check(record: &RunRecord, rules: &mut Rules) {
    check_counts(record, rules);
    if let Some(cases) = record.cases() {
        check_cases(record, cases, rules);
    }
    let counts = record.counts();
    let not_run = counts.outcomes.get(&CaseOutcome::NotRun).copied().unwrap_or(0);
    let status = record.status();
    rules.check(
        "completed-ran-all",
        *status != RunStatus::Completed || not_run == 0,
        [at("status"), outcome_count(record.counts(), CaseOutcome::NotRun)],
        format_args!("a completed run has no not_run case (status {status}, not_run {not_run})"),
    );
}

/// What counts say by themselves, whether or not the cases stand in the record.
fn check_counts(record: &RunRecord, rules: &mut Rules) {
    let counts = record.counts();
    let sum: u128 = counts.outcomes.values().map(|count| u128::from(*count)).sum();
    let outcomes = counts.outcomes.keys().map(|outcome| outcome_count(record.counts(), *outcome));
    let declared = counts.declared;
    rules.check(
        "counts-sum-to-declared",
        sum == u128::from(declared),
        [at("counts.declared")].into_iter().chain(outcomes),
        format_args!("counts.outcomes sum ({sum}) to counts.declared ({declared})"),
    );
    for (outcome, count) in &counts.outcomes {
        rules.check(
            "counts-leave-out-zeros",
            *count > 0,
            [outcome_count(record.counts(), *outcome)],
            format_args!("an outcome that stands in counts.outcomes occurred ({outcome}: {count})"),
        );
    }
    let (primary, passes) = (counts.primary_passes, count(record, CaseOutcome::Pass));
    rules.check(
        "primary-passes-passed",
        primary <= passes,
        [at("counts.primary_passes"), outcome_count(record.counts(), CaseOutcome::Pass)],
        format_args!(
            "counts.primary_passes ({primary}) are at most counts.outcomes.pass ({passes})"
        ),
    );
}

fn check_cases(record: &RunRecord, cases: &[Case], rules: &mut Rules) {
    let counts = record.counts();
    rules.check(
        "declared-matches-cases",
        counts.declared == cases.len() as u64,
        [at("counts.declared"), at("cases")],
        format_args!(
            "counts.declared ({}) equals the number of cases ({})",
            counts.declared,
            cases.len()
        ),
    );
    for &outcome in CaseOutcome::ALL {
        let having = places(cases, |case| case.outcome == outcome);
        let (found, recorded) = (having.len() as u64, count(record, outcome));
        if found == 0 && recorded == 0 {
            continue;
        }
        rules.check(
            "counts-match-cases",
            found == recorded,
            [outcome_count(record.counts(), outcome)]
                .into_iter()
                .chain(having.into_iter().map(|index| member(index, "outcome"))),
            format_args!(
                "counts.outcomes.{outcome} ({recorded}) equals the cases with it ({found})"
            ),
        );
    }
    let passes = places(cases, |case| case.primary_outcome == CaseOutcome::Pass).len();
    rules.check(
        "primary-passes-match-cases",
        counts.primary_passes == passes as u64,
        [at("counts.primary_passes")]
            .into_iter()
            .chain((0..cases.len()).map(|index| member(index, "primary_outcome"))),
        format_args!(
            "counts.primary_passes ({}) equals the cases whose primary_outcome is pass ({passes})",
            counts.primary_passes
        ),
    );
    let ids = cases
        .iter()
        .enumerate()
        .map(|(index, case)| (case.case_id.to_string(), member(index, "case_id")));
    rules.distinct("case-ids-differ", "case ids", ids.collect());
    for (index, case) in cases.iter().enumerate() {
        check_case(index, case, rules);
    }
}

fn check_case(index: usize, case: &Case, rules: &mut Rules) {
    let (outcome, primary) = (case.outcome, case.primary_outcome);
    let graded = matches!(primary, CaseOutcome::Fail | CaseOutcome::Pass);
    rules.check(
        "primary-outcome-fits",
        primary == CaseOutcome::Unverified || graded && primary == outcome,
        [member(index, "outcome"), member(index, "primary_outcome")],
        format_args!(
            "primary_outcome ({primary}) is unverified, or pass or fail as the outcome ({outcome})"
        ),
    );
    if let Some(stage) = &case.failure_stage {
        rules.check(
            "passes-have-no-failure-stage",
            outcome != CaseOutcome::Pass,
            [member(index, "outcome"), member(index, "failure_stage")],
            format_args!(
                "a case that passed has no failure_stage (outcome {outcome}, stage {stage})"
            ),
        );
    }
    if let Some(duration) = case.duration_ms {
        rules.check(
            "durations-are-whole-microseconds",
            duration.to_micros().is_some(),
            [member(index, "duration_ms")],
            format_args!("duration_ms ({:?}) is a whole number of microseconds", duration.value()),
        );
    }
}

fn places(cases: &[Case], wanted: impl Fn(&Case) -> bool) -> Vec<usize> {
    cases.iter().enumerate().filter(|(_, case)| wanted(case)).map(|(index, _)| index).collect()
}

fn member(index: usize, key: &str) -> JsonPath {
    at("cases").index(index).key(key)
}

fn count(record: &RunRecord, outcome: CaseOutcome) -> u64 {
    record.counts().outcomes.get(&outcome).copied().unwrap_or(0)
}

/// The member that counts an outcome; where it is left out, the object that leaves it out.
pub(super) fn outcome_count(counts: &Counts, outcome: CaseOutcome) -> JsonPath {
    let outcomes = at("counts.outcomes");
    if counts.outcomes.contains_key(&outcome) { outcomes.key(outcome.as_str()) } else { outcomes }
}
