//! The measured part of a run: what the schedule held, the requests that were sent, and the windows
//! that figures are taken over.

use streamgauge_schema::{
    Completion, Goal, Load, LoadShape, Observation, Plan, RequestLine, Shard, TokenAccounting,
    WindowName,
};

use crate::cached::CachedShare;
use crate::gaps::Gaps;
use crate::inflight::{Span, steady_window_of};
use crate::reasoning::ReasoningShare;
use crate::request::generated_gaps_us;
use crate::sent::Sent;
use crate::server::ServerFigures;
use crate::statistic::Statistic;
use crate::whole::{Summary, Whole};

/// The measured requests of a run. Warm-up is outside it.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Requests that the schedule held; of a closed loop that time ends, those that were sent.
    pub(crate) offered: u64,
    /// Those that were sent, by index.
    pub(crate) sent: Vec<Sent>,
    /// The gaps between their events.
    pub(crate) gaps: Gaps,
    /// The extremes of the gaps between events with reasoning or content.
    pub(crate) extremes: Option<Extremes>,
    /// How long bytes lay unread.
    pub(crate) lags: Lags,
    /// Whether some request was under way whose span is lost.
    pub(crate) lacks_spans: bool,
    /// Prompt tokens that came from a cache.
    pub(crate) cached: CachedShare,
    /// Tokens of reasoning.
    pub(crate) reasoning: ReasoningShare,
    /// How the server counts them.
    pub(crate) token_accounting: TokenAccounting,
    /// What a request must keep to be good.
    pub(crate) goals: Vec<Goal>,
    /// Whether each request has a due time.
    pub(crate) is_scheduled: bool,
    /// Whether requests that failed were sent again by policy.
    pub(crate) has_retries: bool,
    /// Whether a grader was set.
    pub(crate) is_graded: bool,
    /// What the server said of itself meanwhile; `None` where it was not asked.
    pub(crate) server: Option<ServerFigures>,
    /// While the load was at its target; `None` when that was too short.
    pub(crate) steady: Option<Span>,
}

/// Least and greatest of some gaps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extremes {
    pub(crate) least_us: u64,
    pub(crate) greatest_us: u64,
    /// How many gaps there are.
    pub(crate) gaps: u64,
    /// Responses that have any.
    pub(crate) responses: u64,
}

/// How long bytes lay unread before the client took them, by the kernel's stamps.
#[derive(Debug, Default)]
pub(crate) struct Lags {
    /// For each read with a usable stamp, by the journals that they stand in.
    pub(crate) us: Vec<Whole>,
    /// Responses with any.
    pub(crate) responses: u64,
}

impl Lags {
    fn add(&mut self, line: &RequestLine, journal: usize) {
        let lags_us = line.observer_lag_us.as_deref().unwrap_or_default();
        if lags_us.is_empty() {
            return;
        }
        self.responses += 1;
        if self.us.len() <= journal {
            self.us.resize_with(journal + 1, Whole::default);
        }
        lags_us.iter().for_each(|us| self.us[journal].push(*us));
    }

    /// What figures need of all of them, in milliseconds.
    pub(crate) fn summary_ms(&self) -> Summary {
        Whole::summary_of(&self.us, 1000.0)
    }
}

/// Measured requests as they come in, in any order.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) sent: Vec<Sent>,
    /// Which journal the next ones stand in.
    pub(crate) journal: usize,
    gaps: Gaps,
    extremes: Option<Extremes>,
    lags: Lags,
    cached: CachedShare,
    reasoning: ReasoningShare,
}

impl Gathered {
    /// Takes a request whose times are known by the run's time basis.
    pub(crate) fn push_timed(&mut self, line: &RequestLine) {
        let gaps = line.observation.as_ref().and_then(Extremes::of);
        self.extremes = match (self.extremes, gaps) {
            (Some(known), Some(new)) => Some(known.with(new)),
            (known, new) => known.or(new),
        };
        self.push_counts(line);
        self.sent.push(Sent::timed(line, &mut self.gaps));
    }

    /// Takes a request whose times are not.
    pub(crate) fn push_untimed(&mut self, line: &RequestLine) {
        self.push_counts(line);
        self.sent.push(Sent::untimed(line));
    }

    fn push_counts(&mut self, line: &RequestLine) {
        self.lags.add(line, self.journal);
        self.cached.add(line);
        self.reasoning.add(line);
    }

    /// All of them, of a run that offered so many, or of a shard by itself.
    pub(crate) fn close(self, plan: &Plan, offered: u64, shard: Option<Shard>) -> Measured {
        let Self { mut sent, gaps, extremes, lags, cached, reasoning, .. } = self;
        sent.sort_unstable_by_key(|sent| sent.index());
        Measured {
            offered,
            steady: steady(&plan.load, shard, &sent),
            sent,
            gaps,
            extremes,
            lags,
            lacks_spans: false,
            cached,
            reasoning,
            token_accounting: plan.token_accounting.clone(),
            goals: plan.goals.clone(),
            is_scheduled: plan.load.shape.is_scheduled(),
            is_graded: plan.grading.is_some(),
            has_retries: plan.retries.is_some(),
            server: None,
        }
    }
}

