//! `decide`, and what `verify` says of decisions and their ledger.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::process::{Finished, measure, quick, run, server, streamgauge};

const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/tests/records");

/// A folder with a comparison in it.
struct Place(tempfile::TempDir);

impl Place {
    /// With a golden comparison that did not pass.
    fn failed() -> Self {
        Self::with(&fs::read(Path::new(RECORDS).join("comparison-v2.json")).unwrap())
    }

    /// With the golden comparison of version 1 without the turnovers that failed.
    fn passed() -> Self {
        let golden = Path::new(RECORDS).join("runtime-profile-comparison-v1.json");
        let text = fs::read_to_string(golden).unwrap();
        let (before, rest) = text.split_once("  \"candidate_turnover\": {").unwrap();
        let (_, after) = rest.split_once("  \"human_decision\"").unwrap();
        Self::with(format!("{before}  \"human_decision\"{after}").as_bytes())
    }

    fn with(comparison: &[u8]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.path("comparison.json"), comparison).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn args(&self, more: &[&str]) -> Vec<String> {
        let comparison = self.path("comparison.json").display().to_string();
        let always = ["decide", &comparison, "--by", "A. Person", "--reason", "it is time"];
        always.iter().chain(more).map(ToString::to_string).collect()
    }

    fn decide(&self, more: &[&str]) -> Finished {
        run(self.args(more))
    }

    fn verify(&self, names: &[&str], more: &[&str]) -> Finished {
        let paths = names.iter().map(|name| self.path(name).display().to_string());
        let more = more.iter().map(ToString::to_string);
        run(std::iter::once("verify".to_owned()).chain(paths).chain(more))
    }

