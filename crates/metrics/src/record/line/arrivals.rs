//! The stamps of one response: what is said twice agrees, whether single arrivals were kept or not.

use streamgauge_schema::{IntervalSummary, Observation};

use super::{at_most, equal, require};

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

pub(super) fn check(are_kept: bool, seen: &Observation) -> Result<(), String> {
    if are_kept {
        check_kept(seen)?;
    } else {
        check_summed_up(seen)?;
    }
    let [reasoning, content] = [seen.first_reasoning_us, seen.first_content_us];
    let first_output = ("first_output_us", seen.first_output_us);
    let last_output = ("last_output_us", seen.last_output_us);
    let last_generated = ("last_generated_us", seen.last_generated_us);
    equal(
        ("first_generated_us", seen.first_generated_us),
        ("the first of reasoning and content", reasoning.into_iter().chain(content).min()),
    )?;
    let elapsed = ("elapsed_us", Some(seen.elapsed_us));
    let first_event = seen.first_event_us.filter(|_| seen.output_events > 0);
    let tool_call = ("first_tool_call_us", seen.first_tool_call_us);
    for (earlier, later) in [
        (("first_event_us", first_event), first_output),
        (("first_reasoning_us", reasoning), last_generated),
        (("first_content_us", content), last_generated),
        (first_output, ("first_tool_call_us", seen.first_tool_call_us.or(seen.first_output_us))),
        (tool_call, last_output),
        (last_output, elapsed),
        (("first_event_us", seen.first_event_us), elapsed),
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

fn check_kept(seen: &Observation) -> Result<(), String> {
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
    let rest = seen.not_generated.len() as u64;
    for (said, shown) in [
        (("output_events", Some(seen.output_events)), ("arrivals in number", Some(output.events))),
        (("first_output_us", seen.first_output_us), ("the first of arrivals_us", output.first_us)),
        (("last_output_us", seen.last_output_us), ("the sum of arrivals_us", output.last_us)),
        (
            ("generated_events", Some(seen.generated_events)),
            ("output_events but for not_generated", seen.output_events.checked_sub(rest)),
        ),
        (
            ("first_generated_us", seen.first_generated_us),
            ("the first generated of arrivals_us", generated.first_us),
        ),
        (
            ("last_generated_us", seen.last_generated_us),
            ("the last generated of arrivals_us", generated.last_us),
        ),
    ] {
        equal(said, shown)?;
    }
    require(seen.chunk_intervals.is_none(), || {
        "chunk_intervals is there, the plan keeps single arrivals".to_owned()
    })
}

/// What is left where single arrivals are not kept: edges, numbers, and what the intervals come to.
fn check_summed_up(seen: &Observation) -> Result<(), String> {
    let (outputs, generated) = (seen.output_events, seen.generated_events);
    require(seen.arrivals_us.is_empty() && seen.not_generated.is_empty(), || {
        let (arrivals, places) = (seen.arrivals_us.len(), seen.not_generated.len());
        format!(
            "arrivals_us in number is {arrivals}, not_generated in number is {places}, the plan \
             keeps no single arrivals"
        )
    })?;
    at_most(("generated_events", Some(generated)), ("output_events", Some(outputs)))?;
    let edges = [
        ("output_events", outputs, seen.first_output_us, seen.last_output_us),
        ("generated_events", generated, seen.first_generated_us, seen.last_generated_us),
    ];
    for (name, events, first, last) in edges {
        let fits = match (first, last) {
            (None, None) => events == 0,
            (Some(first), Some(last)) => {
                (events > 0 && first <= last) && (events > 1 || first == last)
            }
            _ => false,
        };
        require(fits, || {
            let [first, last] = [first, last].map(super::shown);
            format!("{name} is {events}, from {first} to {last}")
        })?;
    }
    let first_generated = seen.first_generated_us;
    at_most(
        ("first_output_us", seen.first_output_us.filter(|_| generated > 0)),
        ("first_generated_us", first_generated),
    )?;
    let last_generated = seen.last_generated_us;
    at_most(("last_generated_us", last_generated), ("last_output_us", seen.last_output_us))?;
    let kept = seen.chunk_intervals;
    equal(
        ("chunk_intervals.count", kept.map(|kept| kept.count)),
        ("generated_events but for the first", generated.checked_sub(1).filter(|gaps| *gaps > 0)),
    )?;
    let Some(kept) = kept else { return Ok(()) };
    equal(
        ("chunk_intervals.sum_us", Some(kept.sum_us)),
        (
            "the time from first to last generated",
            last_generated.zip(first_generated).map(|(last, first)| last - first),
        ),
    )?;
    require(is_possible(&kept), || {
        let IntervalSummary { count, min_us, max_us, sum_us } = kept;
        format!("chunk_intervals has {count} from {min_us} to {max_us}, their sum is {sum_us}")
    })
}

/// Whether any intervals have this number, sum and these extremes.
fn is_possible(kept: &IntervalSummary) -> bool {
    let IntervalSummary { count, min_us, max_us, sum_us } = *kept;
    let [count, min, max, sum] = [count, min_us, max_us, sum_us].map(u128::from);
    let others = count.saturating_sub(2);
    // One is the least and another the greatest; a single one is both.
    match count {
        0 => false,
        1 => min == max && sum == min,
        _ => min <= max && (min + max + others * min..=min + max + others * max).contains(&sum),
    }
}
