//! What a log says has been done: a function of its lines and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use streamgauge_schema::{
    Digest, Identifier, LengthBasis, QualificationCompared, QualificationEnd, QualificationLine,
    QualificationPhase, QualificationSide, QualificationStep, ServerIdentity, Visit,
};

/// A run that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FinishedRun {
    pub(crate) directory: Identifier,
    pub(crate) record_sha256: Digest,
}

/// How far a qualification is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    finished: BTreeMap<(Visit, Identifier), FinishedRun>,
    begun: u64,
    /// Runs that were begun and are not used, those under way included.
    unused: BTreeMap<Identifier, (Visit, Identifier)>,
    lengths: BTreeMap<Identifier, LengthBasis>,
    identities: BTreeMap<QualificationSide, ServerIdentity>,
    asked_for: BTreeSet<Visit>,
    /// Blocks in which the work was taken up again.
    pub(crate) interrupted_blocks: BTreeSet<(QualificationPhase, u64)>,
    pub(crate) compared: Vec<QualificationCompared>,
    pub(crate) complete: bool,
    earlier_ms: u64,
    last_ms: u64,
}

impl Course {
    /// Follows a log line by line.
    pub(crate) fn of(lines: &[QualificationLine]) -> Self {
        let mut course = Self::default();
        for line in lines {
            course.follow(line);
        }
        course
    }

    /// One line more.
    pub(crate) fn follow(&mut self, line: &QualificationLine) {
        match &line.step {
            QualificationStep::Opened(_) => {
                self.earlier_ms = self.earlier_ms.saturating_add(self.last_ms);
                self.interrupted_blocks.extend(self.open_block());
            }
            QualificationStep::Activated(it) => {
                self.asked_for.insert(it.visit);
            }
            QualificationStep::Begun(it) => {
                self.begun += 1;
                let run = (it.visit, it.cell.clone());
                self.unused.insert(it.directory.clone(), run);
            }
            QualificationStep::Finished(it) => {
                self.unused.remove(&it.directory);
                let (directory, record_sha256) = (it.directory.clone(), it.record_sha256);
                let run = FinishedRun { directory, record_sha256 };
                self.finished.insert((it.visit, it.cell.clone()), run);
            }
            QualificationStep::Lengths(it) => {
                self.lengths.insert(it.cell.clone(), it.basis.clone());
            }
            QualificationStep::Identified(it) => {
                self.identities.entry(it.visit.arm()).or_insert_with(|| it.identity.clone());
            }
            QualificationStep::Compared(it) => self.compared.push(it.clone()),
            QualificationStep::Ended(it) => self.complete = it.reason == QualificationEnd::Complete,
            QualificationStep::Discarded(_)
            | QualificationStep::Failed(_)
            | QualificationStep::Ready(_) => {}
        }
        self.last_ms = line.at_ms;
    }

    /// The block of the last finished run, when its other runs are not all there: found by whoever
    /// knows the cells.
    fn open_block(&self) -> Option<(QualificationPhase, u64)> {
        let mut blocks: BTreeMap<(QualificationPhase, u64), BTreeMap<QualificationSide, usize>> =
            BTreeMap::new();
        for (visit, _) in self.finished.keys() {
            *blocks
                .entry((visit.phase, visit.block))
                .or_default()
                .entry(visit.side)
                .or_default() += 1;
        }
        let (block, sides) = blocks.last_key_value()?;
        let counts: BTreeSet<usize> = sides.values().copied().collect();
        let even = sides.len() == 2 && counts.len() == 1;
        (!even).then_some(*block)
    }

    /// The run of a cell in a visit, if it is there.
    pub(crate) fn finished(&self, visit: Visit, cell: &Identifier) -> Option<&FinishedRun> {
        self.finished.get(&(visit, cell.clone()))
    }

    /// Every run that counts.
    pub(crate) fn all_finished(&self) -> impl Iterator<Item = (&Visit, &Identifier, &FinishedRun)> {
        self.finished.iter().map(|((visit, cell), run)| (visit, cell, run))
    }

