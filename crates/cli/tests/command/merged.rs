//! `merge`: one run of its shards, what it is held to, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use streamgauge_client::JournalWriter;
use streamgauge_schema::{
    ClockState, Digest, EndReason, Grade, GraderIdentity, GraderName, Grades, Grading,
    JournalBegun, JournalHeader, JournalLine, JournalTrailer, LoadShape, Plan, RequestLine, Shard,
    Stage, Timestamp, digest_bytes, read_typed,
};

use crate::process::{Finished, run};

/// Where in time the run lies.
const START_US: i64 = 1_790_000_000_000_000;

/// A plan of so many requests of four clients.
fn plan(requests: u64) -> Plan {
    let mut plan: Plan = read_typed(include_bytes!("../../../schema/tests/run/plan.json")).unwrap();
    plan.load.shape = LoadShape::ClosedLoop { concurrency: 4 };
    (plan.load.requests, plan.load.warmup) = (requests, 0);
    plan
}

/// A request that succeeded.
fn line(index: u64) -> RequestLine {
    let journal = include_str!("../../../schema/tests/run/observations.jsonl");
    let Ok(JournalLine::Request(line)) = serde_json::from_str(journal.lines().nth(1).unwrap())
    else {
        panic!("a request")
    };
    let started_us = 1_000_000 + 100_000 * (index / 4) + index;
    RequestLine {
        stage: Stage::Measured,
        index,
        prompt_sha256: Digest::of(&index.to_le_bytes()),
        started_us,
        last_attempt_started_us: started_us,
        observer_lag_us: Some(vec![10 + index % 7]),
        ..*line
    }
}

/// Writes a shard into a folder, whose machine began so late; gives its directory.
fn shard(folder: &Path, plan: &Plan, number: u64, of: u64, delay_us: u64) -> PathBuf {
    let shard = Shard::new(number, of).unwrap();
    let dir = folder.join(format!("shard-{number}-of-{of}"));
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("plan.json"), digest_bytes(plan).unwrap()).unwrap();
    let mut journal = JournalWriter::create(&dir.join("observations.jsonl")).unwrap();
    let begins_us = 1_000_000 - delay_us;
    let mut append = |line| journal.append(&line).unwrap();
    append(JournalLine::Header(JournalHeader {
        journal_version: 1,
        plan_sha256: Digest::of_value(plan).unwrap(),
        started_at: Timestamp::from_unix_micros(START_US + delay_us as i64),
        started_monotonic_ns: None,
        listed_models: None,
        conditions: Vec::new(),
        shard: Some(shard),
    }));
    append(JournalLine::Begun(JournalBegun {
        at_us: begins_us,
        start_us: Some(begins_us - 100 * number),
        clock: Some(ClockState { synchronised: number != 2, max_error_us: 400 * number }),
    }));
    let mut lines = 0;
    for index in (0..plan.load.requests).filter(|index| shard.has(&plan.load, *index)) {
        let mut line = line(index);
        line.started_us -= delay_us;
        line.last_attempt_started_us -= delay_us;
        append(JournalLine::Request(Box::new(line)));
        lines += 1;
    }
    append(JournalLine::Trailer(JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(START_US + 9_000_000),
        lines,
        listed_models: None,
    }));
    let _lock = journal.finish().unwrap();
    dir
}

/// Four shards below `shards` of a folder.
fn four(folder: &Path, requests: u64) -> Vec<PathBuf> {
    let (plan, shards) = (plan(requests), folder.join("shards"));
    (1..=4).map(|number| shard(&shards, &plan, number, 4, 30_000 * (number - 1))).collect()
}

fn merge(out: &Path, dirs: &[&Path], more: &[&str]) -> Finished {
    let mut args = vec!["merge", "--out", out.to_str().unwrap()];
    args.extend(dirs.iter().map(|dir| dir.to_str().unwrap()));
    args.extend(more);
    run(args)
}

/// The directory that a command made, by the path that it printed last.
fn made(finished: &Finished) -> PathBuf {
    let record = finished.stdout.lines().last().unwrap();
    PathBuf::from(record).parent().unwrap().to_owned()
}

fn record(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("record.json")).unwrap()).unwrap()
}

