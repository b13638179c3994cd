//! Servers that answer well and say the wrong things: no usage, a count that is none, another model.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use streamgauge_schema::{ProbeFault, SearchReport, digest_bytes, read_typed};
use streamgauge_sim::{RawServer, RawStep};
use tokio::runtime::Runtime;

use crate::process::{Finished, run};

/// A chat completion of two tokens by `model`, with a last event that holds `usage`.
fn answer(model: &str, usage: &str) -> Vec<RawStep> {
    let event = |choices: &str, usage: &str| {
        format!("data: {{\"model\":\"{model}\",\"choices\":[{choices}],\"usage\":{usage}}}\n\n")
    };
    let outputs = ["a", "b"].map(|text| {
        let choice = format!("{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}");
        RawStep::Write(event(&choice, "null").into_bytes())
    });
    let end = event("{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}", "null");
    let end = format!("{end}{}data: [DONE]\n\n", event("", usage));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let steps = [RawStep::Write(head.into())].into_iter().chain(outputs);
    steps.chain([RawStep::Write(end.into_bytes())]).collect()
}

/// Runs `run` against a server that gives the same answer to everybody.
fn against(script: Vec<RawStep>, out: &Path, more: &[&str]) -> Finished {
    asked(script, out, more).0
}

/// The same, and what the server was sent.
fn asked(script: Vec<RawStep>, out: &Path, more: &[&str]) -> (Finished, Vec<Vec<u8>>) {
    asked_of_any(script, out, &[&["--model", "m"], more].concat())
}

/// The same, without a model.
fn asked_of_any(script: Vec<RawStep>, out: &Path, more: &[&str]) -> (Finished, Vec<Vec<u8>>) {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(RawServer::start(script)).unwrap();
    let url = format!("http://{}", server.addr());
    let out = out.to_str().unwrap();
    let args = ["run", "--base-url", &url, "--requests", "2", "--out", out];
    (run(args.iter().chain(more)), server.requests())
}

