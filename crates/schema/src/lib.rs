//! Typed records of serving measurements, and the bytes they are written in.
//!
//! This crate is what every other layer of Streamgauge speaks: plans, requests, observations,
//! journals, run records, comparisons and decisions; the vocabularies they use; their canonical bytes and
//! digests; and the rules that a document's own members must keep.
//!
//! It does no I/O, reads no clock, and computes nothing from samples: quantiles, gates and the
//! rules that need them are in `streamgauge-metrics`.
//!
//! ```
//! use streamgauge_schema::{Digest, Document, ReadError};
//!
//! // A document is read into types, and errors name the member.
//! let error = Document::read(br#"{"schema_version": 1, "run_id": "a b"}"#).unwrap_err();
//! assert!(matches!(&error, ReadError::Shape { path, .. } if path.to_string() == "run_id"));
//! assert!(error.to_string().contains("\"a b\" is not an identifier"));
//!
//! // Digests are taken over canonical bytes: sorted keys, shortest floats.
//! let digest = Digest::of_value(&serde_json::json!({"b": 1.0, "a": []}))?;
//! assert_eq!(digest, Digest::of(b"{\n  \"a\": [],\n  \"b\": 1.0\n}\n"));
//! # Ok::<(), streamgauge_schema::CanonicalError>(())
//! ```
//!
//! | module | holds |
//! | --- | --- |
//! | `plan`, `request`, `stream` | what goes into a measurement |
//! | `observation`, `extraction`, `outcome`, `journal`, `answer` | what comes out of it |
//! | `scrape` | what the server's own metrics said meanwhile |
//! | `shard`, `replicas` | a run in parts, and over several addresses |
//! | `expectation`, `grade` | what an answer is held against, and the receipts |
//! | `record`, `comparison`, `comparison_v2`, `document` | what is published |
//! | `dataset_manifest` | what a dataset's file is |
//! | `imported` | what another tool's file says of single requests |
//! | `search` | what a search for the highest load found |
//! | `gate` | which figures a comparison holds to which limits |
//! | `qualification` | what is measured in which order to decide, and the log of it |
//! | `determinism` | which prompts get the same answer again, and where two builds part |
//! | `decision` | what was decided on a comparison, with the gates as they stood; the ledger |
//! | `json`, `digest`, `path` | bytes, digests, and where a member stands |
//! | `text`, `timestamp`, `units`, `vocabulary` | the values that members may have |
//! | `json_schemas` (feature `schemars`) | JSON Schemas of the documents |

mod answer;
mod comparison;
mod comparison_v2;
mod dataset_manifest;
mod decision;
mod determinism;
mod digest;
mod document;
mod error;
mod expectation;
mod extraction;
mod gate;
mod grade;
mod imported;
mod journal;
mod json;
#[cfg(feature = "schemars")]
mod json_schemas;
mod load;
mod nullable;
mod observation;
mod outcome;
mod path;
mod plan;
mod qualification;
mod record;
mod replicas;
mod request;
mod scrape;
mod search;
mod shard;
mod stream;
mod text;
mod timestamp;
mod units;
mod vocabulary;

pub use answer::AnswerLine;
pub use comparison::{
    CellComparison, Comparison, ComparisonSchema, MetricComparison, OrderedMap, Turnover,
    TurnoverFailure, TurnoverFailureClass,
};
pub use comparison_v2::{
    AllowedDifference, Build, CellComparisonV2, ComparedFigure, ComparedRun, ComparedTurnover,
    ComparisonMethod, ComparisonSchemaV2, ComparisonV2, CorrectnessComparison, CountFinding,
    Equivalence, FindingName, FindingVerdict, GateInForce, Limitation, LimitationKind, Looks,
    MetricComparisonV2, PromptPairs, Tally, TurnoverComparison, ValueFinding,
};
pub use dataset_manifest::{DatasetGenerator, DatasetManifest, DatasetManifestSchema};
pub use decision::{
    DecidedBuild, DecidedSchema, Decision, DecisionChoice, DecisionEvidence, DecisionSchema,
    EvidenceKind, GateStanding, LedgerLine, LedgerSchema, StoodGate,
};
pub use determinism::{
    AnswerPart, AnswerPlace, ComparedPrompts, Determinism, DeterminismSchema, PromptVerdict,
    RepeatedAnswer, RepeatedPrompt, RepeatedRun, Stability,
};
pub use digest::{Digest, Digester};
pub use document::{Document, read_typed};
pub use error::{CanonicalError, ReadError, TextFault};
pub use expectation::{
    Canary, Choice, ControlledOutput, Expectation, FieldCheck, FieldRule, NumberWithin,
    OutputPolicy,
};
pub use extraction::{ChoiceExtraction, Extraction, HttpExtraction, Text};
pub use gate::{Gate, GateStatistic, GateVerdict, Gates, GatesFault};
pub use grade::{CheckFault, Grade, GradeCheck, GraderIdentity, GraderName, Grades, Grading};
pub use imported::ImportedRequest;
pub use journal::{
    EndReason, Failure, JournalHeader, JournalLine, JournalResumed, JournalTrailer, RequestLine,
    RetriedAttempt, Stage,
};
pub use json::{Json, Layout, Position, digest_bytes, file_bytes};
#[cfg(feature = "schemars")]
pub use json_schemas::{json_schema, schema_names};
pub use load::{Arrivals, ClientStage, Load, LoadShape, RateStage};
pub use observation::{
    Anomaly, AnomalyKind, ChoiceTimeline, CountScope, CountSource, IntervalSummary, Observation,
    StreamError, Usage, UsageSources,
};
pub use outcome::{BodyKind, CaseOutcome, Completion, Ending, FailureClass, FailureStage};
pub use path::{JsonPath, Segment};
pub use plan::{
    Goal, GoalQuantity, Instrumentation, KernelStamps, LengthBasis, LengthProbe, Limits, Plan,
    PromptSource, RequestSettings, Retries, Route, SharedPrefix, Target, Workload,
};
pub use qualification::{
    Activation, DiscardReason, QualificationActivated, QualificationArm, QualificationBegun,
    QualificationCompared, QualificationDiscarded, QualificationEnd, QualificationEnded,
    QualificationFailed, QualificationFinished, QualificationIdentified, QualificationLengths,
    QualificationLine, QualificationOpened, QualificationPhase, QualificationPlan,
    QualificationReady, QualificationSide, QualificationStep, QualificationTurnover, Readiness,
    ServerIdentity, Visit, visits,
};
pub use record::{
    Boundary, CacheState, Calibration, Case, ClockReport, Condition, Counts, Deployment, Direction,
    Evidence, EvidenceMode, InstrumentReport, Interval, IntervalBasis, LoadReport, Metric,
    MetricV1, Performance, Phase, ReplicaReport, Role, RunRecord, RunRecordV1, RunRecordV2,
    RunStatus, ShardReport, Spread, StageReport, TimeBasis, TokenAccounting, TokenSource,
    TurnoverReport, Unit, Window, WindowName, Windows,
};
pub use replicas::{Replica, ReplicaTurns};
pub use request::Request;
pub use scrape::{ScrapeLine, ServerFamily, ServerQuantity, ServerSample};
pub use search::{ProbeFault, SearchProbe, SearchReport, SearchSchema, SearchedLoad};
pub use shard::{ClockState, JournalBegun, MergedShard, MergedShards, Shard};
pub use stream::{Dialect, End, Head};
pub use text::{Identifier, PublicText, SourceUrl, is_steering};
pub use timestamp::Timestamp;
pub use units::Millis;
pub use vocabulary::UnknownWord;
