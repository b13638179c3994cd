use streamgauge_schema::{Failure, ServerFamily};

use super::*;

const OUTPUT: ServerFamily = ServerFamily::VllmGenerationTokens;
const RUNNING: ServerFamily = ServerFamily::VllmRequestsRunning;

/// An answer at this time: families, series and values.
fn told(at_us: u64, samples: &[(ServerFamily, &str, f64)]) -> ScrapeLine {
    let sample = |&(family, series, value): &(ServerFamily, &str, f64)| ServerSample {
        family,
        series: series.to_owned(),
        value,
    };
    let samples = samples.iter().map(sample).collect();
    ScrapeLine { asked_us: at_us, answered_us: at_us, failure: None, samples }
}

fn unanswered(at_us: u64) -> ScrapeLine {
    let failure = Failure { class: FailureClass::Connect, message: "refused".to_owned() };
    ScrapeLine { failure: Some(failure), ..told(at_us, &[]) }
}

/// Figures of requests from 100 to 900, after a warm-up to 50.
fn figures(lines: &[ScrapeLine]) -> ServerFigures {
    figures_at(lines, true)
}

fn figures_at(lines: &[ScrapeLine], is_whole: bool) -> ServerFigures {
    let mut scrapes = Scrapes::default();
    lines.iter().for_each(|line| scrapes.add(line).unwrap());
    let measured = Some(Span { from_us: 100, to_us: 900 });
    scrapes.figures(Times { warm_us: 50, measured, is_whole })
}

#[test]
fn a_counter_is_the_difference_of_the_answers_around_the_requests() {
    let at = |at_us, value| told(at_us, &[(OUTPUT, "0", value)]);
    let gone = |at_us| told(at_us, &[(RUNNING, "0", 1.0)]);
    for (lines, expected) in [
        (vec![at(60, 10.0), at(500, 40.0), at(950, 74.0)], Ok(64.0)),
        // What was counted in the warm-up is not, and the last answer holds most.
        (vec![at(20, 3.0), at(60, 10.0), at(901, 70.0), at(950, 74.0)], Ok(64.0)),
        (vec![at(100, 10.0), at(900, 74.0)], Ok(64.0)),
        (vec![at(20, 10.0), at(950, 74.0)], Err(Untold::NoEnds)),
        (vec![at(101, 10.0), at(950, 74.0)], Err(Untold::NoEnds)),
        (vec![at(60, 10.0), at(899, 74.0)], Err(Untold::NoEnds)),
        (vec![unanswered(60), at(500, 10.0), at(950, 74.0)], Err(Untold::NoEnds)),
        (vec![at(60, 10.0), unanswered(500), at(950, 74.0)], Ok(64.0)),
        (vec![], Err(Untold::NoEnds)),
        // It fell, however high it rose again.
        (vec![at(60, 10.0), at(500, 3.0), at(950, 74.0)], Err(Untold::Fell)),
        (vec![at(60, 10.0), gone(500), at(950, 74.0)], Err(Untold::Fell)),
        (vec![at(60, 10.0), at(500, 20.0), gone(950)], Err(Untold::Fell)),
        // That was before.
        (vec![at(55, 90.0), at(60, 10.0), at(950, 74.0)], Ok(64.0)),
        // A server that had counted nothing tells of nothing.
        (vec![gone(60), at(950, 64.0)], Ok(64.0)),
        (vec![gone(60), gone(950)], Err(Untold::NotOffered)),
    ] {
        assert_eq!(figures(&lines).counted(ServerQuantity::OutputTokens), expected, "{lines:?}");
    }
}

#[test]
fn a_run_that_was_cut_off_has_no_last_answer() {
    let at = |at_us, value| told(at_us, &[(OUTPUT, "0", value)]);
    let figures = figures_at(&[at(60, 10.0), at(950, 74.0)], false);
    assert_eq!(figures.counted(ServerQuantity::OutputTokens), Err(Untold::NoEnds));
}

#[test]
fn engines_are_added_up_and_each_may_fall() {
    let at = |at_us, one, other| told(at_us, &[(OUTPUT, "0", one), (OUTPUT, "1", other)]);
    let counted = |lines: &[ScrapeLine]| figures(lines).counted(ServerQuantity::OutputTokens);
    assert_eq!(counted(&[at(60, 10.0, 100.0), at(950, 20.0, 154.0)]), Ok(64.0));
    // The sum rises.
    assert_eq!(counted(&[at(60, 10.0, 100.0), at(950, 500.0, 1.0)]), Err(Untold::Fell));
}

