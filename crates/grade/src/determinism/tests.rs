//! Answers that agree, differ and are missing.

use streamgauge_schema::{AnswerPart, AnswerPlace};

use super::*;

/// Makes an answer another one.
type Change = fn(&mut GivenAnswer);

fn answer(content: &str) -> GivenAnswer {
    GivenAnswer {
        reasoning: String::new(),
        content: content.to_owned(),
        finish_reasons: vec!["stop".to_owned()],
        event_ends: None,
    }
}

fn run(name: &str, prompts: &[(&str, &[Option<&str>])]) -> RepeatedAnswers {
    let prompt = |(prompt, answers): &(&str, &[Option<&str>])| {
        let answers = answers.iter().map(|text| text.map(answer)).collect();
        (Digest::of(prompt.as_bytes()), answers)
    };
    RepeatedAnswers {
        run_id: Identifier::new(name).unwrap(),
        cell: Identifier::new("c4").unwrap(),
        temperature: Some(0.0),
        repetitions: 3,
        prompts: prompts.iter().map(prompt).collect(),
    }
}

fn place(part: AnswerPart, character: u64, repetition: u64) -> AnswerPlace {
    AnswerPlace { part, character, output_event: None, repetition }
}

#[test]
fn repetitions_are_stable_unstable_or_incomplete() {
    use Stability::{Incomplete, Stable, Unstable};
    let at = |character, repetition| Some(place(AnswerPart::Content, character, repetition));
    type Case<'a> = (&'a [Option<&'a str>], Stability, u64, u64, Option<AnswerPlace>);
    let cases: [Case<'_>; 9] = [
        (&[Some("a b"), Some("a b"), Some("a b")], Stable, 3, 1, None),
        (&[Some("a b"), Some("a b"), Some("a c")], Unstable, 3, 2, at(2, 2)),
        (&[Some("a b"), Some("x"), Some("a c")], Unstable, 3, 3, at(0, 1)),
        (&[Some("añb"), Some("añ"), None], Unstable, 2, 2, at(2, 1)),
        (&[Some("añ"), Some("añb"), None], Unstable, 2, 2, at(2, 1)),
        (&[None, Some("a"), Some("b")], Unstable, 2, 2, at(0, 2)),
        (&[Some("a"), None, Some("a")], Incomplete, 2, 1, None),
        (&[Some("a"), Some("a")], Incomplete, 2, 1, None),
        (&[None, None, None], Incomplete, 0, 0, None),
    ];
    for (texts, state, answered, different, first_difference) in cases {
        let found = determinism(&run("old", &[("p", texts)]), None);
        let given = found.prompts[0].baseline.clone().unwrap();
        assert_eq!((given.state, given.answered, given.different), (state, answered, different));
        assert_eq!(given.first_difference, first_difference, "{texts:?}");
        assert_eq!(given.answer_sha256.is_some(), different == 1);
        assert_eq!(found.prompts[0].verdict, None);
    }
}

#[test]
fn a_candidate_is_held_against_stable_prompts_alone() {
    let (same, other) = (&[Some("x y"); 3][..], &[Some("x z"); 3][..]);
    let shaky = &[Some("x y"), Some("x y"), Some("x z")][..];
    let failed = &[Some("x y"), None, Some("x y")][..];
    let old = run(
        "old",
        &[
            ("1", same),
            ("2", same),
            ("3", same),
            ("4", same),
            ("5", same),
            ("6", shaky),
            ("7", failed),
        ],
    );
    let new = run(
        "new",
        &[
            ("1", same),
            ("2", other),
            ("3", shaky),
            ("4", failed),
            ("6", same),
            ("7", same),
            ("8", same),
        ],
    );
    let found = determinism(&old, Some(&new));
    let of = |prompt: &str| {
        let digest = Digest::of(prompt.as_bytes());
        found.prompts.iter().find(|it| it.prompt_sha256 == digest).unwrap()
    };
    use PromptVerdict::{Differs, Missing, NotComparable, Same, UnstableOnCandidate};
    let expected = [
        Same,
        Differs,
        UnstableOnCandidate,
        Missing,
        Missing,
        NotComparable,
        NotComparable,
        NotComparable,
    ];
    for (prompt, verdict) in ["1", "2", "3", "4", "5", "6", "7", "8"].into_iter().zip(expected) {
        assert_eq!(of(prompt).verdict, Some(verdict), "{prompt}");
        assert_eq!(of(prompt).divergence.is_some(), verdict == Differs, "{prompt}");
    }
    assert_eq!(of("2").divergence, Some(place(AnswerPart::Content, 2, 0)));
    assert!(of("8").baseline.is_none() && of("5").candidate.is_none());
    let counts = ComparedPrompts { same: 1, differing: 1, unstable_on_candidate: 1, missing: 2 };
    assert_eq!(found.compared, Some(counts));
    let counts = |run: &RepeatedRun| (run.prompts, run.stable, run.unstable, run.incomplete);
    assert_eq!(counts(&found.baseline), (7, 5, 1, 1));
    assert_eq!(counts(found.candidate.as_ref().unwrap()), (7, 5, 1, 1));
    assert!(found.prompts.is_sorted_by_key(|it| it.prompt_sha256));
}

#[test]
fn parts_are_held_against_each_other_in_the_order_in_which_they_came() {
    let base = GivenAnswer { reasoning: "hm".to_owned(), ..answer("yes") };
    let differing = |change: Change| {
        let mut other = base.clone();
        change(&mut other);
        parting(&base, &other, 1)
    };
    let cases: [(Change, AnswerPart, u64); 4] = [
        (|it| (it.reasoning, it.content) = ("hmm".into(), "no".into()), AnswerPart::Reasoning, 2),
        (|it| it.content = "yep".into(), AnswerPart::Content, 2),
        (|it| it.finish_reasons = vec!["length".into()], AnswerPart::FinishReasons, 3),
        (|it| it.finish_reasons.clear(), AnswerPart::FinishReasons, 3),
    ];
    for (change, part, character) in cases {
        assert_eq!(differing(change), Some(place(part, character, 1)));
    }
    assert_eq!(differing(|it| it.event_ends = Some(Vec::new())), None, "cuts say nothing");
}

#[test]
fn a_place_names_the_event_that_brought_it_where_cuts_are_known() {
    // Reasoning "hm ok" in two events, content "yes." in two.
    let base = GivenAnswer {
        reasoning: "hm ok".to_owned(),
        event_ends: Some(vec![[2, 0], [5, 0], [5, 3], [5, 4]]),
        ..answer("yes.")
    };
    let event = |change: Change| {
        let mut other = base.clone();
        change(&mut other);
        parting(&base, &other, 1).and_then(|place| place.output_event)
    };
    let cases: [(Change, u64); 7] = [
        (|it| it.reasoning = "ha".into(), 0),
        (|it| it.reasoning = "hm no".into(), 1),
        (|it| it.reasoning = "hm ok so".into(), 2),
        (|it| it.content = "no".into(), 2),
        (|it| it.content = "yes!".into(), 3),
        (|it| it.content = "yes. And".into(), 4),
        (|it| it.finish_reasons.clear(), 4),
    ];
    for (change, expected) in cases {
        assert_eq!(event(change), Some(expected));
    }
}
