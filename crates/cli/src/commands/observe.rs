//! `streamgauge observe`: extracts an observation from a saved response.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use streamgauge_client::{Capture, SavedRead, replay_http};
use streamgauge_observer::{Observed, Observer, ObserverConfig, Progress};
use streamgauge_schema::{Dialect, Document, End, Head, Layout, file_bytes};

use crate::console;
use crate::exit::Exit;
use crate::input::{read_bytes, read_stdin};

/// Arguments of `observe`.
#[derive(Debug, Args)]
#[command(after_help = "\
A file is a capture that `run --capture` wrote, a whole HTTP response (.http), or a bare body (.sse, \
.ndjson). What stands in `-` is told by how it begins. Only captures know times; the reads of other \
files arrive a microsecond apart.

Examples:
  streamgauge observe runs/build-7-…/capture/measured-0.capture
  curl -sN … | streamgauge observe - --extraction
  streamgauge observe stream.sse --cuts random:7")]
pub(crate) struct ObserveArgs {
    /// Saved response, or - for stdin
    file: PathBuf,
    /// API whose rules the events are read by [default: a capture's own, else what the events show]
    #[arg(long, value_name = "DIALECT")]
    api: Option<Dialect>,
    /// Print what the events said, without times
    #[arg(long)]
    extraction: bool,
    /// Longest line, in bytes
    #[arg(long, value_name = "BYTES")]
    max_line_bytes: Option<usize>,
    /// Longest data of one event, in bytes
    #[arg(long, value_name = "BYTES")]
    max_event_bytes: Option<usize>,
    /// Where one read ends and the next begins: each-byte, random:SEED, or offsets, as 10,250
    #[arg(long, value_name = "CUTS")]
    cuts: Option<Cuts>,
}

/// How the bytes of a file are cut into reads.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cuts {
    At(Vec<usize>),
    EachByte,
    Random(u64),
}

/// What a file holds.
enum Saved {
    Body(Vec<u8>, Option<Head>),
    Capture(Capture),
    Http(Vec<u8>),
}

/// Observes a saved response again.
pub(crate) async fn observe(args: &ObserveArgs) -> anyhow::Result<Exit> {
    let observed = observed(args).await?;
    let bytes = if args.extraction {
        file_bytes(&observed.extraction, Layout::AsGiven)?
    } else {
        file_bytes(&observed.observation, Layout::AsGiven)?
    };
    console::result(&String::from_utf8(bytes).context("canonical bytes are ASCII")?)?;
    Ok(Exit::Done)
}

async fn observed(args: &ObserveArgs) -> anyhow::Result<Observed> {
    let saved = saved(&args.file)?;
    let own = match &saved {
        Saved::Capture(capture) => Some(capture.dialect),
        Saved::Body(..) | Saved::Http(_) => None,
    };
    let mut config = args.api.or(own).map_or_else(ObserverConfig::detecting, ObserverConfig::new);
    config.max_line_bytes = args.max_line_bytes.unwrap_or(config.max_line_bytes);
    config.max_event_bytes = args.max_event_bytes.unwrap_or(config.max_event_bytes);
    match saved {
        Saved::Capture(_) if args.cuts.is_some() => {
            bail!("--cuts: a capture has the reads that came")
        }
        Saved::Capture(capture) => {
            if capture.end.is_none() {
                console::remark("note: the capture was cut off; it is observed as far as it goes");
            }
            Ok(capture.observe(config))
        }
        Saved::Http(bytes) => {
            let reads = cut(&bytes, args.cuts.as_ref())?;
            replay_http(reads, config).await.context("the file is no HTTP/1.1 response")
        }
        Saved::Body(bytes, head) => {
            let mut observed = observe_body(config, head, cut(&bytes, args.cuts.as_ref())?);
            // The file holds no head, so nothing is said of one.
            observed.extraction.http = None;
            Ok(observed)
        }
    }
}

