//! When things happened in one response, in whole microseconds since the request's `started`.

use std::time::Duration;

use streamgauge_schema::IntervalSummary;

use crate::tally::Channels;

/// The first and last of the events that have something in common.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub(crate) first: Option<Moment>,
    pub(crate) last: Option<Moment>,
    pub(crate) count: u64,
}

/// One event and its arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) event: u64,
    pub(crate) us: u64,
}

/// The stamps of one response. They never decrease.
#[derive(Debug)]
pub(crate) struct Timeline {
    now_us: u64,
    keep_arrivals: bool,
    pub(crate) any: Span,
    pub(crate) output: Span,
    pub(crate) generated: Span,
    pub(crate) reasoning: Span,
    pub(crate) content: Span,
    pub(crate) tool_call: Span,
    pub(crate) arrivals_us: Vec<u64>,
    pub(crate) not_generated: Vec<u32>,
    /// What the intervals between generated events come to, where arrivals are not kept.
    pub(crate) intervals: Option<IntervalSummary>,
}

impl Timeline {
    /// Nothing has happened.
    pub(crate) fn new(keep_arrivals: bool) -> Self {
        Self {
            now_us: 0,
            keep_arrivals,
            any: Span::default(),
            output: Span::default(),
            generated: Span::default(),
            reasoning: Span::default(),
            content: Span::default(),
            tool_call: Span::default(),
            arrivals_us: Vec::new(),
            not_generated: Vec::new(),
            intervals: None,
        }
    }

    /// Sets the time of what comes next. A time before the last one is taken for the last one.
    pub(crate) fn advance(&mut self, at: Duration) {
        let at_us = u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
        self.now_us = self.now_us.max(at_us);
    }

    /// Bytes of memory that the single arrivals take.
    pub(crate) fn held_bytes(&self) -> usize {
        size_of::<u64>() * self.arrivals_us.capacity()
            + size_of::<u32>() * self.not_generated.capacity()
    }

    /// The time of what happens now.
    pub(crate) fn now_us(&self) -> u64 {
        self.now_us
    }

    /// An event was dispatched.
    pub(crate) fn dispatched(&mut self) -> Moment {
        let moment = Moment { event: self.any.count, us: self.now_us };
        self.any.push(moment);
        moment
    }

    /// That event carried output, on these channels.
    pub(crate) fn carried(&mut self, channels: Channels, moment: Moment) {
        if self.keep_arrivals {
            self.keep(channels, moment);
        } else if channels.generated() {
            self.sum_up(moment);
        }
        for (carried, span) in [
            (true, &mut self.output),
            (channels.generated(), &mut self.generated),
            (channels.reasoning, &mut self.reasoning),
            (channels.content, &mut self.content),
            (channels.tool_call, &mut self.tool_call),
        ] {
            if carried {
                span.push(moment);
            }
        }
    }
}

impl Timeline {
    fn keep(&mut self, channels: Channels, moment: Moment) {
        self.arrivals_us.push(moment.us - self.output.last_us().unwrap_or(0));
        if !channels.generated() {
            self.not_generated.push(u32::try_from(self.output.count).unwrap_or(u32::MAX));
        }
    }

    fn sum_up(&mut self, moment: Moment) {
        let Some(last_us) = self.generated.last_us() else { return };
        let interval = moment.us - last_us;
        let none = IntervalSummary { count: 0, min_us: u64::MAX, max_us: 0, sum_us: 0 };
        let sum = self.intervals.get_or_insert(none);
        sum.count += 1;
        sum.min_us = sum.min_us.min(interval);
        sum.max_us = sum.max_us.max(interval);
        sum.sum_us += interval;
    }
}

impl Span {
    pub(crate) fn first_us(&self) -> Option<u64> {
        self.first.map(|moment| moment.us)
    }

    pub(crate) fn last_us(&self) -> Option<u64> {
        self.last.map(|moment| moment.us)
    }

    pub(crate) fn first_event(&self) -> Option<u64> {
        self.first.map(|moment| moment.event)
    }

    /// Takes an event; the same one again is still one.
    pub(crate) fn push(&mut self, moment: Moment) {
        if self.last.is_some_and(|last| last.event == moment.event) {
            return;
        }
        self.first.get_or_insert(moment);
        self.last = Some(moment);
        self.count += 1;
    }
}
