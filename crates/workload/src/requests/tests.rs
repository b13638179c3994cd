//! Requests of both sources: bytes, digests, and which prompts may be equal.

use std::collections::{BTreeMap, HashSet};

use streamgauge_schema::{
    Digest, Json, LengthBasis, LengthProbe, OutputPolicy, PromptSource, SharedPrefix,
};

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
        lengths: Lengths::assumed(),
        suite_version: Identifier::new("suite-v1").unwrap(),
        requests,
        repetitions: 1,
        warmup,
    }
}

/// How lines serve again, and the seed of their nonces.
type Use = (Reuse, Option<u64>);

const REFUSE: Use = (Reuse::Refuse, None);
const REPEAT: Use = (Reuse::Repeat, None);
const NONCE: Use = (Reuse::Refuse, Some(0));

fn lines_of(lines: &str, (reuse, nonce): Use) -> Prompts {
    let dataset = Dataset::parse(lines.as_bytes(), "data/d.jsonl").unwrap();
    Prompts::Dataset { dataset, reuse, nonce }
}

fn from_file(lines: &str, used: Use, requests: u64, warmup: u64) -> Result<Requests, String> {
    Requests::new(spec(lines_of(lines, used), requests, warmup)).map_err(|error| error.to_string())
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
fn the_lines_that_are_asked_have_the_digests_that_are_sent() {
    for (used, requests) in [(REFUSE, 3), (REPEAT, 7), (NONCE, 7)] {
        let requests_of = from_file(LINES, used, requests, 0).unwrap();
        let asked: Vec<_> =
            requests_of.asked().map(|(digest, line)| (digest, Some(line.id.clone()))).collect();
        let sent = (0..requests).map(|index| requests_of.request(Stage::Measured, index));
        let sent: Vec<_> = sent.map(|it| (it.prompt_sha256, it.dataset_id)).collect();
        assert_eq!(asked, sent, "{used:?}");
    }
    assert_eq!(synthetic(40, 0, 3).asked().count(), 0);
}

#[test]
fn a_prompt_that_is_asked_several_times_is_the_same_each_time() {
    let of_words = Prompts::Synthetic(SyntheticPrompts::new(40, 3).unwrap().with_nonce(9));
    for prompts in [lines_of(LINES, REFUSE), lines_of(LINES, NONCE), of_words] {
        let asked_once = Requests::new(spec(prompts.clone(), 4, 2)).unwrap();
        let times = RequestsSpec { repetitions: 3, requests: 12, ..spec(prompts, 12, 2) };
        let asked = Requests::new(times).unwrap();
        let body = |requests: &Requests, index| requests.request(Stage::Measured, index).body;
        let once: Vec<_> = (0..4).map(|index| body(&asked_once, index)).collect();
        let bodies: Vec<_> = (0..12).map(|index| body(&asked, index)).collect();
        assert_eq!(bodies[..4], once);
        for round in bodies.chunks(4) {
            assert_eq!(round.iter().collect::<HashSet<_>>(), once.iter().collect());
        }
        assert_eq!(asked.request(Stage::Measured, 11).index, 11);
        let sent = (0..12).map(|index| asked.request(Stage::Measured, index).prompt_sha256);
        assert!(asked.asked().count() == 0 || asked.asked().map(|it| it.0).eq(sent));
        let warmup = |requests: &Requests| requests.request(Stage::Warmup, 1).body;
        assert_eq!(warmup(&asked), warmup(&asked_once), "a warm-up asks nothing that is measured");
        let (described, once) = (asked.describe(), asked_once.describe());
        assert_eq!((described.repetitions, described.repeated_prompts), (Some(3), 12));
        assert_eq!(once.repetitions, None);
        assert_eq!(described.suite_sha256, once.suite_sha256);
    }
    let too_many = RequestsSpec { repetitions: 2, ..spec(lines_of(LINES, REFUSE), 10, 0) };
    let error = Requests::new(too_many).unwrap_err().to_string();
    assert!(error.contains(" 5 "), "five prompts of four lines: {error}");
}

#[test]
fn a_dataset_request_is_these_bytes() {
    let requests = from_file(LINES, REFUSE, 4, 0).unwrap();
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
        from_file(LINES, NONCE, 10, 10).unwrap(),
        from_file(LINES, REPEAT, 10, 10).unwrap(),
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
        Requests::new(RequestsSpec { dialect, ..spec(lines_of(lines, NONCE), 2, 1) })
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
    for dialect in [Dialect::AnthropicMessages, Dialect::OpenaiChat] {
        let prompts = lines_of(&lines, REFUSE);
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
        (REFUSE, 2, Ok(0)),
        (REFUSE, 4, Ok(2)),
        (REFUSE, 5, Err(too_few.to_owned())),
        (REPEAT, 5, Ok(3)),
        (REPEAT, 8, Ok(8)),
        (NONCE, 4, Ok(0)),
        (NONCE, 100, Ok(0)),
    ];
    for (used, requests, expected) in cases {
        let repeated = from_file(LINES, used, requests, 0)
            .map(|requests| requests.describe().repeated_prompts);
        assert_eq!(repeated, expected, "{used:?} {requests}");
    }
}

#[test]
fn a_nonce_is_the_first_line_of_every_prompt() {
    let requests = from_file(LINES, NONCE, 8, 0).unwrap();
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
        (REFUSE, 0, None),
        (REPEAT, 0, None),
        (NONCE, 0, Some(refused.to_owned())),
        (REFUSE, 1, Some(refused.to_owned())),
    ];
    for (used, warmup, expected) in cases {
        assert_eq!(from_file(lines, used, 1, warmup).err(), expected, "{used:?} {warmup}");
    }
}

