//! `compare --rule interval`: several runs of each side.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use streamgauge_sim::SimConfig;

use crate::process::{quick, run, server};

#[test]
fn blocks_of_runs_are_judged_with_their_noise() {
    let slow = SimConfig { interval: Duration::from_millis(4), ..quick() };
    let servers = [server(quick()), server(slow)];
    let folder = tempfile::tempdir().unwrap();
    let sides = ["old", "new"].map(|side| folder.path().join(side));
    for _ in 0..3 {
        for ((_, url), side) in servers.iter().zip(&sides) {
            let out = side.to_str().unwrap();
            let load = ["--requests", "20", "--concurrency", "4", "--output-tokens", "8"];
            let prompts = ["--allow-cached-prompts", "--no-length-probes"];
            let args = ["run", "--base-url", url, "--out", out];
            let finished = run(args.iter().chain(&load).chain(&prompts));
            assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        }
    }
    let [old, new] = sides.each_ref().map(|side| side.to_str().unwrap());
    let gates = folder.path().join("gates.toml");
    fs::write(&gates, "[[gate]]\nmetric = \"e2e_p50_ms\"\nlimit_percent = 20\n").unwrap();
    let misspelt = folder.path().join("misspelt.toml");
    fs::write(&misspelt, "[[gate]]\nmetric = \"e2e_p50\"\nlimit_percent = 20\n").unwrap();
    let rule = ["--rule", "interval", "--gates", misspelt.to_str().unwrap()];
    let refused = run(["compare", old, new].iter().chain(&rule));
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("did you mean e2e_p50_ms?"), "{}", refused.stderr);
    let out = folder.path().join("comparison.json");
    let finished = run([
        "compare",
        "--rule",
        "interval",
        "--gates",
        gates.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        old,
        new,
    ]);
    // A machine that bends the figures leaves no verdict, but never a pass.
    assert!(matches!(finished.code, Some(1 | 3)), "{}", finished.stderr);
    let comparison: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    assert_eq!(comparison["method"], "blocks");
    let cell = &comparison["cells"]["c4"];
    assert_eq!(cell["candidate_runs"].as_array().unwrap().len(), 3);
    let metric = &cell["metrics"]["e2e_p50_ms"];
    assert!(metric["delta_percent"].as_f64().unwrap() > 50.0, "{metric}");
    let out = out.to_str().unwrap();
    let verified = run(["verify", out]);
    assert_eq!(verified.code, Some(0));
    assert!(verified.stdout.contains("no record of its 6 runs"), "{}", verified.stdout);
    let verified = run(["verify", out, old, new]);
    // A folder of runs is no document.
    assert_eq!(verified.code, Some(2), "{}", verified.stdout);
    assert!(
        verified.stdout.contains("held against the records of 6 of its 6 runs"),
        "{}",
        verified.stdout
    );
    fs::rename(old, folder.path().join("runs")).unwrap();
    let verified = run(["verify", out]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    assert!(verified.stdout.contains("of 3 of its 6 runs"), "{}", verified.stdout);
    let text = fs::read_to_string(out).unwrap();
    fs::write(out, text.replacen("\"samples\": 20", "\"samples\": 21", 1)).unwrap();
    let verified = run(["verify", out]);
    assert_eq!(verified.code, Some(1));
    assert!(verified.stdout.contains("figures-are-as-recorded"), "{}", verified.stdout);
    fs::rename(folder.path().join("runs"), old).unwrap();

    let unpaired = run([
        "compare",
        "--rule",
        "interval",
        "--pairing",
        "unpaired",
        "--format",
        "json",
        old,
        new,
    ]);
    let comparison: Value = serde_json::from_str(&unpaired.stdout).unwrap();
    assert_eq!(comparison["method"], "unpaired");
    assert_eq!(comparison["cells"]["c4"]["metrics"].as_object().unwrap().len(), 3);
}
