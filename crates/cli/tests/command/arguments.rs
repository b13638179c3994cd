//! Help and bad arguments, word by word.

use serde_json::Value;

use crate::process::{finish, run, streamgauge};

/// A command's help on a terminal of this width.
fn help_of(command: &str, flag: &str, columns: &str) -> String {
    let words = command.split_whitespace().chain([flag]);
    let finished = finish(streamgauge().args(words).env("COLUMNS", columns));
    assert_eq!(finished.code, Some(0), "{command}: {}", finished.stderr);
    finished.stdout
}

/// The commands, as the help lists them: none can be forgotten.
fn commands() -> Vec<String> {
    let all = help_of("", "--help", "200");
    let list = all.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let names = list.lines().map(|line| line.split_whitespace().next().unwrap().to_owned());
    let names: Vec<String> = names.filter(|name| name != "help").collect();
    assert!(names.len() > 15, "{names:?}");
    names
}

#[test]
fn help() {
    for command in commands().iter().map(String::as_str).chain([""]) {
        let name = if command.is_empty() { "all" } else { command };
        let shown = [("-h", "80"), ("--help", "100")].map(|(flag, columns)| {
            let call = format!("$ streamgauge {command} {flag}").replace("  ", " ");
            format!("{call}   # {columns} columns\n{}", help_of(command, flag, columns))
        });
        insta::assert_snapshot!(format!("help_{name}"), shown.join("\n"));
    }
}

#[test]
fn help_can_be_read_and_copied_at_any_width() {
    for command in commands() {
        let [narrow, wide, widest] =
            ["80", "120", "200"].map(|columns| help_of(&command, "--help", columns));
        let is_call =
            |line: &&str| ["  streamgauge ", "  export "].iter().any(|it| line.starts_with(it));
        let calls = |text: &str| -> Vec<String> {
            text.lines().filter(is_call).map(str::to_owned).collect()
        };
        assert!(!calls(&wide).is_empty(), "{command} has no example");
        assert_eq!(calls(&narrow), calls(&wide), "{command}: an example is broken at 80 columns");
        assert_eq!(wide, widest, "{command}: lines longer than can be read");
        let lines: Vec<&str> = narrow.lines().collect();
        let long =
            lines.iter().find(|line| line.chars().count() > 80 && !line.starts_with("Usage"));
        assert_eq!(long, None, "{command}");
        for pair in lines.windows(2) {
            // Prose ends where its terminal does: the next word had no room.
            let is_prose = |line: &str| line.starts_with(|first: char| first != ' ');
            let next = pair[1].split_whitespace().next().unwrap_or_default();
            let room = 80 - pair[0].chars().count().min(80);
            assert!(
                !(is_prose(pair[0]) && is_prose(pair[1])) || next.chars().count() + 1 > room,
                "{command}: a line that is cut in the middle of its paragraph: {pair:?}"
            );
        }
    }
}