fn holds(dir: &Path) -> Finished {
    run(["verify", dir.to_str().unwrap()])
}

#[test]
fn shards_become_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let shards = four(folder.path(), 40);
    let out = folder.path().join("runs");
    let merged = merge(&out, &[&folder.path().join("shards")], &[]);
    assert_eq!(merged.code, Some(0), "{}{}", merged.stdout, merged.stderr);
    let shown = merged.stdout.replace(folder.path().to_str().unwrap(), "…");
    insta::assert_snapshot!("merged", shown);
    let dir = made(&merged);
    assert_eq!(dir.file_name().unwrap().to_str().unwrap(), "sample-20260921T141320Z-26cb");
    let found = record(&dir);
    assert_eq!((&found["status"], &found["load"]["succeeded"]), (&"completed".into(), &40.into()));
    let names: Vec<&str> =
        found["evidence"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names[..2], ["shard-1.observations.jsonl", "shard-2.observations.jsonl"]);
    let list: Value = serde_json::from_slice(&fs::read(dir.join("shards.json")).unwrap()).unwrap();
    assert_eq!(list["shards"][1]["path"], "../../shards/shard-2-of-4");

    let markdown = merge(
        &folder.path().join("again"),
        &[&folder.path().join("shards")],
        &["--format", "markdown"],
    );
    assert!(markdown.stdout.contains("| 2 of 4 |"), "{}", markdown.stdout);
    // Named one by one and in another order they give the same bytes.
    let turned: Vec<&Path> = shards.iter().rev().map(PathBuf::as_path).collect();
    let other = merge(&folder.path().join("deep/er"), &turned, &["--format", "json"]);
    assert_eq!(other.stdout.as_bytes(), fs::read(dir.join("record.json")).unwrap());
}

#[test]
fn everything_reads_a_merged_run() {
    let folder = tempfile::tempdir().unwrap();
    four(folder.path(), 40);
    let dir = made(&merge(&folder.path().join("runs"), &[&folder.path().join("shards")], &[]));
    let path = dir.to_str().unwrap();
    for (args, part) in [
        (vec!["verify", path], "holds"),
        (vec!["record", path], "as plan and journal give it"),
        (vec!["report", "--html", path], "report.html"),
        (vec!["report", "--csv", "requests", path], "measured,3,,succeeded"),
        (vec!["export", "--vllm", path], "request_throughput"),
        (vec!["compare", path, path], "gate"),
    ] {
        let finished = run(&args);
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(said.contains(part), "{args:?}: {said}");
        assert!(finished.code < Some(2), "{args:?}: {said}");
    }
    let page = fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(page.contains("<th scope=\"row\">3 of 4</th>"));
    // On one time line: request 3, of the shard whose zero is the latest.
    let table = run(["report", "--csv", "requests", path]).stdout;
    assert_eq!(table.lines().count(), 41);
    let last = table.lines().find(|row| row.contains(",measured,3,")).unwrap();
    assert!(last.contains(",1000003,90000,"), "{last}");
    let refused = run(["grade", path, "--dataset", "none.jsonl"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("grade each of them, and merge them then"));
    // What merge makes can be made once more from the shards.
    let bytes = fs::read(dir.join("record.json")).unwrap();
    fs::remove_file(dir.join("record.json")).unwrap();
    assert_eq!(run(["record", path]).code, Some(0));
    assert_eq!(fs::read(dir.join("record.json")).unwrap(), bytes);
}

#[test]
fn cases_of_a_long_run_stand_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    four(folder.path(), 10_004);
    let dir = made(&merge(&folder.path().join("runs"), &[&folder.path().join("shards")], &[]));
    let cases = fs::read_to_string(dir.join("cases.jsonl")).unwrap();
    assert_eq!(cases.lines().count(), 10_004);
    assert_eq!(holds(&dir).code, Some(0));
}

