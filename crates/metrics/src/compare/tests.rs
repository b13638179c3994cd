//! The point rule on built records.

use streamgauge_schema::{
    CacheState, Condition, Digest, Document, EndReason, EvidenceMode, FailureClass, Identifier,
    JournalTrailer, OutputPolicy, Plan, PublicText, RequestLine, RetriedAttempt, Retries,
    RunRecord, RunRecordV2, TimeBasis, Timestamp,
};

use super::*;
use crate::gate::{GateOutcome, verdict};
use crate::record::{RunInput, build_record, to_v1};
use crate::sample_blocks::{add_share, turnover_run};
use crate::sample_run::{header, plan, refused, succeeded};
use crate::verify::verify;

fn built(plan: &Plan, lines: &[RequestLine]) -> RunRecordV2 {
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(1_790_000_009_000_000),
        lines: lines.len() as u64,
        listed_models: None,
    };
    let header = header(plan);
    let input = RunInput {
        plan,
        header: &header,
        requests: lines,
        trailer: Some(&trailer),
        grades: None,
        evidence: Vec::new(),
    };
    build_record(&input).unwrap()
}

/// Three requests with first output at 100 ms, four gaps of `gap_ms`, and 5 tokens each.
fn run(plan: &Plan, gap_ms: u64) -> RunRecordV2 {
    let outputs: Vec<u64> = (0..5).map(|n| 100 + gap_ms * n).collect();
    let lines: Vec<RequestLine> = (0..3).map(|n| succeeded(n, 1000 * n, &outputs, 5)).collect();
    built(plan, &lines)
}

fn sample(cell: &str, gap_ms: u64) -> RunRecordV2 {
    let mut plan = plan(3, 1);
    plan.load.cell = Identifier::new(cell).unwrap();
    run(&plan, gap_ms)
}

fn v2(record: &RunRecordV2) -> RunRecord {
    RunRecord::V2(Box::new(record.clone()))
}

fn compare(
    baseline: &[RunRecordV2],
    candidate: &[RunRecordV2],
) -> Result<Comparison, CompareError> {
    let [baseline, candidate] = [baseline, candidate].map(|side| side.iter().map(v2).collect());
    let (baseline, candidate): (Vec<RunRecord>, Vec<RunRecord>) = (baseline, candidate);
    compare_point(&baseline, &candidate, &[], InsecureRuns::Refused)
}

/// The comparison of one cell; what it says must verify.
fn sound(baseline: &RunRecordV2, candidate: &RunRecordV2) -> Comparison {
    let comparison =
        compare(std::slice::from_ref(baseline), std::slice::from_ref(candidate)).unwrap();
    let document = Document::Comparison(Box::new(comparison.clone()));
    let broken: Vec<_> = verify(&document).broken().cloned().collect();
    assert!(broken.is_empty(), "{broken:#?}");
    let read = Document::read(&document.file_bytes().unwrap()).unwrap();
    assert_eq!(read, document);
    comparison
}

fn error(baseline: &[RunRecordV2], candidate: &[RunRecordV2]) -> String {
    compare(baseline, candidate).unwrap_err().to_string()
}

#[test]
fn one_cell() {
    let comparison = sound(&sample("c1", 100), &sample("c1", 112));
    let (name, cell) = &comparison.cells.0[0];
    assert_eq!(name.as_str(), "c1");
    assert_eq!((cell.baseline_requests, cell.candidate_requests), (3, 3));
    assert_eq!(cell.median_prompt_tokens, Some(512.0));
    let found: Vec<_> =
        cell.metrics.iter().map(|(name, metric)| (name.as_str(), *metric)).collect();
    let metric = |baseline: f64, candidate: f64, within| MetricComparison {
        baseline: Some(baseline),
        candidate: Some(candidate),
        delta_percent: Some((candidate / baseline - 1.0) * 100.0),
        no_more_than_5_percent_regression: within,
    };
    assert_eq!(
        found,
        [
            ("ttft_p50_ms", metric(100.0, 100.0, true)),
            ("e2e_p50_ms", metric(500.0, 548.0, false)),
            ("decode_tok_s_p50", metric(10.0, 4.0 / 0.448, false)),
        ]
    );
    assert!(!comparison.performance_gate_passed);
    assert_eq!(verdict(&comparison), GateOutcome::Failed);
    let texts = [
        &comparison.baseline_image,
        &comparison.candidate_image,
        &comparison.promotion,
        &comparison.human_decision,
        &comparison.qualification,
    ];
    assert_eq!(
        texts.map(PublicText::as_str),
        [
            "unknown",
            "unknown",
            "undecided",
            "undecided",
            "point rule: noise between runs was not considered",
        ]
    );
}

