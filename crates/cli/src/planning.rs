//! From arguments to a plan: everything is resolved before the first request.

use std::collections::BTreeMap;
use std::env::VarError;
use std::time::Duration;

use anyhow::{Context, bail};
use streamgauge_client::{Access, Endpoint, Headers, Model, Trust, bounded, list_models};
use streamgauge_schema::{
    Dialect, EvidenceMode, FailureClass, Identifier, Instrumentation, Json, Limits, Load,
    LoadShape, Plan, PublicText, RequestSettings, Target, TimeBasis,
};
use streamgauge_workload::{
    Dataset, Prompts, Requests, RequestsSpec, Reuse, SyntheticPrompts, WorkloadError, cell_name,
};

use crate::commands::run::RunArgs;
use crate::console;
use crate::deployment::{DeploymentFile, identifier_like};
use crate::exit::Unreachable;
use crate::input::read_bytes;

/// Version of the plan that is written.
const PLAN_VERSION: u32 = 1;
/// English words have about four tokens for three words in common tokenizers.
const WORDS_PER_FOUR_TOKENS: u64 = 3;
/// How the simulated server signs its model.
const SIMULATED_OWNER: &str = "sim";

/// One cell, ready to be measured.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) plan: Plan,
    pub(crate) requests: Requests,
    /// Whether the raw responses are kept.
    pub(crate) capture: bool,
}

/// The server under measurement.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    pub(crate) access: Access,
    pub(crate) model: String,
    simulated: bool,
}

/// What the arguments say by themselves, read and checked before any server is asked.
#[derive(Debug)]
pub(crate) struct Asked {
    prompts: Prompts,
    suite_version: Identifier,
    extra_body: BTreeMap<String, Json>,
    limits: Limits,
    max_failure_ratio: f64,
    deployment: DeploymentFile,
    endpoint_path: String,
}

impl Asked {
    /// Reads the files that the arguments name, and checks what can be checked.
    pub(crate) fn read(args: &RunArgs) -> anyhow::Result<Self> {
        let endpoint_path =
            args.endpoint_path.clone().unwrap_or_else(|| args.api.default_path().to_owned());
        if !endpoint_path.starts_with('/') {
            bail!("--endpoint-path {endpoint_path:?} does not begin with a slash");
        }
        let (prompts, suite_version) = prompts(args)?;
        Ok(Self {
            prompts,
            suite_version,
            extra_body: extra_body(args.extra_body.as_deref())?,
            limits: Limits {
                connect_timeout_ms: millis("--connect-timeout", args.connect_timeout)?,
                idle_timeout_ms: millis("--idle-timeout", args.idle_timeout)?,
                timeout_ms: millis("--timeout", args.timeout)?,
                grace_ms: 30_000,
                max_error_ratio: None,
            },
            max_failure_ratio: ratio("--max-failure-ratio", args.max_failure_ratio)?,
            deployment: match &args.deployment {
                Some(file) => DeploymentFile::read(file)?,
                None => DeploymentFile::default(),
            },
            endpoint_path,
        })
    }
}

/// Builds the access to a server from the arguments. Keys come from the environment and headers;
/// they go into no plan.
pub(crate) fn access(args: &RunArgs, endpoint: &Endpoint) -> anyhow::Result<Access> {
    let mut headers = Headers::default();
    for line in &args.header {
        headers.add(line).context("--header")?;
    }
    let key_variable = args.api_key_env.as_deref().unwrap_or(match args.api {
        Dialect::AnthropicMessages => "ANTHROPIC_API_KEY",
        _ => "OPENAI_API_KEY",
    });
    if let Some(key) = api_key(args, key_variable)? {
        headers
            .add_api_key(&key, args.api)
            .with_context(|| format!("the key in {key_variable}"))?;
    }
    if !headers.is_empty() && !endpoint.is_tls() && !endpoint.is_loopback() {
        console::remark(&format!(
            "warning: {} goes over plain http to {}",
            headers.names().join(", "),
            endpoint.host()
        ));
    }
    let trust = match (&args.ca_file, endpoint.is_tls()) {
        (Some(file), true) => Some(Trust::file(file)?),
        (None, true) => Some(Trust::platform()?),
        (Some(_), false) => bail!("--ca-file needs an https address"),
        (None, false) => None,
    };
    Ok(Access { headers, trust })
}

