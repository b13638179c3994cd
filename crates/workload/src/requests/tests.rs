//! Requests of both sources: bytes, digests, and which prompts may be equal.

use std::collections::{BTreeMap, HashSet};

use streamgauge_schema::Json;

use super::*;

const LINES: &str = concat!(
    "{\"id\":\"a\",\"prompt\":\"one\"}\n",
    "{\"id\":\"b\",\"prompt\":\"two\",\"max_tokens\":5}\n",
    "{\"id\":\"c\",\"messages\":[{\"role\":\"user\",\"content\":\"one\"}]}\n",
    "{\"id\":\"d\",\"prompt\":\"four\"}\n",
);

fn spec(prompts: Prompts, requests: u64, warmup: u64) -> RequestsSpec {
    RequestsSpec {
        dialect: Dialect::OpenaiChat,
        model: "m".to_owned(),
        settings: RequestSettings {
            max_tokens: 16,
            ignore_eos: false,
            temperature: Some(0.0),
            seed: None,
            header_names: Vec::new(),
            extra_body: BTreeMap::new(),
        },
        prompts,
        target_input_tokens: None,
        suite_version: Identifier::new("suite-v1").unwrap(),
        requests,
        warmup,
    }
}

fn from_file(lines: &str, reuse: Reuse, requests: u64, warmup: u64) -> Result<Requests, String> {
    let dataset = Dataset::parse(lines.as_bytes(), "data/d.jsonl").unwrap();
    Requests::new(spec(Prompts::Dataset { dataset, reuse }, requests, warmup))
        .map_err(|error| error.to_string())
}

fn synthetic(words: u64, seed: u64, requests: u64) -> Requests {
    let prompts = Prompts::Synthetic(SyntheticPrompts::new(words, seed).unwrap());
    Requests::new(spec(prompts, requests, 0)).unwrap()
}

/// The `messages` member of a body, as it stands there.
fn sent(request: &Request) -> String {
    let body: Json = serde_json::from_slice(&request.body).unwrap();
    serde_json::to_string(body.member("messages").unwrap()).unwrap()
}

#[test]
fn a_dataset_request_is_these_bytes() {
    let requests = from_file(LINES, Reuse::Refuse, 4, 0).unwrap();
    let request = requests.request(Stage::Measured, 1);
    assert_eq!(
        String::from_utf8(request.body).unwrap(),
        concat!(
            r#"{"model":"m","messages":[{"role":"user","content":"two"}],"stream":true,"#,
            r#""stream_options":{"include_usage":true},"max_tokens":5,"temperature":0.0}"#,
        )
    );
    assert_eq!((request.index, request.dataset_id.as_deref()), (1, Some("b")));
    let canonical = b"[\n  {\n    \"content\": \"two\",\n    \"role\": \"user\"\n  }\n]\n";
    assert_eq!(request.prompt_sha256, Digest::of(canonical));
}

#[test]
fn a_digest_is_that_of_the_messages_sent() {
    let sources = [
        synthetic(40, 3, 10),
        from_file(LINES, Reuse::Nonce, 10, 10).unwrap(),
        from_file(LINES, Reuse::Repeat, 10, 10).unwrap(),
    ];
    for requests in sources {
        for stage in [Stage::Measured, Stage::Warmup] {
            for index in [0, 9, u64::MAX] {
                let request = requests.request(stage, index);
                let messages: Json = serde_json::from_str(&sent(&request)).unwrap();
                assert_eq!(Digest::of_value(&messages).unwrap(), request.prompt_sha256);
                assert_eq!(requests.request(stage, index), request);
            }
        }
    }
}

#[test]
fn an_api_that_takes_a_prompt_refuses_messages() {
    let of = |lines: &str, dialect| {
        let dataset = Dataset::parse(lines.as_bytes(), "data/d.jsonl").unwrap();
        let prompts = Prompts::Dataset { dataset, reuse: Reuse::Nonce };
        Requests::new(RequestsSpec { dialect, ..spec(prompts, 2, 1) })
    };
    let texts = "{\"id\":\"a\",\"prompt\":\"one\"}\n";
    for (dialect, member) in [
        (Dialect::OllamaGenerate, "prompt"),
        (Dialect::OpenaiCompletions, "prompt"),
        (Dialect::SglangGenerate, "text"),
        (Dialect::TgiGenerate, "inputs"),
    ] {
        assert_eq!(
            of(LINES, dialect).unwrap_err().to_string(),
            format!("data/d.jsonl: line 3: has messages, and {dialect} takes a prompt")
        );
        let request = of(texts, dialect).unwrap().request(Stage::Measured, 0);
        let body: Json = serde_json::from_slice(&request.body).unwrap();
        let prompt = body.member(member).unwrap();
        assert_eq!(prompt.as_str(), Some("[a706dd2f4d197e6f]\none"));
        assert_eq!(Digest::of_value(prompt).unwrap(), request.prompt_sha256);
    }
    for dialect in [Dialect::AnthropicMessages, Dialect::OllamaChat, Dialect::OpenaiResponses] {
        assert!(of(LINES, dialect).is_ok(), "{dialect}");
    }
}

#[test]
fn prompts_that_differ_in_what_a_system_says_are_apart() {
    let line = |id: &str, system: &str| {
        format!(
            "{{\"id\":\"{id}\",\"messages\":[{{\"role\":\"system\",\"content\":\"{system}\"}},\
             {{\"role\":\"user\",\"content\":\"x\"}}]}}\n"
        )
    };
    let lines = [line("a", "one"), line("b", "two"), line("c", "one")].concat();
    let dataset = Dataset::parse(lines.as_bytes(), "d.jsonl").unwrap();
    for dialect in [Dialect::AnthropicMessages, Dialect::OpenaiChat] {
        let prompts = Prompts::Dataset { dataset: dataset.clone(), reuse: Reuse::Refuse };
        let requests = Requests::new(RequestsSpec { dialect, ..spec(prompts, 3, 0) }).unwrap();
        assert_eq!(requests.describe().repeated_prompts, 2, "{dialect}");
    }
}

