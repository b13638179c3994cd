//! What is wanted of a row, and whether it was met.

use crate::figures::{Figure, short};
use crate::rows::SAME_READS;
use crate::stamps::Errors;
use crate::trial::{Own, Trial};

/// The runs of a row.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    pub(crate) bare: Vec<Trial>,
    /// The bare loop with a pause, by which it gets as many events in a read as ours; `None` where
    /// it does so by itself.
    pub(crate) matched: Option<Vec<Trial>>,
    /// The hyper loop; with a pause where it needs one for as many events in a read as ours.
    pub(crate) hyper: Vec<Trial>,
    pub(crate) hyper_pauses: bool,
    pub(crate) ours: Vec<Trial>,
    pub(crate) stamped: Vec<Trial>,
}

/// A figure over several runs.
pub(crate) fn figure(runs: &[Trial], value: impl Fn(&Trial) -> f64) -> Option<Figure> {
    Figure::of(runs.iter().map(|run| Some(value(run))))
}

/// A figure of the errors over several runs.
pub(crate) fn error_figure(runs: &[Trial], value: impl Fn(&Errors) -> f64) -> Option<Figure> {
    Figure::of(runs.iter().map(|run| run.errors.as_ref().map(&value)))
}

/// A figure of our client's journal over several runs.
fn own_figure(runs: &[Trial], value: impl Fn(&Own) -> Option<f64>) -> Option<Figure> {
    Figure::of(runs.iter().map(|run| run.own.as_ref().and_then(&value)))
}

/// A lag up to this flags no metric, however small its value.
const LAG_LIMIT_MS: f64 = 1.0;

/// Something that is wanted of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// CPU time an event at most so many times the bare loop's at as many events in a read.
    CpuTimesBare(f64),
    /// At least so many events a second.
    EventsPerS(f64),
    /// The median interval differs from that of the server by less than this share.
    GapP50(f64),
    /// 99th percentile of the interval error, in milliseconds.
    IntervalP99(f64),
    /// 99th percentile of how late scheduled requests are sent, in milliseconds.
    LatenessP99(f64),
    /// Every request succeeds.
    NoFailures,
    /// No metric is limited by the client for its observer lag.
    NoLagFlag,
    /// So many requests under way at once.
    PeakInflight(u64),
    /// Most resident memory, in millions of bytes.
    PeakMb(f64),
    /// Median of the TTFT error, in milliseconds.
    TtftP50(f64),
    /// 99th percentile of the TTFT error; where the bare loop errs more, so many times its error.
    TtftP99 { limit_ms: f64, times_bare: Option<f64> },
}

/// What became of a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) wanted: String,
    pub(crate) found: String,
    /// `None` where it could not be measured.
    pub(crate) met: Option<bool>,
}

impl Verdict {
    /// Whether a figure's median keeps a limit.
    pub(crate) fn at_most(wanted: String, figure: Option<Figure>, limit: f64, unit: &str) -> Self {
        let met = figure.as_ref().map(|figure| figure.median() <= limit);
        let found =
            figure.map_or_else(|| "nothing".to_owned(), |figure| format!("{figure} {unit}"));
        Self { wanted, found, met }
    }
}

