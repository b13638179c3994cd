//! Results go to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Error};
use indicatif::ProgressBar;
use streamgauge_schema::is_steering;
use terminal_size::{Width, terminal_size_of};

/// What is drawn on stderr just now: remarks stand above it.
static DRAWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Writes a result, with a line feed at its end.
pub(crate) fn result(text: &str) -> anyhow::Result<()> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let mut out = io::stdout().lock();
    let written = out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(end.as_bytes()))
        .and_then(|()| out.flush());
    written.context("cannot write to standard output")
}

/// Writes a remark. A stderr that is closed loses it; the command goes on.
pub(crate) fn remark(text: &str) {
    let write = || {
        let text = printable(text);
        let shown = if draws_progress() { prose(&text, stderr_columns()) } else { text };
        let _ = writeln!(io::stderr(), "{shown}");
    };
    let drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match drawn {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// A text whose sentences keep within the columns. What is no sentence stays as it is, to be copied.
fn prose(text: &str, columns: usize) -> String {
    const BEGINNINGS: [&str; 3] = ["error: ", "note: ", "warning: "];
    let options = textwrap::Options::new(columns.max(40))
        .subsequent_indent("  ")
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let wrapped = |line: &str| {
        let is_sentence = BEGINNINGS.iter().any(|beginning| line.starts_with(beginning));
        if is_sentence { textwrap::fill(line, &options) } else { line.to_owned() }
    };
    text.split('\n').map(wrapped).collect::<Vec<_>>().join("\n")
}

/// Lets remarks stand above what is drawn, until nothing is.
pub(crate) fn share(drawn: Option<ProgressBar>) {
    *DRAWN.lock().unwrap_or_else(PoisonError::into_inner) = drawn;
}

/// A text without control characters other than line feeds: what comes from a file or a server
/// must not steer a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.split('\n')
        .map(|line| {
            let shown = |c: char| {
                if is_steering(c) { c.escape_default().to_string() } else { c.to_string() }
            };
            line.chars().map(shown).collect::<String>()
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Names one after the other, and how many more there are than a reader would read.
pub(crate) fn listed(mut names: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names.by_ref().take(SHOWN).collect();
    let more = names.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &rest
}

/// Writes the error that ended the command, with its causes.
pub(crate) fn complain(error: &Error) {
    remark(&format!("error: {error:#}"));
}

/// Columns of the terminal that shows results, as far as prose can be read so wide; where results go
/// elsewhere, what fits everywhere.
pub(crate) fn columns() -> usize {
    const ELSEWHERE: usize = 80;
    let size = terminal_size_of(io::stdout());
    size.map_or(ELSEWHERE, |(Width(columns), _)| usize::from(columns).clamp(40, 120))
}

/// Columns of the terminal on stderr.
pub(crate) fn stderr_columns() -> usize {
    const UNKNOWN: usize = 80;
    terminal_size_of(io::stderr()).map_or(UNKNOWN, |(Width(columns), _)| usize::from(columns))
}

/// Whether progress can be drawn.
pub(crate) fn draws_progress() -> bool {
    io::stderr().is_terminal()
}

/// Whether the reader of our results went away, as `head` does: that is no fault.
pub(crate) fn is_closed_pipe(error: &Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut() {
        let of = |count: usize| listed((0..count).map(|number| number.to_string()));
        assert_eq!(of(1), "0");
        assert_eq!(of(8), "0, 1, 2, 3, 4, 5, 6, 7");
        assert_eq!(of(900), "0, 1, 2, 3, 4, 5, 6, 7 and 892 more");
    }

    #[test]
    fn sentences_keep_within_a_terminal_and_nothing_else_is_touched() {
        let long = "x ".repeat(40);
        let text = format!("warning: {long}end\n{{\"a\": \"{long}\"}}");
        let shown = prose(&text, 50);
        let (json, sentence) = shown.rsplit_once('\n').map(|(first, last)| (last, first)).unwrap();
        assert_eq!(json, format!("{{\"a\": \"{long}\"}}"));
        assert!(sentence.lines().count() > 1 && sentence.lines().all(|line| line.len() <= 50));
    }

    #[test]
    fn a_reader_that_went_away_is_known_behind_what_was_being_done() {
        let broken = |kind| Error::from(io::Error::from(kind)).context("cannot write");
        assert!(is_closed_pipe(&broken(io::ErrorKind::BrokenPipe)));
        assert!(!is_closed_pipe(&broken(io::ErrorKind::StorageFull)));
    }
}
