//! A decision for people: what was decided, against what, by whom and why.

use streamgauge_schema::{Decision, DecisionChoice, GateStanding};

use super::markdown::prose;
use super::page::Page;

/// A decision for a terminal.
pub(crate) fn decision(decision: &Decision, page: Page) -> String {
    let by = format!("{}, {}", decision.by, decision.decided_at);
    let mut lines = vec![
        page.prose(&format!("Decided: {}", heading(decision)), "  "),
        page.labelled("by         ", &by),
        page.labelled("reason     ", decision.reason.as_str()),
    ];
    let overriding = decision.override_reason.as_ref();
    lines.extend(overriding.map(|why| page.labelled("override   ", why.as_str())));
    lines.join("\n")
}

/// A decision as Markdown.
pub(crate) fn decision_in_markdown(decision: &Decision) -> String {
    let mut lines = vec![
        format!("### Decided: {}\n", heading(decision)),
        format!("**By**: {}, {}  ", prose(decision.by.as_str()), decision.decided_at),
        format!("**Reason**: {}  ", prose(decision.reason.as_str())),
    ];
    let overriding = decision.override_reason.as_ref();
    lines.extend(overriding.map(|why| format!("**Override**: {}  ", prose(why.as_str()))));
    lines.push(format!("`{}`", decision.decision_id));
    lines.join("\n")
}

fn heading(decision: &Decision) -> String {
    let verdict = decision.outcome.as_str().replace('_', " ");
    match (decision.decision, &decision.override_reason) {
        (DecisionChoice::Retain, _) => format!("the baseline is RETAINED (verdict: {verdict})"),
        (DecisionChoice::Promote, None) => {
            format!("the candidate is PROMOTED (verdict: {verdict})")
        }
        (DecisionChoice::Promote, Some(_)) => {
            let gates = decision.gates.iter().map(|gate| gate.verdict);
            let verdicts = gates.chain(decision.turnover);
            let against = verdicts.filter(|it| *it != GateStanding::Pass).count();
            format!(
                "the candidate is PROMOTED, OVERRIDING {against} gates that did not pass \
                 (verdict: {verdict})"
            )
        }
    }
}
