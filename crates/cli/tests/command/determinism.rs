//! `run --determinism` and `determinism`: which answers are the same each time, and where two builds
//! part.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use streamgauge_sim::{FaultKind, FaultRule, SimConfig};

use crate::process::{Finished, only_run, quick, run, server};

fn faulty(every: u64, kind: FaultKind) -> SimConfig {
    SimConfig { faults: vec![FaultRule { every, kind }], ..quick() }
}

/// Eight lines that a simulated server answers as they say.
fn dataset(folder: &Path, word: &str) -> PathBuf {
    let line = |n: u64| {
        format!(
            "{{\"id\": \"line-{n}\", \"prompt\": \"Begin with the marker M{n}. Repeat the word {word} \
             5 times.\", \"expect\": {{\"canary\": {{\"marker\": \"M{n}\"}}}}}}\n"
        )
    };
    let path = folder.join(format!("{word}.jsonl"));
    fs::write(&path, (1..=8).map(line).collect::<String>()).unwrap();
    path
}

/// Asks eight prompts three times each, one after the other, so that it is known which request comes
/// when.
fn asked(config: SimConfig, dataset: &Path, out: &Path, more: &[&str]) -> Finished {
    let (_server, url) = server(config);
    let [dataset, out] = [dataset, out].map(|path| path.to_str().unwrap());
    let fixed = [
        "run",
        "--base-url",
        &url,
        "--dataset",
        dataset,
        "--out",
        out,
        "--requests",
        "8",
        "--output-tokens",
        "16",
        "--determinism",
        "3",
    ];
    run(fixed.iter().chain(more))
}

