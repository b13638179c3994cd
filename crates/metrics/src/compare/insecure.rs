//! Runs whose server was not verified: no gate is judged by them unless that was allowed.

use streamgauge_schema::{PublicText, RunRecord};

use super::{CompareError, Side};
use crate::record::{NOT_VERIFIED, TLS_TRUST_LABEL};

/// What is to be done with runs that did not verify the certificate of their server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InsecureRuns {
    /// They are compared, and the comparison says so.
    Allowed,
    /// They are not compared.
    #[default]
    Refused,
}

/// How many runs did not verify their server.
///
/// # Errors
/// When there is one, and none is allowed.
pub(super) fn count(
    baseline: &[RunRecord],
    candidate: &[RunRecord],
    insecure: InsecureRuns,
) -> Result<usize, CompareError> {
    let sides = [(Side::Baseline, baseline), (Side::Candidate, candidate)];
    let runs = sides.into_iter().flat_map(|(side, runs)| runs.iter().map(move |run| (side, run)));
    let mut found = runs.filter(|(_, run)| is_insecure(run)).peekable();
    match (found.peek(), insecure) {
        (Some((side, run)), InsecureRuns::Refused) => {
            Err(CompareError::Insecure { side: *side, run_id: run.run_id().clone() })
        }
        _ => Ok(found.count()),
    }
}

/// What a comparison says of them.
pub(super) fn said(runs: usize) -> Option<PublicText> {
    (runs > 0).then(|| {
        PublicText::new(format!(
            "Runs that did not verify the certificate of their server: {runs}; another server may have \
             answered."
        ))
        .expect("plain words and a number")
    })
}

fn is_insecure(record: &RunRecord) -> bool {
    let RunRecord::V2(run) = record else { return false };
    let is_so = |label: &str, value: &str| label == TLS_TRUST_LABEL && value == NOT_VERIFIED;
    run.conditions.iter().any(|it| is_so(it.label.as_str(), it.value.as_str()))
}
