//! Journals that no client can have written.

use streamgauge_schema::{ChoiceTimeline, Ending, Failure, Load, StreamError, Usage};

use super::*;
use crate::sample_run::ended;

/// A change to the first request of three.
type Change = fn(&mut RequestLine);

/// Changes the observation of a line.
fn seen(line: &mut RequestLine) -> &mut Observation {
    line.observation.as_mut().unwrap()
}

fn failure(class: FailureClass) -> Option<Failure> {
    Some(Failure { class, message: "told".into() })
}

fn choice(index: u64, first_us: Option<u64>, last_us: Option<u64>, events: u64) -> ChoiceTimeline {
    let (first_output_us, last_output_us) = (first_us, last_us);
    ChoiceTimeline { index, first_output_us, last_output_us, output_events: events }
}

/// Two choices of the response with output at 200, 300, 400 and 1,000 ms.
fn two_choices(line: &mut RequestLine, second: ChoiceTimeline) {
    let seen = seen(line);
    seen.choices = 2;
    seen.choice_timelines = vec![choice(0, Some(200_000), Some(400_000), 3), second];
}

/// `Err` with what a line contradicts.
fn built(change: impl Fn(&mut RequestLine)) -> Result<RunRecordV2, RecordError> {
    let mut run = Run::of_three();
    change(&mut run.lines[0]);
    run.build()
}

