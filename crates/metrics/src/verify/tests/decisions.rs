//! Decisions: what may be decided, and every rule broken on purpose.

use streamgauge_schema::{
    Decision, DecisionChoice, DecisionEvidence, Digest, Document, EvidenceKind, GateStanding,
    Gates, Json, JsonPath, PublicText, RunRecord, Timestamp,
};

use super::{COMPARISON, broken, edited};
use crate::compare::{
    BlockRules, InsecureRuns, Pairing, PromptOutcomes, compare_blocks, compare_point, was_compared,
};
use crate::decide::{DecideError, DecisionInput, decide};
use crate::sample_blocks::{Sides, with};
use crate::stood::Compared;
use crate::verify::{unproven, verify, verify_decision};

const INTERVALS: &[u8] = include_bytes!("../../../../schema/tests/records/comparison-v2.json");
const GOLDEN: &str = "../schema/tests/records/decision-v1.json";

pub(super) fn text(text: &str) -> PublicText {
    PublicText::new(text).unwrap()
}

/// A decision on the comparison in a file, so many minutes after another.
pub(super) fn decided(
    file: &[u8],
    choice: DecisionChoice,
    overriding: Option<&str>,
    minute: i64,
) -> Result<Decision, DecideError> {
    let document = Document::read(file).unwrap();
    let compared = match &document {
        Document::Comparison(comparison) => Compared::V1(comparison),
        Document::ComparisonV2(comparison) => Compared::V2(comparison),
        _ => panic!("a comparison"),
    };
    let evidence = DecisionEvidence {
        kind: EvidenceKind::Comparison,
        name: text("comparison.json"),
        sha256: Digest::of(file),
        bytes: file.len() as u64,
    };
    let run = DecisionEvidence {
        kind: EvidenceKind::RunRecord,
        name: text("sample-719d8203b917"),
        sha256: Digest::of(b"a record"),
        bytes: 8,
    };
    decide(DecisionInput {
        compared,
        choice,
        by: text("A. Person"),
        decided_at: Timestamp::from_unix_micros(1_790_000_000_000_000 + 60_000_000 * minute),
        reason: text("the fix matters more"),
        override_reason: overriding.map(text),
        evidence: vec![evidence, run],
    })
}

/// The golden comparison without the turnover that fails: all its gates pass.
fn passing() -> Vec<u8> {
    let Document::Comparison(mut comparison) = Document::read(COMPARISON).unwrap() else {
        panic!("a comparison of version 1");
    };
    (comparison.candidate_turnover, comparison.candidate_turnover_repeat) = (None, None);
    Document::Comparison(comparison).file_bytes().unwrap()
}

fn overridden() -> Decision {
    decided(INTERVALS, DecisionChoice::Promote, Some("seen and accepted"), 0).unwrap()
}

#[test]
fn only_an_override_promotes_against_a_gate() {
    use DecisionChoice::{Promote, Retain};
    let passing = passing();
    let cases = [
        (passing.as_slice(), Promote, None, Ok(GateStanding::Pass)),
        (&passing, Retain, None, Ok(GateStanding::Pass)),
        (
            &passing,
            Promote,
            Some("why not"),
            Err("there is nothing to override: every gate passed"),
        ),
        (COMPARISON, Retain, None, Ok(GateStanding::Fail)),
        (COMPARISON, Promote, Some("because"), Ok(GateStanding::Fail)),
        (
            COMPARISON,
            Promote,
            None,
            Err("the comparison's verdict is fail, and nothing overrides it"),
        ),
        (INTERVALS, Promote, Some("because"), Ok(GateStanding::Fail)),
        (INTERVALS, Retain, Some("because"), Err("retaining goes against no gate")),
    ];
    for (file, choice, overriding, expected) in cases {
        match (decided(file, choice, overriding, 0), expected) {
            (Ok(decision), Ok(outcome)) => {
                assert_eq!(decision.outcome, outcome);
                let document = Document::Decision(Box::new(decision));
                assert!(verify(&document).holds(), "{:?}", broken(&document));
            }
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{error}");
            }
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }
}

/// `UPDATE_RECORD=1` rewrites it.
#[test]
fn the_golden_decision_is_what_is_decided() {
    let bytes = Document::Decision(Box::new(overridden())).file_bytes().unwrap();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN);
    if std::env::var_os("UPDATE_RECORD").is_some() {
        std::fs::write(&path, &bytes).unwrap();
    }
    let written = std::fs::read(&path).unwrap();
    assert!(written == bytes, "{} differs: run this test with UPDATE_RECORD=1", path.display());
    let document = Document::read(&written).unwrap();
    assert_eq!(document.file_bytes().unwrap(), written);
}

