//! Rules of decisions: what a decision itself determines, and what the comparison that it was made on
//! does.

use serde::Serialize;
use streamgauge_schema::{
    Decision, DecisionChoice, DecisionEvidence, Digest, Document, EvidenceKind, GateStanding,
    Identifier, Json, JsonPath,
};

use super::leaves::leaves;
use super::{Rules, Verification, at};
use crate::decide::{DIGEST_DIGITS, decided_builds, decided_schema};
use crate::stood::{Compared, standings};

/// The rule that covers every member of a decision, whatever it says.
pub(super) const DIGEST_RULE: &str = "decision-id-is-digest";

pub(super) fn check(decision: &Decision, rules: &mut Rules) {
    check_id(decision, rules);
    check_outcome(decision, rules);
    check_override(decision, rules);
    check_evidence(decision, rules);
}

fn check_id(decision: &Decision, rules: &mut Rules) {
    let id = decision.decision_id.as_str();
    let name = format!("{}-{}", decision.decision, decision.decided_at.compact());
    let bare = Identifier::new(name.as_str()).expect("words and digits");
    let (holds, seen) = match decision.digest(&bare) {
        Err(error) => (false, format!("there is no digest: {error}")),
        Ok(digest) => {
            let expected = format!("{name}-{}", digest.prefix(DIGEST_DIGITS));
            (id == expected, format!("that is {expected}"))
        }
    };
    let members =
        Json::from_value(decision).map_or_else(|_| vec![at("decision_id")], |it| leaves(&it));
    let statement = format!(
        "decision_id ({id}) is decision, decided_at and the first {DIGEST_DIGITS} digits of the \
         digest of the decision with the bare name; {seen}"
    );
    rules.check(DIGEST_RULE, holds, members, statement);
}

/// A comparison can fall short of a pass although every gate of it passed, where a cell has none.
fn check_outcome(decision: &Decision, rules: &mut Rules) {
    let gates = (0..decision.gates.len()).map(|place| at("gates").index(place).key("verdict"));
    let members = gates.chain([at("outcome"), at("turnover")]);
    let verdicts = decision.gates.iter().map(|gate| gate.verdict).chain(decision.turnover);
    let not_passed = verdicts.filter(|verdict| *verdict != GateStanding::Pass).count();
    let passed = decision.outcome == GateStanding::Pass;
    rules.check(
        "outcome-fits-gates",
        !passed || not_passed == 0 && !decision.gates.is_empty(),
        members,
        format!(
            "outcome ({}) is a pass only if there are gates and all passed (of {}, {not_passed} did \
             not)",
            decision.outcome,
            decision.gates.len()
        ),
    );
}

fn check_override(decision: &Decision, rules: &mut Rules) {
    let against = is_against(decision.decision, decision.outcome);
    let overridden = decision.override_reason.is_some();
    rules.check(
        "override-fits-outcome",
        against == overridden,
        [at("decision"), at("outcome"), at("override")],
        format!(
            "there is an override ({overridden}) where the candidate was promoted and the outcome \
             is no pass, and nowhere else ({}, {})",
            decision.decision, decision.outcome
        ),
    );
}

/// Whether a decision goes against the gates.
pub(super) fn is_against(decision: DecisionChoice, outcome: GateStanding) -> bool {
    decision == DecisionChoice::Promote && outcome != GateStanding::Pass
}

fn check_evidence(decision: &Decision, rules: &mut Rules) {
    let kinds: Vec<EvidenceKind> = decision.evidence.iter().map(|it| it.kind).collect();
    let comparisons = kinds.iter().filter(|it| **it == EvidenceKind::Comparison).count();
    let kind = |place| at("evidence").index(place).key("kind");
    let members =
        if kinds.is_empty() { vec![at("evidence")] } else { (0..kinds.len()).map(kind).collect() };
    rules.check(
        "one-comparison-comes-first",
        comparisons == 1 && kinds[0] == EvidenceKind::Comparison,
        members,
        format!("the evidence begins with the comparison and holds no other ({comparisons})"),
    );
    let digests = decision
        .evidence
        .iter()
        .enumerate()
        .map(|(place, it)| (it.sha256.to_string(), at("evidence").index(place).key("sha256")));
    rules.distinct("evidence-differs", "digests of evidence", digests.collect());
}

