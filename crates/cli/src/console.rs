//! Results go to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};

use anyhow::Error;

/// Writes a result, with a line feed at its end.
pub(crate) fn result(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Writes a remark. A stderr that is closed loses it; the command goes on.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// A text without control characters other than line feeds: what comes from a file or a server
/// must not steer a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.split('\n')
        .map(|line| {
            let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            let shown = |c: char| {
                if c.is_control() || turns(c) {
                    c.escape_default().to_string()
                } else {
                    c.to_string()
                }
            };
            line.chars().map(shown).collect::<String>()
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Writes the error that ended the command, with its causes.
pub(crate) fn complain(error: &Error) {
    remark(&format!("error: {error:#}"));
}

/// Whether progress can be drawn.
pub(crate) fn draws_progress() -> bool {
    io::stderr().is_terminal()
}

/// Whether the reader of our results went away, as `head` does: that is no fault.
pub(crate) fn is_closed_pipe(error: &Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
