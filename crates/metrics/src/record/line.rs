//! What one line of a journal must hold, by itself and under its plan.
//!
//! Invariant: a line passes when a client that carried out the plan can have written it. What a
//! stamp or a count says twice agrees, so that no figure depends on which of the two was read.

mod arrivals;
mod clocks;

use streamgauge_schema::{Completion, FailureStage, Observation, Plan, RequestLine};

/// A value of a line by its name; `None` is null.
type Named<'a> = (&'a str, Option<u64>);

/// What contradicts what within one line, if anything does.
pub(super) fn check(plan: &Plan, line: &RequestLine) -> Result<(), String> {
    check_completion(line)?;
    require(line.attempts > 0, || "attempts is 0 of a request that was sent".to_owned())?;
    check_retried(plan, line)?;
    at_most(
        ("started_us", Some(line.started_us)),
        ("last_attempt_started_us", Some(line.last_attempt_started_us)),
    )?;
    // Each is rounded down by itself.
    let end_us = line.started_us.saturating_add(line.elapsed_us).saturating_add(1);
    at_most(
        ("last_attempt_started_us", Some(line.last_attempt_started_us)),
        ("the end of the request", Some(end_us)),
    )?;
    let elapsed = ("elapsed_us", Some(line.elapsed_us));
    at_most(("headers_us", line.headers_us), elapsed)?;
    clocks::check_schedule(plan, line)?;
    clocks::check_lags(plan, line)?;
    let Some(seen) = &line.observation else { return Ok(()) };
    equal(elapsed, ("observation.elapsed_us", Some(seen.elapsed_us)))?;
    arrivals::check(plan.instrument.keep_arrivals, seen)?;
    check_token_counts(seen)?;
    check_choices(seen)
}

/// Each attempt that was made again lies before the last one.
fn check_retried(plan: &Plan, line: &RequestLine) -> Result<(), String> {
    let retried = line.retried.len() as u64;
    let allowed = plan.retries.map_or(0, |policy| policy.most);
    require(retried < u64::from(line.attempts) && retried <= allowed, || {
        let attempts = line.attempts;
        format!("retried has {retried} of {attempts} attempts, and the plan allows {allowed}")
    })?;
    let ends = line.retried.iter().map(|it| it.started_us.saturating_add(it.elapsed_us));
    at_most(
        ("the end of the last in retried", ends.max()),
        ("last_attempt_started_us", Some(line.last_attempt_started_us)),
    )
}

fn check_completion(line: &RequestLine) -> Result<(), String> {
    let completion = line.completion;
    let class = line.failure.as_ref().map(|failure| failure.class);
    let answered = line.observation.as_ref().is_some_and(Observation::succeeded);
    let fits = match completion {
        // Its stream may have been whole but for the time that it was still given.
        Completion::Cancelled => class.is_none(),
        Completion::Failed => class.is_some() && !answered,
        Completion::NotSent => return Err("completion is not_sent, of a line".to_owned()),
        Completion::Succeeded => class.is_none() && answered,
        Completion::TimedOut => class.is_some_and(|class| class.stage() == FailureStage::Deadline),
    };
    require(fits, || {
        let failure = class.map_or("null", |class| class.as_str());
        let shows = if answered { "shows success" } else { "shows no success" };
        format!("completion is {completion}, failure is {failure}, the observation {shows}")
    })?;
    let error = line.observation.as_ref().and_then(|seen| seen.error.as_ref());
    match (class, error) {
        (Some(class), Some(error)) => require(class == error.class, || {
            format!("failure is {class}, observation.error is {}", error.class)
        }),
        _ => Ok(()),
    }
}

fn check_token_counts(seen: &Observation) -> Result<(), String> {
    let Some(counts) = &seen.token_counts else { return Ok(()) };
    equal(
        ("token_counts in number", Some(counts.len() as u64)),
        ("output_events", Some(seen.output_events)),
    )?;
    require(!counts.contains(&0), || "token_counts has a 0".to_owned())?;
    let sum = counts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count));
    let sum = sum.ok_or("token_counts has no sum within 64 bits")?;
    at_most(
        ("the sum of token_counts", Some(sum)),
        ("completion_tokens", seen.usage.and_then(|usage| usage.completion_tokens)),
    )
}

fn check_choices(seen: &Observation) -> Result<(), String> {
    let timelines = &seen.choice_timelines;
    if timelines.is_empty() {
        return Ok(());
    }
    equal(
        ("choice_timelines in number", Some(timelines.len() as u64)),
        ("choices", Some(seen.choices)),
    )?;
    require(timelines.is_sorted_by(|a, b| a.index < b.index), || {
        "choice_timelines does not rise by index".to_owned()
    })?;
    for choice in timelines {
        let (first, last) = (choice.first_output_us, choice.last_output_us);
        let stamps_fit = match (first, last) {
            (None, None) => choice.output_events == 0,
            (Some(first), Some(last)) => {
                let within =
                    |us| seen.first_output_us <= Some(us) && Some(us) <= seen.last_output_us;
                (1..=seen.output_events).contains(&choice.output_events)
                    && first <= last
                    && within(first)
                    && within(last)
            }
            _ => false,
        };
        require(stamps_fit, || {
            format!(
                "choice {} has {} output events from {} to {}, the response has {} from {} to {}",
                choice.index,
                choice.output_events,
                shown(first),
                shown(last),
                seen.output_events,
                shown(seen.first_output_us),
                shown(seen.last_output_us)
            )
        })?;
    }
    Ok(())
}

fn require(holds: bool, contradiction: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(contradiction()) }
}

fn equal(said: Named<'_>, other: Named<'_>) -> Result<(), String> {
    require(said.1 == other.1, || {
        format!("{} is {}, {} is {}", said.0, shown(said.1), other.0, shown(other.1))
    })
}

/// Nothing is at most anything; anything is more than nothing.
fn at_most(earlier: Named<'_>, later: Named<'_>) -> Result<(), String> {
    require(earlier.1 <= later.1, || {
        format!("{} is {}, above {}: {}", earlier.0, shown(earlier.1), later.0, shown(later.1))
    })
}

fn shown(value: Option<u64>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}
