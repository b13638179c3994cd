//! What every error of the layers below says, word by word with its causes: a snapshot a crate, and
//! no error that is left out.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Debug;
use std::io;

use streamgauge_client::{
    AskError, CaptureError, DescriptorsError, EndpointError, HeaderError, JournalError, ProxyError,
    QueryError, RunDirError, RunError, TlsError, TransportError,
};
use streamgauge_exchange::{ExportError, ImportError, Tool, UnknownTool};
use streamgauge_grade::GraderError;
use streamgauge_metrics::{
    CompareError, DecideError, Difference, MatchingCondition, RecordError, Side, UnknownCondition,
};
use streamgauge_report::PageError;
use streamgauge_schema::{
    CanonicalError, Dialect, Digest, Direction, FailureClass, GateStanding, GateStatistic,
    GatesFault, Identifier, JsonPath, LengthProbe, Position, ReadError, Shard, SharedPrefix, Stage,
    TextFault,
};
use streamgauge_sim::{ConnectionFaultSyntaxError, FaultSyntaxError, SimError};
use streamgauge_workload::{
    DatasetError, LengthError, LoadError, MemberFault, SearchError, WorkloadError,
};

/// The messages of a crate, and the variants that they are of.
#[derive(Default)]
struct Said {
    text: String,
    variants: BTreeSet<String>,
}

impl Said {
    /// One error with its causes, as the command prints it.
    fn add<E: Error + Debug>(&mut self, errors: impl IntoIterator<Item = E>) {
        for error in errors {
            let debug = format!("{error:?}");
            let variant: String = debug.chars().take_while(|c| c.is_alphanumeric()).collect();
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(inner) = cause {
                text += &format!(": {inner}");
                cause = inner.source();
            }
            self.text += &format!("{variant}: {text}\n");
            let of = std::any::type_name::<E>();
            self.variants.insert(format!("{of} {variant}"));
        }
    }

    /// Holds the messages against the snapshot, and their number against the sources: each variant
    /// with a text is there, but for those that show another error's alone.
    fn check(self, name: &str, sources: &[&str]) {
        let texts = |source: &&str| {
            source.matches("#[error(").count() - source.matches("#[error(transparent)").count()
        };
        let stated: usize = sources.iter().map(texts).sum();
        assert_eq!(
            self.variants.len(),
            stated,
            "an error of {name} is not in the list of this test, which has: {:#?}",
            self.variants
        );
        insta::assert_snapshot!(format!("messages_{name}"), self.text);
    }
}

