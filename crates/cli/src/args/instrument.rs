//! How the measuring itself is done, the same for `run` and `turnover`.

use clap::{Args, ValueEnum};
use streamgauge_schema::{KernelStamps, TimeBasis};

use super::values::parse_metrics_path;

/// How the measuring is done.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Instrument")]
pub(crate) struct InstrumentArgs {
    /// Connections that carry the kernel's receive stamps: all, sampled or off
    #[arg(long, hide_short_help = true, value_name = "WHICH", default_value_t = KernelStamps::Sampled)]
    pub(crate) kernel_stamps: KernelStamps,
    /// Clock reading that counts as an arrival: read, or kernel with --kernel-stamps all
    #[arg(long, hide_short_help = true, value_name = "CLOCK", default_value_t = TimeBasis::Read)]
    pub(crate) time_basis: TimeBasis,
    /// Keep every interval between chunks, or only count, least, greatest and sum of each response's
    #[arg(long, hide_short_help = true, value_enum, value_name = "WHICH", default_value_t)]
    pub(crate) intervals: Intervals,
    /// Threads that send and receive
    #[arg(long, hide_short_help = true, value_name = "COUNT", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=256))]
    pub(crate) workers: u64,
    /// Measure this client's own error at each cell's number of streams first, and state it in the
    /// record
    #[arg(long)]
    pub(crate) calibrate: bool,
    /// Ask the server for its own Prometheus metrics while measured requests are under way, and hold its
    /// counts against the client's [default path: /metrics]
    #[arg(long, hide_short_help = true, value_name = "PATH", value_parser = parse_metrics_path)]
    #[arg(num_args = 0..=1, default_missing_value = "/metrics")]
    pub(crate) server_metrics: Option<String>,
}

/// Whether single intervals are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Intervals {
    /// Every one
    #[default]
    On,
    /// Sums alone
    Off,
}