#[test]
fn verdicts() {
    let baseline = sample("c1", 100);
    let mut limited = sample("c1", 100);
    limited.instrument.client_limited.push(Identifier::new("e2e_p50_ms").unwrap());
    let mut bent_elsewhere = sample("c1", 100);
    bent_elsewhere.instrument.client_limited.push(Identifier::new("tpot_p50_ms").unwrap());
    let mut unmeasured = sample("c1", 100);
    for metric in &mut unmeasured.metrics {
        if metric.id.as_str() == "decode_rate_p50_tok_per_s" {
            metric.value = None;
        }
    }
    let failing = {
        let mut lines: Vec<_> =
            (0..2).map(|n| succeeded(n, 1000 * n, &[100, 200, 300, 400, 500], 5)).collect();
        lines.push(refused(2, 2000, 1));
        let mut plan = plan(3, 1);
        plan.load.cell = Identifier::new("c1").unwrap();
        built(&plan, &lines)
    };
    let cases = [
        ("the same", sample("c1", 100), GateOutcome::Passed),
        ("faster", sample("c1", 90), GateOutcome::Passed),
        // 520 ms is within 5 percent of 500 ms, and 9.6 tok/s of 10.
        ("slower by 4 percent", sample("c1", 105), GateOutcome::Passed),
        ("slower by 6 percent", sample("c1", 108), GateOutcome::Failed),
        ("a gated metric bent by the client", limited, GateOutcome::Ineligible),
        ("another metric bent by the client", bent_elsewhere, GateOutcome::Passed),
        ("a metric without a value", unmeasured, GateOutcome::NotEvaluated),
        ("a failed request", failing, GateOutcome::Ineligible),
    ];
    for (name, candidate, expected) in cases {
        let comparison = sound(&baseline, &candidate);
        assert_eq!(verdict(&comparison), expected, "{name}");
        assert_eq!(comparison.performance_gate_passed, expected == GateOutcome::Passed, "{name}");
    }
}

