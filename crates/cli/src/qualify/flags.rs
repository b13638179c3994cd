//! From tables of flags to the arguments of `run` and `turnover`: one vocabulary and one validation for
//! all.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, CommandFactory};
use toml::{Spanned, Value};

use super::arm::ARM_KEYS;
use super::file::{Flags, Source};
use crate::args::run::RunArgs;
use crate::args::turnover::{HEADING, TurnoverArgs};
use crate::args::{Cli, Command as Asked};
use crate::spelling::meant;

/// Flags that a qualification decides itself, and what to do instead.
const DECIDED_HERE: [(&str, &str); 16] = [
    ("attainment", "a qualification searches for nothing"),
    ("calibrate", "`streamgauge calibrate` measures this client's own error apart"),
    ("determinism", "a run of its own finds out which answers are the same each time"),
    ("dry-run", "`streamgauge qualify --plan-only` sends nothing"),
    ("format", "give --format to `qualify`"),
    ("help", "it is no setting"),
    ("name", "runs are named after the qualification and the arm"),
    ("no-progress", "give --no-progress to `qualify`"),
    ("nonce-seed", "every run has prompts of its own"),
    ("out", "give --out to `qualify`"),
    ("search", "a qualification searches for nothing"),
    ("search-from", "a qualification searches for nothing"),
    ("search-step", "a qualification searches for nothing"),
    ("search-to", "a qualification searches for nothing"),
    ("simulate", "start `streamgauge sim` and give its address"),
    ("steady-window", "runs are not printed; their records hold both windows"),
];

/// Where a flag may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In `[baseline]` or `[candidate]`: how the server is reached and what it is.
    Arm,
    /// In `[[cell]]`: what differs from cell to cell.
    Cell,
    /// In `[run]`: what all runs have in common.
    Run,
    /// In `[turnover]`: what is asked of both arms after all blocks.
    Turnover,
}

/// A table of flags that are known and may stand where they do.
#[derive(Debug)]
pub(super) struct Table<'a> {
    /// What the table is called in the file.
    pub(super) title: String,
    flags: &'a Flags,
}

/// The flags of one run.
#[derive(Debug)]
pub(super) struct Merged<'a> {
    source: &'a Source,
    titles: String,
    flags: BTreeMap<&'a str, Flag<'a>>,
    /// Words that stand in no table.
    implied: Vec<String>,
}

/// A flag's value, and what the table is called in which it stands.
#[derive(Clone, Copy, Debug)]
struct Flag<'a> {
    value: &'a Spanned<Value>,
    title: &'a str,
}

/// The flags that a command has.
pub(super) fn command(name: &str) -> Command {
    let mut cli = Cli::command();
    cli.build();
    cli.find_subcommand(name).expect("it is a command").clone()
}

/// The flag of a long name.
pub(super) fn argument<'a>(run: &'a Command, name: &str) -> Option<&'a Arg> {
    run.get_arguments().find(|argument| argument.get_long() == Some(name))
}

/// Whether a flag is about a server or what it serves, and not about what is asked of it. The API
/// is: answers of different APIs are not measured alike.
fn is_of_arm(argument: &Arg) -> bool {
    let name = argument.get_long();
    let server = argument.get_help_heading() == Some("Server") && name != Some("api");
    server || name == Some("deployment")
}

impl<'a> Table<'a> {
    /// Checks that every key is a flag of the command that may stand in this table.
    pub(super) fn check(
        source: &Source,
        command: &Command,
        title: String,
        place: Place,
        flags: &'a Flags,
    ) -> anyhow::Result<Self> {
        for key in flags.keys() {
            let name = key.get_ref().as_str();
            let refuse = |problem: String| {
                Err(source.fault(key.span(), &format!("{title}: {name}: {problem}")))
            };
            let Some(argument) = argument(command, name) else {
                return refuse(unknown(command, place, name));
            };
            if let Some((_, instead)) = DECIDED_HERE.iter().find(|(decided, _)| *decided == name) {
                return refuse(format!("it is not for a qualification: {instead}"));
            }
            if name == "wait-ready" {
                return refuse("write `ready = { timeout_s = … }` into the arm's table".to_owned());
            }
            if let Some(elsewhere) = place.refusal(argument) {
                return refuse(elsewhere.to_owned());
            }
        }
        Ok(Self { title, flags })
    }
}

