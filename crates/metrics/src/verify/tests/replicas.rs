//! Rules of several addresses, broken one by one.

use streamgauge_schema::{Json, Replica};

use super::{broken, built, edited, path, verify};
use crate::sample_run::{plan, refused, succeeded};

/// A run of 24 requests to two addresses, two of three to the first; the last was refused.
pub(super) fn record() -> Json {
    let mut plan = plan(24, 3);
    plan.max_failure_ratio = 0.1;
    let replica = |(weight, port)| Replica { base_url: format!("http://10.0.0.1:{port}"), weight };
    plan.target.replicas = [(2, 8000), (1, 8001)].map(replica).to_vec();
    plan.target.base_url = plan.target.replicas[0].base_url.clone();
    let line = |n: u64| match n {
        23 => refused(n, 2300, 3),
        _ => succeeded(n, 100 * n, &[100 + n, 150 + n, 200 + n], 5),
    };
    built(&plan, &(0..24).map(line).collect::<Vec<_>>())
}

#[test]
fn every_rule_of_replicas_notices_its_fault() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("replicas-named-in-order", &[("replicas[1].name", r#""replica-3""#)]),
        ("replica-weights-make-a-round", &[("replicas[1].weight", "0")]),
        ("replica-weights-make-a-round", &[("replicas[1].weight", "10000")]),
        ("replica-counts-match-cases", &[("replicas[1].weight", "2")]),
        ("replicas-share-the-load", &[("replicas[0].succeeded", "16")]),
        ("replica-offered-is-sum", &[("replicas[0].succeeded", "16")]),
        (
            "replica-counts-match-cases",
            &[
                ("replicas[0].offered", "17"),
                ("replicas[0].succeeded", "16"),
                ("replicas[1].offered", "7"),
                ("replicas[1].succeeded", "7"),
            ],
        ),
        ("replica-rates-count-tokens", &[("replicas[0].completion_tok_per_s", "34.0")]),
        ("replicas-share-the-tokens", &[("replicas[0].completion_tok_per_s", "null")]),
        ("replicas-share-the-tokens", &[("replicas[0].completion_tok_per_s", "0.0")]),
        ("spreads-rise", &[("replicas[0].ttft_ms.median", "1000.0")]),
        ("replicas-hold-the-slowest", &[("replicas[0].ttft_ms.max", "1000.0")]),
        ("replicas-hold-the-slowest", &[("replicas[0].e2e_ms.max", "1000.0")]),
        ("replica-durations-match-cases", &[("replicas[1].e2e_ms", "null")]),
        ("replica-durations-match-cases", &[("replicas[1].e2e_ms.median", "201.0")]),
    ];
    for (rule, edits) in cases {
        let found = broken(&edited(record(), edits));
        assert!(found.contains(rule), "{rule} by {edits:?}: {found:?}");
    }
}

#[test]
fn every_member_of_a_replica_takes_part_in_a_rule() {
    let verification = verify(&edited(record(), &[]));
    assert!(verification.holds());
    let named = |member: &str| {
        let member = path(&format!("replicas[1].{member}"));
        let mut others = verification.findings.iter().filter(|it| it.rule != "run-id-is-digest");
        others.any(|finding| finding.members.contains(&member))
    };
    let counts = ["offered", "succeeded", "failed", "timed_out", "cancelled", "not_sent"];
    let spreads =
        ["ttft_ms", "e2e_ms"].map(|key| ["median", "p99", "max"].map(|it| format!("{key}.{it}")));
    assert!(counts.into_iter().all(named));
    assert!(["name", "weight", "completion_tok_per_s"].into_iter().all(named));
    assert!(spreads.iter().flatten().all(|member| named(member)));
}