/// Holds a decision against the file of the comparison that it was made on: by its digest, and by
/// everything in the decision that follows from the comparison.
///
/// A document that is no comparison breaks the rules as another comparison does.
#[must_use]
pub fn verify_decision(decision: &Decision, comparison: &Document, file: &[u8]) -> Verification {
    let mut rules = Rules::default();
    check_file(decision.comparison(), file, &mut rules);
    let compared = match comparison {
        Document::Comparison(comparison) => Some(Compared::V1(comparison)),
        Document::ComparisonV2(comparison) => Some(Compared::V2(comparison)),
        Document::Decision(_) | Document::Determinism(_) | Document::Run(_) => None,
    };
    if let Some(compared) = compared {
        check_follows(decision, compared, &mut rules);
    }
    Verification { findings: rules.findings, notes: Vec::new() }
}

fn check_file(evidence: Option<&DecisionEvidence>, file: &[u8], rules: &mut Rules) {
    let (sha256, bytes) = (Digest::of(file), file.len() as u64);
    let recorded = evidence.map_or_else(
        || "no comparison".to_owned(),
        |it| format!("{}, {} bytes", it.sha256, it.bytes),
    );
    rules.check(
        "comparison-is-the-one-decided-on",
        evidence.is_some_and(|it| (it.sha256, it.bytes) == (sha256, bytes)),
        ["sha256", "bytes"].map(|key| at("evidence").index(0).key(key)),
        format!("the evidence ({recorded}) is the comparison's file ({sha256}, {bytes} bytes)"),
    );
}

fn check_follows(decision: &Decision, compared: Compared<'_>, rules: &mut Rules) {
    let stood = standings(compared);
    let [baseline, candidate] = decided_builds(compared);
    let schema = decided_schema(compared);
    follows("comparison_schema", [&decision.comparison_schema, &schema], rules);
    follows("baseline", [&decision.baseline, &baseline], rules);
    follows("candidate", [&decision.candidate, &candidate], rules);
    follows("outcome", [&decision.outcome, &stood.outcome], rules);
    follows("turnover", [&decision.turnover, &stood.turnover], rules);
    let count = decision.gates.len();
    rules.check(
        "decision-follows-from-comparison",
        count == stood.gates.len(),
        [at("gates")],
        format!("gates ({count}) are those of the comparison ({})", stood.gates.len()),
    );
    for (place, (gate, expected)) in decision.gates.iter().zip(&stood.gates).enumerate() {
        follows_at(at("gates").index(place), [gate, expected], rules);
    }
    if let Compared::V2(comparison) = compared {
        let cells = comparison.cells.iter();
        let runs =
            cells.flat_map(|(_, cell)| cell.baseline_runs.iter().chain(&cell.candidate_runs));
        let turnovers = comparison.turnover.iter();
        let turnovers = turnovers.flat_map(|it| it.baseline.iter().chain(&it.candidate));
        let turnovers = turnovers.map(|run| run.run_id.as_str());
        let ids: Vec<&str> = runs.map(|run| run.run_id.as_str()).chain(turnovers).collect();
        for (place, it) in decision.evidence.iter().enumerate() {
            if it.kind == EvidenceKind::RunRecord {
                rules.check(
                    "run-was-compared",
                    ids.contains(&it.name.as_str()),
                    [at("evidence").index(place).key("name")],
                    format!("{} is one of the {} runs of the comparison", it.name, ids.len()),
                );
            }
        }
    }
}

fn follows<T: Serialize>(member: &str, values: [&T; 2], rules: &mut Rules) {
    follows_at(at(member), values, rules);
}

/// Records that a member is what the comparison gives.
fn follows_at<T: Serialize>(member: JsonPath, [found, expected]: [&T; 2], rules: &mut Rules) {
    let text = |value: &T| {
        let json = Json::from_value(value).ok();
        json.and_then(|json| serde_json::to_string(&json).ok()).unwrap_or("no JSON".to_owned())
    };
    let (found, expected) = (text(found), text(expected));
    let statement = match found == expected {
        true => format!("{member} is as the comparison has it"),
        false => format!("{member} ({found}) is as the comparison has it, {expected}"),
    };
    rules.check("decision-follows-from-comparison", found == expected, [member], statement);
}
