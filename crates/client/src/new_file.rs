//! Whole files: under a temporary name, forced to the disk, then linked into place, so that a file of
//! its name is whole and was never another.
//!
//! Invariant: a temporary file is locked by whoever writes it. One that is not locked was left by a
//! process that is gone, and is removed by whoever comes upon it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::run_dir::RunDirError;
use crate::syncer::sync_entry;

/// End of temporary names, behind a number.
const END: &str = "part";

/// Writes a file that must not exist: under a temporary name, forced to the disk, then linked into
/// place, so that a file of this name is always whole. What a process that was killed left of an earlier
/// attempt is removed.
///
/// # Errors
/// When the file exists or cannot be written.
pub fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), RunDirError> {
    let mut file = NewFile::create(path, mode)?;
    file.write_all(bytes).map_err(|source| refused(path, source))?;
    file.finish()
}

/// A file that is written piece by piece as [`write_new`] does it: it has its name once it is whole, and
/// leaves nothing behind where it is dropped before.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
    file: BufWriter<File>,
}

impl NewFile {
    /// Begins it under a temporary name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: &Path, mode: u32) -> Result<Self, RunDirError> {
        // They hinder nothing.
        let _ = remove_leftovers(path);
        let made = create_temporary(path, mode).map_err(|source| refused(path, source))?;
        let (temporary, file) = made;
        Ok(Self { path: path.to_owned(), temporary, file: BufWriter::new(file) })
    }

    /// Forces it to the disk and gives it its name.
    ///
    /// # Errors
    /// When a file of that name exists or it cannot be written.
    pub fn finish(mut self) -> Result<(), RunDirError> {
        let written = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .and_then(|()| fs::hard_link(&self.temporary, &self.path))
            .and_then(|()| sync_entry(&self.path));
        written.map_err(|source| refused(&self.path, source))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // Nothing but the temporary name is lost when this fails.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn refused(path: &Path, source: io::Error) -> RunDirError {
    RunDirError::Io { action: "cannot write", path: path.into(), source: said_in_words(source) }
}

/// That a file is there is told with what to do; the kind of the error stays.
fn said_in_words(source: io::Error) -> io::Error {
    match source.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(
            io::ErrorKind::AlreadyExists,
            "a file of this name is there, and none is overwritten; name another or move it away",
        ),
        _ => source,
    }
}

/// Removes what was left of attempts to write this file by processes that were killed.
///
/// # Errors
/// When the folder cannot be read, or what was left cannot be removed.
pub fn remove_leftovers(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    for entry in fs::read_dir(folder.unwrap_or(Path::new(".")))? {
        let entry = entry?;
        if !is_temporary(&entry.file_name(), path) || !entry.file_type()?.is_file() {
            continue;
        }
        let found = match File::open(entry.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            found => found?,
        };
        if found.try_lock().is_ok() {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

/// Creates a locked file beside `path`, under a name that no other has.
fn create_temporary(path: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    let first = std::process::id();
    for number in (0..).map(|step| first.wrapping_add(step)) {
        let temporary = path.with_file_name(temporary_name(path, number));
        let made = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary);
        let file = match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        };
        file.lock()?;
        // Whoever locked it first has taken it for a leftover.
        if file.metadata()?.nlink() > 0 {
            return Ok((temporary, file));
        }
    }
    Err(io::Error::other("no temporary name is free"))
}

fn temporary_name(path: &Path, number: u32) -> OsString {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{number}.{END}"));
    name
}

fn is_temporary(name: &std::ffi::OsStr, path: &Path) -> bool {
    let wanted = path.file_name().and_then(|name| name.to_str());
    let (Some(name), Some(wanted)) = (name.to_str(), wanted) else { return false };
    let number = name
        .strip_prefix(wanted)
        .and_then(|rest| rest.strip_prefix('.'))
        .and_then(|rest| rest.strip_suffix(END))
        .and_then(|rest| rest.strip_suffix('.'));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_process_left_hinders_nobody_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        let own = temporary_name(&path, std::process::id());
        for left in [own.to_str().unwrap(), "record.json.1.part"] {
            fs::write(folder.path().join(left), b"{").unwrap();
        }
        // What somebody writes just now, and what looks alike, stays.
        let others = ["plan.json.7.part", "record.json.part", "record.json.x.part"];
        for other in others {
            fs::write(folder.path().join(other), b"{").unwrap();
        }
        let held = File::create(folder.path().join("record.json.2.part")).unwrap();
        held.lock().unwrap();

        write_new(&path, b"whole", 0o644).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        let mut expected = vec!["record.json", "record.json.2.part"];
        expected.extend(others);
        expected.sort_unstable();
        assert_eq!(names(folder.path()), expected);
    }

    #[test]
    fn nothing_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        fs::write(&path, b"first").unwrap();
        let error = write_new(&path, b"second", 0o644).unwrap_err();
        let RunDirError::Io { source, .. } = error else { panic!("{error}") };
        assert_eq!(source.kind(), io::ErrorKind::AlreadyExists);
        assert!(source.to_string().contains("none is overwritten"), "{source}");
        assert_eq!(names(folder.path()), ["record.json"]);
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }
}
