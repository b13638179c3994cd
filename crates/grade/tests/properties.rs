//! What holds for every answer: no grader panics, and a verdict depends on what an answer says alone.

use proptest::prelude::*;
use streamgauge_grade::{Answer, Canaries, Grader};
use streamgauge_schema::{Digest, Expectation, Grade, read_typed};

/// One expectation for each grader, and an answer that passes it.
const EXPECTATIONS: [(&str, &str); 7] = [
    (r#"{"canary": {"marker": "K1A"}}"#, "K1A yes"),
    (r#"{"choice": {"correct": "B", "of": ["A", "B", "C"]}}"#, "The answer is (B)."),
    (
        r#"{"controlled_output": {"canary": "K1A", "count": 2, "policy": "strict", "word": "é"}}"#,
        "K1A é é",
    ),
    (r#"{"exact_text": "Größe 5"}"#, "Größe 5"),
    (
        r#"{"fields": [{"pointer": "/a/0", "is": {"equals": {"x": 1, "y": [2]}}},
                       {"pointer": "/b", "is": {"set": [1, 2]}}]}"#,
        r#"{"b": [2, 1], "a": [{"y": [2], "x": 1}]}"#,
    ),
    (r#"{"json_schema": {"type": "array", "items": {"type": "number"}}}"#, "[1, 2.5]"),
    (r#"{"numeric": {"value": 12.5}}"#, "so 12.5 litres"),
];

fn grade(expectation: &str, text: &str, untruncated: bool) -> Grade {
    let expectation: Expectation = read_typed(expectation.as_bytes()).expect("an expectation");
    let canaries = Canaries::new(["K1A", "K2B"].map(str::to_owned)).expect("two markers");
    let grader = Grader::new(&expectation).expect("a usable expectation");
    grader.grade(Digest::of(b"prompt"), Answer { text, untruncated }, &canaries)
}

#[test]
fn right_answers_pass_and_cut_ones_never_do() {
    for (expectation, text) in EXPECTATIONS {
        let whole = grade(expectation, text, true);
        assert!(whole.passed && whole.untruncated_final, "{expectation}: {whole:?}");
        let cut = grade(expectation, text, false);
        assert!(!cut.passed && cut.checks == whole.checks, "{expectation}: {cut:?}");
    }
}

#[test]
fn nothing_passes_without_an_answer() {
    for (expectation, _) in EXPECTATIONS {
        assert!(!grade(expectation, "", true).passed, "{expectation}");
    }
}

#[test]
fn an_answer_above_the_limit_is_not_read() {
    let long = " ".repeat(streamgauge_grade::MAX_ANSWER_BYTES + 1);
    for (expectation, text) in EXPECTATIONS {
        assert!(!grade(expectation, &format!("{text}{long}"), true).passed, "{expectation}");
    }
}

proptest! {
    #[test]
    fn no_answer_is_a_panic(text in "\\PC*", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for (expectation, right) in EXPECTATIONS {
            grade(expectation, &text, true);
            grade(expectation, &String::from_utf8_lossy(&bytes), true);
            // Cut and joined anywhere, as a faulty server would.
            let at = right.char_indices().map(|(at, _)| at).nth(text.len() % 7).unwrap_or(0);
            grade(expectation, &format!("{}{text}{}", &right[..at], &right[at..]), true);
        }
    }

    #[test]
    fn the_order_of_members_does_not_matter(
        members in prop::collection::btree_map("[a-z]{1,4}", -1000i64..1000, 1..8),
        seed in any::<u64>(),
    ) {
        let object = |members: &[(&String, &i64)]| {
            let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
            format!("{{{}}}", members.join(", "))
        };
        let sorted: Vec<_> = members.iter().collect();
        let mut turned = sorted.clone();
        turned.rotate_left(seed as usize % sorted.len());
        let expectation = format!(r#"{{"fields": [{{"pointer": "", "is": {{"equals": {}}}}}]}}"#, object(&sorted));
        prop_assert!(grade(&expectation, &object(&turned), true).passed);
    }
}
