//! Plans: what is wrong with them is named with its place, and what they will take is known before.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::bench::{Bench, quick_plan};

const GOOD: &str = r#"
[run]
requests = 24
[baseline]
base-url = "http://127.0.0.1:1"
[candidate]
base-url = "http://127.0.0.1:2"
"#;

#[test]
fn faults_of_plans_are_named_with_their_place() {
    let bench = Bench::new();
    std::fs::write(bench.path("gates.toml"), "[[gate]]\nmetric = \"a\"\nlimit_percent = 500\n")
        .unwrap();
    let with = |top: &str| format!("{top}{GOOD}");
    let run = |line: &str| format!("blocks = 3{}", GOOD.replace("requests = 24", line));
    let arm = |line: &str| format!("blocks = 3{GOOD}{line}\n");
    let cases = [
        with(""),
        with("block = 3"),
        with("blocks = 2"),
        with("blocks = 3\n[until_decided]"),
        with("[until_decided]\nmax_blocks = 7"),
        with("[until_decided]\nmax_time_s = -1"),
        with("blocks = 3\naa = 2"),
        with("blocks = 3\ngates = \"nowhere.toml\""),
        with("blocks = 3\ngates = \"gates.toml\""),
        with("blocks = 3\ngates = \"gates.toml\"\nalpha = 0.1"),
        with("blocks = 3\n[[gate]]\nmetric = \"ttft_p5_ms\"\nlimit_percent = 5"),
        with("blocks = 3\nalpha = 2.0"),
        with("blocks = 3\nallow_differing = [\"weather\"]"),
        "blocks = 3\n[baseline]\n".to_owned(),
        run("output_tokens = 8"),
        run("colour = \"red\""),
        run("requests = 0"),
        run("requests = [1, 2]"),
        run("ignore-eos = 1"),
        run("timeout = -1"),
        run("out = \"elsewhere\""),
        run("wait-ready = 5"),
        run("concurrency = \"1,2\""),
        run("[[cell]]\nmodel = \"m\""),
        run("[[cell]]\n[[cell]]"),
        arm("requests = 5"),
        arm("dataset = \"elsewhere.jsonl\""),
        arm("api = \"ollama-chat\""),
        arm("deployment = \"nowhere.toml\""),
        arm("activate = \"./switch\""),
        arm("activate = []"),
        arm("activate = [\"./switch\"]"),
        arm("activate = \"ask\"\nactivate_timeout_s = 5"),
        arm("activate_timeout_s = 5"),
        arm("ready = { path = \"health\" }"),
        arm("ready = { patience = 5 }"),
        arm("activat = [\"./switch\"]"),
        arm("base_ulr = \"http://127.0.0.1:3\""),
        arm("colour = \"red\""),
        run("activate = [\"./switch\"]"),
        run("reqests = 5"),
    ];
    let mut said = String::new();
    for plan in cases {
        bench.plan(&plan);
        let finished = bench.qualify(&[]);
        assert_eq!(finished.code, Some(2), "{plan}: {}", finished.stderr);
        let stderr = finished.stderr.replace(bench.path("").to_str().unwrap(), "");
        said += &format!("{}\n{stderr}\n", plan.replace(GOOD, " …").trim());
    }
    assert!(!bench.path("qualifications").exists(), "nothing was begun");
    insta::assert_snapshot!("faults_of_plans", said);
}

