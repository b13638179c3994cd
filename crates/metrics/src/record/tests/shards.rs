//! Shards of a run: one by itself, and all of them put together.

mod split;

use streamgauge_schema::{ClockState, JournalBegun, JournalResumed, Load, Shard};

use super::*;
use crate::record::{JournalEnd, RunCollector};
use crate::verify::unproven;

/// A run in shards: what each journal holds, and when its zero was.
struct Shards {
    plan: Plan,
    headers: Vec<JournalHeader>,
    lines: Vec<Vec<RequestLine>>,
    begun: Vec<Option<JournalBegun>>,
    resumed: Vec<Vec<JournalResumed>>,
    trailers: Vec<Option<JournalTrailer>>,
}

impl Shards {
    /// The run of `lines` in as many parts as there are delays of their zeros.
    fn of(plan: &Plan, lines: &[RequestLine], delays_us: &[u64]) -> Self {
        let parts = delays_us.len() as u64;
        let mut shards = Self {
            plan: plan.clone(),
            headers: Vec::new(),
            lines: Vec::new(),
            begun: vec![None; delays_us.len()],
            resumed: vec![Vec::new(); delays_us.len()],
            trailers: Vec::new(),
        };
        for (number, delay_us) in (1..=parts).zip(delays_us) {
            let shard = Shard::new(number, parts).unwrap();
            let zero = 1_790_000_000_000_000 + *delay_us as i64;
            let started_at = Timestamp::from_unix_micros(zero);
            shards.headers.push(JournalHeader { started_at, shard: Some(shard), ..header(plan) });
            let own = lines.iter().filter(|line| shard.has(&plan.load, line.index));
            let own: Vec<_> = own.map(|line| moved_back(line.clone(), *delay_us)).collect();
            let load = &plan.load;
            let all = shard.count(load, load.requests) + shard.count(load, load.warmup);
            let finished = own.len() as u64 == all || load.duration_ms.is_some();
            shards.trailers.push(Some(JournalTrailer {
                reason: if finished { EndReason::Finished } else { EndReason::Interrupted },
                completed_at: Timestamp::from_unix_micros(1_790_000_009_000_000),
                lines: own.len() as u64,
                listed_models: None,
            }));
            shards.lines.push(own);
        }
        shards
    }

    fn end(&self, at: usize) -> JournalEnd<'_> {
        JournalEnd {
            begun: self.begun[at].as_ref(),
            resumptions: &self.resumed[at],
            trailer: self.trailers[at].as_ref(),
        }
    }

    /// The record of one of them.
    fn alone(&self, at: usize) -> Result<RunRecordV2, RecordError> {
        let mut run = RunCollector::new(&self.plan, &self.headers[at])?;
        self.lines[at].iter().try_for_each(|line| run.add(line))?;
        run.end(0, self.end(at));
        run.finish()?.into_record(Vec::new())
    }

    /// The record of all that are at these places, given in this order.
    fn merged(&self, places: &[usize]) -> Result<RunRecordV2, RecordError> {
        let headers: Vec<_> = places.iter().map(|at| self.headers[*at].clone()).collect();
        let mut run = RunCollector::merged(&self.plan, &headers)?;
        for (given, at) in places.iter().enumerate() {
            self.lines[*at].iter().try_for_each(|line| run.add_to(given, line))?;
            run.end(given, self.end(*at));
        }
        run.finish()?.into_record(Vec::new())
    }

    fn all(&self) -> Result<RunRecordV2, RecordError> {
        self.merged(&(0..self.headers.len()).collect::<Vec<_>>())
    }
}

fn moved_back(line: RequestLine, us: u64) -> RequestLine {
    RequestLine {
        started_us: line.started_us - us,
        last_attempt_started_us: line.last_attempt_started_us - us,
        scheduled_us: line.scheduled_us.map(|at_us| at_us - us),
        ..line
    }
}

fn begun(at_us: u64, start_us: u64, max_error_us: u64) -> Option<JournalBegun> {
    let clock = Some(ClockState { synchronised: max_error_us < 1_000_000, max_error_us });
    Some(JournalBegun { at_us, start_us: Some(start_us), clock })
}

