//! The rows of the table: the work, what is wanted, and how it is measured.

use std::path::Path;

use crate::bias;
use crate::load::{LoadSpec, Shape};
use crate::million;
use crate::server::{Server, ServerSpec};
use crate::start;
use crate::tables::Report;
use crate::trial::{self, Client, Trial};
use crate::wanted::{Goal, Runs, median_events_per_read};
use crate::workers;

/// Words of a prompt of about 512 tokens, the command's default.
const PROMPT_WORDS: u64 = 384;
/// Events a read that differ by less than this factor count as the same.
pub(crate) const SAME_READS: f64 = 1.2;
/// How often a bare loop is looked for that gets as many events in a read as ours.
const MAX_ATTEMPTS: usize = 3;

/// One row.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) work: &'static str,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Our client, in several rounds.
    Alone { server: ServerSpec, load: LoadSpec, rounds: usize, goals: Vec<Goal> },
    /// Our client at several numbers of streams.
    Bias,
    /// Clients side by side, in several rounds.
    Interleaved { server: ServerSpec, load: LoadSpec, rounds: usize, goals: Vec<Goal> },
    /// Very many requests.
    Million,
    /// The command's start.
    Start,
    /// Our client with several workers.
    Workers,
}

/// One event a write, at these distances.
pub(crate) fn paced(ttft_ms: u64, interval_ms: u64) -> ServerSpec {
    ServerSpec {
        ttft_us: ttft_ms * 1000,
        interval_us: interval_ms * 1000,
        events_per_write: 1,
        stamps: true,
    }
}

/// A closed loop of one worker.
pub(crate) fn closed_loop(requests: u64, concurrency: u64, output_events: u64) -> LoadSpec {
    LoadSpec {
        requests,
        shape: Shape::Closed { concurrency },
        workers: 1,
        output_events,
        prompt_words: PROMPT_WORDS,
        keep_arrivals: true,
    }
}

/// A server that never waits.
pub(crate) fn unpaced(events_per_write: u32) -> ServerSpec {
    ServerSpec { events_per_write, stamps: false, ..paced(0, 0) }
}

/// As fast as the server can.
fn fast(name: &'static str, work: &'static str, events_per_write: u32, requests: u64) -> Row {
    let server = unpaced(events_per_write);
    let goals = vec![Goal::CpuTimesBare(1.5), Goal::EventsPerS(250_000.0)];
    let load = closed_loop(requests, 32, 512);
    Row { name, work, kind: Kind::Interleaved { server, load, rounds: 3, goals } }
}

/// All rows.
pub(crate) fn all() -> Vec<Row> {
    let thousand = Kind::Interleaved {
        server: paced(500, 20),
        load: closed_loop(2000, 1000, 100),
        rounds: 5,
        goals: vec![
            Goal::TtftP50(0.3),
            Goal::TtftP99 { limit_ms: 2.0, times_bare: Some(1.5) },
            Goal::IntervalP99(0.5),
            Goal::PeakInflight(1000),
            Goal::CpuTimesBare(1.3),
            Goal::PeakMb(60.0),
        ],
    };
    let sixty_four = Kind::Interleaved {
        server: paced(200, 10),
        load: closed_loop(320, 64, 128),
        rounds: 3,
        goals: vec![Goal::TtftP99 { limit_ms: 0.5, times_bare: None }],
    };
    let ten_thousand = Kind::Interleaved {
        server: paced(1000, 1000),
        load: closed_loop(10_000, 10_000, 10),
        rounds: 1,
        goals: vec![Goal::PeakInflight(10_000), Goal::PeakMb(300.0), Goal::NoFailures],
    };
    let crowded = Kind::Alone {
        server: paced(200, 4),
        load: closed_loop(1000, 500, 1024),
        rounds: 3,
        goals: vec![Goal::EventsPerS(100_000.0), Goal::NoLagFlag],
    };
    let long = Kind::Alone {
        server: paced(50, 2),
        load: closed_loop(64, 64, 8192),
        rounds: 2,
        goals: vec![Goal::GapP50(0.01)],
    };
    let lateness = Kind::Alone {
        server: unpaced(16),
        load: LoadSpec { shape: Shape::Poisson { per_s: 2000 }, ..closed_loop(10_000, 0, 1) },
        rounds: 5,
        goals: vec![Goal::LatenessP99(0.3)],
    };
    vec![
        Row {
            name: "thousand",
            work: "1,000 streams, 500 ms, 20 ms, 100 events; 2,000 requests",
            kind: thousand,
        },
        Row { name: "sixty-four", work: "64 streams, 200 ms, 10 ms, 128 events", kind: sixty_four },
        fast("fast-1", "as fast as can be, 32 streams, 1 chunk a write", 1, 1600),
        fast("fast-16", "as fast as can be, 32 streams, 16 chunks a write", 16, 6400),
        Row {
            name: "ten-thousand",
            work: "10,000 streams, 1 s, 1 s, 10 events",
            kind: ten_thousand,
        },
        Row { name: "bias", work: bias::WORK, kind: Kind::Bias },
        Row { name: "crowded", work: "500 streams, 4 ms, 1,024 events", kind: crowded },
        Row { name: "long", work: "64 streams of 8,192 events, 2 ms", kind: long },
        Row {
            name: "lateness",
            work: "2,000 requests of one event a second, Poisson",
            kind: lateness,
        },
        Row {
            name: "workers",
            work: "as fast as can be, 64 streams, 16 chunks a write, all on two cores",
            kind: Kind::Workers,
        },
        Row { name: "million", work: "1,000,000 requests of 20 events", kind: Kind::Million },
        Row { name: "start", work: "start to first request", kind: Kind::Start },
    ]
}