    fn ledger(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("decisions.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The names of the decisions that lie here.
    fn decisions(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> =
            names.filter(|it| it.starts_with("promote") || it.starts_with("retain")).collect();
        names.sort();
        names
    }
}

#[test]
fn nothing_is_promoted_against_a_gate_unless_somebody_says_why() {
    let place = Place::failed();
    let before = fs::read(place.path("comparison.json")).unwrap();
    let finished = place.decide(&["--promote"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""));
    assert!(finished.stderr.contains("unless --override REASON says why"), "{}", finished.stderr);
    assert!(finished.stderr.contains("c2 e2e_p50_ms: FAIL: "), "{}", finished.stderr);
    assert_eq!(fs::read_dir(place.0.path()).unwrap().count(), 1);

    let finished = place.decide(&["--promote", "--override", "the fix matters more"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("PROMOTED, OVERRIDING 6 gates"), "{}", finished.stdout);
    let [name] = &place.decisions()[..] else { panic!("one decision") };
    assert!(finished.stdout.ends_with(&format!("{}\n", place.path(name).display())));
    let decision: Value = serde_json::from_slice(&fs::read(place.path(name)).unwrap()).unwrap();
    assert_eq!(decision["override"], "the fix matters more");
    assert_eq!((&decision["decision"], &decision["outcome"]), (&"promote".into(), &"fail".into()));
    let comparison: Value = serde_json::from_slice(&before).unwrap();
    let metric = &comparison["cells"]["c2"]["metrics"]["e2e_p50_ms"];
    assert!(metric["fail_interval"]["lower"].as_f64().unwrap() > 5.0);
    assert_eq!(decision["gates"][1]["fail_interval"], metric["fail_interval"]);
    assert_eq!(place.ledger()[0]["overridden"], true);
    assert_eq!(fs::read(place.path("comparison.json")).unwrap(), before);

    for overriding in [&["--retain", "--override", "why not"][..], &["--retain"]] {
        let finished = place.decide(overriding);
        let refused = overriding.len() > 1;
        assert_eq!(finished.code, Some(if refused { 2 } else { 0 }), "{}", finished.stderr);
        let told = if refused { "nothing to override" } else { "line 1 of the ledger decided" };
        assert!(finished.stderr.contains(told), "{}", finished.stderr);
    }
}

#[test]
fn where_all_gates_passed_there_is_nothing_to_override() {
    let place = Place::passed();
    let finished = place.decide(&["--promote", "--override", "to be safe"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("every gate passed"), "{}", finished.stderr);
    let finished = place.decide(&["--promote", "--format", "json"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let decision: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(decision["outcome"], "pass");
    assert!(finished.stderr.contains("line 1, head "), "{}", finished.stderr);
}

#[test]
fn what_may_not_be_published_is_refused_and_not_shown() {
    let place = Place::failed();
    let secret = "sk-abcdefghijklmnop1234";
    for (text, fault) in [
        ("see https://example.org/issue", "--reason: a published text holds no URLs"),
        ("it is in /srv/models", "--reason: a published text holds no file paths"),
        ("a\nb", "--reason: a published text has no control characters"),
        ("  ", "--reason: a published text has 1 to 240 characters"),
        (secret, "--reason: a published text holds no credentials"),
    ] {
        let comparison = place.path("comparison.json");
        let comparison = comparison.to_str().unwrap();
        let finished = run(["decide", comparison, "--retain", "--by", "A", "--reason", text]);
        assert_eq!(finished.code, Some(2));
        assert!(finished.stderr.contains(fault), "{}", finished.stderr);
        assert!(!finished.stderr.contains(secret));
    }
    assert_eq!(fs::read_dir(place.0.path()).unwrap().count(), 1);
}

#[test]
fn of_deciders_at_once_each_follows_another() {
    let place = Place::failed();
    let children: Vec<_> = (0..8)
        .map(|_| {
            let mut command = streamgauge();
            command.args(place.args(&["--retain"]));
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!((place.ledger().len(), place.decisions().len()), (8, 8));
    let finished = place.verify(&["decisions.jsonl"], &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    assert!(finished.stdout.contains("8 of 8 decisions lie beside it"), "{}", finished.stdout);
}

#[test]
fn a_ledger_that_was_tampered_with_names_its_line() {
    let place = Place::failed();
    for _ in 0..5 {
        assert_eq!(place.decide(&["--retain"]).code, Some(0));
    }
    let path = place.path("decisions.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let changed = whole.replacen("A. Person", "B. Person", 1);
    let without = joined(&[lines[0], lines[1], lines[3], lines[4]]);
    let swapped = joined(&[lines[0], lines[2], lines[1], lines[3], lines[4]]);
    let doubled = joined(&[lines[0], lines[1], lines[2], lines[3], lines[4], lines[1]]);
    for (text, line) in [(changed, 1), (without, 3), (swapped, 2), (doubled, 6)] {
        fs::write(&path, text).unwrap();
        let finished = place.verify(&["decisions.jsonl"], &[]);
        assert_eq!(finished.code, Some(1), "{}", finished.stdout);
        let first = finished.stdout.lines().nth(1).unwrap();
        assert!(first.contains(&format!(": line {line}: ")), "{}", finished.stdout);
        // Nothing is added to it.
        let finished = place.decide(&["--retain"]);
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        assert!(finished.stderr.contains(&format!("line {line}: ")), "{}", finished.stderr);
    }
    assert_eq!(place.decisions().len(), 5);

    // Cut off at its end it still holds; a head that was kept tells.
    fs::write(&path, joined(&lines[..4])).unwrap();
    let finished = place.verify(&["decisions.jsonl"], &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    assert!(finished.stdout.contains("cannot tell that lines were cut off"), "{}", finished.stdout);
    assert!(finished.stdout.contains("no line lists retain-"), "{}", finished.stdout);
    let head = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap()["sha256"].as_str().unwrap().to_owned()
    };
    let kept = place.verify(&["decisions.jsonl"], &["--head", &head(lines[3])]);
    assert_eq!(kept.code, Some(0), "{}", kept.stdout);
    let cut = place.verify(&["decisions.jsonl"], &["--head", &head(lines[4])]);
    assert_eq!(cut.code, Some(1));
    assert!(cut.stdout.contains("head-is-reached: "), "{}", cut.stdout);
    let nowhere = place.verify(&["comparison.json"], &["--head", &head(lines[4])]);
    assert_eq!(nowhere.code, Some(2));
}

#[test]
fn a_torn_line_is_told_with_what_to_do() {
    let place = Place::failed();
    for _ in 0..2 {
        assert_eq!(place.decide(&["--retain"]).code, Some(0));
    }
    let path = place.path("decisions.jsonl");
    let whole = fs::read(&path).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let finished = place.decide(&["--retain"]);
    assert_eq!(finished.code, Some(1));
    let advice = format!("truncate -s {first} {}", path.display());
    assert!(finished.stderr.contains(&advice), "{}", finished.stderr);
    let verified = place.verify(&["decisions.jsonl"], &[]);
    assert!(verified.stdout.contains("line-is-whole: line 2: "), "{}", verified.stdout);
    // A line that lacks nothing but its end is not thrown away.
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let finished = place.decide(&["--retain"]);
    assert!(finished.stderr.contains("`echo >> "), "{}", finished.stderr);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(first as u64).unwrap();
    assert_eq!(place.decide(&["--retain"]).code, Some(0));
    assert_eq!(place.verify(&["decisions.jsonl"], &[]).code, Some(0));
}

#[test]
fn a_decision_is_held_against_its_comparison() {
    let place = Place::failed();
    assert_eq!(place.decide(&["--retain"]).code, Some(0));
    let name = place.decisions().remove(0);
    let finished = place.verify(&[&name], &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stdout);
    assert!(finished.stdout.contains("held against "), "{}", finished.stdout);

    // Another comparison under its name; the one that was decided on, named.
    fs::rename(place.path("comparison.json"), place.path("moved.json")).unwrap();
    let alone = place.verify(&[&name], &[]);
    assert_eq!(alone.code, Some(0));
    assert!(alone.stdout.contains("neither named nor beside it"), "{}", alone.stdout);
    assert_eq!(place.verify(&[&name, "moved.json"], &[]).code, Some(0));
    let other = Path::new(RECORDS).join("comparison-v2-unstable.json");
    fs::copy(other, place.path("comparison.json")).unwrap();
    let finished = place.verify(&[&name], &[]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stdout.contains("comparison-is-the-one-decided-on"), "{}", finished.stdout);
    assert!(finished.stdout.contains("gates[0]"), "{}", finished.stdout);
    assert_eq!(place.verify(&[&name, "moved.json"], &[]).code, Some(0));

    // The decision itself.
    let text = fs::read_to_string(place.path(&name)).unwrap();
    fs::write(place.path(&name), text.replacen("A. Person", "B. Person", 1)).unwrap();
    let finished = place.verify(&[&name, "moved.json"], &[]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stdout.contains("decision-id-is-digest"), "{}", finished.stdout);
    let finished = place.verify(&["decisions.jsonl"], &[]);
    assert!(finished.stdout.contains("decision-is-as-listed: line 1: "), "{}", finished.stdout);
}

#[test]
fn what_is_there_is_not_written_over_and_what_does_not_verify_is_not_decided_on() {
    let place = Place::failed();
    let out = place.path("decision.json");
    fs::write(&out, "mine").unwrap();
    let finished = place.decide(&["--retain", "--out", out.to_str().unwrap()]);
    assert_eq!(finished.code, Some(2));
    assert_eq!(fs::read(&out).unwrap(), b"mine");
    let nowhere = place.path("no-such-folder/d.json");
    let finished = place.decide(&["--retain", "--out", nowhere.to_str().unwrap()]);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    assert_eq!(fs::read(place.path("decisions.jsonl")).unwrap(), b"");

    let text = fs::read_to_string(place.path("comparison.json")).unwrap();
    let last = text.rfind("\"verdict\": \"fail\"").unwrap();
    let (before, after) = text.split_at(last);
    for (changed, code, told) in [
        (format!("{before}{}", after.replacen("fail", "pass", 1)), 1, "does not verify"),
        (text.replacen("  ", "   ", 1), 1, "its bytes are not canonical"),
        (text.replacen("\"alpha\"", "\"beta\"", 1), 1, "does not verify"),
        (text.replacen("comparison/v2", "comparison/v9", 1), 2, "not a document"),
        ("[".repeat(1_000_000), 2, "not JSON"),
    ] {
        fs::write(place.path("comparison.json"), changed).unwrap();
        let finished = place.decide(&["--retain"]);
        assert_eq!(finished.code, Some(code), "{}", finished.stderr);
        assert!(finished.stderr.contains(told), "{}", finished.stderr);
    }
    assert_eq!(place.decisions(), [""; 0]);
}

#[test]
fn the_records_of_runs_are_evidence_where_they_lie_beside() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(quick());
    let runs = folder.path().join("runs");
    for name in ["old", "new"] {
        measure(&url, &runs, &["--no-length-probes", "--name", name]);
    }
    let mut found: Vec<PathBuf> =
        fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    let [new, old] = &found[..] else { panic!("{found:?}") };
    let comparison = folder.path().join("comparison.json");
    let [old, new, comparison] = [old, new, &comparison].map(|path| path.to_str().unwrap());
    run(["compare", "--rule", "interval", old, new, "--out", comparison]);
    let decide = |more: &[&str]| {
        let always = ["decide", comparison, "--retain", "--by", "A", "--reason", "b"];
        run(always.iter().chain(&["--format", "json"]).chain(more))
    };
    let finished = decide(&[]);
    let decision: Value = serde_json::from_str(&finished.stdout).unwrap();
    let kinds: Vec<&Value> =
        decision["evidence"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["comparison", "run_record", "run_record"]);
    let finished = decide(&["--runs", old]);
    let decision: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(decision["evidence"].as_array().unwrap().len(), 2);
    let golden = format!("{RECORDS}/serving-performance-v1.json");
    let finished = decide(&["--runs", &golden]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("is none of the runs that were compared"), "{finished:?}");
}
