//! Answers held against what a dataset expects of them: in the run, and long after it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use streamgauge_sim::SimConfig;

use crate::process::{Finished, only_run, quick, run, server};

/// A line whose prompt the simulated server answers with this JSON object.
fn line(id: &str, answer: &Value, expect: &Value) -> String {
    let prompt = format!("Case {id}: return JSON with fields {answer}");
    json!({"id": id, "prompt": prompt, "max_tokens": 64, "expect": expect}).to_string()
}

fn total(value: u64) -> Value {
    json!({"fields": [{"pointer": "/total", "is": {"number": {"value": value}}}]})
}

/// Four answers, of which the last one is wrong.
fn four() -> String {
    let right = (1..4).map(|n| line(&format!("q{n}"), &json!({"total": n}), &total(n)));
    let lines: Vec<String> = right.chain([line("q4", &json!({"total": 4}), &total(5))]).collect();
    lines.join("\n")
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// Runs a dataset once, into `folder/runs`.
fn measure(url: &str, folder: &Path, dataset: &Path, more: &[&str]) -> Finished {
    let requests = fs::read_to_string(dataset).unwrap().lines().count();
    measure_some(url, folder, dataset, requests, more)
}

fn measure_some(
    url: &str,
    folder: &Path,
    dataset: &Path,
    requests: usize,
    more: &[&str],
) -> Finished {
    let (out, requests) = (folder.join("runs"), requests.to_string());
    let args = ["run", "--base-url", url, "--out", out.to_str().unwrap(), "--requests", &requests];
    let dataset = ["--dataset", dataset.to_str().unwrap(), "--concurrency", "2"];
    run(args.iter().chain(&dataset).chain(more))
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Outcome, primary outcome and failure stage of each case.
fn outcomes(record: &Value) -> Vec<String> {
    let cases = record["cases"].as_array().unwrap().iter();
    let words = |case: &Value| {
        ["outcome", "primary_outcome", "failure_stage"].map(|name| case[name].to_string()).join(" ")
    };
    cases.map(|case| words(case).replace('"', "")).collect()
}

fn metric<'a>(record: &'a Value, id: &str) -> &'a Value {
    record["metrics"].as_array().unwrap().iter().find(|metric| metric["id"] == id).unwrap()
}

fn verified(dir: &Path) -> Option<i32> {
    run(["verify", dir.to_str().unwrap()]).code
}

#[test]
fn a_run_grades_what_its_dataset_expects() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let dataset = write(folder.path(), "sums.jsonl", &four());
    let finished = measure(&url, folder.path(), &dataset, &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    for said in [
        "Right answers: 3 of 4 declared (75.0 %, 95 % interval 19.4 % to 99.4 %); graded\n  wrong: 1\n",
        "Wrong: q4 (/total: differs)",
    ] {
        assert!(finished.stdout.contains(said), "{said}: {}", finished.stdout);
    }

    let dir = only_run(&folder.path().join("runs"));
    let record = read(&dir.join("record.json"));
    let right = "pass pass null";
    assert_eq!(outcomes(&record), [right, right, right, "fail fail answer_checks"]);
    assert_eq!(record["counts"]["outcomes"], json!({"pass": 3, "fail": 1}));
    assert_eq!(
        (&record["status"], &record["counts"]["primary_passes"]),
        (&json!("completed"), &json!(3))
    );
    assert_eq!(metric(&record, "pass_ratio")["value"], 0.75);
    assert_eq!(record["load"]["performance_eligible"], true);
    assert!(!record.to_string().contains("q4"), "the dataset's names are nobody else's");
    let evidence = record["evidence"].as_array().unwrap();
    assert_eq!(evidence[1]["name"], "grades.json");

    let plan = read(&dir.join("plan.json"));
    let graders = &plan["grading"]["graders"];
    assert_eq!(graders[0]["name"], "frozen-evidence-fields-v1");
    assert_eq!(plan["grading"]["expectations_sha256"], plan["workload"]["dataset_sha256"]);
    let grades = read(&dir.join("grades.json"));
    assert_eq!(grades["grading"], plan["grading"]);
    assert_eq!(grades["receipts"].as_array().unwrap().len(), 4);
    assert!(!dir.join("answers.jsonl").exists());

    assert_eq!(verified(&dir), Some(0));
    assert_eq!(run(["record", dir.to_str().unwrap()]).code, Some(0));
    let text = fs::read_to_string(dir.join("grades.json")).unwrap();
    fs::write(dir.join("grades.json"), text.replace("\"differs\"", "\"missing\"")).unwrap();
    assert_eq!(verified(&dir), Some(1), "the receipts are evidence");
}

