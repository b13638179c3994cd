//! What grading an answer of 4 KiB costs, by each grader.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use streamgauge_grade::{Answer, Canaries, Grader};
use streamgauge_schema::{Digest, Expectation, read_typed};

const ANSWER_BYTES: usize = 4096;
/// Markers of the requests that ran beside the graded one.
const MARKERS: usize = 1_000;

/// A grader's name, what it expects, and an answer that passes.
fn cases() -> Vec<(&'static str, String, String)> {
    let prose = "The river carries 18 boats past the gauge, and 7 of them are red. ".repeat(70);
    let end = &prose[..ANSWER_BYTES - 64];
    let members: Vec<_> = (0..160).map(|n| format!("\"fact_{n:03}\": \"value {n}\"")).collect();
    let object = format!("{{{}}}", members.join(", "));
    let words = |count: usize| vec!["apple"; count].join(" ");
    vec![
        ("canary", r#"{"canary": {"marker": "K0007"}}"#.into(), format!("K0007 {end}")),
        (
            "choice",
            r#"{"choice": {"correct": "B", "of": ["A", "B", "C", "D"]}}"#.into(),
            format!("{end} The answer is B."),
        ),
        (
            "controlled_output",
            r#"{"controlled_output": {"canary": "K0007", "count": 682, "policy": "strict", "word": "apple"}}"#
                .into(),
            format!("K0007 {}", words(682)),
        ),
        ("exact_text", format!("{{\"exact_text\": \"{end}\"}}"), end.to_owned()),
        (
            "fields",
            r#"{"fields": [{"pointer": "/fact_000", "is": {"equals": "value 0"}},
                           {"pointer": "/fact_080", "is": {"matches": "^value \\d+$"}},
                           {"pointer": "/fact_159", "is": {"contains": "159"}}]}"#
                .into(),
            object.clone(),
        ),
        (
            "json_schema",
            r#"{"json_schema": {"type": "object", "additionalProperties": {"type": "string"}}}"#.into(),
            object,
        ),
        ("numeric", r#"{"numeric": {"value": 42}}"#.into(), format!("{end} So it is 42.")),
    ]
}

fn grading(criterion: &mut Criterion) {
    let markers = (0..MARKERS).map(|number| format!("K{number:04}"));
    let canaries = Canaries::new(markers).expect("markers of one length");
    let prompt = Digest::of(b"prompt");
    let mut group = criterion.benchmark_group("grade");
    group.throughput(Throughput::Elements(1));
    for (name, expectation, text) in cases() {
        let expectation: Expectation = read_typed(expectation.as_bytes()).expect("an expectation");
        let grader = Grader::new(&expectation).expect("a usable expectation");
        let answer = Answer { text: &text, untruncated: true };
        assert!(grader.grade(prompt, answer, &canaries).passed, "{name} must pass");
        group.bench_function(name, |bench| {
            bench.iter(|| grader.grade(prompt, black_box(answer), &canaries));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = grading
}
criterion_main!(benches);
