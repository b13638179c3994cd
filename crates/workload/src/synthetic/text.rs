//! Words and lines, written as they are or as JSON has them.
//!
//! Invariant: whatever is written is ASCII, and but for line feeds it needs no escape in JSON.

use std::io::Write as _;

use rand_chacha::ChaCha8Rng;
use rand_core::Rng;

use super::words::WORDS;

/// Words that spell out a code, one a byte.
pub(super) const CODE_WORDS: usize = 8;
/// Most bytes of a word and its space.
pub(super) const WORD_BYTES: usize = 9;
/// Bytes that are copied for a word, whatever its length: copies of one size cost the least.
const COPIED_BYTES: usize = 16;

/// How a line feed is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// As within a text of JSON.
    Json,
    /// As itself.
    Plain,
}

impl Spelling {
    fn line_feed(self) -> &'static [u8] {
        match self {
            Self::Json => b"\\n",
            Self::Plain => b"\n",
        }
    }
}

/// A line that shows a code.
pub(crate) fn push_nonce(out: &mut Vec<u8>, code: u64, spelling: Spelling) {
    write!(out, "[{code:016x}]").expect("memory takes any bytes");
    out.extend_from_slice(spelling.line_feed());
}

/// A paragraph of words, the first of which spell out a code. `filler` is asked for the others.
pub(super) fn push_words(
    out: &mut Vec<u8>,
    code: u64,
    others: usize,
    filler: impl FnOnce() -> ChaCha8Rng,
    spelling: Spelling,
) {
    let mut at = out.len();
    out.resize(at + (CODE_WORDS + others) * WORD_BYTES + COPIED_BYTES, 0);
    let mut push = |picks: &[u8]| {
        for pick in picks {
            let (bytes, length) = &PADDED[usize::from(*pick)];
            out[at..at + COPIED_BYTES].copy_from_slice(bytes);
            at += length;
        }
    };
    push(&code.to_be_bytes());
    if others > 0 {
        let mut filler = filler();
        let mut picks = [0; 256];
        for block in (0..others).step_by(picks.len()) {
            let picks = &mut picks[..(others - block).min(256)];
            filler.fill_bytes(picks);
            push(picks);
        }
    }
    out.truncate(at - 1);
    out.push(b'.');
    out.extend_from_slice(spelling.line_feed());
    out.extend_from_slice(spelling.line_feed());
}

/// Each word with a space behind it, and the length of both.
static PADDED: [([u8; COPIED_BYTES], usize); 256] = padded();

const fn padded() -> [([u8; COPIED_BYTES], usize); 256] {
    let mut table = [([b' '; COPIED_BYTES], 0); 256];
    let mut place = 0;
    while place < table.len() {
        let word = WORDS[place].as_bytes();
        assert!(word.len() < WORD_BYTES);
        let mut byte = 0;
        while byte < word.len() {
            table[place].0[byte] = word[byte];
            byte += 1;
        }
        table[place].1 = word.len() + 1;
        place += 1;
    }
    table
}