#[test]
fn warm_up_takes_spare_lines_and_then_nonces() {
    let requests = from_file(LINES, REFUSE, 2, 3).unwrap();
    // The third line equals the first, which is measured; the fourth is spare.
    let warmup: Vec<Request> = (0..3).map(|index| requests.request(Stage::Warmup, index)).collect();
    let ids: Vec<_> = warmup.iter().map(|request| request.dataset_id.as_deref()).collect();
    assert_eq!(ids, [Some("d"), Some("b"), Some("c")]);
    assert_eq!(sent(&warmup[0]), r#"[{"role":"user","content":"four"}]"#);
    assert!(sent(&warmup[1]).contains("]\\ntwo"));
}

#[test]
fn warm_up_and_measured_lines_are_disjoint() {
    for used in [NONCE, REFUSE, REPEAT] {
        for count in 1..=4 {
            let requests = from_file(LINES, used, count, 20).unwrap();
            let prompts = |stage, count| {
                (0..count)
                    .map(|index| requests.request(stage, index).prompt_sha256)
                    .collect::<HashSet<_>>()
            };
            let measured = prompts(Stage::Measured, count);
            assert!(prompts(Stage::Warmup, 20).is_disjoint(&measured), "{used:?} {count}");
        }
    }
}

/// Requests of every source, with as many measured ones as lines or more.
fn every_source() -> Vec<Requests> {
    let prefix = SharedPrefix { words: 12, count: 3 };
    let words = |words| SyntheticPrompts::new(words, 3).unwrap();
    let synthetic = [
        words(40),
        words(40).with_nonce(9),
        words(40).with_prefix(prefix).unwrap(),
        words(40).with_prefix(prefix).unwrap().with_nonce(9),
    ];
    let from_synthetic =
        synthetic.map(|prompts| Requests::new(spec(Prompts::Synthetic(prompts), 9, 20)).unwrap());
    let trace = "{\"id\":\"a\",\"input_tokens\":40,\"at_ms\":0}\n\
                 {\"id\":\"b\",\"input_tokens\":40,\"at_ms\":1.5}\n";
    let conversations = "[{\"id\":1,\"conversations\":[{\"from\":\"human\",\"value\":\"a\"}]},\n\
                         {\"id\":2,\"conversations\":[{\"from\":\"human\",\"value\":\"b\"}]}]";
    let mut sources = from_synthetic.to_vec();
    for file in [LINES, trace, conversations] {
        for used in [NONCE, REPEAT, (Reuse::Repeat, Some(7))] {
            sources.extend([1, 2, 9].map(|count| from_file(file, used, count, 20).unwrap()));
        }
    }
    sources
}

fn digests(requests: &Requests, stage: Stage, count: u64) -> Vec<Digest> {
    (0..count).map(|index| requests.request(stage, index).prompt_sha256).collect()
}

/// sgl-project/sglang#13934, LMCache/LMBenchmark#35: a warm-up that replays what is measured.
#[test]
fn no_warm_up_prompt_is_a_measured_one_whatever_the_source() {
    for requests in every_source() {
        let measured: HashSet<_> =
            digests(&requests, Stage::Measured, requests.spec.requests).into_iter().collect();
        let warmup = digests(&requests, Stage::Warmup, requests.spec.warmup);
        assert!(warmup.iter().all(|digest| !measured.contains(digest)), "{:?}", requests.spec);
    }
}

#[test]
fn a_warm_up_that_would_be_measured_is_refused() {
    // The second line is what the first becomes as a warm-up request with a nonce.
    let marked = from_file(LINES, REFUSE, 4, 1).unwrap().request(Stage::Warmup, 0);
    let text = sent(&marked).replace(r#"[{"role":"user","content":""#, "").replace(r#""}]"#, "");
    let lines =
        format!("{{\"id\":\"a\",\"prompt\":\"one\"}}\n{{\"id\":\"b\",\"prompt\":\"{text}\"}}\n");
    let refused = "data/d.jsonl: line 1: with the nonce of a warm-up request it is the prompt of \
                   another line";
    assert_eq!(from_file(&lines, REFUSE, 2, 1).unwrap_err(), refused);
    assert!(from_file(&lines, REFUSE, 2, 0).is_ok());
}

/// vllm-project/vllm#54227: a fixed seed made later runs hit the prefix cache.
#[test]
fn runs_of_different_nonces_share_no_beginning_and_have_one_suite() {
    let prefix = SharedPrefix { words: 12, count: 3 };
    let words = SyntheticPrompts::new(40, 3).unwrap();
    let with_prefix = words.with_prefix(prefix).unwrap();
    let of = |prompts| Requests::new(spec(prompts, 9, 3)).unwrap();
    let nonces = [1, 2, u64::MAX];
    let arms: [[Requests; 3]; 3] = [
        nonces.map(|nonce| of(Prompts::Synthetic(words.with_nonce(nonce)))),
        nonces.map(|nonce| of(Prompts::Synthetic(with_prefix.with_nonce(nonce)))),
        nonces.map(|nonce| of(lines_of(LINES, (Reuse::Refuse, Some(nonce))))),
    ];
    let bare = [
        of(Prompts::Synthetic(words)),
        of(Prompts::Synthetic(with_prefix)),
        of(lines_of(LINES, REPEAT)),
    ];
    for (arms, bare) in arms.into_iter().zip(bare) {
        let mut lines = HashSet::new();
        for arm in &arms {
            let first_line = |stage, index| {
                let content = sent(&arm.request(stage, index));
                content.split_once("\\n").unwrap().0.to_owned()
            };
            let of_this: HashSet<_> = (0..9)
                .map(|index| first_line(Stage::Measured, index))
                .chain((0..3).map(|index| first_line(Stage::Warmup, index)))
                .collect();
            assert!(of_this.iter().all(|line| lines.insert(line.clone())));
            let described = arm.describe();
            assert_eq!(described.suite_sha256, bare.describe().suite_sha256);
            assert_eq!(described.dataset_sha256, bare.describe().dataset_sha256);
            assert_eq!(described.repeated_prompts, 0);
        }
    }
}

#[test]
fn prompts_share_their_familys_prefix_and_nothing_more() {
    let prefix = SharedPrefix { words: 12, count: 3 };
    let prompts = SyntheticPrompts::new(40, 3).unwrap().with_prefix(prefix).unwrap();
    for prompts in [prompts, prompts.with_nonce(5)] {
        // With a nonce there is a line before the prefix, and one after it.
        let lines = if prompts.nonce().is_some() { 1 } else { 0 };
        let parts = |stage, index| {
            let text = prompts.prompt(stage, index);
            assert_eq!(text.split_whitespace().count(), 40 + 2 * lines);
            let (first, rest) = text.split_once("\n\n").unwrap();
            assert_eq!(first.split_whitespace().count(), 12 + lines);
            (first.to_owned(), rest[..24].to_owned())
        };
        let mut rests = HashSet::new();
        let mut firsts = HashSet::new();
        for stage in [Stage::Measured, Stage::Warmup] {
            for index in 0..12 {
                let (first, rest) = parts(stage, index);
                assert_eq!(first, parts(Stage::Measured, index % 3).0);
                firsts.insert(first[..20].to_owned());
                assert!(rests.insert(rest), "{stage} {index}");
            }
        }
        assert_eq!(firsts.len(), 3);
    }
}

#[test]
fn a_line_gets_words_for_its_tokens() {
    let probe = |words, prompt_tokens| LengthProbe { words, prompt_tokens };
    let lengths = Lengths::calibrated(&[probe(100, 210), probe(200, 410)]).unwrap();
    let of = |tokens: u64| {
        let lines = format!(
            "{{\"id\":\"a\",\"input_tokens\":{tokens}}}\n{{\"id\":\"b\",\"prompt\":\"x\"}}\n"
        );
        let lengths = lengths.clone();
        Requests::new(RequestsSpec { lengths, ..spec(lines_of(&lines, REPEAT), 3, 0) })
    };
    for (tokens, words, longer) in [(50, 20, 0), (410, 200, 0), (40_010, 20_000, 0), (10, 20, 2)] {
        let requests = of(tokens).unwrap();
        let text = sent(&requests.request(Stage::Measured, 0)).replace("\\n", " ");
        assert_eq!(text.split_whitespace().count(), words, "{tokens}");
        assert_eq!(requests.longer_than_asked(), longer, "{tokens}");
        assert_eq!(requests.describe().length_basis.as_ref(), Some(lengths.basis()));
    }
    assert_eq!(
        of(1 << 40).unwrap_err().to_string(),
        "data/d.jsonl: line 1: 1099511627776 input tokens are 549755813883 words, more than 1048576"
    );
    assert_eq!(from_file(LINES, REPEAT, 3, 0).unwrap().describe().length_basis, None);
}

#[test]
fn a_workload_is_described_by_its_digests() {
    let workload = from_file(LINES, REPEAT, 2, 1).unwrap().describe();
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

    let prefix = SharedPrefix { words: 12, count: 3 };
    let prompts = SyntheticPrompts::new(40, 3).unwrap().with_prefix(prefix).unwrap().with_nonce(4);
    let workload = Requests::new(spec(Prompts::Synthetic(prompts), 10, 0)).unwrap().describe();
    let (prefix, nonce) = (Some(prefix), Some(4));
    assert_eq!(workload.source, PromptSource::Synthetic { words: 40, seed: 3, prefix, nonce });
    let recipe = "{\n  \"prefix_count\": 3,\n  \"prefix_words\": 12,\n  \"recipe\": \
                  \"seeded-words-with-prefix-v1\",\n  \"seed\": 3,\n  \"words\": 40\n}\n";
    assert_eq!(workload.dataset_sha256, Digest::of(recipe.as_bytes()));

    let workload = synthetic(40, 3, 10).describe();
    let source = PromptSource::Synthetic { words: 40, seed: 3, prefix: None, nonce: None };
    assert_eq!(workload.source, source);
    let recipe = b"{\n  \"recipe\": \"seeded-words-v1\",\n  \"seed\": 3,\n  \"words\": 40\n}\n";
    assert_eq!(workload.dataset_sha256, Digest::of(recipe));
    assert_eq!(workload, synthetic(40, 3, 10).describe());
    assert_eq!(workload.length_basis, Some(LengthBasis::Assumed {}));
    for other in [synthetic(40, 4, 10), synthetic(41, 3, 10), synthetic(40, 3, 11)] {
        assert_ne!(other.describe().suite_sha256, workload.suite_sha256);
    }
}

#[test]
fn a_long_suite_is_known_by_its_beginning_and_its_length() {
    let of = |requests| from_file(LINES, REPEAT, requests, 0).unwrap();
    let long = of(100_001);
    let prompts: Vec<Digest> = digests(&long, Stage::Measured, 4);
    let prompts: Vec<&Digest> = prompts.iter().cycle().take(100_000).collect();
    let suite = |requests| {
        let begin =
            [("dataset", Json::from("d.jsonl")), ("dataset_version", Json::from("suite-v1"))];
        let prompts = [("prompts", Json::from_value(&prompts).unwrap())];
        let members = begin.into_iter().chain(prompts).chain(requests);
        let members = members.map(|(name, value)| (name.to_owned(), value)).collect();
        Digest::of_value(&Json::Object(members)).unwrap()
    };
    assert_eq!(of(100_000).describe().suite_sha256, suite(None));
    assert_eq!(long.describe().suite_sha256, suite(Some(("requests", Json::Uint(100_001)))));
    assert_eq!(long.describe().repeated_prompts, 100_001);
}

#[test]
fn the_suite_of_a_turnover_is_of_its_prompts_as_they_are_sent() {
    let requests = |word, seed, policy| {
        let prompts = TurnoverPrompts::new(word, 4, policy, seed).unwrap();
        Requests::new(spec(Prompts::Turnover(prompts), 9, 3)).unwrap()
    };
    let [one, again] = [1, 2].map(|seed| requests("apple", seed, OutputPolicy::Strict));
    let (first, second) = (one.describe(), again.describe());
    assert_eq!(first.dataset_sha256, second.dataset_sha256);
    assert_ne!(first.suite_sha256, second.suite_sha256);
    assert_eq!((first.repeated_prompts, first.length_basis), (0, None));
    let source = PromptSource::Turnover {
        word: "apple".to_owned(),
        count: 4,
        policy: OutputPolicy::Strict,
        seed: 1,
    };
    assert_eq!(first.source, source);

    let observed = requests("apple", 1, OutputPolicy::Observe).describe();
    assert_eq!(observed.suite_sha256, first.suite_sha256, "the policy changes no prompt");
    assert_ne!(
        requests("pear", 1, OutputPolicy::Strict).describe().dataset_sha256,
        first.dataset_sha256
    );

    let sent: HashSet<Digest> = (0..9)
        .map(|index| (Stage::Measured, index))
        .chain((0..3).map(|index| (Stage::Warmup, index)))
        .map(|(stage, index)| one.request(stage, index).prompt_sha256)
        .collect();
    assert_eq!(sent.len(), 12);

    let controlled: Vec<_> = one.controlled().map(|(prompt, _)| prompt).collect();
    let measured = (0..9).map(|index| one.request(Stage::Measured, index).prompt_sha256);
    assert_eq!(controlled, measured.collect::<Vec<_>>());
    assert_eq!(synthetic(40, 0, 3).controlled().count(), 0);
}
