//! The summary of a GitHub Actions step: Markdown that is added to the file that the runner names.
//! It is a convenience. What goes wrong with it is said, and changes no verdict.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use streamgauge_metrics::Compared;

use crate::args::Format;
use crate::console;
use crate::show::{self, Page};

const VARIABLE: &str = "GITHUB_STEP_SUMMARY";
/// The runner takes nothing of a summary that is larger.
const MAX_BYTES: u64 = 1024 * 1024;

/// Adds the comparison to the summary where there is one.
pub(super) fn add(compared: Compared<'_>) {
    let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else { return };
    if let Err(error) = add_to(Path::new(&path), compared) {
        console::remark(&format!("warning: the step summary ({VARIABLE}) lacks this: {error}"));
    }
}

fn add_to(path: &Path, compared: Compared<'_>) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    let room = room(&file)?;
    let texts = [show::comparison(compared, Page::of(Format::Markdown)), show::short(compared)];
    let fits = texts.iter().map(|text| format!("{text}\n\n")).find(|it| it.len() as u64 <= room);
    let text = fits.ok_or_else(|| {
        io::Error::other(format!("it is full, at {MAX_BYTES} bytes of which {room} are left"))
    })?;
    file.write_all(text.as_bytes())
}

fn room(file: &File) -> io::Result<u64> {
    Ok(MAX_BYTES.saturating_sub(file.metadata()?.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamgauge_schema::Document;

    const COMPARISON: &[u8] = include_bytes!("../../../schema/tests/records/comparison-v2.json");

    #[test]
    fn as_much_is_added_as_fits() {
        let Document::ComparisonV2(comparison) = Document::read(COMPARISON).unwrap() else {
            panic!("a comparison of version 2");
        };
        let compared = Compared::V2(&comparison);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.md");
        let bytes = || std::fs::metadata(&path).unwrap().len();

        add_to(&path, compared).unwrap();
        let whole = bytes();
        add_to(&path, compared).unwrap();
        assert_eq!(bytes(), 2 * whole);

        std::fs::write(&path, vec![b' '; (MAX_BYTES - whole + 1) as usize]).unwrap();
        add_to(&path, compared).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("FAIL by the interval rule") && !text.contains("| verdict"));

        std::fs::write(&path, vec![b' '; MAX_BYTES as usize]).unwrap();
        assert!(add_to(&path, compared).unwrap_err().to_string().contains("0 are left"));
        assert_eq!(bytes(), MAX_BYTES);
        assert!(add_to(folder.path(), compared).is_err());
    }
}
