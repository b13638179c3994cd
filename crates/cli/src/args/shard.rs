//! What `run` can be told of being one of several that carry out a plan together.

use std::time::Duration;

use clap::Args;
use streamgauge_schema::{Shard, Timestamp};

/// Longest wait for a common start that is told in seconds: a day.
const LONGEST_WAIT_S: f64 = 86_400.0;

/// Which part of a run is carried out, and when it begins.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Shards")]
pub(crate) struct ShardArgs {
    /// Carry out one of N parts of the run, from 1 to N; `auto` finds out which in the variables of
    /// Slurm, Kubernetes or MPI
    ///
    /// The same command again takes up the part where it broke off
    #[arg(long, hide_short_help = true, value_name = "I/N", value_parser = parse_shard)]
    pub(crate) shard: Option<AskedShard>,
    /// How many parts there are, where --shard auto finds a number alone (JOB_COMPLETION_INDEX)
    #[arg(long, hide_short_help = true, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=Shard::MOST))]
    pub(crate) shards: Option<u64>,
    /// Connect and warm up, and begin to measure at this moment: 2026-12-01T02:00:00Z, or +SECONDS from
    /// now on
    ///
    /// Shards agree on the moment of +SECONDS by a file in the folder of --out
    #[arg(long, hide_short_help = true, value_name = "TIME|+SECONDS", value_parser = parse_start)]
    pub(crate) start_at: Option<StartAt>,
}

/// Which part of a run is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedShard {
    /// The one that the environment says.
    Auto,
    /// This one.
    Of(Shard),
}

/// When the measured part begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartAt {
    /// So long from now on.
    After(Duration),
    /// At this moment.
    At(Timestamp),
}

/// Reads `2/4`, or the word `auto`.
fn parse_shard(text: &str) -> Result<AskedShard, String> {
    if text == "auto" {
        return Ok(AskedShard::Auto);
    }
    let numbers = text
        .split_once('/')
        .and_then(|(number, of)| Some((number.parse::<u64>().ok()?, of.parse::<u64>().ok()?)));
    let Some((number, of)) = numbers else {
        return Err(
            "a shard is its number and how many there are, as 2/4, or the word auto".to_owned()
        );
    };
    Shard::new(number, of).map(AskedShard::Of).ok_or_else(|| {
        format!("shards of {of} are numbered from 1 to {of}, and at most {} are there", Shard::MOST)
    })
}

/// Reads a moment, or `+30`.
fn parse_start(text: &str) -> Result<StartAt, String> {
    if let Some(seconds) = text.strip_prefix('+') {
        let seconds = seconds.parse().ok().filter(|s: &f64| (0.0..=LONGEST_WAIT_S).contains(s));
        let after = seconds.map(|seconds| StartAt::After(Duration::from_secs_f64(seconds)));
        return after.ok_or_else(|| format!("seconds are from +0 to +{LONGEST_WAIT_S}"));
    }
    Timestamp::from_rfc3339(text).map(StartAt::At).ok_or_else(|| {
        "a moment is written 2026-12-01T02:00:00Z, or with an offset as +01:00 for the Z, and seconds \
         from now on as +30"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_numbered_from_one() {
        for (text, expected) in [
            ("auto", Some(AskedShard::Auto)),
            ("2/4", Shard::new(2, 4).map(AskedShard::Of)),
            ("1/1", Shard::new(1, 1).map(AskedShard::Of)),
            ("0/4", None),
            ("5/4", None),
            ("4", None),
            ("-1/4", None),
            ("1/0", None),
            ("1/1000000", None),
            ("", None),
        ] {
            assert_eq!(parse_shard(text).ok(), expected, "{text}");
        }
        assert!(parse_shard("0/4").unwrap_err().contains("from 1 to 4"));
    }

    #[test]
    fn a_start_is_a_moment_or_a_time_from_now_on() {
        let at = |micros| Some(StartAt::At(Timestamp::from_unix_micros(micros)));
        for (text, expected) in [
            ("+2.5", Some(StartAt::After(Duration::from_millis(2_500)))),
            ("+0", Some(StartAt::After(Duration::ZERO))),
            ("1970-01-01T00:00:02Z", at(2_000_000)),
            ("1970-01-01T01:00:02.5+01:00", at(2_500_000)),
            ("+", None),
            ("+-1", None),
            ("+inf", None),
            ("+NaN", None),
            ("+1e9", None),
            ("30", None),
            ("2026-12-01", None),
            ("2026-12-01T00:00:00", None),
        ] {
            assert_eq!(parse_start(text).ok(), expected, "{text}");
        }
    }
}