#[test]
fn every_rule_of_a_decision_notices() {
    let cases = [
        ("outcome-fits-gates", "outcome", "\"pass\""),
        ("override-fits-outcome", "override", "null"),
        ("override-fits-outcome", "decision", "\"retain\""),
        ("one-comparison-comes-first", "evidence", "[]"),
        ("one-comparison-comes-first", "evidence[1].kind", "\"comparison\""),
        ("one-comparison-comes-first", "evidence[0].kind", "\"run_record\""),
        ("decision-id-is-digest", "by", "\"B. Person\""),
        ("decision-id-is-digest", "decision_id", "\"promote-20260921T141320Z-000000000000\""),
        ("decision-id-is-digest", "gates[1].delta_percent", "1.0"),
    ];
    let tree = || Json::from_value(&overridden()).unwrap();
    for (rule, member, value) in cases {
        let document = edited(tree(), &[(member, value)]);
        let found = verify(&document);
        let named = found.broken().find(|finding| finding.rule == rule);
        let named = named.unwrap_or_else(|| panic!("{rule} by {member} = {value}"));
        let members: Vec<String> = named.members.iter().map(JsonPath::to_string).collect();
        assert!(members.iter().any(|it| it.starts_with(member)), "{members:?}");
    }
    let repeated = Decision {
        evidence: overridden().evidence.iter().cycle().take(4).cloned().collect(),
        ..overridden()
    };
    let found = broken(&Document::Decision(Box::new(repeated)));
    assert!(found.contains("evidence-differs"), "{found:?}");
    // What no other rule covers is said to be covered by the digest alone.
    let unproven = unproven(&edited(tree(), &[]));
    assert!(unproven.iter().any(|member| member.to_string() == "reason"));
}

#[test]
fn a_record_is_evidence_only_with_the_figures_that_were_compared() {
    let values = [(100.0, 101.0), (99.0, 102.0), (101.0, 100.0)];
    let sides = Sides::blocks("ttft_p50_ms", &values);
    let [baseline, candidate] = sides.records();
    let rules = BlockRules {
        gates: &Gates::default(),
        pairing: Pairing::ByTime,
        looks: None,
        outcomes: &PromptOutcomes::NONE,
        allow_differing: &[],
        insecure: InsecureRuns::Refused,
        limitations: &[],
    };
    let blocks = compare_blocks(&baseline, &candidate, &rules).unwrap();
    let points =
        compare_point(&baseline[..1], &candidate[..1], &[], InsecureRuns::Refused).unwrap();
    let cases = [(Compared::V2(&blocks), 3), (Compared::V1(&points), 1)];
    for (compared, count) in cases {
        for record in baseline[..count].iter().chain(&candidate[..count]) {
            assert!(was_compared(compared, record));
        }
        let other = with(sides.baseline[0].clone(), "e2e_p50_ms", 1.0);
        assert!(!was_compared(compared, &RunRecord::V2(Box::new(other))));
    }
    assert!(!was_compared(Compared::V1(&points), &baseline[1]));
}

#[test]
fn a_decision_is_held_against_its_comparison() {
    let broken = |decision: &Decision, file: &[u8]| -> Vec<&'static str> {
        let document = Document::read(file).unwrap();
        let found = verify_decision(decision, &document, file);
        let mut rules: Vec<_> = found.broken().map(|finding| finding.rule).collect();
        rules.dedup();
        rules
    };
    let decision = overridden();
    assert_eq!(broken(&decision, INTERVALS), [""; 0]);
    let other = "comparison-is-the-one-decided-on";
    let follows = "decision-follows-from-comparison";
    assert_eq!(broken(&decision, INTERVALS.trim_ascii_end()), [other]);
    assert_eq!(broken(&decision, COMPARISON), [other, follows]);
    let record = Document::Decision(Box::new(decision.clone())).file_bytes().unwrap();
    assert_eq!(broken(&decision, &record), [other]);

    let mut changed = decision.clone();
    changed.gates[0].delta_percent = Some(0.5);
    assert_eq!(broken(&changed, INTERVALS), [follows]);
    changed = decision.clone();
    changed.gates.pop();
    assert_eq!(broken(&changed, INTERVALS), [follows]);
    changed = decision;
    changed.evidence[1].name = text("another-run");
    assert_eq!(broken(&changed, INTERVALS), ["run-was-compared"]);
}
