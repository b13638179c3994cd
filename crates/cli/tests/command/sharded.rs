//! `run --shard`: one plan carried out by several commands, and one that is started again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use streamgauge_sim::SimConfig;

use crate::process::{Finished, finish, quick, server, streamgauge};

const REQUESTS: u64 = 30;
const WARMUP: u64 = 5;

/// A command that carries out a part of the same plan as its likes.
fn part(url: &str, out: &Path, more: &[&str]) -> Command {
    let mut command = streamgauge();
    command
        .args(["run", "--base-url", url, "--out", out.to_str().unwrap(), "--name", "parts"])
        .args(["--requests", &REQUESTS.to_string(), "--concurrency", "6"])
        .args(["--warmup", &WARMUP.to_string(), "--output-tokens", "4", "--no-length-probes"])
        .args(["--nonce-seed", "7"])
        .args(more);
    command
}

fn begin(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The directory of a shard below a folder.
fn dir_of(out: &Path, shard: &str) -> PathBuf {
    let entries = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let mut dirs = entries.filter(|path| path.to_str().unwrap().ends_with(shard));
    dirs.next().unwrap_or_else(|| panic!("no directory of {shard}"))
}

/// The whole lines of a journal.
fn journal(dir: &Path) -> Vec<Value> {
    let text = fs::read_to_string(dir.join("observations.jsonl")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |last| &text[..last]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn member<'a>(lines: &'a [Value], name: &str) -> Vec<&'a Value> {
    lines.iter().filter_map(|line| line.get(name)).collect()
}

/// The requests that a journal holds, as the server calls them.
fn ids(lines: &[Value]) -> Vec<String> {
    let id = |line: &Value| format!("{}-{}", line["stage"].as_str().unwrap(), line["index"]);
    member(lines, "request").into_iter().map(id).collect()
}

fn whole_plan() -> BTreeSet<String> {
    let ids = |stage: &'static str, count| (0..count).map(move |index| format!("{stage}-{index}"));
    ids("measured", REQUESTS).chain(ids("warmup", WARMUP)).collect()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Slow enough to be stopped half-way.
fn slow() -> SimConfig {
    SimConfig { ttft: Duration::from_millis(60), ..quick() }
}

#[test]
fn shards_that_begin_together_carry_out_the_plan() {
    let (server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let shards: Vec<Child> = (0..4)
        .map(|rank: u64| {
            let mut command = part(&url, folder.path(), &["--shard", "auto", "--start-at", "+2"]);
            command.env("SLURM_PROCID", rank.to_string()).env("SLURM_NTASKS", "4");
            begin(command)
        })
        .collect();
    for shard in shards {
        let output = shard.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("measured requests begin at"), "{said}");
    }
    let (mut sent, mut plans, mut starts) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for number in 1..=4 {
        let dir = dir_of(folder.path(), &format!("-shard-{number}-of-4"));
        let lines = journal(&dir);
        let header = &lines[0]["header"];
        assert_eq!(header["shard"], serde_json::json!({"number": number, "of": 4}));
        plans.insert(header["plan_sha256"].as_str().unwrap().to_owned());
        let [begun] = member(&lines, "begun")[..] else { panic!("it begins once") };
        let at_us = begun["at_us"].as_u64().unwrap();
        let mut measured =
            member(&lines, "request").into_iter().filter(|it| it["stage"] == "measured");
        assert!(measured.all(|line| line["started_us"].as_u64().unwrap() >= at_us));
        assert!(at_us >= begun["start_us"].as_u64().unwrap());
        let started = fs::read_to_string(dir_of(folder.path(), "-start")).unwrap();
        starts.insert(started);
        sent.extend(ids(&lines));
        assert!(dir.join("record.json").exists());
    }
    assert_eq!((plans.len(), starts.len()), (1, 1));
    assert_eq!(sent.len() as u64, REQUESTS + WARMUP, "nothing is sent twice");
    assert_eq!(sent.into_iter().collect::<BTreeSet<_>>(), whole_plan());
    let asked = server.account().into_iter().map(|request| request.id);
    assert_eq!(asked.collect::<BTreeSet<_>>(), whole_plan());
}

/// Ends the command once so many measured requests have ended.
fn killed_after(count: usize, command: Command, out: &Path, shard: &str) -> PathBuf {
    let mut child = begin(command);
    let measured = || {
        let found = fs::read_dir(out).ok().is_some_and(|mut dirs| dirs.next().is_some());
        let lines = if found { ids(&journal(&dir_of(out, shard))) } else { Vec::new() };
        lines.iter().filter(|id| id.starts_with("measured")).count()
    };
    wait_until("measured requests", || measured() >= count);
    child.kill().unwrap();
    child.wait().unwrap();
    dir_of(out, shard)
}

#[test]
fn a_shard_that_was_killed_is_taken_up_by_the_same_command() {
    let (server, url) = server(slow());
    let folder = tempfile::tempdir().unwrap();
    let command = || part(&url, folder.path(), &["--shard", "2/3"]);
    let dir = killed_after(3, command(), folder.path(), "-shard-2-of-3");
    let before = server.account().len();
    let done = member(&journal(&dir), "request").len();
    let again = finish(&mut command());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stderr.contains("shard 2 of 3 is taken up"), "{}", again.stderr);
    let lines = journal(&dir);
    assert_eq!((member(&lines, "resumed").len(), member(&lines, "begun").len()), (1, 1));
    let measured = ids(&lines).into_iter().filter(|id| id.starts_with("measured"));
    let measured: Vec<String> = measured.collect();
    assert_eq!(measured.len() as u64, REQUESTS / 3, "each has one line");
    assert!(server.account().len() - before < 2 + REQUESTS as usize / 3, "{done} had ended");

    let asked = server.account().len();
    let once_more = finish(&mut command());
    assert_eq!(once_more.code, Some(0), "{}", once_more.stderr);
    assert!(once_more.stderr.contains("the run has finished"), "{}", once_more.stderr);
    assert!(once_more.stdout.contains("record.json"), "{}", once_more.stdout);
    assert_eq!(server.account().len(), asked, "nothing is asked");
}

#[test]
fn a_shard_that_was_killed_while_it_waited_begins_once() {
    let (server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let command = |start| part(&url, folder.path(), &["--shard", "1/3", "--start-at", start]);
    let mut child = begin(command("+3600"));
    wait_until("the warm-up", || server.account().len() as u64 == 2);
    let dir = dir_of(folder.path(), "-shard-1-of-3");
    wait_until("its lines", || member(&journal(&dir), "request").len() == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(member(&journal(&dir), "begun").is_empty());
    // The moment that was agreed on lies in a file.
    let moment = fs::read_to_string(dir_of(folder.path(), "-start")).unwrap();
    fs::write(dir_of(folder.path(), "-start"), moment.replacen("20", "19", 1)).unwrap();
    let refused = finish(&mut command("+3600"));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("holds no moment"), "{}", refused.stderr);
    let again = finish(&mut command("2026-01-01T00:00:00Z"));
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let lines = journal(&dir);
    let [begun] = member(&lines, "begun")[..] else { panic!("it begins once") };
    let at_us = begun["at_us"].as_u64().unwrap();
    let [resumed] = member(&lines, "resumed")[..] else { panic!("it is taken up once") };
    assert!(at_us >= resumed["at_us"].as_u64().unwrap());
    assert_eq!(begun["start_us"], 0);
}

#[test]
fn a_resumed_directory_keeps_to_its_shard() {
    let (_server, url) = server(slow());
    let folder = tempfile::tempdir().unwrap();
    let command = part(&url, folder.path(), &["--shard", "1/2"]);
    let dir = killed_after(2, command, folder.path(), "-shard-1-of-2");
    let mut resume = streamgauge();
    let resumed = finish(resume.args(["run", "--resume", dir.to_str().unwrap()]));
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let places = ids(&journal(&dir)).into_iter();
    let places: BTreeSet<String> = places.filter(|id| id.starts_with("measured")).collect();
    // Of six clients the first, third and fifth.
    let own = (0..REQUESTS).filter(|index| index % 6 % 2 == 0);
    assert_eq!(places, own.map(|index| format!("measured-{index}")).collect());
}

#[test]
fn a_shard_that_had_not_begun_begins() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let command = || part(&url, folder.path(), &["--shard", "1/6", "--keep-answers", "--capture"]);
    assert_eq!(finish(&mut command()).code, Some(0));
    let dir = dir_of(folder.path(), "-shard-1-of-6");
    let header = fs::read_to_string(dir.join("observations.jsonl")).unwrap();
    // Nothing but the plan, an empty journal, and one whose first line was cut off.
    for cut in [None, Some(0), Some(20)] {
        for made in ["record.json", "observations.jsonl"] {
            fs::remove_file(dir.join(made)).unwrap();
        }
        if let Some(cut) = cut {
            fs::write(dir.join("observations.jsonl"), &header[..cut]).unwrap();
        }
        let again = finish(&mut command());
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        assert_eq!(member(&journal(&dir), "request").len() as u64, REQUESTS / 6 + 1);
    }
}

#[test]
fn a_stop_ends_the_wait_for_the_start() {
    let (server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let child = begin(part(&url, folder.path(), &["--start-at", "+3600"]));
    wait_until("the warm-up", || server.account().len() as u64 == WARMUP);
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert_eq!(server.account().len() as u64, WARMUP);
}

#[test]
fn a_start_that_has_passed_is_told() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let late = finish(&mut part(&url, folder.path(), &["--start-at", "2026-01-01T01:00:00+01:00"]));
    assert_eq!(late.code, Some(0), "{}", late.stderr);
    let said = "2026-01-01T00:00:00.000000+00:00, which has passed";
    assert!(late.stderr.contains(said), "{}", late.stderr);
    let lines = journal(&dir_of(folder.path(), ""));
    let [begun] = member(&lines, "begun")[..] else { panic!("it begins once") };
    assert_eq!(begun["start_us"], 0);
    assert!(begun["at_us"].as_u64() > Some(0));
}

#[test]
fn a_dry_run_shows_the_part() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let more = ["--shard", "4/4", "--dry-run", "--start-at", "+30"];
    let shown = finish(&mut part(&url, folder.path(), &more));
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let expected = "- shard 4 of 4: 5 of 30 requests of cell c6, 1 at once, after 1 to warm up\n";
    assert!(shown.stderr.contains(expected), "{}", shown.stderr);
    assert!(shown.stderr.contains("-shard-4-of-4, or go on there."), "{}", shown.stderr);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is written");
}