fn report(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn what_is_stable_is_found_and_a_right_server_is_not_accused() {
    let folder = tempfile::tempdir().unwrap();
    let lines = dataset(folder.path(), "go");
    let change = FaultKind::ChangeWord { place: 3 };
    for (name, config, stable, said) in [
        (
            "right",
            quick(),
            8,
            "8 of 8 prompts got the same answer 3 times (0 did not, 0 were not always answered)\n",
        ),
        (
            "shaky",
            faulty(10, change),
            6,
            "6 of 8 prompts got the same answer 3 times (2 did not, 0 were not always answered)\n",
        ),
    ] {
        let out = folder.path().join(name);
        let finished = asked(config, &lines, &out, &[]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        assert!(finished.stdout.contains(said), "{}", finished.stdout);
        let dir = only_run(&out);
        let path = dir.join("determinism.json");
        assert!(finished.stdout.ends_with(&format!("{}\n", path.display())));
        let report = report(&path);
        assert_eq!(report["baseline"]["stable"], stable);
        assert_eq!(report["baseline"]["repetitions"], 3);
        assert!(!report.to_string().contains("go"), "texts are private");
        for prompt in report["prompts"].as_array().unwrap() {
            let answer = &prompt["baseline"];
            assert_eq!(answer["answered"], 3);
            if answer["state"] == "unstable" {
                // "M1 go go " is what both begin with.
                assert_eq!(answer["first_difference"]["character"], 9);
                assert_eq!(answer["first_difference"]["output_event"], 3);
                assert_eq!(answer["different"], 2);
            }
        }
        for path in [&dir, &path] {
            let verified = run(["verify", path.to_str().unwrap()]);
            assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
        }
        let again = run(["determinism", dir.to_str().unwrap(), "--format", "json"]);
        assert_eq!(
            again.stdout.as_bytes().trim_ascii_end(),
            fs::read(&path).unwrap().trim_ascii_end()
        );
    }
}

#[test]
fn a_candidate_is_held_against_what_is_stable() {
    let folder = tempfile::tempdir().unwrap();
    let lines = dataset(folder.path(), "go");
    let change = |place| FaultKind::ChangeWord { place };
    let status = FaultKind::Status { code: 503, retry_after_s: None };
    let measured = |name: &str, config: SimConfig| {
        let out = folder.path().join(name);
        // Some requests may fail.
        let finished = asked(config, &lines, &out, &["--max-failure-ratio", "1"]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        only_run(&out)
    };
    let right = measured("right", quick());
    let shaky = measured("shaky", faulty(10, change(3)));
    let other = measured("other", faulty(1, change(2)));
    let failing = measured("failing", faulty(24, status));
    for (old, new, code, compared) in [
        (&right, &right, 0, [8, 0, 0, 0]),
        (&right, &other, 1, [0, 8, 0, 0]),
        (&right, &shaky, 1, [6, 0, 2, 0]),
        (&shaky, &right, 0, [6, 0, 0, 0]),
        (&shaky, &other, 1, [0, 6, 0, 0]),
        (&right, &failing, 3, [7, 0, 0, 1]),
        (&failing, &right, 0, [7, 0, 0, 0]),
    ] {
        let out = folder.path().join("report.json");
        let paths = [old, new].map(|path| path.to_str().unwrap());
        let finished = run(["determinism", paths[0], paths[1], "--out", out.to_str().unwrap()]);
        assert_eq!(finished.code, Some(code), "{}{}", finished.stdout, finished.stderr);
        let report = report(&out);
        let counts = ["same", "differing", "unstable_on_candidate", "missing"];
        assert_eq!(counts.map(|name| report["compared"][name].as_u64().unwrap()), compared);
        let verified = run(["verify", out.to_str().unwrap()]);
        assert_eq!(verified.code, Some(0), "{}", verified.stdout);
        let again = run(["determinism", paths[0], "--out", out.to_str().unwrap()]);
        assert_eq!(again.code, Some(2), "what is there is not written over");
        fs::remove_file(out).unwrap();
    }
    let shown = run(["determinism", right.to_str().unwrap(), other.to_str().unwrap()]);
    assert!(shown.stdout.contains("line-1"), "{}", shown.stdout);
    assert!(shown.stdout.contains("another answer"), "{}", shown.stdout);
    // "M1 go " is what both begin with.
    assert!(shown.stdout.contains("content character 6, output event 2"), "{}", shown.stdout);
}

#[test]
fn synthetic_prompts_are_the_same_in_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let dirs = ["old", "new"].map(|name| {
        let (_server, url) = server(quick());
        let out = folder.path().join(name);
        let finished = run([
            "run",
            "--base-url",
            &url,
            "--out",
            out.to_str().unwrap(),
            "--requests",
            "4",
            "--input-tokens",
            "40",
            "--output-tokens",
            "6",
            "--determinism",
            "2",
            "--concurrency",
            "4",
        ]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        only_run(&out)
    });
    let [old, new] = dirs.each_ref().map(|path| path.to_str().unwrap());
    let finished = run(["determinism", old, new]);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    assert!(finished.stdout.contains("4 with the same answer"), "{}", finished.stdout);
}

#[test]
fn runs_that_did_not_ask_the_same_are_not_held_against_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let lines = dataset(folder.path(), "go");
    let measured = |name: &str, config: SimConfig, more: &[&str]| {
        let out = folder.path().join(name);
        let finished = asked(config, &lines, &out, more);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        only_run(&out)
    };
    let right = measured("right", quick(), &[]);
    let seeded = measured("seeded", quick(), &["--seed", "4"]);
    let other_model = measured("other", faulty(1, FaultKind::OtherModel), &[]);
    for (candidate, said) in [
        (
            &seeded,
            "the runs did not ask the same, so that their answers say nothing of the builds: seed (none and 4)",
        ),
        (&other_model, "\"sim-model-other\" answered, and \"sim-model\" was expected"),
    ] {
        let finished = run(["determinism".as_ref(), right.as_os_str(), candidate.as_os_str()]);
        assert_eq!(finished.code, Some(2), "{}", finished.stdout);
        assert!(finished.stderr.contains(said), "{}", finished.stderr);
    }
}

#[test]
fn what_cannot_be_held_against_anything_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let lines = dataset(folder.path(), "go");
    let (_server, url) = server(quick());
    let [file, out] =
        [&lines, &folder.path().join("runs")].map(|it| it.to_str().unwrap().to_owned());
    let fixed = ["run", "--base-url", &url, "--dataset", &file, "--out", &out, "--requests", "8"];
    let once = run(fixed.iter().chain(&["--output-tokens", "16"]));
    assert_eq!(once.code, Some(0), "{}", once.stderr);
    let finished = run(["determinism", only_run(Path::new(&out)).to_str().unwrap()]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("asked no prompt several times"), "{}", finished.stderr);
    for more in [
        &["--determinism", "1"][..],
        &["--determinism", "2", "--duration", "1"],
        &["--determinism", "2", "--repeat"],
        &["--determinism", "2", "--concurrency", "1..4:5s"],
    ] {
        let refused = run(fixed.iter().chain(more));
        assert_eq!(refused.code, Some(2), "{more:?}: {}", refused.stdout);
        assert!(refused.stderr.contains("--determinism"), "{}", refused.stderr);
    }
}

/// A journal says where in a plan's rounds an answer belongs, and a plan how many rounds there are.
#[test]
fn rounds_that_nobody_asked_for_fill_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let lines = dataset(folder.path(), "go");
    let out = folder.path().join("runs");
    assert_eq!(asked(quick(), &lines, &out, &[]).code, Some(0));
    let dir = only_run(&out);
    let plan = dir.join("plan.json");
    let text = fs::read_to_string(&plan).unwrap();
    assert!(text.contains("\"repetitions\": 3"), "{text}");
    fs::write(&plan, text.replace("\"repetitions\": 3", "\"repetitions\": 9000000000000")).unwrap();
    let finished = run(["determinism".as_ref(), dir.as_os_str()]);
    assert_eq!(finished.code, Some(2), "{}", finished.stdout);
    assert!(finished.stderr.contains("a run has at most 1000"), "{}", finished.stderr);
}
