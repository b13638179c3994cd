//! Runs that several addresses share.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use streamgauge_sim::{FaultRule, SimConfig, ThreadedSim};

use crate::process::{Finished, finish, only_run, quick, run, server, streamgauge};

const QUICK: &[&str] = &["--output-tokens", "4", "--no-length-probes", "--concurrency", "4"];

/// Two servers, one slower than the other.
fn two() -> [(ThreadedSim, String); 2] {
    [4, 12].map(|ms| server(SimConfig { ttft: Duration::from_millis(ms), ..quick() }))
}

/// `run` at these addresses.
fn spread(urls: &[&str], more: &[&str]) -> Finished {
    let addresses = urls.iter().flat_map(|url| ["--base-url", url]);
    run(["run"].into_iter().chain(addresses).chain(more.iter().copied()))
}

fn measured(urls: &[&str], out: &Path, more: &[&str]) -> Finished {
    let out = ["--out", out.to_str().unwrap()];
    spread(urls, &[QUICK, &out, more].concat())
}

fn record_of(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("record.json")).unwrap()).unwrap()
}

fn condition<'a>(record: &'a Value, label: &str) -> &'a str {
    let conditions = record["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|condition| condition["label"] == label);
    found.unwrap_or_else(|| panic!("{label} is there"))["value"].as_str().unwrap()
}

/// Names of the measured requests that a server had.
fn had(server: &ThreadedSim) -> BTreeSet<String> {
    let ids = server.account().into_iter().map(|request| request.id);
    ids.filter(|id| id.starts_with("measured-")).collect()
}

