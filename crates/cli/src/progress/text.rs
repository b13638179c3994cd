//! A run so far in words. Pure: the same state at the same moment gives the same text.

use std::time::Duration;

use super::so_far::{Figures, Pace, SoFar};
use crate::show::{count, rough};

/// Cells of a bar, at most and at least.
const BAR: std::ops::RangeInclusive<usize> = 10..=40;

/// What is not in the lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Since the run's start.
    pub(super) elapsed: Duration,
    /// Requests under way.
    pub(super) inflight: u64,
}

/// What a terminal of so many columns shows, line by line.
pub(super) fn live(so_far: &SoFar, at: Moment, columns: usize) -> Vec<String> {
    let mut lines =
        vec![format!("{}: {}", so_far.title, counts(so_far, at)), bar(so_far, at, columns)];
    lines.extend(figures(so_far));
    lines.extend(warning(so_far));
    lines.into_iter().map(|line| cut(line, columns)).collect()
}

/// One line for a log.
pub(super) fn plain(so_far: &SoFar, at: Moment) -> String {
    let mut parts = vec![counts(so_far, at)];
    parts.extend(rate(so_far, at));
    parts.extend(figures(so_far));
    parts.extend(left(so_far, at).map(|left| format!("about {} left", clock(left))));
    parts.extend(warning(so_far));
    format!("{}: {}", so_far.title, parts.join("; "))
}

fn counts(so_far: &SoFar, at: Moment) -> String {
    let inflight = count(at.inflight);
    let SoFar { declared, warmed_up, ended, failed, .. } = so_far;
    if *ended == 0 && *warmed_up < declared.warmup {
        let (warmed_up, warmup) = (count(*warmed_up), count(declared.warmup));
        return format!("warming up, {warmed_up} of {warmup} ended, {inflight} in flight");
    }
    let left = declared.starts.and_then(|starts| starts.checked_sub(at.elapsed));
    if let Some(left) = left.filter(|_| *ended == 0) {
        return format!("waiting for the common start in {}", clock(left));
    }
    let of = match declared.pace {
        Pace::Time => String::new(),
        _ => format!(" of {}", count(declared.requests)),
    };
    format!("{}{of} ended, {inflight} in flight, {} failed", count(*ended), count(*failed))
}

fn bar(so_far: &SoFar, at: Moment, columns: usize) -> String {
    let share = share(so_far, at);
    let mut said = format!(" {:.0} %, {}", (share * 100.0).floor(), clock(at.elapsed));
    said.push_str(
        &left(so_far, at).map_or_else(String::new, |left| format!(", about {} left", clock(left))),
    );
    said.push_str(&rate(so_far, at).map_or_else(String::new, |rate| format!(", {rate}")));
    let cells = columns.saturating_sub(said.chars().count() + 1).clamp(*BAR.start(), *BAR.end());
    let full = (share * cells as f64) as usize;
    format!("{}{}{said}", "█".repeat(full), "░".repeat(cells.saturating_sub(full)))
}

/// How much of the run is over, from 0 to 1.
fn share(so_far: &SoFar, at: Moment) -> f64 {
    let declared = so_far.declared;
    let of = |part: f64, whole: f64| if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 };
    let by_requests = of(so_far.ended as f64, declared.requests as f64);
    match declared.lasts.filter(|_| declared.pace == Pace::Time) {
        Some(lasts) => {
            of(measured_for(so_far, at).as_secs_f64(), lasts.as_secs_f64()).max(by_requests)
        }
        None => by_requests,
    }
}

/// How long the measured part has been under way.
fn measured_for(so_far: &SoFar, at: Moment) -> Duration {
    so_far.first_sent.map_or(Duration::ZERO, |first| at.elapsed.saturating_sub(first))
}

fn rate_per_s(so_far: &SoFar, at: Moment) -> Option<f64> {
    let seconds = measured_for(so_far, at).as_secs_f64();
    (so_far.ended > 0 && seconds > 0.0).then(|| so_far.ended as f64 / seconds)
}

fn rate(so_far: &SoFar, at: Moment) -> Option<String> {
    rate_per_s(so_far, at).map(|rate| format!("{} req/s", rough(rate)))
}

/// How long it goes on as it has so far; nothing before anything has ended.
fn left(so_far: &SoFar, at: Moment) -> Option<Duration> {
    let declared = so_far.declared;
    let by_time = || {
        let lasts = declared.lasts.filter(|_| so_far.ended > 0)?;
        lasts.checked_sub(measured_for(so_far, at))
    };
    let by_requests = || {
        let to_come = declared.requests.saturating_sub(so_far.ended) as f64;
        rate_per_s(so_far, at).and_then(|rate| Duration::try_from_secs_f64(to_come / rate).ok())
    };
    match (declared.lasts, declared.pace) {
        (Some(_), Pace::Time) => {
            by_time().map(|left| by_requests().map_or(left, |sooner| left.min(sooner)))
        }
        (Some(_), Pace::Schedule) => by_time(),
        // A limit of requests under way lets a schedule fall behind.
        (Some(_), Pace::LimitedSchedule) => by_time().max(by_requests()),
        _ => by_requests(),
    }
}

fn figures(so_far: &SoFar) -> Option<String> {
    let shown = [("TTFT", so_far.ttft()), ("interval", so_far.interval())];
    let shown: Vec<String> = shown
        .into_iter()
        .filter_map(|(name, figures)| {
            let Figures { p50_ms, p95_ms } = figures?;
            Some(format!("{name} p50 {}, p95 {} ms", rough(p50_ms), rough(p95_ms)))
        })
        .collect();
    (!shown.is_empty()).then(|| format!("so far {}", shown.join("; ")))
}

fn warning(so_far: &SoFar) -> Option<String> {
    let (delay_ms, bent) = so_far.client_limited()?;
    Some(format!(
        "client-limited so far: {} (p99 delay of this client {} ms)",
        bent.join(", "),
        rough(delay_ms)
    ))
}

/// Hours, minutes and seconds.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// A line that fits: one that wrapped would leave parts of itself behind.
fn cut(line: String, columns: usize) -> String {
    if line.chars().count() < columns {
        return line;
    }
    let kept: String = line.chars().take(columns.saturating_sub(2)).collect();
    kept + "…"
}

#[cfg(test)]
mod tests;
