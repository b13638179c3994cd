//! Invented runs of a baseline and a candidate, taken in blocks, for tests: only their figures
//! matter.

use std::sync::LazyLock;

use streamgauge_schema::{
    Digest, Direction, EndReason, Identifier, JournalTrailer, Metric, OutputPolicy, Phase,
    PublicText, RequestLine, RunRecord, RunRecordV2, Timestamp, Turnover, TurnoverFailure,
    TurnoverFailureClass, TurnoverReport, Unit,
};

use crate::record::{RunInput, build_record};
use crate::sample_run::{header, plan, succeeded};

/// When the first run starts, and how long after it the next one does.
const START_US: i64 = 1_790_000_000_000_000;
const MINUTE_US: i64 = 60_000_000;

/// Runs of both sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sides {
    pub(crate) baseline: Vec<RunRecordV2>,
    pub(crate) candidate: Vec<RunRecordV2>,
}

impl Sides {
    /// A block for each pair of values of a metric, in the order A B, B A, of builds that are known.
    pub(crate) fn blocks(metric: &str, values: &[(f64, f64)]) -> Self {
        let mut sides = Self::default();
        for (block, (old, new)) in values.iter().enumerate() {
            let (first, second) = (2 * block as i64, 2 * block as i64 + 1);
            let turned = block % 2 == 1;
            let (old_place, new_place) = if turned { (second, first) } else { (first, second) };
            sides.baseline.push(with(run("old", old_place), metric, *old));
            sides.candidate.push(with(run("new", new_place), metric, *new));
        }
        sides
    }

    /// So many blocks in the order A B, B A, whose records are made of these requests.
    pub(crate) fn of_requests(blocks: i64, [old, new]: [&[RequestLine]; 2]) -> Self {
        let [old, new] = [old, new].map(record_of);
        let mut sides = Self::default();
        for block in 0..blocks {
            let (first, second) = (2 * block, 2 * block + 1);
            let places = if block % 2 == 1 { (second, first) } else { (first, second) };
            sides.baseline.push(placed(old.clone(), "old", places.0));
            sides.candidate.push(placed(new.clone(), "new", places.1));
        }
        sides
    }

    /// Every run, changed.
    pub(crate) fn each(mut self, change: impl Fn(&mut RunRecordV2)) -> Self {
        self.baseline.iter_mut().chain(&mut self.candidate).for_each(change);
        self
    }

    pub(crate) fn records(&self) -> [Vec<RunRecord>; 2] {
        [&self.baseline, &self.candidate]
            .map(|side| side.iter().map(|run| RunRecord::V2(Box::new(run.clone()))).collect())
    }
}

/// A run of a thousand succeeded requests by a build of this variant, so many minutes after the
/// first one, with a digest of its own.
pub(crate) fn run(variant: &str, minute: i64) -> RunRecordV2 {
    static BUILT: LazyLock<RunRecordV2> = LazyLock::new(built);
    let mut run = placed(BUILT.clone(), variant, minute);
    (run.load.offered, run.load.succeeded) = (1_000, 1_000);
    for metric in &mut run.metrics {
        metric.samples = 1_000;
    }
    run
}

/// A turnover run of sixty requests with prompts of its own, of which so many had the wrong output.
pub(crate) fn turnover_run(
    variant: &str,
    minute: i64,
    policy: OutputPolicy,
    failed: u64,
) -> RunRecordV2 {
    let mut run = run(variant, minute);
    let failure = |request_index| TurnoverFailure {
        request_index,
        failure_class: TurnoverFailureClass::ControlledOutputFailed,
        words: Some(31),
        finish_reasons: vec![PublicText::new("stop").unwrap()],
        canary_passed: Some(true),
    };
    run.phase = Phase::Turnover;
    run.suite_sha256 = Digest::of(run.run_id.as_str().as_bytes());
    let outcome = Turnover {
        requests: 60,
        exact_output_passed: 60 - failed,
        failed,
        responses_received: 60,
        performance_eligible: failed == 0,
        failures: (0..failed).map(failure).collect(),
    };
    run.turnover = Some(TurnoverReport { policy, count: 32, waves: 4, outcome });
    run
}

/// The run as one of a build of this variant, so many minutes after the first one.
fn placed(mut run: RunRecordV2, variant: &str, minute: i64) -> RunRecordV2 {
    let digest = Digest::of(format!("{variant} {minute}").as_bytes()).to_string();
    run.run_id = Identifier::new(format!("sample-{}", &digest[..12])).unwrap();
    run.deployment.variant = PublicText::new(variant).ok();
    run.started_at = Timestamp::from_unix_micros(START_US + MINUTE_US * minute);
    run.completed_at = Timestamp::from_unix_micros(START_US + MINUTE_US * (minute + 1) - 1);
    run
}

fn built() -> RunRecordV2 {
    let outputs = [100, 200, 300, 400, 500];
    let lines: Vec<_> = (0..3).map(|n| succeeded(n, 1000 * n, &outputs, 5)).collect();
    record_of(&lines)
}

fn record_of(lines: &[RequestLine]) -> RunRecordV2 {
    let plan = plan(lines.len() as u64, 1);
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(START_US),
        lines: lines.len() as u64,
        listed_models: None,
    };
    let input = RunInput {
        plan: &plan,
        header: &header(&plan),
        requests: lines,
        trailer: Some(&trailer),
        grades: None,
        evidence: Vec::new(),
    };
    build_record(&input).unwrap()
}

/// The run with another value of a metric.
pub(crate) fn with(mut run: RunRecordV2, id: &str, value: f64) -> RunRecordV2 {
    metric(&mut run, id).value = Some(value);
    run
}

/// A metric of the run.
pub(crate) fn metric<'a>(run: &'a mut RunRecordV2, id: &str) -> &'a mut Metric {
    run.metrics.iter_mut().find(|metric| metric.id.as_str() == id).unwrap()
}

/// Gives the run a share of its requests in the place of its own.
pub(crate) fn add_share(run: &mut RunRecordV2, id: &str, value: f64) {
    run.metrics.retain(|metric| metric.id.as_str() != id);
    let mut share = run.metrics[0].clone();
    share.id = Identifier::new(id).unwrap();
    (share.unit, share.direction) = (Unit::Ratio, Direction::Neutral);
    (share.value, share.samples) = (Some(value), run.load.succeeded);
    run.metrics.push(share);
}

/// Makes a run's requests produce so many tokens each.
pub(crate) fn set_output_length(run: &mut RunRecordV2, tokens: f64) {
    let requests = run.load.succeeded as f64;
    let duration = metric(run, "batch_duration_seconds").value.unwrap();
    metric(run, "completion_throughput_tps").value = Some(tokens * requests / duration);
}
