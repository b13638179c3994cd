//! Receipts of graders: what was checked of an answer, and what came of it. They hold no text of the
//! answer, and are joined to its request by the digest of its prompt.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::nullable::nullable;
use crate::vocabulary::closed_vocabulary;

closed_vocabulary! {
    /// A grader, with the version of its rules.
    GraderName {
        /// The answer begins with its request's marker and holds no other request's.
        Canary = "canary-v1",
        /// One of several labels.
        Choice = "choice-v1",
        /// A word, a number of times.
        ControlledOutput = "controlled-output-v1",
        /// A text.
        ExactText = "exact-text-v1",
        /// Members of a JSON answer against frozen values.
        FrozenEvidenceFields = "frozen-evidence-fields-v1",
        /// JSON against a JSON Schema.
        JsonSchema = "json-schema-v1",
        /// The last number of the answer.
        Numeric = "numeric-v1",
    }
}

closed_vocabulary! {
    /// Why a check did not hold.
    CheckFault {
        /// Another value than the expected one.
        Differs = "differs",
        /// The marker of another request.
        ForeignMarker = "foreign_marker",
        /// What is checked is not there.
        Missing = "missing",
        /// The answer is not one JSON value, or has a member twice.
        NotJson = "not_json",
        /// The answer is longer than a grader reads.
        TooLong = "too_long",
        /// A value of another kind, such as a text where a number is expected.
        WrongKind = "wrong_kind",
    }
}

/// The receipts of a run (`grades.json`), and what the answers were held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Grades {
    /// Version of this layout: 1.
    pub grades_version: u32,
    /// What graded, and by which expectations.
    pub grading: Grading,
    /// One receipt for each graded answer, in the order of their prompts' digests.
    pub receipts: Vec<Grade>,
}

/// What grades the answers of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Grading {
    /// Digest of the file, or of the recipe, that says what is expected of each answer.
    pub expectations_sha256: Digest,
    /// The graders, each once, by name.
    pub graders: Vec<GraderIdentity>,
}

impl Grading {
    /// Digest of all graders with their rules: it stands in a record as `evaluator_sha256`.
    #[must_use]
    pub fn evaluator_sha256(&self) -> Digest {
        Digest::of_value(&self.graders).expect("names and digests hold no number")
    }
}

/// A grader and the digest of its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GraderIdentity {
    /// Its name, with the version of its rules.
    pub name: GraderName,
    /// Digest of the name and the rules.
    pub sha256: Digest,
}

/// What a grader found in one answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Grade {
    /// Digest of the prompt that was answered, by which the receipt is joined to its request.
    pub prompt_sha256: Digest,
    /// The grader.
    pub grader: GraderName,
    /// Digest of the grader's name and rules.
    pub grader_sha256: Digest,
    /// Whether every check held and the answer was not cut.
    pub passed: bool,
    /// Whether the answer ended by itself. One that its length limit cut cannot pass.
    pub untruncated_final: bool,
    /// Each check, in the order of the expectation.
    pub checks: Vec<GradeCheck>,
    /// How often the wanted word was there; `None` where none was wanted.
    #[serde(deserialize_with = "nullable")]
    pub words: Option<u64>,
    /// Whether a single Markdown fence holds what the answer itself should be: a diagnostic that
    /// changes nothing. `None` where the answer was read as it is, or there is no such fence.
    #[serde(deserialize_with = "nullable")]
    pub fenced_would_pass: Option<bool>,
}

impl Grade {
    /// Name of the check that words are as many as wanted, and nothing else.
    pub const WORDS_CHECK: &str = "words";

    /// The grader that gave it.
    #[must_use]
    pub fn identity(&self) -> GraderIdentity {
        GraderIdentity { name: self.grader, sha256: self.grader_sha256 }
    }

    /// Whether it says that a contract was not met: a marker is missing or a foreign one there, or an
    /// output that was strictly controlled is not as wanted, be it that it was cut. An output that is
    /// only observed breaks none.
    #[must_use]
    pub fn breaks_contract(&self) -> bool {
        let is_contract = matches!(self.grader, GraderName::Canary | GraderName::ControlledOutput);
        let counts = |check: &GradeCheck| !check.passed() || check.name == Self::WORDS_CHECK;
        is_contract && !self.passed && self.checks.iter().any(counts)
    }
}

/// One check of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GradeCheck {
    /// What was checked: `canary`, `text`, or the JSON pointer of a member.
    pub name: String,
    /// Why it did not hold; `None` when it did.
    #[serde(deserialize_with = "nullable")]
    pub fault: Option<CheckFault>,
}

impl GradeCheck {
    /// Whether it held.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.fault.is_none()
    }
}
