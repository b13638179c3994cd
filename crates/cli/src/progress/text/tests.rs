//! The text of a view, from lines and a moment.

use serde_json::{Value, json};
use streamgauge_schema::RequestLine;

use super::super::so_far::Declared;
use super::*;

const REQUESTS: Declared =
    Declared { requests: 200, warmup: 0, lasts: None, starts: None, pace: Pace::Requests };

/// A measured request: three events from 200 ms on, 10 ms apart; with other members.
fn line(more: &[(&str, Value)]) -> RequestLine {
    let mut line: Value = serde_json::from_str(include_str!("line.json")).unwrap();
    for (member, value) in more {
        line[*member] = value.clone();
    }
    serde_json::from_value(line).unwrap()
}

fn failed() -> RequestLine {
    line(&[("completion", json!("failed")), ("observation", Value::Null)])
}

/// A cell of which these have ended.
fn so_far(declared: Declared, lines: impl IntoIterator<Item = RequestLine>) -> SoFar {
    let mut so_far = SoFar::of("cell c8", declared);
    lines.into_iter().for_each(|line| so_far.note(&line));
    so_far
}

fn at(seconds: f64) -> Moment {
    Moment { elapsed: Duration::from_secs_f64(seconds), inflight: 8 }
}

/// What a terminal shows, and what a log says at the same moment.
fn check(so_far: &SoFar, at: Moment, drawn: &[&str], logged: &str) {
    assert_eq!(live(so_far, at, 80), drawn);
    assert_eq!(plain(so_far, at), logged);
}

#[test]
fn a_run_that_requests_end() {
    let lines = (0..49).map(|_| line(&[])).chain([failed()]);
    check(
        &so_far(REQUESTS, lines),
        at(10.001),
        &[
            "cell c8: 50 of 200 ended, 8 in flight, 1 failed",
            "█████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 25 %, 0:10, about 0:30 left, 5.00 req/s",
            "so far TTFT p50 200, p95 200 ms; interval p50 10.0, p95 10.0 ms",
        ],
        "cell c8: 50 of 200 ended, 8 in flight, 1 failed; 5.00 req/s; so far TTFT p50 200, \
         p95 200 ms; interval p50 10.0, p95 10.0 ms; about 0:30 left",
    );
}

#[test]
fn nothing_is_guessed_before_anything_has_ended() {
    check(
        &so_far(REQUESTS, []),
        at(7.0),
        &[
            "cell c8: 0 of 200 ended, 8 in flight, 0 failed",
            "░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0 %, 0:07",
        ],
        "cell c8: 0 of 200 ended, 8 in flight, 0 failed",
    );
}

#[test]
fn a_wait_for_a_common_start_is_told() {
    let declared = Declared { warmup: 1, starts: Some(Duration::from_secs(75)), ..REQUESTS };
    let warm = || line(&[("stage", json!("warmup"))]);
    let logged = |lines: Vec<RequestLine>, seconds| plain(&so_far(declared, lines), at(seconds));
    let warming = "cell c8: warming up, 0 of 1 ended, 8 in flight";
    assert_eq!(logged(vec![], 5.0), warming);
    let waiting = "cell c8: waiting for the common start in 1:05";
    assert_eq!(logged(vec![warm()], 10.0), waiting);
    assert_eq!(logged(vec![warm()], 76.0), "cell c8: 0 of 200 ended, 8 in flight, 0 failed");
}

#[test]
fn a_warm_up_is_no_part_of_the_figures() {
    let declared = Declared { warmup: 4, ..REQUESTS };
    let warm = || line(&[("stage", json!("warmup"))]);
    check(
        &so_far(declared, [warm(), warm()]),
        at(1.0),
        &[
            "cell c8: warming up, 2 of 4 ended, 8 in flight",
            "░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0 %, 0:01",
        ],
        "cell c8: warming up, 2 of 4 ended, 8 in flight",
    );
}

#[test]
fn a_closed_loop_that_time_ends_has_no_number_of_requests() {
    let declared = Declared {
        requests: 10_000_000,
        lasts: Some(Duration::from_secs(3_700)),
        pace: Pace::Time,
        ..REQUESTS
    };
    let lines = (0..50).map(|_| line(&[]));
    let so_far = so_far(declared, lines);
    assert_eq!(
        live(&so_far, at(10.001), 80)[..2],
        [
            "cell c8: 50 ended, 8 in flight, 0 failed",
            "░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0 %, 0:10, about 1:01:30 left, 5.00 req/s",
        ]
    );
    // Requests that are still under way when the time is over take what they take.
    assert_eq!(left(&so_far, at(3_720.0)), None);
}

#[test]
fn a_schedule_says_when_its_last_request_is_due() {
    let declared =
        Declared { lasts: Some(Duration::from_secs(60)), pace: Pace::Schedule, ..REQUESTS };
    let late = line(&[("scheduled_us", json!(0)), ("started_us", json!(6_001_000))]);
    let so_far = so_far(declared, [line(&[("scheduled_us", json!(900))]), late]);
    assert_eq!(left(&so_far, at(20.001)), Some(Duration::from_secs(40)));
    assert_eq!(
        live(&so_far, at(20.001), 80)[3],
        "client-limited so far: TTFT, interval (p99 delay of this client 6,005 ms)"
    );
}

#[test]
fn a_schedule_that_a_limit_holds_back_falls_behind() {
    let lasts = Some(Duration::from_secs(60));
    let declared = Declared { lasts, pace: Pace::LimitedSchedule, ..REQUESTS };
    let so_far = so_far(declared, (0..50).map(|_| line(&[])));
    for (now, expected) in [(10.001, 50), (100.001, 300)] {
        assert_eq!(left(&so_far, at(now)), Some(Duration::from_secs(expected)));
    }
}

#[test]
fn what_held_a_request_back_is_no_delay_of_the_client() {
    let held = [("scheduled_us", json!(0)), ("queued_us", json!(500_000))];
    let started = ("started_us", json!(500_900));
    assert_eq!(so_far(REQUESTS, [line(&[&held[..], &[started]].concat())]).client_limited(), None);
}

#[test]
fn lines_fit_terminals_of_every_width() {
    let mut so_far =
        so_far(REQUESTS, (0..50).map(|_| line(&[("observer_lag_us", json!([90_000]))])));
    so_far.title =
        "block 11 of 12, candidate, cell a-name-as-long-as-anybody-would-write".to_owned();
    for columns in [20, 40, 80, 120] {
        let lines = live(&so_far, at(9_999.0), columns);
        assert_eq!(lines.len(), 4);
        for line in lines {
            assert!(line.chars().count() < columns, "{columns}: {line}");
        }
    }
}
