//! One run against all faults that a request can order.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use streamgauge_client::Access;
use streamgauge_schema::{Completion, EndReason, FailureClass};

use super::table::{Ask, FAULTS};
use super::{brisk, ordering};
use crate::plan::{lines_with, plan};
use crate::sim::server;

const REQUESTS: u64 = 2_000;

/// A fault that needs much of the machine strikes one of so many that order it.
const SELDOM: u64 = 32;

fn is_heavy(order: &str) -> bool {
    order.starts_with("endless") || order == "drip:50"
}

fn order(index: u64) -> &'static str {
    let orders: Vec<&str> = FAULTS
        .iter()
        .filter_map(|fault| match fault.ask {
            Ask::Request(order) if !order.starts_with("restart") => Some(order),
            _ => None,
        })
        .collect();
    let count = orders.len() as u64;
    let order = orders[usize::try_from(index % count).unwrap()];
    if index == REQUESTS / 2 {
        return "restart:2";
    }
    if is_heavy(order) && !(index / count).is_multiple_of(SELDOM) { "none" } else { order }
}

#[tokio::test]
async fn a_run_against_all_faults_ends_by_itself_and_classifies_each_request() {
    let (_server, url) = server(brisk());
    let mut plan = plan(&url, REQUESTS, 64);
    plan.limits.idle_timeout_ms = 300;
    plan.limits.timeout_ms = 1_000;
    let begun = Instant::now();
    let requests = |stage, index| ordering(stage, index, order(index));
    let (lines, trailer) = lines_with(&plan, &Access::default(), requests).await;
    assert!(begun.elapsed() < Duration::from_secs(100), "{:?}", begun.elapsed());
    assert_eq!((trailer.reason, lines.len() as u64), (EndReason::Finished, REQUESTS));
    for line in &lines {
        let order = order(line.index);
        let class = line.failure.as_ref().map(|failure| failure.class);
        assert_eq!(line.completion == Completion::Succeeded, class.is_none(), "{order}");
        assert_ne!(class, Some(FailureClass::RunnerError), "{order}: {:?}", line.failure);
        assert!(!matches!(line.completion, Completion::Cancelled | Completion::NotSent), "{order}");
    }
    let mut classes: BTreeMap<String, u64> = BTreeMap::new();
    for line in &lines {
        let class = line.failure.as_ref().map(|failure| failure.class.to_string());
        *classes.entry(class.unwrap_or_default()).or_default() += 1;
    }
    for fault in FAULTS {
        if let (Ask::Request(order), Some(class)) = (fault.ask, fault.class)
            && !is_heavy(order)
        {
            assert!(classes.contains_key(class.as_str()), "{}: no {class}", fault.what);
        }
    }
    let succeeded =
        |line: &&streamgauge_schema::RequestLine| line.completion == Completion::Succeeded;
    assert!(lines.iter().filter(succeeded).count() > 100, "what is whole among them succeeds");
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kib < 1_500_000, "peak of {peak_kib} KiB");
}
