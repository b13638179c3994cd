//! How long a plan will take: by its own times where those end a load, else by what the like of it took
//! before.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;
use streamgauge_client::{RunDir, read_file};
use streamgauge_metrics::median;
use streamgauge_schema::{
    Document, Identifier, Load, LoadShape, QualificationLine, QualificationStep, RateStage,
    RunRecord, RunRecordV2,
};

use crate::qualify::course::Course;
use crate::qualify::dir::QualificationDir;
use crate::records::load;

/// What is known of the time that a plan takes.
#[derive(Debug, Default, Serialize)]
pub(crate) struct TimeOutlook {
    /// Seconds of all runs; `None` where nothing tells how long some cell takes.
    pub(crate) measuring_s: Option<f64>,
    /// The cells of which nothing tells it.
    pub(crate) unknown_cells: Vec<Identifier>,
    /// Seconds of all activations with the waits until the arms were ready; `None` where nothing tells
    /// them.
    pub(crate) activating_s: Option<f64>,
}

/// How long things took before.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// Milliseconds of each run for each of its requests, by cell.
    ms_a_request: BTreeMap<Identifier, Vec<f64>>,
    activations_ms: Vec<f64>,
}

impl Earlier {
    /// Reads it from qualifications and runs; a comparison knows no times.
    pub(super) fn read(from: &[PathBuf]) -> anyhow::Result<Self> {
        let mut earlier = Self::default();
        for path in from {
            let dir = QualificationDir::at(path);
            if dir.is_one() {
                earlier.add_qualification(&dir)?;
            } else if path.is_dir() {
                load(path)?.iter().for_each(|run| earlier.add_run(&run.record));
            }
        }
        Ok(earlier)
    }

    fn add_qualification(&mut self, dir: &QualificationDir) -> anyhow::Result<()> {
        let (lines, _) = dir.read_log()?;
        for (_, _, run) in Course::of(&lines).all_finished() {
            let path = RunDir::at(&dir.runs().join(run.directory.as_str())).record();
            let document = Document::read(&read_file(&path)?);
            if let Document::Run(record) = document.with_context(|| path.display().to_string())? {
                self.add_run(&record);
            }
        }
        self.activations_ms.extend(activations_ms(&lines));
        Ok(())
    }

    fn add_run(&mut self, record: &RunRecord) {
        let RunRecord::V2(record) = record else { return };
        let RunRecordV2 { load, started_at, completed_at, .. } = &**record;
        let us = completed_at.unix_micros().saturating_sub(started_at.unix_micros());
        let requests = load.offered.saturating_add(load.warmup);
        if requests > 0 && us >= 0 {
            let ms = us as f64 / 1000.0 / requests as f64;
            self.ms_a_request.entry(load.cell.clone()).or_default().push(ms);
        }
    }

    /// What a plan takes that has so many runs of each load, and activates so often.
    pub(super) fn outlook(&self, loads: &[(&Load, u64)], activations: u64) -> TimeOutlook {
        let each_ms: Vec<Option<f64>> = loads
            .iter()
            .map(|(load, runs)| self.run_ms(load).map(|ms| ms * *runs as f64))
            .collect();
        let unknown = loads.iter().zip(&each_ms).filter(|(_, ms)| ms.is_none());
        let activation_ms = match activations {
            0 => Some(0.0),
            _ => median(&self.activations_ms),
        };
        TimeOutlook {
            unknown_cells: unknown.map(|((load, _), _)| load.cell.clone()).collect(),
            measuring_s: each_ms.into_iter().sum::<Option<f64>>().map(|ms| ms / 1000.0),
            activating_s: activation_ms.map(|ms| ms * activations as f64 / 1000.0),
        }
    }

    fn run_ms(&self, load: &Load) -> Option<f64> {
        own_ms(load).or_else(|| {
            let each = median(self.ms_a_request.get(&load.cell)?)?;
            Some(each * load.requests.saturating_add(load.warmup) as f64)
        })
    }
}

/// How long a load is by itself, whatever the server does; the last requests end a little later.
fn own_ms(load: &Load) -> Option<f64> {
    if let Some(ms) = load.duration_ms {
        return Some(ms as f64);
    }
    match &load.shape {
        LoadShape::ClosedLoop { .. } => None,
        LoadShape::ClosedStages { stages } => {
            Some(stages.iter().map(|stage| stage.duration_ms as f64).sum())
        }
        LoadShape::OpenLoop { stages, .. } => Some(stages.iter().map(stage_ms).sum()),
        LoadShape::Trace { span_ms, .. } => Some(*span_ms as f64),
    }
}