fn taken_up(unix_us: i64, at_us: u64) -> JournalResumed {
    JournalResumed {
        resumed_at: Timestamp::from_unix_micros(unix_us),
        at_us,
        dropped: 0,
        listed_models: None,
        conditions: Vec::new(),
    }
}

/// Twelve requests of four clients, each 210 ms long.
fn twelve() -> (Plan, Vec<RequestLine>) {
    let line = |index: u64| succeeded(index, 1_000 + 300 * (index / 4) + index, &[110, 210], 7);
    (plan(12, 4), (0..12).map(line).collect())
}

#[test]
fn a_shard_alone_has_its_part() {
    let (plan, lines) = twelve();
    let mut shards = Shards::of(&plan, &lines, &[0, 0, 0]);
    shards.begun[0] = begun(1_000_000, 997_500, 750);
    let record = shards.alone(0).unwrap();
    assert_sound(&record);
    assert_eq!(record.status, RunStatus::Completed);
    // Two of four clients, with half of the requests.
    assert_eq!((record.load.offered, record.load.succeeded, record.counts.declared), (6, 6, 6));
    assert_eq!(record.performance.client_concurrency_limit, 2);
    let titles: Vec<String> =
        record.cases.iter().flatten().map(|case| case.title.to_string()).collect();
    assert_eq!(
        titles[..3],
        ["Synthetic request 01", "Synthetic request 04", "Synthetic request 05"]
    );
    let [report] = record.shards.as_slice() else { panic!("one report") };
    assert_eq!((report.number, report.of, report.offered, report.sent), (1, 3, 6, 6));
    assert_eq!(report.began_late_ms.map(|ms| ms.value()), Some(2.5));
    let clock = report.clock.unwrap();
    assert_eq!((clock.synchronised, clock.max_error_ms.value()), (true, 0.75));
    assert!(says(&record, "This is shard 1 of 3 alone"));
    let shape = "Closed loop, concurrency 4; 12 requests after 0 of warm-up; shard 1 of 3 alone";
    assert_eq!(condition(&record, "Load shape"), Some(shape));
    assert_eq!(shards.alone(1).unwrap().load.offered, 3);
}

#[test]
fn requests_of_a_shard_that_were_not_sent_have_cases() {
    let (plan, lines) = twelve();
    let shards = Shards::of(&plan, &lines[..4], &[0, 0]);
    let record = shards.alone(1).unwrap();
    assert_sound(&record);
    let cases = record.cases.iter().flatten();
    let found: Vec<_> = cases.map(|case| (case.case_id.as_str(), case.outcome)).collect();
    let (sent, not_run) = (CaseOutcome::Unverified, CaseOutcome::NotRun);
    assert_eq!(
        found,
        [
            ("request-02", sent),
            ("request-04", sent),
            ("request-06", not_run),
            ("request-08", not_run),
            ("request-10", not_run),
            ("request-12", not_run),
        ]
    );
    assert_eq!(record.shards[0].status, RunStatus::Aborted);
}

#[test]
fn stages_of_a_shard_are_its_part() {
    let mut plan = open_loop(10, 10.0, None);
    if let streamgauge_schema::LoadShape::OpenLoop { stages, .. } = &mut plan.load.shape {
        stages[0].requests = 5;
        stages.push(stages[0]);
    }
    let line = |n: u64| due(succeeded(n, 1_000 + 100 * n, &[90, 190], 5), 1_000 + 100 * n, None);
    let lines: Vec<_> = (0..10).map(line).collect();
    let shards = Shards::of(&plan, &lines, &[0, 0, 0]);
    let planned = |record: &RunRecordV2| -> Vec<u64> {
        record.load.stages.iter().map(|stage| stage.planned).collect()
    };
    let expected = [[2, 2], [2, 1], [1, 2]];
    for (at, expected) in expected.into_iter().enumerate() {
        let record = shards.alone(at).unwrap();
        assert_sound(&record);
        assert_eq!(planned(&record), expected, "{at}");
        assert!(record.load.stages.iter().all(|stage| stage.valid));
    }
    assert_eq!(planned(&shards.all().unwrap()), [5, 5]);
}

