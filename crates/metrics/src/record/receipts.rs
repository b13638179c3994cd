//! Receipts of graders, joined to the requests of a run by the digests of their prompts, never by
//! their places.

use std::collections::HashMap;

use streamgauge_schema::{
    Completion, Digest, Grade, GradeCheck, Grades, Grading, Plan, PromptSource, RequestLine,
};

use super::RecordError;
use super::journal::grading_fault;
use crate::answer::Answer;
use crate::graded::{GivenBy, Graded};

/// Version of the receipts that are read.
const GRADES_VERSION: u32 = 1;

/// Receipts that wait for their requests.
#[derive(Debug)]
pub(super) struct Receipts<'a> {
    /// `None` where nothing grades the run.
    grading: Option<&'a Grading>,
    /// Those whose request has not come yet.
    waiting: HashMap<Digest, &'a Grade>,
    /// Each measured prompt; none are kept where nothing grades.
    asked: HashMap<Digest, Asked>,
    found: Found,
}

/// How a run was graded.
#[derive(Debug)]
pub(super) struct Joined<'a> {
    pub(super) grading: &'a Grading,
    pub(super) found: Found,
    /// Each measured prompt that was sent.
    pub(super) asked: HashMap<Digest, Asked>,
}

/// A prompt that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Its place.
    pub(super) index: u64,
    /// What it is known by in other runs.
    pub(super) known_as: Digest,
}

/// What receipts say beyond a verdict.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Graded answers that their length limit cut.
    pub(super) length_limited: u64,
    /// Answers that failed as they were, and would have passed without a Markdown fence.
    pub(super) fenced: u64,
}

impl<'a> Receipts<'a> {
    /// No receipts yet, of a run whose plan says this of graders.
    pub(super) fn of_plan(grading: Option<&'a Grading>) -> Self {
        let found = Found::default();
        Self { grading, waiting: HashMap::new(), asked: HashMap::new(), found }
    }

    /// All receipts of a run: what graded it is what they say, whatever was planned.
    pub(super) fn of(grades: &'a Grades) -> Result<Self, RecordError> {
        if grades.grades_version != GRADES_VERSION {
            return Err(RecordError::GradesVersion { version: grades.grades_version });
        }
        if let Some(contradiction) = grading_fault(&grades.grading) {
            return Err(RecordError::Grading { contradiction });
        }
        let mut receipts = Self::of_plan(Some(&grades.grading));
        for grade in &grades.receipts {
            check(&grades.grading, grade).map_err(|contradiction| RecordError::Receipt {
                prompt: grade.prompt_sha256,
                contradiction,
            })?;
            if receipts.waiting.insert(grade.prompt_sha256, grade).is_some() {
                return Err(RecordError::ReceiptRepeated { prompt: grade.prompt_sha256 });
            }
        }
        Ok(receipts)
    }

    /// The receipt of a measured request's answer, and what it makes of the request; `None` where it has
    /// none.
    pub(super) fn join(
        &mut self,
        line: &RequestLine,
        plan: &Plan,
    ) -> Result<Option<(&'a Grade, Graded)>, RecordError> {
        let prompt = line.prompt_sha256;
        if self.grading.is_none() {
            return Ok(None);
        }
        let asked = Asked { index: line.index, known_as: known_as(line, plan) };
        if let Some(other) = self.asked.insert(prompt, asked) {
            let [first, second] = [other.index.min(line.index), other.index.max(line.index)];
            return Err(RecordError::EqualPrompts { first, second, prompt });
        }
        let Some(grade) = self.waiting.remove(&prompt) else { return Ok(None) };
        let seen = line.observation.as_ref();
        let Some(seen) = seen.filter(|_| line.completion == Completion::Succeeded) else {
            return Err(RecordError::ReceiptUnmatched { prompt });
        };
        let untruncated = Answer::of(seen).is_untruncated();
        if grade.untruncated_final != untruncated {
            let contradiction = format!(
                "untruncated_final is {}, by its finish reasons the answer's is {untruncated}",
                grade.untruncated_final
            );
            return Err(RecordError::Receipt { prompt, contradiction });
        }
        self.found.length_limited += u64::from(!untruncated);
        self.found.fenced += u64::from(!grade.passed && grade.fenced_would_pass == Some(true));
        let graded = Graded {
            passed: grade.passed,
            breaks_contract: grade.breaks_contract(),
            given_by: GivenBy::of(&seen.returned_models, &plan.target.expect_model),
        };
        Ok(Some((grade, graded)))
    }

    /// After the last request: how the run was graded; `None` where nothing did.
    pub(super) fn close(self) -> Result<Option<Joined<'a>>, RecordError> {
        if let Some(prompt) = self.waiting.keys().min().copied() {
            return Err(RecordError::ReceiptUnmatched { prompt });
        }
        let Self { found, asked, .. } = self;
        Ok(self.grading.map(|grading| Joined { grading, found, asked }))
    }
}

/// What a prompt is known by in other runs: its digest. Where each run puts a nonce of its own before
/// it, the name of its line, which no other line of the dataset has.
fn known_as(line: &RequestLine, plan: &Plan) -> Digest {
    let has_nonce = matches!(plan.workload.source, PromptSource::Dataset { nonce: Some(_), .. });
    match &line.dataset_id {
        Some(id) if has_nonce => Digest::of(id.as_bytes()),
        _ => line.prompt_sha256,
    }
}

/// What a receipt must hold by itself.
fn check(grading: &Grading, grade: &Grade) -> Result<(), String> {
    if !grading.graders.contains(&grade.identity()) {
        return Err(format!("{} is none of the graders, or has other rules", grade.grader));
    }
    let holds = grade.untruncated_final && grade.checks.iter().all(GradeCheck::passed);
    if grade.passed != holds {
        return Err(format!("passed is {}, by its checks it is {holds}", grade.passed));
    }
    Ok(())
}
