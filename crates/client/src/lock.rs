//! The lock of a run directory: its journal's file is locked by whoever adds to it, and shared by
//! whoever reads it. The system takes the lock back however a process ends.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::error::JournalError;

/// Holds a run directory: as long as this lives, nobody else adds to its journal or takes it for whole.
#[derive(Debug)]
#[must_use = "the directory is given back when this is dropped"]
pub struct RunLock {
    _file: File,
}

impl RunLock {
    /// Of a file that is locked already.
    pub(crate) fn held(file: File) -> Self {
        Self { _file: file }
    }
}

/// Takes the lock of a journal that is read; it goes when the file is closed.
///
/// # Errors
/// When a run is still writing to it, or when the file cannot be locked.
pub fn lock_to_read(journal: &File, path: &Path) -> Result<(), JournalError> {
    lock(journal.try_lock_shared(), path)
}

/// Takes the lock of a journal that is added to.
pub(crate) fn lock_to_write(journal: &File, path: &Path) -> Result<(), JournalError> {
    lock(journal.try_lock(), path)
}

fn lock(tried: Result<(), TryLockError>, path: &Path) -> Result<(), JournalError> {
    match tried {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let folder = path.parent().unwrap_or(path).to_owned();
            Err(JournalError::InUse { folder })
        }
        Err(TryLockError::Error(source)) => {
            Err(JournalError::Io { action: "cannot lock", path: path.to_owned(), source })
        }
    }
}