/// The key in an environment variable. One that was named must be there; a simulated server gets
/// none.
fn api_key(args: &RunArgs, variable: &str) -> anyhow::Result<Option<String>> {
    if args.simulate {
        return Ok(None);
    }
    match std::env::var(variable) {
        Ok(key) if !key.is_empty() => Ok(Some(key)),
        Err(VarError::NotUnicode(_)) => bail!("the key in {variable} is not UTF-8"),
        _ if args.api_key_env.is_some() => bail!("--api-key-env: {variable} is not set"),
        _ => Ok(None),
    }
}

/// Finds out which model answers, and whether it is a simulated one.
pub(crate) async fn meet(args: &RunArgs, base_url: &str) -> anyhow::Result<Server> {
    let endpoint = Endpoint::parse(address(args, base_url))?;
    let access = access(args, &endpoint)?;
    let timeout = Duration::from_secs_f64(args.connect_timeout) + Duration::from_secs(10);
    let listed = match list_models(&endpoint, &access, args.api, timeout).await {
        Ok(listed) => Some(listed),
        // Some servers have no such list, or keep it from this key; the model was named anyway.
        Err(error) if args.model.is_some() && answers(error.class) => None,
        Err(error) => {
            let hint = if answers(error.class) { "; name the model with --model" } else { "" };
            return Err(Unreachable(format!("{endpoint}: {error}{hint}")).into());
        }
    };
    let (model, simulated) = choose(args.model.as_deref(), listed.as_deref())?;
    Ok(Server { endpoint, access, model, simulated })
}

/// The address below which the API's path lies. One that was written for OpenAI's APIs ends in
/// `/v1`, beside which the others stand.
fn address<'a>(args: &RunArgs, base_url: &'a str) -> &'a str {
    if args.endpoint_path.is_some() || args.api.default_path().starts_with("/v1/") {
        return base_url;
    }
    base_url.trim_end_matches('/').strip_suffix("/v1").unwrap_or(base_url)
}

/// Whether a server that failed in this way is there and answers.
fn answers(class: FailureClass) -> bool {
    matches!(class, FailureClass::HttpStatus | FailureClass::NotEventStream)
}

fn choose(asked: Option<&str>, listed: Option<&[Model]>) -> anyhow::Result<(String, bool)> {
    let listed = listed.unwrap_or_default();
    let simulated = |model: &Model| model.owned_by.as_deref() == Some(SIMULATED_OWNER);
    match (asked, listed) {
        (Some(asked), _) => {
            let known = listed.iter().find(|model| model.id == asked);
            if known.is_none() && !listed.is_empty() {
                console::remark(&format!(
                    "note: the server does not list {asked:?}; it lists {}",
                    names(listed)
                ));
            }
            Ok((asked.to_owned(), known.is_some_and(simulated)))
        }
        (None, [only]) => Ok((only.id.clone(), simulated(only))),
        (None, []) => bail!("the server lists no model; name one with --model"),
        (None, _) => bail!("the server lists {}; choose one with --model", names(listed)),
    }
}

fn names(models: &[Model]) -> String {
    let names: Vec<String> = models.iter().map(|model| bounded(&model.id)).collect();
    names.join(", ")
}

