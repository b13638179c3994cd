//! `streamgauge import`: results of other tools as records.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, bail};
use clap::Args;
use streamgauge_client::{RunDir, read_file, write_new};
use streamgauge_exchange::{ImportOptions, Imported, SourceFile, Tool, import as read};
use streamgauge_exchange::{UnknownTool, request_lines};
use streamgauge_schema::{Digest, Identifier, RunRecordV2, Timestamp, digest_bytes};

use crate::args::{Format, parse_identifier};
use crate::console;
use crate::exit::Exit;
use crate::input::read_bytes;
use crate::show::{self, Page};

/// Single requests, beside the record.
pub(crate) const REQUESTS: &str = "requests.jsonl";

/// Arguments of `import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Tools and the files that are read:
  vllm      what `vllm bench serve --save-result --save-detailed` writes
  aiperf    profile_export.jsonl, or profile_export_aiperf.json
  guidellm  benchmarks.json
  sglang    what `bench_serving --output-file` names, best with --output-details

Each run becomes a directory with record.json and, where the file has single requests, \
requests.jsonl. Its metrics bear the tool's word in their names and the tool's definition: they \
are compared with those of the same tool (`compare --rule interval --gates FILE`), never with ours.

Examples:
  streamgauge import vllm openai-chat-infqps-concurrency8-small-20261130.json
  streamgauge import aiperf artifacts/profile_export.jsonl --name nightly")]
pub(crate) struct ImportArgs {
    /// The tool that wrote the file
    #[arg(value_parser = parse_tool)]
    tool: Tool,
    /// Its result file
    file: PathBuf,
    /// Folder in which the directories are made
    #[arg(short, long, value_name = "FOLDER", default_value = "runs")]
    out: PathBuf,
    /// Name of the run [default: the tool's word]
    #[arg(long, value_parser = parse_identifier)]
    name: Option<Identifier>,
    /// Name of the cell [default: after the load, such as c8]
    #[arg(long, value_parser = parse_identifier)]
    cell: Option<Identifier>,
    /// The model, where the file does not name it
    #[arg(long)]
    model: Option<String>,
    /// How results are printed; json is a list of the records
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn parse_tool(word: &str) -> Result<Tool, UnknownTool> {
    word.parse()
}

/// Reads the file and writes a directory for each of its runs.
pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<Exit> {
    let bytes = read_bytes(&args.file)?;
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    let file = SourceFile { name: &name, bytes: &bytes, modified: modified(&args.file)? };
    let own_name = Identifier::new(args.tool.as_str()).context("words of tools are names")?;
    let options = ImportOptions {
        name: args.name.clone().unwrap_or(own_name),
        cell: args.cell.clone(),
        model: args.model.clone(),
    };
    let runs = read(args.tool, &file, &options)
        .with_context(|| format!("cannot import {}", args.file.display()))?;
    let mut texts = Vec::new();
    for run in &runs {
        let dir = write(run, &args.out, &options.name)?;
        if args.format == Format::Json {
            console::remark(&dir.record().display().to_string());
        }
        texts.push(show::record(&run.record, &dir.record(), Page::of(args.format)));
    }
    if args.format == Format::Json {
        let records: Vec<&RunRecordV2> = runs.iter().map(|run| &run.record).collect();
        let bytes = digest_bytes(&records)?;
        texts = vec![String::from_utf8(bytes).context("canonical bytes are ASCII")?];
    }
    console::result(&texts.join("\n\n"))?;
    let succeeded = runs.iter().any(|run| run.record.load.succeeded > 0);
    Ok(if succeeded { Exit::Done } else { Exit::Inconclusive })
}

/// Writes one run into a directory of its own, which must not exist.
fn write(run: &Imported, out: &Path, name: &Identifier) -> anyhow::Result<RunDir> {
    let record = &run.record;
    let digits = record.run_id.as_str().rsplit('-').next().and_then(|digits| digits.get(..4));
    let folder = format!("{name}-{}-{}", record.started_at.compact(), digits.unwrap_or_default());
    let path = out.join(folder);
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    if path.exists() {
        bail!("{} exists: the same run was imported before", path.display());
    }
    let made = DirBuilder::new().mode(0o755).create(&path);
    made.with_context(|| format!("cannot make {}", path.display()))?;
    let dir = RunDir::at(&path);
    if !run.requests.is_empty() {
        write_new(&path.join(REQUESTS), &request_lines(&run.requests), 0o600)?;
    }
    write_new(&dir.record(), &digest_bytes(record)?, 0o644)?;
    Ok(dir)
}

/// Where the lines of single requests are not those that the record was made with.
pub(crate) fn broken_evidence(
    dir: &RunDir,
    record: &RunRecordV2,
) -> anyhow::Result<Option<String>> {
    let path = dir.path().join(REQUESTS);
    let named = record.evidence.iter().find(|evidence| evidence.name.as_str() == REQUESTS);
    let Some(named) = named else { return Ok(None) };
    let found = Digest::of(&read_file(&path)?);
    Ok((found != named.sha256).then(|| {
        format!(
            "{}: SHA-256 {found}, and the record's evidence says {}",
            path.display(),
            named.sha256
        )
    }))
}

/// When the file was last changed.
fn modified(path: &Path) -> anyhow::Result<Timestamp> {
    let modified = std::fs::metadata(path).and_then(|file| file.modified());
    let modified = modified.with_context(|| format!("cannot read {}", path.display()))?;
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Timestamp::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)))
}
