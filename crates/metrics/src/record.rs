//! A run record from its plan, its journal and the receipts of its graders.
//!
//! Invariant: pure. The same plan, journal and receipts give the same bytes and the same run id on
//! any machine; nothing is asked of a clock, and the order of the journal's lines does not matter.

mod cases;
mod collect;
mod conditions;
mod instrument;
mod journal;
mod journals;
mod limitations;
mod line;
mod load;
mod pauses;
mod places;
mod receipts;
mod replicas;
mod responses;
mod shards;
#[cfg(test)]
mod tests;
mod turnover;

use std::collections::BTreeMap;

use streamgauge_schema::{
    Boundary, Case, CaseOutcome, Completion, Counts, Digest, EndReason, Evidence, Grades,
    Identifier, JournalHeader, JournalTrailer, Phase, Plan, PromptSource, PublicText, RequestLine,
    Role, RunRecordV1, RunRecordV2, RunStatus, Timestamp,
};

use crate::catalogue::{catalogue, metrics_of};
use crate::error::RecordError;
use crate::measured::Measured;
use crate::sent::Sent;

use places::Places;

pub use collect::{CollectedRun, RunCollector};
pub use conditions::was_taken_up;
pub(crate) use conditions::{
    ADDRESSES_LABEL, DATASET_LABEL, EXPECTED_ANSWERS_LABEL, EXPECTED_MODEL_LABEL, LOAD_SHAPE_LABEL,
    NO_MODEL_NAMED, NOT_VERIFIED, RETRIES_LABEL, RETURNED_MODELS_LABEL, TLS_TRUST_LABEL,
};
pub use journal::check_plan;
pub use journals::{JournalEnd, moved_us};

/// Most cases that a record holds itself; those of longer runs stand in a file beside it.
pub const MAX_CASES_IN_RECORD: u64 = 10_000;
/// Hexadecimal digits of the digest at the end of a run id.
const RUN_ID_DIGITS: usize = 12;

/// What a record is made from.
#[derive(Clone, Debug)]
pub struct RunInput<'a> {
    /// What was asked for.
    pub plan: &'a Plan,
    /// How the journal begins.
    pub header: &'a JournalHeader,
    /// Its request lines, in any order.
    pub requests: &'a [RequestLine],
    /// How it ends; `None` when the run was cut off.
    pub trailer: Option<&'a JournalTrailer>,
    /// The receipts of its graders; `None` when there are none.
    pub grades: Option<&'a Grades>,
    /// The files that all this was read from.
    pub evidence: Vec<Evidence>,
}

/// Makes the version 2 record of a run.
///
/// Figures are taken over the measured requests; warm-up is counted only. Above 10,000 requests the
/// record holds no cases: [`build_cases`] gives those of the file that stands beside it. A journal
/// too long to be held in memory goes line by line through a [`RunCollector`].
///
/// # Errors
/// When the plan contradicts itself or holds too many requests, when plan and journal do not belong
/// together, when the journal contradicts itself or the receipts, or when a text of the plan may not
/// be published.
pub fn build_record(input: &RunInput<'_>) -> Result<RunRecordV2, RecordError> {
    collected(input)?.into_record(input.evidence.clone())
}

/// The cases of a run, one for each declared request; where there are more than a record holds, one for
/// each that was sent, which is the content of `cases.jsonl`.
///
/// # Errors
/// As [`build_record`].
pub fn build_cases(input: &RunInput<'_>) -> Result<Vec<Case>, RecordError> {
    Ok(collected(input)?.cases().collect())
}

fn collected<'a>(input: &RunInput<'a>) -> Result<CollectedRun<'a>, RecordError> {
    let mut run = RunCollector::new(input.plan, input.header)?;
    if let Some(grades) = input.grades {
        run = run.graded(grades)?;
    }
    input.requests.iter().try_for_each(|line| run.add(line))?;
    run.close(input.trailer)
}

fn record_of(
    mut run: CollectedRun<'_>,
    evidence: Vec<Evidence>,
) -> Result<RunRecordV2, RecordError> {
    let plan = run.plan;
    let turnover = run.turnover.take();
    let measured = &run.measured;
    let metrics = metrics_of(measured)?;
    let status = status(&run);
    let load = load::report(&run, status);
    let replicas = replicas::reports(&run);
    let places = Places::of(plan);
    let conditions = places.withheld(conditions::of(&run)?);
    let instrument = instrument::report(&run, &metrics)?;
    let windows = load::windows(measured, &metrics);
    let mut record = RunRecordV2 {
        schema_version: 2,
        run_id: plan.name.clone(),
        status,
        started_at: run.journals.started_at,
        completed_at: completed_at(&run),
        phase: phase(plan),
        role: Role::Serving,
        boundary: Boundary::RoleCompletion,
        evidence_mode: plan.evidence_mode.clone(),
        deployment: plan.deployment.clone(),
        suite_version: plan.workload.suite_version.clone(),
        suite_sha256: plan.workload.suite_sha256,
        evaluator_sha256: run.joined.as_ref().map(|joined| joined.grading.evaluator_sha256()),
        comparison_key: None,
        conditions,
        limitations: limitations::of(&run, &load, &replicas, &instrument)?,
        performance: load::serving_cell(&run, &metrics),
        counts: counts(measured),
        cases: (measured.offered <= MAX_CASES_IN_RECORD).then(|| run.cases().collect()),
        metrics,
        evidence,
        instrument,
        replicas,
        shards: shards::reports(&run),
        turnover: turnover::report(turnover, &run, &load),
        windows,
        load,
    };
    record.run_id = run_id(&plan.name, record.digest(&plan.name)?)?;
    places.check(&record)?;
    Ok(record)
}

