//! What the events of one response add up to. Dialects write into it.

use streamgauge_schema::{AnomalyKind, CountScope, CountSource};

use crate::anomalies::Anomalies;
use crate::choices::{Choices, Room};
use crate::json::{Text, Value};
use crate::so_far::Change;
use crate::timeline::Moment;
use crate::twin::{Channel, Said};
use crate::usage::{Report, Reported, UsageTally};

/// Different model names that are kept.
const MAX_MODELS: usize = 64;

/// Bytes of a model name that are kept.
const MAX_MODEL_BYTES: usize = 1024;

/// Bytes of a `timings` object that are kept.
const MAX_TIMINGS_BYTES: usize = 16 * 1024;

/// Channels on which one event carried output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Channels {
    pub(crate) content: bool,
    pub(crate) reasoning: bool,
    pub(crate) refusal: bool,
    pub(crate) tool_call: bool,
}

/// The sums, and what the current event carried.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) anomalies: Anomalies,
    pub(crate) choices: Choices,
    pub(crate) refusal: String,
    pub(crate) usage: UsageTally,
    /// Sorted.
    pub(crate) models: Vec<String>,
    /// The last `timings` object, as written.
    pub(crate) timings: String,
    /// Reasoning came in some event.
    pub(crate) reasoning_seen: bool,
    /// Where reasoning tokens were last reported.
    pub(crate) reasoning_billed_at: u64,
    /// The end mark was seen.
    pub(crate) done: bool,
    usage_asked: bool,
    /// `None` if no text is to be kept.
    room: Option<Room>,
    offset: u64,
    /// `None` while a whole body is read: nothing in it has a time.
    moment: Option<Moment>,
    event: Event,
}

/// What the current event said.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Event {
    pub(crate) channels: Channels,
    /// It means a failure, but the rest of it counts.
    pub(crate) failed: bool,
    /// Completion tokens that were counted up to it.
    pub(crate) completion_tokens: Option<u64>,
    /// What of it another event could say again.
    pub(crate) said: Said,
}

impl Channels {
    /// Reasoning or content.
    pub(crate) fn generated(self) -> bool {
        self.reasoning || self.content
    }

    /// Any channel.
    pub(crate) fn output(self) -> bool {
        self.generated() || self.refusal || self.tool_call
    }
}

impl Tally {
    /// Nothing yet. At most `max_text_bytes` of text are kept.
    pub(crate) fn new(usage_asked: bool, max_text_bytes: Option<usize>) -> Self {
        Self {
            anomalies: Anomalies::default(),
            choices: Choices::default(),
            refusal: String::new(),
            usage: UsageTally::default(),
            models: Vec::new(),
            timings: String::new(),
            reasoning_seen: false,
            reasoning_billed_at: 0,
            done: false,
            usage_asked,
            room: max_text_bytes.map(Room),
            offset: 0,
            moment: None,
            event: Event::default(),
        }
    }

    /// An event begins, at this byte offset of the body and at this moment.
    pub(crate) fn begin(&mut self, offset: u64, moment: Option<Moment>) {
        self.offset = offset;
        self.moment = moment;
        self.event = Event::default();
    }

    /// What the current event said so far.
    pub(crate) fn event(&self) -> Event {
        self.event
    }

    /// Bytes of reasoning and of content so far, of the lowest choice; `None` where no text is kept.
    pub(crate) fn text_ends(&self) -> Option<[u32; 2]> {
        self.room.as_ref()?;
        let choice = self.choices.list().first();
        let bytes = |text: &String| u32::try_from(text.len()).unwrap_or(u32::MAX);
        Some(choice.map_or([0, 0], |choice| [bytes(&choice.reasoning), bytes(&choice.content)]))
    }

    /// Bytes of memory that the texts take.
    pub(crate) fn held_bytes(&self) -> usize {
        let texts =
            self.choices.list().iter().flat_map(|choice| [&choice.reasoning, &choice.content]);
        texts.map(String::capacity).sum::<usize>()
            + self.refusal.capacity()
            + self.timings.capacity()
    }

    /// Where the current event begins in the body.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// A choice was mentioned.
    pub(crate) fn choice(&mut self, index: u64) {
        let known = self.choices.choice(index).is_some();
        self.note_limit_unless(known);
    }

    /// Content of a choice; an empty text is none.
    pub(crate) fn content(&mut self, index: u64, text: Text<'_>) {
        self.event.channels.content |= !text.is_empty();
        self.event.said.text(Channel::Content, index, text);
        let Some(choice) = self.choices.choice(index) else { return };
        let mut whole = true;
        text.pieces(|piece| whole &= choice.content(piece, self.room.as_mut()));
        self.note_limit_unless(whole);
        self.output_unless(text.is_empty(), index);
    }

    /// The text of an event that is otherwise as the one before.
    pub(crate) fn again(&mut self, channel: Channel, index: u64, text: Text<'_>) {
        match channel {
            Channel::Content => self.content(index, text),
            Channel::Reasoning => self.reasoning(index, text),
        }
    }

