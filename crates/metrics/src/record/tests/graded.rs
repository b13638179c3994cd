//! Runs whose answers were graded.

use streamgauge_schema::{Dialect, Grade, GradeCheck, GraderName, Grades, Tally};

use super::*;
use crate::RunCollector;
use crate::sample_run::{grades, grading, header, receipt};

/// Three answers, of which the last one is wrong.
fn three() -> (Run, Grades) {
    let mut run = Run::of_three();
    run.plan.grading = Some(grading());
    let receipts = run.lines.iter().map(|line| receipt(line, line.index < 2)).collect();
    (run, grades(receipts))
}

fn outcomes(record: &RunRecordV2) -> Vec<(CaseOutcome, CaseOutcome, Option<FailureStage>)> {
    let cases = record.cases.iter().flatten();
    cases.map(|it| (it.outcome, it.primary_outcome, it.failure_stage.clone())).collect()
}

#[test]
fn answers_are_joined_by_prompt_whatever_the_order() {
    use CaseOutcome::{Fail, Pass};
    let (run, mut grades) = three();
    let record = run.graded(Some(&grades)).unwrap();
    assert_sound(&record);
    let wrong = (Fail, Fail, Some(FailureStage::AnswerChecks));
    assert_eq!(outcomes(&record), [(Pass, Pass, None), (Pass, Pass, None), wrong]);
    assert_eq!((record.status, record.counts.primary_passes), (RunStatus::Completed, 2));
    assert_eq!(record.counts.outcomes, [(Pass, 2), (Fail, 1)].into());
    assert!(record.load.performance_eligible, "a wrong answer is no contract");
    assert_eq!(record.evaluator_sha256, Some(grading().evaluator_sha256()));
    assert_eq!(condition(&record, "Correctness scorer"), Some("numeric-v1"));
    assert!(says(&record, "without a right answer: 1 of 3; graded wrong: 1, not graded: 0"));
    assert!(!says(&record, "Nothing graded"));
    for (id, value) in [
        ("pass_ratio", 2.0 / 3.0),
        ("primary_pass_ratio", 2.0 / 3.0),
        ("graded_pass_ratio", 2.0 / 3.0),
    ] {
        assert_eq!(metric(&record, id).value, Some(value), "{id}");
    }
    let interval = metric(&record, "pass_ratio").interval.as_ref().unwrap();
    assert_eq!(interval.method.as_str(), "clopper_pearson");

    grades.receipts.reverse();
    let mut turned = run;
    turned.lines.rotate_left(1);
    assert_eq!(bytes(&turned.graded(Some(&grades)).unwrap()), bytes(&record));
}

/// Primary outcomes of a run whose server listed these models before and after it.
fn primary(run: &Run, grades: &Grades, listed: [Option<&[&str]>; 2]) -> Vec<CaseOutcome> {
    let [before, after] =
        listed.map(|names| names.map(|names| names.iter().copied().map(str::to_owned).collect()));
    let header = JournalHeader { listed_models: before, ..header(&run.plan) };
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(1_790_000_009_000_000),
        lines: 3,
        listed_models: after,
    };
    let mut collector = RunCollector::new(&run.plan, &header).unwrap().graded(grades).unwrap();
    run.lines.iter().for_each(|line| collector.add(line).unwrap());
    let collected = collector.close(Some(&trailer)).unwrap();
    collected.cases().map(|case| case.primary_outcome).collect()
}

#[test]
fn where_responses_name_no_model_the_server_must_list_the_expected_one_alone() {
    use CaseOutcome::{Fail, Pass, Unverified};
    let (mut run, grades) = three();
    for line in &mut run.lines {
        line.observation.as_mut().unwrap().returned_models.clear();
    }
    let expected = run.plan.target.expect_model.clone();
    let (alone, both) = ([expected.as_str()], [expected.as_str(), "other"]);
    let (sure, unsure) = (vec![Pass, Pass, Fail], vec![Unverified; 3]);
    let cases: [(Dialect, [Option<&[&str]>; 2], _); 6] = [
        (Dialect::TgiGenerate, [Some(&alone), Some(&alone)], &sure),
        (Dialect::TgiGenerate, [Some(&alone), None], &unsure),
        (Dialect::TgiGenerate, [None, Some(&alone)], &unsure),
        (Dialect::TgiGenerate, [Some(&alone), Some(&["other"])], &unsure),
        (Dialect::TgiGenerate, [Some(&both), Some(&both)], &unsure),
        // What names its model elsewhere, and here does not, is no evidence.
        (Dialect::OpenaiChat, [Some(&alone), Some(&alone)], &unsure),
    ];
    for (dialect, listed, wanted) in cases {
        run.plan.target.dialect = dialect;
        assert_eq!(&primary(&run, &grades, listed), wanted, "{dialect:?} {listed:?}");
    }
    run.plan.target.dialect = Dialect::TgiGenerate;
    run.lines[1].observation.as_mut().unwrap().returned_models = vec!["other".into()];
    let named = primary(&run, &grades, [Some(&alone), Some(&alone)]);
    assert_eq!(named, [Pass, Unverified, Fail], "a name that was given counts");
}

