//! Reports of determinism: one that holds, and a fault for each rule that only this rule finds.

use streamgauge_schema::{
    AnswerPart, AnswerPlace, ComparedPrompts, Determinism, DeterminismSchema, Digest, Document,
    Identifier, PromptVerdict, RepeatedAnswer, RepeatedPrompt, RepeatedRun, Stability,
};

use crate::verify::verify;

fn place(repetition: u64) -> AnswerPlace {
    AnswerPlace { part: AnswerPart::Content, character: 7, output_event: Some(3), repetition }
}

fn stable(text: &str) -> RepeatedAnswer {
    RepeatedAnswer {
        state: Stability::Stable,
        answered: 3,
        different: 1,
        answer_sha256: Some(Digest::of(text.as_bytes())),
        first_difference: None,
    }
}

fn unstable() -> RepeatedAnswer {
    RepeatedAnswer {
        state: Stability::Unstable,
        different: 2,
        answer_sha256: None,
        first_difference: Some(place(2)),
        ..stable("")
    }
}

fn incomplete() -> RepeatedAnswer {
    RepeatedAnswer { state: Stability::Incomplete, answered: 2, ..stable("a") }
}

fn run(name: &str, [stable, unstable, incomplete]: [u64; 3]) -> RepeatedRun {
    RepeatedRun {
        run_id: Identifier::new(name).unwrap(),
        cell: Identifier::new("c8").unwrap(),
        temperature: Some(0.0),
        repetitions: 3,
        prompts: stable + unstable + incomplete,
        stable,
        unstable,
        incomplete,
    }
}

fn report() -> Determinism {
    use PromptVerdict::{Differs, Missing, NotComparable, Same, UnstableOnCandidate};
    let sides = [
        (Some(stable("a")), Some(stable("a")), Same),
        (Some(stable("a")), Some(stable("b")), Differs),
        (Some(stable("a")), Some(unstable()), UnstableOnCandidate),
        (Some(stable("a")), Some(incomplete()), Missing),
        (Some(stable("a")), None, Missing),
        (Some(unstable()), Some(stable("a")), NotComparable),
        (None, Some(stable("a")), NotComparable),
    ];
    let prompt = |(number, (baseline, candidate, verdict)): (u8, _)| RepeatedPrompt {
        prompt_sha256: Digest::of(&[number]),
        baseline,
        candidate,
        verdict: Some(verdict),
        divergence: (verdict == Differs).then(|| place(0)),
    };
    let mut prompts: Vec<RepeatedPrompt> = (0..).zip(sides).map(prompt).collect();
    prompts.sort_by_key(|it| it.prompt_sha256);
    Determinism {
        schema: DeterminismSchema::V1,
        baseline: run("old", [5, 1, 0]),
        candidate: Some(run("new", [4, 1, 1])),
        compared: Some(ComparedPrompts {
            same: 1,
            differing: 1,
            unstable_on_candidate: 1,
            missing: 2,
        }),
        prompts,
    }
}

fn broken(report: Determinism) -> Vec<&'static str> {
    let found = verify(&Document::Determinism(Box::new(report)));
    let mut rules: Vec<&str> = found.broken().map(|it| it.rule).collect();
    rules.dedup();
    rules
}

fn of(report: &mut Determinism, verdict: PromptVerdict) -> &mut RepeatedPrompt {
    report.prompts.iter_mut().find(|it| it.verdict == Some(verdict)).unwrap()
}

#[test]
fn a_report_holds_and_reads_back() {
    assert_eq!(broken(report()), [""; 0]);
    let alone = Determinism {
        candidate: None,
        compared: None,
        prompts: report()
            .prompts
            .into_iter()
            .filter(|it| it.baseline.is_some())
            .map(|it| RepeatedPrompt { candidate: None, verdict: None, divergence: None, ..it })
            .collect(),
        ..report()
    };
    assert_eq!(broken(alone.clone()), [""; 0]);
    for report in [report(), alone] {
        let document = Document::Determinism(Box::new(report));
        assert_eq!(Document::read(&document.file_bytes().unwrap()).unwrap(), document);
    }
}

#[test]
fn every_rule_finds_its_fault() {
    use PromptVerdict::{Differs, Same, UnstableOnCandidate};
    type Fault = fn(&mut Determinism);
    let cases: [(Fault, &str); 11] = [
        (|it| it.baseline.stable += 1, "counts-match-prompts"),
        (|it| it.candidate.as_mut().unwrap().prompts -= 1, "counts-match-prompts"),
        (|it| it.compared.as_mut().unwrap().missing += 1, "counts-match-prompts"),
        (|it| it.prompts.reverse(), "prompts-are-in-order"),
        (|it| it.compared = None, "candidate-is-everywhere-or-nowhere"),
        (|it| of(it, Same).baseline.as_mut().unwrap().answered = 2, "state-follows"),
        (|it| it.baseline.repetitions = 2, "state-follows"),
        (
            |it| {
                of(it, UnstableOnCandidate).candidate.as_mut().unwrap().first_difference =
                    Some(place(3));
            },
            "differences-have-a-place",
        ),
        (
            |it| {
                of(it, UnstableOnCandidate).candidate.as_mut().unwrap().answer_sha256 =
                    Some(Digest::of(b"x"));
            },
            "differences-have-a-place",
        ),
        (
            |it| of(it, Same).candidate.as_mut().unwrap().answer_sha256 = Some(Digest::of(b"x")),
            "verdict-follows",
        ),
        (|it| of(it, Differs).divergence = None, "divergence-fits-verdict"),
    ];
    for (fault, rule) in cases {
        let mut report = report();
        fault(&mut report);
        assert!(broken(report).contains(&rule), "{rule}");
    }
}
