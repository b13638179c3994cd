//! Every stream fixture gives its expected extraction, however its bytes are cut into reads.

#![expect(clippy::unwrap_used, reason = "a broken fixture ends its test")]

mod fixture;

use fixture::{Fixture, cut, observe, streams};
use serde_json::Value;
use streamgauge_observer::ObserverConfig;

/// Offsets of random cuts, on average `mean` bytes apart; the same for the same seed.
fn random_offsets(length: usize, mean: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut offsets = Vec::new();
    let mut offset = 0;
    loop {
        // An odd multiplier and increment: a full-period generator of which the high bits are used.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        offset += (state >> 33) as usize % (2 * mean) + 1;
        if offset >= length {
            return offsets;
        }
        offsets.push(offset);
    }
}

/// The reads of the fixture's own `split_plan`.
fn planned_reads(fixture: &Fixture) -> Vec<&[u8]> {
    match &fixture.description["split_plan"] {
        Value::String(_) => fixture.bytes.chunks(1).collect(),
        Value::Array(offsets) => {
            let offset = |offset: &Value| usize::try_from(offset.as_u64().unwrap()).unwrap();
            cut(&fixture.bytes, offsets.iter().map(offset))
        }
        _ => vec![&fixture.bytes],
    }
}

#[test]
fn any_cut_gives_the_expected_extraction() {
    let streams = streams();
    assert!(streams.len() >= 179, "only {} fixtures", streams.len());
    let mut differences = Vec::new();
    for fixture in &streams {
        let mut check = |reads: &[&[u8]], how: &str| {
            let found = fixture.differences(&fixture.observe(reads));
            differences.extend(found.into_iter().map(|difference| format!("{difference} ({how})")));
        };
        check(&[&fixture.bytes], "one read");
        check(&planned_reads(fixture), "split plan");
        for size in [1, 2, 3, 7, 64, 1000, 4096] {
            let reads: Vec<&[u8]> = fixture.bytes.chunks(size).collect();
            check(&reads, &format!("reads of {size}"));
        }
        for (seed, mean) in [(1, 3), (2, 40), (3, 400), (4, 5000)] {
            let offsets = random_offsets(fixture.bytes.len(), mean, seed);
            check(&cut(&fixture.bytes, offsets), &format!("random cuts, seed {seed}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_dialect_shows_in_the_stream() {
    let mut unseen = Vec::new();
    for fixture in streams() {
        let asked = fixture.config().dialect;
        let config = ObserverConfig { dialect: None, ..fixture.config() };
        let observed = observe(config, &[&fixture.bytes]);
        let differences = fixture.differences(&observed);
        if Some(observed.observation.dialect) != asked || !differences.is_empty() {
            unseen.push((fixture.name.clone(), differences));
        }
    }
    assert_eq!(unseen, []);
}

#[test]
fn events_bear_the_time_of_the_read_that_completed_them() {
    let mut checked = 0;
    for fixture in streams() {
        let expected = &fixture.description["reads"];
        if expected.is_null() {
            continue;
        }
        let reads = planned_reads(&fixture);
        let observation = fixture.observe(&reads).observation;
        let done_us = observation.done_seen.then_some(observation.elapsed_us);
        for (name, found) in [
            ("total", Some(reads.len() as u64)),
            ("first_generated_read", observation.first_generated_us),
            ("first_content_read", observation.first_content_us),
            ("done_read", done_us),
        ] {
            assert_eq!(expected[name].as_u64(), found, "{}: {name}", fixture.name);
        }
        checked += 1;
    }
    assert!(checked >= 3, "only {checked} fixtures say which read completes what");
}
