//! Files that somebody names: regular ones, and no more of them than is meant to be read. A device
//! or a pipe may have no end, and waiting for one would look like a run that hangs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Opens a file for reading.
///
/// # Errors
/// When it is missing, may not be read, or is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Asked first, as opening a pipe waits until somebody writes to it.
    let kind = fs::metadata(path)?.file_type();
    if kind.is_file() {
        return File::open(path);
    }
    let kind = match () {
        () if kind.is_dir() => {
            return Err(io::Error::other("it is a folder, and a file is wanted"));
        }
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::other(format!(
        "it is {kind}, and only regular files are read; save what comes from it to one"
    )))
}

/// Reads a whole file of at most so many bytes.
///
/// ```
/// use std::path::Path;
/// let error = streamgauge_client::read_regular(Path::new("/dev/zero"), 64).unwrap_err();
/// assert!(error.to_string().starts_with("it is a device"));
/// ```
///
/// # Errors
/// When it is missing, cannot be read, is no regular file, or is longer.
pub fn read_regular(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let too_long = || io::Error::other(format!("it is longer than {most_bytes} bytes"));
    let length = file.metadata()?.len();
    if length > most_bytes {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    // Some files say that they are empty, and others grow.
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes { Err(too_long()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn regular_files_up_to_a_length_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let [file, pipe, socket] = ["file", "pipe", "socket"].map(|name| folder.path().join(name));
        fs::write(&file, b"four").unwrap();
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let sparse = folder.path().join("sparse");
        File::create(&sparse).unwrap().set_len(1 << 40).unwrap();

        assert_eq!(read_regular(&file, 4).unwrap(), b"four");
        // It says that it has no length.
        assert!(!read_regular(Path::new("/proc/self/stat"), 1 << 20).unwrap().is_empty());
        for (path, said) in [
            (file.as_path(), "it is longer than 3 bytes"),
            (Path::new("/proc/self/stat"), "it is longer than 3 bytes"),
            (&sparse, "it is longer than 3 bytes"),
            (&pipe, "it is a pipe, "),
            (&socket, "it is a socket, "),
            (folder.path(), "it is a folder, "),
            (Path::new("/dev/zero"), "it is a device, "),
        ] {
            let error = read_regular(path, 3).unwrap_err().to_string();
            assert!(error.starts_with(said), "{}: {error}", path.display());
        }
        let missing = read_regular(&folder.path().join("nothing"), 3).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