#[test]
fn lines_are_used_again_only_when_asked_for() {
    // The third line's messages are what the first line's prompt becomes.
    let too_few = "data/d.jsonl: 5 requests are more than its 4 lines; ask for fewer, for a nonce \
                   before each prompt, or for repeated prompts";
    let cases = [
        (Reuse::Refuse, 2, Ok(0)),
        (Reuse::Refuse, 4, Ok(2)),
        (Reuse::Refuse, 5, Err(too_few.to_owned())),
        (Reuse::Repeat, 5, Ok(3)),
        (Reuse::Repeat, 8, Ok(8)),
        (Reuse::Nonce, 4, Ok(0)),
        (Reuse::Nonce, 100, Ok(0)),
    ];
    for (reuse, requests, expected) in cases {
        let repeated = from_file(LINES, reuse, requests, 0)
            .map(|requests| requests.describe().repeated_prompts);
        assert_eq!(repeated, expected, "{reuse:?} {requests}");
    }
}

#[test]
fn a_nonce_is_the_first_line_of_every_prompt() {
    let requests = from_file(LINES, Reuse::Nonce, 8, 0).unwrap();
    let first = sent(&requests.request(Stage::Measured, 0));
    assert_eq!(first, r#"[{"role":"user","content":"[a706dd2f4d197e6f]\none"}]"#);
    let again = sent(&requests.request(Stage::Measured, 4));
    assert_ne!(again, first);
    assert_eq!(again.split_once("\\n").unwrap().1, first.split_once("\\n").unwrap().1);
}

#[test]
fn a_nonce_needs_a_user_message() {
    let lines = "\n{\"id\":\"a\",\"messages\":[{\"role\":\"system\",\"content\":\"x\"}]}\n";
    let refused =
        "data/d.jsonl: line 2: messages have no user message with content to put a nonce into";
    let cases = [
        (Reuse::Refuse, 0, None),
        (Reuse::Repeat, 0, None),
        (Reuse::Nonce, 0, Some(refused.to_owned())),
        (Reuse::Refuse, 1, Some(refused.to_owned())),
    ];
    for (reuse, warmup, expected) in cases {
        assert_eq!(from_file(lines, reuse, 1, warmup).err(), expected, "{reuse:?} {warmup}");
    }
}

#[test]
fn warm_up_takes_spare_lines_and_then_nonces() {
    let requests = from_file(LINES, Reuse::Refuse, 2, 3).unwrap();
    // The third line equals the first, which is measured; the fourth is spare.
    let warmup: Vec<Request> = (0..3).map(|index| requests.request(Stage::Warmup, index)).collect();
    let ids: Vec<_> = warmup.iter().map(|request| request.dataset_id.as_deref()).collect();
    assert_eq!(ids, [Some("d"), Some("b"), Some("c")]);
    assert_eq!(sent(&warmup[0]), r#"[{"role":"user","content":"four"}]"#);
    assert!(sent(&warmup[1]).contains("]\\ntwo"));
}

#[test]
fn warm_up_and_measured_prompts_are_disjoint() {
    for reuse in [Reuse::Nonce, Reuse::Refuse, Reuse::Repeat] {
        for count in 1..=4 {
            let requests = from_file(LINES, reuse, count, 20).unwrap();
            let prompts = |stage, count| {
                (0..count)
                    .map(|index| requests.request(stage, index).prompt_sha256)
                    .collect::<HashSet<_>>()
            };
            let measured = prompts(Stage::Measured, count);
            assert!(prompts(Stage::Warmup, 20).is_disjoint(&measured), "{reuse:?} {count}");
        }
    }
}

#[test]
fn a_workload_is_described_by_its_digests() {
    let workload = from_file(LINES, Reuse::Repeat, 2, 1).unwrap().describe();
    let path = "data/d.jsonl".to_owned();
    let source = PromptSource::Dataset { path, records: 4, repeat: true, nonce: None };
    assert_eq!(workload.source, source);
    assert_eq!(workload.dataset_sha256, Digest::of(LINES.as_bytes()));
    let [one, two] = ["one", "two"].map(|text| {
        let canonical =
            format!("[\n  {{\n    \"content\": \"{text}\",\n    \"role\": \"user\"\n  }}\n]\n");
        Digest::of(canonical.as_bytes())
    });
    let suite = format!(
        "{{\n  \"dataset\": \"d.jsonl\",\n  \"dataset_version\": \"suite-v1\",\n  \"prompts\": \
         [\n    \"{one}\",\n    \"{two}\"\n  ]\n}}\n"
    );
    assert_eq!(workload.suite_sha256, Digest::of(suite.as_bytes()));

    let workload = synthetic(40, 3, 10).describe();
    let source = PromptSource::Synthetic { words: 40, seed: 3, prefix: None, nonce: None };
    assert_eq!(workload.source, source);
    let recipe = b"{\n  \"recipe\": \"seeded-words-v1\",\n  \"seed\": 3,\n  \"words\": 40\n}\n";
    assert_eq!(workload.dataset_sha256, Digest::of(recipe));
    assert_eq!(workload, synthetic(40, 3, 10).describe());
    for other in [synthetic(40, 4, 10), synthetic(41, 3, 10), synthetic(40, 3, 11)] {
        assert_ne!(other.describe().suite_sha256, workload.suite_sha256);
    }
}
