//! The shards of a run: how each began, and its own delays.

use streamgauge_schema::{RunRecordV2, RunStatus, ShardReport, Spread};

use super::number::{count, figure};
use super::page::Page;
use super::table::table;

const HEADINGS: [&str; 8] = [
    "shard",
    "",
    "sent",
    "taken up\nagain",
    "began late,\nms",
    "clock off by\nat most, ms",
    "lag\np99, ms",
    "lateness\np99, ms",
];
/// Most shards that are shown; of more these are the worst.
const MOST: usize = 20;

/// One row for each shard; nothing where the run says nothing of how it began.
pub(super) fn shards(record: &RunRecordV2, page: Page) -> Option<String> {
    let mut shown: Vec<&ShardReport> = record.shards.iter().collect();
    let all = shown.len();
    if all > MOST {
        shown.sort_by(|one, other| worst_ms(other).total_cmp(&worst_ms(one)));
        shown.truncate(MOST);
    }
    let rows = table(page.format, HEADINGS, shown.into_iter().map(row));
    match all {
        0 => None,
        _ if all > MOST => Some(format!(
            "{}\n\n{rows}",
            page.prose(
                &format!(
                    "The {MOST} of {} shards that were the latest, or lagged most; the record has all:",
                    count(all as u64)
                ),
                ""
            )
        )),
        _ => Some(rows),
    }
}

/// The greatest of its delays.
fn worst_ms(shard: &ShardReport) -> f64 {
    let p99 = |spread: Option<Spread>| spread.map_or(0.0, |it| it.p99);
    let late = shard.began_late_ms.map_or(0.0, |ms| ms.value());
    late.max(p99(shard.observer_lag_ms)).max(p99(shard.dispatch_lateness_ms))
}

fn row(shard: &ShardReport) -> [String; 8] {
    let clock = shard.clock.map(|clock| match clock.synchronised {
        true => figure(Some(clock.max_error_ms.value())),
        false => "not synchronised".to_owned(),
    });
    let p99 = |spread: Option<Spread>| figure(spread.map(|it| it.p99));
    [
        format!("{} of {}", count(shard.number), count(shard.of)),
        if shard.status == RunStatus::Completed { String::new() } else { shard.status.to_string() },
        count(shard.sent),
        if shard.taken_up == 0 { String::new() } else { count(shard.taken_up) },
        figure(shard.began_late_ms.map(|ms| ms.value())),
        clock.unwrap_or_else(|| figure(None)),
        p99(shard.observer_lag_ms),
        p99(shard.dispatch_lateness_ms),
    ]
}
