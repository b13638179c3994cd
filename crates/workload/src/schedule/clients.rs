//! How many clients a closed loop has at a moment.
//!
//! Invariant: a ramp holds each whole number from its first to its last for the same time.

use std::time::Duration;

use streamgauge_schema::ClientStage;

/// The clients at `at`; 0 from the end of the last stage on.
pub(super) fn clients_at(stages: &[ClientStage], at: Duration) -> u64 {
    let mut begin = Duration::ZERO;
    for stage in stages {
        let end = begin + Duration::from_millis(stage.duration_ms);
        if at < end {
            return number(stage, step_at(stage, at - begin));
        }
        begin = end;
    }
    0
}

/// The first moment after `at` with another number of clients than at `at`.
pub(super) fn next_change(stages: &[ClientStage], at: Duration) -> Option<Duration> {
    let now = clients_at(stages, at);
    let mut begin = Duration::ZERO;
    for stage in stages {
        let end = begin + Duration::from_millis(stage.duration_ms);
        if at < end {
            // Of the steps of a stage, at most one has the number that is now.
            let first = if at < begin { 0 } else { step_at(stage, at - begin) };
            let change = (first..=last_step(stage)).find(|step| number(stage, *step) != now);
            if let Some(step) = change {
                return Some(begin + begin_of(stage, step));
            }
        }
        begin = end;
    }
    (at < begin && now > 0).then_some(begin)
}

/// Number of the last step, from 0.
fn last_step(stage: &ClientStage) -> u64 {
    stage.from_clients.abs_diff(stage.to_clients)
}

fn number(stage: &ClientStage, step: u64) -> u64 {
    if stage.from_clients <= stage.to_clients {
        stage.from_clients + step
    } else {
        stage.from_clients - step
    }
}

/// The step at a moment of the stage, which is below its length.
fn step_at(stage: &ClientStage, offset: Duration) -> u64 {
    let steps = u128::from(last_step(stage)) + 1;
    (offset.as_nanos() * steps / length_ns(stage)) as u64
}

/// The first nanosecond of a step.
fn begin_of(stage: &ClientStage, step: u64) -> Duration {
    let steps = u128::from(last_step(stage)) + 1;
    let nanos = (u128::from(step) * length_ns(stage)).div_ceil(steps);
    Duration::from_nanos(nanos as u64)
}

fn length_ns(stage: &ClientStage) -> u128 {
    u128::from(stage.duration_ms) * 1_000_000
}
