//! Peak rates: the time of a run in equal tiles of a second or little more, and the fullest of them.
//!
//! Tokens are whole numbers and every one lies in some tile, so that a peak is never below the mean.

use std::collections::BTreeMap;

use crate::inflight::Span;
use crate::measured::Measured;
use crate::sent::{OutputTokens, Sent};

/// A second, in microseconds.
const SECOND_US: u64 = 1_000_000;

/// Most completion tokens a second of any tile. `None` when a response with output has no count of
/// them, or no times to put them at; and where there are no rates.
pub(crate) fn peak_tokens_per_s(run: &Measured) -> Option<f64> {
    let mut tiles = Tiles::of(run.batch()?);
    for sent in &run.sent {
        match sent.output_tokens() {
            OutputTokens::None => {}
            OutputTokens::Counted(tokens) => add_tokens(run, sent, tokens, &mut tiles)?,
            OutputTokens::Unknown => return None,
        }
    }
    Some(tiles.peak_per_s())
}

/// Most ends of succeeded requests a second of any tile. `None` where there are no rates.
pub(crate) fn peak_requests_per_s(run: &Measured) -> Option<f64> {
    let mut tiles = Tiles::of(run.batch()?);
    for sent in run.sent.iter().filter(|sent| sent.succeeded()) {
        tiles.add(sent.span().to_us, 1);
    }
    Some(tiles.peak_per_s())
}

/// Puts the tokens of a response where its output events are. Tokens that the server counted in no
/// event belong to the last one; a body that was no stream has all its output at its end.
fn add_tokens(run: &Measured, sent: &Sent, tokens: u64, tiles: &mut Tiles) -> Option<()> {
    let Some(first_us) = sent.ttft_us() else {
        if !sent.is_timed {
            return None;
        }
        tiles.add(sent.span().to_us, tokens);
        return Some(());
    };
    let events = sent.output_events().filter(|events| *events > 0)?;
    let counts = run.gaps.tokens(sent.index());
    let mut even = Even::new(tokens, events);
    let (mut at_us, mut given, mut event) = (sent.started_us.saturating_add(first_us), 0_u64, 0);
    let mut place = |at_us: u64, tiles: &mut Tiles| {
        event += 1;
        let until = match counts {
            _ if event == events => tokens,
            Some(counts) => {
                given.saturating_add(counts.get(event as usize - 1).copied()?.into()).min(tokens)
            }
            None => given.checked_add(even.next_part())?,
        };
        tiles.add(at_us, until - given);
        given = until;
        Some(())
    };
    place(at_us, tiles)?;
    for gap_us in run.gaps.of(sent.output_gaps()) {
        at_us = at_us.saturating_add(gap_us);
        place(at_us, tiles)?;
    }
    // Where single intervals were not kept, nobody knows where the rest lies.
    (given == tokens).then_some(())
}

/// A number in parts that are as equal as whole numbers can be: part k of E is
/// ⌊(k + 1)·T/E⌋ − ⌊k·T/E⌋ of T. Without a division for each: a run has millions of events.
struct Even {
    parts: u64,
    least: u64,
    /// What is left of the number beside the least parts, and how much of it is due, times `parts`.
    rest: u64,
    due: u64,
}

impl Even {
    fn new(number: u64, parts: u64) -> Self {
        Self { parts, least: number / parts, rest: number % parts, due: 0 }
    }

    fn next_part(&mut self) -> u64 {
        // Neither sum can overflow: `due` and `rest` are below `parts`.
        let room = self.parts - self.rest;
        if self.due >= room {
            self.due -= room;
            self.least + 1
        } else {
            self.due += self.rest;
            self.least
        }
    }
}

/// Equal parts of a span of time, and what those of them hold that hold anything: a journal may say
/// that it was written for a thousand years.
struct Tiles {
    span: Span,
    count: u64,
    held: BTreeMap<u64, u64>,
    /// The tile that was last added to, what was added since, and its part of the span; events of a
    /// response follow each other.
    last: u64,
    added: u64,
    last_us: std::ops::Range<u64>,
}

impl Tiles {
    fn of(span: Span) -> Self {
        let count = (span.length_us() / SECOND_US).max(1);
        Self { span, count, held: BTreeMap::new(), last: 0, added: 0, last_us: 0..0 }
    }

    fn add(&mut self, at_us: u64, count: u64) {
        if !self.last_us.contains(&at_us) {
            self.keep_added();
            self.turn_to(at_us);
        }
        self.added = self.added.saturating_add(count);
    }

    fn keep_added(&mut self) {
        let held = self.held.entry(self.last).or_default();
        *held = held.saturating_add(std::mem::take(&mut self.added));
    }

    /// The end of the span belongs to its last tile.
    fn turn_to(&mut self, at_us: u64) {
        let (tiles, length) = (u128::from(self.count), u128::from(self.span.length_us()));
        let since = u128::from(at_us.saturating_sub(self.span.from_us));
        let tile = (since * tiles / length).min(tiles - 1);
        // The first microsecond of a tile.
        let begin = |tile: u128| (tile * length).div_ceil(tiles) as u64;
        let from = self.span.from_us;
        self.last_us = from.saturating_add(begin(tile))..from.saturating_add(begin(tile + 1));
        self.last = tile as u64;
    }