impl Goal {
    /// Judges the medians of the runs.
    pub(crate) fn judge(self, runs: &Runs) -> Verdict {
        let ours = &runs.ours;
        match self {
            Self::CpuTimesBare(limit) => cpu(runs, limit),
            Self::EventsPerS(limit) => {
                let figure = figure(ours, Trial::events_per_s);
                let met = figure.as_ref().map(|figure| figure.median() >= limit);
                let found = figure.map_or_else(String::new, |figure| figure.to_string());
                Verdict { wanted: format!("≥ {} events/s", short(limit)), found, met }
            }
            Self::GapP50(limit) => Verdict::at_most(
                format!("interval p50 off by < {} %", 100.0 * limit),
                error_figure(ours, |errors| 100.0 * (errors.gap_p50_ratio - 1.0).abs()),
                100.0 * limit,
                "%",
            ),
            Self::LatenessP99(limit) => Verdict::at_most(
                format!("dispatch lateness p99 < {limit} ms"),
                own_figure(ours, |own| own.lateness_p99_ms),
                limit,
                "ms",
            ),
            Self::NoLagFlag => Verdict::at_most(
                format!("no lag flag: lag p99 ≤ {LAG_LIMIT_MS} ms"),
                own_figure(ours, |own| own.lag_p99_ms),
                LAG_LIMIT_MS,
                "ms",
            ),
            Self::IntervalP99(limit) => Verdict::at_most(
                format!("interval error p99 ≤ {limit} ms"),
                error_figure(ours, |errors| errors.interval.p99),
                limit,
                "ms",
            ),
            // A run with a failure ends the program.
            Self::NoFailures => Verdict {
                wanted: "no error of ours".to_owned(),
                found: format!("none in {} runs", ours.len()),
                met: Some(true),
            },
            Self::PeakInflight(wanted) => {
                let peaks = own_figure(ours, |own| own.peak_inflight.map(|n| n as f64));
                Verdict {
                    wanted: format!("peak in flight {wanted}"),
                    met: peaks.as_ref().map(|peaks| peaks.median() == wanted as f64),
                    found: peaks.map_or_else(String::new, |peaks| peaks.median().to_string()),
                }
            }
            Self::PeakMb(limit) => Verdict::at_most(
                format!("resident ≤ {limit} MB"),
                figure(ours, Trial::peak_mb),
                limit,
                "MB",
            ),
            Self::TtftP50(limit) => Verdict::at_most(
                format!("TTFT error p50 ≤ {limit} ms"),
                error_figure(ours, |errors| errors.ttft.p50),
                limit,
                "ms",
            ),
            Self::TtftP99 { limit_ms, times_bare } => ttft_p99(runs, limit_ms, times_bare),
        }
    }
}

fn ttft_p99(runs: &Runs, limit_ms: f64, times_bare: Option<f64>) -> Verdict {
    let p99 = |runs: &[Trial]| error_figure(runs, |errors| errors.ttft.p99);
    let bare = p99(&runs.stamped).map(|figure| figure.median());
    let (wanted, limit) = match (times_bare, bare) {
        (Some(times), Some(bare)) => {
            let own = short(times * bare);
            let wanted = format!("TTFT error p99 ≤ {limit_ms} ms or {times} × bare = {own} ms");
            (wanted, limit_ms.max(times * bare))
        }
        _ => (format!("TTFT error p99 ≤ {limit_ms} ms"), limit_ms),
    };
    Verdict::at_most(wanted, p99(&runs.ours), limit, "ms")
}

fn cpu(runs: &Runs, limit: f64) -> Verdict {
    let wanted = format!("CPU an event ≤ {limit} × bare at the same events a read");
    let (ours, bare) = (&runs.ours[..], runs.bare_like_ours());
    let cost_us = |runs| figure(runs, Trial::cpu_us_per_event).map(|figure| figure.median());
    let Some((ours_us, bare_us)) = cost_us(ours).zip(cost_us(bare)) else {
        return Verdict { wanted, found: String::new(), met: None };
    };
    let shown = |us, runs| format!("{} µs at {}", short(us), short(median_events_per_read(runs)));
    let ratio = ours_us / bare_us;
    let found =
        format!("{} × ({}, bare {}", short(ratio), shown(ours_us, ours), shown(bare_us, bare));
    let hyper = cost_us(&runs.hyper).map(|hyper_us| {
        format!("; hyper loop {} ×, {}", short(hyper_us / bare_us), shown(hyper_us, &runs.hyper))
    });
    let found = found + &hyper.unwrap_or_default() + ")";
    // With more events in a read than the bare loop gets, the comparison would flatter.
    let [ours_reads, bare_reads] = [ours, bare].map(median_events_per_read);
    let is_fair = ours_reads <= bare_reads * SAME_READS;
    Verdict { wanted, found, met: is_fair.then_some(ratio <= limit) }
}

/// Zero without runs.
pub(crate) fn median_events_per_read(runs: &[Trial]) -> f64 {
    figure(runs, Trial::events_per_read).map_or(0.0, |figure| figure.median())
}