#[test]
fn lines_that_contradict_themselves() {
    let cases: [(Change, &str); 45] = [
        (|line| line.completion = Completion::NotSent, "completion is not_sent, of a line"),
        (
            |line| line.completion = Completion::Failed,
            "completion is failed, failure is null, the observation shows success",
        ),
        (
            |line| {
                line.completion = Completion::Failed;
                line.failure = failure(FailureClass::Reset);
            },
            "completion is failed, failure is reset, the observation shows success",
        ),
        (
            |line| line.failure = failure(FailureClass::Reset),
            "completion is succeeded, failure is reset, the observation shows success",
        ),
        (
            |line| line.observation = None,
            "completion is succeeded, failure is null, the observation shows no success",
        ),
        (
            |line| seen(line).http_status = 500,
            "completion is succeeded, failure is null, the observation shows no success",
        ),
        (
            |line| line.completion = Completion::TimedOut,
            "completion is timed_out, failure is null, the observation shows success",
        ),
        (
            |line| {
                line.completion = Completion::TimedOut;
                line.failure = failure(FailureClass::HttpStatus);
            },
            "completion is timed_out, failure is http_status, the observation shows success",
        ),
        (
            |line| {
                line.completion = Completion::Cancelled;
                line.failure = failure(FailureClass::Reset);
            },
            "completion is cancelled, failure is reset, the observation shows success",
        ),
        (
            |line| {
                line.completion = Completion::Failed;
                line.failure = failure(FailureClass::Reset);
                seen(line).error = error(FailureClass::HttpStatus);
            },
            "failure is reset, observation.error is http_status",
        ),
        (|line| line.attempts = 0, "attempts is 0 of a request that was sent"),
        (
            |line| line.last_attempt_started_us = 99_999,
            "started_us is 100000, above last_attempt_started_us: 99999",
        ),
        (
            |line| line.headers_us = Some(1_000_001),
            "headers_us is 1000001, above elapsed_us: 1000000",
        ),
        (
            |line| line.elapsed_us = 60_000_000,
            "elapsed_us is 60000000, observation.elapsed_us is 1000000",
        ),
        (
            |line| *line = ended(line.clone(), 999_999),
            "last_output_us is 1000000, above elapsed_us: 999999",
        ),
        (|line| seen(line).output_events = 5, "output_events is 5, arrivals in number is 4"),
        (
            |line| seen(line).output_events = u64::MAX,
            "output_events is 18446744073709551615, arrivals in number is 4",
        ),
        (|line| seen(line).arrivals_us.clear(), "output_events is 4, arrivals in number is 0"),
        (
            |line| seen(line).arrivals_us[0] = 1,
            "first_output_us is 200000, the first of arrivals_us is 1",
        ),
        (
            |line| seen(line).first_output_us = None,
            "first_output_us is null, the first of arrivals_us is 200000",
        ),
        (
            |line| seen(line).arrivals_us[3] = 1,
            "last_output_us is 1000000, the sum of arrivals_us is 400001",
        ),
        (
            |line| seen(line).last_output_us = Some(999_999),
            "last_output_us is 999999, the sum of arrivals_us is 1000000",
        ),
        (|line| seen(line).arrivals_us[3] = u64::MAX, "arrivals_us has no sum within 64 bits"),
        (
            |line| seen(line).first_event_us = Some(200_001),
            "first_event_us is 200001, above first_output_us: 200000",
        ),
        (
            |line| seen(line).first_event_us = None,
            "first_event_us is null although there was an event with output",
        ),
        (
            |line| seen(line).generated_events = 3,
            "generated_events is 3, output_events but for not_generated is 4",
        ),
        (
            |line| seen(line).not_generated = vec![1],
            "generated_events is 4, output_events but for not_generated is 3",
        ),
        (
            |line| seen(line).not_generated = vec![4],
            "not_generated has 4, which is no further place among 4 arrivals",
        ),
        (
            |line| seen(line).not_generated = vec![2, 1],
            "not_generated has 1, which is no further place among 4 arrivals",
        ),
        (
            |line| seen(line).not_generated = vec![1, 1],
            "not_generated has 1, which is no further place among 4 arrivals",
        ),
        (
            |line| seen(line).first_generated_us = Some(199_999),
            "first_generated_us is 199999, the first generated of arrivals_us is 200000",
        ),
        (
            |line| (seen(line).not_generated, seen(line).generated_events) = (vec![3], 3),
            "last_generated_us is 1000000, the last generated of arrivals_us is 400000",
        ),
        (
            |line| seen(line).first_content_us = Some(1),
            "first_generated_us is 200000, the first of reasoning and content is 1",
        ),
        (
            |line| seen(line).first_reasoning_us = Some(1_000_001),
            "first_reasoning_us is 1000001, above last_generated_us: 1000000",
        ),
        (
            |line| seen(line).first_tool_call_us = Some(199_999),
            "first_output_us is 200000, above first_tool_call_us: 199999",
        ),
        (
            |line| seen(line).first_tool_call_us = Some(1_000_001),
            "first_tool_call_us is 1000001, above last_output_us: 1000000",
        ),
        (
            |line| seen(line).whole_body_output = true,
            "whole_body_output is true, output_events is 4",
        ),
        (
            |line| seen(line).token_counts = Some(vec![3, 3, 3]),
            "token_counts in number is 3, output_events is 4",
        ),
        (|line| seen(line).token_counts = Some(vec![3, 0, 3, 3]), "token_counts has a 0"),
        (
            |line| seen(line).token_counts = Some(vec![u64::MAX, 1, 1, 1]),
            "token_counts has no sum within 64 bits",
        ),
        (
            |line| seen(line).token_counts = Some(vec![3, 3, 3, 3]),
            "the sum of token_counts is 12, above completion_tokens: 10",
        ),
        (
            |line| two_choices(line, choice(0, Some(200_000), Some(400_000), 1)),
            "choice_timelines does not rise by index",
        ),
        (
            |line| {
                two_choices(line, choice(1, Some(1_000_000), Some(1_000_000), 1));
                seen(line).choices = 3;
            },
            "choice_timelines in number is 2, choices is 3",
        ),
        (
            |line| two_choices(line, choice(1, Some(300_000), Some(1_000_001), 2)),
            "choice 1 has 2 output events from 300000 to 1000001, the response has 4 from 200000 \
             to 1000000",
        ),
        (
            |line| two_choices(line, choice(1, None, None, 1)),
            "choice 1 has 1 output events from null to null, the response has 4 from 200000 to \
             1000000",
        ),
    ];
    for (change, expected) in cases {
        let (stage, index, contradiction) = (Stage::Measured, 0, expected.to_owned());
        let expected = RecordError::Contradiction { stage, index, contradiction };
        assert_eq!(built(change).map(|record| record.run_id), Err(expected));
    }
}

fn error(class: FailureClass) -> Option<StreamError> {
    Some(StreamError { class, message: None, code: None, event: None })
}

