//! All lines of all journals, read on several threads: reading JSON takes longer than anything that is done
//! with it. The digests are taken on the way.

use std::io::{self, BufReader, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use anyhow::Context;
use streamgauge_client::JournalReader;
use streamgauge_schema::{Digest, Digester, RequestLine};

use super::{Ended, JournalFile, Journals};
use crate::rebuild::PIECE_BYTES;

/// Lines that are handed over at a time, and how often a thread may before it waits.
const LINES: usize = 128;
const AHEAD: usize = 4;

/// What a thread hands over of the journal at a place.
enum Part {
    Lines(usize, Vec<RequestLine>),
    End(usize, Box<Ended>),
}

impl Journals {
    /// Hands over every line that counts, as it stands in the journal at its place, and gives what the
    /// journals say besides. Lines of several journals come in any order.
    ///
    /// # Errors
    /// When a journal cannot be read, a line is broken or out of place, or is refused.
    pub(crate) fn read_all(
        &self,
        mut each: impl FnMut(usize, RequestLine) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<Ended>> {
        let files = &self.files;
        let threads = thread::available_parallelism().map_or(1, usize::from).min(files.len());
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            // Whoever waits to hand over ends when the receiver goes.
            let (sender, receiver) = sync_channel(threads * AHEAD);
            for _ in 0..threads {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || read_files(files, next, &sender));
            }
            drop(sender);
            let mut ended: Vec<Option<Ended>> = files.iter().map(|_| None).collect();
            for part in receiver {
                match part? {
                    Part::Lines(place, lines) => {
                        lines.into_iter().try_for_each(|line| each(place, line))?;
                    }
                    Part::End(place, end) => ended[place] = Some(*end),
                }
            }
            ended.into_iter().collect::<Option<Vec<_>>>().context("a journal was not read")
        })
    }
}

/// Reads one journal after the other that no other thread has begun.
fn read_files(files: &[JournalFile], next: &AtomicUsize, parts: &SyncSender<anyhow::Result<Part>>) {
    loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let Some(file) = files.get(place) else { return };
        let end = read_file(file, |lines| parts.send(Ok(Part::Lines(place, lines))).is_ok());
        let is_wanted = match end {
            Ok(None) => false,
            Ok(Some(end)) => parts.send(Ok(Part::End(place, Box::new(end)))).is_ok(),
            Err(error) => {
                // Where nobody listens any more, another error came first.
                let _ = parts.send(Err(error));
                false
            }
        };
        if !is_wanted {
            return;
        }
    }
}

/// Reads a journal; `None` where nobody wants its lines any more.
fn read_file(
    file: &JournalFile,
    mut hand_over: impl FnMut(Vec<RequestLine>) -> bool,
) -> anyhow::Result<Option<Ended>> {
    let mut source = Digested { source: file.source()?, digester: Digester::default(), bytes: 0 };
    let buffered = BufReader::with_capacity(PIECE_BYTES, &mut source);
    let mut journal = JournalReader::new(buffered, &file.path)?;
    let mut lines = Vec::with_capacity(LINES);
    while let Some(line) = journal.next_request()? {
        lines.push(line);
        if lines.len() == LINES
            && !hand_over(std::mem::replace(&mut lines, Vec::with_capacity(LINES)))
        {
            return Ok(None);
        }
    }
    if !hand_over(lines) {
        return Ok(None);
    }
    let (begun, trailer) = (journal.begun().copied(), journal.trailer().cloned());
    let (resumptions, torn_bytes) = (journal.resumptions().to_vec(), journal.torn_bytes());
    drop(journal);
    let (sha256, bytes) = source.finish();
    Ok(Some(Ended { begun, resumptions, trailer, torn_bytes, sha256, bytes }))
}

/// What is read, with its digest.
struct Digested<R> {
    source: R,
    digester: Digester,
    bytes: u64,
}

impl<R> Digested<R> {
    fn finish(self) -> (Digest, u64) {
        (self.digester.finish(), self.bytes)
    }
}

impl<R: Read> Read for Digested<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(into)?;
        self.digester.add(&into[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
