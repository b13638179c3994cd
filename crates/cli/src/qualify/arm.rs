//! How an arm is brought up, and how it is known to be up: the keys of its table that are no flags.

use std::path::Path;

use streamgauge_schema::{Activation, Readiness};
use toml::{Spanned, Value};

use super::file::{take, typed};
use super::schedule::Schedule;
use crate::flags::{Flags, Source, from_folder};
use crate::planning::millis;

/// The keys of an arm that are no flags.
pub(super) const ARM_KEYS: [&str; 3] = ["activate", "activate_timeout_s", "ready"];

/// Seconds that a program may take to bring an arm up, where the plan does not say.
const ACTIVATE_S: f64 = 600.0;
/// Seconds that an arm may take to become ready, where the plan does not say.
const READY_S: f64 = 300.0;

/// How an arm is brought up, as the file says it.
#[derive(Debug)]
pub(super) struct ArmKeys {
    pub(super) activation: Activation,
    pub(super) ready: Readiness,
}

impl ArmKeys {
    /// Takes the keys that are no flags out of an arm's table.
    pub(super) fn take(source: &Source, flags: &mut Flags) -> anyhow::Result<Self> {
        let timeout = take(flags, "activate_timeout_s");
        let activation = match (take(flags, "activate"), timeout) {
            (None, None) => Activation::None {},
            (None, Some(timeout)) => {
                return Err(source.fault(timeout.span(), "activate_timeout_s needs `activate`"));
            }
            (Some(activate), timeout) => activation(source, activate, timeout)?,
        };
        let ready = match take(flags, "ready") {
            Some(value) => readiness(source, value)?,
            None => Readiness { path: None, timeout_ms: millis("ready", READY_S)? },
        };
        Ok(Self { activation, ready })
    }
}

fn activation(
    source: &Source,
    activate: Spanned<Value>,
    timeout: Option<Spanned<Value>>,
) -> anyhow::Result<Activation> {
    let place = activate.span();
    if activate.get_ref().as_str() == Some("ask") {
        return match timeout {
            None => Ok(Activation::Ask {}),
            Some(timeout) => Err(source.fault(timeout.span(), "nobody who is asked is killed")),
        };
    }
    let wanted = "it is a list of a program and its arguments, or \"ask\"; there is no shell";
    let Value::Array(_) = activate.get_ref() else {
        return Err(source.fault(place, &format!("activate: {wanted}")));
    };
    let command: Vec<String> = typed(source, "activate", activate)?;
    let Some((program, arguments)) = command.split_first().filter(|(it, _)| !it.is_empty()) else {
        return Err(source.fault(place, &format!("activate: {wanted}")));
    };
    // A name alone is looked for where all programs are.
    let program = if program.contains('/') {
        std::path::absolute(from_folder(source.folder(), Path::new(program)))?.display().to_string()
    } else {
        program.clone()
    };
    let timeout_ms = match timeout {
        Some(value) => time(source, "activate_timeout_s", value)?,
        None => millis("activate_timeout_s", ACTIVATE_S)?,
    };
    let command = std::iter::once(program).chain(arguments.iter().cloned()).collect();
    Ok(Activation::Program { command, timeout_ms })
}

fn readiness(source: &Source, value: Spanned<Value>) -> anyhow::Result<Readiness> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Ready {
        path: Option<String>,
        timeout_s: Option<Value>,
    }
    let place = value.span();
    let Ready { path, timeout_s } = typed(source, "ready", value)?;
    if let Some(path) = path.as_deref().filter(|path| !path.starts_with('/')) {
        return Err(
            source.fault(place, &format!("ready: path {path:?} does not begin with a slash"))
        );
    }
    let timeout_ms = match timeout_s {
        Some(seconds) => time(source, "timeout_s", Spanned::new(place, seconds))?,
        None => millis("timeout_s", READY_S)?,
    };
    Ok(Readiness { path, timeout_ms })
}

fn time(source: &Source, key: &str, value: Spanned<Value>) -> anyhow::Result<u64> {
    let seconds = match value.get_ref() {
        Value::Integer(seconds) => *seconds as f64,
        Value::Float(seconds) => *seconds,
        _ => return Err(source.fault(value.span(), &format!("{key}: it is a number of seconds"))),
    };
    super::file::millis(source, key, &Spanned::new(value.span(), seconds))
}

/// Arms are switched both, or neither; and only arms that are up at once can exchange addresses.
pub(super) fn check_arms(
    source: &Source,
    baseline: &ArmKeys,
    candidate: &ArmKeys,
    schedule: &Schedule,
) -> anyhow::Result<()> {
    let switched = [baseline, candidate].map(|arm| arm.activation != (Activation::None {}));
    match (switched, schedule.swap_after_blocks) {
        ([true, false] | [false, true], _) => Err(source.fault_of_all(
            "one arm has `activate` and the other has not: an arm that is switched to must be \
             switched back",
        )),
        ([true, true], Some(_)) => Err(source.fault_of_all(
            "--swap-addresses is for arms that are up at once; these are switched by `activate`",
        )),
        _ => Ok(()),
    }
}
