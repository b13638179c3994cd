//! The journals of a run directory: its own, or those of the shards that it was merged from. Whoever reads
//! the requests of a run reads them here.
//!
//! Invariant: nobody adds to a journal as long as it is open here.

use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use streamgauge_client::{JournalReader, RunDir, read_file};
use streamgauge_metrics::{JournalEnd, moved_us};
use streamgauge_schema::{
    Digest, Evidence, Identifier, JournalBegun, JournalHeader, JournalResumed, JournalTrailer,
    MergedShard, MergedShards, RequestLine, Shard, read_typed,
};

use crate::rebuild::{PIECE_BYTES, open, open_at_rest};

mod reading;

/// Version of the list of shards that is read and written.
pub(crate) const SHARDS_VERSION: u32 = 1;

/// One journal, to be read from its beginning as often as it is wanted.
#[derive(Debug)]
pub(crate) struct JournalFile {
    pub(crate) path: PathBuf,
    pub(crate) header: JournalHeader,
    /// What it is called among the evidence.
    pub(crate) name: Identifier,
    /// What its digest was when it was merged.
    pub(crate) merged_as: Option<Digest>,
    file: File,
}

/// What a journal said when it was read to its end, besides its requests.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) begun: Option<JournalBegun>,
    pub(crate) resumptions: Vec<JournalResumed>,
    pub(crate) trailer: Option<JournalTrailer>,
    pub(crate) torn_bytes: usize,
    pub(crate) sha256: Digest,
    pub(crate) bytes: u64,
}

impl Ended {
    pub(crate) fn said(&self) -> JournalEnd<'_> {
        JournalEnd {
            begun: self.begun.as_ref(),
            resumptions: &self.resumptions,
            trailer: self.trailer.as_ref(),
        }
    }
}

/// All journals of a run, by the numbers of their shards.
#[derive(Debug)]
pub(crate) struct Journals {
    pub(crate) files: Vec<JournalFile>,
    pub(crate) is_merged: bool,
}

impl Journals {
    /// Whether a run directory has any.
    pub(crate) fn exist(dir: &RunDir) -> bool {
        dir.journal().exists() || is_merged(dir)
    }

    /// Those of a run that has ended.
    pub(crate) fn open(dir: &RunDir) -> anyhow::Result<Self> {
        if !is_merged(dir) {
            return Ok(Self::one(JournalFile::open(&dir.journal())?));
        }
        let list = dir.shards();
        let shards: MergedShards =
            read_typed(&read_file(&list)?).with_context(|| list.display().to_string())?;
        if shards.shards_version != SHARDS_VERSION {
            let version = shards.shards_version;
            bail!("{}: it has version {version}, this program reads 1", list.display());
        }
        let each = shards.shards.iter().map(|shard| open_shard(dir, shard, shards.of));
        Ok(Self { files: each.collect::<Result<_, _>>()?, is_merged: true })
    }

    /// The one of a run that the caller holds.
    pub(crate) fn open_held(dir: &RunDir) -> anyhow::Result<Self> {
        let path = dir.journal();
        Ok(Self::one(JournalFile::new(open(&path)?, &path)?))
    }

    fn one(file: JournalFile) -> Self {
        Self { files: vec![file], is_merged: false }
    }

    /// The headers, in the order of the files.
    pub(crate) fn headers(&self) -> Vec<JournalHeader> {
        self.files.iter().map(|file| file.header.clone()).collect()
    }

    /// Which of them are no longer what was merged.
    pub(crate) fn changed(&self, ended: &[Ended]) -> Option<String> {
        let mut each = self.files.iter().zip(ended);
        let (file, _) =
            each.find(|(file, ended)| file.merged_as.is_some_and(|it| it != ended.sha256))?;
        Some(format!("{} has changed since it was merged", file.path.display()))
    }

    /// The requests of all, with their stamps on one time line.
    pub(crate) fn lines(&self) -> Lines<'_> {
        Lines { journals: self, moved_us: moved_us(&self.headers()), at: 0, reader: None }
    }
}

impl JournalFile {
    /// The journal of a run that has ended.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        Self::new(open_at_rest(path)?, path)
    }

    /// The same as evidence of the run that its shard belongs to.
    pub(crate) fn of_shard(self, number: u64) -> anyhow::Result<Self> {
        let name = format!("shard-{number}.{}", self.name);
        Ok(Self { name: Identifier::new(name).context("name of a journal")?, ..self })
    }

    fn new(file: BufReader<File>, path: &Path) -> anyhow::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = Identifier::new(name).context("name of a journal")?;
        let file = file.into_inner();
        let header = JournalReader::new(BufReader::new(&file), path)?.header().clone();
        Ok(Self { path: path.to_owned(), header, name, merged_as: None, file })
    }

    /// What it was, for the record.
    pub(crate) fn evidence(&self, ended: &Ended) -> Evidence {
        Evidence { name: self.name.clone(), sha256: ended.sha256, bytes: ended.bytes }
    }

    /// From the beginning.
    fn source(&self) -> anyhow::Result<&File> {
        let mut file = &self.file;
        file.rewind().with_context(|| format!("cannot read {}", self.path.display()))?;
        Ok(file)
    }
}

/// Whether a run directory was merged from shards.
pub(crate) fn is_merged(dir: &RunDir) -> bool {
    dir.shards().exists()
}

fn open_shard(dir: &RunDir, merged: &MergedShard, of: u64) -> anyhow::Result<JournalFile> {
    let MergedShard { number, path, journal_sha256 } = merged;
    let shard = RunDir::at(&dir.path().join(path));
    let journal = shard.journal();
    if !journal.exists() {
        bail!(
            "shard {number} of {of} is not where {} says: {} has no journal. Put it back, or merge the \
             shards anew where they lie",
            dir.shards().display(),
            shard.path().display()
        );
    }
    let file = JournalFile::open(&journal)?.of_shard(*number)?;
    if file.header.shard != Shard::new(*number, of) {
        let shown = file.header.shard.map_or("a whole run".to_owned(), |it| format!("shard {it}"));
        bail!(
            "{} is to hold shard {number} of {of} by {}, and holds {shown}",
            shard.path().display(),
            dir.shards().display()
        );
    }
    Ok(JournalFile { merged_as: Some(*journal_sha256), ..file })
}

/// The requests of a run, one after the other.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    journals: &'a Journals,
    moved_us: Vec<u64>,
    at: usize,
    reader: Option<JournalReader<BufReader<&'a File>>>,
}

impl Lines<'_> {
    /// The next one; `None` behind the last.
    ///
    /// # Errors
    /// When a journal cannot be read, or a line is broken or out of place.
    pub(crate) fn next_request(&mut self) -> anyhow::Result<Option<RequestLine>> {
        while let Some(file) = self.journals.files.get(self.at) {
            let reader = match &mut self.reader {
                Some(reader) => reader,
                none => {
                    let source = BufReader::with_capacity(PIECE_BYTES, file.source()?);
                    none.insert(JournalReader::new(source, &file.path)?)
                }
            };
            if let Some(mut line) = reader.next_request()? {
                line.move_on(self.moved_us[self.at]);
                return Ok(Some(line));
            }
            (self.reader, self.at) = (None, self.at + 1);
        }
        Ok(None)
    }
}
