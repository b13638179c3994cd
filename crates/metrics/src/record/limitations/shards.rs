//! What the figures of a shard, or of a run put together of shards, do not say.

use streamgauge_schema::{JournalBegun, PublicText};

use crate::compare::{MODELS_LISTED_LABEL, SERVER_LABEL, VERSION_LABEL};
use crate::record::CollectedRun;
use crate::record::conditions::differing;
use crate::record::journals::Journal;
use crate::request::millis;

/// How far apart shards may begin before it is worth a word.
const APART_US: u64 = 100_000;
/// How far apart common starts may be by rounding.
const SAME_START_US: u64 = 1_000;
/// Most shards that are named, so that a sentence is not too long to be published whatever their numbers.
const NAMED: usize = 5;
/// What a server says of itself.
const OF_SERVER: [&str; 3] = [SERVER_LABEL, MODELS_LISTED_LABEL, VERSION_LABEL];

pub(super) fn one_alone(run: &CollectedRun<'_>) -> Option<String> {
    let shard = run.journals.shard()?;
    Some(format!(
        "This is shard {shard} alone: other shards loaded the server meanwhile, and its figures are not \
         those of the run. Merge the shards (streamgauge merge)."
    ))
}

pub(super) fn missing(run: &CollectedRun<'_>) -> Option<String> {
    let missing = run.journals.missing();
    (!missing.is_empty()).then(|| {
        format!(
            "Shards that are missing: {} of {} ({}); their requests count as never sent, and they may have \
             loaded the server.",
            missing.len(),
            run.journals.of(),
            named(&missing)
        )
    })
}

/// Shards whose journal has no end.
pub(super) fn ended_early(run: &CollectedRun<'_>) -> Option<String> {
    let cut = numbers(run, |journal| journal.trailer.is_none());
    (run.journals.is_merged() && !cut.is_empty()).then(|| {
        let (count, of) = (cut.len(), run.journals.of());
        format!("Shards that were cut off: {count} of {of} ({}).", named(&cut))
    })
}

/// While a shard was down the others went on, so that the time between is time of the run.
pub(super) fn taken_up(run: &CollectedRun<'_>) -> Option<String> {
    let taken_up = numbers(run, |journal| journal.taken_up() > 0);
    (run.journals.is_merged() && !taken_up.is_empty()).then(|| {
        format!(
            "Shards that broke off and were taken up again: {} ({}). Others went on meanwhile, so that the \
             time between is in the rates; there is neither a steady window nor a peak in flight.",
            taken_up.len(),
            named(&taken_up)
        )
    })
}

/// Shards may have met other builds.
pub(super) fn servers_differ(run: &CollectedRun<'_>) -> Option<String> {
    let labels = differing(&run.journals);
    let labels = labels.iter().map(PublicText::as_str).filter(|label| OF_SERVER.contains(label));
    let labels = labels.collect::<Vec<_>>().join(", ");
    (!labels.is_empty()).then(|| {
        format!("The server did not say the same of itself to every shard: {labels}. Its conditions tell what.")
    })
}

pub(super) fn started_differently(run: &CollectedRun<'_>) -> Option<String> {
    if !run.journals.is_merged() {
        return None;
    }
    let began = begun(run, |begun| Some(begun.at_us));
    let starts = begun(run, |begun| begun.start_us.filter(|us| *us > 0));
    let (first, last) = (began.iter().min()?, began.iter().max()?);
    let apart_us = last.0 - first.0;
    let differ = starts
        .iter()
        .max()
        .zip(starts.iter().min())
        .is_some_and(|(last, first)| last.0 - first.0 > SAME_START_US);
    let starts = if differ { "; they had different common starts" } else { "" };
    (apart_us > APART_US || differ).then(|| {
        format!(
            "Shards did not begin together: shard {} began {:?} ms after shard {}{starts}. Until then the \
             load was not the one that was asked for.",
            last.1,
            millis(apart_us),
            first.1
        )
    })
}

/// What the common time line is worth.
pub(super) fn clocks(run: &CollectedRun<'_>) -> Option<String> {
    let all = &run.journals.all;
    if !run.journals.is_merged() || all.len() < 2 {
        return None;
    }
    let clocks = || all.iter().filter_map(|it| Some((it.begun?.clock?, number(it))));
    let synchronised = || clocks().filter(|(clock, _)| clock.synchronised);
    let unsynchronised = clocks().count() - synchronised().count();
    let unknown = all.len() - clocks().count();
    // Without synchronisation the number means little.
    let worst =
        synchronised().max_by_key(|(clock, number)| (clock.max_error_us, u64::MAX - number));
    let clocks = worst.map_or("their machines' clocks".to_owned(), |(clock, number)| {
        let ms = millis(clock.max_error_us);
        format!("clocks that may be off by at most {ms:?} ms by their kernels (shard {number})")
    });
    let unsynchronised = match unsynchronised {
        0 => String::new(),
        count => format!("; {count} of {} are not kept in time", all.len()),
    };
    let unknown = match unknown {
        0 => String::new(),
        count => format!("; nothing is known of {count}"),
    };
    Some(format!(
        "Shards are held against each other by {clocks}{unsynchronised}{unknown}. Duration, rates and peak \
         in flight bear that."
    ))
}

pub(super) fn server_metrics(run: &CollectedRun<'_>) -> Option<String> {
    let is_asked = run.plan.instrument.server_metrics.is_some();
    (is_asked && run.journals.of() > 1).then(|| {
        "What the server's own metrics say is left out: each shard asked for itself, and the server counts \
         the requests of all."
            .to_owned()
    })
}

/// When shards began, on the common time line, with their numbers.
fn begun(run: &CollectedRun<'_>, at_us: fn(JournalBegun) -> Option<u64>) -> Vec<(u64, u64)> {
    let at = |journal: &Journal<'_>| {
        let us = at_us(journal.begun?)?.saturating_add(journal.moved_us);
        Some((us, number(journal)))
    };
    run.journals.all.iter().filter_map(at).collect()
}

fn numbers(run: &CollectedRun<'_>, which: fn(&Journal<'_>) -> bool) -> Vec<u64> {
    run.journals.all.iter().filter(|journal| which(journal)).map(number).collect()
}

fn number(journal: &Journal<'_>) -> u64 {
    journal.header.shard.map_or(1, |shard| shard.number())
}

fn named(numbers: &[u64]) -> String {
    let each: Vec<String> = numbers.iter().take(NAMED).map(u64::to_string).collect();
    match numbers.len().saturating_sub(NAMED) {
        0 => each.join(", "),
        more => format!("{} and {more} more", each.join(", ")),
    }
}