    /// The whole content of a choice so far; one that is empty, or the same as before, says nothing.
    pub(crate) fn content_so_far(&mut self, index: u64, text: Text<'_>) {
        self.event.said = Said::More;
        let Some(choice) = self.choices.choice(index) else {
            self.event.channels.content |= !text.is_empty();
            return;
        };
        let (change, whole) = choice.content_so_far(text, self.room.as_mut());
        let nothing = change == Change::None || text.is_empty();
        self.event.channels.content |= !nothing;
        self.note_limit_unless(whole);
        self.output_unless(nothing, index);
    }

    /// Reasoning of a choice; an empty text is none.
    pub(crate) fn reasoning(&mut self, index: u64, text: Text<'_>) {
        self.event.channels.reasoning |= !text.is_empty();
        self.event.said.text(Channel::Reasoning, index, text);
        self.reasoning_seen |= !text.is_empty();
        let Some(choice) = self.choices.choice(index) else { return };
        if let Some(room) = &mut self.room {
            let whole = keep(room, &mut choice.reasoning, text);
            self.note_limit_unless(whole);
        }
        self.output_unless(text.is_empty(), index);
    }

    /// A refusal by the model; an empty text is none.
    pub(crate) fn refusal(&mut self, index: u64, text: Text<'_>) {
        self.event.channels.refusal |= !text.is_empty();
        self.event.said = Said::More;
        if let Some(room) = &mut self.room {
            let whole = keep(room, &mut self.refusal, text);
            self.note_limit_unless(whole);
        }
        self.output_unless(text.is_empty(), index);
    }

    /// Arguments of a tool call.
    pub(crate) fn tool_call(&mut self, index: u64) {
        self.event.channels.tool_call = true;
        self.event.said = Said::More;
        self.output_unless(false, index);
    }

    /// The dialect's end mark.
    pub(crate) fn end(&mut self) {
        self.done = true;
        self.event.said = Said::More;
    }

    /// The event means a failure, but the rest of it counts.
    pub(crate) fn fail(&mut self) {
        self.event.failed = true;
        self.event.said = Said::More;
    }

    /// A finish reason of a choice.
    pub(crate) fn finish(&mut self, index: u64, reason: &str) {
        self.event.said = Said::More;
        self.event.failed |= matches!(reason, "error" | "network_error");
        if let Some(choice) = self.choices.choice(index) {
            let whole = choice.finish(reason);
            self.note_limit_unless(whole);
        }
    }

    /// A model name; an empty one is none.
    pub(crate) fn model(&mut self, name: Text<'_>) {
        let sent = name.decode();
        let name = &sent[..sent.floor_char_boundary(MAX_MODEL_BYTES)];
        if name.is_empty() {
            return;
        }
        self.note_limit_unless(name.len() == sent.len());
        if let Err(place) = self.models.binary_search_by(|known| known.as_str().cmp(name)) {
            if self.models.len() < MAX_MODELS {
                self.models.insert(place, name.to_owned());
            } else {
                self.note_limit_unless(false);
            }
        }
    }

    /// Token counts. To be called after the finish reasons of the event.
    pub(crate) fn usage(&mut self, report: &Report, scope: CountScope) {
        if !report.says_anything() {
            return;
        }
        self.event.said = Said::More;
        if report.reasoning_tokens.is_some() {
            self.reasoning_billed_at = self.offset;
        }
        if let Some(Reported::Count(tokens)) = report.completion_tokens {
            self.event.completion_tokens = Some(tokens);
        }
        let about_all = scope == CountScope::Request || self.choices.list().len() == 1;
        let is_final = about_all && self.choices.all_finished();
        let from = CountSource { event: self.moment.map_or(0, |moment| moment.event), scope };
        let oddities = self.usage.push(report, from, is_final);
        let unasked = u64::from(!self.usage_asked);
        for (kind, count) in [
            (AnomalyKind::FallingCounter, oddities.falling),
            (AnomalyKind::InvalidUsage, oddities.invalid),
            (AnomalyKind::UnaskedUsage, unasked),
            (AnomalyKind::UsageDisagrees, oddities.disagreeing),
        ] {
            self.anomalies.note_many(kind, count, self.offset);
        }
    }

    /// A server's own timings, an object of numbers.
    pub(crate) fn timings(&mut self, timings: Value<'_>) {
        self.event.said = Said::More;
        let written = timings.as_written();
        if !timings.is_object() {
            return;
        }
        if written.len() > MAX_TIMINGS_BYTES {
            return self.note_limit_unless(false);
        }
        self.timings.clear();
        self.timings.push_str(written);
    }

    fn output_unless(&mut self, nothing: bool, index: u64) {
        if nothing {
            return;
        }
        if let (Some(choice), Some(moment)) = (self.choices.choice(index), self.moment) {
            choice.output.push(moment);
        }
    }

    fn note_limit_unless(&mut self, kept: bool) {
        if !kept {
            self.event.said = Said::More;
            self.anomalies.note(AnomalyKind::OverLimit, self.offset);
        }
    }
}

/// Keeps a text as far as there is room. False if any of it is lost.
fn keep(room: &mut Room, kept: &mut String, text: Text<'_>) -> bool {
    let mut whole = true;
    text.pieces(|piece| whole &= room.keep(kept, piece));
    whole
}
