//! The turnover set: each answer begins with a marker of its own and repeats a word so many times, so
//! that lost, doubled and crossed pieces show.

use streamgauge_schema::{ControlledOutput, Expectation, OutputPolicy};

use crate::draw::Draw;
use crate::line::{Case, Line};

/// Words that common tokenizers have in one piece or two.
const WORDS: [&str; 16] = [
    "anchor", "barge", "bridge", "canal", "delta", "ferry", "gauge", "harbor", "island", "lake",
    "mill", "rain", "river", "spring", "tide", "water",
];
/// Letters and digits that are not taken for each other.
const LETTERS: &[u8; 16] = b"34679ACEFHKMPRTX";
/// Letters of a marker after its first. Markers of one length are never part of each other.
const MARKER_LETTERS: u32 = 5;

pub(crate) fn case(place: u32, draw: &mut Draw) -> Case {
    let (marker, other) = (marker(place), marker(place + 1));
    let word = draw.pick(&WORDS);
    let count = draw.between(6, 32);
    let words = |count: u64| vec![word; count as usize].join(" ");
    let prompt = format!(
        "Begin with the marker {marker} and then one space. Then repeat the word {word} exactly \
         {count} times, with one space between the words. Write nothing else.\n"
    );
    let expected = ControlledOutput {
        canary: Some(marker.clone()),
        count,
        policy: OutputPolicy::Strict,
        word: word.to_owned(),
    };
    Case {
        line: Line {
            id: format!("turnover-{:03}", place + 1),
            prompt,
            expect: Expectation::ControlledOutput(expected),
        },
        right: format!("{marker} {}", words(count)),
        wrong: vec![
            format!("{marker} {}", words(count - 1)),
            format!("{marker} {}", words(count + 1)),
            format!("{marker} {} {other}", words(count)),
            format!("{marker} {}.", words(count)),
            format!("{other} {}", words(count)),
            words(count),
        ],
    }
}

/// A marker for each place: a number that is far from its neighbour's, written in these letters.
fn marker(place: u32) -> String {
    const ALL: u32 = 1 << (4 * MARKER_LETTERS);
    // An odd factor undoes itself below a power of two: different places have different numbers.
    let number = (place + 1).wrapping_mul(0x0009_e375) % ALL;
    let letter = |at: u32| char::from(LETTERS[(number >> (4 * at)) as usize % LETTERS.len()]);
    std::iter::once('K').chain((0..MARKER_LETTERS).map(letter)).collect()
}
