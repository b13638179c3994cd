//! How far a run is, on stderr: a view that is drawn anew on a terminal, a line now and then elsewhere.
//!
//! Invariant: whoever reports a request never waits for a terminal. A thread of the view's own draws
//! what was noted, at most five times a second; a terminal that is held holds up nothing but the view.

mod so_far;
mod text;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use streamgauge_schema::RequestLine;

use self::so_far::SoFar;
use self::text::Moment;
use crate::args::Format;
use crate::console;
use crate::planning::Cell;

/// Between two looks of somebody at a terminal.
const LIVE: Duration = Duration::from_millis(200);
/// Between two lines in a log.
const PLAIN: Duration = Duration::from_secs(10);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Drawn anew in its place.
    Live,
    /// Not at all.
    Off,
    /// A line now and then.
    Plain,
}

impl View {
    /// What suits the stderr that there is. Where results are for programs, lines in a log disturb.
    pub(crate) fn of(no_progress: bool, format: Format) -> Self {
        match (no_progress, console::draws_progress(), format) {
            (true, ..) => Self::Off,
            (false, true, _) => Self::Live,
            (false, false, Format::Json) => Self::Off,
            (false, false, Format::Markdown | Format::Table) => Self::Plain,
        }
    }
}

/// The view of one run. It goes with this, however the run ends.
#[derive(Debug)]
pub(crate) struct Progress {
    shared: Option<Arc<Shared>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread that draws is told.
#[derive(Debug)]
struct Shared {
    told: Mutex<Told>,
    changed: Condvar,
    inflight: Arc<AtomicU64>,
    begun: Instant,
}

#[derive(Debug)]
struct Told {
    so_far: SoFar,
    over: bool,
}

impl Progress {
    /// Shows a cell that is about to be measured, under a title; `done` of its requests were measured
    /// before. `inflight` is how many are under way.
    pub(crate) fn start(
        title: &str,
        cell: &Cell,
        done: u64,
        view: View,
        inflight: Arc<AtomicU64>,
    ) -> Self {
        let hidden = Self { shared: None, thread: None };
        if view == View::Off {
            return hidden;
        }
        let so_far = SoFar::new(title, cell, done);
        let told = Mutex::new(Told { so_far, over: false });
        let shared =
            Arc::new(Shared { told, changed: Condvar::new(), inflight, begun: Instant::now() });
        let drawn = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("progress".to_owned());
        match thread.spawn(move || drawn.draw_until_over(view)) {
            Ok(thread) => Self { shared: Some(shared), thread: Some(thread) },
            // A run is worth more than the view of it.
            Err(_) => hidden,
        }
    }

    /// A request has ended.
    pub(crate) fn note(&self, line: &RequestLine) {
        if let Some(shared) = &self.shared {
            shared.told.lock().unwrap_or_else(PoisonError::into_inner).so_far.note(line);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.told.lock().unwrap_or_else(PoisonError::into_inner).over = true;
            shared.changed.notify_all();
        }
        if let Some(thread) = self.thread.take() {
            // A view that failed is gone already.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn draw_until_over(&self, view: View) {
        match view {
            View::Live => {
                let bar = live_bar();
                console::share(Some(bar.clone()));
                self.each(LIVE, |so_far, at| {
                    bar.set_message(text::live(so_far, at, console::stderr_columns()).join("\n"));
                });
                bar.finish_and_clear();
                console::share(None);
            }
            View::Off => {}
            View::Plain => {
                self.each(PLAIN, |so_far, at| console::remark(&text::plain(so_far, at)));
            }
        }
    }

    /// Shows what was told after each pause, until all is over. What is told meanwhile does not wait
    /// for what is shown.
    fn each(&self, pause: Duration, mut show: impl FnMut(&SoFar, Moment)) {
        loop {
            let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let (told, _) = self
                .changed
                .wait_timeout_while(told, pause, |told| !told.over)
                .unwrap_or_else(PoisonError::into_inner);
            if told.over {
                return;
            }
            let so_far = told.so_far.clone();
            drop(told);
            let at = Moment {
                elapsed: self.begun.elapsed(),
                inflight: self.inflight.load(Ordering::Relaxed),
            };
            show(&so_far, at);
        }
    }
}

fn live_bar() -> ProgressBar {
    // Each message is drawn once.
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(u8::MAX));
    match ProgressStyle::with_template("{msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
