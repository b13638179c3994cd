//! A run record of what was found.
//!
//! Invariant: pure, and honest: a member that the file does not tell is null where the layout has a
//! null, and where it has none, a limitation says what stands there.

use std::collections::BTreeMap;

use streamgauge_metrics::{
    Grounds, MAX_CASES_IN_RECORD, Span, mean_inflight, peak_inflight, performance_eligible, verify,
};
use streamgauge_schema::{
    Boundary, CacheState, Case, CaseOutcome, Completion, Condition, Counts, Deployment, Digest,
    Document, Evidence, EvidenceMode, FailureStage, Identifier, ImportedRequest, InstrumentReport,
    IntervalBasis, LoadReport, Millis, Performance, Phase, PublicText, Role, RunRecord,
    RunRecordV2, RunStatus, TimeBasis, Timestamp, TokenAccounting, Window, Windows,
};

use crate::error::ImportError;
use crate::figures::{disagreements, metrics};
use crate::found::{Found, FoundLoad, Outcomes};
use crate::import::{ImportOptions, Imported, SourceFile, request_lines};
use crate::texts::public;
use crate::tool::Tool;

/// Hexadecimal digits of the digest at the end of a run id.
const RUN_ID_DIGITS: usize = 12;
/// True of every import.
const ALWAYS: [&str; 4] = [
    "The bytes of the responses were not seen here: what counts as output, as an end and as a \
     success is the tool's rule, and each definition states it.",
    "What the file does not tell is null; instrument.reads and what stands beside it are 0 because \
     nothing was read here.",
    "Nothing graded the answers: a succeeded request is what the tool takes for one.",
    "One run says nothing about the noise between runs; a difference from another run is no \
     finding yet.",
];

/// The record of one run, and its requests.
pub(crate) fn record_of(
    tool: Tool,
    found: Found,
    file: &SourceFile<'_>,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let (started_at, completed_at, limitation) = times(&found, file);
    let status = status(found.outcomes);
    let spans = spans(&found.requests);
    let load = load(&found, status, options);
    let sha256 = Digest::of(file.bytes);
    let mut record = RunRecordV2 {
        schema_version: 2,
        run_id: options.name.clone(),
        status,
        started_at,
        completed_at,
        phase: Phase::Performance,
        role: Role::Serving,
        boundary: Boundary::RoleCompletion,
        evidence_mode: EvidenceMode::Imported,
        deployment: deployment(tool, &found, options)?,
        suite_version: Identifier::new(format!("{}-prompts", tool.as_str()))
            .expect("letters and '-'"),
        // Nobody knows whether the prompts of two files are the same.
        suite_sha256: sha256,
        evaluator_sha256: None,
        comparison_key: None,
        conditions: conditions(tool, &found, sha256)?,
        limitations: limitations(tool, &found, limitation)?,
        performance: performance(&found, &spans),
        counts: counts(found.outcomes),
        cases: cases(&found),
        metrics: metrics(tool, &found)?,
        evidence: evidence(file, sha256, &found.requests),
        instrument: instrument(tool, &found)?,
        replicas: Vec::new(),
        shards: Vec::new(),
        turnover: None,
        windows: Windows { whole: whole(&spans), steady: None },
        load,
    };
    record.run_id = run_id(&options.name, record.digest(&options.name)?)?;
    check(&record)?;
    Ok(Imported { record, requests: found.requests })
}

/// A file whose figures cannot all be, as a p99 below the median, makes no record.
fn check(record: &RunRecordV2) -> Result<(), ImportError> {
    let document = Document::Run(RunRecord::V2(Box::new(record.clone())));
    let verification = verify(&document);
    let broken = verification.broken().next();
    broken.map_or(Ok(()), |broken| {
        let (rule, statement) = (broken.rule, &broken.statement);
        Err(ImportError::Contradiction {
            place: "the file".to_owned(),
            contradiction: format!("{rule}: {statement}, and does not"),
        })
    })
}

fn run_id(name: &Identifier, digest: Digest) -> Result<Identifier, ImportError> {
    let id = Identifier::new(format!("{name}-{}", digest.prefix(RUN_ID_DIGITS)));
    id.ok_or_else(|| ImportError::NameTooLong { name: name.to_string() })
}

/// Labels of begin and end, and what has to be said of them.
fn times(found: &Found, file: &SourceFile<'_>) -> (Timestamp, Timestamp, Option<&'static str>) {
    match (found.began_at, found.ended_at) {
        (Some(began), Some(ended)) => (began, ended.max(began), None),
        (Some(only), None) | (None, Some(only)) => (only, only, None),
        (None, None) => {
            let said = "The file tells no time: started_at and completed_at are when it was last \
                        changed.";
            (file.modified, file.modified, Some(said))
        }
    }
}

