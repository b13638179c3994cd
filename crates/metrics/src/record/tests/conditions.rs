//! What records say of how a run was made.

use streamgauge_schema::{
    Arrivals, ClientStage, Identifier, LengthBasis, LengthProbe, Load, LoadShape, RateStage,
    SharedPrefix, Target,
};

use super::*;

/// The text of the load's shape, for a run of which nothing was sent.
fn shape_of(shape: LoadShape, requests: u64, duration_ms: Option<u64>) -> String {
    let mut plan = plan(requests, 1);
    plan.load.shape = shape;
    (plan.load.duration_ms, plan.load.warmup) = (duration_ms, 2);
    let record = Run { plan, lines: Vec::new(), ended: true }.record();
    condition(&record, "Load shape").unwrap().to_owned()
}

fn open(
    arrivals: Arrivals,
    max_concurrency: Option<u64>,
    stages: &[(f64, f64, Option<u64>, u64)],
) -> LoadShape {
    let stage = |&(from_per_s, to_per_s, duration_ms, requests)| RateStage {
        from_per_s,
        to_per_s,
        duration_ms,
        requests,
    };
    LoadShape::OpenLoop { arrivals, max_concurrency, stages: stages.iter().map(stage).collect() }
}

#[test]
fn the_whole_shape_of_a_load() {
    let clients = |from_clients, to_clients, duration_ms| ClientStage {
        from_clients,
        to_clients,
        duration_ms,
    };
    let cases = [
        (
            shape_of(LoadShape::ClosedLoop { concurrency: 8 }, 64, None),
            "Closed loop, concurrency 8; 64 requests after 2 of warm-up".to_owned(),
        ),
        (
            shape_of(LoadShape::ClosedLoop { concurrency: 8 }, 64, Some(60_000)),
            "Closed loop, concurrency 8; 60000 ms, at most 64 requests, grace 30000 ms after 2 of \
             warm-up"
                .to_owned(),
        ),
        (
            shape_of(
                LoadShape::ClosedStages {
                    stages: vec![clients(1, 8, 30_000), clients(8, 8, 60_000)],
                },
                100,
                Some(90_000),
            ),
            "Closed loop, 1 to 8 clients over 30000 ms, 8 clients for 60000 ms; 90000 ms, at most \
             100 requests, grace 30000 ms after 2 of warm-up"
                .to_owned(),
        ),
        (
            shape_of(open(Arrivals::Constant {}, None, &[(10.0, 10.0, None, 50)]), 50, None),
            "Open loop, constant arrivals, no limit under way, 10.0 a second (50); 50 requests \
             after 2 of warm-up"
                .to_owned(),
        ),
        (
            shape_of(
                open(
                    Arrivals::Gamma { burstiness: 0.25, seed: 7 },
                    Some(32),
                    &[(1.5, 40.0, Some(30_000), 622), (40.0, 40.0, Some(10_000), 395)],
                ),
                1017,
                Some(40_000),
            ),
            "Open loop, gamma arrivals of burstiness 0.25, seed 7, at most 32 under way, 1.5 to \
             40.0 a second for 30000 ms (622), 40.0 a second for 10000 ms (395); 40000 ms, 1017 \
             requests, grace 30000 ms after 2 of warm-up"
                .to_owned(),
        ),
        (
            shape_of(LoadShape::Trace { max_concurrency: None, span_ms: 900 }, 12, None),
            format!(
                "Trace over 900 ms, no limit under way, times of dataset SHA-256 {}; 12 requests \
                 after 2 of warm-up",
                Digest::of(b"dataset")
            ),
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_shape_too_long_for_a_text_is_named_by_its_digest() {
    let stages: Vec<_> = (1..=20).map(|n| (f64::from(n), f64::from(n), None, 1)).collect();
    let shape = |seed| shape_of(open(Arrivals::Poisson { seed }, None, &stages), 20, None);
    assert!(shape(7).starts_with("open_loop, SHA-256 "), "{}", shape(7));
    assert!(shape(7).ends_with("; 20 requests after 2 of warm-up"));
    assert_ne!(shape(7), shape(8));

    // The longest that a plan can ask for.
    let most = LoadShape::Trace { max_concurrency: Some(u64::MAX), span_ms: u64::MAX };
    let text = shape_of(most, Load::MAX_REQUESTS, Some(u64::MAX));
    assert!(text.starts_with("trace, SHA-256 "), "{text}");
}

#[test]
fn how_prompts_were_made() {
    let prefix = Some(SharedPrefix { words: 128, count: 4 });
    let synthetic = |prefix, nonce| PromptSource::Synthetic { words: 384, seed: 7, prefix, nonce };
    let dataset = |repeat, nonce| PromptSource::Dataset {
        path: "/data/private.jsonl".into(),
        records: 50,
        repeat,
        nonce,
    };
    let cases = [
        (synthetic(None, None), "Unique synthetic prompts of 384 words, seed 7"),
        (
            synthetic(None, Some(3)),
            "Unique synthetic prompts of 384 words, seed 7; a unique first line before each",
        ),
        (
            synthetic(prefix, None),
            "Synthetic prompts of 384 words, seed 7; the first 128 words of each are one of 4 \
             shared prefixes",
        ),
        (
            synthetic(prefix, Some(3)),
            "Synthetic prompts of 384 words, seed 7; the first 128 words of each are one of 4 \
             shared prefixes; a unique first line before each shared prefix",
        ),
        (dataset(false, None), "Dataset of 50 requests"),
        (
            dataset(true, Some(3)),
            "Dataset of 50 requests; used again from the first; a unique first line before each \
             prompt",
        ),
    ];
    for (source, expected) in cases {
        let mut run = Run::of_three();
        run.plan.workload.source = source;
        assert_eq!(condition(&run.record(), "Input preparation"), Some(expected));
    }
}

#[test]
fn by_what_the_length_of_prompts_was_chosen() {
    let probe = |words, prompt_tokens| LengthProbe { words, prompt_tokens };
    let many = vec![probe(100, 140); 5];
    let sha256 = Digest::of(b"tokenizer");
    let cases = [
        (None, None),
        (Some(LengthBasis::Assumed {}), Some("Assumed: four tokens for three words".to_owned())),
        (
            Some(LengthBasis::Calibrated { probes: vec![probe(100, 151), probe(400, 571)] }),
            Some(
                "Calibrated by the server's own counts: 100 words are 151 tokens, 400 words \
                 are 571 tokens"
                    .to_owned(),
            ),
        ),
        (
            Some(LengthBasis::Calibrated { probes: many }),
            Some("Calibrated by the server's own counts of 5 prompts".to_owned()),
        ),
        (
            Some(LengthBasis::Tokenizer { sha256 }),
            Some(format!("A tokenizer's file, SHA-256 {sha256}")),
        ),
    ];
    for (basis, expected) in cases {
        let mut run = Run::of_three();
        run.plan.workload.length_basis = basis;
        assert_eq!(condition(&run.record(), "Prompt length basis"), expected.as_deref());
    }
}

#[test]
fn warm_up_and_limits() {
    let mut run = Run::of_three();
    assert_eq!(condition(&run.record(), "Warm-up"), None);
    assert_eq!(condition(&run.record(), "Error-rate stop"), None);
    run.plan.limits.max_error_ratio = Some(0.05);
    run.plan.load.warmup = 2;
    for (index, prompt) in [(0, "a"), (1, "b")] {
        run.lines.push(RequestLine {
            stage: Stage::Warmup,
            prompt_sha256: Digest::of(prompt.as_bytes()),
            ..succeeded(index, 0, &[10, 20], 3)
        });
    }
    let warmup = |shared| {
        format!(
            "Requests before the measurement, left out of it: 2; measured requests that share a \
             prompt with them: {shared}"
        )
    };
    let record = run.record();
    assert_eq!(condition(&record, "Warm-up"), Some(warmup(0).as_str()));
    assert_eq!(
        condition(&record, "Error-rate stop"),
        Some("Above a share of 0.05 of ended requests")
    );
    assert!(!says(&record, "in the warm-up"));
    for line in &mut run.lines[..2] {
        line.prompt_sha256 = Digest::of(b"b");
    }
    let record = run.record();
    assert_eq!(condition(&record, "Warm-up"), Some(warmup(2).as_str()));
    assert!(says(
        &record,
        "Measured requests whose prompt was already sent in the warm-up: 2; a cache may have served \
         them."
    ));
}

#[test]
fn a_record_says_how_its_server_was_reached_and_not_where() {
    let way = |base_url: &str, change: fn(&mut Target)| {
        let mut run = Run::of_three();
        run.plan.target.base_url = base_url.to_owned();
        change(&mut run.plan.target);
        let record = run.record();
        assert_sound(&record);
        let text = String::from_utf8(bytes(&record)).unwrap();
        assert!(!text.contains("secret-place"), "{text}");
        record
    };
    let says_trust = |record: &RunRecordV2| condition(record, "TLS trust").map(str::to_owned);
    let plain = way("http://secret-place", |_| ());
    assert_eq!(says_trust(&plain), None);
    assert_eq!(condition(&plain, "Proxy"), None);
    let platform = way("https://secret-place", |_| ());
    assert_eq!(says_trust(&platform).unwrap(), "Certificate authorities of the platform");
    let own = way("https://secret-place", |target| {
        target.private_ca = true;
        target.route.client_certificate = true;
    });
    assert_eq!(says_trust(&own).unwrap(), "Certificate authorities given by the operator");
    assert_eq!(condition(&own, "TLS client certificate"), Some("Given"));
    let nobody = way("https://secret-place", |target| target.route.unverified = true);
    assert_eq!(says_trust(&nobody).unwrap(), "None: the server's certificate was not verified");
    assert!(says(&nobody, "another server may have answered"));
    let proxied = way("http://secret-place", |target| {
        target.route.proxy = Some("http://secret-place:3128".to_owned());
    });
    assert_eq!(condition(&proxied, "Proxy"), Some("HTTP, named by the operator"));
    assert!(says(&proxied, "went through an HTTP proxy"));
    let socket = way("unix:///run/secret-place.sock", |_| ());
    assert_eq!(condition(&socket, "Socket"), Some("Unix domain"));
}

#[test]
fn where_the_server_is_stands_in_no_record() {
    let place = "gpu7.lab.example";
    let told = |run: &mut Run, value: &str| {
        let [label, value] = ["Runtime build", value].map(|it| PublicText::new(it).unwrap());
        run.plan.conditions.push(Condition { label, value });
    };
    let at_place = || {
        let mut run = Run::of_three();
        run.plan.target.base_url = format!("https://{place}:8000/v1");
        run
    };
    let mut declared = at_place();
    told(&mut declared, "built on gpu7.lab.example");
    let error = declared.build().unwrap_err();
    assert_eq!(error, RecordError::NamesServer { member: "conditions" });
    let mut named = at_place();
    named.plan.name = Identifier::new(place).unwrap();
    assert_eq!(named.build().unwrap_err(), RecordError::NamesServer { member: "name" });
    // What the server says of itself is no reason to lose a record.
    let mut said = at_place();
    for line in &mut said.lines {
        line.observation.as_mut().unwrap().returned_models = vec![place.to_owned()];
    }
    let record = said.record();
    assert_eq!(condition(&record, "Models returned"), Some("Withheld: it names the server's host"));
    assert!(!String::from_utf8(bytes(&record)).unwrap().contains(place));
}
