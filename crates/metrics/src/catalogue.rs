//! The metric catalogue: every figure of a record, each defined in one place.
//!
//! A family is one quantity: how a request's values are found, over which requests, and the
//! statistics that are taken of them. Each has a file of its own, which also says what the figure
//! is called elsewhere; METRICS.md is written from here.

mod cached_tokens;
mod chunk_interval;
mod connect;
mod correctness;
mod decode_rate;
mod dispatch_lateness;
mod e2e;
mod errors;
mod family;
mod finish_reasons;
mod first_generated;
mod goodput;
mod inflight;
mod measure;
mod observer_lag;
mod output_tokens;
mod peak_rates;
mod prefill_rate;
mod prompt_tokens;
mod queue_delay;
mod reasoning_share;
mod retries;
mod server_kv_cache;
mod server_requests;
mod server_speculation;
mod server_tokens;
mod throughput;
mod token_interval;
mod tpot;
mod ttfc;
mod ttft;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use streamgauge_schema::{
    Direction, Identifier, Metric, PublicText, TokenSource, Unit, WindowName,
};

use crate::error::RecordError;
use crate::measured::{Measured, Part};
use crate::statistic::Statistic;

pub(crate) use correctness::{GRADED_PASS_RATIO, PASS_RATIO, PRIMARY_PASS_RATIO};
pub(crate) use family::{Entry, Family, Metrics, RunFigure, Source};
pub(crate) use goodput::list as goal_list;
pub(crate) use inflight::{MEAN_INFLIGHT, PEAK_INFLIGHT, STEADY_INFLIGHT};

/// All families, in the order in which records list them: the golden seven first.
pub(crate) const FAMILIES: [&Family; 58] = [
    &throughput::COMPLETION_THROUGHPUT,
    &first_generated::FIRST_GENERATED,
    &ttfc::FIRST_FINAL_CONTENT,
    &e2e::COMPLETION,
    &chunk_interval::STREAM_CHUNK_INTERVAL,
    &throughput::BATCH_DURATION,
    &throughput::REQUEST_THROUGHPUT,
    &peak_rates::PEAK_REQUESTS,
    &throughput::INPUT_THROUGHPUT,
    &throughput::TOTAL_THROUGHPUT,
    &peak_rates::PEAK_TOKENS,
    &goodput::GOODPUT,
    &goodput::ATTAINMENT,
    &inflight::PEAK,
    &inflight::MEAN,
    &inflight::LITTLE,
    &ttft::TTFT,
    &first_generated::TIME_TO_FIRST_GENERATED,
    &ttfc::TTFC,
    &e2e::E2E,
    &ttft::TTFT_FROM_SCHEDULE,
    &e2e::E2E_FROM_SCHEDULE,
    &queue_delay::QUEUE_DELAY,
    &chunk_interval::CHUNK_INTERVAL,
    &chunk_interval::SHORTEST,
    &chunk_interval::LONGEST,
    &token_interval::TOKEN_INTERVAL,
    &tpot::TPOT,
    &decode_rate::DECODE_RATE,
    &prefill_rate::PREFILL_RATE,
    &output_tokens::OUTPUT_TOKENS,
    &prompt_tokens::PROMPT_TOKENS,
    &cached_tokens::CACHED_TOKENS,
    &reasoning_share::REASONING_SHARE,
    &correctness::PASSES,
    &correctness::PRIMARY_PASSES,
    &correctness::GRADED_PASSES,
    &errors::ERRORS,
    &retries::RETRIED,
    &finish_reasons::NO_FINISH_REASON,
    &finish_reasons::STOPPED,
    &finish_reasons::LENGTH_LIMITED,
    &finish_reasons::TOOL_CALLS,
    &finish_reasons::REFUSALS,
    &connect::CONNECT,
    &observer_lag::OBSERVER_LAG,
    &dispatch_lateness::DISPATCH_LATENESS,
    &server_requests::RUNNING_MEAN,
    &server_requests::RUNNING_PEAK,
    &server_requests::WAITING_MEAN,
    &server_requests::WAITING_PEAK,
    &server_requests::PREEMPTIONS,
    &server_kv_cache::KV_CACHE_PEAK,
    &server_speculation::DRAFT_ACCEPTANCE,
    &server_speculation::ACCEPTED_LENGTH,
    &server_tokens::OUTPUT_TOKENS,
    &server_tokens::OUTPUT_TOKENS_BY_USAGE,
    &server_tokens::PROMPT_TOKENS,
];

