//! `--config`: flags of a command that stand in a file.
//!
//! Invariant: a flag on the line takes the place of the same flag in the file, and of those that it
//! excludes. A file says nothing that a line could not say.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, Command, Error};

use crate::flags::{Flags, Merged, Source, argument, command};
use crate::input::read_text;
use crate::spelling::meant;

/// Commands whose flags may stand in a file.
const COMMANDS: [&str; 2] = ["run", "turnover"];
/// Flags of which each takes the place of the others, beside those that clap knows to exclude each
/// other.
const ALTERNATIVES: [&[&str]; 2] =
    [&["base-url", "simulate"], &["concurrency", "request-rate", "search", "trace"]];
/// Flags that would make no sense in a file.
const ON_THE_LINE_ALONE: [&str; 3] = ["config", "help", "resume"];

/// A file of flags, and the line of arguments that it makes with those that were given.
#[derive(Debug)]
pub(super) struct Config {
    /// The whole line.
    pub(super) line: Vec<OsString>,
    /// The flags that were taken from the file.
    from_file: Vec<String>,
    source: Source,
    command: String,
    flags: Flags,
}

/// Reads the file that a line of arguments names; `None` where it names none.
///
/// # Errors
/// When it cannot be read, or holds what is no flag of the command.
pub(super) fn expand(line: &[OsString]) -> anyhow::Result<Option<Config>> {
    let name = line.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    let Some(path) = named(line).filter(|_| COMMANDS.contains(&name)) else { return Ok(None) };
    let source = Source::new(&path, read_text(&path)?);
    let flags: Flags = source.read(&format!("file of flags of `{name}`"))?;
    let known = command(name);
    check(&source, &known, &flags)?;
    // As they are written: what is wrong with one of them is no reason to take the file's.
    let on_line: Vec<&Arg> = known.get_arguments().filter(|it| is_written(it, line)).collect();
    let mut merged = Merged::of(&source, &[(name, &flags)]);
    merged.retain(|flag, _| !on_line.iter().any(|given| takes_the_place_of(&known, given, flag)));
    let (before, after) = line.split_at(2);
    let words = merged.line(&known)?.into_iter().map(OsString::from);
    let whole = before.iter().cloned().chain(words).chain(after.iter().cloned()).collect();
    let from_file = flags.keys().map(|key| key.get_ref().clone());
    let from_file = from_file.filter(|flag| merged.holds(flag)).collect();
    Ok(Some(Config { line: whole, from_file, command: name.to_owned(), source, flags }))
}

/// The file that a line names; none where no name follows, which the parser says.
fn named(line: &[OsString]) -> Option<PathBuf> {
    let mut words = line.iter();
    let word = words.find_map(|word| match word.to_str()? {
        "--config" => Some(None),
        word => word.strip_prefix("--config=").map(|path| Some(PathBuf::from(path))),
    })?;
    word.or_else(|| words.next().map(PathBuf::from))
}

/// Whether a flag is on the line, by any of its names.
fn is_written(argument: &Arg, line: &[OsString]) -> bool {
    let names =
        argument.get_long().into_iter().chain(argument.get_all_aliases().unwrap_or_default());
    let names: Vec<String> = names.map(|name| format!("--{name}")).collect();
    line.iter().filter_map(|word| word.to_str()).any(|word| {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        names.iter().any(|known| known == name)
    })
}

impl Config {
    /// The error with its place in the file, where it is about a flag that stands there.
    pub(super) fn placed(&self, error: Error) -> Error {
        let mut merged = Merged::of(&self.source, &[(&self.command, &self.flags)]);
        merged.retain(|flag, _| self.from_file.iter().any(|taken| taken == flag));
        match merged.is_about_one(&error) {
            true => plain(&merged.placed(&error)),
            false => error,
        }
    }
}

/// An error about a file: no usage of the command helps with it.
pub(super) fn plain(error: &anyhow::Error) -> Error {
    Error::raw(ErrorKind::InvalidValue, format!("{error:#}\n"))
}

/// Checks that every key is a flag of the command.
fn check(source: &Source, command: &Command, flags: &Flags) -> anyhow::Result<()> {
    let of = command.get_name();
    for key in flags.keys() {
        let name = key.get_ref().as_str();
        let refuse = |problem: String| Err(source.fault(key.span(), &format!("{name}: {problem}")));
        if ON_THE_LINE_ALONE.contains(&name) {
            return refuse("it is no setting of a run".to_owned());
        }
        if argument(command, name).is_some() {
            continue;
        }
        let dashed = name.replace('_', "-");
        if argument(command, &dashed).is_some() {
            return refuse(format!("unknown; it is written {dashed:?}"));
        }
        return refuse(match meant(name, command.get_arguments().filter_map(Arg::get_long)) {
            Some(like) => format!("unknown; did you mean {like:?}?"),
            None => {
                format!("`streamgauge {of}` has no such flag; `streamgauge {of} --help` lists them")
            }
        });
    }
    Ok(())
}

