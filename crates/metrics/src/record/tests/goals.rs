//! Goodput, and cells that a cache spoiled.

use streamgauge_schema::{CacheState, Goal, GoalQuantity};

use super::*;

fn goal(quantity: GoalQuantity, limit_ms: f64) -> Goal {
    Goal { quantity, limit_ms }
}

/// Goodput with its samples and missing values, and attainment.
fn goodput(run: &Run) -> (Option<f64>, Option<f64>, u64, u64) {
    let record = run.record();
    assert_sound(&record);
    let (rate, share) = (metric(&record, "goodput_req_per_s"), metric(&record, "goodput_ratio"));
    assert_eq!((rate.samples, rate.missing), (share.samples, share.missing));
    (rate.value, share.value, share.samples, share.missing)
}

#[test]
fn a_good_request_keeps_every_goal() {
    use GoalQuantity::{E2e, Tpot, Ttfc, Ttft};
    // TTFT 200, 90, 110 ms; E2E 1,000, 190, 210 ms; TPOT 800 / 9, 25, 100 / 6 ms; a batch of 1 s.
    let cases: [(&[Goal], f64); 9] = [
        (&[goal(Ttft, 200.0)], 3.0),
        (&[goal(Ttft, 199.999)], 2.0),
        (&[goal(Ttft, 109.0)], 1.0),
        (&[goal(E2e, 210.0)], 2.0),
        (&[goal(Tpot, 25.0)], 2.0),
        (&[goal(Ttfc, 100.0)], 1.0),
        (&[goal(Ttft, 110.0), goal(E2e, 200.0)], 1.0),
        (&[goal(Ttft, 110.0), goal(Tpot, 20.0), goal(E2e, 200.0)], 0.0),
        (&[goal(Ttft, 0.0)], 0.0),
    ];
    for (goals, good) in cases {
        let mut run = Run::of_three();
        run.plan.goals = goals.to_vec();
        assert_eq!(goodput(&run), (Some(good), Some(good / 3.0), 3, 0), "{goals:?}");
    }
}

#[test]
fn failures_and_missing_values_are_misses_and_what_was_cut_is_none() {
    type Change = fn(&mut Run);
    // With the first request of three changed, the others are good.
    let cases: [(&str, Change, Option<f64>, u64, u64); 7] = [
        ("refused", |run| run.lines[0] = refused(0, 100, 4), Some(2.0 / 3.0), 3, 0),
        (
            "out of time",
            |run| run.lines[0] = timed_out(run.lines[0].clone()),
            Some(2.0 / 3.0),
            3,
            0,
        ),
        (
            "without usage, so without TPOT",
            |run| run.lines[0].observation.as_mut().unwrap().usage = None,
            Some(2.0 / 3.0),
            3,
            1,
        ),
        (
            "cut by the end of the run",
            |run| run.lines[0].completion = Completion::Cancelled,
            Some(1.0),
            2,
            0,
        ),
        ("never sent", |run| drop(run.lines.remove(0)), Some(1.0), 2, 0),
        ("nothing sent", |run| run.lines.clear(), None, 0, 0),
        (
            "all cut",
            |run| run.lines.iter_mut().for_each(|it| it.completion = Completion::Cancelled),
            None,
            0,
            0,
        ),
    ];
    for (what, change, share, ended, missing) in cases {
        let mut run = Run::of_three();
        run.plan.goals = vec![goal(GoalQuantity::E2e, 5_000.0), goal(GoalQuantity::Tpot, 1_000.0)];
        change(&mut run);
        let (_, found, samples, without) = goodput(&run);
        assert_eq!((found, samples, without), (share, ended, missing), "{what}");
    }
}

#[test]
fn goals_are_named_where_they_are_judged() {
    let mut run = Run::of_three();
    assert!(!run.record().metrics.iter().any(|it| it.id.as_str().starts_with("goodput")));
    run.plan.goals = vec![goal(GoalQuantity::Ttft, 500.0), goal(GoalQuantity::E2e, 5_000.0)];
    let record = run.record();
    assert_eq!(condition(&record, "Goals"), Some("ttft 500.0 ms, e2e 5000.0 ms"));
    for id in ["goodput_req_per_s", "goodput_ratio"] {
        let definition = metric(&record, id).definition.as_str();
        assert!(definition.ends_with(" Goals: ttft 500.0 ms, e2e 5000.0 ms."), "{definition}");
    }
    // The longest that can be written.
    let all = GoalQuantity::ALL.iter();
    run.plan.goals = all.map(|it| goal(*it, 1.2345678901234567e-300)).collect();
    let record = run.record();
    let definition = metric(&record, "goodput_ratio").definition.as_str();
    assert!(definition.ends_with(" The goals stand among the conditions."), "{definition}");
    assert!(condition(&record, "Goals").unwrap().starts_with("e2e 1.23456789012345"));
}

#[test]
fn a_cache_that_served_a_cold_cell_contaminates_it() {
    let cached = |state: CacheState, tokens: u64| {
        let mut run = Run::of_three();
        run.plan.cache_state = state;
        for line in &mut run.lines {
            let usage = line.observation.as_mut().unwrap().usage.as_mut().unwrap();
            (usage.prompt_tokens, usage.cached_tokens) = (Some(1000), Some(0));
        }
        run.lines[0].observation.as_mut().unwrap().usage.as_mut().unwrap().cached_tokens =
            Some(tokens);
        let record = run.record();
        assert_sound(&record);
        record
    };
    use CacheState::{ColdEngine, Unknown, WarmEngineSharedPrefixes, WarmEngineUniquePrefixes};
    let cases = [
        (ColdEngine, 31, true),
        (ColdEngine, 30, false),
        (WarmEngineUniquePrefixes, 1000, true),
        (WarmEngineSharedPrefixes, 1000, false),
        (Unknown, 1000, false),
    ];
    for (state, tokens, contaminated) in cases {
        let record = cached(state.clone(), tokens);
        let share = tokens as f64 / 3000.0;
        assert_eq!(metric(&record, "cached_tokens_ratio").value, Some(share));
        assert_eq!(record.load.performance_eligible, !contaminated, "{state} {tokens}");
        let sentence = format!(
            "Contaminated: the cell is declared {state}, but the server took {tokens} of 3000 prompt \
             tokens from a cache, more than 1 percent; no gate on the figures passes."
        );
        assert_eq!(says(&record, &sentence), contaminated, "{:?}", record.limitations);
        let plain = says(&record, "Prompt tokens that the server took from a cache");
        assert_eq!(plain, tokens > 30 && !contaminated, "{state} {tokens}");
    }
    let silent = metric(&Run::of_three().record(), "cached_tokens_ratio").clone();
    assert_eq!((silent.value, silent.samples, silent.missing), (None, 0, 3));
}