#[test]
fn without_a_grader_a_record_says_nothing_of_one() {
    let record = Run::of_three().record();
    assert!(record.metrics.iter().all(|metric| !metric.id.as_str().contains("pass")));
    assert_eq!((record.evaluator_sha256, record.counts.primary_passes), (None, 0));
    assert!(says(&record, "Nothing graded the answers"));
}

#[test]
fn every_declared_request_stays_in_the_denominator() {
    use CaseOutcome::{Error, Fail, NotRun, Pass, Timeout, Unverified};
    let mut run = Run::of_three();
    run.plan = plan(8, 3);
    run.plan.grading = Some(grading());
    let mut cut = succeeded(3, 400, &[10, 20], 2);
    cut.observation.as_mut().unwrap().finish_reasons = vec!["length".into()];
    run.lines.extend([
        cut,
        timed_out(succeeded(4, 500, &[10, 20], 2)),
        refused(5, 600, 4),
        succeeded(6, 700, &[10, 20], 2),
    ]);
    // All are right but the second; the last answered one was not graded, and one was never sent.
    let graded = run.lines.iter().filter(|line| line.index < 4);
    let receipts = graded.map(|line| receipt(line, line.index != 1)).collect();
    let record = run.graded(Some(&grades(receipts))).unwrap();
    assert_sound(&record);
    let found: Vec<_> = outcomes(&record).into_iter().map(|(outcome, ..)| outcome).collect();
    assert_eq!(found, [Pass, Fail, Pass, Fail, Timeout, Error, Unverified, NotRun]);
    assert_eq!(record.status, RunStatus::Aborted);
    for (id, value, samples, missing) in [
        ("pass_ratio", 2.0 / 8.0, 8, 0),
        ("primary_pass_ratio", 2.0 / 8.0, 8, 0),
        ("graded_pass_ratio", 2.0 / 4.0, 4, 1),
    ] {
        let found = metric(&record, id);
        assert_eq!((found.value, found.samples, found.missing), (Some(value), samples, missing));
    }
    assert!(says(&record, "that their length limit cut: 1"));
    assert!(says(&record, "6 of 8; graded wrong: 2, not graded: 1, without an answer: 3"));
}

#[test]
fn a_run_that_lost_its_receipts_is_not_completed() {
    let (run, mut grades) = three();
    let record = run.graded(None).unwrap();
    assert_sound(&record);
    assert_eq!(record.status, RunStatus::Aborted);
    assert_eq!(metric(&record, "pass_ratio").value, Some(0.0));
    grades.receipts.pop();
    assert_eq!(run.graded(Some(&grades)).unwrap().status, RunStatus::Aborted);
    // What was graded later is graded as well, though no plan said so.
    let (mut run, grades) = three();
    run.plan.grading = None;
    let record = run.graded(Some(&grades)).unwrap();
    assert_sound(&record);
    assert_eq!(record.status, RunStatus::Completed);
}

#[test]
fn another_model_gives_no_primary_outcome() {
    use CaseOutcome::{Fail, Pass, Unverified};
    let (mut run, grades) = three();
    let models: [&[&str]; 3] = [&["sample-model"], &["sample-model", "other"], &[]];
    for (line, models) in run.lines.iter_mut().zip(models) {
        line.observation.as_mut().unwrap().returned_models =
            models.iter().copied().map(str::to_owned).collect();
    }
    let record = run.graded(Some(&grades)).unwrap();
    assert_sound(&record);
    let found: Vec<_> =
        outcomes(&record).into_iter().map(|(outcome, primary, _)| (outcome, primary)).collect();
    assert_eq!(found, [(Pass, Pass), (Pass, Unverified), (Fail, Unverified)]);
    assert_eq!(metric(&record, "pass_ratio").value, Some(2.0 / 3.0));
    assert_eq!(metric(&record, "primary_pass_ratio").value, Some(1.0 / 3.0));
    assert!(says(&record, "not name exactly the expected model: 2"));
}

/// The receipt as another grader would have given it.
fn of_grader(name: GraderName, grades: &mut Grades) {
    grades.grading.graders[0].name = name;
    grades.receipts.iter_mut().for_each(|receipt| receipt.grader = name);
}

#[test]
fn a_contract_that_was_not_met_passes_no_gate() {
    for (name, stage, eligible) in [
        (GraderName::Canary, FailureStage::Contract, false),
        (GraderName::ControlledOutput, FailureStage::Contract, false),
        (GraderName::JsonSchema, FailureStage::AnswerChecks, true),
    ] {
        let (mut run, mut grades) = three();
        run.plan.grading = None;
        of_grader(name, &mut grades);
        let record = run.graded(Some(&grades)).unwrap();
        assert_sound(&record);
        assert_eq!(record.load.performance_eligible, eligible, "{name}");
        assert_eq!(outcomes(&record)[2].2, Some(stage), "{name}");
        assert_eq!(says(&record, "Contracts that were not met"), !eligible, "{name}");
    }
}