/// As of a run of ours: one that has requests without an end of their own did not come to its end.
fn status(outcomes: Outcomes) -> RunStatus {
    if outcomes.cancelled == 0 { RunStatus::Completed } else { RunStatus::Aborted }
}

fn deployment(
    tool: Tool,
    found: &Found,
    options: &ImportOptions,
) -> Result<Deployment, ImportError> {
    let model = options.model.as_deref().or(found.model.as_deref());
    let model =
        model.map_or_else(|| public("not told"), |model| Ok(PublicText::or_withheld(model)))?;
    let profile = public(format!("Imported from {tool}"))?;
    Ok(Deployment::named(options.name.clone(), model, profile))
}

fn instrument(tool: Tool, found: &Found) -> Result<InstrumentReport, ImportError> {
    let version = found.version.as_deref().map_or_else(String::new, |it| format!(" {it}"));
    Ok(InstrumentReport {
        version: PublicText::or_withheld(&format!(
            "{tool}{version}, read by streamgauge {}",
            env!("CARGO_PKG_VERSION")
        )),
        time_basis: TimeBasis::Read,
        observer_lag_ms: None,
        dispatch_lateness_ms: None,
        reads: 0,
        coalesced_reads: 0,
        stale_connections: 0,
        resends: 0,
        client_limited: Vec::new(),
        calibration: None,
    })
}

fn load(found: &Found, status: RunStatus, options: &ImportOptions) -> LoadReport {
    let outcomes = found.outcomes;
    let mut load = LoadReport {
        cell: options.cell.clone().unwrap_or_else(|| cell(&found.load)),
        shape: Identifier::new("imported").expect("letters"),
        offered: outcomes.offered(),
        succeeded: outcomes.succeeded,
        failed: outcomes.failed,
        timed_out: 0,
        cancelled: outcomes.cancelled,
        not_sent: 0,
        warmup: 0,
        max_failure_ratio: 0.0,
        performance_eligible: false,
        late_after_ms: None,
        stages: Vec::new(),
    };
    let grounds = Grounds {
        completed: status == RunStatus::Completed,
        contaminated: false,
        contracts_met: true,
    };
    load.performance_eligible = performance_eligible(&load, grounds);
    load
}

/// Named as the cells of our own runs are: `c8`, `r12.5`, `r12.5-max64`.
fn cell(load: &FoundLoad) -> Identifier {
    let name = match (load.rate_per_s, load.concurrency) {
        _ if !load.is_told => "imported".to_owned(),
        (None, None) => "all-at-once".to_owned(),
        (None, Some(concurrency)) => format!("c{concurrency}"),
        (Some(rate), None) => format!("r{rate}"),
        (Some(rate), Some(concurrency)) => format!("r{rate}-max{concurrency}"),
    };
    // A rate of many digits is a number all the same.
    Identifier::new(name).unwrap_or_else(|| Identifier::new("imported").expect("letters"))
}

fn conditions(tool: Tool, found: &Found, sha256: Digest) -> Result<Vec<Condition>, ImportError> {
    let mut conditions = vec![
        ("Instrument", public(tool.label())?),
        ("Source file SHA-256", public(sha256.to_string())?),
        ("Load shape", PublicText::or_withheld(&found.load.words)),
        ("Cache state", public("Not told")?),
    ];
    conditions.extend(
        found.conditions.iter().map(|(label, value)| (*label, PublicText::or_withheld(value))),
    );
    let each =
        conditions.into_iter().map(|(label, value)| Ok(Condition { label: public(label)?, value }));
    each.collect()
}

fn limitations(
    tool: Tool,
    found: &Found,
    of_times: Option<&'static str>,
) -> Result<Vec<PublicText>, ImportError> {
    let Outcomes { succeeded, .. } = found.outcomes;
    let not = found.outcomes.offered() - succeeded;
    let mut texts = vec![format!(
        "Another program measured ({tool}): the figures are what its file says, by its definitions."
    )];
    if not > 0 {
        texts.push(format!(
            "Requests that did not succeed: {not} of {}; no gate on the figures passes.",
            found.outcomes.offered()
        ));
    }
    texts.extend(disagreements(found));
    texts.extend(found.limitations.iter().cloned());
    if found.requests.is_empty() {
        texts.push(
            "The file has no single requests: the figures are as it states them, without intervals, \
             and samples counts requests where it does not tell how many values entered."
                .to_owned(),
        );
    }
    texts.extend(of_times.map(str::to_owned));
    texts.extend(ALWAYS.map(str::to_owned));
    texts.into_iter().map(public).collect()
}

