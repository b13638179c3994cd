//! `streamgauge calibrate`: measures this client's own error on this machine.

use clap::Args;
use streamgauge_schema::Calibration;

use crate::args::Format;
use crate::calibration::{FLAT_OUT_STREAMS, Level, Pace, calibrate as measure};
use crate::console;
use crate::exit::Exit;
use crate::show;
use crate::signals::stop_on_signal;

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
A simulated server in a second process answers fifty events a second to each stream and keeps an \
account of when it wrote them. On an idle machine the errors are this client's own; leave the \
machine alone meanwhile, and give client and server a processor each.

After the rows asked for comes one of 32 streams that the server writes as fast as it can: its \
events/s are the most that this client observes here. A rate of events beyond that is no test of a \
server, and `run --calibrate` warns of it.

Example:
  streamgauge calibrate --streams 64,1000")]
pub(crate) struct CalibrateArgs {
    /// Streams at once, a row each; a last row of 32 streams without any pace follows
    #[arg(long, value_name = "N[,N…]", value_delimiter = ',', default_value = "1,64,256,1000")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=65_536))]
    streams: Vec<u64>,
    /// Threads that send and receive
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=256))]
    workers: u64,
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Measures each level, and the highest rate of events.
pub(crate) async fn calibrate(args: &CalibrateArgs) -> anyhow::Result<Exit> {
    let stop = stop_on_signal("stopping")?;
    let mut levels: Vec<Level> = Vec::new();
    let paced = args.streams.iter().map(|streams| (*streams, Pace::EVEN));
    for (streams, pace) in paced.chain([(FLAT_OUT_STREAMS, Pace::FLAT_OUT)]) {
        if *stop.borrow() {
            return Ok(Exit::Interrupted);
        }
        console::remark(&format!("measuring {streams} streams …"));
        levels.push(measure(streams, pace, args.workers, &stop).await?);
    }
    let rows: Vec<Calibration> = levels.iter().map(|level| level.row).collect();
    console::result(&match args.format {
        Format::Json => serde_json::to_string_pretty(&rows)?,
        format => show::calibration(&levels, format),
    })?;
    Ok(Exit::Done)
}
