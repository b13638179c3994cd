//! From arguments to plans: everything is resolved before the first measured request.

mod addresses;
mod extra_body;
mod lengths;
mod load;
mod of_plan;
mod part;
mod prompts;
mod server;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use streamgauge_client::{
    Access, ERROR_RATIO_JUDGED_FROM, Endpoint, Query, RunSetup, is_path, room_for,
};
use streamgauge_metrics::{RecordError, check_plan};
use streamgauge_schema::{
    Condition, EvidenceMode, Instrumentation, Json, Limits, Load, LoadShape, Plan, PublicText,
    Request, RequestSettings, Retries, Route, Stage, Target, Timestamp,
};
use streamgauge_workload::{
    Lengths, MIN_WORDS, Prompts, Requests, RequestsSpec, Schedule, WorkloadError,
};
use tokio::sync::watch;

use crate::args::instrument::Intervals;
use crate::args::run::{PromptArgs, RunArgs, ServerArgs};
use crate::console;
use crate::deployment::{DeploymentFile, identifier_like};
use crate::grading::Expected;
use crate::provenance::of_instrument;
use load::loads;
use prompts::PromptFile;

pub(crate) use load::open_loop;
pub(crate) use of_plan::{cell_of_plan, check_way, lengths_of};
pub(crate) use server::{Server, key_variable, meet, meet_at, meet_reached, reach};
use server::{check_key_variable, path_and_query};

/// Version of the plan that is written.
const PLAN_VERSION: u32 = 1;

/// One cell, ready to be measured.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) plan: Plan,
    /// With what and where it is measured, and what the server says of itself.
    pub(crate) conditions: Vec<Condition>,
    requests: Requests,
    schedule: Schedule,
    /// What the answers are held against; `None` when nothing grades them.
    pub(crate) expected: Option<Arc<Expected>>,
    /// Whether the answers are kept.
    pub(crate) keep_answers: bool,
    /// Whether the raw responses are kept.
    pub(crate) capture: bool,
    /// When its measured requests begin; `None` is as soon as they can.
    pub(crate) start_at: Option<Timestamp>,
}

/// What the arguments say by themselves, read and checked before any server is asked.
#[derive(Debug)]
pub(crate) struct Asked {
    prompts: PromptFile,
    extra_body: BTreeMap<String, Json>,
    limits: Limits,
    max_failure_ratio: f64,
    retries: Option<Retries>,
    deployment: DeploymentFile,
    endpoint_path: String,
}

/// Makes the plans of cells: it knows all that they have in common.
#[derive(Debug)]
pub(crate) struct Planner<'a> {
    args: &'a RunArgs,
    asked: &'a Asked,
    server: &'a Server,
    lengths: Lengths,
    /// Keeps the prompts of this run apart from those of any other; `None` keeps nothing apart.
    nonce: Option<u64>,
}

impl Asked {
    /// Reads the files that the arguments name, and checks what can be checked.
    pub(crate) fn read(args: &RunArgs) -> anyhow::Result<Self> {
        check_key_variable(&args.server)?;
        let limits = &args.limits;
        let max_error_ratio = limits.max_error_rate;
        let prompts = PromptFile::read(&args.prompts)?;
        prompts.note_short_answers(args.answers.output_tokens);
        if let (false, Some(flag)) = (prompts.needs_lengths(), args.prompts.lengths_from()) {
            bail!("{flag}: no line of the --dataset has \"input_tokens\"; leave {flag} out");
        }
        Ok(Self {
            prompts,
            extra_body: extra_body::read(args.answers.extra_body.as_deref())?,
            limits: Limits {
                connect_timeout_ms: millis("--connect-timeout", limits.connect_timeout)?,
                idle_timeout_ms: millis("--idle-timeout", limits.idle_timeout)?,
                timeout_ms: millis("--timeout", limits.timeout)?,
                grace_ms: millis("--grace", args.end.grace)?,
                max_error_ratio: max_error_ratio
                    .map(|value| ratio("--max-error-rate", value))
                    .transpose()?,
            },
            max_failure_ratio: ratio("--max-failure-ratio", limits.max_failure_ratio)?,
            retries: match limits.retries {
                0 => None,
                most => {
                    let longest_pause_ms = millis("--retry-pause", limits.retry_pause)?;
                    Some(Retries { most, longest_pause_ms })
                }
            },
            deployment: match &args.output.deployment {
                Some(file) => DeploymentFile::read(file)?,
                None => DeploymentFile::default(),
            },
            endpoint_path: endpoint_path(&args.server)?,
        })
    }