#[test]
fn without_graders_a_run_is_as_it_was() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let dataset = write(folder.path(), "sums.jsonl", &four());
    let finished = measure(&url, folder.path(), &dataset, &["--no-grade"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(!finished.stdout.contains("Right answers"), "{}", finished.stdout);
    let dir = only_run(&folder.path().join("runs"));
    let record = read(&dir.join("record.json"));
    assert_eq!(record["counts"]["outcomes"], json!({"unverified": 4}));
    assert!(record["evaluator_sha256"].is_null());
    assert!(read(&dir.join("plan.json")).get("grading").is_none());
    assert!(!dir.join("grades.json").exists());
}

#[test]
fn kept_answers_are_private_and_can_be_graded_again() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let dataset = write(folder.path(), "sums.jsonl", &four());
    let finished = measure(&url, folder.path(), &dataset, &["--keep-answers", "--warmup", "1"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let runs = folder.path().join("runs");
    let dir = only_run(&runs);
    let answers = dir.join("answers.jsonl");
    assert_eq!(fs::metadata(&answers).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&answers).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4, "the warm-up is nobody's answer");
    let fourth = lines.iter().find(|line| line["dataset_id"] == "q4").unwrap();
    assert_eq!(fourth["answer"], r#"{"total":4}"#);
    assert_eq!(fourth["finish_reasons"], json!(["stop"]));
    assert!(fourth["reasoning"].is_null());

    // Held against a corrected dataset, whose lines stand in another order.
    let original = read(&dir.join("record.json"));
    let corrected: Vec<String> =
        (1..5).rev().map(|n| line(&format!("q{n}"), &json!({"total": n}), &total(n))).collect();
    let corrected = write(folder.path(), "corrected.jsonl", &corrected.join("\n"));
    let grade =
        |file: &Path| run(["grade", dir.to_str().unwrap(), "--dataset", file.to_str().unwrap()]);
    let graded = grade(&corrected);
    assert_eq!(graded.code, Some(0), "{}", graded.stderr);
    assert!(graded.stdout.contains("Right answers: 4 of 4 declared"), "{}", graded.stdout);
    let beside = PathBuf::from(graded.stdout.lines().last().unwrap());
    let beside = beside.parent().unwrap();
    assert_ne!(beside, dir);
    for dir in [beside, &dir] {
        assert_eq!(verified(dir), Some(0), "{}", dir.display());
    }
    let record = read(&beside.join("record.json"));
    assert_eq!(record["counts"]["primary_passes"], 4);
    assert_eq!(metric(&record, "e2e_p50_ms"), metric(&original, "e2e_p50_ms"));
    assert_eq!(record["windows"], original["windows"], "grading changes no timing");
    assert_eq!(read(&dir.join("record.json")), original);
    assert_eq!(grade(&corrected).stdout, graded.stdout, "it is there already");

    // What a run that was cut off lacks is made good in its own directory.
    let [record, grades] = ["record.json", "grades.json"].map(|name| dir.join(name));
    let before = (fs::read(&record).unwrap(), fs::read(&grades).unwrap());
    fs::remove_file(&record).unwrap();
    fs::remove_file(&grades).unwrap();
    let graded = grade(&dataset);
    assert_eq!(graded.code, Some(0), "{}", graded.stderr);
    assert_eq!((fs::read(&record).unwrap(), fs::read(&grades).unwrap()), before);
}

#[test]
fn what_cannot_be_graded_is_refused_before_anything_is_sent() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let good = || line("a", &json!({"total": 1}), &total(1));
    let bare = json!({"id": "b", "prompt": "Hello"}).to_string();
    let fields = |is: Value| json!({"fields": [{"pointer": "/total", "is": is}]});
    let with = |expect: Value| json!({"id": "b", "prompt": "Hi", "expect": expect}).to_string();
    let canary = |id: &str, marker: &str| {
        let expect = json!({"canary": {"marker": marker}});
        json!({"id": id, "prompt": id, "expect": expect}).to_string()
    };
    for (second, said) in [
        (bare, "line 2: expect: missing, and line 1 has one"),
        (good().replace("\"a\"", "\"b\""), "line 1 and line 2 send the same prompt"),
        (with(fields(json!({"matches": "("}))), "line 2 column 11: expect: fields: /total"),
        (with(fields(json!({"like": 1}))), "expect.fields[0].is: unknown variant `like`"),
        (with(json!({"fields": []})), "an answer that nothing checks must not pass"),
        (
            [canary("b", "K1"), canary("c", "K1")].join("\n"),
            "line 2 and line 3 have the marker \"K1\"",
        ),
        ([canary("b", "K1"), canary("c", "K12")].join("\n"), "\"K12\" holds another marker"),
    ] {
        let lines = [good(), second].join("\n");
        let dataset = write(folder.path(), "bad.jsonl", &lines);
        let finished = measure(&url, folder.path(), &dataset, &[]);
        assert_eq!(finished.code, Some(2), "{said}: {}", finished.stdout);
        assert!(finished.stderr.contains("bad.jsonl"), "{}", finished.stderr);
        assert!(finished.stderr.contains(said), "{said}: {}", finished.stderr);
    }
    let repeated = write(folder.path(), "once.jsonl", &good());
    let finished = measure_some(&url, folder.path(), &repeated, 4, &["--repeat"]);
    assert!(finished.stderr.contains("line 1 is asked more than once"), "{}", finished.stderr);
    // With a nonce each prompt is its own.
    let finished = measure_some(&url, folder.path(), &repeated, 4, &["--nonce"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("Right answers: 4 of 4"), "{}", finished.stdout);
}

#[test]
fn a_contract_that_is_not_met_makes_a_run_ineligible() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let strict = |id: &str, marker: &str, wanted: u64| {
        let expect = json!({"controlled_output":
            {"canary": marker, "count": wanted, "policy": "strict", "word": "apple"}});
        let prompt = format!("Begin with the marker {marker}. Repeat the word apple 3 times.");
        json!({"id": id, "prompt": prompt, "max_tokens": 9, "expect": expect}).to_string()
    };
    let lines = [strict("a", "K1A", 3), strict("b", "K2B", 3), strict("c", "K3C", 4)];
    let dataset = write(folder.path(), "turnover.jsonl", &lines.join("\n"));
    let finished = measure(&url, folder.path(), &dataset, &[]);
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    assert!(finished.stdout.contains("Wrong: c (words: differs)"), "{}", finished.stdout);
    let dir = only_run(&folder.path().join("runs"));
    let record = read(&dir.join("record.json"));
    assert_eq!(record["load"]["performance_eligible"], false);
    assert_eq!(outcomes(&record)[2], "fail fail contract");
    assert_eq!(verified(&dir), Some(0));
}

#[test]
fn an_answer_of_another_model_has_no_primary_outcome() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let dataset = write(folder.path(), "sums.jsonl", &four());
    measure(&url, folder.path(), &dataset, &["--expect-model", "another"]);
    let record = read(&only_run(&folder.path().join("runs")).join("record.json"));
    assert_eq!(outcomes(&record)[0], "pass unverified null");
    assert_eq!(metric(&record, "primary_pass_ratio")["value"], 0.0);
}

