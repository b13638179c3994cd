//! Ctrl-C and SIGTERM: the first stops the run in good order, the second ends at once.

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
    let mut signals = [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?];
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        next(&mut signals).await;
        console::remark(remark);
        // A run that has just ended no longer listens.
        let _ = stop.send(true);
        next(&mut signals).await;
        end_at_once();
    });
    Ok(stopped)
}

/// Returns when the signal was given; never, if nobody can give it any more.
pub(crate) async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn next([interrupt, terminate]: &mut [Signal; 2]) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

#[expect(clippy::exit, reason = "the user asked twice; every finished line is in the journal")]
fn end_at_once() -> ! {
    std::process::exit(Exit::Interrupted as i32)
}