    /// The machine that the deployment is declared to run on.
    pub(crate) fn hardware(&self) -> Option<&PublicText> {
        self.deployment.hardware()
    }

    /// Whether answers are graded.
    pub(crate) fn is_graded(&self) -> bool {
        self.prompts.is_graded()
    }

    /// The path of the API as a plan may hold it.
    pub(crate) fn endpoint_path(&self) -> &str {
        &self.endpoint_path
    }

    /// The loads that the arguments ask for, one for each cell.
    pub(crate) fn loads(&self, args: &RunArgs) -> anyhow::Result<Vec<Load>> {
        let most = self.prompts.most_requests(&args.prompts);
        loads(&args.load, self.prompts.due_us(), most, args.prompts.determinism)
    }
}

/// The path as a plan may hold it.
fn endpoint_path(args: &ServerArgs) -> anyhow::Result<String> {
    let Some(given) = &args.endpoint_path else { return Ok(args.api.default_path().to_owned()) };
    let (path, query) = path_and_query(given);
    if !path.starts_with('/') {
        bail!("--endpoint-path {path:?} does not begin with a slash");
    }
    // What it holds is not shown: behind a '#' it may be a key.
    if !is_path(path) {
        bail!(
            "--endpoint-path is not a path of an URL: write other than letters, digits and \
             punctuation as %20, and leave out what would follow a '#'"
        );
    }
    let query = query.map(Query::new).transpose().context("--endpoint-path")?;
    Ok(query.map_or_else(|| path.to_owned(), |query| format!("{path}?{}", query.redacted())))
}

impl<'a> Planner<'a> {
    /// With lengths of prompts that were found out before.
    pub(crate) fn with_lengths(
        args: &'a RunArgs,
        asked: &'a Asked,
        server: &'a Server,
        lengths: Lengths,
    ) -> anyhow::Result<Self> {
        let nonce = prompts::nonce(&args.prompts)?;
        Ok(Self { args, asked, server, lengths, nonce })
    }

    /// How long prompts are made.
    pub(crate) fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// Asks the server for the lengths of a few prompts, where they are needed.
    pub(crate) async fn new(
        args: &'a RunArgs,
        asked: &'a Asked,
        server: &'a Server,
    ) -> anyhow::Result<Self> {
        let guessing = Self::with_lengths(args, asked, server, Lengths::assumed())?;
        let lengths = lengths::find(&guessing).await?;
        Ok(Self { lengths, ..guessing })
    }

    /// Every cell that the arguments ask for.
    pub(crate) fn cells(&self) -> anyhow::Result<Vec<Cell>> {
        let loads = self.asked.loads(self.args)?;
        loads.into_iter().zip(0..).map(|(load, number)| self.cell(number, load)).collect()
    }

    /// Most requests of a closed loop that time ends.
    pub(crate) fn most_requests(&self) -> u64 {
        self.asked.prompts.most_requests(&self.args.prompts)
    }

    /// The cell of a load. Cells of different numbers have no prompt in common, unless the
    /// arguments want that.
    pub(crate) fn cell(&self, number: u64, load: Load) -> anyhow::Result<Cell> {
        let nonce = self.nonce.map(|nonce| nonce.wrapping_add(number));
        self.cell_of(self.prompts(&self.args.prompts, &self.lengths, nonce)?, load)
    }

