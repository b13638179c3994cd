//! Which flags of `run` and `turnover` may stand in which table of a plan, and the arguments that they
//! make.

use anyhow::bail;
use clap::{Arg, Command};

use super::arm::ARM_KEYS;
use crate::args::run::RunArgs;
use crate::args::turnover::{HEADING, TurnoverArgs};
use crate::args::{Cli, Command as Asked};
use crate::flags::{Flags, Merged, Source, argument};
use crate::spelling::meant;

/// Flags that a qualification decides itself, and what to do instead.
const DECIDED_HERE: [(&str, &str); 22] = [
    ("attainment", "a qualification searches for nothing"),
    ("calibrate", "`streamgauge calibrate` measures this client's own error apart"),
    ("config", "the plan itself holds the flags"),
    ("determinism", "a run of its own finds out which answers are the same each time"),
    ("dry-run", "`streamgauge qualify --plan-only` sends nothing"),
    ("format", "give --format to `qualify`"),
    ("help", "it is no setting"),
    ("name", "runs are named after the qualification and the arm"),
    ("no-progress", "give --no-progress to `qualify`"),
    ("nonce-seed", "every run has prompts of its own"),
    ("out", "give --out to `qualify`"),
    ("resume", "`streamgauge qualify --resume` goes on where a qualification broke off"),
    ("search", "a qualification searches for nothing"),
    ("search-from", "a qualification searches for nothing"),
    ("search-step", "a qualification searches for nothing"),
    ("search-to", "a qualification searches for nothing"),
    ("shard", "one machine drives both arms"),
    ("shards", "one machine drives both arms"),
    ("simulate", "start `streamgauge sim` and give its address"),
    ("start-at", "a run begins when the one before it has ended"),
    ("steady-window", "runs are not printed; their records hold both windows"),
    ("weights", "an arm has one address"),
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
        for (key, value) in flags {
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
            if name == "base-url" && value.get_ref().is_array() {
                return refuse("an arm has one address: it is a text".to_owned());
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

/// The flags of several tables; later ones take the place of earlier ones.
pub(super) fn merged<'a>(source: &'a Source, tables: &[&'a Table<'a>]) -> Merged<'a> {
    let tables: Vec<(&str, &Flags)> =
        tables.iter().map(|table| (table.title.as_str(), table.flags)).collect();
    Merged::of(source, &tables)
}

/// The flags of a turnover. Of `common` it takes how a server is reached, waited for and measured,
/// and how answers are sampled; what a cell asks is none of it.
pub(super) fn of_turnover<'a>(
    source: &'a Source,
    turnover: &Command,
    common: &'a Table<'a>,
    others: [&'a Table<'a>; 2],
) -> Merged<'a> {
    let [own, arm] = others;
    let mut merged = merged(source, &[common, own, arm]);
    let is_taken = |name: &str| {
        let heading = argument(turnover, name).map(Arg::get_help_heading);
        heading.is_some_and(|it| it != Some(HEADING)) && name != "output-tokens"
    };
    merged.retain(|name, title| title != common.title || is_taken(name));
    merged
}

/// The arguments of `run`.
pub(super) fn arguments(merged: &Merged<'_>, run: &Command) -> anyhow::Result<RunArgs> {
    match read(merged, run)? {
        Asked::Run(args) => Ok(*args),
        _ => bail!("arguments of `run` are another command's"),
    }
}

/// The arguments of `turnover`.
pub(super) fn turnover(merged: &Merged<'_>, turnover: &Command) -> anyhow::Result<TurnoverArgs> {
    match read(merged, turnover)? {
        Asked::Turnover(args) => Ok(*args),
        _ => bail!("arguments of `turnover` are another command's"),
    }
}

fn read(merged: &Merged<'_>, command: &Command) -> anyhow::Result<Asked> {
    let line = merged.line(command)?;
    let words = ["streamgauge".to_owned(), command.get_name().to_owned()];
    match Cli::read(words.into_iter().chain(line)) {
        Ok(Cli { command }) => Ok(command),
        Err(error) => Err(merged.placed(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::command;

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
            "client-cert",
            "client-key",
            "deployment",
            "endpoint-path",
            "expect-model",
            "header",
            "insecure",
            "model",
            "proxy",
            "proxy-from-env",
            "wait-ready",
        ];
        assert_eq!(names, expected);
    }
}
