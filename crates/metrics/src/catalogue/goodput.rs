//! Requests that kept every goal: as a rate, and as a share.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure_where, request};
//! use streamgauge_schema::{Goal, GoalQuantity, Plan};
//!
//! // 100 requests of 100 ms, one after the other; ten of them answer after 90 ms, the others after 50.
//! let lines: Vec<_> = (0..100_u64)
//!     .map(|n| {
//!         let mut line = request(&[if n % 10 == 0 { 90 } else { 50 }, 100], 2);
//!         (line.started_us, line.last_attempt_started_us) = (n * 100_000, n * 100_000);
//!         line
//!     })
//!     .collect();
//! let goal = |plan: &mut Plan| {
//!     plan.goals = vec![Goal { quantity: GoalQuantity::Ttft, limit_ms: 60.0 }];
//! };
//! assert_eq!(figure_where("goodput_req_per_s", &lines, goal), Some(9.0));
//! assert_eq!(figure_where("goodput_ratio", &lines, goal), Some(0.9));
//! ```

use streamgauge_schema::{Direction, Goal, Unit};

use super::{Entry, Family, Population, Presence, RunFigure, Source};
use crate::measured::Part;

/// Longest list of goals that a definition has room for.
const MOST_GOAL_CHARS: usize = 90;

const ABSENT: &str = "No request ended by itself. The metric stands only in records of runs with \
                      goals.";

pub(crate) const GOODPUT: Family = Family {
    name: "Goodput",
    unit: Unit::RequestsPerSecond,
    direction: Direction::HigherIsBetter,
    population: Population::Ended,
    presence: Presence::Goals,
    token_source: None,
    meaning: "Requests that succeeded and kept every goal, divided by the measured batch duration; a \
              missing value is a miss.",
    formula: "good / batch_duration_seconds; good: succeeded, and each goal's quantity is there and \
              at most its limit",
    absent_when: ABSENT,
    example: "100 requests in 10 s, 90 within every goal: 9.0 req/s.",
    source: Source::Run {
        metric: Entry::of_run("goodput_req_per_s").and_steady("goodput_steady_req_per_s"),
        figure: |part| figure(part, |good, _| part.seconds().map(|seconds| good / seconds)),
    },
};

pub(crate) const ATTAINMENT: Family = Family {
    name: "Attainment of the goals",
    unit: Unit::Ratio,
    direction: Direction::HigherIsBetter,
    population: Population::Ended,
    presence: Presence::Goals,
    token_source: None,
    meaning: "Share of requests that kept every goal. Failures and missing values count against; \
              requests that the end of the run cut, or that were never sent, do not count.",
    formula: "good / (succeeded + failed + timed_out), good as in goodput",
    absent_when: ABSENT,
    example: "100 sent: 80 within every goal, 5 beyond one, 10 failed, 5 cut by the run's time limit: \
              80 / 95 = 0.842.",
    source: Source::Run {
        metric: Entry::of_run("goodput_ratio").and_steady("goodput_steady_ratio"),
        figure: |part| figure(part, |good, ended| Some(good / ended)),
    },
};

/// A figure of how many requests were good, and of how many.
fn figure(part: Part<'_>, of: impl Fn(f64, f64) -> Option<f64>) -> RunFigure {
    let goals = &part.run.goals;
    let (mut ended, mut good, mut missing) = (0_u64, 0_u64, 0);
    for sent in Population::Ended.of(part) {
        ended += 1;
        good += u64::from(sent.is_good(goals));
        missing += u64::from(sent.succeeded() && !sent.has_quantities(goals));
    }
    let value = if ended > 0 { of(good as f64, ended as f64) } else { None };
    RunFigure { value, samples: value.map_or(0, |_| ended), missing, remark: Some(remark(goals)) }
}

fn remark(goals: &[Goal]) -> String {
    let goals = list(goals);
    if goals.chars().count() <= MOST_GOAL_CHARS {
        format!("Goals: {goals}.")
    } else {
        "The goals stand among the conditions.".to_owned()
    }
}

/// The goals as a text.
pub(crate) fn list(goals: &[Goal]) -> String {
    let each = goals.iter().map(|goal| format!("{} {:?} ms", goal.quantity, goal.limit_ms));
    each.collect::<Vec<_>>().join(", ")
}
