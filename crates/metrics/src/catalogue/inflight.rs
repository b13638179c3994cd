//! How many requests were under way: at most, on average, and as many as Little's law asks for.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! let mut later = request(&[15], 1);
//! (later.started_us, later.last_attempt_started_us) = (5_000, 5_000);
//! // 0 to 10 ms and 5 to 20 ms.
//! let lines = [request(&[10], 1), later];
//! assert_eq!(figure("inflight_mean_count", &lines), Some(1.25));
//! assert_eq!(figure("inflight_peak_count", &lines), Some(2.0));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Population, Presence, RunFigure, Source};
use crate::inflight::{mean_inflight, peak_of};
use crate::little::littles_inflight;
use crate::measured::Part;

/// Names by which the serving cell and the windows of a record find their own members.
pub(crate) const MEAN_INFLIGHT: &str = "inflight_mean_count";
pub(crate) const PEAK_INFLIGHT: &str = "inflight_peak_count";
pub(crate) const STEADY_INFLIGHT: &str = "inflight_steady_mean_count";

pub(crate) const PEAK: Family = Family {
    name: "Peak in flight",
    meaning: "The most requests under way at any one instant, by the client's spans; spans that only \
              touch do not overlap.",
    formula: "the greatest number of spans [started_us, started_us + elapsed_us) over one instant",
    absent_when: "Nothing was sent, or a span is missing, as after a crash.",
    example: "0 to 10 ms, 10 to 20 ms and 15 to 30 ms: 2.",
    source: Source::Run { metric: Entry::of_run(PEAK_INFLIGHT), figure: peak },
    ..INFLIGHT
};

pub(crate) const MEAN: Family = Family {
    name: "Mean in flight",
    meaning: "The number of requests under way, averaged over the time from the first start to the \
              last end.",
    formula: "Σ of each span's part in the window / length of the window",
    absent_when: "Nothing was sent, or that took no time.",
    example: "0 to 10 ms and 5 to 20 ms: 25 / 20 = 1.25.",
    source: Source::Run {
        metric: Entry::of_run(MEAN_INFLIGHT).and_steady(STEADY_INFLIGHT),
        figure: mean,
    },
    ..INFLIGHT
};

pub(crate) const LITTLE: Family = Family {
    name: "In flight by Little's law",
    population: Population::Succeeded,
    meaning: "Advice: request throughput times mean latency, both of the steady window. Where it is far \
              from inflight_steady_mean_count, rate and latency are not of the same requests.",
    formula: "request_throughput_steady_per_s · e2e_steady_mean_ms / 1000",
    absent_when: "The steady window is not longer than 20 mean latencies, or no request of it succeeded.",
    example: "2.645 requests a second of 21.492 s each, over ten minutes: 56.8 under way.",
    source: Source::Run {
        metric: Entry::of_steady("inflight_steady_littles_count"),
        figure: little,
    },
    ..INFLIGHT
};

/// What these have in common.
const INFLIGHT: Family = Family {
    name: "",
    unit: Unit::Count,
    direction: Direction::Neutral,
    population: Population::Sent,
    presence: Presence::Always,
    token_source: None,
    meaning: "",
    formula: "",
    absent_when: "",
    example: "",
    source: Source::Run { metric: Entry::of_run(""), figure: |_| RunFigure::of(None, 0) },
};

fn peak(part: Part<'_>) -> RunFigure {
    let peak = if part.run.lacks_spans { None } else { peak_of(part.run.spans()) };
    RunFigure::of(peak.map(|peak| peak as f64), part.run.sent.len() as u64)
}

/// Every request that was under way takes part, whenever it began.
fn mean(part: Part<'_>) -> RunFigure {
    let mean = part.span().and_then(|window| mean_inflight(part.run.spans(), window));
    RunFigure::of(mean, part.run.sent.len() as u64)
}

fn little(part: Part<'_>) -> RunFigure {
    let (mut requests, mut us) = (0_u64, 0_u128);
    for sent in Population::Succeeded.of(part) {
        let Some(elapsed_us) = sent.e2e_us() else { continue };
        (requests, us) = (requests + 1, us + u128::from(elapsed_us));
    }
    let mean_ms = (requests > 0).then(|| us as f64 / requests as f64 / 1000.0);
    let all = Population::Succeeded.of(part).count() as u64;
    let rate = part.seconds().map(|seconds| all as f64 / seconds);
    let window_ms = part.seconds().map_or(0.0, |seconds| seconds * 1000.0);
    RunFigure::of(littles_inflight(rate, mean_ms, window_ms), requests)
}
