//! Reading files that a user names, with errors that name them back. What is too long is refused
//! before it fills the memory.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use streamgauge_client::{open_regular, read_regular};

/// Longest dataset.
const MOST_DATASET_BYTES: u64 = 4 << 30;
/// Longest line of a dataset: prompts of a million tokens have less than a tenth of it.
const MOST_LINE_BYTES: usize = 64 << 20;
/// Longest of other files: captures, responses, tokenizers.
const MOST_BYTES: u64 = 1 << 30;
/// Longest file that a person writes: deployments, gates, plans of qualifications.
const MOST_TEXT_BYTES: u64 = 16 << 20;
/// Longest document or ledger; the largest of ours have a tenth of it. What is longer is something
/// else, and reading it would take its size several times over.
const MOST_DOCUMENT_BYTES: u64 = 64 << 20;
/// How much of a dataset is read at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// Reads a file of at most 1 GiB.
pub(crate) fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_regular(path, MOST_BYTES).with_context(|| format!("cannot read {}", path.display()))
}

/// Reads at most 1 GiB from standard input.
pub(crate) fn read_stdin() -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let stdin = std::io::stdin().lock();
    stdin.take(MOST_BYTES + 1).read_to_end(&mut bytes).context("cannot read stdin")?;
    if bytes.len() as u64 > MOST_BYTES {
        bail!("cannot read stdin: what comes is longer than {MOST_BYTES} bytes");
    }
    Ok(bytes)
}

/// Reads UTF-8 of at most 16 MiB.
pub(crate) fn read_text(path: &Path) -> anyhow::Result<String> {
    let bytes = read_regular(path, MOST_TEXT_BYTES)
        .with_context(|| format!("cannot read {}", path.display()))?;
    String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", path.display()))
}

/// Reads a document or a ledger of at most 64 MiB.
pub(crate) fn read_document(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_regular(path, MOST_DOCUMENT_BYTES)
        .with_context(|| format!("cannot read {}", path.display()))
}

/// Reads a dataset of at most 4 GiB. Unless it is one JSON array, its lines have at most 64 MiB.
pub(crate) fn read_dataset(path: &Path) -> anyhow::Result<Vec<u8>> {
    let shown = || format!("cannot read {}", path.display());
    let mut file = open_regular(path).with_context(shown)?;
    let (mut bytes, mut line, mut begin) = (Vec::new(), 1, 0);
    loop {
        let read = (&mut file).take(PIECE_BYTES).read_to_end(&mut bytes).with_context(shown)?;
        if read == 0 {
            return Ok(bytes);
        }
        if bytes.len() as u64 > MOST_DATASET_BYTES {
            bail!("{}: it is longer than {MOST_DATASET_BYTES} bytes", shown());
        }
        let piece = &bytes[bytes.len() - read..];
        if let Some(last) = piece.iter().rposition(|byte| *byte == b'\n') {
            line += piece.iter().filter(|byte| **byte == b'\n').count();
            begin = bytes.len() - read + last + 1;
        }
        if bytes.len() - begin > MOST_LINE_BYTES && !is_array(&bytes) {
            bail!(
                "{}: line {line} is longer than {MOST_LINE_BYTES} bytes; a dataset has one JSON \
                 object a line",
                shown()
            );
        }
    }
}

fn is_array(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.trim_ascii_start().starts_with(b"[")
}