#[test]
fn a_merged_run_is_held_to_its_shards() {
    let folder = tempfile::tempdir().unwrap();
    let shards = four(folder.path(), 40);
    let dir = made(&merge(&folder.path().join("runs"), &[&folder.path().join("shards")], &[]));
    let journal = shards[1].join("observations.jsonl");
    let before = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, before.replace("\"bytes\":", "\"bytes\":1")).unwrap();
    let changed = holds(&dir);
    assert_eq!(changed.code, Some(1), "{}", changed.stderr);
    assert!(changed.stdout.contains("has changed since it was merged"), "{}", changed.stdout);
    fs::write(&journal, before).unwrap();
    assert_eq!(holds(&dir).code, Some(0));

    fs::rename(&shards[2], folder.path().join("elsewhere")).unwrap();
    let moved = holds(&dir);
    assert_eq!(moved.code, Some(2));
    let expected = "shard 3 of 4 is not where";
    assert!(moved.stderr.contains(expected), "{}", moved.stderr);
    // The record by itself still holds.
    assert_eq!(holds(&dir.join("record.json")).code, Some(0));

    let list = fs::read_to_string(dir.join("shards.json")).unwrap();
    fs::write(dir.join("shards.json"), list.replace("shard-3-of-4", "shard-4-of-4")).unwrap();
    let other = holds(&dir);
    assert!(other.stderr.contains("is to hold shard 3 of 4"), "{}", other.stderr);
}

#[test]
fn missing_shards_are_named_or_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let shards = four(folder.path(), 40);
    let out = folder.path().join("runs");
    let some: Vec<&Path> = [0, 2].map(|at| shards[at].as_path()).to_vec();
    let refused = merge(&out, &some, &[]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("shards are missing: 2, 4 of 4."), "{}", refused.stderr);
    assert!(!out.exists());
    let allowed = merge(&out, &some, &["--allow-missing"]);
    assert_eq!(allowed.code, Some(3), "{}", allowed.stderr);
    let dir = made(&allowed);
    let found = record(&dir);
    assert_eq!((&found["status"], &found["load"]["not_sent"]), (&"aborted".into(), &20.into()));
    assert!(allowed.prose().contains("Shards that are missing: 2 of 4 (2, 4)"));
    assert_eq!(holds(&dir).code, Some(0));
}

