//! Somebody is asked: a terminal is there, and answers.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use nix::pty::openpty;
use streamgauge_sim::SimConfig;

use super::bench::{Bench, failed, finished, quick_plan};
use super::judged;
use crate::process::{Finished, quick, server};

/// A qualification at a terminal at which Enter was pressed so many times.
fn at_a_terminal(bench: &Bench, answers: usize, more: &[&str]) -> Finished {
    let pty = openpty(None, None).unwrap();
    let mut keyboard = File::from(pty.master);
    keyboard.write_all("\n".repeat(answers).as_bytes()).unwrap();
    finished(bench.command(more).stdin(Stdio::from(pty.slave)))
}

/// The quick plan without `activate`, the arms at these addresses.
fn live(bench: &Bench, urls: [&str; 2], keys: &str) -> String {
    let plan = quick_plan(bench, "", "");
    let (common, _) = plan.split_once("[baseline]").unwrap();
    let [baseline, candidate] = urls;
    format!(
        "{common}[baseline]\nbase-url = \"{baseline}\"\n{keys}\n[candidate]\nbase-url = \
         \"{candidate}\"\n{keys}\n"
    )
}

#[test]
fn enter_says_that_the_build_is_switched() {
    let (_server, url) = server(quick());
    let bench = Bench::new();
    bench.plan(&format!("blocks = 3\n{}", live(&bench, [&url, &url], "activate = \"ask\"")));
    let finished = at_a_terminal(&bench, 4, &[]);
    assert!(matches!(finished.code, Some(0 | 1 | 3)), "{}", finished.stderr);
    let asked: Vec<&str> =
        finished.stderr.lines().filter(|line| line.ends_with("then press Enter")).collect();
    assert_eq!(asked.len(), 4, "{}", finished.stderr);
    assert!(asked[1].starts_with("block 1, candidate: switch http"), "{}", asked[1]);
    let activated = bench.steps(&bench.only_dir(), "activated");
    assert_eq!(activated.len(), 4);
    assert!(activated[0]["exit_code"].is_null());
}

#[test]
fn addresses_are_exchanged_half_way() {
    let slow = SimConfig { interval: Duration::from_millis(20), ..quick() };
    let quick = SimConfig { interval: Duration::from_millis(10), ..quick() };
    let (one, other) = (server(quick), server(slow));
    let bench = Bench::new();
    let plan = live(&bench, [&one.1, &other.1], "");
    bench.plan(&format!("blocks = 4\n{plan}"));
    let confounded = bench.qualify(&[]);
    failed(&confounded);
    assert!(
        confounded.prose().contains("build and machine are confounded"),
        "{}",
        confounded.stdout
    );

    // Nothing is swapped here: all of the difference is the machines', and cancels out.
    std::fs::remove_dir_all(bench.path("qualifications")).unwrap();
    let swapped = at_a_terminal(&bench, 1, &["--swap-addresses"]);
    assert_eq!(swapped.code, Some(3), "{}", swapped.stderr);
    let comparison = judged(&bench.only_dir(), "comparison.json");
    let metric = &comparison["cells"]["c12"]["metrics"]["decode_rate_p50_tok_per_s"];
    assert!(metric["delta_percent"].as_f64().unwrap().abs() < 10.0, "{metric}");
    assert!(swapped.prose().contains("exchanged their addresses after block 2"));
    assert!(
        swapped.stderr.contains("swap the builds: start the baseline at"),
        "{}",
        swapped.stderr
    );
}

#[test]
fn addresses_are_not_exchanged_where_a_machine_is_an_arms_own() {
    let bench = Bench::new();
    for side in ["old", "new"] {
        std::fs::write(
            bench.path(&format!("{side}.toml")),
            format!("hardware = \"the {side} one\"\n"),
        )
        .unwrap();
    }
    let plan = live(&bench, ["http://127.0.0.1:1", "http://127.0.0.1:2"], "");
    let plan = plan
        .replace("[baseline]", "[baseline]\ndeployment = \"old.toml\"")
        .replace("[candidate]", "[candidate]\ndeployment = \"new.toml\"");
    for (blocks, expected) in [(4, "different hardware"), (3, "no half")] {
        bench.plan(&format!("blocks = {blocks}\n{plan}"));
        let finished = at_a_terminal(&bench, 0, &["--swap-addresses"]);
        assert_eq!(finished.code, Some(2));
        assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    }
}
