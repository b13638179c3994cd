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
    let _ = writeln!(io::stderr(), "{text}");
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