#[test]
fn a_shard_that_was_cut_off_makes_a_run_that_was() {
    let folder = tempfile::tempdir().unwrap();
    let shards = four(folder.path(), 40);
    let journal = shards[3].join("observations.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 700]).unwrap();
    let merged = merge(&folder.path().join("runs"), &[&folder.path().join("shards")], &[]);
    assert_eq!(merged.code, Some(3), "{}", merged.stderr);
    assert!(merged.stderr.contains("note: the last line of "), "{}", merged.stderr);
    assert!(merged.prose().contains("Shards that were cut off: 1 of 4 (4)."));
    assert_eq!(holds(&made(&merged)).code, Some(0));
}

#[test]
fn what_is_no_run_of_shards_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let shards = four(folder.path(), 40);
    let out = folder.path().join("runs");
    let at = |name: &str| folder.path().join(name);
    // The same shard once more; one of another plan, of another version, of another number.
    let twin = shard(&at("twin"), &plan(40), 2, 4, 0);
    let other = shard(&at("other"), &plan(44), 2, 4, 0);
    let mut newer = plan(40);
    newer.instrument_version = "streamgauge 0.2.0".to_owned();
    let newer = shard(&at("newer"), &newer, 2, 4, 0);
    let of_three = shard(&at("three"), &plan(40), 2, 3, 0);
    // The clock of the other machine stood in 1970.
    let early = shard(&at("early"), &plan(40), 2, 4, 0);
    let journal = early.join("observations.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let began = Timestamp::from_unix_micros(START_US).to_string();
    assert!(text.contains(&began));
    fs::write(&journal, text.replacen(&began, "1970-01-01T00:00:07.000000+00:00", 1)).unwrap();
    let whole = at("whole");
    fs::create_dir_all(&whole).unwrap();
    for file in ["plan.json", "observations.jsonl"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema/tests/run").join(file);
        fs::copy(from, whole.join(file)).unwrap();
    }
    let without = at("without");
    fs::create_dir_all(&without).unwrap();
    fs::copy(shards[0].join("plan.json"), without.join("plan.json")).unwrap();
    let empty = at("empty");
    fs::create_dir_all(&empty).unwrap();
    let merged = made(&merge(&at("merged"), &[&at("shards")], &[]));
    for (one, expected) in [
        (&twin, "shard 2 of 4 is there twice: "),
        (&other, "they are shards of different runs"),
        (&newer, "by streamgauge 0.2.0, "),
        (&of_three, "the run was divided differently"),
        (&whole, "is no shard: it is a whole run"),
        (&without, "has no journal: its run never began"),
        (&empty, "is no run directory and holds no shard"),
        (&at("nowhere"), "cannot read "),
        (&merged, "was merged from shards; name the shards"),
    ] {
        let refused = merge(&out, &[&at("shards"), one], &[]);
        assert_eq!(refused.code, Some(2), "{expected}: {}", refused.stdout);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
        assert!(!out.exists());
    }
    let going = fs::File::open(shards[1].join("observations.jsonl")).unwrap();
    going.lock().unwrap();
    let refused = merge(&out, &[&at("shards")], &[]);
    assert!(refused.stderr.contains("shard-2-of-4"), "{}", refused.stderr);
    assert_eq!(refused.code, Some(2));
    drop(going);
    let others = [&shards[0], &shards[2], &shards[3], &early].map(|it| it.as_path());
    let refused = merge(&out, &others, &[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    for said in ["early/shard-2-of-4 began at 1970-01-01T00:00:07", "a machine's clock was wrong"] {
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    // A contradiction that only the lines show leaves nothing behind.
    let journal = shards[0].join("observations.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replace("\"elapsed_us\":90000", "\"elapsed_us\":1")).unwrap();
    let refused = merge(&out, &[&at("shards")], &[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn the_same_merge_again_finds_what_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let shards = four(folder.path(), 40);
    let (out, all) = (folder.path().join("runs"), folder.path().join("shards"));
    let first = merge(&out, &[&all], &[]);
    let again = merge(&out, &[&all], &[]);
    assert_eq!((again.code, &again.stdout), (Some(0), &first.stdout), "{}", again.stderr);
    // Of other shards the name is taken.
    let other = merge(&out, &[&shards[0], &shards[1]], &["--allow-missing"]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("was merged from something else"), "{}", other.stderr);
    let dir = made(&first);
    fs::remove_file(dir.join("record.json")).unwrap();
    let half = merge(&out, &[&all], &[]);
    assert_eq!(half.code, Some(2));
    assert!(half.stderr.contains("is no whole merge"), "{}", half.stderr);
}

#[test]
fn receipts_of_shards_are_put_together() {
    let folder = tempfile::tempdir().unwrap();
    let shards = four(folder.path(), 40);
    let (out, all) = (folder.path().join("runs"), folder.path().join("shards"));
    let grader = GraderIdentity { name: GraderName::Numeric, sha256: Digest::of(b"numeric") };
    let receipt = |index: u64| Grade {
        prompt_sha256: line(index).prompt_sha256,
        grader: grader.name,
        grader_sha256: grader.sha256,
        passed: true,
        untruncated_final: true,
        checks: Vec::new(),
        words: None,
        fenced_would_pass: None,
    };
    let grade = |number: u64, expectations: &[u8]| {
        let shard = Shard::new(number, 4).unwrap();
        let load = plan(40).load;
        let own = (0..40).filter(|index| shard.has(&load, *index));
        let grades = Grades {
            grades_version: 1,
            grading: Grading {
                expectations_sha256: Digest::of(expectations),
                graders: vec![grader],
            },
            receipts: own.map(receipt).collect(),
        };
        let path = shards[number as usize - 1].join("grades.json");
        fs::write(path, digest_bytes(&grades).unwrap()).unwrap();
    };
    (1..=3).for_each(|number| grade(number, b"dataset"));
    let refused = merge(&out, &[&all], &[]);
    assert!(refused.stderr.contains("was not: grade all shards, or none"), "{}", refused.stderr);
    grade(4, b"another");
    let refused = merge(&out, &[&all], &[]);
    let expected = "were not graded by the same graders and expectations";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    assert!(!out.exists());
    grade(4, b"dataset");
    let merged = merge(&out, &[&all], &[]);
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    let dir = made(&merged);
    assert_eq!(record(&dir)["counts"]["outcomes"]["pass"], 40);
    assert_eq!(holds(&dir).code, Some(0));
}