#[test]
fn a_whole_run_says_how_it_began() {
    let run = Run::of_three();
    let header = header(&run.plan);
    let mut collector = RunCollector::new(&run.plan, &header).unwrap();
    run.lines.iter().try_for_each(|line| collector.add(line)).unwrap();
    collector.begun(&begun(100_000, 0, 16_000_000).unwrap());
    let record = collector.close(None).unwrap().into_record(Vec::new()).unwrap();
    assert_sound(&record);
    let [report] = record.shards.as_slice() else { panic!("one report") };
    assert_eq!((report.number, report.of), (1, 1));
    assert_eq!(report.began_late_ms.map(|ms| ms.value()), Some(100.0));
    assert!(!report.clock.unwrap().synchronised);
}

#[test]
fn a_shard_with_another_ones_request_is_refused() {
    let (plan, lines) = twelve();
    let mut shards = Shards::of(&plan, &lines, &[0, 0]);
    let line = shards.lines[0][0].clone();
    shards.lines[1].push(line);
    let error = shards.alone(1).unwrap_err().to_string();
    let expected = "the journal of shard 2 of 2 has measured request 0, which is another shard's";
    assert_eq!(error, expected);
}

#[test]
fn a_run_of_shards_says_what_its_clocks_are_worth() {
    let (plan, lines) = twelve();
    let mut shards = Shards::of(&plan, &lines, &[0, 400_000]);
    shards.begun[0] = begun(800_000, 800_000, 250);
    shards.begun[1] = begun(550_000, 400_000, 16_000_000);
    let record = shards.all().unwrap();
    assert_sound(&record);
    assert_eq!(record.started_at.unix_micros(), 1_790_000_000_000_000);
    assert_eq!(record.load.offered, 12);
    assert_eq!(condition(&record, "Load shape").unwrap().find("shard"), None);
    for part in [
        "by clocks that may be off by at most 0.25 ms by their kernels (shard 1); 1 of 2 are not kept in \
         time. Duration",
        "shard 2 began 150.0 ms after shard 1.",
    ] {
        assert!(says(&record, part), "{part}: {:#?}", record.limitations);
    }
    shards.begun[1] = begun(410_000, 300_000, 16_000_000);
    assert!(says(
        &shards.all().unwrap(),
        "10.0 ms after shard 1; they had different common starts."
    ));
    shards.begun[1] = None;
    assert!(says(
        &shards.all().unwrap(),
        "0.25 ms by their kernels (shard 1); nothing is known of 1. Duration"
    ));
    shards.begun[0] = None;
    let nothing = "by their machines' clocks; nothing is known of 2. Duration";
    assert!(says(&shards.all().unwrap(), nothing));
}

#[test]
fn missing_and_cut_off_shards_abort_the_run() {
    let (plan, lines) = twelve();
    let mut shards = Shards::of(&plan, &lines, &[0, 0, 0]);
    let record = shards.merged(&[0, 2]).unwrap();
    assert_sound(&record);
    assert_eq!(record.status, RunStatus::Aborted);
    assert_eq!((record.load.offered, record.load.not_sent), (12, 3));
    assert_eq!(record.performance.observed_peak_inflight, None);
    assert!(says(&record, "Shards that are missing: 1 of 3 (2);"));
    assert_eq!(record.shards.iter().map(|it| it.number).collect::<Vec<_>>(), [1, 3]);

    shards.trailers[1] = None;
    shards.lines[1].pop();
    let record = shards.all().unwrap();
    assert_sound(&record);
    assert_eq!(record.status, RunStatus::Aborted);
    assert!(says(&record, "Shards that were cut off: 1 of 3 (2)."));
    assert!(says(&record, "never sent or lost under way: 1."));
}

#[test]
fn of_a_shard_that_was_taken_up_again_the_time_between_is_time() {
    let (plan, lines) = twelve();
    let mut shards = Shards::of(&plan, &lines, &[0, 0]);
    for (line, ms) in shards.lines[1][2..].iter_mut().zip([9_000, 9_010, 9_300, 9_310]) {
        line.started_us = ms * 1000;
        line.last_attempt_started_us = ms * 1000;
    }
    shards.resumed[1].push(taken_up(1_790_000_008_900_000, 8_900_000));
    let record = shards.all().unwrap();
    assert_sound(&record);
    let whole = record.windows.whole.unwrap();
    assert_eq!((whole.from_ms.value(), whole.to_ms.value()), (1_000.0, 9_520.0));
    assert_eq!((record.windows.steady, record.performance.observed_peak_inflight), (None, None));
    assert!(says(&record, "Shards that broke off and were taken up again: 1 (2)."));
    assert!(was_taken_up(&record));
    assert_eq!(record.shards[1].taken_up, 1);
    // By itself its pause is taken out.
    let alone = shards.alone(1).unwrap();
    assert!(alone.windows.whole.unwrap().to_ms.value() < 2_500.0);
}

