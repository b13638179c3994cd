//! What is judged before speed, and leaves no verdict on it.

use streamgauge_schema::{
    Ending, FindingName, FindingVerdict, GateVerdict, Gates, LimitationKind, Observation,
    PublicText, RequestLine, RunRecordV2, Usage,
};

use super::{TTFT, blocks, compared, gates, kinds, only, rules, sound};
use crate::compare::Pairing;
use crate::sample_blocks::{Sides, add_share, set_output_length};
use crate::sample_run::succeeded;

#[test]
fn what_is_judged_before_speed() {
    type Change = fn(&mut RunRecordV2);
    let cases: [(FindingName, Change); 7] = [
        (FindingName::CachedShare, |run| add_share(run, "cached_tokens_ratio", 0.3)),
        (FindingName::Endings, |run| add_share(run, "no_finish_reason_ratio", 0.02)),
        (FindingName::Failures, |run| run.load.succeeded = 990),
        (FindingName::FinishReasons, |run| add_share(run, "length_limited_ratio", 0.02)),
        (FindingName::OutputLength, |run| set_output_length(run, 118.0)),
        (FindingName::ReasoningShare, |run| add_share(run, "reasoning_tokens_ratio", 0.3)),
        (FindingName::Refusals, |run| add_share(run, "refusal_ratio", 0.02)),
    ];
    let lenient = Gates::new(0.05, 0.5, gates(&[TTFT]).gates().into()).unwrap();
    let rules = rules(&lenient, Pairing::ByTime);
    let plain = Sides::blocks(TTFT, &blocks(5, -20.0)).each(|run| {
        for (id, share) in [
            ("cached_tokens_ratio", 0.25),
            ("no_finish_reason_ratio", 0.001),
            ("length_limited_ratio", 0.001),
            ("reasoning_tokens_ratio", 0.25),
            ("refusal_ratio", 0.001),
        ] {
            add_share(run, id, share);
        }
        set_output_length(run, 128.0);
    });
    let alike = sound(&plain, &rules);
    assert_eq!((alike.verdict, alike.findings_judged), (GateVerdict::Pass, 7));
    assert!(!kinds(&alike).contains(&LimitationKind::NotJudgedFirst));
    for (name, change) in cases {
        let mut sides = plain.clone();
        sides.candidate.iter_mut().for_each(change);
        let comparison = sound(&sides, &rules);
        let cell = &comparison.cells.0[0].1;
        let counts = cell.counts.iter().map(|finding| (finding.name, finding.verdict));
        let found = counts.chain(cell.values.iter().map(|finding| (finding.name, finding.verdict)));
        let differing: Vec<FindingName> = found
            .filter(|(_, verdict)| *verdict == FindingVerdict::Differs)
            .map(|(name, _)| name)
            .collect();
        assert_eq!(differing, [name]);
        let why = format!("the sides differ significantly: {name}");
        assert_eq!(cell.speed_void.as_ref().unwrap().as_str(), why);
        // Twenty percent faster, and no verdict.
        assert_eq!(comparison.verdict, GateVerdict::NotEvaluated);
        assert_eq!((comparison.gates_judged, comparison.fail_level), (0, None));
        let metric = only(&comparison);
        assert_eq!(metric.reason.as_str(), format!("no verdict on speed: {why}"));
        assert!(metric.delta_percent.unwrap() < -15.0 && metric.pass_interval.is_some());
    }
}

#[test]
fn what_the_records_do_not_say_is_not_judged_first() {
    let mut sides = Sides::blocks(TTFT, &blocks(4, 0.0));
    let without = ["endings", "no_finish_reason_ratio", "refusal_ratio"];
    sides = sides.each(|run| run.metrics.retain(|it| !without.contains(&it.id.as_str())));
    let comparison = compared(&sides);
    let said = comparison.limitations.iter();
    let said: Vec<_> = said.filter(|it| it.kind == LimitationKind::NotJudgedFirst).collect();
    assert_eq!(
        said[0].text.as_str(),
        "Not judged before speed, because the records or the number of runs do not say: \
         cached_share, endings, reasoning_share, refusals."
    );
    // Neither is a share that is none of its samples.
    let odd =
        Sides::blocks(TTFT, &blocks(4, 0.0)).each(|run| add_share(run, "refusal_ratio", 0.000_15));
    let refusals = &compared(&odd).cells.0[0].1.counts[3];
    assert_eq!((refusals.name, refusals.baseline), (FindingName::Refusals, None));
    assert_eq!(refusals.verdict, FindingVerdict::NotEvaluated);
}

