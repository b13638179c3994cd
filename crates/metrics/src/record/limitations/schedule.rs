//! What the figures do not say of the load: what was late, cut, or not offered at all.

use streamgauge_schema::{EndReason, LoadReport, PublicText, Stage, StageReport};

use crate::record::CollectedRun;
use crate::record::journal::ends_by_time;
use crate::record::load::{LATE_AFTER_US, is_late};
use crate::request::millis;

/// Why a run did not come to its end. What was under way when one was cut off has no line.
pub(super) fn stopped(run: &CollectedRun<'_>, load: &LoadReport) -> Option<String> {
    let (cancelled, not_sent) = (load.cancelled, load.not_sent);
    let reason = match run.journals.end() {
        None => {
            let journal = match run.journals.is_merged() {
                true => "not every shard's journal is there and has an end",
                false => "its journal has no end",
            };
            return Some(format!(
                "The run was cut off: {journal}. Requests cut under way: {cancelled}; \
                 never sent or lost under way: {not_sent}."
            ));
        }
        Some(EndReason::ErrorRate) => {
            let most = run.plan.limits.max_error_ratio;
            let most = most.map_or_else(String::new, |share| format!(" than a share of {share:?}"));
            format!("The run was stopped: more{most} of the requests that had ended had failed.")
        }
        Some(EndReason::Finished) if cancelled + not_sent == 0 => return None,
        Some(EndReason::Finished) => "The time of the load was over.".to_owned(),
        Some(EndReason::Interrupted) => "The run was stopped.".to_owned(),
    };
    Some(format!("{reason} Requests cut under way: {cancelled}; never sent: {not_sent}."))
}

/// What a run that was taken up again does not say.
pub(super) fn taken_up(run: &CollectedRun<'_>) -> Option<String> {
    let times = run.journals.taken_up();
    let server = match run.plan.instrument.server_metrics {
        Some(_) => "; what the server said of itself is left out",
        None => "",
    };
    (times > 0 && !run.journals.is_merged()).then(|| {
        format!(
            "The run broke off and was taken up again: {times}. What was under way was asked again; \
             the time between is in no rate, and there is neither a steady window nor a peak in \
             flight{server}."
        )
    })
}

/// What was no longer as in the beginning when a run was taken up again.
pub(super) fn changed_meanwhile(run: &CollectedRun<'_>) -> Option<String> {
    const MOST: usize = 3;
    let all = run.journals.all.iter().flat_map(|journal| &journal.pauses.changed);
    let mut changed: Vec<&PublicText> = Vec::new();
    for label in all {
        if !changed.contains(&label) {
            changed.push(label);
        }
    }
    let named: Vec<&str> = changed.iter().take(MOST).map(|label| label.as_str()).collect();
    let more = match changed.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!changed.is_empty()).then(|| {
        format!(
            "Conditions that had changed when the run was taken up: {}{more}.",
            named.join(", ")
        )
    })
}

/// Stages of which requests have no line. Where the journal has no end, such a request may have been
/// under way when the run was cut off: nobody knows.
pub(super) fn invalid_stages(run: &CollectedRun<'_>, load: &LoadReport) -> Option<String> {
    let invalid = || load.stages.iter().filter(|stage| !stage.valid);
    let sum = |of: fn(&StageReport) -> u64| invalid().map(of).sum::<u64>();
    let (unsent, planned) = (sum(|stage| stage.unsent), sum(|stage| stage.planned));
    let (offered, sent) = match run.journals.end() {
        Some(_) => ("were not offered", "never sent"),
        None => ("are not known to have been offered", "never sent or lost under way"),
    };
    (unsent > 0).then(|| {
        format!(
            "Stages of the schedule that {offered}: {} of {}; requests {sent} in them: {unsent} of \
             {planned}.",
            invalid().count(),
            load.stages.len()
        )
    })
}

pub(super) fn late(run: &CollectedRun<'_>) -> Option<String> {
    let late = || run.measured.sent.iter().filter(|sent| is_late(sent));
    let (count, sent) = (late().count(), run.measured.sent.len());
    let queued = late().filter(|sent| sent.queued_us() > Some(0)).count();
    let longest_us = late().filter_map(|sent| sent.delay_us()).max()?;
    Some(format!(
        "Requests that started more than {:?} ms behind their due time: {count} of {sent}, up to \
         {:?} ms; held back by the limit of requests under way: {queued}. Latencies from the \
         schedule count that wait.",
        millis(LATE_AFTER_US),
        millis(longest_us)
    ))
}

/// With a client free before its time was over, the load was no longer the one that was asked for.
pub(super) fn ended_by_its_limit(run: &CollectedRun<'_>) -> Option<String> {
    let (load, sent) = (&run.plan.load, &run.measured.sent);
    let length_ms = load.duration_ms.filter(|_| ends_by_time(load))?;
    let first_us = sent.iter().map(|sent| sent.started_us).min()?;
    let last_us = sent.iter().map(|sent| sent.started_us).max()?;
    let end_us = first_us.saturating_add(length_ms.saturating_mul(1000));
    let was_free = sent.iter().any(|sent| (last_us..end_us).contains(&sent.span().to_us));
    let most = run.journals.present(Stage::Measured);
    (sent.len() as u64 == most && was_free).then(|| {
        format!(
            "The last of {most} requests, the most that were allowed, began {:?} ms after the first: the \
             load ended before its {length_ms} ms had passed.",
            millis(last_us - first_us)
        )
    })
}

pub(super) fn warmup_failed(run: &CollectedRun<'_>) -> Option<String> {
    // Each time that a run is taken up its warm-up is done again, as far as it is needed.
    let warmup = match run.journals.warmed_up_again() {
        false => run.journals.present(Stage::Warmup),
        true => run.warmup.sent,
    };
    let not = warmup.saturating_sub(run.warmup.succeeded);
    (not > 0).then(|| {
        format!(
            "Warm-up requests that did not succeed: {not} of {warmup}; the engine may have been \
             colder than it seems."
        )
    })
}

pub(super) fn warmup_shared(run: &CollectedRun<'_>) -> Option<String> {
    let shared = run.warmup.shared_prompts();
    (shared > 0).then(|| {
        format!(
            "Measured requests whose prompt was already sent in the warm-up: {shared}; a cache may \
             have served them."
        )
    })
}
