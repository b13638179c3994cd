//! What was written is forced to the disk, once a second and beside whoever writes.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often what was written is forced to the disk.
const EVERY: Duration = Duration::from_secs(1);

/// The thread that forces a file to the disk.
#[derive(Debug)]
pub(crate) struct Syncer {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Syncer {
    /// Starts it.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(file: File) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new().name("sync".to_owned()).spawn(move || {
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                file.sync_data()?;
                still_there(&file)?;
            }
            Ok(())
        })?;
        Ok(Self { stop, thread })
    }

    /// Whether it gave up, so that nothing more reaches the disk; [`Self::stop`] says why.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it.
    ///
    /// # Errors
    /// Why it gave up.
    pub(crate) fn stop(self) -> io::Result<()> {
        drop(self.stop);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the syncing thread died")))
    }
}

/// Refuses a file that nobody will find any more.
pub(crate) fn still_there(file: &File) -> io::Result<()> {
    match file.metadata()?.nlink() {
        0 => Err(io::Error::other("the file was removed while it was written")),
        _ => Ok(()),
    }
}

/// Forces the entry of a file in its folder to the disk.
pub(crate) fn sync_entry(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
