//! What a plan and its journal as a whole must hold to make a record.

use streamgauge_schema::{
    EndReason, Goal, Grading, JournalTrailer, KernelStamps, Load, LoadShape, Plan, Stage,
    TimeBasis, TurnoverReport,
};

use super::journals::Journals;
use super::places::Places;
use super::{replicas, turnover};
use crate::error::RecordError;
use crate::sent::Sent;

/// Holds a plan to itself. No record can be made of a run whose plan does not pass, so it is worth
/// asking before the first request.
///
/// # Errors
/// When the plan contradicts itself, holds too many requests, or declares where the server is.
pub fn check_plan(plan: &Plan) -> Result<(), RecordError> {
    for stage in Stage::ALL.iter().copied() {
        let requests = declared(plan, stage);
        if requests > Load::MAX_REQUESTS {
            return Err(RecordError::TooManyRequests { stage, requests });
        }
    }
    let fault = basis_fault(plan)
        .or_else(|| ratios_fault(plan))
        .or_else(|| stages_fault(&plan.load))
        .or_else(|| goals_fault(&plan.goals))
        .or_else(|| plan.grading.as_ref().and_then(grading_fault))
        .or_else(|| turnover_fault(plan))
        .or_else(|| replicas::fault(plan));
    match fault {
        Some(contradiction) => Err(RecordError::Plan { contradiction }),
        None => Places::of(plan).check_plan(plan),
    }
}

/// Requests of a stage that the plan holds, or, where time ends the load, their most.
pub(super) fn declared(plan: &Plan, stage: Stage) -> u64 {
    match stage {
        Stage::Measured => plan.load.requests,
        Stage::Warmup => plan.load.warmup,
    }
}

/// Whether the load ends with its time, however many requests that makes: what was sent is then
/// what was due.
pub(super) fn ends_by_time(load: &Load) -> bool {
    load.duration_ms.is_some() && !load.shape.is_scheduled()
}

/// By the kernel's clock every arrival needs a stamp of its own.
fn basis_fault(plan: &Plan) -> Option<String> {
    let instrument = &plan.instrument;
    let (stamps, kept) = (instrument.kernel_stamps, instrument.keep_arrivals);
    (instrument.time_basis == TimeBasis::Kernel && (stamps != KernelStamps::All || !kept)).then(|| {
        format!(
            "time_basis is kernel, which needs kernel_stamps all and keep_arrivals true; they are \
             {stamps} and {kept}"
        )
    })
}

/// A record that says how many may fail says it as a share.
fn ratios_fault(plan: &Plan) -> Option<String> {
    let ratios = [
        ("max_failure_ratio", Some(plan.max_failure_ratio)),
        ("limits.max_error_ratio", plan.limits.max_error_ratio),
    ];
    let is_share = |ratio: f64| (0.0..=1.0).contains(&ratio);
    let (name, ratio) = ratios
        .into_iter()
        .find_map(|(name, ratio)| Some((name, ratio.filter(|it| !is_share(*it))?)))?;
    Some(format!("{name} is {ratio:?}, and a share of requests is 0 to 1"))
}

fn stages_fault(load: &Load) -> Option<String> {
    let LoadShape::OpenLoop { stages, .. } = &load.shape else { return None };
    if stages.is_empty() {
        return Some("an open loop has no stage".to_owned());
    }
    let sum = stages.iter().try_fold(0_u64, |sum, stage| sum.checked_add(stage.requests));
    (sum != Some(load.requests)).then(|| {
        let sum = sum.map_or("more than 64 bits hold".to_owned(), |sum| sum.to_string());
        format!("the requests of the stages are {sum} together, load.requests is {}", load.requests)
    })
}

fn goals_fault(goals: &[Goal]) -> Option<String> {
    let limit = goals.iter().find(|goal| !(0.0..=f64::MAX).contains(&goal.limit_ms));
    if let Some(goal) = limit {
        return Some(format!("the goal for {} is {:?} ms", goal.quantity, goal.limit_ms));
    }
    let mut rest = goals;
    while let [goal, others @ ..] = rest {
        if others.iter().any(|other| other.quantity == goal.quantity) {
            return Some(format!("{} has two goals", goal.quantity));
        }
        rest = others;
    }
    None
}

/// A turnover keeps a number of requests in flight, and replaces them often enough.
fn turnover_fault(plan: &Plan) -> Option<String> {
    turnover::policy(plan)?;
    let Load { shape, requests, duration_ms, .. } = &plan.load;
    let LoadShape::ClosedLoop { concurrency } = shape else {
        return Some(format!("a turnover is a closed loop, and the load is {}", shape.name()));
    };
    if duration_ms.is_some() {
        return Some("a turnover ends with its requests, and the load has a duration".to_owned());
    }
    let (waves, least) = (turnover::waves(*requests, *concurrency), TurnoverReport::MIN_WAVES);
    (waves < least).then(|| {
        format!(
            "{requests} requests replace {concurrency} in flight {waves} times; a turnover takes at \
             least {least}"
        )
    })
}

/// Graders are named, each once and in their order, so that equal ones have equal digests.
pub(super) fn grading_fault(grading: &Grading) -> Option<String> {
    let graders = &grading.graders;
    let in_order = graders.is_sorted_by(|one, next| one.name < next.name);
    (graders.is_empty() || !in_order).then(|| {
        let names: Vec<&str> = graders.iter().map(|grader| grader.name.as_str()).collect();
        format!("graders are to be some, each once and by name; they are {names:?}")
    })
}

/// Holds the journal's end to its lines, among them those that count no more: their number, and how many
/// requests were to have one and have.
pub(super) fn check_end(
    load: &Load,
    lines: u64,
    (declared, found): (u64, u64),
    trailer: &JournalTrailer,
) -> Result<(), RecordError> {
    let announced = trailer.lines;
    if announced != lines {
        return Err(RecordError::LinesMissing { announced, found: lines });
    }
    // Where time ends a load, it may end before all of its requests were sent.
    if trailer.reason == EndReason::Finished && load.duration_ms.is_none() && found < declared {
        return Err(RecordError::NotFinished { declared, found });
    }
    Ok(())
}

/// Requests are due in their order, in each journal and between its pauses; `sent` are in their order.
pub(super) fn check_due_times(journals: &Journals<'_>, sent: &[Sent]) -> Result<(), RecordError> {
    let segments = journals.all.iter().map(|journal| vec![None; journal.pauses.count() + 1]);
    let mut before: Vec<Vec<Option<&Sent>>> = segments.collect();
    for after in sent {
        let Some(at) = journals.place_of(after.index()) else { continue };
        let last = &mut before[at][journals.segment_of(at, after)];
        let early = last.filter(|before| after.scheduled_us() < before.scheduled_us());
        if let Some(before) = early {
            return Err(due_before(after, before));
        }
        *last = Some(after);
    }
    Ok(())
}

fn due_before(after: &Sent, before: &Sent) -> RecordError {
    let due = |sent: &Sent| sent.scheduled_us().unwrap_or(0);
    RecordError::Contradiction {
        stage: Stage::Measured,
        index: after.index(),
        contradiction: format!(
            "scheduled_us is {}, that of request {} before it is {}",
            due(after),
            before.index(),
            due(before)
        ),
    }
}
