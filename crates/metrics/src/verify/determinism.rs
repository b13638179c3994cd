//! Rules of a determinism report: what each prompt's answers amount to, and the counts of them.

use streamgauge_schema::{
    ComparedPrompts, Determinism, JsonPath, PromptVerdict, RepeatedAnswer, RepeatedPrompt,
    RepeatedRun, Stability,
};

use super::{Rules, at};

pub(super) fn check(report: &Determinism, rules: &mut Rules) {
    check_sides(report, rules);
    check_order(report, rules);
    check_run(&report.baseline, "baseline", report, |it| it.baseline.as_ref(), rules);
    if let Some(candidate) = &report.candidate {
        check_run(candidate, "candidate", report, |it| it.candidate.as_ref(), rules);
    }
    if let Some(compared) = &report.compared {
        check_compared(compared, report, rules);
    }
    for (place, prompt) in report.prompts.iter().enumerate() {
        check_prompt(prompt, place, report, rules);
    }
}

/// What is there of a candidate is there everywhere.
fn check_sides(report: &Determinism, rules: &mut Rules) {
    let has = report.candidate.is_some();
    let verdict = |place: usize| at("prompts").index(place).key("verdict");
    let prompts = (0..report.prompts.len()).map(verdict);
    let fits = |it: &RepeatedPrompt| {
        it.verdict.is_some() == has && (has || it.candidate.is_none() && it.baseline.is_some())
    };
    rules.check(
        "candidate-is-everywhere-or-nowhere",
        report.compared.is_some() == has && report.prompts.iter().all(fits),
        [at("candidate"), at("compared")].into_iter().chain(prompts),
        format!("with a candidate ({has}), and only then, prompts are compared and have verdicts"),
    );
}

fn check_order(report: &Determinism, rules: &mut Rules) {
    let digest = |place: usize| at("prompts").index(place).key("prompt_sha256");
    rules.check(
        "prompts-are-in-order",
        report.prompts.windows(2).all(|pair| pair[0].prompt_sha256 < pair[1].prompt_sha256),
        (0..report.prompts.len()).map(digest),
        "prompts stand in the order of their digests, each once",
    );
}

fn check_run(
    run: &RepeatedRun,
    side: &str,
    report: &Determinism,
    answers: fn(&RepeatedPrompt) -> Option<&RepeatedAnswer>,
    rules: &mut Rules,
) {
    let of = || report.prompts.iter().filter_map(answers);
    let count = |state| of().filter(|it| it.state == state).count() as u64;
    let member = |name: &str| at(side).key(name);
    let counts = [
        ("prompts", run.prompts, of().count() as u64),
        ("stable", run.stable, count(Stability::Stable)),
        ("unstable", run.unstable, count(Stability::Unstable)),
        ("incomplete", run.incomplete, count(Stability::Incomplete)),
    ];
    for (name, says, is) in counts {
        rules.check(
            "counts-match-prompts",
            says == is,
            [member(name)].into_iter().chain(states(report, side)),
            format!("{side}.{name} ({says}) is what the prompts give ({is})"),
        );
    }
    for (place, prompt) in report.prompts.iter().enumerate() {
        if let Some(answer) = answers(prompt) {
            let path = at("prompts").index(place).key(side);
            check_answer(answer, (run.repetitions, member("repetitions")), &path, rules);
        }
    }
}

fn states<'a>(report: &'a Determinism, side: &'a str) -> impl Iterator<Item = JsonPath> + 'a {
    (0..report.prompts.len()).map(move |place| at("prompts").index(place).key(side).key("state"))
}

