//! What is handed out at the end: the observation, and the extraction that does not know time.

use std::collections::BTreeMap;

use streamgauge_schema::{
    AnomalyKind, BodyKind, ChoiceExtraction, ChoiceTimeline, Ending, Extraction, FailureClass,
    Head, HttpExtraction, Observation, Text,
};

use crate::choices::Choice;
use crate::events::Events;
use crate::head::retry_after_s;
use crate::json::Value;

/// Members of `timings` that are handed out.
const MAX_TIMINGS: usize = 32;

/// What one response showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// Times, counts, failure and anomalies.
    pub observation: Observation,
    /// What the events said; the same for any cut of the bytes into reads.
    pub extraction: Extraction,
    /// The beginning of a body that was refused or is no stream, at most 2 KiB, where it holds no
    /// message: as it came, but for what is no UTF-8.
    pub head_of_body: Option<String>,
}

/// What the receive loop knows besides the events.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) head: Option<Head>,
    pub(crate) head_of_body: Option<String>,
    pub(crate) body: BodyKind,
    pub(crate) ending: Option<Ending>,
    pub(crate) elapsed_us: u64,
    pub(crate) bytes: u64,
}

impl Observed {
    /// Puts together what the events gave.
    pub(crate) fn new(mut events: Events, facts: Facts) -> Self {
        note_hidden_reasoning(&mut events);
        note_coalesced_stream(&mut events);
        let extraction = extraction(&events, &facts);
        let observation = observation(events, &extraction, &facts);
        Self { observation, extraction, head_of_body: facts.head_of_body }
    }
}

fn extraction(events: &Events, facts: &Facts) -> Extraction {
    let Events { tally, timeline, malformed, failure, .. } = events;
    let choices = tally.choices.list();
    let lowest =
        |text: fn(&Choice) -> &String| Text(choices.first().map(text).cloned().unwrap_or_default());
    let refused = failure.as_ref().is_some_and(|failure| failure.class == FailureClass::HttpStatus);
    let malformed_error = malformed.first.map(|(event, kind)| (kind.as_str(), event));
    let (error, error_event_index) = match (failure, malformed_error) {
        (Some(failure), _) => (Some(failure.class.as_str()), failure.event),
        (None, Some((kind, event))) => (Some(kind), Some(event)),
        (None, None) => (None, None),
    };
    Extraction {
        events_total: timeline.any.count + u64::from(events.whole),
        first_generated_event: timeline.generated.first_event(),
        first_content_event: timeline.content.first_event(),
        first_output_event: timeline.output.first_event(),
        generated_events: timeline.generated.count,
        tool_call_events: events.tool_call_events,
        malformed_events: malformed.count,
        first_malformed_event: malformed.first.map(|(event, _)| event),
        content_text: lowest(|choice| &choice.content),
        reasoning_text: lowest(|choice| &choice.reasoning),
        output_ends: events.output_ends.clone(),
        refusal_text: Text(tally.refusal.clone()),
        finish_reasons: choices.iter().filter_map(|choice| choice.finish_reason.clone()).collect(),
        usage: tally.usage.usage(),
        usage_invalid: tally.usage.invalid(),
        returned_models: tally.models.clone(),
        done_seen: tally.done,
        terminal_seen: tally.done || tally.choices.all_finished(),
        ending: facts.ending,
        think_tag_in_content: choices.iter().any(|choice| choice.marks.early_tag),
        think_markup_in_content: choices.iter().any(|choice| choice.marks.any()),
        error,
        error_event_index,
        error_message: failure.as_ref().and_then(|failure| failure.message.clone()),
        choices: (choices.len() > 1).then(|| choices.iter().map(choice_extraction).collect()),
        http: facts
            .head
            .as_ref()
            .map(|head| HttpExtraction { status: head.status, retry_after_s: retry_after_s(head) }),
        body_kind: Some(facts.body).filter(|kind| *kind != BodyKind::Stream && !refused),
    }
}

fn choice_extraction(choice: &Choice) -> ChoiceExtraction {
    ChoiceExtraction {
        index: choice.index,
        content_text: Text(choice.content.clone()),
        reasoning_text: Text(choice.reasoning.clone()),
        finish_reason: choice.finish_reason.clone(),
    }
}

