//! Help and bad arguments, word by word.

use serde_json::Value;

use crate::process::{finish, run, streamgauge};

#[test]
fn help() {
    const COMMANDS: [&str; 20] = [
        "",
        "calibrate",
        "compare",
        "completions",
        "decide",
        "demo",
        "determinism",
        "export",
        "grade",
        "import",
        "init",
        "observe",
        "qualify",
        "record",
        "report",
        "run",
        "schema",
        "sim",
        "turnover",
        "verify",
    ];
    for command in COMMANDS {
        let words = command.split_whitespace().chain(["--help"]);
        let finished = run(words);
        assert_eq!(finished.code, Some(0));
        let name = if command.is_empty() { "all" } else { command };
        insta::assert_snapshot!(format!("help_{name}"), finished.stdout);
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
    for (value, said) in [("", "<--base-url <URL>|--simulate>"), ("host", "must begin with http")] {
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
