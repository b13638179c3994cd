//! The cell of a plan that was written before: what a run that broke off goes on with.
//!
//! Invariant: it asks exactly what the plan says, or is refused.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use streamgauge_metrics::check_plan;
use streamgauge_schema::{
    CacheState, EvidenceMode, LengthBasis, LoadShape, Plan, PromptSource, Target,
};
use streamgauge_workload::{
    Dataset, Lengths, Prompts, Requests, RequestsSpec, Reuse, Schedule, SyntheticPrompts,
    TurnoverPrompts,
};

use super::addresses::Reached;
use super::{Cell, Server, endpoint_path, target};
use crate::args::run::ServerArgs;
use crate::grading::{Expectations, Expected};
use crate::input::read_dataset;
use crate::provenance::of_instrument;

/// The cell of a plan, to be carried out on a server. `dataset` is where the run's dataset is now, where
/// it is not where the plan says. Neither answers nor captures are kept.
pub(crate) fn cell_of_plan(
    plan: Plan,
    server: &Server,
    dataset: Option<&Path>,
) -> anyhow::Result<Cell> {
    check_plan(&plan)?;
    let simulated = plan.evidence_mode == EvidenceMode::Simulated;
    if simulated != server.simulated {
        let [was, is] = [simulated, server.simulated]
            .map(|simulated| if simulated { "a simulated server" } else { "a real server" });
        bail!("the run asked {was}, and at {} is {is}", server.endpoint);
    }
    let (prompts, read) = prompts(&plan, dataset)?;
    let due_us = read.as_ref().and_then(|read| read.dataset.due_us());
    let due_us = due_us.filter(|_| matches!(plan.load.shape, LoadShape::Trace { .. }));
    let requests = Requests::new(RequestsSpec {
        dialect: plan.target.dialect,
        model: plan.target.model.clone(),
        settings: plan.request.clone(),
        prompts,
        target_input_tokens: plan.workload.target_input_tokens,
        lengths: lengths_of(&plan)?,
        suite_version: plan.workload.suite_version.clone(),
        requests: plan.load.requests,
        repetitions: plan.workload.repetitions.unwrap_or(1),
        warmup: plan.load.warmup,
    })?;
    if requests.describe() != plan.workload {
        bail!("the prompts are not those that the run began with; was its dataset edited since?");
    }
    let expected = match (&plan.grading, &plan.workload.source, &read) {
        (None, ..) => None,
        (Some(_), PromptSource::Turnover { word, count, policy, .. }, _) => {
            let sha256 = TurnoverPrompts::new(word, *count, *policy, 0)?.digest();
            Some(Expected::of_turnover(sha256, &requests)?)
        }
        (Some(_), _, Some(Read { dataset, bytes })) => {
            let expectations = Expectations::of(dataset, bytes)?;
            let expectations = expectations.context("no line of the dataset has \"expect\"")?;
            Some(Expected::of_lines(&expectations, &requests)?)
        }
        (Some(_), _, None) => bail!("the plan has graders, and no dataset says what is expected"),
    };
    if expected.as_ref().map(Expected::grading) != plan.grading.as_ref() {
        bail!("this version grades otherwise than the one that began the run");
    }
    let schedule = Schedule::new(&plan.load, due_us)?;
    Ok(Cell {
        plan,
        conditions: [of_instrument(), server.told.clone()].concat(),
        requests,
        schedule,
        expected: expected.map(Arc::new),
        keep_answers: false,
        capture: false,
        start_at: None,
    })
}

/// How a run chose the words of prompts that are made to a length.
pub(crate) fn lengths_of(plan: &Plan) -> anyhow::Result<Lengths> {
    match &plan.workload.length_basis {
        None | Some(LengthBasis::Assumed {}) => Ok(Lengths::assumed()),
        Some(LengthBasis::Calibrated { probes }) => Ok(Lengths::calibrated(probes)?),
        Some(LengthBasis::Tokenizer { .. }) => {
            bail!("the run made prompts by a tokenizer's file, which is not at hand")
        }
    }
}

/// Refuses another way to the server than the run went, before anything is contacted.
pub(crate) fn check_way(plan: &Plan, args: &ServerArgs, reached: &Reached) -> anyhow::Result<()> {
    let was = &plan.target;
    let (first, access) = (&reached.endpoints[0], &reached.access);
    let is = &Target {
        replicas: reached.replicas(),
        ..target(args, &endpoint_path(args)?, (first, access), &was.model)
    };
    let given = |is_given: bool| if is_given { "given" } else { "not given" }.to_owned();
    let members = |target: &Target| {
        let route = &target.route;
        let proxy = route.proxy.clone();
        [
            ("--base-url", target.base_urls().join(" ")),
            ("--endpoint-path", target.endpoint_path.clone()),
            ("--ca-file", given(target.private_ca)),
            ("--client-cert", given(route.client_certificate)),
            ("--proxy", proxy.unwrap_or_else(|| given(false))),
            ("--insecure", given(route.unverified)),
        ]
    };
    let mut pairs = members(was).into_iter().zip(members(is));
    match pairs.find(|(was, is)| was != is) {
        Some(((flag, was), (_, is))) => {
            bail!("{flag} is {is}, and when the run began it was {was}; give it as it was")
        }
        None if was != is => bail!("the server is not asked as when the run began"),
        None => {}
    }
    let names = access.headers.names();
    if names != plan.request.header_names {
        let shown = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        bail!(
            "the run sent the headers {}, and now there are {}; give the same with --header and \
             --api-key-env, as their values stand nowhere",
            shown(&plan.request.header_names),
            shown(&names)
        );
    }
    Ok(())
}

/// A dataset as it was read.
struct Read {
    dataset: Dataset,
    bytes: Vec<u8>,
}

fn prompts(plan: &Plan, place: Option<&Path>) -> anyhow::Result<(Prompts, Option<Read>)> {
    match &plan.workload.source {
        PromptSource::Dataset { path, repeat, nonce, .. } => {
            let place = place.unwrap_or(Path::new(path));
            let bytes = read_dataset(place).with_context(|| {
                format!("the run's dataset was {path:?}; --dataset says where it is now")
            })?;
            // Under the name that the plan has for it, which is a part of what is asked.
            let dataset = Dataset::parse(&bytes, path)?;
            let reuse = if *repeat { Reuse::Repeat } else { Reuse::Refuse };
            let prompts = Prompts::Dataset { dataset: dataset.clone(), reuse, nonce: *nonce };
            Ok((prompts, Some(Read { dataset, bytes })))
        }
        PromptSource::Synthetic { words, seed, prefix, nonce } => {
            let mut prompts = SyntheticPrompts::new(*words, *seed)?;
            if let Some(prefix) = prefix {
                prompts = prompts.with_prefix(*prefix)?;
            }
            if plan.cache_state != CacheState::WarmEngineSharedPrefixes {
                prompts = prompts.with_cold_prefix();
            }
            if let Some(seed) = nonce {
                prompts = prompts.with_nonce(*seed);
            }
            Ok((Prompts::Synthetic(prompts), None))
        }
        PromptSource::Turnover { word, count, policy, seed } => {
            Ok((Prompts::Turnover(TurnoverPrompts::new(word, *count, *policy, *seed)?), None))
        }
    }
}