    /// Runs that were begun and do not count, by the names of their directories.
    pub(crate) fn unused(&self) -> impl Iterator<Item = (&Identifier, &Visit, &Identifier)> {
        self.unused.iter().map(|(directory, (visit, cell))| (directory, visit, cell))
    }

    /// Runs that were begun so far.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// How long the prompts of a cell are, once it is known.
    pub(crate) fn lengths(&self, cell: &Identifier) -> Option<&LengthBasis> {
        self.lengths.get(cell)
    }

    /// What an arm said when it was first met.
    pub(crate) fn identity(&self, arm: QualificationSide) -> Option<&ServerIdentity> {
        self.identities.get(&arm)
    }

    /// Whether somebody was asked, or a program was run, for a visit that `is` picks.
    pub(crate) fn activated(&self, is: impl Fn(&Visit) -> bool) -> bool {
        self.asked_for.iter().any(is)
    }

    /// Time spent until the work was last taken up.
    pub(crate) fn earlier_ms(&self) -> u64 {
        self.earlier_ms
    }
}

#[cfg(test)]
mod tests {
    use streamgauge_schema::{
        QualificationBegun, QualificationFinished, QualificationOpened, Timestamp, visits,
    };

    use super::*;

    fn name(text: &str) -> Identifier {
        Identifier::new(text).unwrap()
    }

    fn opened() -> QualificationStep {
        QualificationStep::Opened(QualificationOpened {
            plan_sha256: Digest::of(b""),
            started_at: Timestamp::from_unix_micros(0),
            instrument_version: "1".to_owned(),
        })
    }

    /// A run of the n-th visit, begun and, where `ends`, finished.
    fn run(place: usize, ends: bool) -> Vec<QualificationStep> {
        let (visit, cell) = (visits(0, 2, 0)[place], name("c1"));
        let directory = name(&format!("run-{place}-{ends}"));
        let begun = QualificationBegun { visit, cell: cell.clone(), directory: directory.clone() };
        let record_sha256 = Digest::of(b"record");
        let finished = QualificationFinished { visit, cell, directory, record_sha256 };
        let mut steps = vec![QualificationStep::Begun(begun)];
        steps.extend(ends.then_some(QualificationStep::Finished(finished)));
        steps
    }

    fn course(parts: &[Vec<QualificationStep>]) -> Course {
        let steps = parts.iter().flatten().cloned();
        let lines: Vec<QualificationLine> =
            steps.map(|step| QualificationLine { at_ms: 10, step }).collect();
        Course::of(&lines)
    }

    #[test]
    fn an_end_within_a_block_parts_its_runs() {
        let open = || vec![opened()];
        let first = QualificationPhase::Blocks;
        let cases: [(&[Vec<QualificationStep>], &[u64]); 5] = [
            (&[open()], &[]),
            (&[open(), run(0, false), open()], &[]),
            (&[open(), run(0, true), open(), run(1, true)], &[1]),
            (&[open(), run(0, true), run(1, true), open()], &[]),
            (&[open(), run(0, true), run(1, true), run(2, true), run(3, false), open()], &[2]),
        ];
        for (parts, expected) in cases {
            let found = course(parts).interrupted_blocks;
            let expected: BTreeSet<_> = expected.iter().map(|block| (first, *block)).collect();
            assert_eq!(found, expected, "{parts:?}");
        }
    }

    #[test]
    fn a_run_that_did_not_finish_is_not_used() {
        let course = course(&[vec![opened()], run(0, false), vec![opened()], run(0, true)]);
        assert_eq!(course.begun(), 2);
        let unused: Vec<&str> = course.unused().map(|(directory, ..)| directory.as_str()).collect();
        assert_eq!(unused, ["run-0-false"]);
        let run = course.finished(visits(0, 2, 0)[0], &name("c1")).unwrap();
        assert_eq!(run.directory.as_str(), "run-0-true");
        assert_eq!(course.earlier_ms(), 10);
    }

    #[test]
    fn times_that_no_clock_tells_add_up_to_the_most() {
        let line = || QualificationLine { at_ms: u64::MAX, step: opened() };
        assert_eq!(Course::of(&[line(), line(), line()]).earlier_ms(), u64::MAX);
    }
}
