//! The conditions of a run, as labels and values. Endpoints, headers and paths are none of them.

mod load_shape;
mod of_headers;
mod prompts;

use streamgauge_schema::{
    Condition, Digest, Plan, PromptSource, PublicText, Retries, RunRecordV2, Target,
};

use super::{CollectedRun, replicas, text};
use crate::cached::CachedShare;
use crate::catalogue::goal_list;
use crate::error::RecordError;

/// Labels by which a comparison finds what it judges.
pub(crate) const EXPECTED_ANSWERS_LABEL: &str = "Expected answers SHA-256";
pub(crate) const EXPECTED_MODEL_LABEL: &str = "Expected model";
/// The condition that names the digest of the dataset, or of the prompts' recipe.
pub(crate) const DATASET_LABEL: &str = "Dataset SHA-256";
/// How many addresses there were, and how they shared the requests.
pub(crate) const ADDRESSES_LABEL: &str = "Addresses";
pub(crate) const LOAD_SHAPE_LABEL: &str = "Load shape";
pub(crate) const RETURNED_MODELS_LABEL: &str = "Models returned";
/// When requests that failed were sent again.
pub(crate) const RETRIES_LABEL: &str = "Retries";
/// How the server's certificate was verified.
pub(crate) const TLS_TRUST_LABEL: &str = "TLS trust";
/// What stands there when it was not.
pub(crate) const NOT_VERIFIED: &str = "None: the server's certificate was not verified";
/// The condition that says how often a run was taken up again.
const RESUMED_LABEL: &str = "Times taken up again";
/// What stands there when no response named a model.
pub(crate) const NO_MODEL_NAMED: &str = "None named";

pub(super) use of_headers::differing;

pub(super) fn of(run: &CollectedRun<'_>) -> Result<Vec<Condition>, RecordError> {
    let plan = run.plan;
    let mut conditions = Vec::new();
    let mut say = |label: &str, value: PublicText| -> Result<(), RecordError> {
        conditions.push(Condition { label: text(label)?, value });
        Ok(())
    };
    say("Instrument", text(plan.instrument_version.as_str())?)?;
    say(DATASET_LABEL, text(plan.workload.dataset_sha256.to_string())?)?;
    say("Input preparation", text(prompts::preparation(plan))?)?;
    if let Some(basis) = &plan.workload.length_basis {
        say("Prompt length basis", text(prompts::length_basis(basis))?)?;
    }
    if let Some(addresses) = replicas::condition(plan)? {
        say(ADDRESSES_LABEL, text(addresses)?)?;
    }
    say("Request settings", text(request_settings(plan))?)?;
    if !plan.request.extra_body.is_empty() {
        say("Extra request members", text(extra_members(plan)?)?)?;
    }
    say(LOAD_SHAPE_LABEL, text(load_shape::of(plan, run.journals.shard())?)?)?;
    if plan.load.warmup > 0 {
        say("Warm-up", text(warmup(run))?)?;
    }
    if run.journals.taken_up() > 0 {
        say(RESUMED_LABEL, text(run.journals.taken_up().to_string())?)?;
    }
    if let Some(joined) = &run.joined {
        let grading = joined.grading;
        let names = grading.graders.iter().map(|grader| grader.name.as_str());
        say("Correctness scorer", text(names.collect::<Vec<_>>().join(", "))?)?;
        say(EXPECTED_ANSWERS_LABEL, text(grading.expectations_sha256.to_string())?)?;
    }
    if !plan.goals.is_empty() {
        say("Goals", text(goal_list(&plan.goals))?)?;
    }
    say("Time limits", text(time_limits(plan))?)?;
    if let Some(share) = plan.limits.max_error_ratio {
        say("Error-rate stop", text(format!("Above a share of {share:?} of ended requests"))?)?;
    }
    if let Some(policy) = plan.retries {
        say(RETRIES_LABEL, text(retries(policy))?)?;
    }
    say("Kernel receive stamps", text(plan.instrument.kernel_stamps.as_str())?)?;
    say("Time basis", text(plan.instrument.time_basis.as_str())?)?;
    say("Single arrivals", text(kept(plan))?)?;
    say("Worker threads", text(plan.instrument.workers.to_string())?)?;
    say("Resend on a closed reused connection", text(on_off(plan.instrument.resend))?)?;
    if let Some(image) = &plan.image {
        say("Runtime image", image.clone())?;
    }
    for (label, value) in way(plan) {
        say(label, text(value)?)?;
    }
    say(EXPECTED_MODEL_LABEL, PublicText::or_withheld(&plan.target.expect_model))?;
    say(RETURNED_MODELS_LABEL, returned_models(run)?)?;
    say("Cache state", text(cache_state(run))?)?;
    conditions.extend(plan.conditions.iter().cloned());
    conditions.extend(of_headers::stated(&run.journals)?);
    Ok(conditions)
}