#[test]
fn each_address_gets_its_share_and_is_told_by_its_name() {
    let [(first, first_url), (second, second_url)] = two();
    let folder = tempfile::tempdir().unwrap();
    let urls = [first_url.as_str(), &second_url];
    let more = ["--requests", "12", "--weights", "2,1", "--warmup", "3"];
    let finished = measured(&urls, folder.path(), &more);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let dir = only_run(folder.path());
    let record = record_of(&dir);
    let offered: Vec<_> = record["replicas"].as_array().unwrap().iter().collect();
    assert_eq!([&offered[0]["offered"], &offered[1]["offered"]], [8, 4]);
    assert_eq!([had(&first).len(), had(&second).len()], [8, 4]);
    assert!(had(&first).is_disjoint(&had(&second)));
    assert_eq!(condition(&record, "Addresses"), "2, of weights 2, 1");
    assert_eq!(condition(&record, "Models listed by the server"), "1");

    for row in ["replica-1 2 8 0 ", "replica-2 1 4 0 "] {
        assert!(finished.prose().contains(row), "{}", finished.stdout);
    }
    let verified = run(["verify", dir.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    // The record is made of plan and journal alone.
    fs::remove_file(dir.join("record.json")).unwrap();
    assert_eq!(run(["record", dir.to_str().unwrap()]).code, Some(0));
    assert_eq!(record_of(&dir), record);
}

#[test]
fn one_that_refuses_everything_is_seen_beside_the_whole() {
    let refuse = FaultRule { every: 1, kind: "status:503".parse().unwrap() };
    let (_first, first_url) = server(quick());
    let (_second, second_url) = server(SimConfig { faults: vec![refuse], ..quick() });
    let folder = tempfile::tempdir().unwrap();
    let urls = [first_url.as_str(), &second_url];
    let more = ["--requests", "8", "--format", "markdown"];
    let finished = measured(&urls, folder.path(), &more);
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let record = record_of(&only_run(folder.path()));
    assert_eq!(record["replicas"][0]["succeeded"], 4);
    assert_eq!(record["replicas"][1]["failed"], 4);
    assert!(
        finished.prose().contains("| replica-2 | 1 | 4 | 4 | 0 | – | – | – | – |"),
        "{}",
        finished.stdout
    );
    let said = "No request succeeded at replica-2 (sent there: 4), while others did elsewhere";
    assert!(finished.prose().contains(said), "{}", finished.stdout);
}

#[test]
fn addresses_that_serve_something_else_are_refused_by_their_names() {
    let [(_first, first_url), (_second, second_url)] = two();
    let (_other, other_url) = server(SimConfig { model: "other".to_owned(), ..quick() });
    let (gone, gone_url) = server(quick());
    drop(gone.shutdown());
    for (third, more, code, said) in [
        (&other_url, &[][..], 2, "lists other, and replica-1"),
        (&other_url, &["--model", "sim-model"], 2, "does not list \"sim-model\"; it lists other"),
        (&gone_url, &[], 4, "cannot connect to"),
    ] {
        let urls = [first_url.as_str(), &second_url, third];
        let refused = spread(&urls, &[QUICK, more].concat());
        assert_eq!(refused.code, Some(code), "{}", refused.stderr);
        let named = format!("replica-3 ({third})");
        assert!(refused.stderr.contains(&named), "{}", refused.stderr);
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
}

#[test]
fn what_cannot_be_shared_is_refused_before_anything_is_contacted() {
    let two = ["http://127.0.0.1:1", "http://127.0.0.1:2"];
    for (urls, more, said) in [
        (&two[..], &["--weights", "2"][..], "--weights 2: that is 1 for 2 addresses"),
        (&two, &["--weights", "2,0"], "weights are whole numbers from 1"),
        (&two, &["--weights", "9999,2"], "come to more than 10000"),
        (&two[..1], &["--weights", "2"], "give --base-url more than once"),
        (&two, &["--server-metrics"], "--server-metrics asks one server"),
        (&two, &["--simulate"], "leave one of them out"),
        (&[two[0], two[0]], &[], "is given twice"),
        (&[two[0], two[1], "http://127.0.0.1:1/v1/"], &[], "http://127.0.0.1:1/v1 is given twice"),
        (&["unix:///x.sock:/v1", "unix:///x.sock"], &[], "is given twice"),
        (&[two[0], "unix:///x.sock"], &["--proxy", "http://127.0.0.1:3"], "no Unix-domain socket"),
        (&[two[0], "http://me:secret@h"], &[], "it holds a user"),
    ] {
        let refused = spread(urls, more);
        assert_eq!(refused.code, Some(2), "{urls:?} {more:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
        assert!(!refused.stderr.contains("secret"), "{}", refused.stderr);
    }
    let mut apart = streamgauge();
    apart.env("http_proxy", "http://127.0.0.1:3").env("no_proxy", "b.invalid");
    apart.args(["run", "--base-url", "http://a.invalid", "--base-url", "http://b.invalid"]);
    let apart = finish(apart.arg("--proxy-from-env"));
    assert_eq!(apart.code, Some(2), "{}", apart.stderr);
    let said = "http://a.invalid:80 is reached through the proxy http://127.0.0.1:3, and \
                http://b.invalid:80 straight";
    assert!(apart.stderr.contains(said), "{}", apart.stderr);
    let turnover = run(["turnover", "--base-url", two[0], "--base-url", two[1]]);
    assert_eq!(turnover.code, Some(2));
    assert!(turnover.stderr.contains("cannot be used multiple times"), "{}", turnover.stderr);
}

#[test]
fn a_fleet_is_not_compared_with_one_server() {
    let [(_first, first_url), (_second, second_url)] = two();
    let folder = tempfile::tempdir().unwrap();
    let [one, several] = [vec![first_url.as_str()], vec![&first_url, &second_url]].map(|urls| {
        let out = folder.path().join(urls.len().to_string());
        let finished = measured(&urls, &out, &["--requests", "4", "--prompt-seed", "1"]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        only_run(&out).display().to_string()
    });
    let refused = run(["compare", &one, &several]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("load_shape"), "{}", refused.stderr);
    assert!(refused.stderr.contains("addresses: 2, of equal weight"), "{}", refused.stderr);
}

#[test]
fn addresses_may_stand_in_a_file() {
    let [(_first, first_url), (_second, second_url)] = two();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.toml");
    let text = format!("base-url = [\"{first_url}\", \"{second_url}\"]\nweights = \"1,3\"\n");
    fs::write(&file, text).unwrap();
    let more = ["--config", file.to_str().unwrap(), "--dry-run"];
    let planned = run(["run"].into_iter().chain(QUICK.iter().copied()).chain(more));
    assert_eq!(planned.code, Some(0), "{}", planned.stderr);
    let plan: Value = serde_json::from_str(&planned.stdout).unwrap();
    let weights: Vec<_> =
        plan["target"]["replicas"].as_array().unwrap().iter().map(|it| &it["weight"]).collect();
    assert_eq!(weights, [1, 3]);
    for line in [
        "a run would contact 2 addresses, which share the requests:".to_owned(),
        format!("- replica-2 is {second_url}, of weight 3"),
        // The heavier one has the first turn.
        format!("first request to {second_url}, path"),
    ] {
        assert!(planned.stderr.contains(&line), "{line}: {}", planned.stderr);
    }
}

/// Starts a run at two addresses, and stops it once some of its requests have ended.
fn interrupted(urls: &[&str], out: &Path) -> PathBuf {
    let mut command = streamgauge();
    command.arg("run").args(urls.iter().flat_map(|url| ["--base-url", url])).args(QUICK);
    command.args(["--requests", "60", "--weights", "2,1", "--out", out.to_str().unwrap()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    let lines = || {
        let dir = fs::read_dir(out).ok()?.next()?.ok()?.path();
        Some(fs::read_to_string(dir.join("observations.jsonl")).ok()?.lines().count())
    };
    while lines().is_none_or(|lines| lines <= 4) {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited for requests");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    only_run(out)
}

#[test]
fn a_run_is_taken_up_at_all_its_addresses() {
    let slow = || server(SimConfig { ttft: Duration::from_millis(40), ..quick() });
    let [(_first, first_url), (_second, second_url)] = [slow(), slow()];
    let folder = tempfile::tempdir().unwrap();
    let urls = [first_url.as_str(), &second_url];
    let dir = interrupted(&urls, folder.path());
    let resume = ["--resume", dir.to_str().unwrap()];
    let [first, second] = urls;
    for (urls, said) in [
        (&[second, first][..], "when the run began it was"),
        (&[first], "when the run began it was"),
    ] {
        let refused = spread(urls, &resume);
        assert_eq!(refused.code, Some(2), "{}", refused.stdout);
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    let refused = run(["run"].iter().chain(&resume).chain(&["--weights", "2,1"]));
    assert!(refused.stderr.contains("--weights: with --resume"), "{}", refused.stderr);
    let finished = spread(&urls, &resume);
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    let record = record_of(&dir);
    let succeeded = [0, 1].map(|place| record["replicas"][place]["succeeded"].as_u64().unwrap());
    assert_eq!(succeeded, [40, 20]);
    let verified = run(["verify", dir.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
}
