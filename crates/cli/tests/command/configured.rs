//! Runs whose flags stand in a file, files to begin with, and names of other tools.

use crate::process::{finish, quick, run, server, streamgauge};

#[test]
fn files_to_begin_with_work_as_they_stand() {
    let (_server, url) = server(quick());
    let dir = tempfile::tempdir().unwrap();
    for what in ["run", "qualify"] {
        let written = finish(streamgauge().args(["init", what]).current_dir(&dir));
        assert_eq!(written.code, Some(0), "{}", written.stderr);
        assert_eq!(written.stdout.trim(), format!("{what}.toml"));
        assert!(written.stderr.starts_with(&format!("next: streamgauge {what} ")));
        let again = finish(streamgauge().args(["init", what]).current_dir(&dir));
        assert_eq!(again.code, Some(2), "it was overwritten");
    }
    let file = dir.path().join("run.toml");
    // Where it says that a simulated server is, on this machine's port.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("http://127.0.0.1:8000", &url)).unwrap();
    let dry =
        finish(streamgauge().args(["run", "--config", "run.toml", "--dry-run"]).current_dir(&dir));
    assert_eq!(dry.code, Some(0), "{}", dry.stderr);
    let plans: serde_json::Value = serde_json::from_str(&dry.stdout).unwrap();
    let cells: Vec<&str> = plans
        .as_array()
        .unwrap()
        .iter()
        .map(|plan| plan["load"]["cell"].as_str().unwrap())
        .collect();
    assert_eq!(cells, ["c1", "c8"]);
    assert_eq!(plans[0]["name"], "my-build");

    let mut order = streamgauge();
    let order = finish(order.args(["qualify", "qualify.toml", "--plan-only"]).current_dir(&dir));
    assert_eq!(order.code, Some(0), "{}", order.stderr);
}

#[test]
fn what_is_commented_out_is_a_flag_too() {
    let text = include_str!("../../src/commands/init/run.toml");
    let help = run(["run", "--help"]).stdout;
    let keys = text.lines().filter_map(|line| line.trim_start_matches("# ").split_once(" = "));
    let keys: Vec<&str> = keys.map(|(key, _)| key).filter(|key| !key.contains(' ')).collect();
    assert!(keys.len() > 12, "{keys:?}");
    for key in keys {
        assert!(
            help.contains(&format!("--{key} ")) || help.contains(&format!("--{key}\n")),
            "{key}"
        );
    }
}

#[test]
fn a_turnover_takes_its_flags_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("turnover.toml");
    std::fs::write(&file, "simulate = true\nconcurrency = 3\nwaves = 4\ndry-run = true\n").unwrap();
    let finished = run(["turnover".as_ref(), "--config".as_ref(), file.as_os_str()]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let plan: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(plan["load"]["requests"], 15);
}

#[test]
fn shells_get_a_script() {
    for (shell, word) in
        [("bash", "complete -F"), ("zsh", "#compdef streamgauge"), ("fish", "complete -c")]
    {
        let finished = run(["completions", shell]);
        assert_eq!(finished.code, Some(0));
        assert!(finished.stdout.contains(word), "{shell}");
    }
}

/// The table of names in `docs/other-tools.md`: a flag of ours, and names that others have for it.
fn names_in_page() -> Vec<(String, Vec<String>)> {
    let page = include_str!("../../../../docs/other-tools.md");
    let table = page.split("| `run` takes | also as |\n| --- | --- |\n").nth(1).unwrap();
    let words = |cell: &str| -> Vec<String> {
        cell.split('`').filter(|word| word.starts_with("--")).map(str::to_owned).collect()
    };
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let (ours, theirs) = row.trim_matches('|').split_once('|').unwrap();
        (words(ours).pop().unwrap(), words(theirs))
    })
    .collect()
}