/// What an observed output lacks in words fails nothing. One that was cut is no answer all the same,
/// and one that had to have its words has broken its word.
#[test]
fn an_observed_output_breaks_no_contract() {
    let (mut run, mut grades) = three();
    of_grader(GraderName::ControlledOutput, &mut grades);
    run.plan.grading = None;
    run.lines[2].observation.as_mut().unwrap().finish_reasons = vec!["length".into()];
    let observed = Grade { checks: Vec::new(), words: Some(497), ..receipt(&run.lines[2], true) };
    grades.receipts[2] = Grade { grader: GraderName::ControlledOutput, ..observed };
    let record = run.graded(Some(&grades)).unwrap();
    assert_sound(&record);
    assert!(record.load.performance_eligible);
    assert_eq!(outcomes(&record)[2].2, Some(FailureStage::AnswerChecks));

    let words = GradeCheck { name: Grade::WORDS_CHECK.into(), fault: None };
    grades.receipts[2].checks = vec![words];
    let record = run.graded(Some(&grades)).unwrap();
    assert_sound(&record);
    assert!(!record.load.performance_eligible);
}

#[test]
fn a_fence_that_hides_right_answers_is_named() {
    let (run, mut grades) = three();
    grades.receipts[2].fenced_would_pass = Some(true);
    assert!(says(&run.graded(Some(&grades)).unwrap(), "stand in a Markdown fence, and would pass"));
}

#[test]
fn receipts_that_cannot_be_are_refused() {
    type Change = fn(&mut Run, &mut Grades);
    let cases: [(&str, Change); 11] = [
        ("version 2", |_, grades| grades.grades_version = 2),
        ("has two receipts", |_, grades| grades.receipts[1] = grades.receipts[0].clone()),
        ("belongs to no measured request", |_, grades| {
            grades.receipts[0].prompt_sha256 = Digest::of(b"elsewhere");
        }),
        ("belongs to no measured request", |run, _| run.lines[0] = refused(0, 100, 4)),
        ("passed is true, by its checks it is false", |_, grades| grades.receipts[2].passed = true),
        ("passed is false, by its checks it is true", |_, grades| {
            grades.receipts[0].passed = false
        }),
        ("by its finish reasons the answer's is false", |run, _| {
            run.lines[0].observation.as_mut().unwrap().finish_reasons = vec!["length".into()];
        }),
        ("numeric-v1 is none of the graders", |_, grades| {
            grades.receipts[0].grader_sha256 = Digest::of(b"other rules");
        }),
        ("each once and by name", |_, grades| grades.grading.graders.clear()),
        ("each once and by name", |run, _| {
            let graders = &mut run.plan.grading.as_mut().unwrap().graders;
            graders.push(graders[0]);
        }),
        ("measured requests 0 and 1 have the same prompt", |run, grades| {
            run.lines[1].prompt_sha256 = run.lines[0].prompt_sha256;
            grades.receipts.remove(1);
        }),
    ];
    for (text, change) in cases {
        let (mut run, mut grades) = three();
        change(&mut run, &mut grades);
        let error = run.graded(Some(&grades)).unwrap_err().to_string();
        assert!(error.contains(text), "{text}: {error}");
    }
}

#[test]
fn prompts_are_known_by_their_digests_or_by_their_names_behind_a_nonce() {
    let (mut run, grades) = three();
    let names = ["eggs", "apples", "eggs"];
    for (line, name) in run.lines.iter_mut().zip(names) {
        line.dataset_id = Some(name.to_owned());
    }
    let dataset = |nonce| PromptSource::Dataset {
        path: "sums.jsonl".into(),
        records: 2,
        repeat: false,
        nonce,
    };
    let prompts: Vec<Digest> = run.lines.iter().map(|line| line.prompt_sha256).collect();
    let [eggs, apples] = ["eggs", "apples"].map(|name| Digest::of(name.as_bytes()));
    let tally = |count, of| Tally { count, of };
    for (nonce, expected) in [
        (
            None,
            vec![(prompts[0], tally(1, 1)), (prompts[1], tally(1, 1)), (prompts[2], tally(0, 1))],
        ),
        (Some(7), vec![(eggs, tally(1, 2)), (apples, tally(1, 1))]),
    ] {
        run.plan.workload.source = dataset(nonce);
        let header = header(&run.plan);
        let mut lines = RunCollector::new(&run.plan, &header).unwrap().graded(&grades).unwrap();
        run.lines.iter().for_each(|line| lines.add(line).unwrap());
        let outcomes = lines.close(None).unwrap().outcomes().unwrap();
        assert_eq!(outcomes, expected.into_iter().collect(), "{nonce:?}");
    }
    run.plan.grading = None;
    let header = header(&run.plan);
    let ungraded = RunCollector::new(&run.plan, &header).unwrap();
    assert_eq!(ungraded.close(None).unwrap().outcomes(), None);
}
