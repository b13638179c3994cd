//! Run records: one measured cell of one deployment.
//!
//! Version 1 is the layout of the golden record, closed for ever. Version 2 is what `run` writes:
//! every member of 1 with its meaning, and the instrument, the load, the windows and the evidence.
//! In files and digests the members are sorted.

mod parts;
mod spread_out;
mod turnover;
mod versions;
mod words;

pub use parts::{
    Calibration, Case, Condition, Counts, Deployment, Evidence, InstrumentReport, Interval,
    LoadReport, Metric, MetricV1, Performance, Spread, StageReport, Window, Windows,
};
pub use spread_out::{ClockReport, ReplicaReport, ShardReport};
pub use turnover::TurnoverReport;
pub use versions::{RunRecord, RunRecordV1, RunRecordV2};
pub use words::{
    Boundary, CacheState, Direction, EvidenceMode, IntervalBasis, Phase, Role, RunStatus,
    TimeBasis, TokenAccounting, TokenSource, Unit, WindowName,
};
