//! Work on a run grows with the length of its files, and never with a number that stands in them: any
//! number may be any other, and there is an end all the same.

use serde_json::Value;
use streamgauge_schema::{JournalHeader, JournalLine, Load, read_typed};

use super::*;

const PLAN: &[u8] = include_bytes!("../../../../schema/tests/run/plan.json");
const JOURNAL: &str = include_str!("../../../../schema/tests/run/observations.jsonl");
const OPEN_PLAN: &[u8] = include_bytes!("../../../../schema/tests/run/open/plan.json");
const OPEN_JOURNAL: &str = include_str!("../../../../schema/tests/run/open/observations.jsonl");

/// What a number may be instead: the most requests but one, a lot, and as much as there is.
const NUMBERS: [u64; 3] = [Load::MAX_REQUESTS - 1, 1 << 50, u64::MAX];

/// Where the numbers of a document stand.
fn numbers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                numbers(item, &format!("{at}/{place}"), found);
            }
        }
        Value::Number(_) => found.push(at.to_owned()),
        Value::Object(members) => {
            for (name, member) in members {
                numbers(member, &format!("{at}/{}", name.replace('/', "~1")), found);
            }
        }
        Value::Bool(_) | Value::Null | Value::String(_) => {}
    }
}

/// The document with each of its numbers replaced, one at a time.
fn replaced(document: &Value) -> impl Iterator<Item = Value> {
    let mut places = Vec::new();
    numbers(document, "", &mut places);
    places.into_iter().flat_map(move |place| {
        NUMBERS.map(|number| {
            let mut changed = document.clone();
            *changed.pointer_mut(&place).unwrap() = number.into();
            changed
        })
    })
}

/// What is made of a plan and the lines of its journal, whether that is a record or an error.
fn build(plan: &Plan, lines: &[Value]) -> Option<Result<RunRecordV2, RecordError>> {
    let lines = lines.iter().map(|line| serde_json::from_value::<JournalLine>(line.clone()));
    let (mut header, mut trailer, mut requests): (Option<JournalHeader>, _, _) =
        (None, None, Vec::new());
    for line in lines {
        match line.ok()? {
            JournalLine::Header(line) => header = Some(line),
            JournalLine::Request(line) => requests.push(*line),
            JournalLine::Begun(_) => panic!("the run is whole"),
            JournalLine::Resumed(_) => panic!("the run was not taken up"),
            JournalLine::Trailer(line) => trailer = Some(line),
        }
    }
    let header = JournalHeader { plan_sha256: Digest::of_value(plan).ok()?, ..header? };
    Some(build_record(&RunInput {
        plan,
        header: &header,
        requests: &requests,
        trailer: trailer.as_ref(),
        grades: None,
        evidence: Vec::new(),
    }))
}

#[test]
fn any_number_of_a_plan_may_be_any_other() {
    for (plan, journal) in [(PLAN, JOURNAL), (OPEN_PLAN, OPEN_JOURNAL)] {
        let mut lines: Vec<Value> =
            journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        // What was cut off may have been any part of what was planned.
        lines.pop();
        let whole = read_typed(plan).unwrap();
        assert!(build(&whole, &lines).unwrap().is_ok());
        let document = serde_json::from_slice(plan).unwrap();
        let plans = replaced(&document).filter_map(|it| serde_json::from_value::<Plan>(it).ok());
        let built = plans.filter(|plan| build(plan, &lines).is_some()).count();
        assert!(built > 30, "{built}");
    }
}

#[test]
fn any_number_of_a_line_may_be_any_other() {
    let plan: Plan = read_typed(PLAN).unwrap();
    let lines: Vec<Value> =
        JOURNAL.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut built = 0;
    // The header, a request of each stage, and the trailer.
    for place in [0, 1, 2, lines.len() - 1] {
        for line in replaced(&lines[place]) {
            let mut lines = lines.clone();
            lines[place] = line;
            built += u64::from(build(&plan, &lines).is_some());
        }
    }
    assert!(built > 100, "{built}");
}

#[test]
fn a_run_that_was_cut_off_has_a_case_for_what_was_sent() {
    let mut run = Run::of_three();
    run.ended = false;
    for (declared, cases) in [(3, 3), (10_000, 10_000), (10_001, 3), (Load::MAX_REQUESTS, 3)] {
        run.plan.load.requests = declared;
        let header = header(&run.plan);
        let input = RunInput {
            plan: &run.plan,
            header: &header,
            requests: &run.lines,
            trailer: None,
            grades: None,
            evidence: Vec::new(),
        };
        let found = build_cases(&input).unwrap();
        assert_eq!(found.len(), cases, "{declared}");
        let record = build_record(&input).unwrap();
        assert_eq!((record.load.offered, record.load.not_sent), (declared, declared - 3));
        assert_eq!(record.counts.declared, declared);
    }
}

#[test]
fn shares_beyond_all_are_refused() {
    for (change, name) in [
        ((|plan| plan.max_failure_ratio = 1e300) as fn(&mut Plan), "max_failure_ratio is 1e300"),
        (|plan| plan.max_failure_ratio = f64::NAN, "max_failure_ratio is NaN"),
        (|plan| plan.limits.max_error_ratio = Some(-0.1), "limits.max_error_ratio is -0.1"),
        (|plan| plan.limits.max_error_ratio = Some(1.1), "limits.max_error_ratio is 1.1"),
    ] {
        let mut plan = plan(3, 2);
        change(&mut plan);
        let error = check_plan(&plan).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