    fn peak_per_s(mut self) -> f64 {
        self.keep_added();
        let most = self.held.values().copied().max().unwrap_or(0);
        // Multiplied first: what is whole stays whole, and rounding cannot put it below the mean.
        let times = u128::from(most) * u128::from(self.count);
        times as f64 / (self.span.length_us() as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use streamgauge_schema::RequestLine;

    use super::*;
    use crate::sample_run::{ended, measured, plan, refused, succeeded};

    fn peaks(lines: &[RequestLine]) -> (Option<f64>, Option<f64>) {
        let run = measured(&plan(lines.len() as u64, 8), lines);
        (peak_tokens_per_s(&run), peak_requests_per_s(&run))
    }

    #[test]
    fn the_fullest_tile() {
        // Two tiles of 1.25 s: 40 tokens end in the first, 60 in the second.
        let first: Vec<_> = (0..4).map(|n| succeeded(n, 0, &[100, 1_000], 10)).collect();
        let second = (4..10).map(|n| succeeded(n, 1_250, &[0, 1_250], 10));
        let lines: Vec<_> = first.into_iter().chain(second).collect();
        assert_eq!(peaks(&lines), (Some(48.0), Some(4.8)));
        assert_eq!(peaks(&[succeeded(0, 0, &[100, 250], 10)]), (Some(40.0), Some(4.0)));
        assert_eq!(peaks(&[]), (None, None));
    }

    #[test]
    fn tokens_lie_where_the_server_counted_them() {
        let mut line = succeeded(0, 0, &[500, 1_500, 2_000], 10);
        let rate = |line: &RequestLine| peaks(std::slice::from_ref(line)).0;
        // 3, 3 and 4 of them, without counts.
        assert_eq!(rate(&line), Some(7.0));
        let seen = line.observation.as_mut().unwrap();
        seen.token_counts = Some(vec![8, 1, 1]);
        assert_eq!(rate(&line), Some(8.0));
    }

    #[test]
    fn a_run_of_many_years_has_tiles_where_something_ended() {
        let year_ms = 365 * 24 * 3_600 * 1_000;
        let lines = [succeeded(0, 0, &[500, 1_000], 10), succeeded(1, 300_000 * year_ms, &[1], 4)];
        let (tokens, requests) = peaks(&lines);
        assert!((tokens.unwrap() - 10.0).abs() < 0.001, "{tokens:?}");
        assert!((requests.unwrap() - 1.0).abs() < 0.001, "{requests:?}");
    }

    #[test]
    fn what_has_no_time_has_no_peak() {
        let mut line = succeeded(0, 0, &[500, 1_500, 2_000], 10);
        let seen = line.observation.as_mut().unwrap();
        // Single arrivals were not kept.
        seen.arrivals_us.clear();
        assert_eq!(peaks(&[line]).0, None);
        let mut body = ended(succeeded(0, 0, &[], 10), 2_000_000);
        body.observation.as_mut().unwrap().whole_body_output = true;
        assert_eq!(peaks(&[body]).0, Some(10.0));
    }

    proptest! {
        #[test]
        fn even_parts_are_what_division_gives(
            number in prop_oneof![0_u64..300, any::<u64>()],
            parts in prop_oneof![1_u64..300, 1..=u64::MAX],
        ) {
            let mut even = Even::new(number, parts);
            let up_to = |part: u64| u128::from(part) * u128::from(number) / u128::from(parts);
            for part in 0..parts.min(300) {
                prop_assert_eq!(u128::from(even.next_part()), up_to(part + 1) - up_to(part));
            }
        }

        /// vllm-project/vllm#37666: a peak below the average; also with a failure in the middle.
        #[test]
        fn never_below_the_mean(
            requests in prop::collection::vec((0_u64..9_000, 1_u64..4_000, 0_u64..300, 1_u64..90), 1..20),
        ) {
            let lines: Vec<_> = (0..).zip(&requests).map(|(n, (start, first, gap, tokens))| {
                if n == 3 {
                    return refused(n, *start, *gap);
                }
                let outputs: Vec<u64> = (0..tokens.div_ceil(4)).map(|k| first + gap * k).collect();
                succeeded(n, *start, &outputs, *tokens)
            }).collect();
            let run = measured(&plan(lines.len() as u64, 8), &lines);
            prop_assume!(run.batch().is_some());
            let seconds = run.batch().unwrap().length_us() as f64 / 1e6;
            let tokens: u64 = (0..).zip(&requests).filter(|(n, _)| *n != 3).map(|(_, it)| it.3).sum();
            prop_assert!(peak_tokens_per_s(&run).unwrap() >= tokens as f64 / seconds);
            let succeeded = lines.len() - usize::from(lines.len() > 3);
            prop_assert!(peak_requests_per_s(&run).unwrap() >= succeeded as f64 / seconds);
        }
    }
}