fn check_answer(
    answer: &RepeatedAnswer,
    (repetitions, of_run): (u64, JsonPath),
    path: &JsonPath,
    rules: &mut Rules,
) {
    let RepeatedAnswer { state, answered, different, answer_sha256, first_difference } = answer;
    let follows = match different {
        2.. => Stability::Unstable,
        1 if *answered == repetitions => Stability::Stable,
        _ => Stability::Incomplete,
    };
    let possible =
        *answered <= repetitions && different <= answered && (*different == 0) == (*answered == 0);
    rules.check(
        "state-follows",
        *state == follows && possible,
        ["state", "answered", "different"]
            .map(|name| path.clone().key(name))
            .into_iter()
            .chain([of_run]),
        format!(
            "{state} follows from {different} different of {answered} answers of {repetitions}"
        ),
    );
    let placed = first_difference.is_none_or(|it| (1..repetitions).contains(&it.repetition));
    rules.check(
        "differences-have-a-place",
        answer_sha256.is_some() == (*different == 1)
            && first_difference.is_some() == (*different > 1)
            && placed,
        ["different", "answer_sha256", "first_difference"].map(|name| path.clone().key(name)),
        format!(
            "one answer has a digest, several ({different}) part in a repetition after the first and \
             below {repetitions}"
        ),
    );
}

fn check_compared(compared: &ComparedPrompts, report: &Determinism, rules: &mut Rules) {
    let count =
        |verdict| report.prompts.iter().filter(|it| it.verdict == Some(verdict)).count() as u64;
    let counts = [
        ("same", compared.same, PromptVerdict::Same),
        ("differing", compared.differing, PromptVerdict::Differs),
        (
            "unstable_on_candidate",
            compared.unstable_on_candidate,
            PromptVerdict::UnstableOnCandidate,
        ),
        ("missing", compared.missing, PromptVerdict::Missing),
    ];
    let verdict = |place: usize| at("prompts").index(place).key("verdict");
    for (name, says, verdict_of) in counts {
        let is = count(verdict_of);
        let prompts = (0..report.prompts.len()).map(verdict);
        rules.check(
            "counts-match-prompts",
            says == is,
            [at("compared").key(name)].into_iter().chain(prompts),
            format!("compared.{name} ({says}) is what the prompts give ({is})"),
        );
    }
}

fn check_prompt(prompt: &RepeatedPrompt, place: usize, report: &Determinism, rules: &mut Rules) {
    let Some(verdict) = prompt.verdict.filter(|_| report.candidate.is_some()) else { return };
    let path = at("prompts").index(place);
    let follows = follows(prompt);
    let members = [
        path.clone().key("verdict"),
        path.clone().key("baseline").key("state"),
        path.clone().key("candidate").key("state"),
        path.clone().key("baseline").key("answer_sha256"),
        path.clone().key("candidate").key("answer_sha256"),
    ];
    rules.check(
        "verdict-follows",
        verdict == follows,
        members,
        format!("the answers of both sides amount to {follows}, not {verdict}"),
    );
    rules.check(
        "divergence-fits-verdict",
        prompt.divergence.is_some() == (verdict == PromptVerdict::Differs)
            && prompt.divergence.is_none_or(|it| it.repetition == 0),
        [path.clone().key("divergence"), path.clone().key("verdict")],
        "two answers part in the first repetition where they differ, and nowhere else",
    );
}

fn follows(prompt: &RepeatedPrompt) -> PromptVerdict {
    let state = |side: &Option<RepeatedAnswer>| side.as_ref().map(|it| it.state);
    let digest = |side: &Option<RepeatedAnswer>| side.as_ref().and_then(|it| it.answer_sha256);
    match (state(&prompt.baseline), state(&prompt.candidate)) {
        (Some(Stability::Stable), Some(Stability::Stable)) => {
            if digest(&prompt.baseline) == digest(&prompt.candidate) {
                PromptVerdict::Same
            } else {
                PromptVerdict::Differs
            }
        }
        (Some(Stability::Stable), Some(Stability::Unstable)) => PromptVerdict::UnstableOnCandidate,
        (Some(Stability::Stable), Some(Stability::Incomplete) | None) => PromptVerdict::Missing,
        _ => PromptVerdict::NotComparable,
    }
}