#[test]
fn bad_arguments_are_named_with_what_to_do() {
    let simulated =
        |more: &'static [&'static str]| [&["run", "--simulate", "--dry-run"], more].concat();
    let cases = [
        vec!["run"],
        vec!["run", "--base-url", "localhost:8000"],
        vec!["run", "--base-url", "http://127.0.0.1:1", "--ca-file", "ca.pem"],
        vec!["run", "--base-url", "http://127.0.0.1:1", "--insecure"],
        vec!["run", "--base-url", "https://127.0.0.1:1", "--insecure", "--ca-file", "ca.pem"],
        vec!["run", "--base-url", "https://127.0.0.1:1", "--client-cert", "own.pem"],
        vec!["run", "--base-url", "https://127.0.0.1:1", "--proxy", "socks5://me:secret@h:1"],
        vec!["run", "--base-url", "unix:///nowhere.sock", "--proxy", "http://127.0.0.1:1"],
        vec!["run", "--base-url", "unix://nowhere.sock"],
        vec!["run", "--base-url", "unix:///nowhere.sock"],
        simulated(&["--proxy-from-env"]),
        vec!["run", "--base-url", "http://me:secret@127.0.0.1:1"],
        simulated(&["--header", "no colon"]),
        simulated(&["--header", "Host: elsewhere"]),
        simulated(&["--extra-body", "{"]),
        simulated(&["--extra-body", "[1]"]),
        simulated(&["--extra-body", "{\"stream\": false}"]),
        simulated(&["--extra-body", "{\"a\": 1, \"a\": 2}"]),
        simulated(&["--temperature", "-1"]),
        simulated(&["--timeout", "0"]),
        simulated(&["--max-failure-ratio", "2"]),
        simulated(&["--concurrency", "0"]),
        simulated(&["--concurrency", "1,2", "--cell", "x"]),
        simulated(&["--concurrency", "2,2"]),
        simulated(&["--requests", "0"]),
        simulated(&["--request-rate", "0"]),
        simulated(&["--request-rate", "10:30s,oops"]),
        simulated(&["--request-rate", "5", "--concurrency", "2"]),
        simulated(&["--request-rate", "5", "--arrival", "gamma", "--burstiness", "0"]),
        simulated(&["--concurrency", "4", "--max-concurrency", "2"]),
        simulated(&["--trace"]),
        simulated(&["--duration", "-5"]),
        simulated(&["--time-basis", "kernel"]),
        simulated(&["--goodput", "ttft"]),
        simulated(&["--goodput", "ttft:100", "ttft:200"]),
        simulated(&["--search", "rate"]),
        simulated(&["--search", "rate", "--goodput", "ttft:5", "--attainment", "nan"]),
        simulated(&["--goodput", "ttft:500ms"]),
        simulated(&[
            "--search",
            "rate",
            "--goodput",
            "ttft:5",
            "--search-from",
            "9",
            "--search-to",
            "3",
        ]),
        simulated(&["--search", "rate", "--goodput", "ttft:5", "--max-concurrency", "1"]),
        simulated(&["--prefix-tokens", "600"]),
        simulated(&["--max-error-rate", "2"]),
        simulated(&["--requests", "18446744073709551615"]),
        simulated(&["--endpoint-path", "http://elsewhere/"]),
        simulated(&["--endpoint-path", "/a path"]),
        simulated(&["--expect-model", ""]),
        simulated(&["--input-tokens", "99999999999"]),
        vec!["run", "--base-url", "http://127.0.0.1:1/v1/chat/completions/"],
        vec![
            "run",
            "--base-url",
            "http://127.0.0.1:1",
            "--api-key-env",
            "STREAMGAUGE_TESTS_SET_NO_KEY",
        ],
        simulated(&["--input-tokens", "1"]),
        simulated(&["--output-tokens", "0"]),
        simulated(&["--temperature", "cold"]),
        simulated(&["--api", "telepathy"]),
        simulated(&["--api", "ollama-chat"]),
        simulated(&["--name", "a/b"]),
        simulated(&["--nonce"]),
        simulated(&["--dataset", "nowhere.jsonl"]),
        simulated(&["--deployment", "nowhere.toml"]),
        vec!["compare", "nowhere-a", "nowhere-b"],
        vec!["compare", "one"],
        vec!["decide", "nowhere.json", "--retain", "--by", "A. Person", "--reason", "slow"],
        vec!["decide", "nowhere.json", "--by", "A. Person", "--reason", "slow"],
        vec!["decide", "nowhere.json", "--retain", "--promote", "--by", "A", "--reason", "b"],
        vec!["decide", "nowhere.json", "--promote", "--by", "A. Person"],
        vec!["verify", "nowhere.json"],
        vec!["verify"],
        vec!["verify", "nowhere.json", "--head", "0123"],
        vec!["record", "nowhere"],
        vec!["sim", "--listen", "127.0.0.1:0", "--fault", "503"],
        vec!["sim", "--listen", "127.0.0.1:0", "--fault", "2=fire"],
        vec!["sim", "--listen", "127.0.0.1:0", "--ttft-ms", "-1"],
        vec!["sim", "--port", "9000"],
        vec!["schema", "poem"],
        vec!["dance"],
    ];
    let mut said = String::new();
    for arguments in cases {
        let finished = run(&arguments);
        let code = finished.code.unwrap();
        said +=
            &format!("$ streamgauge {}\n{}exit {code}\n\n", arguments.join(" "), finished.stderr);
    }
    insta::assert_snapshot!("bad_arguments", said);
}

#[test]
fn a_variable_without_a_value_names_no_server() {
    for (value, said) in
        [("", "<--base-url <URL>|--simulate|--resume <RUNDIR>>"), ("host", "must begin with http")]
    {
        let finished = finish(streamgauge().arg("run").env("OPENAI_BASE_URL", value));
        assert_eq!(finished.code, Some(2));
        assert!(finished.stderr.contains(said), "{}", finished.stderr);
    }
}

#[test]
fn a_dry_run_prints_one_document_of_what_would_be_measured() {
    let dry = |more: &[&str]| -> Value {
        let args = ["run", "--simulate", "--dry-run", "--no-length-probes", "--format", "json"];
        let finished = run(args.iter().chain(more));
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        serde_json::from_str(&finished.stdout).unwrap()
    };
    let cell = |plan: &Value| plan["load"]["cell"].as_str().unwrap().to_owned();
    let cells = dry(&["--concurrency", "2,3"]);
    assert_eq!(cells.as_array().unwrap().iter().map(cell).collect::<Vec<_>>(), ["c2", "c3"]);
    let search = ["--search", "rate", "--search-from", "3", "--goodput", "ttft:9"];
    let probe = dry(&[&search[..], &["--arrival", "constant"]].concat());
    assert_eq!(cell(&probe), "r3");
    assert!(probe["load"]["shape"]["open_loop"]["arrivals"].get("constant").is_some(), "{probe}");
}

#[test]
fn schemas_are_printed() {
    for name in
        ["run-record", "comparison", "plan", "journal", "decision", "ledger", "qualification-file"]
    {
        let finished = run(["schema", name]);
        let schema: Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(run(["schema"]).stdout.lines().any(|known| known == name), "{name}");
    }
}
