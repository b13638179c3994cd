//! From tables of flags in TOML to lines of arguments: one vocabulary and one validation for all files
//! that hold flags of commands.

mod source;

use std::any::TypeId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, CommandFactory};
use toml::{Spanned, Value};

pub(crate) use self::source::Source;
use crate::args::Cli;

/// Flags of a command by their long names.
pub(crate) type Flags = BTreeMap<Spanned<String>, Spanned<Value>>;

/// The flags of one run.
#[derive(Debug)]
pub(crate) struct Merged<'a> {
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
pub(crate) fn command(name: &str) -> Command {
    let mut cli = Cli::command();
    cli.build();
    cli.find_subcommand(name).expect("it is a command").clone()
}

/// The flag of a long name.
pub(crate) fn argument<'a>(run: &'a Command, name: &str) -> Option<&'a Arg> {
    run.get_arguments().find(|argument| argument.get_long() == Some(name))
}

impl<'a> Merged<'a> {
    /// The flags of several tables, each with what it is called; later ones take the place of earlier
    /// ones.
    pub(crate) fn of(source: &'a Source, tables: &[(&'a str, &'a Flags)]) -> Self {
        let mut flags = BTreeMap::new();
        for (title, table) in tables {
            for (key, value) in *table {
                flags.insert(key.get_ref().as_str(), Flag { value, title });
            }
        }
        let titles: Vec<&str> = tables.iter().map(|(title, _)| *title).collect();
        Self { source, titles: titles.join(" and "), flags, implied: Vec::new() }
    }

    /// Leaves out the flags of which this says so, by name and by what their table is called.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&str, &str) -> bool) {
        self.flags.retain(|name, flag| is_kept(name, flag.title));
    }

    /// The same flags, those of these names from elsewhere.
    pub(crate) fn with_from(&self, names: &[&str], other: &Self) -> Self {
        let own = self.flags.iter().filter(|(name, _)| !names.contains(name));
        let others = other.flags.iter().filter(|(name, _)| names.contains(name));
        let flags = own.chain(others).map(|(name, flag)| (*name, *flag)).collect();
        let (titles, implied) = (self.titles.clone(), self.implied.clone());
        Self { source: self.source, titles, flags, implied }
    }

    /// The same flags; where none says how many requests of a run may fail, it is what the gates say.
    pub(crate) fn with_max_failures(mut self, ratio: f64) -> Self {
        const FLAG: &str = "max-failure-ratio";
        if !self.flags.contains_key(FLAG) {
            self.implied.push(format!("--{FLAG}={ratio}"));
        }
        self
    }

    /// The line of arguments: `--name=value` each. What only other commands have is left out.
    pub(crate) fn line(&self, command: &Command) -> anyhow::Result<Vec<String>> {
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
        // A flag that has a value of its own where none is given.
        let may_stand_alone = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
        match (value.get_ref(), takes_value) {
            (Value::Boolean(true), _) if !takes_value || may_stand_alone => {
                Ok(vec![format!("--{name}")])
            }
            (Value::Boolean(false), _) if !takes_value || may_stand_alone => Ok(Vec::new()),
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

    /// The parser's own words, with the place of the flag that they are about.
    pub(crate) fn placed(&self, error: &clap::Error) -> anyhow::Error {
        let text = error.to_string();
        let text = text.split("\n\n").next().unwrap_or_default();
        let text = text.trim_start_matches("error: ").replace("\n  ", " ");
        self.fault(&about(error), text.as_str())
    }

    /// Whether a flag stands here.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.flags.contains_key(name)
    }

    /// Whether the parser complains about a flag that stands here.
    pub(crate) fn is_about_one(&self, error: &clap::Error) -> bool {
        self.holds(name_of(&about(error)))
    }

    /// What is wrong, at the place of the flag that `about` begins with.
    fn fault(&self, about: &str, problem: &str) -> anyhow::Error {
        match self.flags.get(name_of(about)) {
            Some(Flag { value, title }) => {
                self.source.fault(value.span(), &format!("{title}: {problem}"))
            }
            None => self.source.fault_of_all(&format!("{}: {problem}", self.titles)),
        }
    }

    /// An error of whoever reads the arguments, which names the flag first.
    pub(crate) fn explained(&self, error: &anyhow::Error) -> anyhow::Error {
        let text = format!("{error:#}");
        self.fault(&text, &text)
    }
}

/// What the parser complains about.
fn about(error: &clap::Error) -> String {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.first().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

/// The flag that a text begins with.
fn name_of(about: &str) -> &str {
    about.trim_start_matches('-').split([' ', '=', ':']).next().unwrap_or_default()
}

fn is_path(argument: &Arg) -> bool {
    argument.get_value_parser().type_id() == TypeId::of::<PathBuf>()
}

/// A path as it is meant in a file of this folder.
pub(crate) fn from_folder(folder: &Path, path: &Path) -> PathBuf {
    match folder.to_str() {
        Some(".") => path.to_owned(),
        _ => folder.join(path),
    }
}
