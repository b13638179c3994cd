//! Answers to the same prompt held against each other: within a build, and between two.
//!
//! A candidate is held against a baseline on those prompts alone that the baseline answers the same
//! each time: what changes by itself says nothing of a change of the build.

mod place;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use streamgauge_schema::{
    ComparedPrompts, Determinism, DeterminismSchema, Digest, Identifier, Json, PromptVerdict,
    RepeatedAnswer, RepeatedPrompt, RepeatedRun, Stability,
};

use place::parting;

/// An answer as it is held against others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenAnswer {
    /// What was reasoned before it; empty without any.
    pub reasoning: String,
    /// The visible answer; empty without any.
    pub content: String,
    /// Why it ended, by choice.
    pub finish_reasons: Vec<String>,
    /// For each event with output: bytes of reasoning and of content up to its end. `None` where nobody
    /// kept them.
    pub event_ends: Option<Vec<[u32; 2]>>,
}

/// A run that asked each of its prompts several times.
#[derive(Clone, Debug)]
pub struct RepeatedAnswers {
    /// The run's record.
    pub run_id: Identifier,
    /// Its cell.
    pub cell: Identifier,
    /// Sampling temperature; `None` where the server's own was left.
    pub temperature: Option<f64>,
    /// How often each prompt was to be asked.
    pub repetitions: u64,
    /// For each prompt the answers in the order of the repetitions; `None` where none came.
    pub prompts: BTreeMap<Digest, Vec<Option<GivenAnswer>>>,
}

/// Holds the answers of a run against each other, and those of a candidate against them.
#[must_use]
pub fn determinism(baseline: &RepeatedAnswers, candidate: Option<&RepeatedAnswers>) -> Determinism {
    let digests: BTreeSet<Digest> = std::iter::once(baseline)
        .chain(candidate)
        .flat_map(|run| run.prompts.keys().copied())
        .collect();
    let prompts: Vec<RepeatedPrompt> =
        digests.into_iter().map(|digest| prompt(digest, baseline, candidate)).collect();
    Determinism {
        schema: DeterminismSchema::V1,
        baseline: summary(baseline, prompts.iter().filter_map(|it| it.baseline.as_ref())),
        candidate: candidate
            .map(|run| summary(run, prompts.iter().filter_map(|it| it.candidate.as_ref()))),
        compared: candidate.map(|_| compared(&prompts)),
        prompts,
    }
}

fn prompt(
    prompt_sha256: Digest,
    baseline: &RepeatedAnswers,
    candidate: Option<&RepeatedAnswers>,
) -> RepeatedPrompt {
    let [old, new] = [Some(baseline), candidate]
        .map(|run| run.and_then(|run| Some((run, run.prompts.get(&prompt_sha256)?))));
    let [of_old, of_new] =
        [old, new].map(|side| side.map(|(run, answers)| repeated(answers, run.repetitions)));
    let verdict = candidate.map(|_| verdict(of_old.as_ref(), of_new.as_ref()));
    let divergence = match (verdict, old, new) {
        (Some(PromptVerdict::Differs), Some((_, old)), Some((_, new))) => old
            .first()
            .zip(new.first())
            .and_then(|(old, new)| parting(old.as_ref()?, new.as_ref()?, 0)),
        _ => None,
    };
    RepeatedPrompt { prompt_sha256, baseline: of_old, candidate: of_new, verdict, divergence }
}

/// What the answers to one prompt amount to, of which there should be `repetitions`.
fn repeated(answers: &[Option<GivenAnswer>], repetitions: u64) -> RepeatedAnswer {
    let given: Vec<(u64, &GivenAnswer)> =
        (0..).zip(answers).filter_map(|(place, answer)| Some((place, answer.as_ref()?))).collect();
    let different: BTreeSet<Digest> = given.iter().map(|(_, answer)| answer.digest()).collect();
    let first_difference = given.split_first().and_then(|((_, first), others)| {
        others.iter().find_map(|(place, other)| parting(first, other, *place))
    });
    let answered = given.len() as u64;
    let state = match different.len() {
        2.. => Stability::Unstable,
        1 if answered == repetitions => Stability::Stable,
        _ => Stability::Incomplete,
    };
    RepeatedAnswer {
        state,
        answered,
        different: different.len() as u64,
        answer_sha256: different.first().copied().filter(|_| different.len() == 1),
        first_difference,
    }
}

fn verdict(old: Option<&RepeatedAnswer>, new: Option<&RepeatedAnswer>) -> PromptVerdict {
    let Some(old) = old.filter(|old| old.state == Stability::Stable) else {
        return PromptVerdict::NotComparable;
    };
    match new {
        None => PromptVerdict::Missing,
        Some(new) => match new.state {
            Stability::Incomplete => PromptVerdict::Missing,
            Stability::Unstable => PromptVerdict::UnstableOnCandidate,
            Stability::Stable if new.answer_sha256 == old.answer_sha256 => PromptVerdict::Same,
            Stability::Stable => PromptVerdict::Differs,
        },
    }
}

fn summary<'a>(
    run: &RepeatedAnswers,
    answers: impl Iterator<Item = &'a RepeatedAnswer>,
) -> RepeatedRun {
    let mut summary = RepeatedRun {
        run_id: run.run_id.clone(),
        cell: run.cell.clone(),
        temperature: run.temperature,
        repetitions: run.repetitions,
        prompts: 0,
        stable: 0,
        unstable: 0,
        incomplete: 0,
    };
    for answer in answers {
        summary.prompts += 1;
        *match answer.state {
            Stability::Incomplete => &mut summary.incomplete,
            Stability::Stable => &mut summary.stable,
            Stability::Unstable => &mut summary.unstable,
        } += 1;
    }
    summary
}

fn compared(prompts: &[RepeatedPrompt]) -> ComparedPrompts {
    let count = |verdict| prompts.iter().filter(|it| it.verdict == Some(verdict)).count() as u64;
    ComparedPrompts {
        same: count(PromptVerdict::Same),
        differing: count(PromptVerdict::Differs),
        unstable_on_candidate: count(PromptVerdict::UnstableOnCandidate),
        missing: count(PromptVerdict::Missing),
    }
}

impl GivenAnswer {
    /// Equal answers have one digest, however their events were cut.
    fn digest(&self) -> Digest {
        let Self { reasoning, content, finish_reasons, .. } = self;
        let parts = [
            ("content", Json::from(content.as_str())),
            (
                "finish_reasons",
                Json::Array(finish_reasons.iter().map(|it| it.as_str().into()).collect()),
            ),
            ("reasoning", Json::from(reasoning.as_str())),
        ];
        let object = Json::Object(parts.map(|(key, value)| (key.to_owned(), value)).into());
        Digest::of_value(&object).expect("texts have canonical bytes")
    }
}
