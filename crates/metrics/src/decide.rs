//! A decision on a comparison: the gates as they stand, and whether what is decided against them is
//! said to be so.

use streamgauge_schema::{
    Build, CanonicalError, DecidedBuild, DecidedSchema, Decision, DecisionChoice, DecisionEvidence,
    DecisionSchema, GateStanding, Identifier, PublicText, Timestamp,
};

use crate::stood::{Compared, Standings, standings};

/// Digits of the digest that a decision's id ends with.
pub(crate) const DIGEST_DIGITS: usize = 12;

/// What a decision is made of.
#[derive(Clone, Debug)]
pub struct DecisionInput<'a> {
    /// What is decided on.
    pub compared: Compared<'a>,
    /// What is decided.
    pub choice: DecisionChoice,
    /// Who decides.
    pub by: PublicText,
    /// When.
    pub decided_at: Timestamp,
    /// Why.
    pub reason: PublicText,
    /// Why the candidate is promoted although not every gate passed.
    pub override_reason: Option<PublicText>,
    /// The files that are decided on, the comparison first.
    pub evidence: Vec<DecisionEvidence>,
}

/// A decision that cannot be made so.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecideError {
    /// The decision cannot be written.
    #[error("the decision has no canonical bytes")]
    Canonical(#[from] CanonicalError),
    /// Promoting against a verdict must be said to be so.
    #[error("the comparison's verdict is {outcome}, and nothing overrides it")]
    NotPassed {
        /// The verdict.
        outcome: GateStanding,
    },
    /// An override that has no effect hides what was decided against.
    #[error("there is nothing to override: {why}")]
    NothingToOverride {
        /// Why not.
        why: &'static str,
    },
}

/// Makes the record of a decision.
///
/// # Errors
/// When the candidate is promoted although the comparison did not pass and nothing overrides it, or
/// when there is nothing to override.
pub fn decide(input: DecisionInput<'_>) -> Result<Decision, DecideError> {
    let Standings { gates, turnover, outcome } = standings(input.compared);
    let passed = outcome == GateStanding::Pass;
    match (input.choice, &input.override_reason) {
        (DecisionChoice::Promote, None) if !passed => {
            return Err(DecideError::NotPassed { outcome });
        }
        (DecisionChoice::Promote, Some(_)) if passed => {
            return Err(DecideError::NothingToOverride { why: "every gate passed" });
        }
        (DecisionChoice::Retain, Some(_)) => {
            return Err(DecideError::NothingToOverride { why: "retaining goes against no gate" });
        }
        _ => {}
    }
    let name = format!("{}-{}", input.choice, input.decided_at.compact());
    let name = Identifier::new(name).expect("words and digits");
    let [baseline, candidate] = decided_builds(input.compared);
    let mut decision = Decision {
        schema: DecisionSchema::V1,
        decision_id: name.clone(),
        decision: input.choice,
        by: input.by,
        decided_at: input.decided_at,
        reason: input.reason,
        override_reason: input.override_reason,
        comparison_schema: decided_schema(input.compared),
        baseline,
        candidate,
        outcome,
        turnover,
        gates,
        evidence: input.evidence,
    };
    let digits = decision.digest(&name)?.prefix(DIGEST_DIGITS);
    decision.decision_id = Identifier::new(format!("{name}-{digits}")).expect("words and digits");
    Ok(decision)
}

/// The layout of a comparison, as decisions name it.
pub(crate) fn decided_schema(compared: Compared<'_>) -> DecidedSchema {
    match compared {
        Compared::V1(_) => DecidedSchema::ComparisonV1,
        Compared::V2(_) => DecidedSchema::ComparisonV2,
    }
}

/// What both sides of a comparison served.
pub(crate) fn decided_builds(compared: Compared<'_>) -> [DecidedBuild; 2] {
    match compared {
        Compared::V1(comparison) => [&comparison.baseline_image, &comparison.candidate_image]
            .map(|image| DecidedBuild { image: Some(image.clone()), ..DecidedBuild::default() }),
        Compared::V2(comparison) => {
            [&comparison.baseline, &comparison.candidate].map(decided_build)
        }
    }
}

fn decided_build(build: &Build) -> DecidedBuild {
    let Build { image, model, revision, runtime, runtime_version, quantization, variant, hardware } =
        build.clone();
    let model = Some(model);
    DecidedBuild {
        image,
        model,
        revision,
        runtime,
        runtime_version,
        quantization,
        variant,
        hardware,
    }
}