#[test]
fn figures_under_the_names_of_two_engines_are_not_added_up() {
    let at = |at_us, ours, theirs| {
        told(
            at_us,
            &[
                (ServerFamily::SglangGenerationTokens, "0", theirs),
                (ServerFamily::SglangRunningRequests, "0", 9.0),
                (OUTPUT, "0", ours),
                (ServerFamily::VllmPromptTokens, "0", 1.0),
                (RUNNING, "0", 2.0),
            ],
        )
    };
    let figures = figures(&[at(60, 10.0, 10.0), at(500, 20.0, 20.0), at(950, 74.0, 75.0)]);
    assert_eq!(figures.counted(ServerQuantity::OutputTokens), Ok(64.0));
    assert_eq!(figures.states(ServerQuantity::RequestsRunning).values, [2.0]);
    assert_eq!(figures.engines.read, Some("vllm"));
    assert!(figures.engines.left_out.iter().eq(["sglang"].iter()));
}

#[test]
fn states_are_those_of_answers_within_the_requests() {
    let at = |at_us, running, cache| {
        told(
            at_us,
            &[
                (RUNNING, "0", running),
                (RUNNING, "1", 1.0),
                (ServerFamily::VllmKvCacheUsage, "0", cache),
                (ServerFamily::VllmGpuCacheUsage, "0", 0.125),
            ],
        )
    };
    let lines = [
        at(60, 90.0, 0.9),
        at(100, 2.0, 0.25),
        unanswered(300),
        at(899, 4.0, 7.0),
        at(950, 90.0, 0.9),
    ];
    let figures = figures(&lines);
    let States { values, missing, untold } = figures.states(ServerQuantity::RequestsRunning);
    assert_eq!((values, missing, untold), (vec![3.0, 5.0], 1, None));
    // The fullest engine, and no share above 1.
    assert_eq!(figures.states(ServerQuantity::KvCacheUsage).values, [0.25, 0.125]);
    let untold = |quantity| figures.states(quantity).untold;
    assert_eq!(untold(ServerQuantity::RequestsWaiting), Some(Untold::NotOffered));
    assert_eq!((figures.asked, figures.failed[&FailureClass::Connect]), (5, 1));
    assert!(!figures.is_unknown());
}

#[test]
fn a_short_run_may_have_no_answer_within_it() {
    let figures = figures(&[told(60, &[(RUNNING, "0", 0.0)]), told(950, &[(RUNNING, "0", 0.0)])]);
    let States { untold, .. } = figures.states(ServerQuantity::RequestsRunning);
    assert_eq!(untold, Some(Untold::NotAnswered));
}

#[test]
fn a_server_without_a_known_figure_is_told_from_one_that_does_not_answer() {
    assert!(figures(&[told(60, &[]), told(950, &[])]).is_unknown());
    assert!(!figures(&[unanswered(60), unanswered(950)]).is_unknown());
}

#[test]
fn what_is_never_written_is_refused() {
    let error = Err(RecordError::ScrapeValues { line: 1 });
    for value in [-5.0, 1e16, 1e308] {
        assert_eq!(Scrapes::default().add(&told(60, &[(OUTPUT, "0", value)])), error, "{value}");
    }
    let both = ScrapeLine { failure: unanswered(60).failure, ..told(60, &[(OUTPUT, "0", 1.0)]) };
    assert_eq!(Scrapes::default().add(&both), error);
    for value in [0.0, MAX_VALUE] {
        assert_eq!(Scrapes::default().add(&told(60, &[(OUTPUT, "0", value)])), Ok(()));
    }
}

#[test]
fn lines_out_of_their_order_are_refused() {
    let mut scrapes = Scrapes::default();
    scrapes.add(&told(60, &[])).unwrap();
    let error = scrapes.add(&told(59, &[])).unwrap_err();
    assert_eq!(error, RecordError::Scrapes { line: 2 });
    let backwards = ScrapeLine { answered_us: 70, ..told(80, &[]) };
    assert_eq!(Scrapes::default().add(&backwards), Err(RecordError::Scrapes { line: 1 }));
}
