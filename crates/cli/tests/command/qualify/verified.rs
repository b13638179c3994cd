//! `verify` of a whole qualification, and looks.

use serde_json::Value;

use super::bench::{Bench, failed, quick_plan};
use super::judged;
use crate::process::run;

#[test]
fn it_stops_at_the_first_look_that_decides_and_verifies() {
    let bench = Bench::new();
    bench.plan(&quick_plan(&bench, "10", "30"));
    let finished = bench.qualify(&["--until-decided", "--max-blocks", "8"]);
    let verdict = if failed(&finished) { "fail" } else { "not evaluated" };
    let told = format!("look 1 of 3, 4 blocks: {verdict}");
    assert!(finished.stderr.contains(&told), "{}", finished.stderr);
    let dir = bench.only_dir();
    assert_eq!(bench.steps(&dir, "finished").len(), 8);
    let comparison = judged(&dir, "comparison.json");
    assert_eq!(comparison["looks"]["planned_blocks"], serde_json::json!([4, 6, 8]));
    assert_eq!(comparison["looks"]["look"], 1);
    assert_eq!(
        std::fs::read(dir.join("comparison.json")).unwrap(),
        std::fs::read(dir.join("look-1.json")).unwrap()
    );

    let verify = || run(["verify", "--format", "json", dir.to_str().unwrap()]);
    let verified = verify();
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    let reports: Value = serde_json::from_str(&verified.stdout).unwrap();
    // Eight runs, the look, the log.
    assert_eq!(reports.as_array().unwrap().len(), 10);

    let change = |file: &std::path::Path, from: &str, to: &str| {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(file, text.replacen(from, to, 1)).unwrap();
        let verified = verify();
        std::fs::write(file, text).unwrap();
        assert_eq!(verified.code, Some(1), "{from}: {}", verified.stderr);
        verified.stdout
    };
    let finished = &bench.steps(&dir, "finished")[0];
    let first = dir.join("runs").join(finished["directory"].as_str().unwrap());
    let broken = change(&first.join("record.json"), "\"offered\": 24", "\"offered\": 25");
    assert!(broken.contains("records-are-those-of-the-log"), "{broken}");
    let limit = "\"limit_percent\": 5.0";
    let broken = change(&dir.join("look-1.json"), limit, "\"limit_percent\": 6.0");
    assert!(broken.contains("comparison-is-what-the-runs-give"), "{broken}");
    let broken = change(&dir.join("comparison.json"), limit, "\"limit_percent\": 6.0");
    assert!(broken.contains("comparison-is-the-last-look"), "{broken}");
    let broken = change(&dir.join("plan.json"), "\"aa_blocks\": 0", "\"aa_blocks\": 3");
    assert!(broken.contains("log-is-of-the-plan"), "{broken}");
    // Numbers that nobody takes are not counted up to.
    let plan = dir.join("plan.json");
    let text = std::fs::read_to_string(&plan).unwrap();
    for (from, to, said) in [
        ("\"aa_blocks\": 0", "\"aa_blocks\": 9000000000000", "blocks are more than 1000"),
        (
            "\"aa_blocks\": 0",
            "\"aa_blocks\": 0, \"turnover\": {\"cell\": \"t\", \"repeats\": 9000000000000}",
            "turnover runs are more than 1000",
        ),
    ] {
        assert!(text.contains(from), "{text}");
        std::fs::write(&plan, text.replace(from, to)).unwrap();
        let refused = verify();
        std::fs::write(&plan, &text).unwrap();
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    std::fs::rename(&first, dir.join("runs/elsewhere")).unwrap();
    let verified = verify();
    assert_eq!(verified.code, Some(1));
    assert!(verified.stdout.contains("runs-are-there"), "{}", verified.stdout);
    assert!(verified.stdout.contains("elsewhere: the log does not know it"), "{}", verified.stdout);
}

#[test]
fn when_the_time_is_over_no_block_begins() {
    let bench = Bench::new();
    bench.plan(&quick_plan(&bench, "1", "1"));
    let finished = bench.qualify(&["--until-decided", "--max-time", "0.001"]);
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let dir = bench.only_dir();
    // A block may begin within the millisecond that is given, and is then finished.
    assert!(matches!(bench.steps(&dir, "begun").len(), 0 | 2));
    assert_eq!(bench.steps(&dir, "ended")[0]["reason"], "time_over");
}
