//! Each API as its server sees it: the request that comes, and a run that its answers make.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use streamgauge_sim::{RawServer, RawStep};

use crate::process::{only_run, quick, run, server, streamgauge};

/// An API and a server's answer of two tokens in it.
struct Api {
    name: &'static str,
    request_line: &'static str,
    body: &'static str,
    content_type: &'static str,
    answer: &'static str,
}

const SSE: &str = "text/event-stream";
const NDJSON: &str = "application/x-ndjson";

const APIS: [Api; 8] = [
    Api {
        name: "anthropic-messages",
        request_line: "POST /v1/messages HTTP/1.1\r\n",
        body: r#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,"max_tokens":4,"temperature":0.0}"#,
        content_type: SSE,
        answer: concat!(
            r#"data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":3,"output_tokens":1}}}"#,
            "\n\n",
            r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}"#,
            "\n\n",
            r#"data: {"type":"content_block_stop","index":0}"#,
            "\n\n",
            r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
            "\n\n",
            r#"data: {"type":"message_stop"}"#,
            "\n\n",
        ),
    },
    Api {
        name: "ollama-chat",
        request_line: "POST /api/chat HTTP/1.1\r\n",
        body: r#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,"options":{"num_predict":4,"temperature":0.0}}"#,
        content_type: NDJSON,
        answer: concat!(
            r#"{"model":"m","message":{"role":"assistant","content":"a"},"done":false}"#,
            "\n",
            r#"{"model":"m","message":{"role":"assistant","content":"b"},"done":false}"#,
            "\n",
            r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}"#,
            "\n",
        ),
    },
    Api {
        name: "ollama-generate",
        request_line: "POST /api/generate HTTP/1.1\r\n",
        body: r#"{"model":"m","prompt":"Hi","stream":true,"options":{"num_predict":4,"temperature":0.0}}"#,
        content_type: NDJSON,
        answer: concat!(
            r#"{"model":"m","response":"a","done":false}"#,
            "\n",
            r#"{"model":"m","response":"b","done":false}"#,
            "\n",
            r#"{"model":"m","response":"","done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}"#,
            "\n",
        ),
    },
    Api {
        name: "openai-chat",
        request_line: "POST /v1/chat/completions HTTP/1.1\r\n",
        body: r#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":4,"temperature":0.0}"#,
        content_type: SSE,
        answer: concat!(
            r#"data: {"model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}"#,
            "\n\n",
            r#"data: {"model":"m","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}"#,
            "\n\n",
            r#"data: {"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
            "\n\ndata: [DONE]\n\n",
        ),
    },
    Api {
        name: "openai-completions",
        request_line: "POST /v1/completions HTTP/1.1\r\n",
        body: r#"{"model":"m","prompt":"Hi","stream":true,"stream_options":{"include_usage":true},"max_tokens":4,"temperature":0.0}"#,
        content_type: SSE,
        answer: concat!(
            r#"data: {"model":"m","choices":[{"index":0,"text":"a"}]}"#,
            "\n\n",
            r#"data: {"model":"m","choices":[{"index":0,"text":"b","finish_reason":"stop"}]}"#,
            "\n\n",
            r#"data: {"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
            "\n\ndata: [DONE]\n\n",
        ),
    },
    Api {
        name: "openai-responses",
        request_line: "POST /v1/responses HTTP/1.1\r\n",
        body: r#"{"model":"m","input":"Hi","stream":true,"max_output_tokens":4,"temperature":0.0}"#,
        content_type: SSE,
        answer: concat!(
            r#"data: {"type":"response.created","response":{"model":"m"}}"#,
            "\n\n",
            r#"data: {"type":"response.output_text.delta","delta":"a"}"#,
            "\n\n",
            r#"data: {"type":"response.output_text.delta","delta":"b"}"#,
            "\n\n",
            r#"data: {"type":"response.completed","response":{"model":"m","status":"completed","usage":{"input_tokens":3,"output_tokens":2}}}"#,
            "\n\n",
        ),
    },
    Api {
        name: "sglang-generate",
        request_line: "POST /generate HTTP/1.1\r\n",
        body: r#"{"text":"Hi","stream":true,"sampling_params":{"max_new_tokens":4,"temperature":0.0}}"#,
        content_type: SSE,
        answer: concat!(
            r#"data: {"text":"a","meta_info":{"finish_reason":null,"prompt_tokens":3,"completion_tokens":1}}"#,
            "\n\n",
            r#"data: {"text":"ab","meta_info":{"finish_reason":{"type":"stop"},"prompt_tokens":3,"completion_tokens":2}}"#,
            "\n\ndata: [DONE]\n\n",
        ),
    },
    Api {
        name: "tgi-generate",
        request_line: "POST /generate_stream HTTP/1.1\r\n",
        body: r#"{"inputs":"Hi","parameters":{"max_new_tokens":4,"details":true,"do_sample":false}}"#,
        content_type: SSE,
        answer: concat!(
            r#"data: {"index":1,"token":{"text":"a","special":false},"generated_text":null,"details":null}"#,
            "\n\n",
            r#"data: {"index":2,"token":{"text":"b","special":false},"generated_text":"ab","details":{"finish_reason":"eos_token","generated_tokens":2}}"#,
            "\n\n",
        ),
    },
];