fn stage_ms(stage: &RateStage) -> f64 {
    let mean_per_s = (stage.from_per_s + stage.to_per_s) / 2.0;
    stage.duration_ms.map_or_else(|| stage.requests as f64 / mean_per_s * 1000.0, |ms| ms as f64)
}

/// How long each activation took, with the wait until the arm was ready.
fn activations_ms(lines: &[QualificationLine]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::new();
    let mut last = None;
    for line in lines {
        match &line.step {
            QualificationStep::Activated(it) => {
                found.push(it.elapsed_ms as f64);
                last = Some(it.visit);
            }
            QualificationStep::Ready(it) if last == Some(it.visit) => {
                if let Some(ms) = found.last_mut() {
                    *ms += it.elapsed_ms as f64;
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use streamgauge_schema::{Arrivals, ClientStage, QualificationActivated, QualificationReady};

    use super::*;

    fn load_of(shape: LoadShape, requests: u64, duration_ms: Option<u64>) -> Load {
        Load { cell: Identifier::new("c").unwrap(), shape, requests, duration_ms, warmup: 10 }
    }

    fn rates(duration_ms: Option<u64>) -> LoadShape {
        let stage = RateStage { from_per_s: 2.0, to_per_s: 6.0, duration_ms, requests: 40 };
        let arrivals = Arrivals::Constant {};
        LoadShape::OpenLoop { arrivals, max_concurrency: None, stages: vec![stage] }
    }

    #[test]
    fn a_load_that_has_its_own_time_takes_it() {
        let closed = LoadShape::ClosedLoop { concurrency: 4 };
        let stage = |duration_ms| ClientStage { from_clients: 1, to_clients: 4, duration_ms };
        let stages = LoadShape::ClosedStages { stages: vec![stage(5_000), stage(2_500)] };
        let trace = LoadShape::Trace { max_concurrency: None, span_ms: 9_000 };
        for (load, expected) in [
            (load_of(closed.clone(), 64, None), None),
            (load_of(closed, 64, Some(60_000)), Some(60_000.0)),
            (load_of(stages, 64, None), Some(7_500.0)),
            (load_of(rates(Some(8_000)), 40, None), Some(8_000.0)),
            (load_of(rates(None), 40, None), Some(10_000.0)),
            (load_of(trace, 40, None), Some(9_000.0)),
        ] {
            assert_eq!(own_ms(&load), expected, "{load:?}");
        }
    }

    #[test]
    fn what_took_time_before_takes_it_again_for_each_request() {
        let closed = load_of(LoadShape::ClosedLoop { concurrency: 4 }, 90, None);
        let mut earlier = Earlier::default();
        let found = earlier.outlook(&[(&closed, 8)], 3);
        assert_eq!((found.measuring_s, found.activating_s), (None, None));
        assert_eq!(found.unknown_cells.first(), Some(&closed.cell));
        earlier.ms_a_request.insert(closed.cell.clone(), vec![50.0, 10.0, 20.0]);
        earlier.activations_ms = vec![4_000.0, 6_000.0];
        let found = earlier.outlook(&[(&closed, 6), (&closed, 10)], 3);
        assert_eq!((found.measuring_s, found.activating_s), (Some(32.0), Some(15.0)));
        assert!(found.unknown_cells.is_empty());
        assert_eq!(earlier.outlook(&[(&closed, 8)], 0).activating_s, Some(0.0));
    }

    #[test]
    fn an_activation_lasts_until_the_arm_is_ready() {
        let [one, two] = [0, 1].map(|place| streamgauge_schema::visits(0, 1, 0)[place]);
        let activated = |visit, elapsed_ms| {
            let it = QualificationActivated { visit, elapsed_ms, exit_code: Some(0) };
            QualificationStep::Activated(it)
        };
        let ready =
            |visit, elapsed_ms| QualificationStep::Ready(QualificationReady { visit, elapsed_ms });
        let steps = [ready(two, 9), activated(one, 100), ready(one, 20), activated(two, 50)];
        let lines = steps.map(|step| QualificationLine { at_ms: 0, step });
        assert_eq!(activations_ms(&lines), [120.0, 50.0]);
    }
}