#[test]
fn a_shard_that_broke_off_before_it_measured_lost_nothing() {
    let (plan, lines) = twelve();
    let mut shards = Shards::of(&plan, &lines, &[0, 0]);
    let whole = shards.all().unwrap();
    shards.resumed[1].push(taken_up(1_790_000_000_400_000, 400_000));
    shards.begun[1] = begun(1_000_000, 1_000_000, 250);
    let record = shards.all().unwrap();
    assert_sound(&record);
    assert_eq!(record.windows, whole.windows);
    let peak = record.performance.observed_peak_inflight;
    assert_eq!((peak, &record.metrics), (Some(4), &whole.metrics));
    assert!(!says(&record, "broke off") && !was_taken_up(&record));
    assert_eq!(record.shards[1].taken_up, 1);
}

#[test]
fn a_warm_up_that_was_done_twice_is_counted_twice() {
    let (mut plan, lines) = twelve();
    plan.load.warmup = 1;
    let warmup = RequestLine { stage: Stage::Warmup, ..succeeded(0, 0, &[110, 210], 7) };
    let mut shards = Shards::of(&plan, &lines, &[0]);
    shards.lines[0].splice(0..0, [warmup.clone(), warmup]);
    shards.resumed[0].push(taken_up(1_790_000_000_400_000, 400_000));
    shards.begun[0] = begun(1_000_000, 1_000_000, 250);
    shards.trailers[0].as_mut().unwrap().lines = 14;
    shards.trailers[0].as_mut().unwrap().reason = EndReason::Finished;
    let record = shards.alone(0).unwrap();
    assert_sound(&record);
    assert_eq!(record.load.warmup, 2);
    assert!(!says(&record, "Warm-up requests that did not succeed"));
}

#[test]
fn nothing_is_measured_before_the_beginning() {
    let (plan, lines) = twelve();
    let mut shards = Shards::of(&plan, &lines, &[0, 0]);
    shards.begun[1] = begun(1_001_001, 1_000_000, 250);
    let error = shards.alone(1).unwrap_err().to_string();
    let said = "started_us is 1001000, and the measured part began at 1001001";
    assert!(error.contains("request 1") && error.contains(said), "{error}");
}

#[test]
fn conditions_that_differ_are_counted() {
    let (plan, lines) = twelve();
    let mut shards = Shards::of(&plan, &lines, &[0, 0, 0]);
    let said = [["Linux", "0.9"], ["Linux", "0.10"], ["Linux", "0.9"]];
    for (header, values) in shards.headers.iter_mut().zip(said) {
        let labels = ["Instrument system", "Version stated by the server"];
        let each = labels.into_iter().zip(values);
        header.conditions = each
            .map(|(label, value)| Condition {
                label: text(label).unwrap(),
                value: text(value).unwrap(),
            })
            .collect();
    }
    let record = shards.all().unwrap();
    assert_eq!(condition(&record, "Instrument system"), Some("Linux"));
    assert_eq!(condition(&record, "Version stated by the server"), Some("0.10 (1); 0.9 (2)"));
    assert!(says(&record, "to every shard: Version stated by the server."));
    for (header, fill) in shards.headers.iter_mut().zip(["a", "b", "c"]) {
        header.conditions[0].value = text(fill.repeat(200)).unwrap();
    }
    let record = shards.all().unwrap();
    assert_eq!(condition(&record, "Instrument system"), Some("3 different values"));
}

