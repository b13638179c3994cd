//! A record of our own: what of it is what vLLM's client would have written.

use streamgauge_schema::{Arrivals, LoadShape, Metric, RunRecordV2};

use super::{Members, STATS};
use crate::edges::{EdgeMedians, OutputEdges};

const DURATION: &str = "batch_duration_seconds";
/// Why figures of tokens part where requests failed.
const OF_FAILED: &str = "requests did not succeed: here tokens that came before a failure count, there \
                         they do not, and a stream that breaks off counts as a success";
/// Why nothing is known of a record alone.
const JOURNAL_NEEDED: &str = "the record does not tell whether events without output came before the \
                              first output or after the last; name the run directory";

/// Why a load has no one rate and limit.
const SEVERAL_RATES: &str = "the load changed with time";

/// A latency of ours, and what must hold for it to be theirs.
struct Latency {
    /// The beginning of our ids.
    quantity: &'static str,
    /// The end of their keys.
    key: &'static str,
    keys: &'static str,
    /// Requests of which theirs would be another one.
    parted: fn(&OutputEdges) -> u64,
    /// What is there in those requests, and what theirs would be.
    why: fn(EdgeMedians) -> String,
}

const LATENCIES: [Latency; 3] = [
    Latency {
        quantity: "ttft",
        key: "ttft",
        keys: "*_ttft_ms",
        parted: OutputEdges::first_event_before_output,
        why: |medians| {
            let EdgeMedians { first_event_ms: theirs, first_output_ms: ours, .. } = medians;
            format!(
                "an event without output came first, from which vLLM counts: a median of \
                 {theirs:.1} ms there, {ours:.1} here"
            )
        },
    },
    Latency {
        quantity: "tpot",
        key: "tpot",
        keys: "*_tpot_ms",
        parted: OutputEdges::output_span_moved,
        why: |_| {
            "events without output came before the first output or after the last, between which \
             vLLM counts"
                .to_owned()
        },
    },
    Latency {
        quantity: "e2e",
        key: "e2el",
        keys: "*_e2el_ms",
        parted: OutputEdges::end_after_output,
        why: |medians| {
            let EdgeMedians { last_output_ms: least, end_ms: ours, .. } = medians;
            format!(
                "the request went on after its last output, and vLLM counts to the last event with \
                 a choice: a median between {least:.1} and {ours:.1} ms there, {ours:.1} here"
            )
        },
    },
];

pub(super) fn write(
    record: &RunRecordV2,
    edges: Option<&OutputEdges>,
    shape: Option<&LoadShape>,
    members: &mut Members,
) {
    members.head(record);
    backend(record, members);
    load(record, shape, members);
    totals(record, members);
    for latency in &LATENCIES {
        let parted = edges.map(latency.parted);
        let is_theirs = parted == Some(0);
        statistics(record, latency.quantity, latency.key, is_theirs, members);
        match (parted, edges) {
            (Some(0), _) => {}
            (Some(parted), Some(edges)) => {
                let why = edges.medians().map(latency.why).unwrap_or_default();
                let of = edges.requests();
                members.leave_out(latency.keys, format!("in {parted} of {of} requests {why}"));
            }
            _ => members.leave_out(latency.keys, JOURNAL_NEEDED),
        }
    }
    // The one place where a gap between events bears vLLM's name for it, as whoever reads these
    // keys expects.
    statistics(record, "chunk_interval", "itl", true, members);
    for key in ["max_output_tokens_per_s", "max_concurrent_requests", "request_goodput"] {
        members.null(key);
    }
    members.leave_out(
        "max_output_tokens_per_s",
        "vLLM counts events in whole seconds; the peak here is of tokens in equal parts of the run",
    );
    members.leave_out(
        "max_concurrent_requests",
        "vLLM counts successful requests alone, and none of them to its end mark",
    );
    members.leave_out(
        "request_goodput",
        "there an answer of one token keeps any goal for TPOT, here it has none and misses it",
    );
}

