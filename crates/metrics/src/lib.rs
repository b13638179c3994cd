//! Figures from observations: quantiles, rates, the metric catalogue, and the records made of them;
//! and the rules that hold records to their figures.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no randomness without a
//! seed. What was not observed is `None`, never 0.
//!
//! ```
//! use streamgauge_metrics::{catalogue, median, quantile};
//!
//! // One estimator everywhere: the mean of the middle two, and type 7 quantiles.
//! let ttft_ms = [212.0, 198.5, 240.0, 205.5];
//! assert_eq!(median(&ttft_ms), Some(208.75));
//! assert_eq!(quantile(&ttft_ms, 0.95), Some(235.79999999999998));
//!
//! // Every figure of a record is defined in one place.
//! let tpot = catalogue().iter().find(|metric| metric.id.as_str() == "tpot_p50_ms").unwrap();
//! assert!(tpot.definition.as_str().starts_with("Median of (last output - first output)"));
//! ```
//!
//! | module | holds |
//! | --- | --- |
//! | `quantile`, `interval`, `statistic`, `sorted`, `whole`, `rate`, `bootstrap` | estimators of samples, within one run |
//! | `request`, `kernel_basis`, `inflight`, `tiles`, `little` | what one request gives, by which clock, and how many were under way |
//! | `sent`, `answer`, `graded`, `gaps`, `cached`, `reasoning`, `measured` | what is kept of the requests of a run, and its windows |
//! | `server` | what the server's own metrics said meanwhile |
//! | `catalogue`, `page` | the metrics, and METRICS.md, which is written from them |
//! | `client_limited` | which of them the client's own delay may have bent |
//! | `client_error` | the client's stamps beside those of a server that keeps an account |
//! | `record` | plan, journal and receipts to run record |
//! | `verify` | the rules that a record's own members must keep |
//! | `change`, `difference`, `student`, `power`, `exact_test`, `paired_share` | what differs between runs, how surely, and what it takes to know |
//! | `compare`, `gate`, `judge` | candidate against baseline: matching, deltas, limits, gates and verdicts |
//! | `stood`, `decide` | how the gates of any comparison stand, and what somebody decides on them |

mod answer;
mod bootstrap;
mod cached;
mod catalogue;
mod change;
mod client_error;
mod client_limited;
mod compare;
mod decide;
mod difference;
mod error;
mod exact_test;
#[cfg(test)]
mod field_reports;
#[cfg(test)]
mod field_reports_compared;
mod gaps;
mod gate;
mod graded;
mod inflight;
mod interval;
mod judge;
mod kernel_basis;
mod little;
mod measured;
mod numbers;
mod page;
mod paired_share;
mod power;
mod quantile;
mod rate;
mod reasoning;
mod record;
mod request;
#[cfg(test)]
mod sample_blocks;
#[cfg(test)]
mod sample_run;
#[cfg(test)]
mod sample_turnover;
mod sent;
mod server;
mod sorted;
mod statistic;
mod stood;
mod student;
mod tiles;
mod turnover;
mod verify;
mod whole;

pub use answer::is_untruncated;
pub use bootstrap::bootstrap_interval;
pub use catalogue::{MetricSpec, Population, Presence, catalogue};
pub use change::{Change, Limit};
pub use client_error::{ClientErrors, ServerStamps, spread_of};
pub use client_limited::may_be_bent;
pub use compare::{
    BlockRules, CompareError, Difference, DiscordantPrompts, InsecureRuns, MODELS_LISTED_LABEL,
    MatchingCondition, Pairing, PromptOutcomes, SERVER_LABEL, Side, UnknownCondition,
    VERSION_LABEL, compare_blocks, compare_point, discordant_prompts, prompts_needed, recorded_id,
    was_compared,
};
pub use decide::{DecideError, DecisionInput, decide};
pub use error::RecordError;
pub use exact_test::{fisher_exact, mcnemar_exact};
pub use gate::{
    GateOutcome, Grounds, compared_direction, delta_percent, performance_eligible,
    performance_gate, strict_turnover_gate, verdict, within_five_percent,
};
pub use inflight::{Span, mean_inflight, peak_inflight, steady_window};
pub use interval::{quantile_interval, quantile_interval_coverage};
pub use judge::level_in_percent;
pub use kernel_basis::to_kernel_basis;
pub use little::littles_inflight;
pub use page::metrics_markdown;
pub use paired_share::Disagreement;
pub use power::{BlockNoise, Sureness};
pub use quantile::{median, quantile, quantiles_of_u32, sorted_quantile};
pub use rate::rate_interval;
pub use record::{
    CollectedRun, JournalEnd, MAX_CASES_IN_RECORD, RunCollector, RunInput, build_cases,
    build_record, check_plan, moved_us, to_v1, was_taken_up,
};
pub use request::{
    RateAbsence, chunk_intervals_ms, decode_rate_tok_per_s, e2e_from_schedule_ms, e2e_ms,
    first_generated_ms, generated_intervals_ms, prefill_rate_tok_per_s, prompt_tokens,
    queue_delay_ms, tpot_ms, ttfc_ms, ttft_from_schedule_ms, ttft_ms,
};
pub use statistic::Statistic;
pub use stood::{Compared, Standings, standings};
pub use verify::{
    Finding, LedgerFault, LedgerVerification, Note, Verification, unproven, verify,
    verify_decision, verify_ledger, verify_listed, verify_runs,
};
