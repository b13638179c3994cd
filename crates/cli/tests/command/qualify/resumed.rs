//! A qualification that was cut off goes on where it was.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::bench::{Bench, failed, quick_plan};
use super::judged;

/// The log as it is; empty before it is there.
fn log(bench: &Bench) -> String {
    let dir = std::fs::read_dir(bench.path("qualifications")).ok().and_then(|mut dirs| dirs.next());
    let path = dir.map(|dir| dir.unwrap().path().join("log.jsonl"));
    path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
}

/// Starts the command and sends a signal once the log shows what is waited for.
fn cut_off_when(command: &mut Command, signal: Signal, shown: impl Fn() -> bool) -> Option<i32> {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let waited = Instant::now();
    while !shown() {
        assert!(waited.elapsed() < Duration::from_secs(60), "waited for the log");
        std::thread::sleep(Duration::from_millis(2));
    }
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
    child.wait().unwrap().code()
}

/// Starts a qualification and sends a signal once so many runs have begun.
fn cut_off(bench: &Bench, begun: usize, signal: Signal) -> Option<i32> {
    cut_off_when(&mut bench.command(&[]), signal, || {
        log(bench).matches("\"begun\"").count() >= begun
    })
}

/// The slots of the runs that count.
fn slots(steps: &[Value]) -> Vec<String> {
    let mut slots: Vec<String> =
        steps.iter().map(|step| format!("{}{}", step["visit"], step["cell"])).collect();
    slots.sort_unstable();
    slots
}

#[test]
fn after_a_kill_the_same_runs_are_there() {
    let bench = Bench::new();
    bench.plan(&format!("blocks = 3\n{}", quick_plan(&bench, "20", "24")));
    assert_eq!(cut_off(&bench, 4, Signal::SIGKILL), None);
    let dir = bench.only_dir();
    // The end may come while a line is written.
    let log = dir.join("log.jsonl");
    let mut text = std::fs::read(&log).unwrap();
    text.extend_from_slice(b"{\"at_ms\":1,\"step\":{\"fini");
    std::fs::write(&log, text).unwrap();

    let finished = bench.resume(&dir);
    failed(&finished);
    let all = bench.steps(&dir, "finished");
    assert_eq!(all.len(), 6);
    let mut unique = slots(&all);
    unique.dedup();
    assert_eq!(unique.len(), 6);
    // The run that was cut off was taken anew; its directory is kept.
    assert_eq!(bench.steps(&dir, "begun").len(), 7);
    assert_eq!(std::fs::read_dir(dir.join("runs")).unwrap().count(), 7);
    let comparison = judged(&dir, "comparison.json");
    let said = comparison["limitations"].to_string();
    assert!(said.contains("were taken anew: 1."), "{said}");
    assert!(said.contains("taken up again, so that their runs are apart in time: 2."), "{said}");

    // Nothing is left to do.
    let again = bench.resume(&dir);
    assert_eq!(again.code, finished.code, "{}", again.stderr);
    assert!(again.stderr.contains("is complete"), "{}", again.stderr);
    assert_eq!(bench.steps(&dir, "begun").len(), 7);
}

#[test]
fn ctrl_c_keeps_what_has_finished_and_says_how_to_go_on() {
    let bench = Bench::new();
    bench.plan(&format!("blocks = 3\n{}", quick_plan(&bench, "10", "10")));
    assert_eq!(cut_off(&bench, 2, Signal::SIGINT), Some(130));
    let dir = bench.only_dir();
    assert_eq!(bench.steps(&dir, "ended")[0]["reason"], "interrupted");
    let finished = bench.resume(&dir);
    assert!(matches!(finished.code, Some(0 | 3)), "{}", finished.stderr);
    assert_eq!(bench.steps(&dir, "finished").len(), 6);
}

#[test]
fn paths_of_a_plan_that_was_named_relatively_are_the_same_when_it_goes_on() {
    let bench = Bench::new();
    std::fs::write(bench.path("what.toml"), "id = \"simulated\"\n").unwrap();
    let plan = quick_plan(&bench, "10", "10");
    let plan = plan.replace("base-url", "deployment = \"what.toml\"\nbase-url");
    bench.plan(&format!("blocks = 3\n{plan}"));
    assert_eq!(cut_off(&bench, 2, Signal::SIGINT), Some(130));
    let finished = bench.resume(&bench.only_dir());
    assert!(matches!(finished.code, Some(0 | 1 | 3)), "{}", finished.stderr);
}

#[test]
fn another_plan_is_no_way_to_go_on() {
    let bench = Bench::new();
    bench.plan(&format!("blocks = 3\n{}", quick_plan(&bench, "20", "24")));
    cut_off(&bench, 2, Signal::SIGKILL);
    let dir = bench.only_dir();
    bench.plan(&format!("blocks = 4\n{}", quick_plan(&bench, "20", "24")));
    let finished = bench.resume(&dir);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("it is not the plan of"), "{}", finished.stderr);
    let nowhere = bench.resume(&bench.path("nowhere"));
    assert_eq!(nowhere.code, Some(2));
}

/// Whatever was being done when the end came: the work is taken up, and no run is missing or double.
#[test]
fn killed_again_and_again_it_comes_to_its_end() {
    let bench = Bench::new();
    bench.plan(&format!("blocks = 3\n{}", quick_plan(&bench, "2", "2")));
    for more in 1..=9 {
        let lines = log(&bench).lines().count();
        let mut command = match lines {
            0 => bench.command(&[]),
            _ => bench.bare(&["qualify", "--resume", bench.only_dir().to_str().unwrap()]),
        };
        let ended = || log(&bench).contains("\"complete\"");
        let shown = || log(&bench).lines().count() >= lines + more || ended();
        cut_off_when(&mut command, Signal::SIGKILL, shown);
    }
    let dir = bench.only_dir();
    let finished = bench.resume(&dir);
    assert!(matches!(finished.code, Some(0 | 1 | 3)), "{}", finished.stderr);
    let mut unique = slots(&bench.steps(&dir, "finished"));
    assert_eq!(unique.len(), 6);
    unique.dedup();
    assert_eq!(unique.len(), 6);
    let verified = crate::process::run(["verify", dir.to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
}

#[test]
fn other_prompts_than_before_are_refused_before_the_next_run() {
    let bench = Bench::new();
    let lines = |word: &str| -> String {
        (0..24).map(|n| format!("{{\"id\": \"q{n}\", \"prompt\": \"{word} {n}\"}}\n")).collect()
    };
    std::fs::write(bench.path("prompts.jsonl"), lines("Say")).unwrap();
    let plan = quick_plan(&bench, "20", "24");
    let plan =
        plan.replace("input-tokens = 64\nno-length-probes = true", "dataset = \"prompts.jsonl\"");
    bench.plan(&format!("blocks = 3\n{plan}"));
    assert_eq!(cut_off(&bench, 3, Signal::SIGKILL), None);
    let dir = bench.only_dir();
    let begun = bench.steps(&dir, "begun").len();
    std::fs::write(bench.path("prompts.jsonl"), lines("Tell")).unwrap();
    let finished = bench.resume(&dir);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    assert!(finished.stderr.contains("was a dataset edited since?"), "{}", finished.stderr);
    assert_eq!(bench.steps(&dir, "begun").len(), begun);
    std::fs::write(bench.path("prompts.jsonl"), lines("Say")).unwrap();
    failed(&bench.resume(&dir));
}
