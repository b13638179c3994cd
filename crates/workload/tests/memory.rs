//! Memory: a load of a million requests costs none, and a request little more than its body.
#![expect(clippy::unwrap_used, reason = "tests stop at what they do not expect")]

use std::collections::BTreeMap;

use allocation_counter::measure;
use streamgauge_schema::{Arrivals, Dialect, Identifier, RequestSettings, SharedPrefix, Stage};
use streamgauge_workload::{
    LoadEnd, LoadSpec, Prompts, Rates, Requests, RequestsSpec, Schedule, SyntheticPrompts,
};

#[test]
fn due_times_are_not_kept() {
    let rates = Rates::constant(1000.0);
    let arrivals = Arrivals::Poisson { seed: 1 };
    let spec = LoadSpec::Rates { rates, arrivals, max_concurrency: None };
    let end = LoadEnd { requests: Some(200_000), duration_ms: None };
    let used = measure(|| {
        let load = spec.resolve(end, 0).unwrap();
        let schedule = Schedule::new(&load, None).unwrap();
        assert_eq!(schedule.due_times().count(), 200_000);
    });
    assert!(used.bytes_max < 4096, "{used:?}");
}

fn requests(prompts: SyntheticPrompts) -> Requests {
    Requests::new(RequestsSpec {
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
        prompts: Prompts::Synthetic(prompts),
        target_input_tokens: None,
        lengths: streamgauge_workload::Lengths::assumed(),
        suite_version: Identifier::new("suite-v1").unwrap(),
        requests: 20_000,
        repetitions: 1,
        warmup: 0,
    })
    .unwrap()
}

#[test]
fn a_request_allocates_its_body_alone() {
    let plain = SyntheticPrompts::new(400, 1).unwrap();
    let prefix = SharedPrefix { words: 100, count: 3 };
    for prompts in [plain, plain.with_nonce(1), plain.with_prefix(prefix).unwrap().with_nonce(1)] {
        let requests = requests(prompts);
        let used = measure(|| {
            std::hint::black_box(requests.request(Stage::Measured, 7));
        });
        assert_eq!(used.count_total, 1, "{used:?}");
    }
}

#[test]
fn a_suite_is_described_without_being_kept() {
    let requests = requests(SyntheticPrompts::new(20, 1).unwrap());
    let used = measure(|| {
        std::hint::black_box(requests.describe());
    });
    assert!(used.bytes_max < 256 * 1024, "{used:?}");
}