fn retries(policy: Retries) -> String {
    let Retries { most, longest_pause_ms } = policy;
    format!(
        "At most {most}, where no connection was found or status 429 or 503 asked for a pause of at most \
         {longest_pause_ms} ms"
    )
}

/// How the server was reached, where there is something to say of it.
fn way(plan: &Plan) -> Vec<(&'static str, &'static str)> {
    let Target { private_ca, route, .. } = &plan.target;
    let urls = plan.target.base_urls();
    let any = |scheme| urls.iter().any(|url| url.starts_with(scheme));
    let trust = match route {
        route if route.unverified => Some(NOT_VERIFIED),
        _ if *private_ca => Some("Certificate authorities given by the operator"),
        _ if any("https://") => Some("Certificate authorities of the platform"),
        _ => None,
    };
    let trust = trust.map(|trust| (TLS_TRUST_LABEL, trust));
    let own = route.client_certificate.then_some(("TLS client certificate", "Given"));
    let proxy = route.proxy.is_some().then_some(("Proxy", "HTTP, named by the operator"));
    let socket = any("unix://").then_some(("Socket", "Unix domain"));
    trust.into_iter().chain(own).chain(proxy).chain(socket).collect()
}

/// Whether the run of a record broke off and was taken up again.
#[must_use]
pub fn was_taken_up(record: &RunRecordV2) -> bool {
    record.conditions.iter().any(|condition| condition.label.as_str() == RESUMED_LABEL)
}

fn request_settings(plan: &Plan) -> String {
    let request = &plan.request;
    let temperature = request.temperature.map_or("unset".to_owned(), |t| format!("{t:?}"));
    let seed = request.seed.map_or("unset".to_owned(), |seed| seed.to_string());
    let otherwise = match plan.workload.source {
        PromptSource::Dataset { .. } => " where a line sets none",
        PromptSource::Synthetic { .. } | PromptSource::Turnover { .. } => "",
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

fn warmup(run: &CollectedRun<'_>) -> String {
    format!(
        "Requests before the measurement, left out of it: {}; measured requests that share a prompt \
         with them: {}",
        run.warmup.sent,
        run.warmup.shared_prompts()
    )
}

fn time_limits(plan: &Plan) -> String {
    let limits = plan.limits;
    format!(
        "Connect {} ms; idle {} ms; whole request {} ms",
        limits.connect_timeout_ms, limits.idle_timeout_ms, limits.timeout_ms
    )
}

fn kept(plan: &Plan) -> &'static str {
    if plan.instrument.keep_arrivals {
        "kept"
    } else {
        "number, extremes and sum of intervals kept"
    }
}

fn returned_models(run: &CollectedRun<'_>) -> Result<PublicText, RecordError> {
    let mut models = run.responses.models.iter();
    match (models.next(), models.count()) {
        (None, _) => text(NO_MODEL_NAMED),
        (Some(only), 0) => Ok(PublicText::or_withheld(only)),
        (Some(_), more) => text(format!("{} different names", more + 1)),
    }
}

fn cache_state(run: &CollectedRun<'_>) -> String {
    let declared = &run.plan.cache_state;
    match run.measured.cached {
        CachedShare { responses: 0, .. } => {
            format!("Declared {declared}; the server reported no cached tokens")
        }
        CachedShare { cached, prompt, .. } => {
            format!(
                "Declared {declared}; the server reported {cached} of {prompt} prompt tokens cached"
            )
        }
    }
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}