fn observation(events: Events, extraction: &Extraction, facts: &Facts) -> Observation {
    let Events { dialect, tally, timeline, reads, token_counts, failure, .. } = events;
    let choices = tally.choices.list();
    // What several choices count together is nowhere said.
    let is_counted = choices.len() < 2 && !tally.usage.completion_fell();
    Observation {
        dialect,
        http_status: facts.head.as_ref().map_or(200, |head| head.status),
        retry_after_s: facts.head.as_ref().and_then(retry_after_s),
        body: facts.body,
        ending: facts.ending,
        done_seen: tally.done,
        error: failure.map(|failure| failure.to_stream_error()),
        first_event_us: timeline.any.first_us(),
        first_output_us: timeline.output.first_us(),
        last_output_us: timeline.output.last_us(),
        output_events: timeline.output.count,
        first_generated_us: timeline.generated.first_us(),
        last_generated_us: timeline.generated.last_us(),
        generated_events: timeline.generated.count,
        first_reasoning_us: timeline.reasoning.first_us(),
        first_content_us: timeline.content.first_us(),
        first_tool_call_us: timeline.tool_call.first_us(),
        token_counts: token_counts.into_tokens().filter(|_| is_counted),
        chunk_intervals: timeline.intervals,
        whole_body_output: events.whole && tally.event().channels.output(),
        arrivals_us: timeline.arrivals_us,
        not_generated: timeline.not_generated,
        elapsed_us: facts.elapsed_us,
        choices: choices.len() as u64,
        choice_timelines: match choices {
            [] | [_] => Vec::new(),
            _ => choices.iter().map(choice_timeline).collect(),
        },
        finish_reasons: extraction.finish_reasons.clone(),
        usage: extraction.usage,
        usage_sources: tally.usage.sources(),
        usage_ambiguous: choices.len() > 1 && tally.usage.is_ambiguous(),
        usage_invalid: extraction.usage_invalid.clone(),
        returned_models: tally.models,
        think_tag_in_content: extraction.think_tag_in_content,
        think_markup_in_content: extraction.think_markup_in_content,
        server_timings: server_timings(&tally.timings),
        anomalies: tally.anomalies.into_sorted(),
        bytes: facts.bytes,
        events: extraction.events_total,
        reads: reads.count,
        coalesced_reads: reads.coalesced,
    }
}

fn choice_timeline(choice: &Choice) -> ChoiceTimeline {
    ChoiceTimeline {
        index: choice.index,
        first_output_us: choice.output.first_us(),
        last_output_us: choice.output.last_us(),
        output_events: choice.output.count,
    }
}

/// Where most of the output came in bundles, something on the way held it back.
fn note_coalesced_stream(events: &mut Events) {
    if let Some(bundled) = events.reads.mostly_bundled(events.timeline.output.count) {
        let anomalies = &mut events.tally.anomalies;
        anomalies.note_many(AnomalyKind::CoalescedStream, bundled.events, bundled.offset);
    }
}

/// Reasoning that was billed must have been streamed: on its own channel, or between marks within
/// the content.
fn note_hidden_reasoning(events: &mut Events) {
    let tally = &mut events.tally;
    let billed = tally.usage.usage().and_then(|usage| usage.reasoning_tokens).unwrap_or(0);
    let shown =
        tally.reasoning_seen || tally.choices.list().iter().any(|choice| choice.marks.any());
    if billed > 0 && !shown {
        tally.anomalies.note(AnomalyKind::HiddenReasoning, tally.reasoning_billed_at);
    }
}

/// The numbers of a `timings` object, by name; the first ones by name if there are too many.
fn server_timings(timings: &str) -> BTreeMap<String, f64> {
    let members = Value::parse(timings).into_iter().flat_map(Value::members);
    let numbers = members.filter_map(|(name, value)| {
        let number = value.number()?.parse::<f64>().ok().filter(|number| number.is_finite())?;
        Some((name.decode().into_owned(), number))
    });
    numbers.collect::<BTreeMap<_, _>>().into_iter().take(MAX_TIMINGS).collect()
}