/// Resolves the plan of the cell with `concurrency` clients.
pub(crate) fn plan(
    args: &RunArgs,
    asked: &Asked,
    server: &Server,
    concurrency: u64,
) -> anyhow::Result<Cell> {
    let shape = LoadShape::ClosedLoop { concurrency };
    let cell = match &args.cell {
        Some(cell) => cell.clone(),
        None => cell_name(&shape),
    };
    let settings = RequestSettings {
        max_tokens: args.output_tokens,
        ignore_eos: args.ignore_eos,
        temperature: args.temperature.0,
        seed: args.seed,
        header_names: server.access.headers.names(),
        extra_body: asked.extra_body.clone(),
    };
    let target_input_tokens = args.dataset.is_none().then_some(args.input_tokens);
    let requests = Requests::new(RequestsSpec {
        dialect: args.api,
        model: server.model.clone(),
        settings: settings.clone(),
        prompts: asked.prompts.clone(),
        target_input_tokens,
        suite_version: asked.suite_version.clone(),
        requests: args.requests,
        warmup: args.warmup,
    })
    .map_err(naming_its_flag)?;
    let declared = asked.deployment.clone().declare(&server.model, &cell)?;
    let plan = Plan {
        plan_version: PLAN_VERSION,
        name: args.name.clone().unwrap_or_else(|| identifier_like(declared.deployment.id.as_str())),
        instrument_version: env!("CARGO_PKG_VERSION").to_owned(),
        target: Target {
            base_url: server.endpoint.to_string(),
            dialect: args.api,
            endpoint_path: asked.endpoint_path.clone(),
            model: server.model.clone(),
            expect_model: args.expect_model.clone().unwrap_or_else(|| server.model.clone()),
            private_ca: args.ca_file.is_some(),
        },
        request: settings,
        workload: requests.describe(),
        load: Load { cell, shape, requests: args.requests, duration_ms: None, warmup: args.warmup },
        goals: Vec::new(),
        limits: asked.limits,
        max_failure_ratio: asked.max_failure_ratio,
        instrument: Instrumentation {
            kernel_stamps: args.kernel_stamps,
            time_basis: TimeBasis::Read,
            keep_arrivals: true,
            workers: 1,
            resend: !args.no_resend,
            calibration: None,
        },
        deployment: declared.deployment,
        image: declared.image,
        evidence_mode: if server.simulated {
            EvidenceMode::Simulated
        } else {
            EvidenceMode::ActualInference
        },
        cache_state: declared.cache_state,
        token_accounting: declared.token_accounting,
        conditions: declared.conditions,
    };
    Ok(Cell { plan, requests, capture: args.capture })
}

/// The error with the flag to change, where only one comes into question.
fn naming_its_flag(error: WorkloadError) -> anyhow::Error {
    let flag = match &error {
        WorkloadError::Inexpressible { setting: "ignore_eos", .. } => "--ignore-eos",
        WorkloadError::Inexpressible { setting: "seed", .. } => "--seed",
        _ => return error.into(),
    };
    anyhow::Error::new(error).context(flag)
}

fn extra_body(text: Option<&str>) -> anyhow::Result<BTreeMap<String, Json>> {
    let Some(text) = text else { return Ok(BTreeMap::new()) };
    match serde_json::from_str(text).context("--extra-body is not JSON")? {
        Json::Object(members) => {
            let count = members.len();
            let members: BTreeMap<String, Json> = members.into_iter().collect();
            if members.len() < count {
                bail!("--extra-body has a member twice");
            }
            Ok(members)
        }
        _ => bail!("--extra-body must be a JSON object, such as '{{\"top_p\": 0.9}}'"),
    }
}

fn prompts(args: &RunArgs) -> anyhow::Result<(Prompts, Identifier)> {
    let Some(file) = &args.dataset else {
        let words = (args.input_tokens * WORDS_PER_FOUR_TOKENS).div_ceil(4);
        let prompts = SyntheticPrompts::new(words, args.prompt_seed).with_context(|| {
            format!("--input-tokens {} stands for {words} words", args.input_tokens)
        })?;
        return Ok((Prompts::Synthetic(prompts), identifier_like("synthetic-words-v1")));
    };
    let shown = file.display().to_string();
    let dataset = Dataset::parse(&read_bytes(file)?, &shown)?;
    let reuse = match (args.nonce, args.repeat) {
        (true, _) => Reuse::Nonce,
        (false, true) => Reuse::Repeat,
        (false, false) => Reuse::Refuse,
    };
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    // The name is published.
    let name = if PublicText::new(stem.as_ref()).is_ok() { stem.as_ref() } else { "dataset" };
    Ok((Prompts::Dataset { dataset, reuse }, identifier_like(name)))
}

fn millis(flag: &str, seconds: f64) -> anyhow::Result<u64> {
    // A day is longer than any request; the bound keeps instants representable.
    if !(0.001..=86_400.0).contains(&seconds) {
        bail!("{flag} {seconds} is not within 0.001 to 86400 seconds");
    }
    Ok((seconds * 1000.0).round() as u64)
}

fn ratio(flag: &str, value: f64) -> anyhow::Result<f64> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        bail!("{flag} {value} is not within 0 to 1")
    }
}