impl Row {
    /// Measures the row into `report`. Files go to `scratch`.
    pub(crate) fn measure(&self, scratch: &Path, report: &mut Report) -> anyhow::Result<()> {
        match &self.kind {
            Kind::Alone { server, load, rounds, goals } => {
                let server = Server::start(server)?;
                let runs = alone(&server, *load, *rounds, scratch)?;
                server.end()?;
                report.add(self.work, &runs, goals);
                Ok(())
            }
            Kind::Bias => bias::measure(scratch, report),
            Kind::Interleaved { server, load, rounds, goals } => {
                let server = Server::start(server)?;
                let runs = interleave(&server, *load, *rounds, scratch)?;
                server.end()?;
                report.add(self.work, &runs, goals);
                Ok(())
            }
            Kind::Million => million::measure(self.work, scratch, report),
            Kind::Start => start::measure(self.work, scratch, report),
            Kind::Workers => workers::measure(self.work, scratch, report),
        }
    }
}

/// Our client alone.
pub(crate) fn alone(
    server: &Server,
    load: LoadSpec,
    rounds: usize,
    scratch: &Path,
) -> anyhow::Result<Runs> {
    let ours = (0..rounds).map(|_| trial::run(Client::Ours, server, load, scratch));
    Ok(Runs { ours: ours.collect::<anyhow::Result<_>>()?, ..Runs::default() })
}

/// Bare, ours, hyper, bare with stamps, ours; and where ours gets other numbers of events in a read, a
/// bare loop that gets the same, by pausing.
fn interleave(
    server: &Server,
    load: LoadSpec,
    rounds: usize,
    scratch: &Path,
) -> anyhow::Result<Runs> {
    let trial = |client| trial::run(client, server, load, scratch);
    let mut wanted = trial(Client::Ours)?.events_per_read();
    let mut attempts = 0;
    loop {
        let pause_us = matching_pause(wanted, |pause_us| {
            Ok(trial(Client::Bare { pause_us })?.events_per_read())
        })?;
        let hyper_pause_us = matching_pause(wanted, |pause_us| {
            Ok(trial(Client::Hyper { pause_us })?.events_per_read())
        })?;
        let mut runs = Runs {
            matched: pause_us.map(|_| Vec::new()),
            hyper_pauses: hyper_pause_us.is_some(),
            ..Runs::default()
        };
        for _ in 0..rounds {
            runs.bare.push(trial(Client::Bare { pause_us: 0 })?);
            runs.ours.push(trial(Client::Ours)?);
            runs.hyper.push(trial(Client::Hyper { pause_us: hyper_pause_us.unwrap_or(0) })?);
            runs.stamped.push(trial(Client::Stamped)?);
            runs.ours.push(trial(Client::Ours)?);
            if let (Some(pause_us), Some(matched)) = (pause_us, &mut runs.matched) {
                matched.push(trial(Client::Bare { pause_us })?);
            }
        }
        attempts += 1;
        let [ours, bare] = [&runs.ours[..], runs.bare_like_ours()].map(median_events_per_read);
        let alike = ours <= bare * SAME_READS && (pause_us.is_none() || bare <= ours * SAME_READS);
        if alike || attempts == MAX_ATTEMPTS {
            return Ok(runs);
        }
        wanted = ours;
    }
}

/// The pause with which a loop gets about as many events in a read as is wanted; `None` if
/// it does without, or gets more without.
fn matching_pause(
    wanted: f64,
    mut events_per_read: impl FnMut(u64) -> anyhow::Result<f64>,
) -> anyhow::Result<Option<u64>> {
    let (mut low_us, mut high_us) = (0, None);
    if events_per_read(0)? * SAME_READS.sqrt() >= wanted {
        return Ok(None);
    }
    let mut pause_us = 50;
    for _ in 0..8 {
        let found = events_per_read(pause_us)?;
        if found * SAME_READS.sqrt() < wanted {
            low_us = pause_us;
        } else if found > wanted * SAME_READS.sqrt() {
            high_us = Some(pause_us);
        } else {
            break;
        }
        pause_us = high_us.map_or(2 * pause_us, |high_us| u64::midpoint(low_us, high_us));
    }
    Ok(Some(pause_us))
}

impl Runs {
    /// The bare loop to compare costs with: the one that got as many events in a read as ours.
    pub(crate) fn bare_like_ours(&self) -> &[Trial] {
        self.matched.as_deref().unwrap_or(&self.bare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_is_found_that_gives_as_many_events_a_read() {
        let model = |pause_us: u64| Ok(1.5 + pause_us as f64 / 100.0);
        assert_eq!(matching_pause(1.6, model).unwrap(), None);
        assert_eq!(matching_pause(1.0, model).unwrap(), None);
        for wanted in [2.5, 4.0, 20.0] {
            let pause_us = matching_pause(wanted, model).unwrap().unwrap();
            let found: f64 = model(pause_us).unwrap();
            assert!((1.0 / 1.2..1.2).contains(&(found / wanted)), "{wanted}: {found}");
        }
    }

    /// Whoever measures must not be busy with tokens: what counts them is no part of the client.
    #[test]
    fn nothing_can_be_tokenised_while_timing() {
        for manifest in [
            include_str!("../../../../crates/client/Cargo.toml"),
            include_str!("../../../../crates/observer/Cargo.toml"),
        ] {
            assert!(!manifest.contains("tokenizers"), "{manifest}");
        }
    }

    #[test]
    fn rows_have_names_of_their_own() {
        let mut names: Vec<&str> = all().iter().map(|row| row.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