#[test]
fn a_count_that_tells_no_lengths_is_said_as_what_it_is() {
    for (usage, said) in [
        ("null", "note: the server reports no usage.prompt_tokens; "),
        (
            r#"{"prompt_tokens":0,"completion_tokens":2}"#,
            "note: the server reports usage.prompt_tokens of 0; ",
        ),
        (
            r#"{"prompt_tokens":7,"completion_tokens":2}"#,
            "note: the server's usage.prompt_tokens does not grow with the prompt as a count of its \
             tokens does (words: tokens reported: 202: 7, 202: 7, 384: 7, 384: 7); ",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let finished = against(answer("m", usage), folder.path(), &[]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let guess = "so prompts get three words for four tokens, which is a guess\n";
        assert_eq!(finished.stderr, format!("{said}{guess}"));
    }
}

#[test]
fn a_goal_that_no_answer_can_keep_is_warned_of_and_ends_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let goal = ["--goodput", "tpot:1000", "e2e:60000", "--no-length-probes"];
    let warning = "the server reports no output tokens (usage), so that no request has a TPOT";
    for usage in ["null", r#"{"prompt_tokens":512,"completion_tokens":0}"#] {
        let out = folder.path().join(usage.len().to_string());
        let finished = against(answer("m", usage), &out, &goal);
        assert_eq!(finished.stderr.matches(warning).count(), 1, "{}", finished.stderr);

        let out = out.join("search");
        let search = [&goal[..], &["--search", "concurrency"]].concat();
        let finished = against(answer("m", usage), &out, &search);
        assert_eq!(finished.code, Some(3), "{}", finished.stderr);
        assert!(finished.stderr.contains(warning), "{}", finished.stderr);
        let report = report(&out);
        let [probe] = &report.probes[..] else { panic!("{report:?}") };
        assert_eq!((probe.reason, probe.without_value), (Some(ProbeFault::NoValues), 2));
        assert!(!report.complete && !probe.held, "{report:?}");
    }
    // Nothing is missing for the other goal, and nothing where tokens are counted.
    for (usage, goal) in
        [("null", "e2e:60000"), (r#"{"prompt_tokens":512,"completion_tokens":2}"#, "tpot:1000")]
    {
        let out = folder.path().join("held").join(goal.replace(':', "-"));
        let more = ["--goodput", goal, "--no-length-probes"];
        let finished = against(answer("m", usage), &out, &more);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn a_model_that_was_not_expected_is_warned_of_in_runs_and_searches() {
    let usage = r#"{"prompt_tokens":512,"completion_tokens":2}"#;
    let folder = tempfile::tempdir().unwrap();
    let search = ["--search", "concurrency", "--search-to", "2", "--goodput", "e2e:60000"];
    for (model, more, warned) in
        [("m", &[][..], false), ("other", &["--expect-model", "other"], false), ("n", &[], true)]
    {
        let warning = format!("{model} answered, and m was expected (--expect-model)");
        let more = [&["--no-length-probes"], more].concat();
        let out = folder.path().join(model);
        let finished = against(answer(model, usage), &out, &more);
        assert_eq!(finished.stderr.contains(&warning), warned, "{}", finished.stderr);

        let out = out.join("search");
        let finished = against(answer(model, usage), &out, &[&more[..], &search].concat());
        assert_eq!(finished.stderr.contains(&warning), warned, "{}", finished.stderr);
        let named: Vec<u64> = report(&out).probes.iter().map(|probe| probe.other_model).collect();
        assert_eq!(named, if warned { [2, 2] } else { [0, 0] });
        assert_eq!(finished.prose().contains("named another model"), warned, "{}", finished.stdout);
    }
}

/// sgl-project/sglang#12389, LMCache/LMCache#3220, vllm-project/tpu-inference#3447: tokens are billed and
/// none is to be seen. Such a request is no success, its times are missing and not 0, and the run does
/// not end well.
#[test]
fn a_server_that_bills_tokens_and_says_nothing_ends_a_run_badly() {
    let event = |choices: &str, usage: &str| {
        format!("data: {{\"model\":\"m\",\"choices\":[{choices}],\"usage\":{usage}}}\n\n")
    };
    let body = [
        event(r#"{"index":0,"delta":{"role":"assistant","content":""}}"#, "null"),
        event(r#"{"index":0,"delta":{},"finish_reason":"stop"}"#, "null"),
        event("", r#"{"prompt_tokens":512,"completion_tokens":1000}"#),
        "data: [DONE]\n\n".to_owned(),
    ];
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let script = vec![RawStep::Write([head, &body.concat()].concat().into_bytes())];
    let folder = tempfile::tempdir().unwrap();
    let more = ["--no-length-probes", "--format", "json"];
    let finished = against(script, folder.path(), &more);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    let record: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!((&record["load"]["failed"], &record["load"]["succeeded"]), (&2.into(), &0.into()));
    let metric = |id: &str| {
        let metrics = record["metrics"].as_array().unwrap();
        metrics.iter().find(|metric| metric["id"] == id).unwrap()["value"].clone()
    };
    assert!(metric("ttft_p50_ms").is_null() && metric("first_generated_median_ms").is_null());
    assert_eq!(metric("completion_throughput_tps"), 0.0);
}

/// The report that a search left, which is read back strictly, to the byte.
fn report(out: &Path) -> SearchReport {
    let paths = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let bytes = fs::read(paths.into_iter().find(|path| path.is_file()).unwrap()).unwrap();
    let report: SearchReport = read_typed(&bytes).unwrap();
    assert_eq!(digest_bytes(&report).unwrap(), bytes);
    report
}

#[test]
fn searches_of_the_same_second_each_leave_a_report() {
    let usage = r#"{"prompt_tokens":512,"completion_tokens":2}"#;
    let folder = tempfile::tempdir().unwrap();
    let search = ["--search", "concurrency", "--search-to", "1", "--goodput", "e2e:60000"];
    let more = [&search[..], &["--no-length-probes"]].concat();
    for _ in 0..3 {
        let finished = against(answer("m", usage), folder.path(), &more);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    }
    let paths = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(paths.filter(|path| path.is_file()).count(), 3);
}

#[test]
fn a_warmup_has_prefixes_of_its_own_unless_they_are_declared_warm() {
    let usage = r#"{"prompt_tokens":512,"completion_tokens":2}"#;
    let folder = tempfile::tempdir().unwrap();
    for (cache_state, are_shared) in [
        ("", false),
        ("cache_state = \"cold_engine\"", false),
        ("cache_state = \"warm_engine_shared_prefixes\"", true),
    ] {
        let file = folder.path().join("deployment.toml");
        fs::write(&file, cache_state).unwrap();
        let out = folder.path().join(cache_state.len().to_string());
        let prefix = ["--prefix-tokens", "128", "--warmup", "2", "--no-length-probes"];
        let more = [&prefix[..], &["--deployment", file.to_str().unwrap()]].concat();
        let (finished, requests) = asked(answer("m", usage), &out, &more);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let beginnings = |stage: &str| -> BTreeSet<String> {
            let texts = requests.iter().map(|bytes| String::from_utf8_lossy(bytes));
            let sent = texts.filter(|text| text.contains(&format!("x-request-id: {stage}-")));
            sent.map(|text| text.split_once("\"content\":\"").unwrap().1[..200].to_owned())
                .collect()
        };
        let (warmup, measured) = (beginnings("warmup"), beginnings("measured"));
        assert_eq!((warmup.len(), measured.len()), (1, 1));
        assert_eq!(warmup == measured, are_shared, "{cache_state}");
    }
}

/// Clears the screen, sets the title of the window: as JSON escapes it, and as it is.
const STEERING: &str = r"\u001b[2J\u001b]0;owned\u0007";

#[test]
fn nothing_that_a_server_says_steers_the_terminal() {
    let usage = r#"{"prompt_tokens":512,"completion_tokens":2}"#;
    let json = |status: &str, body: &str| {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n"
        );
        vec![RawStep::Write([head.as_str(), body].concat().into_bytes())]
    };
    let raw = STEERING.replace(r"\u001b", "\u{1b}").replace(r"\u0007", "\u{7}");
    let error = format!("{{\"error\":{{\"message\":\"no {STEERING}\"}}}}");
    let models = format!("{{\"data\":[{{\"id\":\"a{STEERING}\"}},{{\"id\":\"b\"}}]}}");
    let stop = format!("\"stop{STEERING}\"");
    let events = |bytes: &RawStep| match bytes {
        RawStep::Write(bytes) => {
            RawStep::Write(String::from_utf8_lossy(bytes).replace("\"stop\"", &stop).into_bytes())
        }
        other => other.clone(),
    };
    let finish: Vec<RawStep> = answer("m", usage).iter().map(events).collect();
    for (script, args) in [
        (answer(&format!("n{STEERING}"), usage), &["--model", "m"][..]),
        (finish, &["--model", "m"]),
        (json("500 Sorry", &error), &["--model", "m"]),
        (json("500 Sorry", &raw), &["--model", "m"]),
        (json("403 No", &error), &["--model", "m"]),
        (json("200 OK", &raw), &["--model", "m"]),
        (json("200 OK", &models), &[]),
        (json("500 Sorry", &error), &[]),
        (json(&format!("500 {raw}"), &raw), &[]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let finished = asked_of_any(script.clone(), folder.path(), args).0;
        for shown in [&finished.stdout, &finished.stderr] {
            let steers = |character: char| character.is_control() && character != '\n';
            assert!(!shown.contains(steers), "{script:?}: {shown:?}");
        }
    }
}

/// Answers everybody with this status.
fn status(status: &str) -> Vec<RawStep> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\
         connection: close\r\n\r\nsorry"
    );
    vec![RawStep::Write(head.into_bytes())]
}

#[test]
fn a_server_that_refuses_every_prompt_to_be_counted_ends_the_run_before_it_begins() {
    for (refusal, advice) in [
        ("401 Unauthorized", "--api-key-env"),
        ("403 Forbidden", "--api-key-env"),
        ("404 Not Found", "--endpoint-path"),
        ("405 Method Not Allowed", "--api"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let finished = against(status(refusal), folder.path(), &[]);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(4), ""), "{refusal}");
        let said = format!(
            "every request that was to count a prompt was refused: status {}",
            &refusal[..3]
        );
        assert!(finished.stderr.contains(&said), "{}", finished.stderr);
        assert!(finished.stderr.contains(advice), "{}", finished.stderr);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    // A server that is only busy may not be, once the run begins.
    let folder = tempfile::tempdir().unwrap();
    let finished = against(status("503 Service Unavailable"), folder.path(), &[]);
    assert_eq!(finished.code, Some(4));
    let mut lines = finished.stdout.lines();
    assert_eq!(lines.next(), Some("m, cell c1: NOTHING SUCCEEDED of 2 requests"));
    let failure = lines.nth(1).unwrap();
    assert!(failure.starts_with("2 × http_status, for example: status 503"), "{failure}");
    assert!(!finished.stdout.contains("95 % interval"), "{}", finished.stdout);
}