/// The version 1 form of a record: its seven metrics, and a run id of its own.
///
/// # Errors
/// [`RecordError::CasesApart`] when the record does not hold its cases.
pub fn to_v1(record: &RunRecordV2) -> Result<RunRecordV1, RecordError> {
    let declared = record.counts.declared;
    let name = bare_name(&record.run_id);
    let in_version_1 =
        |id: &Identifier| catalogue().iter().any(|spec| spec.in_version_1 && spec.id == *id);
    let mut old = RunRecordV1 {
        schema_version: 1,
        run_id: name.clone(),
        status: record.status,
        started_at: record.started_at,
        completed_at: record.completed_at,
        phase: record.phase.clone(),
        role: record.role.clone(),
        boundary: record.boundary.clone(),
        evidence_mode: record.evidence_mode.clone(),
        deployment: record.deployment.clone(),
        suite_version: record.suite_version.clone(),
        suite_sha256: record.suite_sha256,
        evaluator_sha256: record.evaluator_sha256,
        comparison_key: record.comparison_key,
        conditions: record.conditions.clone(),
        limitations: record.limitations.clone(),
        performance: record.performance.clone(),
        cases: record.cases.clone().ok_or(RecordError::CasesApart { declared })?,
        counts: record.counts.clone(),
        metrics: record
            .metrics
            .iter()
            .filter(|metric| in_version_1(&metric.id))
            .map(streamgauge_schema::Metric::to_v1)
            .collect(),
        evidence: record.evidence.clone(),
    };
    old.run_id = run_id(&name, old.digest(&name)?)?;
    Ok(old)
}

/// What a run is for shows in its prompts.
fn phase(plan: &Plan) -> Phase {
    match plan.workload.source {
        PromptSource::Dataset { .. } | PromptSource::Synthetic { .. } => Phase::Performance,
        PromptSource::Turnover { .. } => Phase::Turnover,
    }
}

/// A run that was stopped or cut off is not completed, nor is one whose time was over before every
/// declared request had an outcome, nor one with a grader that did not see every answer.
fn status(run: &CollectedRun<'_>) -> RunStatus {
    let has_finished = run.journals.end() == Some(EndReason::Finished);
    let count = |completion| run.measured.count(completion);
    let not_run = count(Completion::Cancelled) + count(Completion::NotSent);
    let ungraded = |sent: &Sent| sent.succeeded() && sent.graded.is_none();
    let all_graded = run.joined.is_none() || !run.measured.sent.iter().any(ungraded);
    if has_finished && not_run == 0 && all_graded {
        RunStatus::Completed
    } else {
        RunStatus::Aborted
    }
}

/// The last trailer's time, but never before the last end by the monotonic clock: the wall clock may
/// have been set back during the run.
fn completed_at(run: &CollectedRun<'_>) -> Timestamp {
    let last_us = i64::try_from(run.last_us).unwrap_or(i64::MAX);
    let last = run.journals.started_at.unix_micros().saturating_add(last_us);
    let last = Timestamp::from_unix_micros(last);
    let trailers = run.journals.all.iter().filter_map(|journal| journal.trailer.as_ref());
    trailers.map(|trailer| trailer.completed_at).fold(last, Timestamp::max)
}

fn counts(run: &Measured) -> Counts {
    let mut outcomes: BTreeMap<CaseOutcome, u64> = BTreeMap::new();
    let mut primary_passes = 0;
    for sent in &run.sent {
        *outcomes.entry(cases::outcome(sent)).or_default() += 1;
        primary_passes += u64::from(cases::primary_outcome(sent) == CaseOutcome::Pass);
    }
    let not_sent = run.count(Completion::NotSent);
    if not_sent > 0 {
        *outcomes.entry(CaseOutcome::NotRun).or_default() += not_sent;
    }
    Counts { declared: run.offered, outcomes, primary_passes }
}

fn run_id(name: &Identifier, digest: Digest) -> Result<Identifier, RecordError> {
    let name = name.as_str();
    Identifier::new(format!("{name}-{}", digest.prefix(RUN_ID_DIGITS)))
        .ok_or_else(|| RecordError::NameTooLong { name: name.to_owned() })
}

/// The name that a run id was made of.
fn bare_name(run_id: &Identifier) -> Identifier {
    let name = run_id.as_str().rsplit_once('-').map_or(run_id.as_str(), |(name, _)| name);
    Identifier::new(name).unwrap_or_else(|| run_id.clone())
}

/// A text for a record.
fn text(text: impl Into<String>) -> Result<PublicText, RecordError> {
    let text = text.into();
    PublicText::new(text.as_str()).map_err(|fault| RecordError::Unpublishable { text, fault })
}