/// Forty answers; a server that thinks for long has no room for the last sixteen.
fn forty() -> String {
    let lines: Vec<String> = (0..40)
        .map(|n| {
            let line = line(&format!("q{n}"), &json!({"total": n}), &total(n));
            if n < 24 { line } else { line.replace("\"max_tokens\":64", "\"max_tokens\":1") }
        })
        .collect();
    lines.join("\n")
}

#[test]
fn a_build_that_answers_fewer_right_does_not_pass() {
    let thinking = SimConfig { reasoning_ratio: 0.7, ..quick() };
    let servers = [server(quick()), server(thinking)];
    let folder = tempfile::tempdir().unwrap();
    let dataset = write(folder.path(), "sums.jsonl", &forty());
    let sides = ["old", "new"].map(|side| folder.path().join(side));
    for _ in 0..3 {
        for ((_, url), side) in servers.iter().zip(&sides) {
            // Other prompts in each run, and the same questions.
            let finished = measure(url, side, &dataset, &["--nonce"]);
            assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        }
    }
    let [old, new] = sides.map(|side| side.join("runs"));
    let [old, new] = [old.to_str().unwrap(), new.to_str().unwrap()];
    let out = folder.path().join("comparison.json");
    let compare = ["compare", "--rule", "interval", old, new];
    let finished = run(compare.iter().chain(&["--out", out.to_str().unwrap()]));
    assert_eq!(finished.code, Some(1), "{}", finished.stdout);
    for said in
        ["pass_ratio: FAIL: even the better end of the 95 % interval", "right_answers: 16 of 40"]
    {
        assert!(finished.stdout.contains(said), "{said}: {}", finished.stdout);
    }
    let named = "right with the baseline alone: q24, q25, q26, q27, q28, q29, q30, q31 and 8 more";
    assert!(finished.stderr.contains(named), "{}", finished.stderr);
    let comparison = read(&out);
    let found = &comparison["cells"]["c2"]["correctness"];
    assert_eq!(found["pairs"]["baseline_only"], 16);
    assert_eq!((&found["pairs"]["runs"], &found["pairs"]["unsteady"]), (&json!(3), &json!(0)));
    assert_eq!(found["p_value"], 3.05175781e-05);
    assert!(
        comparison["cells"]["c2"]["speed_void"].as_str().unwrap().contains("fewer prompts right")
    );
    assert!(!comparison.to_string().contains("q24"), "names are the operator's alone");
    assert_eq!(run(["verify", out.to_str().unwrap()]).code, Some(0));
    let public = run(compare.iter().chain(&["--format", "markdown"]));
    assert!(!public.stdout.contains("q24") && !public.stderr.contains("q24"), "{}", public.stderr);

    // A build held against itself answers as well as it does.
    let same = run(["compare", "--rule", "interval", "--pairing", "unpaired", old, old]);
    assert_eq!(same.code, Some(2), "a run stands on one side only: {}", same.stdout);
    // The point rule passes nothing on such a build either.
    let first = |runs: &str| fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
    let point = run([OsStr::new("compare"), first(old).as_os_str(), first(new).as_os_str()]);
    assert_eq!(point.code, Some(3), "{}", point.stdout);
    assert!(
        point.stdout.contains("the candidate answers fewer requests right"),
        "{}",
        point.stdout
    );
}

