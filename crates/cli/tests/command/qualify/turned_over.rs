//! Turnover runs of a plan: last in the protocol, of each arm, and part of the verdict.

use serde_json::Value;

use super::bench::{Bench, quick_plan};
use super::judged;
use crate::process::run;

const TURNOVER: &str = r#"
[turnover]
concurrency = 4
count = 5
word = "blue"
repeats = 2
"#;

#[test]
fn a_candidate_that_answers_wrong_fails_whatever_its_speed() {
    let bench = Bench::new();
    // The arguments of the candidate's server end with a fault.
    let plan = quick_plan(&bench, "10", r#"10", "--fault", "9=drop:1"#);
    bench.plan(&format!("blocks = 3\n{plan}{TURNOVER}"));
    let finished = bench.qualify(&[]);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code, Some(1), "{said}");
    assert!(finished.stdout.contains("turnover: FAIL: 2 of 2 strict runs failed"), "{said}");
    let dir = bench.only_dir();
    let order: Vec<String> = bench
        .steps(&dir, "finished")
        .iter()
        .map(|it| format!("{} {}", it["visit"]["phase"], it["visit"]["side"]).replace('"', ""))
        .collect();
    assert_eq!(order.len(), 10);
    let turned = ["baseline", "candidate", "candidate", "baseline"];
    assert_eq!(order[6..], turned.map(|side| format!("turnover {side}")));

    let comparison = judged(&dir, "comparison.json");
    let turnover = &comparison["turnover"];
    assert_eq!(turnover["verdict"], "fail");
    assert_eq!(turnover["baseline_exact"], serde_json::json!({"count": 40, "of": 40}));
    let runs = turnover["candidate"].as_array().unwrap();
    assert_ne!(runs[0]["prompts_sha256"], runs[1]["prompts_sha256"]);
    assert_eq!(judged(&dir, "blocks.json").get("turnover"), None, "the blocks stand alone too");

    let verified = run(["verify", "--format", "json", dir.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    let reports: Value = serde_json::from_str(&verified.stdout).unwrap();
    // Ten runs, two comparisons, the log.
    assert_eq!(reports.as_array().unwrap().len(), 13);
    // Nothing is left to do.
    let again = bench.resume(&dir);
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    assert_eq!(bench.steps(&dir, "finished").len(), 10);
}

#[test]
fn what_a_turnover_cannot_be_is_named_with_its_place() {
    let bench = Bench::new();
    for (line, said) in [
        ("waves = 3", "waves"),
        ("requests = 40", "`streamgauge turnover` has no such flag"),
        ("model = \"m\"", "it belongs into [run], [baseline] or [candidate]"),
        ("format = \"json\"", "it is not for a qualification"),
        ("word = \"two words\"", "--word"),
    ] {
        let plan = quick_plan(&bench, "10", "10");
        bench.plan(&format!("blocks = 3\n{plan}[turnover]\n{line}\n"));
        let finished = bench.qualify(&["--plan-only"]);
        assert_eq!(finished.code, Some(2), "{line}: {}", finished.stdout);
        assert!(finished.stderr.contains(said), "{line}: {}", finished.stderr);
    }
    let plan = quick_plan(&bench, "10", "10");
    bench.plan(&format!("blocks = 3\n{plan}{TURNOVER}"));
    let finished = bench.qualify(&["--plan-only"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("turnover 2, candidate"), "{}", finished.stdout);
}
