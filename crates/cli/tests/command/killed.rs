//! SIGKILL at any moment: what has ended is in the journal, its record says what became of the run, and
//! the run goes on with what is missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use streamgauge_sim::{SimConfig, ThreadedSim};

use crate::process::{run, server, streamgauge};

/// Moments at which a run is killed.
const KILLS: u64 = 200;
const REQUESTS: usize = 24;
const CLIENTS: usize = 4;
const WARMUP: u64 = 3;

/// A number that depends on the seed alone (splitmix64).
fn seeded(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A dataset of which every answer is graded.
fn dataset() -> String {
    let line = |n: usize| {
        let answer = json!({"total": n});
        let expect = json!({"fields": [{"pointer": "/total", "is": {"equals": n}}]});
        let prompt = format!("Case {n}: return JSON with fields {answer}");
        json!({"id": format!("q{n}"), "prompt": prompt, "max_tokens": 16, "expect": expect})
            .to_string()
    };
    (0..REQUESTS).map(|n| line(n) + "\n").collect()
}

/// A run of synthetic prompts, or of a graded dataset whose answers are kept.
fn command(url: &str, folder: &Path, graded: bool) -> Command {
    let mut command = streamgauge();
    command
        .args(["run", "--base-url", url, "--out", folder.join("runs").to_str().unwrap()])
        .args(["--requests", &REQUESTS.to_string(), "--concurrency", &CLIENTS.to_string()])
        .args(["--warmup", &WARMUP.to_string()]);
    match graded {
        true => {
            let file = folder.join("dataset.jsonl");
            std::fs::write(&file, dataset()).unwrap();
            command.args(["--dataset", file.to_str().unwrap(), "--keep-answers"]);
        }
        false => _ = command.args(["--output-tokens", "4", "--no-length-probes"]),
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The run directory below a folder, once it is there.
fn run_dir(folder: &Path) -> Option<PathBuf> {
    Some(std::fs::read_dir(folder.join("runs")).ok()?.next()?.ok()?.path())
}

/// The requests that have a line, as their ids.
fn journalled(dir: &Path) -> BTreeSet<String> {
    let text = std::fs::read(dir.join("observations.jsonl")).unwrap_or_default();
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = std::str::from_utf8(&text[..whole]).unwrap().lines();
    let requests = lines.filter_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let request = line.get("request")?;
        Some(format!("{}-{}", request["stage"].as_str().unwrap(), request["index"]))
    });
    requests.collect()
}

/// What became of the runs that were killed.
#[derive(Debug, Default)]
struct Found {
    /// Before there was anything.
    nothing: AtomicU64,
    /// With a journal, before its end.
    cut: AtomicU64,
    /// With a line that was cut off.
    torn: AtomicU64,
    /// After the last request.
    whole: AtomicU64,
}

/// Kills run after run, `step` seeds apart; those of odd seeds are graded.
fn kill_runs(first: u64, step: usize, found: &Found) {
    let config = SimConfig {
        ttft: Duration::from_millis(12),
        interval: Duration::from_millis(1),
        ..SimConfig::default()
    };
    let (server, url) = server(config);
    for seed in (first..KILLS).step_by(step) {
        let folder = tempfile::tempdir().unwrap();
        let known = server.account().len();
        let mut child = command(&url, folder.path(), first == 1).spawn().unwrap();
        wait_for_moment(seed, &server, known as u64, &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        let account = server.account().split_off(known);
        let asked: Vec<String> = account.into_iter().map(|it| it.id).collect();
        let tear = seed % 5 == 0;
        match run_dir(folder.path()).filter(|dir| dir.join("observations.jsonl").exists()) {
            Some(dir) => {
                let left = check(seed, &dir, &asked, tear, found);
                let before = server.account().len();
                if let Some(left) = left {
                    go_on(seed, &dir, &left, first == 1);
                    let account = server.account().split_off(before);
                    let asked: Vec<String> = account.into_iter().map(|it| it.id).collect();
                    check_asked(seed, &left, &asked);
                }
            }
            None => {
                let sent = asked.iter().filter(|id| id.starts_with("measured-"));
                assert_eq!(sent.count(), 0, "seed {seed}: sent before there was a journal");
                found.nothing.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Waits for the moment of a seed: once the server has so many requests, some of them all of the run's, and
/// a little longer.
fn wait_for_moment(seed: u64, server: &ThreadedSim, known: u64, child: &mut Child) {
    let all = WARMUP + REQUESTS as u64;
    let wanted = seeded(seed) % (all + 4);
    let received = || {
        let totals = server.totals();
        totals.complete + totals.disconnected + totals.faulted + totals.open + totals.rejected
    };
    let begun = Instant::now();
    while received() < known + wanted.min(all) && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "seed {seed}: waited for requests");
        std::thread::sleep(Duration::from_micros(500));
    }
    // The record is written when all have ended.
    let longest_us = if wanted < all { 16_000 } else { 80_000 };
    std::thread::sleep(Duration::from_micros(seeded(seed + KILLS) % longest_us));
}

/// Holds what a killed run left against what the server saw of it. Gives the requests that then have a
/// line, where the run can be taken up.
fn check(
    seed: u64,
    dir: &Path,
    asked: &[String],
    tear: bool,
    found: &Found,
) -> Option<BTreeSet<String>> {
    let kept = journalled(dir);
    // A client asks again only once its request counts as ended: all but the last few have a line.
    let sent = asked.iter().filter(|id| id.starts_with("measured-") || id.starts_with("warmup-"));
    assert!(kept.len() + CLIENTS >= sent.count(), "seed {seed}: {kept:?} of {asked:?}");
    for id in &kept {
        assert!(asked.contains(id), "seed {seed}: {id} was never asked");
    }
    let journal = dir.join("observations.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let ended = text.contains("{\"trailer\":");
    let torn = tear && !ended && !kept.is_empty();
    if torn {
        // The end may come while a line is written.
        std::fs::write(&journal, &text[..text.len() - 2]).unwrap();
        found.torn.fetch_add(1, Ordering::Relaxed);
    }
    let path = dir.to_str().unwrap();
    let had_record = dir.join("record.json").exists();
    let recorded = run(["record", path]);
    if text.is_empty() {
        // Not even the header was written.
        assert_eq!(recorded.code, Some(2), "seed {seed}: {}", recorded.stderr);
        assert!(recorded.stderr.contains("the header is missing"), "{}", recorded.stderr);
        return None;
    }
    assert_eq!(recorded.code, Some(0), "seed {seed}: {}{}", recorded.stdout, recorded.stderr);
    assert_eq!(recorded.stderr.contains("was cut off after"), torn, "{}", recorded.stderr);
    let record: Value =
        serde_json::from_slice(&std::fs::read(dir.join("record.json")).unwrap()).unwrap();
    if ended {
        assert_eq!(record["status"], "completed");
        found.whole.fetch_add(1, Ordering::Relaxed);
    } else {
        assert!(!had_record, "seed {seed}: a record before the end");
        assert_eq!(record["status"], "aborted");
        let why = record["limitations"].to_string();
        assert!(why.contains("The run was cut off: its journal has no end."), "{why}");
        let measured = kept.iter().filter(|id| id.starts_with("measured-")).count();
        let lost = torn && journalled(dir).len() < kept.len();
        let succeeded = record["load"]["succeeded"].as_u64().unwrap() as usize;
        assert!(succeeded == measured || lost && succeeded + 1 >= measured, "seed {seed}");
        assert_eq!(record["load"]["offered"], REQUESTS);
        found.cut.fetch_add(1, Ordering::Relaxed);
    }
    let verified = run(["verify", path]);
    assert_eq!(verified.code, Some(0), "seed {seed}: {}{}", verified.stdout, verified.stderr);
    let left: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".part"))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "seed {seed}");
    (!ended).then(|| journalled(dir))
}

/// Takes the run up, and holds it to what it would have been.
fn go_on(seed: u64, dir: &Path, before: &BTreeSet<String>, graded: bool) {
    let path = dir.to_str().unwrap();
    let finished = run(["run", "--resume", path]);
    assert_eq!(finished.code, Some(0), "seed {seed}: {}{}", finished.stdout, finished.stderr);
    let record: Value =
        serde_json::from_slice(&std::fs::read(dir.join("record.json")).unwrap()).unwrap();
    assert_eq!(record["status"], "completed", "seed {seed}");
    assert_eq!(record["load"]["succeeded"], REQUESTS, "seed {seed}");
    assert_eq!(record["load"]["performance_eligible"], true, "seed {seed}");
    let said = record["limitations"].to_string();
    assert!(said.contains("The run broke off and was taken up again: 1."), "{said}");
    assert_eq!(record["windows"]["steady"], Value::Null);
    if graded {
        assert_eq!(record["counts"]["primary_passes"], REQUESTS, "seed {seed}");
    }
    // What was made of the beginning is kept beside it.
    assert!(dir.join("record-1.json").exists(), "seed {seed}");
    assert!(journalled(dir).is_superset(before), "seed {seed}");
    let verified = run(["verify", path]);
    assert_eq!(verified.code, Some(0), "seed {seed}: {}{}", verified.stdout, verified.stderr);
}

/// Exactly what was missing is asked, once each, and the warm-up before it.
fn check_asked(seed: u64, before: &BTreeSet<String>, asked: &[String]) {
    let mut measured: Vec<&String> =
        asked.iter().filter(|id| id.starts_with("measured-")).collect();
    measured.sort();
    let all = (0..REQUESTS).map(|index| format!("measured-{index}"));
    let mut missing: Vec<String> = all.filter(|id| !before.contains(id)).collect();
    missing.sort();
    assert_eq!(measured, missing.iter().collect::<Vec<_>>(), "seed {seed}");
    let warmups = asked.iter().filter(|id| id.starts_with("warmup-")).count();
    assert_eq!(warmups, if missing.is_empty() { 0 } else { WARMUP as usize }, "seed {seed}");
}

#[test]
fn killed_at_any_moment_a_run_keeps_what_has_ended_and_goes_on() {
    let found = Found::default();
    std::thread::scope(|scope| {
        for first in 0..2 {
            let found = &found;
            scope.spawn(move || kill_runs(first, 2, found));
        }
    });
    let Found { cut, torn, .. } = &found;
    // Most moments are those that matter.
    assert!(cut.load(Ordering::Relaxed) > KILLS / 4, "{found:?}");
    assert!(torn.load(Ordering::Relaxed) > 0, "{found:?}");
}
