//! What became of the requests at each of several addresses, which are called by their places alone.
//!
//! Invariant: a request's address follows from its place in its stage and the weights, as when it was
//! sent.

use streamgauge_schema::{Completion, Digest, Plan, Replica, ReplicaReport, ReplicaTurns, Spread};

use super::CollectedRun;
use super::instrument::spread;
use crate::error::RecordError;
use crate::measured::Part;
use crate::sent::{OutputTokens, Sent};
use crate::whole::Whole;

/// Longest list of weights that is spelt out.
const MAX_LISTED: usize = 120;

/// One report for each address, in their order; none where there is only one.
pub(super) fn reports(run: &CollectedRun<'_>) -> Vec<ReplicaReport> {
    let target = &run.plan.target;
    let Some(turns) = target.turns().filter(|_| !target.replicas.is_empty()) else {
        return Vec::new();
    };
    let measured = &run.measured;
    let seconds = Part::whole(measured).seconds();
    let not_sent = not_sent(run, &turns);
    target
        .replicas
        .iter()
        .enumerate()
        .map(|(place, replica)| {
            let at_place = |sent: &&Sent| turns.of(sent.index()) == place;
            let sent: Vec<&Sent> = measured.sent.iter().filter(at_place).collect();
            report(place, replica.weight, &sent, not_sent[place], seconds)
        })
        .collect()
}

/// How many requests of each were never sent: of those that the schedule held, the first that have no
/// line, as in the cases.
fn not_sent(run: &CollectedRun<'_>, turns: &ReplicaTurns) -> Vec<u64> {
    let (load, measured, shard) = (&run.plan.load, &run.measured, run.journals.shard());
    let mut sent = measured.sent.iter().map(|sent| sent.index()).peekable();
    let own = (0..load.requests).filter(|index| shard.is_none_or(|it| it.has(load, *index)));
    let missing = own.filter(|index| sent.next_if_eq(index).is_none());
    let mut not_sent = vec![0; run.plan.target.replicas.len()];
    let left = measured.count(Completion::NotSent);
    missing.take(left as usize).for_each(|index| not_sent[turns.of(index)] += 1);
    not_sent
}

fn report(
    place: usize,
    weight: u64,
    sent: &[&Sent],
    not_sent: u64,
    seconds: Option<f64>,
) -> ReplicaReport {
    let count =
        |completion| sent.iter().filter(|sent| sent.completion == completion).count() as u64;
    let succeeded = || sent.iter().filter(|sent| sent.succeeded());
    let tokens = sent.iter().try_fold(0_u64, |sum, sent| match sent.output_tokens() {
        OutputTokens::None => Some(sum),
        OutputTokens::Counted(tokens) => Some(sum.saturating_add(tokens)),
        OutputTokens::Unknown => None,
    });
    let rate = |tokens: u64| Some(tokens as f64 / seconds?);
    ReplicaReport {
        name: Replica::name(place),
        weight,
        offered: sent.len() as u64 + not_sent,
        succeeded: count(Completion::Succeeded),
        failed: count(Completion::Failed),
        timed_out: count(Completion::TimedOut),
        cancelled: count(Completion::Cancelled),
        not_sent,
        completion_tok_per_s: tokens.filter(|_| !sent.is_empty()).and_then(rate),
        ttft_ms: spread_of(succeeded().filter_map(|sent| sent.ttft_us())),
        e2e_ms: spread_of(succeeded().filter_map(|sent| sent.e2e_us())),
    }
}

/// Of microseconds, in milliseconds; `None` of none.
fn spread_of(us: impl Iterator<Item = u64>) -> Option<Spread> {
    spread(&us.collect::<Whole>().summary(1000.0))
}

/// How many addresses there are, and how they share the requests; `None` where there is only one.
pub(super) fn condition(plan: &Plan) -> Result<Option<String>, RecordError> {
    let weights: Vec<u64> = plan.target.replicas.iter().map(|replica| replica.weight).collect();
    let Some(first) = weights.first() else { return Ok(None) };
    let count = weights.len();
    if weights.iter().all(|weight| weight == first) {
        return Ok(Some(format!("{count}, of equal weight")));
    }
    let listed = weights.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let weights = match listed.len() {
        ..=MAX_LISTED => listed,
        _ => format!("SHA-256 {}", Digest::of_value(&weights)?),
    };
    Ok(Some(format!("{count}, of weights {weights}")))
}

/// What is wrong with a plan's addresses.
pub(super) fn fault(plan: &Plan) -> Option<String> {
    let target = &plan.target;
    let replicas = target.replicas.as_slice();
    let [first, rest @ ..] = replicas else { return None };
    if first.base_url != target.base_url || rest.is_empty() {
        return Some(
            "target.replicas holds at least two addresses, and base_url is the first".into(),
        );
    }
    if target.turns().is_none() {
        return Some(format!(
            "target.replicas are at most {}, and their weights whole numbers from 1 that come to at most {}",
            ReplicaTurns::MOST_ADDRESSES,
            ReplicaTurns::MOST
        ));
    }
    if plan.instrument.server_metrics.is_some() {
        return Some(
            "a server's own metrics are asked of one address, and there are several".into(),
        );
    }
    let mut urls: Vec<&str> = replicas.iter().map(|replica| replica.base_url.as_str()).collect();
    urls.sort_unstable();
    urls.windows(2)
        .any(|pair| pair[0] == pair[1])
        .then(|| "target.replicas holds an address twice".into())
}

/// Said where nothing came of the requests at some address.
pub(super) fn without_success(reports: &[ReplicaReport]) -> Option<String> {
    let is_dead = |it: &&ReplicaReport| it.succeeded == 0 && it.offered > it.not_sent;
    let dead: Vec<&ReplicaReport> = reports.iter().filter(is_dead).collect();
    let (first, more) = dead.split_first()?;
    if reports.iter().all(|it| it.succeeded == 0) {
        return None;
    }
    let others = match more.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "No request succeeded at {}{others} (sent there: {}), while others did elsewhere: the latencies \
         are those of the rest.",
        first.name,
        dead.iter().map(|it| it.offered - it.not_sent).sum::<u64>()
    ))
}
