//! How far a run is, on a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use streamgauge_schema::{Completion, RequestLine, Stage};

use crate::console;

/// A bar that counts ended requests; nothing where stderr is no terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    failed: u64,
}

impl Progress {
    /// A bar for so many measured requests of a cell.
    pub(crate) fn new(cell: &str, requests: u64) -> Self {
        let bar = if console::draws_progress() {
            ProgressBar::new(requests)
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template(
            "{prefix} {bar:32} {pos}/{len}  {msg}  {elapsed_precise}, left {eta}",
        );
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_prefix(cell.to_owned());
        bar.set_message("warming up");
        Self { bar, failed: 0 }
    }

    /// A request has ended.
    pub(crate) fn note(&mut self, line: &RequestLine) {
        if line.stage == Stage::Measured {
            self.failed += u64::from(line.completion != Completion::Succeeded);
            self.bar.set_message(format!("{} failed", self.failed));
            self.bar.inc(1);
        }
    }
}

impl Drop for Progress {
    /// The bar goes, however the run ended.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