#[test]
fn shards_that_do_not_belong_together_are_refused() {
    let (plan, lines) = twelve();
    let shards = Shards::of(&plan, &lines, &[0, 0]);
    type Change = fn(&mut Vec<JournalHeader>);
    let cases: [(Change, &str); 5] = [
        (|headers| headers.clear(), "there are none"),
        (|headers| headers[1].shard = None, "a journal is of a whole run"),
        (|headers| headers[1].shard = headers[0].shard, "there are two of shard 1 of 2"),
        (|headers| headers[1].shard = Shard::new(2, 3), "one is 2 of 3, and another is of 2"),
        (
            |headers| headers[1].plan_sha256 = Digest::of(b"other"),
            "the journal belongs to the plan",
        ),
    ];
    for (change, expected) in cases {
        let mut headers = shards.headers.clone();
        change(&mut headers);
        let error = RunCollector::merged(&shards.plan, &headers).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn rules_of_shards_notice_changes() {
    type Change = fn(&mut RunRecordV2);
    let cases: [(&str, Change); 9] = [
        ("shards-are-numbered", |it| it.shards.swap(0, 1)),
        ("shards-are-numbered", |it| it.shards[1].of = 3),
        ("shards-offer-the-load", |it| it.shards[0].offered += 1),
        ("shards-sent-the-load", |it| it.shards[0].sent -= 1),
        ("completed-by-shards", |it| it.shards[1].status = RunStatus::Aborted),
        ("shard-sent-what-it-had", |it| it.shards[1].sent += 1),
        ("spreads-rise", |it| it.shards[0].observer_lag_ms.as_mut().unwrap().median = 9.0),
        ("delay-is-the-worst-shards", |it| {
            it.shards[0].observer_lag_ms.as_mut().unwrap().max = 9.0
        }),
        ("delay-is-the-worst-shards", |it| it.shards[1].observer_lag_ms = None),
    ];
    let (plan, mut lines) = twelve();
    lines[0].observer_lag_us = Some(vec![100, 200]);
    lines[1].observer_lag_us = Some(vec![300]);
    let record = Shards::of(&plan, &lines, &[0, 0]).all().unwrap();
    assert_sound(&record);
    for (rule, change) in cases {
        let mut record = record.clone();
        change(&mut record);
        let verification = verify(&Document::Run(RunRecord::V2(Box::new(record))));
        let broken: Vec<&str> = verification.broken().map(|finding| finding.rule).collect();
        assert!(broken.contains(&rule), "{rule}: {broken:?}");
    }
    let document = Document::Run(RunRecord::V2(Box::new(record)));
    let unproven: Vec<String> = unproven(&document).iter().map(ToString::to_string).collect();
    let of_shards: Vec<&String> = unproven.iter().filter(|it| it.starts_with("shards")).collect();
    let known = |path: &&&String| path.contains("taken_up") || path.contains("began_late");
    assert!(of_shards.iter().any(|path| known(&path)), "{of_shards:?}");
    assert!(!of_shards.iter().any(|path| path.contains("sent") || path.contains("number")));
}

#[test]
fn a_load_that_time_ends_offers_what_its_shards_sent() {
    let (mut plan, lines) = twelve();
    plan.load = Load { duration_ms: Some(900), requests: 100, ..plan.load };
    let mut shards = Shards::of(&plan, &lines, &[0, 0]);
    assert_eq!(shards.all().unwrap().load.offered, 12);
    // What was under way was lost: up to the last line everything was due.
    shards.lines[1].remove(2);
    shards.trailers[1] = None;
    let record = shards.all().unwrap();
    assert_sound(&record);
    assert_eq!((record.load.offered, record.load.not_sent), (12, 1));
}

#[test]
fn sentences_about_very_many_shards_can_be_published() {
    let mut shards = Shards::of(&twelve().0, &[], &[0; 12]);
    let numbers = Shard::MOST - 11..=Shard::MOST;
    for (at, number) in numbers.enumerate() {
        shards.headers[at].shard = Shard::new(number, Shard::MOST);
        shards.resumed[at].push(taken_up(1_790_000_008_900_000, u64::MAX));
        shards.begun[at] = begun(u64::MAX - 1, u64::MAX, u64::MAX);
    }
    shards.begun[0] = begun(0, 1, u64::MAX);
    let clock = ClockState { synchronised: true, max_error_us: u64::MAX };
    shards.begun[11] = Some(JournalBegun { at_us: 2, start_us: Some(2), clock: Some(clock) });
    let record = shards.all().unwrap();
    assert!(says(&record, "again: 12 (99989, 99990, 99991, 99992, 99993 and 7 more)."));
    assert!(says(&record, "(shard 100000); 11 of 12 are not kept in time. Duration"));
}