fn response(status: &str, content_type: &str, body: &str) -> Vec<RawStep> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    vec![RawStep::Write((head + body).into_bytes()), RawStep::Close]
}

/// Runs a command against a server that plays these scripts, and returns what it was sent.
fn against(scripts: Vec<Vec<RawStep>>, mut command: Command) -> (Output, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = RawServer::start_scripts(scripts).await.unwrap();
        command.arg("--base-url").arg(format!("http://{}", server.addr()));
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let requests = server.requests().into_iter().map(|bytes| String::from_utf8(bytes).unwrap());
        (output, requests.collect())
    })
}

#[test]
fn each_api_is_driven() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("d.jsonl");
    fs::write(&dataset, "{\"id\":\"a\",\"prompt\":\"Hi\"}\n").unwrap();
    for api in &APIS {
        // Not every such server lists its models when it is asked which to take.
        let unknown = || response("404 Not Found", "text/plain", "no such path");
        let version = response("200 OK", "application/json", r#"{"version":"0.32.0"}"#);
        let listed = || response("200 OK", "application/json", r#"{"data":[{"id":"m"}]}"#);
        let answer = response("200 OK", api.content_type, api.answer);
        let names_model = !matches!(api.name, "sglang-generate" | "tgi-generate");
        // Its models, and five places where servers tell what they are.
        let met = vec![unknown(), version, unknown(), unknown(), unknown(), unknown()];
        let asked = match names_model {
            true => vec![answer],
            false => vec![listed(), answer, listed()],
        };
        let scripts = [met, asked].concat();
        let out = folder.path().join(api.name);
        let mut command = streamgauge();
        command
            .args(["run", "--api", api.name, "--model", "m", "--requests", "1"])
            .args(["--output-tokens", "4", "--api-key-env", "STREAMGAUGE_TEST_KEY", "--dataset"])
            .args([dataset.as_path(), "--out".as_ref(), out.as_path()])
            .env("STREAMGAUGE_TEST_KEY", "key-1234");
        let (output, requests) = against(scripts, command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{}: {said}", api.name);

        let is_post = |request: &&String| request.starts_with("POST");
        let [request] = requests.iter().filter(is_post).collect::<Vec<_>>()[..] else {
            panic!("{requests:?}")
        };
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(api.request_line), "{head}");
        assert_eq!(body, api.body);
        let is_anthropic = api.name == "anthropic-messages";
        for request in &requests {
            let has = |header| request.contains(&format!("\r\n{header}\r\n"));
            assert_eq!(has("anthropic-version: 2023-06-01"), is_anthropic, "{request}");
            assert_eq!(has("x-api-key: key-1234"), is_anthropic, "{request}");
            assert_eq!(has("authorization: Bearer key-1234"), !is_anthropic, "{request}");
        }

        let record = fs::read(only_run(&out).join("record.json")).unwrap();
        let record: Value = serde_json::from_slice(&record).unwrap();
        let told = |label: &str| {
            let mut conditions = record["conditions"].as_array().unwrap().iter();
            conditions.find(|it| it["label"] == label).map(|it| it["value"].as_str().unwrap())
        };
        assert_eq!(told("Models listed by the server"), Some("absent"));
        assert_eq!(told("Version stated by the server"), Some("0.32.0"));
        assert!(told("Server's account of itself").is_some());
        assert!(told("Instrument system").is_some_and(|system| system.contains("Linux")));
        let journal = fs::read_to_string(only_run(&out).join("observations.jsonl")).unwrap();
        let lines: Vec<Value> =
            journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [header, line, trailer] = &lines[..] else { panic!("{journal}") };
        for listed in [&header["header"]["listed_models"], &trailer["trailer"]["listed_models"]] {
            let expected = if names_model { Value::Null } else { serde_json::json!(["m"]) };
            assert_eq!(listed, &expected, "{}", api.name);
        }
        let observation = &line["request"]["observation"];
        assert_eq!(observation["dialect"], api.name);
        assert_eq!(observation["ending"], "complete", "{}", api.name);
        assert_eq!(observation["output_events"], 2, "{}", api.name);
        assert_eq!(observation["usage"]["completion_tokens"], 2, "{}", api.name);
    }
}

#[test]
fn what_an_api_cannot_say_is_refused_before_anything_is_sent() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("d.jsonl");
    let messages = "{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}\n";
    fs::write(&dataset, format!("\n{messages}")).unwrap();
    let dataset = dataset.to_str().unwrap();
    let no_member = |flag: &str, api: &str, setting: &str| {
        format!(
            "error: {flag}: a request of {api} has no {setting}; leave it out, or put the \
             server's own name for it into the extra body\n"
        )
    };
    let cases = [
        (
            vec!["--api", "anthropic-messages", "--seed", "1"],
            no_member("--seed", "anthropic-messages", "seed"),
        ),
        (
            vec!["--api", "tgi-generate", "--ignore-eos"],
            no_member("--ignore-eos", "tgi-generate", "ignore_eos"),
        ),
        (
            vec!["--api", "openai-completions", "--dataset", dataset, "--requests", "1"],
            format!(
                "error: {dataset}: line 2: has messages, and openai-completions takes a prompt\n"
            ),
        ),
    ];
    for (more, expected) in cases {
        let finished = run(["run", "--base-url", &url, "--dry-run"].iter().chain(&more));
        assert_eq!((finished.code, finished.stderr), (Some(2), expected));
    }
}

