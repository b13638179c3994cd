//! Request bodies: what stands around a prompt, written once, and the prompt put into it.

mod format;
#[cfg(test)]
mod tests;

use serde::Serialize;
use streamgauge_schema::{Dialect, Digest, Json, RequestSettings};

use crate::error::WorkloadError;
use crate::prompt::SentPrompt;
use format::TEMPERATURE;
pub(crate) use format::{BodyFormat, PromptForm, SYSTEM};

/// Digits of the greatest token limit.
const MAX_TOKENS_DIGITS: usize = 20;

/// The body of a request without its prompt and its token limit.
#[derive(Clone, Debug)]
pub(crate) struct BodyTemplate {
    before_prompt: Vec<u8>,
    before_max_tokens: Vec<u8>,
    rest: Vec<u8>,
    max_tokens: u64,
}

impl BodyTemplate {
    pub(crate) fn new(
        dialect: Dialect,
        model: &str,
        settings: &RequestSettings,
    ) -> Result<Self, WorkloadError> {
        let format = BodyFormat::of(dialect);
        check(settings, dialect, &format)?;
        let mut start = b"{".to_vec();
        if format.names_model {
            write_member(&mut start, "model", model);
        }
        let mut middle = Vec::new();
        for (name, json) in format.fixed {
            write_raw(&mut middle, name, json);
        }
        if let Some(inside) = format.settings_in {
            write_raw(&mut middle, inside, "{");
        }
        write_raw(&mut middle, format.max_tokens, "");

        let mut rest = Vec::new();
        write_settings(&mut rest, &format, settings);
        if let Some(inside) = format.settings_in {
            if let Some(Json::Object(added)) = settings.extra_body.get(inside) {
                for (name, value) in added {
                    write_member(&mut rest, name, value);
                }
            }
            rest.push(b'}');
        }
        for (name, value) in &settings.extra_body {
            if format.settings_in != Some(name.as_str()) {
                write_member(&mut rest, name, value);
            }
        }
        rest.push(b'}');
        Ok(Self {
            before_prompt: start,
            before_max_tokens: middle,
            rest,
            max_tokens: settings.max_tokens,
        })
    }

    /// The whole body, and the digest of its prompt. Without a limit of its own the prompt gets the
    /// plan's.
    pub(crate) fn body(
        &self,
        prompt: &SentPrompt<'_>,
        max_tokens: Option<u64>,
    ) -> (Vec<u8>, Digest) {
        let around = self.before_prompt.len() + self.before_max_tokens.len() + self.rest.len();
        let mut body = Vec::with_capacity(around + MAX_TOKENS_DIGITS + prompt.size());
        body.extend_from_slice(&self.before_prompt);
        let digest = prompt.write(&mut body);
        body.extend_from_slice(&self.before_max_tokens);
        write(&mut body, &max_tokens.unwrap_or(self.max_tokens));
        body.extend_from_slice(&self.rest);
        (body, digest)
    }
}

fn check(
    settings: &RequestSettings,
    dialect: Dialect,
    format: &BodyFormat,
) -> Result<(), WorkloadError> {
    if settings.max_tokens == 0 {
        return Err(WorkloadError::NoTokens);
    }
    if let Some(value) = settings.temperature.filter(|value| !(0.0..=f64::MAX).contains(value)) {
        return Err(WorkloadError::Temperature { value });
    }
    if settings.seed.is_some() && format.seed.is_none() {
        return Err(WorkloadError::Inexpressible { setting: "seed", dialect });
    }
    if settings.ignore_eos && format.ignore_eos.is_none() {
        return Err(WorkloadError::Inexpressible { setting: "ignore_eos", dialect });
    }
    for (name, value) in &settings.extra_body {
        check_extra(name, value, format)?;
    }
    Ok(())
}

fn check_extra(name: &str, value: &Json, format: &BodyFormat) -> Result<(), WorkloadError> {
    let reserved = |name| Err(WorkloadError::ReservedMember { name });
    if format.sets(name) {
        return reserved(name.to_owned());
    }
    if format.settings_in == Some(name) {
        let Json::Object(added) = value else { return reserved(name.to_owned()) };
        if let Some((setting, _)) = added.iter().find(|(added, _)| format.sets_setting(added)) {
            return reserved(format!("{name}.{setting}"));
        }
    }
    // serde_json would write NaN as `null`.
    Json::from_value(value)
        .map_err(|source| WorkloadError::ExtraBody { name: name.to_owned(), source })?;
    Ok(())
}

fn write_settings(out: &mut Vec<u8>, format: &BodyFormat, settings: &RequestSettings) {
    for (name, json) in format.fixed_settings {
        write_raw(out, name, json);
    }
    match (settings.temperature, format.sampling_switch) {
        (Some(temperature), None) => write_member(out, TEMPERATURE, &temperature),
        (Some(0.0), Some(switch)) => write_member(out, switch, &false),
        (Some(temperature), Some(switch)) => {
            write_member(out, switch, &true);
            write_member(out, TEMPERATURE, &temperature);
        }
        (None, _) => {}
    }
    if let (Some(seed), Some(name)) = (settings.seed, format.seed) {
        write_member(out, name, &seed);
    }
    if let (true, Some(name)) = (settings.ignore_eos, format.ignore_eos) {
        write_member(out, name, &true);
    }
}

pub(crate) fn write_member<T: Serialize + ?Sized>(out: &mut Vec<u8>, name: &str, value: &T) {
    write_raw(out, name, "");
    write(out, value);
}

/// A member whose value is JSON already, or begins so.
pub(crate) fn write_raw(out: &mut Vec<u8>, name: &str, json: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    write(out, name);
    out.push(b':');
    out.extend_from_slice(json.as_bytes());
}

pub(crate) fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("texts, numbers and trees are written to memory");
}