#[test]
fn names_of_other_tools_are_taken_for_what_the_page_says() {
    let names = names_in_page();
    assert!(names.len() > 10);
    for (ours, theirs) in names {
        let value = match ours.as_str() {
            "--base-url" => Some("http://127.0.0.1:1"),
            "--arrival" => Some("poisson"),
            "--no-progress" => None,
            _ => Some("5"),
        };
        for name in theirs {
            // The same flag twice, under two names, is refused with the name that is ours.
            let given = |name: &str| match value {
                Some(value) => vec![name.to_owned(), value.to_owned()],
                None => vec![name.to_owned()],
            };
            let line = [vec!["run".to_owned()], given(&name), given(&ours)].concat();
            let finished = run(line);
            let said = match ours.as_str() {
                // Of these a run takes several, if they differ.
                "--base-url" => "--base-url http://127.0.0.1:1 is given twice".to_owned(),
                ours => format!("'{ours}"),
            };
            let is_told = ["multiple times", "given twice"].map(|it| finished.stderr.contains(it));
            assert!(
                finished.stderr.contains(&said) && is_told.contains(&true),
                "{name}: {}",
                finished.stderr
            );
        }
    }
}

#[test]
fn goals_have_the_names_of_vllm() {
    let page = include_str!("../../../../docs/other-tools.md");
    let names = page.split_once("goals of `--goodput`").unwrap().1.split_once("Beware").unwrap().0;
    let goals: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
    let [ttft, tpot, theirs, ours] = goals[..] else { panic!("{goals:?}") };
    let planned = |e2e: &str| {
        let args = ["run", "--simulate", "--dry-run", "--no-length-probes", "--goodput"];
        let finished = run(args.into_iter().chain([ttft, tpot, e2e]));
        let plan: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
        plan["goals"].clone()
    };
    assert_eq!(planned(theirs), planned(ours));
    assert_eq!(planned(theirs).as_array().unwrap().len(), 3);
}

#[test]
fn the_block_of_vllm_is_printed_for_each_cell() {
    let out = tempfile::tempdir().unwrap();
    let finished = run([
        "run".as_ref(),
        "--simulate".as_ref(),
        "--requests=6".as_ref(),
        "--concurrency=1,2".as_ref(),
        "--no-length-probes".as_ref(),
        "--format=vllm".as_ref(),
        "--out".as_ref(),
        out.path().as_os_str(),
    ]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let line = |text: &str| finished.stdout.lines().filter(|line| *line == text).count();
    assert_eq!(line("============ Serving Benchmark Result ============"), 2);
    assert_eq!(line("Successful requests:                     6         "), 2);
    assert_eq!(line("Maximum request concurrency:             2         "), 1);
    assert_eq!(line("Total generated tokens:                  768       "), 2);
    assert_eq!(line("---------------Inter-token Latency----------------"), 2);
    assert!(finished.stdout.trim_end().ends_with("record.json"), "{}", finished.stdout);
    assert!(finished.stderr.contains("an event can hold several tokens"), "{}", finished.stderr);
    assert!(finished.stderr.contains("left out: max_concurrent_requests"), "{}", finished.stderr);
}

#[test]
fn the_block_of_vllm_tells_the_rate_that_was_asked_for() {
    let out = tempfile::tempdir().unwrap();
    let finished = run([
        "run".as_ref(),
        "--simulate".as_ref(),
        "--requests=4".as_ref(),
        "--request-rate=40".as_ref(),
        "--max-concurrency=9".as_ref(),
        "--output-tokens=4".as_ref(),
        "--no-length-probes".as_ref(),
        "--format=vllm".as_ref(),
        "--out".as_ref(),
        out.path().as_os_str(),
    ]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    let expected = [
        "Failed requests:                         0         ",
        "Maximum request concurrency:             9         ",
        "Request rate configured (RPS):           40.00     ",
    ];
    assert!(lines.windows(3).any(|window| window == expected), "{}", finished.stdout);
    assert!(!finished.stderr.contains("request_rate"), "{}", finished.stderr);
}