/// What a metric is, whatever the run.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSpec {
    /// Its name in records.
    pub id: Identifier,
    /// Its name for people.
    pub label: PublicText,
    /// What it is and what is in its denominator.
    pub definition: PublicText,
    /// Its unit.
    pub unit: Unit,
    /// Which way it gets better.
    pub direction: Direction,
    /// The part of the run it is taken over.
    pub window: WindowName,
    /// What it is taken over.
    pub population: Population,
    /// Where its token counts come from; `None` when it needs none.
    pub token_source: Option<TokenSource>,
    /// What is taken of the values of the requests; `None` when the run has one value.
    pub statistic: Option<Statistic>,
    /// When a request, or the run, has no value.
    pub absent_when: &'static str,
    /// Whether it is one of the seven metrics of version 1.
    pub in_version_1: bool,
    /// In which records it stands.
    pub presence: Presence,
    /// The name of its quantity, which its statistics share.
    pub quantity: &'static str,
    /// How it, or the value of a request, comes from what was stored.
    pub formula: &'static str,
    /// One example with numbers.
    pub example: &'static str,
    /// Whether its samples are whole numbers, of microseconds where the unit is a time.
    pub(crate) is_whole: bool,
    /// Whether a request adds as many samples as it has.
    pub is_pooled: bool,
    /// Whether it is a share of requests.
    pub(crate) is_share: bool,
}

/// The records in which a metric stands. Where the run gives it no value it stands there all the
/// same, and is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presence {
    /// All of them.
    Always,
    /// Those of runs whose plan has goals.
    Goals,
    /// Those of runs that a grader was set for.
    Graded,
    /// Those of runs whose plan says when a request is sent again.
    Retries,
    /// Those of runs whose requests had due times.
    Schedule,
    /// Those of runs that asked the server for its own metrics.
    ServerMetrics,
}

/// What a metric is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Population {
    /// Every request that the schedule held, sent or not.
    Declared,
    /// The requests that ended by themselves, and were not cut by the end of the run.
    Ended,
    /// Every declared request that has the value, whatever became of it.
    EveryResponse,
    /// Every request that was sent.
    Sent,
    /// The answers of the server to questions for its own metrics.
    ServerAnswers,
    /// The requests that succeeded.
    Succeeded,
}

/// Every metric that a record may hold, in the order of a record: those of the whole run, then
/// those of its steady window, which stand in records that have one.
///
/// ```
/// use streamgauge_metrics::catalogue;
/// let p95 = catalogue().iter().find(|metric| metric.id.as_str() == "ttft_p95_ms").unwrap();
/// assert_eq!(p95.label.as_str(), "Time to first output (TTFT), p95");
/// assert_eq!(catalogue().iter().filter(|metric| metric.in_version_1).count(), 7);
/// ```
#[must_use]
pub fn catalogue() -> &'static [MetricSpec] {
    static CATALOGUE: LazyLock<Vec<MetricSpec>> = LazyLock::new(|| {
        let of = |window| FAMILIES.iter().flat_map(move |family| family.specs(window));
        of(WindowName::Whole).chain(of(WindowName::Steady)).collect()
    });
    &CATALOGUE
}

/// What the catalogue says of a metric; it may not know it.
pub(crate) fn spec(id: &str) -> Option<&'static MetricSpec> {
    static BY_ID: LazyLock<BTreeMap<&str, &MetricSpec>> =
        LazyLock::new(|| catalogue().iter().map(|spec| (spec.id.as_str(), spec)).collect());
    BY_ID.get(id).copied()
}

/// The metrics of a run.
pub(crate) fn metrics_of(run: &Measured) -> Result<Vec<Metric>, RecordError> {
    let mut metrics = Vec::new();
    for part in [Some(Part::whole(run)), Part::steady(run)].into_iter().flatten() {
        for family in FAMILIES.iter().filter(|family| family.presence.is_given(run)) {
            family.measure(part, &mut metrics)?;
        }
    }
    Ok(metrics)
}

impl Presence {
    fn is_given(self, run: &Measured) -> bool {
        match self {
            Self::Always => true,
            Self::Goals => !run.goals.is_empty(),
            Self::Graded => run.is_graded,
            Self::Retries => run.has_retries,
            Self::Schedule => run.is_scheduled,
            Self::ServerMetrics => run.server.is_some(),
        }
    }
}

impl Population {
    /// Its name in records.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Declared => "every declared request, sent or not",
            Self::Ended => "requests that ended by themselves: succeeded, failed or timed out",
            Self::EveryResponse => "every declared request with that timing, failures included",
            Self::Sent => "every request that was sent",
            Self::ServerAnswers => "answers of the server to questions for its own metrics",
            Self::Succeeded => "succeeded requests",
        }
    }
}

#[cfg(test)]
mod tests;