#[test]
fn a_dry_run_shows_path_and_body() {
    let (_server, url) = server(quick());
    for api in &APIS {
        let dry = ["run", "--base-url", &url, "--dry-run", "--api", api.name];
        let finished = run(dry.iter().chain(&["--temperature", "none", "--no-length-probes"]));
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let plan: Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(plan["target"]["dialect"], api.name);
        let path = plan["target"]["endpoint_path"].as_str().unwrap();
        assert!(api.request_line.contains(&format!(" {path} ")));
        assert_eq!(plan["request"]["temperature"], Value::Null);
        let mut said = finished.stderr.lines();
        assert_eq!(said.next(), Some(format!("first request to {url}, path {path}:").as_str()));
        let body = said.next().unwrap();
        let contacted = said.collect::<Vec<_>>().join("\n");
        assert_eq!(
            contacted,
            format!(
                "nothing was sent but questions for models and version; a run would contact {url}:\n\
                 - 64 requests of cell c1\nIt would write below runs."
            )
        );
        let body: Value = serde_json::from_str(body).unwrap();
        assert!(!body.to_string().contains("temperature"), "{body}");
    }
}

#[test]
fn the_address_may_end_in_v1_whatever_the_api() {
    let (_server, url) = server(quick());
    let with_v1 = format!("{url}/v1/");
    let cases: [(&[&str], &str); 4] = [
        (&[], "/v1, path /v1/chat/completions:"),
        (&["--api", "openai-responses"], "/v1, path /v1/responses:"),
        (&["--api", "ollama-chat"], ", path /api/chat:"),
        (&["--api", "ollama-chat", "--endpoint-path", "/chat"], "/v1, path /v1/chat:"),
    ];
    for (more, expected) in cases {
        let finished = run(["run", "--base-url", &with_v1, "--dry-run"].iter().chain(more));
        let said = finished.stderr.lines().next().unwrap_or_default();
        assert_eq!(said, format!("first request to {url}{expected}"));
    }
}