    fn prompts(
        &self,
        args: &PromptArgs,
        lengths: &Lengths,
        nonce: Option<u64>,
    ) -> anyhow::Result<Prompts> {
        let cache_state = self.asked.deployment.cache_state();
        self.asked.prompts.prompts(args, lengths, nonce, &cache_state)
    }

    fn cell_of(&self, prompts: Prompts, load: Load) -> anyhow::Result<Cell> {
        let Self { args, asked, server, .. } = self;
        let settings = self.settings();
        let requests = Requests::new(RequestsSpec {
            dialect: args.server.api,
            model: server.model.clone(),
            settings: settings.clone(),
            prompts,
            target_input_tokens: asked.prompts.target_tokens(&args.prompts),
            lengths: self.lengths.clone(),
            suite_version: asked.prompts.suite_version(),
            requests: load.requests,
            repetitions: args.prompts.determinism.unwrap_or(1),
            warmup: load.warmup,
        })
        .map_err(naming_its_flag)?;
        note_longer_prompts(&requests);
        let expected = asked.prompts.expected(&requests)?;
        let is_trace = matches!(load.shape, LoadShape::Trace { .. });
        let due_us = asked.prompts.due_us().filter(|_| is_trace);
        let schedule = Schedule::new(&load, due_us)?;
        let declared = asked.deployment.clone().declare(&server.model, &load.cell)?;
        let name = args.output.name.clone();
        let plan = Plan {
            plan_version: PLAN_VERSION,
            name: name.unwrap_or_else(|| identifier_like(declared.deployment.id.as_str())),
            instrument_version: env!("CARGO_PKG_VERSION").to_owned(),
            target: Target {
                replicas: server.replicas.clone(),
                ..target(
                    &args.server,
                    &asked.endpoint_path,
                    (&server.endpoint, &server.access),
                    &server.model,
                )
            },
            request: settings,
            workload: requests.describe(),
            load,
            goals: args.goals.goodput.clone(),
            grading: expected.as_ref().map(|expected| expected.grading().clone()),
            limits: asked.limits,
            max_failure_ratio: asked.max_failure_ratio,
            retries: asked.retries,
            instrument: self.instrument(),
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
        check_plan(&plan).map_err(naming_its_flags)?;
        Ok(Cell {
            plan,
            conditions: [of_instrument(), self.server.told.clone()].concat(),
            requests,
            schedule,
            expected: expected.map(Arc::new),
            keep_answers: args.output.keep_answers || args.prompts.determinism.is_some(),
            capture: args.output.capture,
            start_at: None,
        })
    }

    fn settings(&self) -> RequestSettings {
        let answers = &self.args.answers;
        RequestSettings {
            max_tokens: answers.output_tokens,
            ignore_eos: answers.ignore_eos,
            temperature: answers.temperature.0,
            seed: answers.seed,
            header_names: self.server.access.headers.names(),
            extra_body: self.asked.extra_body.clone(),
        }
    }

    fn instrument(&self) -> Instrumentation {
        let args = &self.args.instrument;
        Instrumentation {
            kernel_stamps: args.kernel_stamps,
            time_basis: args.time_basis,
            keep_arrivals: args.intervals == Intervals::On,
            workers: args.workers,
            resend: !self.args.limits.no_resend,
            calibration: None,
            server_metrics: args.server_metrics.clone(),
        }
    }
}

/// Where requests go.
fn target(
    args: &ServerArgs,
    endpoint_path: &str,
    (endpoint, access): (&Endpoint, &Access),
    model: &str,
) -> Target {
    Target {
        base_url: endpoint.to_string(),
        replicas: Vec::new(),
        dialect: args.api,
        endpoint_path: endpoint_path.to_owned(),
        model: model.to_owned(),
        expect_model: args.expect_model.clone().unwrap_or_else(|| model.to_owned()),
        private_ca: args.ca_file.is_some(),
        route: Route {
            client_certificate: args.client_cert.is_some(),
            proxy: access.proxy.as_ref().map(ToString::to_string),
            unverified: args.insecure,
        },
    }
}

impl Cell {
    /// Checks that there are open files for its connections, and warns where there may be too few, and
    /// of a limit that never acts.
    ///
    /// # Errors
    /// When there surely are too few files.
    pub(crate) fn check_room(&self) -> anyhow::Result<()> {
        let cell = &self.plan.load.cell;
        let requests = self.own_requests();
        if never_stops(requests, self.plan.limits.max_error_ratio) {
            console::remark(&format!("note: cell {cell}: {}", never_said(requests)));
        }
        let room = room_for(&self.plan, &self.schedule).with_context(|| format!("cell {cell}"))?;
        if let Some(room) = room {
            let (why, what) = match self.schedule.max_inflight() {
                None => ("nothing limits its requests under way", "Give --max-concurrency"),
                // To several addresses there are more connections than requests under way.
                Some(_) => ("each address may come to have them all", "Lower the concurrency"),
            };
            console::remark(&format!(
                "warning: cell {cell}: {why}, and there are open files for {room} connections; \
                 requests beyond fail (runner_error). {what}, or raise the limit (ulimit -n)"
            ));
        }
        Ok(())
    }

