//! The shape of a load as one text: two loads are alike when their texts are. One that is too long
//! for a published text is named by its digest.

use streamgauge_schema::{Arrivals, ClientStage, Digest, Load, LoadShape, Plan, RateStage, Shard};

use crate::error::RecordError;

/// Most characters of a published text.
const MOST_CHARS: usize = 240;

/// A shard by itself is no load that another run has, but for the same one of another.
pub(super) fn of(plan: &Plan, shard: Option<Shard>) -> Result<String, RecordError> {
    let Load { shape, requests, duration_ms, warmup, .. } = &plan.load;
    let length = match duration_ms {
        None => format!("{requests} requests"),
        Some(ms) => {
            let limit = if shape.is_scheduled() { "" } else { "at most " };
            format!("{ms} ms, {limit}{requests} requests, grace {} ms", plan.limits.grace_ms)
        }
    };
    let part = shard.map_or_else(String::new, |shard| format!("; shard {shard} alone"));
    let length = format!("{length} after {warmup} of warm-up{part}");
    let text = format!("{}; {length}", in_words(plan));
    if text.chars().count() <= MOST_CHARS {
        return Ok(text);
    }
    let name = shape.name();
    let trace = matches!(shape, LoadShape::Trace { .. }).then_some(plan.workload.dataset_sha256);
    Ok(format!("{name}, SHA-256 {}; {length}", Digest::of_value(&(shape, trace))?))
}

fn in_words(plan: &Plan) -> String {
    match &plan.load.shape {
        LoadShape::ClosedLoop { concurrency } => format!("Closed loop, concurrency {concurrency}"),
        LoadShape::ClosedStages { stages } => {
            format!("Closed loop, {}", list(stages, client_stage))
        }
        LoadShape::OpenLoop { arrivals, max_concurrency, stages } => format!(
            "Open loop, {}, {}, {}",
            spacing(arrivals),
            cap(*max_concurrency),
            list(stages, rate_stage)
        ),
        LoadShape::Trace { max_concurrency, span_ms } => format!(
            "Trace over {span_ms} ms, {}, times of dataset SHA-256 {}",
            cap(*max_concurrency),
            plan.workload.dataset_sha256
        ),
    }
}

fn spacing(arrivals: &Arrivals) -> String {
    match arrivals {
        Arrivals::Constant {} => "constant arrivals".to_owned(),
        Arrivals::Gamma { burstiness, seed } => {
            format!("gamma arrivals of burstiness {burstiness:?}, seed {seed}")
        }
        Arrivals::Poisson { seed } => format!("Poisson arrivals, seed {seed}"),
    }
}

fn cap(limit: Option<u64>) -> String {
    limit.map_or("no limit under way".to_owned(), |limit| format!("at most {limit} under way"))
}

fn client_stage(stage: &ClientStage) -> String {
    let ClientStage { from_clients: from, to_clients: to, duration_ms } = stage;
    if from == to {
        format!("{from} clients for {duration_ms} ms")
    } else {
        format!("{from} to {to} clients over {duration_ms} ms")
    }
}

fn rate_stage(stage: &RateStage) -> String {
    let RateStage { from_per_s: from, to_per_s: to, duration_ms, requests } = stage;
    let rate = if from == to { format!("{from:?}") } else { format!("{from:?} to {to:?}") };
    let length = duration_ms.map_or_else(String::new, |ms| format!(" for {ms} ms"));
    format!("{rate} a second{length} ({requests})")
}

fn list<T>(stages: &[T], stage: fn(&T) -> String) -> String {
    stages.iter().map(stage).collect::<Vec<_>>().join(", ")
}
