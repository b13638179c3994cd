//! What a plan and its journal must hold to make a record.
//!
//! Invariant: a journal passes when a client that carried out the plan can have written it. What a
//! stamp or a count says twice agrees, so that no figure depends on which of the two was read.

use std::collections::BTreeSet;

use streamgauge_schema::{
    Completion, Digest, EndReason, FailureStage, Load, Observation, Plan, RequestLine, Stage,
};

use super::RunInput;
use crate::error::RecordError;

/// Holds a journal to its plan, and its lines to themselves.
pub(super) fn check(input: &RunInput<'_>) -> Result<(), RecordError> {
    // First, as all else takes time by the number of requests.
    for stage in Stage::ALL.iter().copied() {
        let requests = declared(input.plan, stage);
        if requests > Load::MAX_REQUESTS {
            return Err(RecordError::TooManyRequests { stage, requests });
        }
    }
    let plan = Digest::of_value(input.plan)?;
    if plan != input.header.plan_sha256 {
        return Err(RecordError::PlanDiffers { plan, journal: input.header.plan_sha256 });
    }
    check_places(input)?;
    check_end(input)?;
    input.requests.iter().try_for_each(|line| {
        check_line(line).map_err(|contradiction| RecordError::Contradiction {
            stage: line.stage,
            index: line.index,
            contradiction,
        })
    })
}

fn declared(plan: &Plan, stage: Stage) -> u64 {
    match stage {
        Stage::Measured => plan.load.requests,
        Stage::Warmup => plan.load.warmup,
    }
}

/// Each line stands for a request of the plan, and no two for the same.
fn check_places(input: &RunInput<'_>) -> Result<(), RecordError> {
    let mut places = BTreeSet::new();
    for RequestLine { stage, index, .. } in input.requests {
        let (stage, index, declared) = (*stage, *index, declared(input.plan, *stage));
        if index >= declared {
            return Err(RecordError::UndeclaredRequest { stage, index, declared });
        }
        if !places.insert((stage, index)) {
            return Err(RecordError::RepeatedRequest { stage, index });
        }
    }
    Ok(())
}

fn check_end(input: &RunInput<'_>) -> Result<(), RecordError> {
    let Some(trailer) = input.trailer else { return Ok(()) };
    let found = input.requests.len() as u64;
    if trailer.lines != found {
        return Err(RecordError::LinesMissing { announced: trailer.lines, found });
    }
    let declared: u64 = Stage::ALL.iter().map(|stage| declared(input.plan, *stage)).sum();
    if trailer.reason == EndReason::Finished && found < declared {
        return Err(RecordError::NotFinished { declared, found });
    }
    Ok(())
}

/// A value of a line by its name; `None` is null.
type Named<'a> = (&'a str, Option<u64>);

/// What contradicts what within one line, if anything does.
fn check_line(line: &RequestLine) -> Result<(), String> {
    check_completion(line)?;
    require(line.attempts > 0, || "attempts is 0 of a request that was sent".to_owned())?;
    at_most(
        ("started_us", Some(line.started_us)),
        ("last_attempt_started_us", Some(line.last_attempt_started_us)),
    )?;
    let elapsed = ("elapsed_us", Some(line.elapsed_us));
    at_most(("headers_us", line.headers_us), elapsed)?;
    let Some(seen) = &line.observation else { return Ok(()) };
    equal(elapsed, ("observation.elapsed_us", Some(seen.elapsed_us)))?;
    check_stamps(seen)?;
    check_token_counts(seen)?;
    check_choices(seen)
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

/// The first and the last of some arrivals.
#[derive(Clone, Copy, Default)]
struct Edges {
    first_us: Option<u64>,
    last_us: Option<u64>,
    events: u64,
}

impl Edges {
    fn push(&mut self, at_us: u64) {
        self.first_us.get_or_insert(at_us);
        self.last_us = Some(at_us);
        self.events += 1;
    }
}

fn check_stamps(seen: &Observation) -> Result<(), String> {
    let mut skipped = seen.not_generated.iter().map(|place| u64::from(*place)).peekable();
    let (mut output, mut generated) = (Edges::default(), Edges::default());
    let mut at_us = 0_u64;
    for (place, gap_us) in (0..).zip(&seen.arrivals_us) {
        at_us = at_us.checked_add(*gap_us).ok_or("arrivals_us has no sum within 64 bits")?;
        output.push(at_us);
        if skipped.next_if_eq(&place).is_none() {
            generated.push(at_us);
        }
    }
    if let Some(place) = skipped.next() {
        let arrivals = output.events;
        return Err(format!(
            "not_generated has {place}, which is no further place among {arrivals} arrivals"
        ));
    }
    let first_output = ("first_output_us", seen.first_output_us);
    let last_output = ("last_output_us", seen.last_output_us);
    let first_generated = ("first_generated_us", seen.first_generated_us);
    let last_generated = ("last_generated_us", seen.last_generated_us);
    let [reasoning, content] = [seen.first_reasoning_us, seen.first_content_us];
    let either = reasoning.into_iter().chain(content).min();
    let tool_call = ("first_tool_call_us", seen.first_tool_call_us);
    let rest = seen.not_generated.len() as u64;
    for (said, shown) in [
        (("output_events", Some(seen.output_events)), ("arrivals in number", Some(output.events))),
        (first_output, ("the first of arrivals_us", output.first_us)),
        (last_output, ("the sum of arrivals_us", output.last_us)),
        (
            ("generated_events", Some(seen.generated_events)),
            ("output_events but for not_generated", seen.output_events.checked_sub(rest)),
        ),
        (first_generated, ("the first generated of arrivals_us", generated.first_us)),
        (last_generated, ("the last generated of arrivals_us", generated.last_us)),
        (first_generated, ("the first of reasoning and content", either)),
    ] {
        equal(said, shown)?;
    }
    for (earlier, later) in [
        (("first_event_us", seen.first_event_us.filter(|_| output.events > 0)), first_output),
        (("first_reasoning_us", reasoning), last_generated),
        (("first_content_us", content), last_generated),
        (first_output, ("first_tool_call_us", seen.first_tool_call_us.or(seen.first_output_us))),
        (tool_call, last_output),
        (last_output, ("elapsed_us", Some(seen.elapsed_us))),
        (("first_event_us", seen.first_event_us), ("elapsed_us", Some(seen.elapsed_us))),
    ] {
        at_most(earlier, later)?;
    }
    require(seen.first_output_us.is_none() || seen.first_event_us.is_some(), || {
        "first_event_us is null although there was an event with output".to_owned()
    })?;
    require(!seen.whole_body_output || seen.output_events == 0, || {
        format!("whole_body_output is true, output_events is {}", seen.output_events)
    })
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
