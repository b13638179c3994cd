//! The conditions of a run, as labels and values. Endpoints, headers and paths are none of them.

use std::collections::BTreeSet;

use streamgauge_schema::{Condition, Digest, LoadShape, Plan, PromptSource, PublicText};

use super::text;
use crate::error::RecordError;
use crate::measured::Measured;

/// Labels by which a comparison finds what it judges.
pub(crate) const EXPECTED_MODEL_LABEL: &str = "Expected model";
pub(crate) const RETURNED_MODELS_LABEL: &str = "Models returned";
/// What stands there when no response named a model.
pub(crate) const NO_MODEL_NAMED: &str = "None named";

pub(super) fn of(plan: &Plan, run: &Measured<'_>) -> Result<Vec<Condition>, RecordError> {
    let mut conditions = Vec::new();
    let mut say = |label: &str, value: PublicText| -> Result<(), RecordError> {
        conditions.push(Condition { label: text(label)?, value });
        Ok(())
    };
    say("Instrument", text(plan.instrument_version.as_str())?)?;
    say("Dataset SHA-256", text(plan.workload.dataset_sha256.to_string())?)?;
    say("Input preparation", text(input_preparation(plan))?)?;
    say("Request settings", text(request_settings(plan))?)?;
    if !plan.request.extra_body.is_empty() {
        say("Extra request members", text(extra_members(plan)?)?)?;
    }
    say("Load shape", text(load_shape(plan))?)?;
    say("Time limits", text(time_limits(plan))?)?;
    say("Kernel receive stamps", text(plan.instrument.kernel_stamps.as_str())?)?;
    say("Resend on a closed reused connection", text(on_off(plan.instrument.resend))?)?;
    if let Some(image) = &plan.image {
        say("Runtime image", image.clone())?;
    }
    if plan.target.private_ca {
        say("TLS trust", text("Certificate authorities given by the operator")?)?;
    }
    say(EXPECTED_MODEL_LABEL, published(&plan.target.expect_model))?;
    say(RETURNED_MODELS_LABEL, returned_models(run)?)?;
    say("Cache state", text(cache_state(plan, run))?)?;
    conditions.extend(plan.conditions.iter().cloned());
    Ok(conditions)
}

fn input_preparation(plan: &Plan) -> String {
    match &plan.workload.source {
        PromptSource::Dataset { records, repeat, nonce, .. } => {
            let reuse = if *repeat { "; used again from the first" } else { "" };
            let nonce =
                if nonce.is_some() { "; a unique first line before each prompt" } else { "" };
            format!("Dataset of {records} requests{reuse}{nonce}")
        }
        PromptSource::Synthetic { words, seed, .. } => {
            format!("Unique synthetic prompts of {words} words, seed {seed}")
        }
    }
}

fn request_settings(plan: &Plan) -> String {
    let request = &plan.request;
    let temperature = request.temperature.map_or("unset".to_owned(), |t| format!("{t:?}"));
    let seed = request.seed.map_or("unset".to_owned(), |seed| seed.to_string());
    let otherwise = match plan.workload.source {
        PromptSource::Dataset { .. } => " where a line sets none",
        PromptSource::Synthetic { .. } => "",
    };
    format!(
        "{}; temperature {temperature}; seed {seed}; completion cap {} tokens{otherwise}; \
         ignore_eos {}; streaming with server usage",
        plan.target.dialect,
        request.max_tokens,
        on_off(request.ignore_eos),
    )
}

/// What was added to each request may be private, so that only its digest is published.
fn extra_members(plan: &Plan) -> Result<String, RecordError> {
    let digest = Digest::of_value(&plan.request.extra_body)?;
    Ok(format!("{} members, SHA-256 {digest}", plan.request.extra_body.len()))
}

fn load_shape(plan: &Plan) -> String {
    let (requests, warmup) = (plan.load.requests, plan.load.warmup);
    let shape = match plan.load.shape {
        LoadShape::ClosedLoop { concurrency } => format!("Closed loop, concurrency {concurrency}"),
        _ => plan.load.shape.name().to_owned(),
    };
    format!("{shape}; {requests} requests after {warmup} of warm-up")
}

fn time_limits(plan: &Plan) -> String {
    let limits = plan.limits;
    format!(
        "Connect {} ms; idle {} ms; whole request {} ms",
        limits.connect_timeout_ms, limits.idle_timeout_ms, limits.timeout_ms
    )
}

fn returned_models(run: &Measured<'_>) -> Result<PublicText, RecordError> {
    let models: BTreeSet<&str> = run
        .sent
        .iter()
        .filter_map(|line| line.observation.as_ref())
        .flat_map(|seen| seen.returned_models.iter().map(String::as_str))
        .collect();
    let mut models = models.into_iter();
    match (models.next(), models.count()) {
        (None, _) => text(NO_MODEL_NAMED),
        (Some(only), 0) => Ok(published(only)),
        (Some(_), more) => text(format!("{} different names", more + 1)),
    }
}

fn cache_state(plan: &Plan, run: &Measured<'_>) -> String {
    let declared = &plan.cache_state;
    match CachedShare::of(run) {
        Some(CachedShare { cached, prompt }) => {
            format!(
                "Declared {declared}; the server reported {cached} of {prompt} prompt tokens cached"
            )
        }
        None => format!("Declared {declared}; the server reported no cached tokens"),
    }
}

/// Prompt tokens that came from a cache, over the responses that report them.
pub(super) struct CachedShare {
    pub(super) cached: u64,
    pub(super) prompt: u64,
}

impl CachedShare {
    /// `None` when no response reports any.
    pub(super) fn of(run: &Measured<'_>) -> Option<Self> {
        run.sent
            .iter()
            .filter_map(|line| line.observation.as_ref()?.usage)
            .filter_map(|usage| usage.cached_tokens.zip(usage.prompt_tokens))
            .map(|(cached, prompt)| Self { cached, prompt })
            .reduce(|a, b| Self {
                cached: a.cached.saturating_add(b.cached),
                prompt: a.prompt.saturating_add(b.prompt),
            })
    }
}

/// A name from a server or an operator, or why it is not published: model names are often paths.
fn published(name: &str) -> PublicText {
    PublicText::new(name).unwrap_or_else(|fault| {
        PublicText::new(format!("Withheld: {fault}")).expect("faults are plain short texts")
    })
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}
