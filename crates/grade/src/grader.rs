//! A grader made of an expectation, and the receipt that it gives.

use streamgauge_schema::{CheckFault, Digest, Expectation, Grade, GraderName};

use crate::canary::{self, Canaries};
use crate::choice::ChoiceGrader;
use crate::controlled_output::ControlledOutputGrader;
use crate::error::GraderError;
use crate::exact_text;
use crate::fields::FieldsGrader;
use crate::findings::Findings;
use crate::json_schema::JsonSchemaGrader;
use crate::number::Nearby;
use crate::numeric;

/// Bytes of the longest answer that is read. No evidence that a request asks for is as long.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;

/// What a model answered.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The visible answer: content only, without reasoning.
    pub text: &'a str,
    /// Whether it ended by itself: the stream was complete and not cut by its length.
    pub untruncated: bool,
}

/// An expectation, checked and ready to be held against answers.
#[derive(Debug)]
pub struct Grader {
    name: GraderName,
    sha256: Digest,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Canary(String),
    Choice(ChoiceGrader),
    ControlledOutput(ControlledOutputGrader),
    ExactText(String),
    Fields(FieldsGrader),
    JsonSchema(Box<JsonSchemaGrader>),
    Numeric(Nearby),
}

impl Grader {
    /// Makes a grader of what is expected.
    ///
    /// # Errors
    /// When nothing could be held against it, such as an invalid regular expression.
    pub fn new(expectation: &Expectation) -> Result<Self, GraderError> {
        let (name, kind) = match expectation {
            Expectation::Canary(wanted) => {
                canary::validate(&wanted.marker)?;
                (GraderName::Canary, Kind::Canary(wanted.marker.clone()))
            }
            Expectation::Choice(wanted) => {
                (GraderName::Choice, Kind::Choice(ChoiceGrader::new(wanted)?))
            }
            Expectation::ControlledOutput(wanted) => {
                let grader = ControlledOutputGrader::new(wanted)?;
                (GraderName::ControlledOutput, Kind::ControlledOutput(grader))
            }
            Expectation::ExactText(wanted) => {
                (GraderName::ExactText, Kind::ExactText(wanted.trim().to_owned()))
            }
            Expectation::Fields(wanted) => {
                (GraderName::FrozenEvidenceFields, Kind::Fields(FieldsGrader::new(wanted)?))
            }
            Expectation::JsonSchema(schema) => {
                let grader = Box::new(JsonSchemaGrader::new(schema)?);
                (GraderName::JsonSchema, Kind::JsonSchema(grader))
            }
            Expectation::Numeric(wanted) => {
                (GraderName::Numeric, Kind::Numeric(Nearby::new(wanted)?))
            }
        };
        Ok(Self { name, sha256: identity(name), kind })
    }

    /// Name and version of its rules.
    #[must_use]
    pub fn name(&self) -> GraderName {
        self.name
    }

    /// Digest of its name and rules: it differs when answers are judged by other rules.
    #[must_use]
    pub fn sha256(&self) -> Digest {
        self.sha256
    }

    /// Holds an answer against the expectation. `canaries` are the markers of all requests that ran
    /// beside this one; they matter only where a marker is expected.
    #[must_use]
    pub fn grade(&self, prompt_sha256: Digest, answer: Answer<'_>, canaries: &Canaries) -> Grade {
        let found = match answer.text.len() {
            0..=MAX_ANSWER_BYTES => self.check(answer.text, canaries),
            _ => Findings::one("answer", Err(CheckFault::TooLong)),
        };
        Grade {
            prompt_sha256,
            grader: self.name,
            grader_sha256: self.sha256,
            passed: answer.untruncated && found.all_passed(),
            untruncated_final: answer.untruncated,
            checks: found.checks,
            words: found.words,
            fenced_would_pass: found.fenced_would_pass,
        }
    }

    fn check(&self, text: &str, canaries: &Canaries) -> Findings {
        match &self.kind {
            Kind::Canary(own) => Findings::one(canary::CHECK, canaries.check(own, text).map(drop)),
            Kind::Choice(grader) => Findings::one("choice", grader.check(text)),
            Kind::ControlledOutput(grader) => grader.check(text, canaries),
            Kind::ExactText(wanted) => Findings::one("text", exact_text::check(wanted, text)),
            Kind::Fields(grader) => grader.check(text),
            Kind::JsonSchema(grader) => grader.check(text),
            Kind::Numeric(wanted) => Findings::one("number", numeric::check(wanted, text)),
        }
    }
}

/// The rules of each grader in words; their digest stands in every receipt, so that a change of rules
/// is a change of these texts.
fn rules(name: GraderName) -> &'static str {
    match name {
        GraderName::Canary => canary::RULES,
        GraderName::Choice => crate::choice::RULES,
        GraderName::ControlledOutput => crate::controlled_output::RULES,
        GraderName::ExactText => exact_text::RULES,
        GraderName::FrozenEvidenceFields => crate::fields::RULES,
        GraderName::JsonSchema => crate::json_schema::RULES,
        GraderName::Numeric => numeric::RULES,
    }
}

fn identity(name: GraderName) -> Digest {
    Digest::of_parts([name.as_str(), "\n", rules(name)])
}