    /// One of its requests.
    pub(crate) fn request(&self, stage: Stage, index: u64) -> Request {
        self.requests.request(stage, index)
    }

    /// From the first measured request to the moment after which none begins, where that is known.
    pub(crate) fn lasts(&self) -> Option<Duration> {
        self.schedule.end().or_else(|| self.schedule.due_times().last())
    }

    /// What the client needs to carry it out.
    pub(crate) fn setup<'a>(
        &'a self,
        access: &'a Access,
        captures: Option<PathBuf>,
        stop: watch::Receiver<bool>,
    ) -> RunSetup<'a> {
        RunSetup {
            plan: &self.plan,
            conditions: self.conditions.clone(),
            schedule: &self.schedule,
            access,
            captures,
            scrapes: None,
            keep_texts: self.keep_answers || self.expected.is_some(),
            so_far: None,
            start: self.start_at,
            inflight: Arc::default(),
            stop,
        }
    }
}

/// Whether a load has too few requests for the error-rate stop to look at them.
pub(crate) fn never_stops(requests: u64, max_error_ratio: Option<f64>) -> bool {
    max_error_ratio.is_some() && requests < ERROR_RATIO_JUDGED_FROM
}

/// What is said of such a load.
pub(crate) fn never_said(requests: u64) -> String {
    format!(
        "--max-error-rate looks once {ERROR_RATIO_JUDGED_FROM} requests have ended, and there are \
         {requests}: it never stops anything (--max-failure-ratio judges any number of them)"
    )
}

/// The error with the flags that asked for the contradiction.
fn naming_its_flags(error: RecordError) -> anyhow::Error {
    let text = error.to_string();
    let flags = match &text {
        text if text.contains("time_basis") => "--time-basis, --kernel-stamps and --intervals",
        text if text.contains("goal") => "--goodput",
        _ if matches!(error, RecordError::NamesServer { .. }) => "--deployment and --name",
        _ => return error.into(),
    };
    anyhow::Error::new(error).context(flags)
}

/// Says when prompts could not be made as short as a trace wants them.
fn note_longer_prompts(requests: &Requests) {
    let longer = requests.longer_than_asked();
    if longer > 0 {
        console::remark(&format!(
            "note: {longer} prompts are longer than the trace asks; a prompt has at least \
             {MIN_WORDS} words"
        ));
    }
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

pub(crate) fn millis(flag: &str, seconds: f64) -> anyhow::Result<u64> {
    // A day is longer than any request; the bound keeps instants representable.
    if !(0.001..=86_400.0).contains(&seconds) {
        bail!("{flag} {seconds:?} is not within 0.001 to 86400 seconds");
    }
    Ok((seconds * 1000.0).round() as u64)
}

fn ratio(flag: &str, value: f64) -> anyhow::Result<f64> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        bail!("{flag} {value:?} is not within 0 to 1")
    }
}
