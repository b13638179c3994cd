//! `streamgauge init`: a commented file to begin with, which works as it stands.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};
use streamgauge_client::write_new;

use crate::console;
use crate::exit::Exit;

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  streamgauge init                      # run.toml, for `run --config run.toml`
  streamgauge init qualify              # qualify.toml, for `qualify`
  streamgauge init run -o nightly.toml")]
pub(crate) struct InitArgs {
    /// Command that the file is for
    #[arg(value_enum, default_value_t)]
    what: Begun,
    /// File to write, which must not exist [default: named after the command]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What a file is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Begun {
    /// A plan that qualifies a build
    Qualify,
    /// Flags of a run
    #[default]
    Run,
}

/// Writes the file.
pub(crate) fn init(args: &InitArgs) -> anyhow::Result<Exit> {
    let (name, text, next) = match args.what {
        Begun::Qualify => {
            ("qualify.toml", include_str!("init/qualify.toml"), "qualify FILE --plan-only")
        }
        Begun::Run => ("run.toml", include_str!("init/run.toml"), "run --config FILE --dry-run"),
    };
    let out = args.out.as_deref().unwrap_or(Path::new(name));
    let shown = out.display().to_string();
    if out.exists() {
        bail!("{shown} exists, and is not written over; -o names another file");
    }
    write_new(out, text.replace(name, &shown).as_bytes(), 0o644)?;
    console::remark(&format!("next: streamgauge {}", next.replace("FILE", &shown)));
    console::result(&shown)?;
    Ok(Exit::Done)
}