#[test]
fn an_answer_that_was_cut_cannot_pass() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let cut = json!({"id": "a", "prompt": "Say something", "max_tokens": 2,
        "expect": {"json_schema": true}});
    let dataset = write(folder.path(), "cut.jsonl", &cut.to_string());
    let finished = measure(&url, folder.path(), &dataset, &[]);
    assert!(finished.stdout.contains("cut by its length limit)"), "{}", finished.stdout);
    let record = read(&only_run(&folder.path().join("runs")).join("record.json"));
    assert_eq!(outcomes(&record), ["fail fail answer_checks"]);
}

#[test]
fn grading_needs_kept_answers_to_prompts_that_the_dataset_has() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let dataset = write(folder.path(), "sums.jsonl", &four());
    measure(&url, folder.path(), &dataset, &[]);
    let dir = only_run(&folder.path().join("runs"));
    let grade =
        |file: &Path| run(["grade", dir.to_str().unwrap(), "--dataset", file.to_str().unwrap()]);
    let refused = grade(&dataset);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("run --keep-answers"), "{}", refused.stderr);

    fs::write(dir.join("answers.jsonl"), "").unwrap();
    let other = write(folder.path(), "other.jsonl", &line("x", &json!({"total": 9}), &total(9)));
    let refused = grade(&other);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("no answer in"), "{}", refused.stderr);
}
