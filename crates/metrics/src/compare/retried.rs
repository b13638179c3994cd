//! Runs in which requests were sent again by policy: failures that this hid are said.

use streamgauge_schema::{PublicText, RunRecord};

use super::value;

/// How many runs of each side had requests that were sent again.
pub(super) fn count(baseline: &[RunRecord], candidate: &[RunRecord]) -> [usize; 2] {
    let is_one = |run: &&RunRecord| match run {
        RunRecord::V1(_) => false,
        RunRecord::V2(run) => value(run, "retried_ratio").is_some_and(|ratio| ratio > 0.0),
    };
    [baseline, candidate].map(|runs| runs.iter().filter(is_one).count())
}

/// What a comparison says of them.
pub(super) fn said([baseline, candidate]: [usize; 2]) -> Option<PublicText> {
    (baseline + candidate > 0).then(|| {
        PublicText::new(format!(
            "Runs in which requests failed and were sent again by policy: {baseline} of the baseline's, \
             {candidate} of the candidate's. Failures count only what stayed failed; retried_ratio in the \
             records has the others."
        ))
        .expect("plain words and numbers")
    })
}