/// The API that was spoken.
fn backend(record: &RunRecordV2, members: &mut Members) {
    let dialect = record
        .conditions
        .iter()
        .find(|condition| condition.label.as_str() == "Request settings")
        .and_then(|condition| condition.value.as_str().split(';').next());
    // Their words for the two APIs that both speak.
    let backend = dialect.map(|dialect| match dialect {
        "openai-completions" => "openai",
        other => other,
    });
    for key in ["backend", "endpoint_type"] {
        match backend {
            Some(backend) => members.text(key, backend),
            None => members.null(key),
        }
    }
}

/// How requests were sent, where vLLM's client could have been asked for the same.
fn load(record: &RunRecordV2, shape: Option<&LoadShape>, members: &mut Members) {
    members.null("request_rate");
    members.null("max_concurrency");
    match shape {
        Some(LoadShape::OpenLoop { arrivals, max_concurrency, stages }) => {
            let [stage] = stages.as_slice() else { return leave_out_load(SEVERAL_RATES, members) };
            if stage.from_per_s != stage.to_per_s {
                return leave_out_load(SEVERAL_RATES, members);
            }
            members.number("request_rate", Some(stage.from_per_s));
            if let Some(most) = max_concurrency {
                members.count("max_concurrency", *most);
            }
            match arrivals {
                // Theirs come closer to equal distances the larger it is, and never get there.
                Arrivals::Constant {} => {}
                Arrivals::Gamma { burstiness, .. } => {
                    members.number("burstiness", Some(*burstiness))
                }
                Arrivals::Poisson { .. } => members.number("burstiness", Some(1.0)),
            }
        }
        _ if record.load.shape.as_str() == "closed_loop" => {
            members.text("request_rate", "inf");
            members.count("max_concurrency", record.performance.client_concurrency_limit);
        }
        Some(LoadShape::Trace { .. }) => {
            leave_out_load("requests were sent at times of their own, as in a trace", members);
        }
        Some(_) => leave_out_load(SEVERAL_RATES, members),
        None => leave_out_load(
            "the record says them in words, in the condition Load shape; name the run directory",
            members,
        ),
    }
}

fn leave_out_load(reason: &str, members: &mut Members) {
    members.leave_out("request_rate, max_concurrency", reason);
}

fn totals(record: &RunRecordV2, members: &mut Members) {
    let value = |id: &str| metric(record, id).and_then(|metric| metric.value);
    let all_succeeded = record.load.succeeded == record.load.offered;
    let duration = value(DURATION);
    members.number("duration", duration);
    members.number("request_throughput", value("request_throughput_per_s"));
    let [input, output, total] =
        ["input_throughput_tok_per_s", "completion_throughput_tps", "total_throughput_tok_per_s"]
            .map(|id| value(id).filter(|_| all_succeeded));
    members.number("output_throughput", output);
    members.number("total_token_throughput", total);
    // A throughput is a whole number of tokens over the duration.
    for (key, rate) in [("total_input_tokens", input), ("total_output_tokens", output)] {
        match rate.zip(duration) {
            Some((rate, duration)) => members.count(key, (rate * duration).round() as u64),
            None => members.null(key),
        }
    }
    let keys = "output_throughput, total_token_throughput, total_input_tokens, total_output_tokens";
    if !all_succeeded {
        members.leave_out(keys, OF_FAILED);
    } else if input.is_none() || output.is_none() {
        members.leave_out(keys, "the server did not count the tokens of every request");
    }
}

fn statistics(
    record: &RunRecordV2,
    quantity: &str,
    key: &str,
    is_theirs: bool,
    members: &mut Members,
) {
    for (ours, theirs) in STATS {
        let metric = metric(record, &format!("{quantity}_{ours}_ms")).filter(|_| is_theirs);
        let value = metric.and_then(|metric| match ours {
            "stddev" => population_stddev(metric),
            _ => metric.value,
        });
        members.number(&format!("{theirs}_{key}_ms"), value);
    }
}

/// NumPy's standard deviation divides by the number, ours by one less.
fn population_stddev(metric: &Metric) -> Option<f64> {
    let samples = metric.samples as f64;
    (metric.samples > 0).then_some(metric.value? * ((samples - 1.0) / samples).sqrt())
}

fn metric<'a>(record: &'a RunRecordV2, id: &str) -> Option<&'a Metric> {
    record.metrics.iter().find(|metric| metric.id.as_str() == id)
}
