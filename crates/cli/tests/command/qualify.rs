//! `qualify`: two simulated servers that take turns on one port.

mod asked;
mod bench;
mod planned;
mod resumed;
mod switched;
mod turned_over;
mod verified;

use serde_json::{Value, json};

use bench::{Bench, failed, quick_plan};

/// The verdict and the runs of each side in the comparison of a qualification.
fn judged(dir: &std::path::Path, file: &str) -> Value {
    serde_json::from_slice(&std::fs::read(dir.join(file)).unwrap()).unwrap()
}

#[test]
fn a_slower_candidate_fails_and_the_baseline_does_not() {
    let bench = Bench::new();
    bench.plan(&format!("aa = 3\nblocks = 4\n{}", quick_plan(&bench, "20", "30")));
    let finished = bench.qualify(&[]);
    let verdict = if failed(&finished) { "fail" } else { "not_evaluated" };
    let dir = bench.only_dir();
    let comparison = judged(&dir, "comparison.json");
    assert_eq!(comparison["verdict"], verdict, "{comparison}");
    let cell = &comparison["cells"]["c12"];
    assert_eq!(cell["baseline_runs"].as_array().unwrap().len(), 4);
    let change = cell["metrics"]["decode_rate_p50_tok_per_s"]["delta_percent"].as_f64().unwrap();
    assert!((-45.0..-20.0).contains(&change), "{change}");
    let aa = judged(&dir, "aa-comparison.json");
    assert_ne!(aa["verdict"], "fail", "{aa}");

    // The order alternates, and an arm that goes on is not activated again.
    let order: Vec<String> =
        bench.steps(&dir, "begun").iter().map(|it| place(&it["visit"])).collect();
    assert_eq!(
        order,
        [
            "aa1b", "aa1c", "aa2c", "aa2b", "aa3b", "aa3c", "blocks1b", "blocks1c", "blocks2c",
            "blocks2b", "blocks3b", "blocks3c", "blocks4c", "blocks4b",
        ]
    );
    let activated: Vec<String> =
        bench.steps(&dir, "activated").iter().map(|it| place(&it["visit"])).collect();
    assert_eq!(
        activated,
        [
            "aa1b", "aa1c", "aa2b", "aa3c", "blocks1b", "blocks1c", "blocks2b", "blocks3c",
            "blocks4b"
        ]
    );
    assert!(finished.stderr.contains("block 2 of 4, candidate, cell c12 …"), "{}", finished.stderr);
    assert!(finished.stdout.trim_end().ends_with("comparison.json"), "{}", finished.stdout);
}

/// `blocks2b` for the baseline's visit in the second block.
fn place(visit: &Value) -> String {
    let side = visit["side"].as_str().unwrap();
    format!("{}{}{}", visit["phase"].as_str().unwrap(), visit["block"], &side[..1])
}

/// Each run is graded, and right answers are judged before speed.
#[test]
fn a_candidate_that_answers_wrong_fails_whatever_its_speed() {
    let bench = Bench::new();
    let line = |n: u64| {
        let answer = json!({"total": n});
        let tokens = if n < 30 { 16 } else { 1 };
        json!({
            "id": format!("q{n}"),
            "prompt": format!("Case {n}: return JSON with fields {answer}"),
            "max_tokens": tokens,
            "expect": {"fields": [{"pointer": "/total", "is": {"equals": n}}]},
        })
        .to_string()
    };
    let lines: Vec<String> = (0..60).map(line).collect();
    std::fs::write(bench.path("sums.jsonl"), lines.join("\n")).unwrap();
    let url = &bench.url;
    let plan = |gates: &str, run: &str| {
        format!(
            r#"
blocks = 3
{gates}
[run]
requests = 60
concurrency = 6
{run}
[baseline]
base-url = "{url}"
activate = ["./switch", "--ttft-ms", "5", "--interval-ms", "2"]
[candidate]
base-url = "{url}"
activate = ["./switch", "--ttft-ms", "5", "--interval-ms", "2", "--reasoning-ratio", "0.7"]
"#
        )
    };
    let gate = "[[gate]]\nmetric = \"pass_ratio\"\nlimit_percent = 10";
    bench.plan(&plan(gate, "input-tokens = 64"));
    let refused = bench.qualify(&[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("pass_ratio is a metric of graded runs"), "{}", refused.stderr);

    bench.plan(&plan(gate, "dataset = \"sums.jsonl\"\nnonce = true"));
    let finished = bench.qualify(&[]);
    assert_eq!(finished.code, Some(1), "{}{}", finished.stdout, finished.stderr);
    let dir = bench.only_dir();
    let comparison = judged(&dir, "comparison.json");
    let found = &comparison["cells"]["c6"]["correctness"];
    assert_eq!((&found["verdict"], &found["limit_percent"]), (&json!("fail"), &json!(10.0)));
    assert_eq!(
        (&found["pairs"]["baseline_only"], &found["pairs"]["both"]),
        (&json!(30), &json!(30))
    );
    assert_eq!(comparison["gates"], json!([]), "nothing else was to be judged");
    let verified = crate::process::run(["verify", dir.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
}