fn name(text: &str) -> Identifier {
    Identifier::new(text).unwrap()
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn denied() -> io::Error {
    io::Error::from(io::ErrorKind::PermissionDenied)
}

fn not_json() -> ReadError {
    ReadError::NotJson { message: text("expected value at line 1 column 1") }
}

fn not_finite() -> CanonicalError {
    CanonicalError::NotFinite { value: f64::NAN }
}

#[test]
fn of_the_schema() {
    let mut said = Said::default();
    let place = Position { line: 3, column: 9 };
    let path = JsonPath::root().key("counts");
    said.add([not_finite(), CanonicalError::KeyNotText]);
    said.add([CanonicalError::Refused { message: text("path contains invalid UTF-8 characters") }]);
    said.add([
        not_json(),
        ReadError::UnknownKind { found: text("an object without \"schema\"") },
        ReadError::Shape { path, position: place, message: text("unknown field `count`") },
    ]);
    said.add([
        TextFault::Address,
        TextFault::Credential,
        TextFault::Control,
        TextFault::Length,
        TextFault::Path,
        TextFault::Url,
    ]);
    said.add([
        GatesFault::Alpha { alpha: 2.0 },
        GatesFault::Limit { metric: name("ttft_p50_ms"), limit_percent: 500.0 },
        GatesFault::MaxFailureRatio { max_failure_ratio: -1.0 },
        GatesFault::MetricRepeated { metric: name("ttft_p50_ms") },
        GatesFault::NoGate,
    ]);
    said.add(["nearly".parse::<GateStatistic>().unwrap_err()]);
    said.check(
        "schema",
        &[
            include_str!("../../../schema/src/error.rs"),
            include_str!("../../../schema/src/gate.rs"),
            include_str!("../../../schema/src/vocabulary.rs"),
        ],
    );
}

#[test]
fn of_the_workload() {
    let mut said = Said::default();
    let file = || text("prompts.jsonl");
    let position = Position { line: 2, column: 14 };
    said.add([
        DatasetError::Empty { file: file() },
        DatasetError::Member {
            file: file(),
            position,
            path: JsonPath::root().key("id"),
            fault: MemberFault::Twice,
        },
        DatasetError::NotJson { file: file(), position, message: text("EOF while parsing") },
        DatasetError::NotObject { file: file(), position, found: text("a list") },
        DatasetError::NotUtf8 { file: file(), position },
    ]);
    said.add([
        MemberFault::DuplicateId { id: text("a"), first_line: 1 },
        MemberFault::Expectation { message: text("unknown variant `exact`") },
        MemberFault::Missing { owner: "line", required: "an id" },
        MemberFault::NotInOrder { found: text("5"), earlier_line: 1 },
        MemberFault::SecondPrompt { first: "prompt" },
        MemberFault::SometimesDue { here: true, other_line: 3 },
        MemberFault::SometimesDue { here: false, other_line: 3 },
        MemberFault::Twice,
        MemberFault::Unknown { nearest: None },
        MemberFault::Unknown { nearest: Some("prompt") },
        MemberFault::Value { found: text("-1"), rule: "a whole number of at least 1" },
    ]);
    let dialect = Dialect::OpenaiCompletions;
    said.add([
        WorkloadError::ExtraBody { name: text("top_p"), source: not_finite() },
        WorkloadError::Inexpressible { setting: "seed", dialect: Dialect::AnthropicMessages },
        WorkloadError::LineWords {
            file: file(),
            line: 4,
            input_tokens: 9_000_000,
            words: 6_750_000,
        },
        WorkloadError::MessagesForPrompt { file: file(), line: 4, dialect },
        WorkloadError::NoPlaceForNonce { file: file(), line: 4 },
        WorkloadError::NoTokens,
        WorkloadError::Prefix { prefix: SharedPrefix { words: 900, count: 2 }, words: 384 },
        WorkloadError::ReservedMember { name: text("stream") },
        WorkloadError::Temperature { value: -1.0 },
        WorkloadError::TooFewLines { file: file(), records: 1, requested: 64 },
        WorkloadError::TooFewLines { file: file(), records: 8, requested: 64 },
        WorkloadError::TurnoverCount { count: 0, most: 1024 },
        WorkloadError::TurnoverWord { word: text("two words"), most: 32 },
        WorkloadError::WarmupIsMeasured { file: file(), line: 4 },
        WorkloadError::Words { words: 0 },
    ]);
    said.add([
        LoadError::Burstiness { value: 0.0 },
        LoadError::Clients { stage: 2, value: 0 },
        LoadError::Contradiction { what: "requests", found: 3, other: "stages' sum", expected: 4 },
        LoadError::Length { what: text("stage 1"), length_ms: 0 },
        LoadError::NoConcurrency,
        LoadError::NoEnd,
        LoadError::NoRequest,
        LoadError::NoStage,
        LoadError::NoTrace,
        LoadError::NotATrace { shape: "closed_loop" },
        LoadError::RampWithoutDuration { stage: 1 },
        LoadError::Rate { stage: 1, per_s: 0.0 },
        LoadError::Requests { requests: 0 },
        LoadError::Shards { what: "clients", found: 3, of: 4 },
        LoadError::StageRequests { stage: 1, planned: 3, given: 4 },
        LoadError::Syntax { found: text("ten"), wanted: "a number of clients" },
        LoadError::TooManyRequests,
        LoadError::TraceBeyondEnd { due_us: 9_000_000 },
        LoadError::TraceOrder { index: 3, due_us: 5 },
        LoadError::TwoLengths,
        LoadError::Warmup { requests: 99_999_999 },
    ]);
    said.add([
        LengthError::OffLine {
            probe: LengthProbe { words: 400, prompt_tokens: 512 },
            expected: 640.4,
        },
        LengthError::Slope { per_word: 0.01 },
        LengthError::TooFew { probes: 1, lengths: 1 },
    ]);
    said.add([
        SearchError::Attainment { value: 1.5 },
        SearchError::Range { start: 9.0, most: 3.0 },
        SearchError::Step { value: 2.0 },
    ]);
    // Only programs that read tokenizers' files have this one.
    let length = include_str!("../../../workload/src/length.rs");
    let length = length.replace("#[error(\"no usable tokenizer: {reason}\")]", "");
    said.check(
        "workload",
        &[
            include_str!("../../../workload/src/error.rs"),
            include_str!("../../../workload/src/load_error.rs"),
            &length,
            include_str!("../../../workload/src/search.rs"),
        ],
    );
}

#[test]
fn of_the_client() {
    let mut said = Said::default();
    let key = || text("X-Key");
    said.add([EndpointError { url: text("host"), reason: "it must begin with http://" }]);
    said.add([
        HeaderError::NoColon,
        HeaderError::Name,
        HeaderError::Value { name: key() },
        HeaderError::Reserved { name: text("host") },
        HeaderError::Twice { name: key() },
    ]);
    said.add([ProxyError { url: text("ftp://host"), reason: "it must begin with http://" }]);
    said.add([QueryError]);
    said.add([
        TlsError::File { path: "ca.pem".into(), source: denied() },
        TlsError::Empty { path: "ca.pem".into() },
        TlsError::NoKey { path: "key.pem".into() },
        TlsError::NoRoots,
    ]);
    let class = FailureClass::Connect;
    said.add([TransportError { class, message: text("connection refused") }]);
    said.add([AskError {
        path: text("/v1/models"),
        class,
        status: None,
        message: text("connection refused"),
    }]);
    let journal = || "runs/a/observations.jsonl".into();
    said.add([
        JournalError::InUse { folder: "runs/a".into() },
        JournalError::Io { action: "cannot write", path: journal(), source: denied() },
        JournalError::Line { path: journal(), line: 3, source: not_json() },
        JournalError::Order { path: journal(), line: 1, problem: text("it is no header") },
        JournalError::Shared { path: journal() },
    ]);
    said.add([
        CaptureError::Head(not_json()),
        CaptureError::Version { found: 2 },
        CaptureError::Line { offset: 214, line: text("red 12") },
    ]);
    said.add([DescriptorsError { connections: 5000, needed: 5100, hard: 4096 }]);
    said.add([
        RunError::<JournalError>::Path {
            path: text("/a b"),
            reason: text("invalid uri character"),
        },
        RunError::Plan(not_finite()),
        RunError::Resolve { host: text("nowhere"), reason: text("no such host") },
        RunError::Weights,
        RunError::Worker(denied()),
    ]);
    said.add([
        RunDirError::Io { action: "cannot make", path: "runs/a".into(), source: denied() },
        RunDirError::OtherPlan { path: "runs/a-0123456789ab-shard-1-of-2".into() },
        RunDirError::Plan(not_finite()),
    ]);
    // The causes of these are errors of the TLS library.
    let error = include_str!("../../../client/src/error.rs")
        .replace("#[error(\"TLS cannot be set up", "")
        .replace("#[error(\"{certificate} and {key} are no", "");
    said.check(
        "client",
        &[
            &error,
            include_str!("../../../client/src/capture.rs"),
            include_str!("../../../client/src/descriptors.rs"),
            include_str!("../../../client/src/engine.rs"),
            include_str!("../../../client/src/run_dir.rs"),
        ],
    );
}

#[test]
fn of_the_graders() {
    let mut said = Said::default();
    said.add([
        GraderError::Marker { marker: text("a b"), fault: "has white space" },
        GraderError::Choice("there are no options"),
        GraderError::Word { word: text("") },
        GraderError::Number { value: f64::NAN, within: 0.0, within_ratio: 0.0 },
        GraderError::NoChecks,
        GraderError::Pointer { pointer: text("total") },
        GraderError::MemberTwice,
        GraderError::Schema(text("\"type\" is no type")),
    ]);
    // The cause is an error of the crate of regular expressions.
    let error = include_str!("../../../grade/src/error.rs");
    let error = error.replace("#[error(\"fields: {pointer}: the regular", "");
    said.check("grade", &[&error]);
}

#[test]
fn of_records() {
    let mut said = Said::default();
    let (stage, prompt) = (Stage::Measured, Digest::of(b"prompt"));
    let contradiction = || text("it ends before it begins");
    said.add([
        RecordError::Canonical(not_finite()),
        RecordError::CasesApart { declared: 20_000 },
        RecordError::Contradiction { stage, index: 3, contradiction: contradiction() },
        RecordError::EqualPrompts { first: 1, second: 2, prompt },
        RecordError::GradesVersion { version: 2 },
        RecordError::Grading { contradiction: contradiction() },
        RecordError::LinesMissing { announced: 8, found: 7 },
        RecordError::NameTooLong { name: "x".repeat(40) },
        RecordError::NamesServer { member: "deployment.model" },
        RecordError::NotFinished { declared: 8, found: 7 },
        RecordError::OtherShard { stage, index: 3, shard: Shard::new(2, 4).unwrap() },
        RecordError::Plan { contradiction: contradiction() },
        RecordError::PlanDiffers { plan: prompt, journal: Digest::of(b"journal") },
        RecordError::Receipt { prompt, contradiction: contradiction() },
        RecordError::ReceiptRepeated { prompt },
        RecordError::ReceiptUnmatched { prompt },
        RecordError::RepeatedRequest { stage, index: 3 },
        RecordError::Scrapes { line: 7 },
        RecordError::ScrapeValues { line: 3 },
        RecordError::Shards { problem: text("there are two of shard 2 of 4") },
        RecordError::TooManyRequests { stage, requests: 99_999_999 },
        RecordError::UndeclaredRequest { stage, index: 9, declared: 8 },
        RecordError::Unpublishable { text: text("http://host"), fault: TextFault::Url },
    ]);
    said.add([
        DecideError::Canonical(not_finite()),
        DecideError::NotPassed { outcome: GateStanding::Fail },
        DecideError::NothingToOverride { why: "every gate passed" },
    ]);
    said.check(
        "records",
        &[
            include_str!("../../../metrics/src/error.rs"),
            include_str!("../../../metrics/src/decide.rs"),
        ],
    );
}

#[test]
fn of_comparisons() {
    let mut said = Said::default();
    let (cell, metric, run_id) = (name("c8"), name("ttft_p50_ms"), name("new-119f8a2564a2"));
    let (side, condition) = (Side::Candidate, MatchingCondition::LoadShape);
    let missing = |is_imported| CompareError::MetricsMissing {
        side,
        run_id: run_id.clone(),
        metrics: vec![metric.clone(), name("e2e_p50_ms")],
        is_imported,
    };
    said.add([
        CompareError::BlocksUneven { cell: cell.clone(), baseline: 3, candidate: 2 },
        CompareError::CellRepeated { cell: cell.clone(), side },
        CompareError::CellUnmatched { cell: cell.clone(), side },
        CompareError::DirectionContradicted {
            metric: metric.clone(),
            stated: Direction::HigherIsBetter,
            own: Direction::LowerIsBetter,
        },
        CompareError::Differing {
            differences: vec![Difference {
                cell: cell.clone(),
                condition,
                baseline: text("closed loop, 8"),
                candidate: text("closed loop, 9"),
            }],
        },
        CompareError::LookNotPlanned {
            cell: cell.clone(),
            blocks: 5,
            planned_blocks: vec![4, 6],
            look: 2,
        },
        CompareError::Insecure { side, run_id: run_id.clone() },
        missing(false),
        missing(true),
        CompareError::NoRuns { side },
        CompareError::NotInBlocks { cell: cell.clone(), run_id: run_id.clone(), side },
        CompareError::NotGateable { metric: name("output_tokens_p50") },
        CompareError::RunRepeated { run_id: run_id.clone() },
        CompareError::SeveralBuilds {
            side,
            member: "revision",
            values: vec![text("a1"), text("b2")],
        },
        CompareError::SeveralImages { side, images: vec![text("a"), text("b")] },
        CompareError::SideUneven {
            cell,
            side,
            condition,
            first: text("closed loop, 8"),
            found: text("closed loop, 9"),
            run_id: run_id.clone(),
        },
        CompareError::StatisticContradicted {
            metric: metric.clone(),
            stated: GateStatistic::P99,
            own: GateStatistic::P50,
        },
        CompareError::StatisticUnknown { metric },
        CompareError::TooManyTurnovers { side, most: 2, found: 3 },
        CompareError::TurnoverCut { side, run_id: run_id.clone() },
        CompareError::TurnoverUngraded { side, run_id },
    ]);
    said.add([UnknownCondition { name: text("weather") }]);
    said.check(
        "comparisons",
        &[
            include_str!("../../../metrics/src/compare/error.rs"),
            include_str!("../../../metrics/src/compare/matching.rs"),
        ],
    );
}

#[test]
fn of_other_tools_files() {
    let mut said = Said::default();
    said.add([
        ImportError::Canonical(not_finite()),
        ImportError::Contradiction { place: text("line 3"), contradiction: text("it ends early") },
        ImportError::NameTooLong { name: "x".repeat(40) },
        ImportError::NoResult { tool: Tool::Aiperf },
        ImportError::Shape { tool: Tool::Vllm, source: not_json() },
        ImportError::Unpublishable { text: text("/home/me"), fault: TextFault::Path },
        ImportError::Value {
            place: text("line 3"),
            member: text("duration"),
            value: text("-1.0"),
            rule: "it is a finite number no less than 0",
        },
    ]);
    said.add([
        ExportError::Canonical(not_finite()),
        ExportError::NotVllm { run_id: text("nightly-119f8a2564a2") },
    ]);
    said.add([UnknownTool { name: text("wrk") }]);
    said.check(
        "exchange",
        &[
            include_str!("../../../exchange/src/error.rs"),
            include_str!("../../../exchange/src/export.rs"),
            include_str!("../../../exchange/src/tool.rs"),
        ],
    );
}

#[test]
fn of_pages_and_the_simulated_server() {
    let mut said = Said::default();
    said.add([
        PageError::Plot { plot: "the latencies", message: text("no room") },
        PageError::Template { message: text("a value cannot be shown") },
    ]);
    said.add([
        SimError::Listen { addr: ([127, 0, 0, 1], 80).into(), source: denied() },
        SimError::Timer { source: denied() },
        SimError::Thread { source: denied() },
        SimError::Setting { field: "jitter", value: text("-1"), expected: "at least 0" },
    ]);
    said.add([FaultSyntaxError { text: text("fire") }]);
    said.add([ConnectionFaultSyntaxError { text: text("fire") }]);
    said.check(
        "report_and_sim",
        &[include_str!("../../../report/src/error.rs"), include_str!("../../../sim/src/error.rs")],
    );
}