#[test]
fn the_order_is_known_before_and_nothing_is_contacted() {
    let bench = Bench::new();
    bench.plan(&format!("aa = 3\nblocks = 4{GOOD}"));
    let planned = bench.qualify(&["--plan-only"]);
    assert_eq!((planned.code, planned.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!("plan_only", planned.stdout);
    let planned = bench.qualify(&["--plan-only", "--until-decided", "--format", "json"]);
    let outlook: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!(outlook["planned_blocks"], serde_json::json!([4, 6, 8, 10, 12]));
    assert_eq!((&outlook["runs"], &outlook["requests"]), (&30.into(), &720.into()));
    assert_eq!(outlook["alpha"], 0.01);
}

#[test]
fn earlier_measurements_tell_the_noise() {
    let bench = Bench::new();
    bench.plan(&format!("blocks = 3\n{}", quick_plan(&bench, "10", "10")));
    let finished = bench.qualify(&[]);
    let dir = bench.only_dir();
    let runs: Vec<String> = std::fs::read_dir(dir.join("runs"))
        .unwrap()
        .map(|run| run.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    let qualification = vec![dir.to_str().unwrap().to_owned()];
    let comparison = vec![dir.join("comparison.json").to_str().unwrap().to_owned()];
    for (from, known_from, knows_times) in [
        (qualification, "3 blocks, comparison.json", [true, true]),
        (comparison, "3 blocks, comparison.json", [false, false]),
        (runs, "6 runs", [true, false]),
    ] {
        let mut args = vec!["--plan-only", "--format", "json", "--from"];
        args.extend(from.iter().map(String::as_str));
        let planned = bench.qualify(&args);
        assert_eq!(planned.code, Some(0), "{}{}", planned.stderr, finished.stderr);
        let outlook: Value = serde_json::from_str(&planned.stdout).unwrap();
        let gates = outlook["gates"].as_array().unwrap();
        assert_eq!(gates.len(), 1);
        let times = ["measuring_s", "activating_s"].map(|name| &outlook["time"][name]);
        assert_eq!(times.map(Value::is_number), knows_times, "{}", outlook["time"]);
        let noise = &gates[0]["noise"];
        assert_eq!(noise["source"], known_from);
        assert!(noise["percent"].as_f64() < noise["upper_percent"].as_f64(), "{noise}");
        assert!(noise["blocks_needed"].as_u64() <= noise["blocks_needed_at_most"].as_u64());
        assert!(noise["detectable_percent"].as_f64().unwrap() > 0.0, "{noise}");
    }
}

#[test]
fn the_example_is_a_plan() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/qualify/two-builds.toml");
    let planned = crate::process::run(["qualify", "--plan-only", "--format", "json", example]);
    let outlook: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!((&outlook["runs"], &outlook["activations"]), (&30.into(), &10.into()));
}

#[test]
fn what_lets_in_stands_nowhere() {
    let bench = Bench::new();
    let secrets =
        "header = \"X-Key: s3cret\"\nendpoint-path = \"/v1/chat/completions?key=s3cret\"\n";
    let plan =
        quick_plan(&bench, "1", "1").replace("[baseline]\n", &format!("[baseline]\n{secrets}"));
    bench.plan(&format!(
        "blocks = 3\n{}",
        plan.replace("[candidate]\n", &format!("[candidate]\n{secrets}"))
    ));
    let finished = bench.qualify(&[]);
    assert!(matches!(finished.code, Some(0 | 1 | 3)), "{}", finished.stderr);
    let dir = bench.only_dir();
    let private = std::fs::read_to_string(dir.join("plan.json")).unwrap();
    assert!(
        private.contains("--header=X-Key: …") || private.contains("X-Key: \\u2026"),
        "{private}"
    );
    let written = ["plan.json", "log.jsonl", "activation.log", "comparison.json"];
    for text in written.map(|name| std::fs::read_to_string(dir.join(name)).unwrap()) {
        assert!(!text.contains("s3cret"), "{text}");
    }
    for name in ["plan.json", "log.jsonl", "activation.log"] {
        let mode = std::fs::metadata(dir.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn graded_prompts_that_are_too_few_are_told_before_anything_runs() {
    let bench = Bench::new();
    let dataset = |lines: usize| -> String {
        (0..lines)
            .map(|n| format!("{{\"id\": \"q{n}\", \"prompt\": \"Say {n}.\", \"expect\": {{\"exact_text\": \"{n}\"}}}}\n"))
            .collect()
    };
    let plan = |top: &str, requests: usize| {
        let run = format!("requests = {requests}\ndataset = \"graded.jsonl\"\nnonce = true");
        format!("{top}{}", GOOD.replace("requests = 24", &run))
    };
    std::fs::write(bench.path("graded.jsonl"), dataset(90)).unwrap();
    let wide = "blocks = 3\n[[gate]]\nmetric = \"pass_ratio\"\nlimit_percent = 20\n";
    for (top, requests, said) in [
        ("blocks = 3\n", 86, None),
        ("blocks = 3\n", 85, Some("it takes 86, and these cells have fewer: c1 (85)")),
        ("[until_decided]\nmax_blocks = 6\n", 90, Some("it takes 99,")),
        (wide, 20, None),
        (wide, 19, Some("it takes 20,")),
    ] {
        bench.plan(&plan(top, requests));
        let planned = bench.qualify(&["--plan-only"]);
        assert_eq!(planned.code, Some(0), "{}", planned.stderr);
        match said {
            Some(said) => assert!(planned.stderr.contains(said), "{}", planned.stderr),
            None => assert_eq!(planned.stderr, "", "{requests}"),
        }
    }
}
