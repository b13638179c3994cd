//! Ctrl-C, SIGTERM and a terminal that hangs up: the first stops the run in good order, the second ends
//! at once.
//!
//! They are heard on a thread of their own: whatever the command does meanwhile, a second one ends it.
//! A hang-up that was to be ignored when the command began, as under `nohup`, stays ignored.

use std::fs;
use std::future::poll_fn;
use std::task::Poll;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::console;
use crate::exit::Exit;

/// The answer to a signal during a run.
pub(crate) const SAVING: &str =
    "stopping; what has finished is being saved (once more to end at once)";

/// Turns true at the first signal, which `remark` answers. At the second the process ends with exit
/// code 130.
pub(crate) fn stop_on_signal(remark: &'static str) -> anyhow::Result<watch::Receiver<bool>> {
    let (stop, stopped) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("the system lets this program hear no signals (ulimit -n)")?;
    let heard = {
        let _entered = runtime.enter();
        heard().map(signal).collect::<Result<Vec<_>, _>>()?
    };
    let listen = move || {
        runtime.block_on(async move {
            let mut heard = heard;
            next(&mut heard).await;
            // Told first: a terminal that hung up takes no remark.
            let _ = stop.send(true);
            console::remark(remark);
            next(&mut heard).await;
            end_at_once();
        });
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(listen).context("the system gives no thread")?;
    Ok(stopped)
}

/// Makes the limit on the size of files (`ulimit -f`) an error of the write that exceeds it, which is told
/// and leaves what there is whole, instead of a signal that ends the process without a word. Where the
/// system lets this program hear no signals it stays as it is.
pub(crate) fn survive_file_size_limit() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let Ok(runtime) = runtime else { return };
    let _entered = runtime.enter();
    // What was registered stays when the runtime ends.
    let _ = signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32));
}

/// Returns when the signal was given; never, if nobody can give it any more.
pub(crate) async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What is heard.
fn heard() -> impl Iterator<Item = SignalKind> {
    let hang_up = (!ignores_hang_up()).then(SignalKind::hangup);
    [SignalKind::interrupt(), SignalKind::terminate()].into_iter().chain(hang_up)
}

/// Whether this process was begun with SIGHUP ignored. Where the system does not say, the signal keeps
/// whatever it does.
fn ignores_hang_up() -> bool {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return true };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = SignalKind::hangup().as_raw_value() - 1;
    ignored.is_none_or(|mask| mask >> bit & 1 == 1)
}

async fn next(heard: &mut [Signal]) {
    poll_fn(|context| match heard.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

#[expect(clippy::exit, reason = "the user asked twice; every finished line is in the journal")]
fn end_at_once() -> ! {
    std::process::exit(Exit::Interrupted as i32)
}