fn performance(found: &Found, spans: &[Span]) -> Performance {
    let tokens = || found.requests.iter().filter_map(|request| request.prompt_tokens);
    let peak = peak_inflight(spans).filter(|_| !spans.is_empty());
    let limit = found.load.concurrency.unwrap_or_else(|| found.outcomes.offered());
    Performance {
        version: Identifier::new("serving-cell-v1").expect("letters, digits and '-'"),
        target_input_tokens: None,
        actual_input_tokens_min: tokens().min(),
        actual_input_tokens_max: tokens().max(),
        cache_state: CacheState::Unknown,
        client_concurrency_limit: limit.max(peak.unwrap_or(0)),
        observed_peak_inflight: peak,
        stream_interval_basis: IntervalBasis::NotMeasured,
        token_accounting: TokenAccounting::Unknown,
        transport_successes: found.outcomes.succeeded,
    }
}

fn counts(outcomes: Outcomes) -> Counts {
    let each = [
        (CaseOutcome::Unverified, outcomes.succeeded),
        (CaseOutcome::Error, outcomes.failed),
        (CaseOutcome::NotRun, outcomes.cancelled),
    ];
    let outcomes_by_word: BTreeMap<_, _> =
        each.into_iter().filter(|(_, count)| *count > 0).collect();
    Counts { declared: outcomes.offered(), outcomes: outcomes_by_word, primary_passes: 0 }
}

/// One for each request, where the record may hold so many. Where the file has no single requests, those
/// that succeeded come first: which they were is not known.
fn cases(found: &Found) -> Option<Vec<Case>> {
    let offered = found.outcomes.offered();
    if offered > MAX_CASES_IN_RECORD {
        return None;
    }
    let width = offered.to_string().len().max(2);
    let case = |index: u64, completion: Completion, elapsed_us: Option<u64>| {
        let number = format!("{:0width$}", index + 1);
        Case {
            case_id: Identifier::new(format!("request-{number}")).expect("letters and digits"),
            title: PublicText::new(format!("Imported request {number}"))
                .expect("letters and digits"),
            outcome: outcome(completion),
            primary_outcome: CaseOutcome::Unverified,
            failure_stage: (completion == Completion::Failed).then_some(FailureStage::NotTold),
            duration_ms: elapsed_us.map(Millis::from_micros),
            summary: None,
        }
    };
    if !found.requests.is_empty() {
        let each = found.requests.iter();
        return Some(each.map(|it| case(it.index, it.completion, it.elapsed_us)).collect());
    }
    let Outcomes { succeeded, failed, .. } = found.outcomes;
    let completion = |index: u64| match index {
        _ if index < succeeded => Completion::Succeeded,
        _ if index < succeeded + failed => Completion::Failed,
        _ => Completion::Cancelled,
    };
    Some((0..offered).map(|index| case(index, completion(index), None)).collect())
}

fn outcome(completion: Completion) -> CaseOutcome {
    match completion {
        Completion::Cancelled | Completion::NotSent => CaseOutcome::NotRun,
        Completion::Failed => CaseOutcome::Error,
        Completion::Succeeded => CaseOutcome::Unverified,
        Completion::TimedOut => CaseOutcome::Timeout,
    }
}

/// When each request was under way; none where the file does not tell it of every one.
fn spans(requests: &[ImportedRequest]) -> Vec<Span> {
    let span = |request: &ImportedRequest| {
        let from_us = request.started_us?;
        Some(Span { from_us, to_us: from_us.saturating_add(request.elapsed_us?) })
    };
    requests.iter().map(span).collect::<Option<_>>().unwrap_or_default()
}

fn whole(spans: &[Span]) -> Option<Window> {
    let span = spans.iter().copied().reduce(|whole, span| Span {
        from_us: whole.from_us.min(span.from_us),
        to_us: whole.to_us.max(span.to_us),
    })?;
    Some(Window {
        from_ms: Millis::from_micros(span.from_us),
        to_ms: Millis::from_micros(span.to_us),
        mean_inflight: mean_inflight(spans.iter().copied(), span)?,
    })
}

/// The file, and the lines that were made of it. A name that may not be published is left out of the
/// name of the evidence.
fn evidence(file: &SourceFile<'_>, sha256: Digest, requests: &[ImportedRequest]) -> Vec<Evidence> {
    let name = Identifier::new(file.name)
        .unwrap_or_else(|| Identifier::new("source-file").expect("letters and '-'"));
    let mut evidence = vec![Evidence { name, sha256, bytes: file.bytes.len() as u64 }];
    if !requests.is_empty() {
        let lines = request_lines(requests);
        evidence.push(Evidence {
            name: Identifier::new("requests.jsonl").expect("letters and '.'"),
            sha256: Digest::of(&lines),
            bytes: lines.len() as u64,
        });
    }
    evidence
}