impl Measured {
    pub(crate) fn count(&self, completion: Completion) -> u64 {
        match completion {
            Completion::NotSent => self.offered - self.sent.len() as u64,
            other => self.sent.iter().filter(|sent| sent.completion == other).count() as u64,
        }
    }

    /// Completion tokens of all responses with a usable count of them.
    pub(crate) fn counted_tokens(&self) -> u64 {
        let counts = self.sent.iter().filter_map(|sent| sent.output_tokens().counted());
        counts.fold(0, u64::saturating_add)
    }

    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        self.sent.iter().map(Sent::span)
    }

    /// From the first start to the last end; `None` when nothing was sent, or when that took no
    /// time, of which there are no rates.
    pub(crate) fn batch(&self) -> Option<Span> {
        let whole = self.spans().reduce(Span::with);
        whole.filter(|whole| whole.length_us() > 0)
    }
}

/// A part of a run that figures are taken over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) run: &'a Measured,
    pub(crate) window: WindowName,
    span: Option<Span>,
}

impl<'a> Part<'a> {
    /// All of it, from the first start to the last end.
    pub(crate) fn whole(run: &'a Measured) -> Self {
        Self { run, window: WindowName::Whole, span: run.batch() }
    }

    /// Its steady window, where there is one.
    pub(crate) fn steady(run: &'a Measured) -> Option<Self> {
        run.steady.map(|span| Self { run, window: WindowName::Steady, span: Some(span) })
    }

    /// The requests that were sent in it: those that began, or were due, before its end and not
    /// before its beginning.
    pub(crate) fn sent(self) -> impl Iterator<Item = &'a Sent> {
        let window = self.span.filter(|_| self.window == WindowName::Steady);
        let within = move |sent: &&Sent| {
            let at_us = sent.scheduled_us().unwrap_or(sent.started_us);
            window.is_none_or(|window| (window.from_us..window.to_us).contains(&at_us))
        };
        self.run.sent.iter().filter(within)
    }

    /// Its time.
    pub(crate) fn span(self) -> Option<Span> {
        self.span
    }

    /// Its length: what rates are divided by.
    pub(crate) fn seconds(self) -> Option<f64> {
        self.span.map(|span| span.length_us() as f64 / 1e6)
    }
}

/// While the load was at its target. One that changes by plan is at none.
fn steady(load: &Load, shard: Option<Shard>, sent: &[Sent]) -> Option<Span> {
    let succeeded = sent.iter().filter(|sent| sent.is_timed && sent.succeeded());
    let latencies_us: Whole = succeeded.map(|sent| sent.elapsed_us()).collect();
    let median_us = Statistic::P50.of(&latencies_us.summary(1.0))?;
    let window = match &load.shape {
        LoadShape::ClosedLoop { concurrency } => {
            let clients = shard.map_or(*concurrency, |shard| shard.share(*concurrency));
            steady_window_of(sent.iter().map(Sent::span), clients, median_us)
        }
        LoadShape::OpenLoop { stages, .. } => match stages.as_slice() {
            [only] if only.from_per_s == only.to_per_s => steady_arrivals(sent, median_us),
            _ => None,
        },
        LoadShape::Trace { .. } => steady_arrivals(sent, median_us),
        LoadShape::ClosedStages { .. } => None,
    };
    window.filter(|window| window.length_us() > 0)
}

/// From the first due time and the median latency, but not before the first start, to the last due
/// time; `None` when that is shorter than five times the median latency.
fn steady_arrivals(sent: &[Sent], median_us: f64) -> Option<Span> {
    let due = || sent.iter().filter_map(Sent::scheduled_us);
    let started_us = sent.iter().map(|sent| sent.started_us).min()?;
    let from_us = due().min()?.saturating_add(median_us as u64).max(started_us);
    let window = Span { from_us, to_us: due().max()? };
    (window.length_us() as f64 >= 5.0 * median_us).then_some(window)
}

impl Extremes {
    /// Those of one response, from its single gaps or, where these were not kept, from what was.
    fn of(seen: &Observation) -> Option<Self> {
        if let Some(kept) = seen.chunk_intervals {
            let (least_us, greatest_us) = (kept.min_us, kept.max_us);
            return Some(Self { least_us, greatest_us, gaps: kept.count, responses: 1 });
        }
        let each = generated_gaps_us(seen).map(|us| Self {
            least_us: us,
            greatest_us: us,
            gaps: 1,
            responses: 1,
        });
        each.reduce(|all, one| Self { responses: 1, ..all.with(one) })
    }

    fn with(self, other: Self) -> Self {
        Self {
            least_us: self.least_us.min(other.least_us),
            greatest_us: self.greatest_us.max(other.greatest_us),
            gaps: self.gaps.saturating_add(other.gaps),
            responses: self.responses + other.responses,
        }
    }
}
