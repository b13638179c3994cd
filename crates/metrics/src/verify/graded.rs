//! Rules of graded runs: what a grader must have seen, and the shares of what passed.

use streamgauge_schema::{Case, CaseOutcome, FailureStage, JsonPath, RunRecordV2, RunStatus};

use super::cases::outcome_count;
use super::{Rules, at, same_bits, shown};
use crate::catalogue::{GRADED_PASS_RATIO, PASS_RATIO, PRIMARY_PASS_RATIO};

/// The file that holds the receipts of graders.
const RECEIPTS: &str = "grades.json";

pub(super) fn check(record: &RunRecordV2, rules: &mut Rules) {
    let is_graded = record.evaluator_sha256.is_some();
    let [passes, fails, unverified] =
        [CaseOutcome::Pass, CaseOutcome::Fail, CaseOutcome::Unverified]
            .map(|outcome| record.counts.outcomes.get(&outcome).copied().unwrap_or(0));
    rules.check(
        "only-graders-judge",
        is_graded || passes == 0 && fails == 0,
        [at("evaluator_sha256"), at("counts.outcomes")],
        format_args!(
            "where evaluator_sha256 is null, no case passed ({passes}) or was graded wrong ({fails})"
        ),
    );
    rules.check(
        "completed-graded-all",
        !is_graded || record.status != RunStatus::Completed || unverified == 0,
        [at("status"), at("evaluator_sha256"), at("counts.outcomes")],
        format_args!(
            "a completed run with a grader has no answer that it did not see (status {}, unverified \
             {unverified})",
            record.status
        ),
    );
    check_receipts(record, is_graded, rules);
    check_ratios(record, is_graded, (passes, fails), rules);
    for (index, case) in record.cases.iter().flatten().enumerate() {
        check_stage(index, case, rules);
    }
}

/// Where files are evidence, the receipts are among them exactly where there are verdicts.
fn check_receipts(record: &RunRecordV2, is_graded: bool, rules: &mut Rules) {
    let named = record.evidence.iter().position(|file| file.name.as_str() == RECEIPTS);
    let outcomes = &record.counts.outcomes;
    let judged =
        [CaseOutcome::Pass, CaseOutcome::Fail].iter().any(|outcome| outcomes.contains_key(outcome));
    let holds = match named {
        Some(_) => is_graded,
        None => !judged || record.evidence.is_empty(),
    };
    let place = named.map_or_else(|| at("evidence"), |file| at("evidence").index(file).key("name"));
    rules.check(
        "receipts-are-evidence",
        holds,
        [at("evaluator_sha256"), at("counts.outcomes"), place],
        format_args!("{RECEIPTS} is evidence where a grader gave verdicts, and only there"),
    );
}

fn check_ratios(
    record: &RunRecordV2,
    is_graded: bool,
    (passes, fails): (u64, u64),
    rules: &mut Rules,
) {
    let (declared, primary) = (record.counts.declared, record.counts.primary_passes);
    let graded = passes.saturating_add(fails);
    let all = || at("counts.declared");
    let [passed, failed] =
        [CaseOutcome::Pass, CaseOutcome::Fail].map(|it| outcome_count(&record.counts, it));
    for (id, count, of, made_of) in [
        (PASS_RATIO, passes, declared, [passed.clone(), all()]),
        (PRIMARY_PASS_RATIO, primary, declared, [at("counts.primary_passes"), all()]),
        (GRADED_PASS_RATIO, passes, graded, [passed, failed]),
    ] {
        let found = record.metrics.iter().position(|metric| metric.id.as_str() == id);
        let Some(index) = found else {
            rules.check(
                "graded-runs-have-pass-rates",
                !is_graded,
                [at("evaluator_sha256"), at("metrics")],
                format_args!("{id} stands in the record of a graded run"),
            );
            continue;
        };
        let metric = &record.metrics[index];
        let expected = (of > 0).then(|| count as f64 / of as f64);
        let member = |key: &str| at("metrics").index(index).key(key);
        rules.check(
            "pass-rates-follow",
            is_graded && same_bits(metric.value, expected) && metric.samples == of,
            [member("value"), member("samples"), at("evaluator_sha256")].into_iter().chain(made_of),
            format_args!(
                "{id} ({}) of a graded run is {count} of {of} ({})",
                shown(metric.value),
                shown(expected)
            ),
        );
    }
}

/// A case went wrong in a stage that its outcome can have. Words that are not known here may be right.
fn check_stage(index: usize, case: &Case, rules: &mut Rules) {
    use FailureStage::{AnswerChecks, Contract, Deadline, NotTold, Other, Stream, Transport};
    let (outcome, stage) = (case.outcome, case.failure_stage.as_ref());
    let fits = matches!(
        (outcome, stage),
        (_, Some(Other(_)))
            | (CaseOutcome::Error, Some(Deadline | NotTold | Stream | Transport))
            | (CaseOutcome::Fail, Some(AnswerChecks | Contract))
            | (CaseOutcome::Timeout, Some(Deadline))
            | (CaseOutcome::NotRun | CaseOutcome::Pass | CaseOutcome::Unverified, None)
    );
    let member = |key: &str| -> JsonPath { at("cases").index(index).key(key) };
    rules.check(
        "failure-stage-fits-outcome",
        fits,
        [member("outcome"), member("failure_stage")],
        format_args!(
            "failure_stage ({}) is one that the outcome ({outcome}) can have",
            stage.map_or("null", FailureStage::as_str)
        ),
    );
}
