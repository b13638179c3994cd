//! `streamgauge completions`: what a shell needs to complete a line.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::args::Cli;
use crate::console;
use crate::exit::Exit;

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  streamgauge completions bash > /etc/bash_completion.d/streamgauge
  streamgauge completions zsh > \"${fpath[1]}/_streamgauge\"
  streamgauge completions fish > ~/.config/fish/completions/streamgauge.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell to write for
    shell: Shell,
}

/// Prints the script.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "streamgauge", &mut script);
    console::result(&String::from_utf8(script)?)?;
    Ok(Exit::Done)
}