#[test]
fn what_cannot_be_is_refused() {
    let (server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let refused = |mut command: Command, named: &[&str]| {
        let Finished { code, stderr, .. } = finish(&mut command);
        assert_eq!(code, Some(2), "{stderr}");
        let prose = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in named {
            assert!(prose.contains(part), "{part} is not in {prose}");
        }
    };
    let shard = |more: &[&str]| part(&url, folder.path(), more);
    refused(shard(&["--shard", "7/7"]), &["6 clients are fewer than 7 shards"]);
    refused(shard(&["--shard", "0/4"]), &["--shard", "from 1 to 4"]);
    refused(shard(&["--shard", "auto"]), &["--shard auto", "SLURM_PROCID", "PMI_RANK"]);
    let mut disagreeing = shard(&["--shard", "auto"]);
    disagreeing.env("SLURM_PROCID", "0").env("SLURM_NTASKS", "2");
    disagreeing.env("PMI_RANK", "1").env("PMI_SIZE", "2");
    refused(disagreeing, &["SLURM_PROCID=0 of SLURM_NTASKS=2", "PMI_RANK=1 of PMI_SIZE=2"]);
    refused(
        shard(&["--shard", "1/2", "--start-at", "noon"]),
        &["--start-at", "2026-12-01T02:00:00Z"],
    );

    assert_eq!(finish(&mut shard(&["--shard", "1/6"])).code, Some(0));
    let dir = dir_of(folder.path(), "-shard-1-of-6");
    let asked = server.account().len();
    let held = fs::File::open(dir.join("observations.jsonl")).unwrap();
    held.lock().unwrap();
    refused(shard(&["--shard", "1/6"]), &["shard-1-of-6", "still going"]);
    drop(held);
    let plan = fs::read_to_string(dir.join("plan.json")).unwrap();
    fs::write(dir.join("plan.json"), plan.replace("\"warmup\": 5", "\"warmup\": 4")).unwrap();
    refused(shard(&["--shard", "1/6"]), &["shard-1-of-6", "holds another plan", "--name or --out"]);
    assert_eq!(server.account().len(), asked, "nothing is asked");
}
