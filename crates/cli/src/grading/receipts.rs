//! Answers graded as they come, off the thread that reads them.

use std::sync::Arc;

use streamgauge_grade::Answer;
use streamgauge_metrics::is_untruncated;
use streamgauge_schema::{Completion, Digest, Grade, Grades, RequestLine, Stage};

use super::expected::Expected;

/// Version of the receipts that are written.
pub(super) const GRADES_VERSION: u32 = 1;

/// The receipts of a run so far.
#[derive(Debug)]
pub(crate) struct Receipts {
    expected: Arc<Expected>,
    receipts: Vec<Grade>,
    wrong: Vec<Wrong>,
}

/// An answer that did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Place of its request.
    pub(crate) index: u64,
    /// The dataset's own name for it.
    pub(crate) id: Option<String>,
    /// The first check that did not hold, or that the answer was cut.
    pub(crate) why: String,
}

/// A request that succeeded, as far as its grade needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    /// Place of the request.
    pub(crate) index: u64,
    /// The dataset's own name for it.
    pub(crate) id: Option<String>,
    /// Whether the answer ended by itself.
    untruncated: bool,
}

impl Answered {
    /// `None` of a request that did not succeed.
    pub(crate) fn of(line: &RequestLine) -> Option<Self> {
        let succeeded = line.completion == Completion::Succeeded;
        let seen = line.observation.as_ref().filter(|_| succeeded)?;
        let (index, id) = (line.index, line.dataset_id.clone());
        Some(Self { index, id, untruncated: is_untruncated(seen) })
    }
}

impl Receipts {
    /// None yet.
    pub(crate) fn new(expected: Arc<Expected>) -> Self {
        Self { expected, receipts: Vec::new(), wrong: Vec::new() }
    }

    /// A request has ended, and this is its visible answer, without reasoning. Only answers of measured
    /// requests that succeeded are graded.
    pub(crate) fn add(&mut self, line: &RequestLine, content: &str) -> Option<&Grade> {
        let answered = Answered::of(line).filter(|_| line.stage == Stage::Measured)?;
        self.grade(line.prompt_sha256, &answered, content)
    }

    /// Grades the visible answer to a prompt, if anything is expected of it.
    pub(crate) fn grade(
        &mut self,
        prompt: Digest,
        answered: &Answered,
        content: &str,
    ) -> Option<&Grade> {
        let answer = Answer { text: content, untruncated: answered.untruncated };
        let grade = self.expected.grade(prompt, answer)?;
        self.keep(answered, grade);
        self.receipts.last()
    }

    /// Takes a receipt that was given before.
    pub(crate) fn keep(&mut self, answered: &Answered, grade: Grade) {
        if !grade.passed {
            let (index, id) = (answered.index, answered.id.clone());
            self.wrong.push(Wrong { index, id, why: why(&grade) });
        }
        self.receipts.push(grade);
    }

    /// All receipts, and the answers that did not pass in the order of their requests.
    pub(crate) fn finish(self) -> (Grades, Vec<Wrong>) {
        let Self { expected, mut receipts, mut wrong } = self;
        receipts.sort_unstable_by_key(|receipt| receipt.prompt_sha256);
        wrong.sort_unstable_by_key(|wrong| wrong.index);
        let grading = expected.grading().clone();
        (Grades { grades_version: GRADES_VERSION, grading, receipts }, wrong)
    }
}

fn why(grade: &Grade) -> String {
    let failed = grade.checks.iter().find_map(|check| Some((check.name.as_str(), check.fault?)));
    let failed = failed.map(|(name, fault)| match name {
        // The pointer to a whole answer.
        "" => format!("answer: {fault}"),
        name => format!("{name}: {fault}"),
    });
    let cut = (!grade.untruncated_final).then(|| "cut by its length limit".to_owned());
    failed.into_iter().chain(cut).collect::<Vec<_>>().join(", ")
}