/// What the records of a run say by themselves is enough for every finding.
#[test]
fn records_of_requests_are_judged_before_speed() {
    type Change = fn(&mut Observation);
    let cases: [(FindingName, Change); 6] = [
        (FindingName::CachedShare, |seen| usage(seen).cached_tokens = Some(500)),
        (FindingName::Endings, |seen| {
            (seen.ending, seen.finish_reasons) = (Some(Ending::CompleteNoReason), Vec::new());
        }),
        (FindingName::FinishReasons, |seen| seen.finish_reasons = vec!["length".into()]),
        (FindingName::OutputLength, |seen| {
            let usage = usage(seen);
            (usage.completion_tokens, usage.reasoning_tokens) = (Some(12), Some(6));
        }),
        (FindingName::ReasoningShare, |seen| usage(seen).reasoning_tokens = Some(15)),
        (FindingName::Refusals, |seen| seen.finish_reasons = vec!["refusal".into()]),
    ];
    let plain: Vec<RequestLine> = (0..100).map(line).collect();
    let gates = gates(&[TTFT]);
    let rules = rules(&gates, Pairing::ByTime);
    let alike = sound(&Sides::of_requests(4, [&plain, &plain]), &rules);
    assert_eq!((alike.verdict, alike.findings_judged), (GateVerdict::Pass, 7));
    for (name, change) in cases {
        let mut changed = plain.clone();
        let every_fifth = changed.iter_mut().step_by(5);
        every_fifth.for_each(|line| change(line.observation.as_mut().unwrap()));
        let comparison = sound(&Sides::of_requests(4, [&plain, &changed]), &rules);
        let cell = &comparison.cells.0[0].1;
        let why = format!("the sides differ significantly: {name}");
        assert_eq!(cell.speed_void.as_ref().map(PublicText::as_str), Some(&*why));
        for finding in cell.counts.iter().filter(|finding| finding.name == name) {
            let tallies = [finding.baseline, finding.candidate].map(Option::unwrap);
            assert_eq!(tallies.map(|tally| tally.count), [0, 80], "{name}");
        }
    }
}

/// A request of 20 tokens whose server counts all that servers count.
fn line(index: u64) -> RequestLine {
    let mut line = succeeded(index, 1_000 * index, &[100, 200, 300], 20);
    let usage = usage(line.observation.as_mut().unwrap());
    (usage.reasoning_tokens, usage.cached_tokens) = (Some(10), Some(0));
    line
}

fn usage(seen: &mut Observation) -> &mut Usage {
    seen.usage.as_mut().unwrap()
}

#[test]
fn ineligible_runs_give_no_verdict() {
    type Change = fn(&mut RunRecordV2);
    let cases: [(&str, Change); 3] = [
        ("the run is not eligible: ", |run| run.load.performance_eligible = false),
        ("3 of 1000 requests did not succeed, a share of 0.0 may: ", |run| {
            run.load.succeeded = 997;
        }),
        ("a model other than the expected one answered: ", |run| {
            let label = "Models returned";
            let returned = run.conditions.iter_mut().find(|it| it.label.as_str() == label);
            returned.unwrap().value = PublicText::new("another-model").unwrap();
        }),
    ];
    for (expected, change) in cases {
        let mut sides = Sides::blocks(TTFT, &blocks(5, 0.0));
        change(&mut sides.baseline[2]);
        let comparison = compared(&sides);
        assert_eq!(comparison.verdict, GateVerdict::NotEvaluated);
        let void = comparison.cells.0[0].1.speed_void.as_ref().unwrap();
        assert_eq!(void.as_str(), format!("{expected}{}", sides.baseline[2].run_id));
    }
}
