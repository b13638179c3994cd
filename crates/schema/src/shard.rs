//! Runs in parts: which requests and clients of a plan a shard has, how it began, and where the shards of
//! a merged run lie.
//!
//! Invariant: what a shard has is arithmetic on the plan's load. The shards of a run share no request and
//! have them all.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::load::{Load, LoadShape};
use crate::nullable::nullable;

/// One of the parts that a run is divided into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, try_from = "ShardParts")]
pub struct Shard {
    number: u64,
    of: u64,
}

/// A shard as it is written.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct ShardParts {
    number: u64,
    of: u64,
}

impl Shard {
    /// Most parts of a run.
    pub const MOST: u64 = 100_000;

    /// The part `number` of `of`, both from 1; `None` where there is no such part, or are more than
    /// [`MOST`](Self::MOST).
    #[must_use]
    pub fn new(number: u64, of: u64) -> Option<Self> {
        (of <= Self::MOST && (1..=of).contains(&number)).then_some(Self { number, of })
    }

    /// Its number, from 1.
    #[must_use]
    pub fn number(self) -> u64 {
        self.number
    }

    /// How many parts there are.
    #[must_use]
    pub fn of(self) -> u64 {
        self.of
    }

    /// Its share of things that are dealt out in turn, the first to the first shard: of clients, or of
    /// places under way.
    ///
    /// ```
    /// use streamgauge_schema::Shard;
    /// let shares: Vec<u64> = (1..=3).map(|number| Shard::new(number, 3).unwrap().share(8)).collect();
    /// assert_eq!(shares, [3, 3, 2]);
    /// ```
    #[must_use]
    pub fn share(self, whole: u64) -> u64 {
        (whole / self.of) + u64::from(self.number <= whole % self.of)
    }

    /// Whether it sends the request at this place of its stage, warm-up or measured.
    ///
    /// Requests of a schedule are dealt out in turn. Those of a fixed number of clients are dealt out to
    /// the clients first and then with them, so that a shard with more clients has as many more requests.
    ///
    /// ```
    /// use streamgauge_schema::{Identifier, Load, LoadShape, Shard};
    /// let load = Load {
    ///     cell: Identifier::new("c5").unwrap(),
    ///     shape: LoadShape::ClosedLoop { concurrency: 5 },
    ///     requests: 10,
    ///     duration_ms: None,
    ///     warmup: 0,
    /// };
    /// let of = |number| {
    ///     let shard = Shard::new(number, 2).unwrap();
    ///     (0..10).filter(|index| shard.has(&load, *index)).collect::<Vec<u64>>()
    /// };
    /// // Three clients of five, and two.
    /// assert_eq!((of(1), of(2)), (vec![0, 2, 4, 5, 7, 9], vec![1, 3, 6, 8]));
    /// ```
    #[must_use]
    pub fn has(self, load: &Load, index: u64) -> bool {
        turn(load, index) % self.of == self.number - 1
    }

    /// The one of so many that sends the request at this place of its stage; `None` where there are no
    /// such parts.
    #[must_use]
    pub fn of_request(load: &Load, of: u64, index: u64) -> Option<Self> {
        Self::new(turn(load, index).checked_rem(of)? + 1, of)
    }

    /// How many of the first `requests` of a stage it sends.
    #[must_use]
    pub fn count(self, load: &Load, requests: u64) -> u64 {
        match load.shape {
            LoadShape::ClosedLoop { concurrency: clients @ 1.. } => {
                (requests / clients) * self.share(clients) + self.share(requests % clients)
            }
            _ => self.share(requests),
        }
    }
}

/// When it is a request's turn to be dealt out.
fn turn(load: &Load, index: u64) -> u64 {
    match load.shape {
        LoadShape::ClosedLoop { concurrency: clients @ 1.. } => index % clients,
        _ => index,
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} of {}", self.number, self.of)
    }
}

impl TryFrom<ShardParts> for Shard {
    type Error = String;

    fn try_from(ShardParts { number, of }: ShardParts) -> Result<Self, String> {
        Self::new(number, of).ok_or_else(|| {
            format!(
                "there is no shard {number} of {of}: numbers are from 1, and at most {}",
                Self::MOST
            )
        })
    }
}

/// How the measured part of a run began, written straight before its first request where the run has a
/// common start or is a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct JournalBegun {
    /// The moment from which due times count, since the run's start. No measured request started before.
    pub at_us: u64,
    /// The common start that was asked for, since the run's start by the wall clock that labels it; 0
    /// where it had passed by then. `None` where none was asked for.
    #[serde(deserialize_with = "nullable")]
    pub start_us: Option<u64>,
    /// What the kernel said of its wall clock then; `None` where it says nothing.
    #[serde(deserialize_with = "nullable")]
    pub clock: Option<ClockState>,
}

/// What a kernel says of its wall clock (`adjtimex`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClockState {
    /// Whether something keeps it in time.
    pub synchronised: bool,
    /// How far it may be off at most. Without synchronisation the number means little.
    pub max_error_us: u64,
}

/// Where the shards of a merged run lie (`shards.json`). It is private: it holds paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MergedShards {
    /// Version of this layout: 1.
    pub shards_version: u32,
    /// Digest of the plan that all of them carried out.
    pub plan_sha256: Digest,
    /// How many there are to be; those that are not listed are missing.
    pub of: u64,
    /// Those that are there, by number.
    pub shards: Vec<MergedShard>,
}

/// One shard of a merged run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MergedShard {
    /// Its number, from 1.
    pub number: u64,
    /// Its run directory, as seen from the merged one where that is possible.
    pub path: String,
    /// Digest of its journal.
    pub journal_sha256: Digest,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Arrivals, RateStage};
    use crate::text::Identifier;

    fn load(shape: LoadShape) -> Load {
        let cell = Identifier::new("test").unwrap();
        Load { cell, shape, requests: 0, duration_ms: None, warmup: 0 }
    }

    fn shapes() -> [Load; 3] {
        let rate = RateStage { from_per_s: 1.0, to_per_s: 1.0, duration_ms: None, requests: 0 };
        [
            load(LoadShape::ClosedLoop { concurrency: 7 }),
            load(LoadShape::ClosedLoop { concurrency: 64 }),
            load(LoadShape::OpenLoop {
                arrivals: Arrivals::Constant {},
                max_concurrency: None,
                stages: vec![rate],
            }),
        ]
    }

    #[test]
    fn every_request_has_one_shard_and_counts_agree() {
        for load in shapes() {
            for of in [1, 2, 3, 7, 10] {
                for requests in [0, 1, 6, 7, 8, 100, 131] {
                    let shards = (1..=of).map(|number| Shard::new(number, of).unwrap());
                    let mut takers = vec![0; requests as usize];
                    for shard in shards {
                        let has = (0..requests).filter(|index| shard.has(&load, *index));
                        let has: Vec<u64> = has.collect();
                        assert_eq!(has.len() as u64, shard.count(&load, requests), "{shard}");
                        has.into_iter().for_each(|index| takers[index as usize] += 1);
                    }
                    assert!(takers.iter().all(|takers| *takers == 1), "{of} {load:?}");
                }
            }
        }
    }

    #[test]
    fn shards_are_numbered_from_one() {
        assert_eq!(Shard::new(0, 2), None);
        assert_eq!(Shard::new(3, 2), None);
        assert_eq!(Shard::new(1, 0), None);
        assert_eq!(Shard::new(1, Shard::MOST + 1), None);
        let error = serde_json::from_str::<Shard>(r#"{"number":3,"of":2}"#).unwrap_err();
        assert!(error.to_string().contains("there is no shard 3 of 2"), "{error}");
    }
}