/// What a client does write, odd as it may look.
#[test]
fn lines_that_clients_write() {
    let cases: [(&str, Change); 10] = [
        ("cancelled under way, with what had come", |line| {
            line.completion = Completion::Cancelled;
            seen(line).ending = Some(Ending::Truncated);
            seen(line).error = error(FailureClass::PrematureEof);
        }),
        ("cancelled although the stream was whole", |line| {
            line.completion = Completion::Cancelled;
        }),
        ("cancelled before any head", |line| {
            (line.completion, line.observation) = (Completion::Cancelled, None);
        }),
        ("out of time although the stream was whole", |line| *line = timed_out(line.clone())),
        ("out of time before any head", |line| {
            *line = timed_out(line.clone());
            (line.headers_us, line.observation) = (None, None);
        }),
        ("sent once more", |line| {
            (line.attempts, line.last_attempt_started_us) = (2, 150_000);
        }),
        ("one JSON body", |line| {
            let whole = Observation { whole_body_output: true, ..observation(&[], 9) };
            line.observation = Some(whole);
            *line = ended(line.clone(), 1_000_000);
        }),
        ("one body without output", |line| *line = silent(0, 100, 1_000, 9)),
        ("a tool call, tokens counted", |line| {
            let seen = seen(line);
            (seen.not_generated, seen.generated_events) = (vec![0, 3], 2);
            (seen.first_generated_us, seen.last_generated_us) = (Some(300_000), Some(400_000));
            (seen.first_content_us, seen.first_tool_call_us) = (Some(300_000), Some(200_000));
            seen.token_counts = Some(vec![1, 2, 3, 4]);
        }),
        ("two choices, one of them without output", |line| {
            two_choices(line, choice(7, None, None, 0));
            seen(line).usage = Some(Usage::default());
        }),
    ];
    for (what, change) in cases {
        match built(change) {
            Ok(record) => assert_sound(&record),
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

#[test]
fn warm_up_is_held_to_itself_too() {
    let mut run = Run::of_three();
    run.plan.load.warmup = 2;
    run.lines.push(RequestLine { stage: Stage::Warmup, ..succeeded(0, 0, &[50, 60], 3) });
    run.lines.push(RequestLine { stage: Stage::Warmup, ..succeeded(1, 0, &[50, 60], 3) });
    assert_eq!(run.record().load.warmup, 2);
    seen(&mut run.lines[4]).arrivals_us[1] = 20_000;
    let error = run.build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "warmup request 1 of the journal contradicts itself: last_output_us is 60000, the sum of \
         arrivals_us is 70000"
    );
    // Of a run that was taken up again it is done twice.
    run.lines[4] = run.lines[3].clone();
    let stage = Stage::Warmup;
    assert_eq!(run.build(), Err(RecordError::RepeatedRequest { stage, index: 0 }));
    run.lines[4].index = 2;
    assert_eq!(run.build(), Err(RecordError::UndeclaredRequest { stage, index: 2, declared: 2 }));
}

#[test]
fn lines_and_plan_belong_together() {
    let mut run = Run::of_three();
    let stage = Stage::Measured;
    run.lines[2].index = 1;
    assert_eq!(run.build(), Err(RecordError::RepeatedRequest { stage, index: 1 }));
    run.lines[2].index = 3;
    assert_eq!(run.build(), Err(RecordError::UndeclaredRequest { stage, index: 3, declared: 3 }));

    let run = Run::of_three();
    let other = header(&plan(4, 2));
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: other.started_at,
        lines: 4,
        listed_models: None,
    };
    let input = RunInput {
        plan: &run.plan,
        header: &other,
        requests: &run.lines,
        trailer: Some(&trailer),
        grades: None,
        evidence: Vec::new(),
    };
    assert!(matches!(build_record(&input), Err(RecordError::PlanDiffers { .. })));
    let header = header(&run.plan);
    let input = RunInput { header: &header, ..input };
    let missing = RecordError::LinesMissing { announced: 4, found: 3 };
    assert_eq!(build_record(&input), Err(missing.clone()));
    assert_eq!(build_cases(&input), Err(missing));

    let trailer = JournalTrailer { lines: 2, ..trailer.clone() };
    let input = RunInput { requests: &run.lines[..2], trailer: Some(&trailer), ..input };
    assert_eq!(build_record(&input), Err(RecordError::NotFinished { declared: 3, found: 2 }));
}

#[test]
fn plans_of_too_many_requests_are_refused_at_once() {
    let most = Load::MAX_REQUESTS;
    let cases = [
        (most + 1, 0, Stage::Measured, most + 1),
        (u64::MAX, u64::MAX, Stage::Measured, u64::MAX),
        (3, most + 1, Stage::Warmup, most + 1),
    ];
    for (requests, warmup, stage, too_many) in cases {
        let mut run = Run::of_three();
        (run.plan.load.requests, run.plan.load.warmup) = (requests, warmup);
        let expected = RecordError::TooManyRequests { stage, requests: too_many };
        let header = header(&run.plan);
        let input = RunInput {
            plan: &run.plan,
            header: &header,
            requests: &run.lines,
            trailer: None,
            grades: None,
            evidence: Vec::new(),
        };
        assert_eq!(build_record(&input), Err(expected.clone()));
        assert_eq!(build_cases(&input), Err(expected));
    }
    let error = RecordError::TooManyRequests { stage: Stage::Warmup, requests: most + 1 };
    assert_eq!(
        error.to_string(),
        "the plan holds 10000001 warmup requests, a run has at most 10000000 of a stage"
    );
}