impl Place {
    /// Why a flag may not stand here, and where it may.
    fn refusal(self, argument: &Arg) -> Option<&'static str> {
        match self {
            Self::Arm if !is_of_arm(argument) => {
                Some("both arms are measured alike; it belongs into [run] or [[cell]]")
            }
            Self::Cell | Self::Turnover
                if is_of_arm(argument) || argument.get_long() == Some("api") =>
            {
                Some("a cell is no server; it belongs into [run], [baseline] or [candidate]")
            }
            _ => None,
        }
    }

    /// What may stand here.
    pub(super) fn names(self, run: &Command) -> Vec<&str> {
        let is_decided = |name: &str| DECIDED_HERE.iter().any(|(decided, _)| *decided == name);
        let flags = run.get_arguments().filter(|argument| self.refusal(argument).is_none());
        let flags = flags.filter_map(Arg::get_long).filter(|name| !is_decided(name));
        let own = ARM_KEYS.into_iter().filter(|_| self == Self::Arm);
        flags.chain(own).collect()
    }
}

/// What to do about a name that is no flag of a command.
fn unknown(command: &Command, place: Place, name: &str) -> String {
    let of = command.get_name();
    let dashed = name.replace('_', "-");
    if argument(command, &dashed).is_some() {
        return format!("unknown; it is written {dashed:?}");
    }
    if ARM_KEYS.contains(&name) {
        return "it belongs into [baseline] and [candidate]".to_owned();
    }
    match meant(name, place.names(command)) {
        Some(like) => format!("unknown; did you mean {like:?}?"),
        None if place == Place::Arm => format!(
            "unknown; an arm has {} and the flags of `streamgauge run` for a server",
            ARM_KEYS.join(", ")
        ),
        None => {
            format!("`streamgauge {of}` has no such flag; `streamgauge {of} --help` lists them")
        }
    }
}

impl<'a> Merged<'a> {
    /// The flags of several tables; later ones take the place of earlier ones.
    pub(super) fn of(source: &'a Source, tables: &[&'a Table<'a>]) -> Self {
        let mut flags = BTreeMap::new();
        for table in tables {
            for (key, value) in table.flags {
                flags.insert(key.get_ref().as_str(), Flag { value, title: &table.title });
            }
        }
        let titles: Vec<&str> = tables.iter().map(|table| table.title.as_str()).collect();
        Self { source, titles: titles.join(" and "), flags, implied: Vec::new() }
    }

    /// The flags of a turnover. Of `common` it takes how a server is reached, waited for and measured,
    /// and how answers are sampled; what a cell asks is none of it.
    pub(super) fn of_turnover(
        source: &'a Source,
        turnover: &Command,
        common: &'a Table<'a>,
        others: [&'a Table<'a>; 2],
    ) -> Self {
        let [own, arm] = others;
        let mut merged = Self::of(source, &[common, own, arm]);
        let is_taken = |name: &str| {
            let heading = argument(turnover, name).map(Arg::get_help_heading);
            heading.is_some_and(|it| it != Some(HEADING)) && name != "output-tokens"
        };
        merged.flags.retain(|name, flag| flag.title != common.title || is_taken(name));
        merged
    }

    /// The same flags, those of these names from elsewhere.
    pub(super) fn with_from(&self, names: &[&str], other: &Self) -> Self {
        let own = self.flags.iter().filter(|(name, _)| !names.contains(name));
        let others = other.flags.iter().filter(|(name, _)| names.contains(name));
        let flags = own.chain(others).map(|(name, flag)| (*name, *flag)).collect();
        let (titles, implied) = (self.titles.clone(), self.implied.clone());
        Self { source: self.source, titles, flags, implied }
    }

    /// The same flags; where none says how many requests of a run may fail, it is what the gates say.
    pub(super) fn with_max_failures(mut self, ratio: f64) -> Self {
        const FLAG: &str = "max-failure-ratio";
        if !self.flags.contains_key(FLAG) {
            self.implied.push(format!("--{FLAG}={ratio}"));
        }
        self
    }

    /// The line of arguments: `--name=value` each. What only other commands have is left out.
    pub(super) fn line(&self, command: &Command) -> anyhow::Result<Vec<String>> {
        let mut line = self.implied.clone();
        for (name, flag) in &self.flags {
            let Some(argument) = argument(command, name) else { continue };
            line.extend(self.words(argument, name, *flag)?);
        }
        Ok(line)
    }

