//! The cases of a run too long for its record: a line for each, which goes through and is never held.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use anyhow::{Context, bail};
use streamgauge_client::{NewFile, RunDir};
use streamgauge_schema::{Case, Digest, Digester, Evidence};

use super::{named_evidence, open};

/// What became of the cases while they went through.
#[derive(Debug)]
pub(super) enum Cases {
    /// The file that stands in the directory was held to them: where it first differs.
    Compared { difference: Option<String> },
    /// They were written, and wait for their name.
    Written { file: NewFile },
}

impl Cases {
    /// Makes the lines, and holds the file to them that is there; where there is none it is written.
    pub(super) fn make(
        dir: &RunDir,
        cases: impl Iterator<Item = Case>,
    ) -> anyhow::Result<(Self, Evidence)> {
        let path = dir.cases();
        let mut to = match path.exists() {
            true => {
                To::Compare(Compared { file: open(&path)?, line: Vec::new(), difference: None })
            }
            false => To::Write(NewFile::create(&path, 0o644)?),
        };
        let (mut digester, mut bytes, mut line) = (Digester::default(), 0, Vec::new());
        for (case, number) in cases.zip(1..) {
            line.clear();
            serde_json::to_writer(&mut line, &case)?;
            line.push(b'\n');
            digester.add(&line);
            bytes += line.len() as u64;
            let taken = match &mut to {
                To::Compare(compared) => compared.next(&line, number),
                To::Write(file) => file.write_all(&line),
            };
            taken.with_context(|| path.display().to_string())?;
        }
        let made = match to {
            To::Compare(compared) => Self::Compared { difference: compared.end()? },
            To::Write(file) => Self::Written { file },
        };
        Ok((made, evidence(dir, digester.finish(), bytes)?))
    }

    /// Gives the file its name; one that is there already must be the same.
    pub(super) fn keep(self, dir: &RunDir) -> anyhow::Result<()> {
        match self {
            Self::Compared { difference: None } => Ok(()),
            Self::Compared { difference: Some(difference) } => {
                bail!("{}: {difference}", dir.cases().display())
            }
            Self::Written { file } => Ok(file.finish()?),
        }
    }

    /// Where the file that is there differs.
    pub(super) fn difference(&self, dir: &RunDir) -> Option<String> {
        match self {
            Self::Compared { difference } => {
                Some(format!("{}: {}", dir.cases().display(), difference.as_ref()?))
            }
            Self::Written { .. } => Some(format!("{} is missing", dir.cases().display())),
        }
    }
}

fn evidence(dir: &RunDir, sha256: Digest, bytes: u64) -> anyhow::Result<Evidence> {
    named_evidence(&dir.cases(), sha256, bytes)
}

enum To {
    Compare(Compared),
    Write(NewFile),
}

/// A file that is read beside the lines that it is to hold.
struct Compared {
    file: BufReader<File>,
    line: Vec<u8>,
    difference: Option<String>,
}

impl Compared {
    fn next(&mut self, expected: &[u8], number: u64) -> std::io::Result<()> {
        if self.difference.is_some() {
            return Ok(());
        }
        self.line.clear();
        // A line that is longer differs whatever follows.
        let mut file = std::io::Read::take(&mut self.file, expected.len() as u64 + 1);
        file.read_until(b'\n', &mut self.line)?;
        if self.line != expected {
            let [there, here] = [&self.line, expected].map(String::from_utf8_lossy);
            self.difference = Some(format!(
                "line {number} reads {:?}; plan and journal give {:?}",
                there.trim(),
                here.trim()
            ));
        }
        Ok(())
    }

    fn end(mut self) -> anyhow::Result<Option<String>> {
        let has_more = self.difference.is_none() && !self.file.fill_buf()?.is_empty();
        Ok(match has_more {
            true => Some("its end differs from what plan and journal give".to_owned()),
            false => self.difference,
        })
    }
}