fn saved(file: &Path) -> anyhow::Result<Saved> {
    let bytes = if file == Path::new("-") { read_stdin()? } else { read_bytes(file)? };
    let extension = file.extension().unwrap_or_default().to_string_lossy().into_owned();
    Ok(match extension.as_str() {
        "http" => Saved::Http(bytes),
        "ndjson" => Saved::Body(bytes, Some(head("application/x-ndjson"))),
        "sse" => Saved::Body(bytes, Some(head("text/event-stream"))),
        extension if extension == "capture" || Capture::is_one(&bytes) => {
            Saved::Capture(Capture::parse(&bytes).with_context(|| file.display().to_string())?)
        }
        _ if bytes.starts_with(b"HTTP/1.") => Saved::Http(bytes),
        _ => {
            refuse_own(file, &bytes)?;
            Saved::Body(bytes, None)
        }
    })
}

/// What was published about a run is no response, although it reads like the body of one.
fn refuse_own(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let what = match Document::read(bytes) {
        Err(_) => return Ok(()),
        Ok(Document::Comparison(_) | Document::ComparisonV2(_)) => "a comparison",
        Ok(Document::Decision(_)) => "a decision",
        Ok(Document::Determinism(_)) => "a determinism report",
        Ok(Document::Run(_)) => "the record of a run",
    };
    bail!(
        "{}: this is {what}, and no saved response: `streamgauge verify` checks it",
        file.display()
    )
}

fn head(content_type: &str) -> Head {
    Head { content_type: Some(content_type.to_owned()), ..Head::default() }
}

fn observe_body(config: ObserverConfig, head: Option<Head>, reads: Vec<SavedRead>) -> Observed {
    let mut observer = Observer::new(config);
    if let Some(head) = head {
        observer.head(head);
    }
    let last = reads.last().map_or(Duration::ZERO, |read| read.at);
    for read in &reads {
        if observer.feed(&read.bytes, read.at) == Progress::Over {
            break;
        }
    }
    observer.finish(End::Clean, last)
}

/// Cuts bytes into reads; read k arrives at k microseconds.
fn cut(bytes: &[u8], cuts: Option<&Cuts>) -> anyhow::Result<Vec<SavedRead>> {
    let offsets = match cuts {
        None => Vec::new(),
        Some(Cuts::EachByte) => (1..bytes.len()).collect(),
        Some(Cuts::At(offsets)) => {
            if let Some(beyond) = offsets.iter().find(|&&offset| offset >= bytes.len()) {
                bail!("--cuts: offset {beyond} is not within the {} bytes", bytes.len());
            }
            offsets.clone()
        }
        Some(Cuts::Random(seed)) => random_offsets(*seed, bytes.len()),
    };
    let mut from = 0;
    let ends = offsets.into_iter().chain([bytes.len()]);
    Ok((0..)
        .zip(ends)
        .map(|(read, to)| {
            let bytes = bytes[from..to].to_vec();
            from = to;
            SavedRead { at: Duration::from_micros(read), bytes }
        })
        .collect())
}

/// Cuts after 1 to 64 bytes each, by a small generator: any seed will do, and none is better.
fn random_offsets(seed: u64, length: usize) -> Vec<usize> {
    let mut state = seed;
    let mut offsets = Vec::new();
    let mut offset = 0;
    loop {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        offset += 1 + usize::try_from(state >> 58).unwrap_or(0);
        if offset >= length {
            return offsets;
        }
        offsets.push(offset);
    }
}

impl FromStr for Cuts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is none of each-byte, random:SEED, or rising offsets");
        if text == "each-byte" {
            return Ok(Self::EachByte);
        }
        if let Some(seed) = text.strip_prefix("random:") {
            return seed.parse().map(Self::Random).map_err(|_| wrong());
        }
        let offsets: Vec<usize> =
            text.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        let rising = offsets.is_sorted_by(|a, b| a < b) && offsets.first() != Some(&0);
        if rising { Ok(Self::At(offsets)) } else { Err(wrong()) }
    }
}