    fn words(
        &self,
        argument: &Arg,
        name: &str,
        Flag { value, title }: Flag<'_>,
    ) -> anyhow::Result<Vec<String>> {
        let refuse = |problem: &str| {
            Err(self.source.fault(value.span(), &format!("{title}: {name}: {problem}")))
        };
        let takes_value = argument.get_action().takes_values();
        match (value.get_ref(), takes_value) {
            (Value::Boolean(true), false) => Ok(vec![format!("--{name}")]),
            (Value::Boolean(false), false) => Ok(Vec::new()),
            (_, false) => refuse("it is true or false"),
            (Value::Array(values), true) => {
                if !matches!(argument.get_action(), ArgAction::Append) {
                    return refuse("it takes one value, no list");
                }
                let words: Option<Vec<String>> =
                    values.iter().map(|value| self.word(argument, value)).collect();
                let Some(words) = words else { return refuse("its values are texts or numbers") };
                Ok(words.iter().map(|word| format!("--{name}={word}")).collect())
            }
            (one, true) => match self.word(argument, one) {
                Some(word) => Ok(vec![format!("--{name}={word}")]),
                None => refuse("it takes a text or a number"),
            },
        }
    }

    /// A value as it is written on a line; paths lead from the folder of the plan, wherever the work
    /// is taken up again.
    fn word(&self, argument: &Arg, value: &Value) -> Option<String> {
        Some(match value {
            Value::Float(number) => number.to_string(),
            Value::Integer(number) => number.to_string(),
            Value::String(path) if is_path(argument) => {
                let path = from_folder(self.source.folder(), Path::new(path));
                // Only an empty path has no absolute one; whoever opens it says so.
                std::path::absolute(&path).unwrap_or(path).display().to_string()
            }
            Value::String(text) => text.clone(),
            _ => return None,
        })
    }

    /// The arguments of `run`.
    pub(super) fn arguments(&self, run: &Command) -> anyhow::Result<RunArgs> {
        match self.read(run)? {
            Asked::Run(args) => Ok(*args),
            _ => bail!("arguments of `run` are another command's"),
        }
    }

    /// The arguments of `turnover`.
    pub(super) fn turnover(&self, turnover: &Command) -> anyhow::Result<TurnoverArgs> {
        match self.read(turnover)? {
            Asked::Turnover(args) => Ok(*args),
            _ => bail!("arguments of `turnover` are another command's"),
        }
    }

    fn read(&self, command: &Command) -> anyhow::Result<Asked> {
        let line = self.line(command)?;
        let words = ["streamgauge".to_owned(), command.get_name().to_owned()];
        match Cli::read(words.into_iter().chain(line)) {
            Ok(Cli { command }) => Ok(command),
            Err(error) => Err(self.placed(&error)),
        }
    }

    /// The parser's own words, with the place of the flag that they are about.
    fn placed(&self, error: &clap::Error) -> anyhow::Error {
        let text = error.to_string();
        let text = text.split("\n\n").next().unwrap_or_default();
        let text = text.trim_start_matches("error: ").replace("\n  ", " ");
        let about = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(text)) => text.clone(),
            Some(ContextValue::Strings(texts)) => texts.first().cloned().unwrap_or_default(),
            _ => String::new(),
        };
        self.fault(&about, text.as_str())
    }

    /// What is wrong, at the place of the flag that `about` begins with.
    fn fault(&self, about: &str, problem: &str) -> anyhow::Error {
        let name = about.trim_start_matches('-').split([' ', '=', ':']).next().unwrap_or_default();
        match self.flags.get(name) {
            Some(Flag { value, title }) => {
                self.source.fault(value.span(), &format!("{title}: {problem}"))
            }
            None => self.source.fault_of_all(&format!("{}: {problem}", self.titles)),
        }
    }

    /// An error of whoever reads the arguments, which names the flag first.
    pub(super) fn explained(&self, error: &anyhow::Error) -> anyhow::Error {
        let text = format!("{error:#}");
        self.fault(&text, &text)
    }
}

fn is_path(argument: &Arg) -> bool {
    argument.get_value_parser().type_id() == TypeId::of::<PathBuf>()
}

/// A path as it is meant in a file of this folder.
pub(super) fn from_folder(folder: &Path, path: &Path) -> PathBuf {
    match folder.to_str() {
        Some(".") => path.to_owned(),
        _ => folder.join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decided_here_is_a_flag() {
        let run = command("run");
        for (name, _) in DECIDED_HERE {
            assert!(argument(&run, name).is_some(), "{name}");
        }
    }

    #[test]
    fn arms_say_where_and_what_a_server_is() {
        let run = command("run");
        let mut names: Vec<&str> = run
            .get_arguments()
            .filter(|argument| is_of_arm(argument))
            .filter_map(Arg::get_long)
            .filter(|name| !DECIDED_HERE.iter().any(|(decided, _)| decided == name))
            .collect();
        names.sort_unstable();
        let expected = [
            "api-key-env",
            "base-url",
            "ca-file",
            "deployment",
            "endpoint-path",
            "expect-model",
            "header",
            "model",
            "wait-ready",
        ];
        assert_eq!(names, expected);
    }
}