/// Whether a flag on the line takes the place of one in the file.
fn takes_the_place_of(command: &Command, given: &Arg, name: &str) -> bool {
    let Some(other) = argument(command, name) else { return false };
    let long = given.get_long().unwrap_or_default();
    let excludes = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|it| it.get_id() == other.get_id())
    };
    long == name
        || ALTERNATIVES.iter().any(|them| them.contains(&long) && them.contains(&name))
        || excludes(given, other)
        || excludes(other, given)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::args::{Cli, Command as Asked};

    /// A `run` by a file of these flags and what is on the line besides.
    fn read(dir: &Path, file: &str, more: &str) -> Result<Cli, String> {
        let path = dir.join("run.toml");
        std::fs::write(&path, file).unwrap();
        let line = ["streamgauge", "run", "--config", path.to_str().unwrap()].into_iter();
        Cli::read(line.chain(more.split_whitespace())).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_listed_here_is_a_flag() {
        let run = command("run");
        for name in ALTERNATIVES.iter().copied().flatten().chain(&ON_THE_LINE_ALONE) {
            assert!(argument(&run, name).is_some(), "{name}");
        }
    }

    #[test]
    fn flags_on_the_line_win() {
        let dir = tempfile::tempdir().unwrap();
        let file = "simulate = true\nrequests = 9\nconcurrency = \"1,4\"\nheader = [\"a: 1\", \"b: 2\"]\n\
                    temperature = \"none\"\nignore-eos = false\ngoodput = [\"ttft:500\"]\n";
        for (more, requests, cells, headers) in [
            ("", Some(9), Some(2), 2),
            ("--requests 5 --header c:3", Some(5), Some(2), 1),
            ("--concurrency 8", Some(9), Some(1), 2),
            // Of what excludes the flag in the file, too.
            ("--request-rate 3", Some(9), None, 2),
            ("--search rate", Some(9), None, 2),
        ] {
            let Ok(Cli { command: Asked::Run(run) }) = read(dir.path(), file, more) else {
                panic!("{more}");
            };
            assert_eq!(run.load.requests, requests, "{more}");
            let concurrency = run.load.concurrency.as_ref().map(|sweep| sweep.cells.len());
            assert_eq!(concurrency, cells, "{more}");
            assert_eq!(run.server.header.len(), headers, "{more}");
            assert_eq!(run.answers.temperature.0, None);
        }
        let cli = read(dir.path(), file, "--base-url http://h").unwrap();
        let Asked::Run(run) = cli.command else { panic!("another command") };
        assert!(!run.server.simulate && run.server.base_url == ["http://h"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        for (file, expected) in [
            (
                "simulate = true\nrequest = 9\n",
                "line 2 column 1: request: unknown; did you mean \"requests\"?",
            ),
            ("simulate = true\ninput_tokens = 9\n", "unknown; it is written \"input-tokens\""),
            ("config = \"a\"\n", "config: it is no setting of a run"),
            ("fnord = 1\n", "`streamgauge run` has no such flag"),
            ("simulate = true\nrequests = 0\n", "line 2 column 12: run: invalid value '0'"),
            (
                "simulate = true\nburstiness = 2\n",
                "line 2 column 14: run: --burstiness shapes gamma",
            ),
            ("simulate = 1\n", "run: simulate: it is true or false"),
            ("simulate = true\n[load]\n", "`streamgauge run` has no such flag"),
            ("simulate", "no file of flags of `run`"),
        ] {
            let error = read(dir.path(), file, "").unwrap_err();
            assert!(error.starts_with("error: ") && error.contains(expected), "{file}: {error}");
            assert!(error.contains("run.toml"), "{error}");
        }
        // What is wrong on the line has no place in the file.
        let error =
            read(dir.path(), "simulate = true\nrequests = 3\n", "--requests 0").unwrap_err();
        assert!(!error.contains("run.toml") && error.contains("'0'"), "{error}");
        let line = ["streamgauge", "run", "--config", "/no/such.toml"];
        assert!(Cli::read(line).unwrap_err().to_string().contains("/no/such.toml"));
    }

    #[test]
    fn paths_lead_from_the_folder_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let cli = read(dir.path(), "simulate = true\ndataset = \"p.jsonl\"\n", "").unwrap();
        let Asked::Run(run) = cli.command else { panic!("another command") };
        assert_eq!(run.prompts.dataset, Some(dir.path().join("p.jsonl")));
    }
}