#[test]
fn runs_pair_up_by_cell() {
    let [one, two, three] = ["c1", "c2", "c3"].map(|cell| sample(cell, 100));
    let comparison = compare(&[two.clone(), one.clone()], &[one.clone(), two.clone()]).unwrap();
    let cells: Vec<&str> = comparison.cells.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(cells, ["c2", "c1"]);

    let old = to_v1(&one).unwrap();
    let mut lacking = one.clone();
    lacking.metrics.retain(|metric| !metric.id.as_str().starts_with("e2e_"));
    let [pair, only_one] = [[one.clone(), two.clone()], [one.clone(), three]];
    let cases = [
        (error(&pair, &pair[..1]), "cell c2 stands on the baseline side only"),
        (error(&pair[..1], &pair), "cell c2 stands on the candidate side only"),
        (error(&pair, &only_one), "cell c3 stands on the candidate side only"),
        (error(&[], &pair), "there is no baseline record of a run that measured speed"),
        (error(&pair, &[]), "there is no candidate record of a run that measured speed"),
        (
            error(&pair[..1], &[one.clone(), one.clone()]),
            "cell c1 has more than one run on the candidate side: the point rule takes one; name one of \
             them, or judge them all by the interval rule",
        ),
        (
            error(&pair[..1], std::slice::from_ref(&lacking)),
            &format!("candidate record {} has no e2e_p50_ms", lacking.run_id),
        ),
        (
            compare_point(
                &[RunRecord::V1(Box::new(old.clone()))],
                &[v2(&one)],
                &[],
                InsecureRuns::Refused,
            )
            .unwrap_err()
            .to_string(),
            &format!(
                "baseline record {} has no ttft_p50_ms, e2e_p50_ms, decode_rate_p50_tok_per_s",
                old.run_id
            ),
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn matching_conditions() {
    type Change = fn(&mut RunRecordV2);
    let cases: [(&str, Change); 9] = [
        ("cache_state", |run| run.performance.cache_state = CacheState::ColdEngine),
        ("dataset", |run| run.suite_sha256 = Digest::of(b"other")),
        ("grader", |run| run.evaluator_sha256 = Some(Digest::of(b"grader"))),
        ("load_shape", |run| {
            let shape = |it: &&mut Condition| it.label.as_str() == "Load shape";
            let condition = run.conditions.iter_mut().find(shape).unwrap();
            condition.value = PublicText::new("Open loop").unwrap();
        }),
        ("metric_definitions", |run| {
            let ttft = run.metrics.iter_mut().find(|it| it.id.as_str() == "ttft_p50_ms").unwrap();
            ttft.definition = PublicText::new("something else").unwrap();
        }),
        ("request_settings", |run| {
            let settings = |it: &&mut Condition| it.label.as_str() == "Request settings";
            let condition = run.conditions.iter_mut().find(settings).unwrap();
            condition.value = PublicText::new("temperature 1").unwrap();
        }),
        ("target_input", |run| run.performance.target_input_tokens = None),
        ("time_basis", |run| run.instrument.time_basis = TimeBasis::Kernel),
        ("token_accounting", |run| {
            run.performance.token_accounting =
                streamgauge_schema::TokenAccounting::CompletionIncludesReasoning;
        }),
    ];
    let baseline = sample("c1", 100);
    let mut all_differ = sample("c1", 100);
    all_differ.evidence_mode = EvidenceMode::Simulated;
    all_differ.instrument.client_limited.push(Identifier::new("ttft_p50_ms").unwrap());
    for (name, change) in cases {
        let mut candidate = sample("c1", 100);
        change(&mut candidate);
        change(&mut all_differ);
        let condition: MatchingCondition = name.parse().unwrap();
        assert_eq!(condition.as_str(), name);
        let refused =
            compare_point(&[v2(&baseline)], &[v2(&candidate)], &[], InsecureRuns::Refused)
                .unwrap_err();
        let CompareError::Differing { differences } = &refused else { panic!("{refused:?}") };
        let found: Vec<_> = differences.iter().map(|it| it.condition).collect();
        assert_eq!(found, [condition]);
        assert_ne!(differences[0].baseline, differences[0].candidate);
        let allowed =
            compare_point(&[v2(&baseline)], &[v2(&candidate)], &[condition], InsecureRuns::Refused)
                .unwrap();
        let qualification = allowed.qualification.as_str();
        assert!(qualification.ends_with(&format!("; allowed to differ: {name}")));
    }
    let everything = compare_point(
        &[v2(&baseline)],
        &[v2(&all_differ)],
        &MatchingCondition::ALL,
        InsecureRuns::Refused,
    )
    .unwrap();
    assert_eq!(
        everything.qualification.as_str(),
        "point rule: noise between runs was not considered; a simulated server answered; bent by \
         the client; 9 conditions allowed to differ"
    );
}

#[test]
fn differences_are_told_with_both_values() {
    let mut candidate = sample("c1", 100);
    candidate.performance.cache_state = CacheState::ColdEngine;
    candidate.performance.target_input_tokens = Some(1024);
    assert_eq!(
        error(&[sample("c1", 100)], &[candidate]),
        "the sides are not comparable: cache_state of cell c1 (baseline: unknown; candidate: \
         cold_engine), target_input of cell c1 (baseline: 512 tokens; candidate: 1024 tokens)"
    );
    let unknown = "cache".parse::<MatchingCondition>().unwrap_err().to_string();
    assert!(unknown.starts_with("\"cache\" is none of cache_state, dataset, "), "{unknown}");
}

#[test]
fn images_and_prompt_tokens() {
    let with_image = |cell: &str, image: &str| {
        let mut plan = plan(3, 1);
        plan.load.cell = Identifier::new(cell).unwrap();
        plan.image = Some(PublicText::new(image).unwrap());
        run(&plan, 100)
    };
    let build = [with_image("c1", "registry/name:1"), with_image("c2", "registry/name:1")];
    let mixed = [with_image("c1", "registry/name:2"), with_image("c2", "registry/name:3")];
    let comparison = compare(&build, &build).unwrap();
    assert_eq!(comparison.baseline_image.as_str(), "registry/name:1");
    assert_eq!(
        error(&build, &mixed),
        "the candidate side names several images: registry/name:2, registry/name:3"
    );

    // One number stands for both sides, or none.
    let sized = |sizes: [Option<u64>; 3]| {
        let line = |(index, prompt_tokens)| {
            let mut line = succeeded(index, 1000 * index, &[100, 200], 2);
            let usage = line.observation.as_mut().unwrap().usage.as_mut().unwrap();
            usage.prompt_tokens = prompt_tokens;
            line
        };
        built(&plan(3, 1), &(0..).zip(sizes).map(line).collect::<Vec<_>>())
    };
    let cases = [
        ([Some(500), Some(600), Some(512)], [Some(512); 3], Some(512.0)),
        ([Some(600), None, Some(601)], [Some(600), Some(601), None], Some(600.5)),
        ([Some(512); 3], [Some(600); 3], None),
        ([Some(512); 3], [None; 3], None),
        ([None; 3], [None; 3], None),
    ];
    for (baseline, candidate, expected) in cases {
        let comparison = sound(&sized(baseline), &sized(candidate));
        assert_eq!(comparison.cells.0[0].1.median_prompt_tokens, expected, "{candidate:?}");
    }
}

#[test]
fn another_model_than_the_expected_one_is_never_eligible() {
    let mut expecting = plan(3, 1);
    expecting.target.expect_model = "another-model".to_owned();
    let comparison = compare_point(
        &[RunRecord::V2(Box::new(run(&plan(3, 1), 10)))],
        &[RunRecord::V2(Box::new(run(&expecting, 10)))],
        &[],
        InsecureRuns::Refused,
    )
    .unwrap();
    assert_eq!(verdict(&comparison), GateOutcome::Ineligible);
    let said = comparison.qualification.as_str();
    assert!(said.contains("a model other than the expected one answered"), "{said}");
}

#[test]
fn turnover_runs_fill_members_of_their_own() {
    let strict =
        |variant, minute, failed| turnover_run(variant, minute, OutputPolicy::Strict, failed);
    let (old, new) = (sample("c1", 100), sample("c1", 100));
    let of = |run: &RunRecordV2| run.turnover.as_ref().map(|report| report.outcome.clone());
    let before = strict("old", 60, 7);
    // The later run comes first among the arguments, and is the repeat nevertheless.
    let (first, repeat) = (strict("new", 61, 2), strict("new", 62, 3));
    let candidate = [repeat.clone(), new.clone(), first.clone()];
    let found = compare(&[old.clone(), before.clone()], &candidate).unwrap();
    assert_eq!(found.baseline_turnover, of(&before));
    assert_eq!(found.candidate_turnover, of(&first));
    assert_eq!(found.candidate_turnover_repeat, of(&repeat));
    assert!(found.performance_gate_passed && !found.strict_turnover_gate_passed);
    assert_eq!(verdict(&found), GateOutcome::Failed);
    let compared = Compared::V1(&found);
    assert!(
        was_compared(compared, &v2(&repeat)) && !was_compared(compared, &v2(&strict("new", 63, 4)))
    );
    assert!(verify(&Document::Comparison(Box::new(found))).holds());

    let passed = compare(std::slice::from_ref(&old), &[new.clone(), strict("new", 61, 0)]).unwrap();
    assert!(passed.strict_turnover_gate_passed);
    assert_eq!(verdict(&passed), GateOutcome::Passed);

    let too_many = [new, first, repeat, strict("new", 63, 0)];
    let text = error(std::slice::from_ref(&old), &too_many);
    assert!(text.contains("the candidate side has 3 turnover runs"), "{text}");
    assert_eq!(
        error(&[before], &[old]),
        "there is no baseline record of a run that measured speed"
    );
}

#[test]
fn a_candidate_that_answers_fewer_right_is_not_eligible() {
    let graded = |run: &RunRecordV2, rate| {
        let mut run = run.clone();
        add_share(&mut run, "pass_ratio", rate);
        run
    };
    let (old, new) = (sample("c1", 100), sample("c1", 90));
    for (rates, eligible) in [
        ((0.9, 0.9), true),
        ((0.9, 1.0), true),
        ((1.0, 0.96), true),
        ((1.0, 0.94), false),
        ((0.0, 0.0), true),
    ] {
        let comparison = sound(&graded(&old, rates.0), &graded(&new, rates.1));
        let cell = &comparison.cells.0[0].1;
        assert!(cell.baseline_performance_eligible, "{rates:?}");
        assert_eq!(cell.candidate_performance_eligible, eligible, "{rates:?}");
        let said = comparison.qualification.as_str().contains("answers fewer requests right");
        assert_eq!(said, !eligible, "{rates:?}");
    }
}

/// A run that did not verify its server.
fn insecure(cell: &str) -> RunRecordV2 {
    let mut plan = plan(3, 1);
    plan.load.cell = Identifier::new(cell).unwrap();
    plan.target.base_url = "https://h".to_owned();
    plan.target.route.unverified = true;
    run(&plan, 100)
}

#[test]
fn no_gate_is_judged_by_a_server_that_was_not_verified_unless_that_is_allowed() {
    let (verified, insecure) = (v2(&sample("c1", 100)), v2(&insecure("c1")));
    for (old, new, side) in
        [(&insecure, &verified, Side::Baseline), (&verified, &insecure, Side::Candidate)]
    {
        let compare =
            |rule| compare_point(std::slice::from_ref(old), std::slice::from_ref(new), &[], rule);
        let run_id = insecure.run_id().clone();
        let refused = compare(InsecureRuns::Refused).unwrap_err();
        assert_eq!(refused, CompareError::Insecure { side, run_id });
        let allowed = compare(InsecureRuns::Allowed).unwrap();
        let said = allowed.qualification.as_str();
        assert!(said.ends_with("; a server was not verified (TLS)"), "{said}");
    }
}

#[test]
fn what_was_sent_again_is_said_and_policies_must_agree() {
    let policy = |plan: &mut Plan| {
        plan.retries = Some(Retries { most: 2, longest_pause_ms: 30_000 });
    };
    let retried = |times: u32| {
        let mut plan = plan(3, 1);
        policy(&mut plan);
        let mut lines: Vec<RequestLine> =
            (0..3).map(|n| succeeded(n, 1000 * n, &[100, 200, 300, 400, 500], 5)).collect();
        let line = &mut lines[1];
        line.attempts += times;
        line.last_attempt_started_us += 90_000;
        line.retried = (0..u64::from(times))
            .map(|n| RetriedAttempt {
                class: FailureClass::HttpStatus,
                http_status: Some(429),
                started_us: line.started_us + 20_000 * n,
                elapsed_us: 1_000,
                paused_us: 2_000,
            })
            .collect();
        built(&plan, &lines)
    };
    let (calm, busy) = (retried(0), retried(2));
    assert_eq!(busy.instrument.resends, 0);
    assert_eq!(
        (value(&calm, "retried_ratio"), value(&sample("c1", 100), "retried_ratio")),
        (Some(0.0), None)
    );
    assert_eq!(value(&busy, "retried_ratio"), Some(1.0 / 3.0));
    let said = busy.limitations.iter().any(|it| {
        it.as_str().starts_with(
            "Requests of which attempts failed and were made again by policy: 1 of 3, 2 ",
        )
    });
    assert!(said, "{:?}", busy.limitations);
    let comparison = sound(&calm, &busy);
    let said = comparison.qualification.as_str();
    assert!(said.ends_with("; failed attempts were made again"), "{said}");
    assert_eq!(
        sound(&calm, &calm.clone()).qualification.as_str(),
        "point rule: noise between runs was not considered"
    );

    let without = run(&plan(3, 1), 100);
    let differing = error(&[without], &[calm]);
    assert!(
        differing.starts_with("the sides are not comparable: request_settings of cell"),
        "{differing}"
    );

    // A plan without the policy has no such lines.
    let mut lines = vec![succeeded(0, 0, &[100], 1)];
    lines[0].attempts = 2;
    lines[0].retried = vec![RetriedAttempt {
        class: FailureClass::Connect,
        http_status: None,
        started_us: 0,
        elapsed_us: 0,
        paused_us: 0,
    }];
    let plan = plan(1, 1);
    let header = header(&plan);
    let input = RunInput {
        plan: &plan,
        header: &header,
        requests: &lines,
        trailer: None,
        grades: None,
        evidence: Vec::new(),
    };
    let refused = build_record(&input).unwrap_err().to_string();
    assert!(refused.contains("the plan allows 0"), "{refused}");
}
